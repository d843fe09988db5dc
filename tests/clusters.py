"""A real Dask cluster for tests: a scheduler and workers, each a process of its own on this machine."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
PATIENCE = 120  # seconds until a process has started, on a busy machine


class Cluster:
    """``scheduler`` and ``workers`` are processes, which a test may kill: :meth:`repair` starts others."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "scheduler.json"
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []

    @property
    def address(self) -> str:
        return json.loads(self.file.read_text())["address"]

    def repair(self, n_workers: int = 2) -> None:
        """A scheduler and this many workers that have connected to it."""
        if self.scheduler is None or self.scheduler.poll() is not None:
            self.stop()
            self.file.unlink(missing_ok=True)
            options = ["--port", "0", "--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", self.file]
            self.scheduler = _start("dask_scheduler", *options)
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        while len(self.workers) < n_workers:
            self.start_worker()
        self.wait_for_workers(n_workers)

    def start_worker(self) -> None:
        options = ["--scheduler-file", self.file, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        self.workers.append(_start("dask_worker", *options))

    def wait_for_workers(self, n_workers: int) -> None:
        from distributed import Client

        deadline = time.monotonic() + PATIENCE
        while not (self.file.exists() and self.file.read_text().rstrip().endswith("}")):
            assert time.monotonic() < deadline, "the scheduler did not start"
            time.sleep(0.05)
        with Client(self.address, timeout=PATIENCE, set_as_default=False) as client:
            client.wait_for_workers(n_workers, timeout=PATIENCE)

    def stop(self) -> None:
        for process in (*self.workers, *([self.scheduler] if self.scheduler else [])):
            process.kill()
            process.wait(timeout=PATIENCE)


def _start(module: str, *arguments: object) -> subprocess.Popen[bytes]:
    environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    command = [sys.executable, "-W", "ignore", "-m", f"distributed.cli.{module}", *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
