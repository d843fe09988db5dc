"""Started by torchrun: do two processes with half of each batch train as one process with all of it?"""

import sys
from pathlib import Path

import pytest
import torch
from lightning_fabric import Fabric
from pytorch_optimizer import SAM

import metricfit as mf
from metricfit.training import Trainer


def trained(fabric, mine, epochs=5, file=None):
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
    """A training in two parts is as one."""
    file = folder / "checkpoint"
    for _ in range(5):  # every process calls it, one of them writes
        trained(fabric, mine, epochs=2)[0].save(file)
        assert [path.name for path in folder.iterdir()] == ["checkpoint"]
        fabric.barrier()
    _, module, _ = trained(fabric, mine, file=file)
    assert torch.equal(module.weight, weight)


SHARDS = ((7, 5, 6, 4, 3, 9, 2, 8), (3, 2, 5, 1, 8, 1, 6))  # rows of each batch in each process: two groups of up to four
COSTS = mf.metrics.Cost([[0.0, 1.0, 4.0], [2.0, 0.0, 1.0], [9.0, 3.0, 0.0]])
LOSSES = [("f1_macro", mf.smoothing.Softmax()), ("mcc", mf.smoothing.Normal()), (COSTS, mf.smoothing.SoftSet())]


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


def trained_unequally(fabric, batches, held_out, accumulate, loss, optimizer_of, epochs):
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(6, 20), torch.nn.Tanh(), torch.nn.Linear(20, 3))
    optimizer = optimizer_of(module.parameters(), lr=0.2)
    trainer = Trainer(module, loss, optimizer, metric="mcc", accumulate=accumulate, fabric=fabric)
    history = trainer.fit(batches, held_out, epochs=epochs)
    gradient, weight = (
        torch.cat([one.detach().flatten() for one in part])
        for part in ([parameter.grad for parameter in module.parameters()], module.parameters())
    )
    return gradient, weight, [row["metric"] for row in history]


def train_unequally(fabric, alone):
    """The last gradient, the weights and the metric, for each loss; by one process, or by two with shards of other sizes."""
    whole, parts = unequal_rows()
    found = []
    for loss, optimizer_of, epochs in [*((one, torch.optim.SGD, 1) for one in LOSSES), (LOSSES[0], sharpness_aware, 3)]:
        how = mf.MetricLoss(*loss), optimizer_of, epochs
        if alone:
            found.append(trained_unequally(fabric, whole, whole, 1, *how))
        else:
            mine = parts[fabric.global_rank]
            held_out = mine if fabric.global_rank else [*mine[:3], tuple(map(torch.cat, zip(*mine[3:], strict=True)))]
            found.append(trained_unequally(fabric, mine, held_out, 4, *how))
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


class Unsized(torch.utils.data.IterableDataset):
    """Batches without a length, as those of a loader that reads from the network."""

    def __init__(self, batches):
        self.batches = batches

    def __iter__(self):
        return iter(self.batches)


def check_agreement(fabric, file):
    """What would leave a process waiting is an error in all processes; an error of the user's own stays as it is."""
    rank = fabric.global_rank
    parts = unequal_rows()[1][rank]

    def fit(batches, accumulate=1, load=None, **options):
        torch.manual_seed(0)
        module = torch.nn.Linear(6, 3)
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
        trainer = Trainer(module, mf.MetricLoss("f1_macro"), optimizer, accumulate=accumulate, fabric=fabric, **options)
        if load is not None:
            trainer.load(load)
        trainer.fit(batches, parts, epochs=30, patience=2)
        return trainer

    with pytest.raises(ValueError, match=r"steps per epoch, got 8 in process 0, 7 in process 1\. Try"):
        fit(parts)
    loader = torch.utils.data.DataLoader(Unsized(parts), batch_size=None)
    with pytest.raises(ValueError, match="after 7 of them only 1 of 2 processes have more"):
        fit(loader)
    fit(loader, accumulate=4)  # two steps each
    trainer = fit(parts, accumulate=4, score=lambda scores, labels: float(rank))  # each judges its own rows
    assert [row["metric"] for row in trainer.history] == [0.5] * trainer.epoch
    assert len({tuple(row) for row in gather(fabric, [row["surrogate"] for row in trainer.history])}) == 1

    def fail(scores, labels):
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        fit(parts, accumulate=4, score=fail)
    trainer.save(file)
    with pytest.raises(ValueError, match=r"got `load` in process 0, `fit` from step 0 in process 1\. Load the same"):
        fit(parts, load=None if rank else file)
    trainer.step -= rank
    with pytest.raises(ValueError, match=rf"got `fit` from step {trainer.step + rank} in process 0, `fit` from"):
        trainer.fit(parts, parts, epochs=40)


def gather(fabric, numbers):
    return fabric.broadcast(numbers), numbers


def main() -> None:
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=2, strategy="ddp")
    fabric.launch()
    mine = slice(fabric.global_rank, None, 2)
    _, module, history = trained(fabric, mine)
    check_checkpoints(fabric, mine, module.weight, Path(sys.argv[1]))
    unequal = train_unequally(fabric, alone=False)
    check_running_averages(fabric)
    check_agreement(fabric, Path(sys.argv[1], "of two"))
    fabric.barrier()
    torch.distributed.destroy_process_group()
    _, expected, alone = trained(Fabric(accelerator="cpu", devices=1), slice(None))
    torch.testing.assert_close(module.weight, expected.weight)
    torch.testing.assert_close([row["metric"] for row in history], [row["metric"] for row in alone])
    compare_gradients(unequal, train_unequally(Fabric(accelerator="cpu", devices=1), alone=True), fabric.global_rank)
    print(f"process {fabric.global_rank}: agrees", file=sys.stderr)


def compare_gradients(unequal, alone, rank):
    """All are within 1e-6 of those of the joint batch, and much larger than that."""
    differences = []
    for loss, mine, joint in zip([*LOSSES, "SAM"], unequal, alone, strict=True):
        differences.append(float((mine[0] - joint[0]).abs().max()))
        size = float(joint[0].abs().max())
        assert differences[-1] < 1e-6 < 1e-3 < size, (loss, differences[-1], size)
        torch.testing.assert_close(mine[1:], joint[1:])
        print(f"process {rank}: gradient within {differences[-1]:.1e} of {size:.3f}, {loss}", file=sys.stderr)
    print(f"process {rank}: {len(LOSSES)} losses, largest difference {max(differences):.1e}", file=sys.stderr)


if __name__ == "__main__":
    main()
