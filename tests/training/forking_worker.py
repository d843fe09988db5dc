"""Child processes of all kinds in a fit, and then the end: a child that is told to end does not end the training."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from types import SimpleNamespace

import torch
from torch.utils.data import DataLoader

from metricfit.training._lost import end_named


def use_pool(method):
    with multiprocessing.get_context(method).Pool(2) as pool:  # its end tells the children to end
        assert pool.map(abs, [-1, -2]) == [1, 2]


def use_pool_in_thread(method):
    thread = threading.Thread(target=use_pool, args=(method,))
    thread.start()
    thread.join()


def end_at_once(method):
    """The signal comes before the child has done anything, or while it does it."""
    for round_ in range(30 if method == "fork" else 2):
        child = multiprocessing.get_context(method).Process(target=time.sleep, args=(60,))
        child.start()
        time.sleep(round_ % 3 * 0.001)
        child.terminate()
        child.join()
        assert child.exitcode == -signal.SIGTERM


def use_loader(method):
    loader = DataLoader(torch.arange(8), batch_size=2, num_workers=1, multiprocessing_context=method)
    assert torch.cat(list(loader)).tolist() == list(range(8))
    batches = iter(loader)
    next(batches)
    batches._workers[0].terminate()
    batches._workers[0].join()


def leave_the_block(_):
    """A child without `multiprocessing` that leaves it by an exception."""
    if os.fork() == 0:
        sys.exit(3)
    assert os.waitstatus_to_exitcode(os.wait()[1]) == 3


USES = {use.__name__: use for use in (use_pool, use_pool_in_thread, end_at_once, use_loader, leave_the_block)}


def main() -> None:
    name, method = sys.argv[1:]
    trainer = SimpleNamespace(fabric=SimpleNamespace(world_size=2, global_rank=0), saved=None, step=7)
    with end_named(trainer):
        USES[name](method)
        time.sleep(0.3)  # the thread would have ended this process by now
        print("goes on", flush=True)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
        print("is not ended", flush=True)


if __name__ == "__main__":
    main()
