"""Processes for tests, which inherit nothing of the shell that started the tests, and of which nothing is left."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

PATIENCE = 300  # seconds until a process has ended, on a busy machine: only what hangs takes longer
_SENT = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def started(command, **options):
    """A process in a session of its own, with pipes and the default signals; in the end all of the session is killed."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with default_signals():
        process = subprocess.Popen(list(map(str, command)), start_new_session=True, **{**pipes, **options})
    with process:  # closes the pipes
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


@contextmanager
def default_signals():
    """Children start with the default signals. Under ``make test &`` they would ignore SIGINT, and under nohup SIGHUP."""
    before = {number: signal.signal(number, lambda *_: None) for number in _SENT}  # a handler does not survive `exec`
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def wait_for(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def die_after(n_calls):
    """Kill this process when it has called this many more functions of Python: a moment that no clock decides."""
    left = n_calls

    def count(frame, event, argument):
        nonlocal left
        left -= event == "call"
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(count)
