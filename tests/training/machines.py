"""Two machines of one process each, for tests: what torchrun sets is set by hand, and nobody watches over them."""

import multiprocessing
import os
import runpy
import socket

import lightning_fabric  # loaded once, by the server that the processes are forked from
import torch

import metricfit.training
from tests.processes import PATIENCE

__all__ = ["Machines", "lightning_fabric", "metricfit"]


class Machines:
    """The same script on two machines that share a folder; ``processes`` are theirs, which a test may kill or stop."""

    def __init__(self, script, folder):
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__])
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.folder = folder
        self.processes = [context.Process(target=_run, args=(script, folder, rank, port)) for rank in range(2)]
        for process in self.processes:
            process.start()

    def wait(self):
        """Until both have ended; their exit codes."""
        for process in self.processes:
            process.join(PATIENCE)
        return [process.exitcode for process in self.processes]

    def lines(self, rank):
        """What a process printed."""
        return (self.folder / f"printed-{rank}").read_text().splitlines()


def _run(script, folder, rank, port):
    os.chdir(folder)
    with open(f"printed-{rank}", "wb") as printed:
        for stream in (1, 2):
            os.dup2(printed.fileno(), stream)
    settings = {
        "RANK": rank,
        "WORLD_SIZE": 2,
        "LOCAL_RANK": 0,
        "LOCAL_WORLD_SIZE": 1,
        "GROUP_RANK": rank,
        "GROUP_WORLD_SIZE": 2,
    }
    settings |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "TORCHELASTIC_RUN_ID": "test"}
    os.environ.update({name: str(value) for name, value in settings.items()})
    torch.set_num_threads(1)
    runpy.run_path(script, run_name="__main__")
