"""Started by torchrun: do N processes with a part of the batch each give the gradient of the whole batch?"""

import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import metricfit as mf

LOSSES = [
    mf.MetricLoss("f1_macro"),
    mf.MetricLoss("mcc", mf.smoothing.Normal(), "log", memory=0.9),
    mf.MetricLoss("accuracy", link="log"),
    mf.ExactLoss(normalize_scores=False, link="log_of_mean", memory=0.9),
    mf.ExactLoss(normalize_scores=False),
    mf.DiceLoss(),
    mf.MetricLoss("f1", mode="binary"),
    mf.MetricLoss("f1_macro", mode="multilabel", leak=0.1),
    mf.MetricLoss("mcc", mf.smoothing.Normal(), mode="multilabel", memory=0.9),
]


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    random = torch.Generator().manual_seed(0)
    x = torch.randn(23, 4, dtype=torch.float64, generator=random)
    labels = torch.randint(3, (23,), generator=random)
    mine = torch.arange(23) % 4 == 0 if rank == 0 else torch.arange(23) % 4 != 0  # parts of different size
    for index, loss in enumerate(LOSSES):
        torch.manual_seed(index)
        plain = torch.nn.Linear(4, 1 if loss.mode == "binary" else 3).double()
        y = (
            {"binary": labels > 0, "multilabel": torch.nn.functional.one_hot(labels, 3) + (labels == 0)[:, None]}.get(
                loss.mode, labels
            )
            .long()
            .clamp(max=1 if loss.mode else 2)
        )
        parallel = DistributedDataParallel(plain)
        value = loss(parallel(x[mine]), y[mine])
        value.backward()
        gradient = plain.weight.grad.clone()

        plain.zero_grad()
        loss.forget()
        loss.distributed = False
        whole = loss(plain(x), y)
        whole.backward()
        torch.testing.assert_close(value, whole)
        torch.testing.assert_close(gradient, plain.weight.grad)

        loss.distributed = None
        if rank == 0:  # one process alone may validate without waiting for the others
            with torch.no_grad():
                loss(plain(x), y)
            loss.eval()(plain(x), y)
    print(f"process {rank} of {size}: {len(LOSSES)} losses agree", file=sys.stderr)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
