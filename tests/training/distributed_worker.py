"""Started by torchrun: do two processes with half of each batch train as one process with all of it?"""

import sys
from pathlib import Path

import pytest
import torch
from lightning_fabric import Fabric
from pytorch_optimizer import SAM

import metricfit as mf
from metricfit.training import Trainer


def trained(fabric, mine):
    _, module, history = trained_with(fabric, mine)
    return history, module.weight.detach().clone()


def trained_with(fabric, mine, epochs=5, file=None):
    random = torch.Generator().manual_seed(0)
    x, y = torch.randn(40, 4, generator=random), torch.randint(3, (40,), generator=random)
    torch.manual_seed(0)
    module = torch.nn.Linear(4, 3)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.5)
    trainer = Trainer(module, mf.MetricLoss("f1_macro"), optimizer, metric="f1_macro", fabric=fabric)
    batches = [(x[part][mine], y[part][mine]) for part in torch.arange(40).split(20)]
    if file is not None:
        trainer.load(file)
    return trainer, module, trainer.fit(batches, (x[mine], y[mine]), epochs=epochs)


def check_checkpoints(fabric, mine, weight, folder):
    """A training in two parts is as one; a file that one process cannot load changes no process."""
    file, rank = folder / "checkpoint", fabric.global_rank
    for _ in range(5):  # every process calls it, one of them writes
        trained_with(fabric, mine, epochs=2)[0].save(file)
    assert [path.name for path in folder.iterdir()] == ["checkpoint"]
    trainer, module, _ = trained_with(fabric, mine, file=file)
    assert torch.equal(module.weight, weight)
    expected = (OSError, "No such file") if rank else (ValueError, "cannot be loaded by another process. Nothing was changed")
    before = trainer.step, module.weight.clone()
    with pytest.raises(expected[0], match=expected[1]):
        trainer.load(folder / "none" if rank else file)
    assert trainer.step == before[0]
    assert torch.equal(module.weight, before[1])


SHARDS = ((7, 5, 6, 4, 3, 9, 2, 8), (3, 2, 5, 1, 8, 1, 4, 2))  # rows of each batch in each process: two groups of four


def unequal_rows():
    """All rows in the order of steps, and the batches of each process."""
    random = torch.Generator().manual_seed(1)
    x = torch.randn(70, 6, generator=random)
    y = (x[:, :3] + torch.randn(70, 3, generator=random)).argmax(1)
    parts, start = ([], []), 0
    for group in (slice(0, 4), slice(4, 8)):
        for rank in (0, 1):
            for size in SHARDS[rank][group]:
                parts[rank].append((x[start : start + size], y[start : start + size]))
                start += size
    return [(x[:33], y[:33]), (x[33:], y[33:])], parts


def trained_unequally(fabric, batches, held_out, accumulate, optimizer_of, epochs):
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(6, 20), torch.nn.Tanh(), torch.nn.Linear(20, 3))
    loss, optimizer = mf.MetricLoss("f1_macro"), optimizer_of(module.parameters(), lr=0.2)
    trainer = Trainer(module, loss, optimizer, metric="mcc", accumulate=accumulate, fabric=fabric)
    history = trainer.fit(batches, held_out, epochs=epochs)
    gradient, weight = (
        torch.cat([one.detach().flatten() for one in part])
        for part in ([parameter.grad for parameter in module.parameters()], module.parameters())
    )
    return gradient, weight, [row["metric"] for row in history]


def train_unequally(fabric, alone):
    """The gradient of the second step, the weights and the metric; by one process, or by two with shards of other sizes."""
    whole, parts = unequal_rows()
    found = []
    for optimizer_of, epochs in ((torch.optim.SGD, 1), (sharpness_aware, 3)):
        if alone:
            found.append(trained_unequally(fabric, whole, whole, 1, optimizer_of, epochs))
        else:
            mine = parts[fabric.global_rank]
            held_out = mine if fabric.global_rank else [*mine[:3], tuple(map(torch.cat, zip(*mine[3:], strict=True)))]
            found.append(trained_unequally(fabric, mine, held_out, 4, optimizer_of, epochs))
    return found


def sharpness_aware(parameters, lr):
    return SAM(parameters, torch.optim.SGD, lr=lr, rho=0.1, adaptive=True)


def check_running_averages(fabric):
    """Batch normalisation is judged alike by all processes, also with other numbers of held-out batches."""
    torch.manual_seed(fabric.global_rank)
    module = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 3))
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    trainer = Trainer(module, mf.MetricLoss("f1_macro"), optimizer, accumulate=2, fabric=fabric)
    batches = [(x, y) for x, y in unequal_rows()[1][fabric.global_rank] if len(x) > 1][:4]
    trainer.fit(batches, batches[: 1 + fabric.global_rank], epochs=3)
    averages = module[1].running_mean
    assert averages.abs().min() > 0.0
    assert torch.equal(averages, fabric.broadcast(averages))


def main() -> None:
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=2, strategy="ddp")
    fabric.launch()
    mine = slice(fabric.global_rank, None, 2)
    history, weight = trained(fabric, mine)
    check_checkpoints(fabric, mine, weight, Path(sys.argv[1]))
    unequal = train_unequally(fabric, alone=False)
    check_running_averages(fabric)
    fabric.barrier()
    torch.distributed.destroy_process_group()
    alone, expected = trained(Fabric(accelerator="cpu", devices=1), slice(None))
    torch.testing.assert_close(weight, expected)
    torch.testing.assert_close([row["metric"] for row in history], [row["metric"] for row in alone])
    for mine, joint in zip(unequal, train_unequally(Fabric(accelerator="cpu", devices=1), alone=True), strict=True):
        difference = float((mine[0] - joint[0]).abs().max())
        assert difference < 1e-6, difference
        torch.testing.assert_close(mine[1:], joint[1:])
        print(f"process {fabric.global_rank}: gradient within {difference:.1e} of {joint[0].abs().max():.2f}", file=sys.stderr)
    print(f"process {fabric.global_rank}: agrees", file=sys.stderr)


if __name__ == "__main__":
    main()
