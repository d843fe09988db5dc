"""Started by torchrun: do two processes with half of each batch train as one process with all of it?"""

import sys

import torch
from lightning_fabric import Fabric

import metricfit as mf
from metricfit.training import Trainer


def trained(fabric, mine):
    random = torch.Generator().manual_seed(0)
    x, y = torch.randn(40, 4, generator=random), torch.randint(3, (40,), generator=random)
    torch.manual_seed(0)
    module = torch.nn.Linear(4, 3)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.5)
    trainer = Trainer(module, mf.MetricLoss("f1_macro"), optimizer, metric="f1_macro", fabric=fabric)
    batches = [(x[part][mine], y[part][mine]) for part in torch.arange(40).split(20)]
    return trainer.fit(batches, (x[mine], y[mine]), epochs=5), module.weight.detach().clone()


def main() -> None:
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=2, strategy="ddp")
    fabric.launch()
    mine = slice(fabric.global_rank, None, 2)
    history, weight = trained(fabric, mine)
    fabric.barrier()
    torch.distributed.destroy_process_group()
    alone, expected = trained(Fabric(accelerator="cpu", devices=1), slice(None))
    torch.testing.assert_close(weight, expected)
    torch.testing.assert_close([row["metric"] for row in history], [row["metric"] for row in alone])
    print(f"process {fabric.global_rank}: agrees", file=sys.stderr)


if __name__ == "__main__":
    main()
