"""Started by torchrun: do two processes with half of each batch train as one process with all of it?"""

import sys
from pathlib import Path

import pytest
import torch
from lightning_fabric import Fabric

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


def main() -> None:
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=2, strategy="ddp")
    fabric.launch()
    mine = slice(fabric.global_rank, None, 2)
    history, weight = trained(fabric, mine)
    check_checkpoints(fabric, mine, weight, Path(sys.argv[1]))
    fabric.barrier()
    torch.distributed.destroy_process_group()
    alone, expected = trained(Fabric(accelerator="cpu", devices=1), slice(None))
    torch.testing.assert_close(weight, expected)
    torch.testing.assert_close([row["metric"] for row in history], [row["metric"] for row in alone])
    print(f"process {fabric.global_rank}: agrees", file=sys.stderr)


if __name__ == "__main__":
    main()
