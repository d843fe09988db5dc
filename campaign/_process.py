"""A process of its own for what may crash or hang."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, Self

import torch


class CrashError(Exception):
    """The process ended, or did not answer in time."""


class Worker:
    """Calls functions in another process, which is replaced after a crash or at the end of the time."""

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def call(self, function: Callable[..., Any], *arguments: Any, limit: float) -> Any:
        """The result, or the error that the function raised; a :class:`CrashError` after ``limit`` seconds or a crash."""
        self._here.send((function, arguments))
        try:
            if not self._here.poll(limit):
                raise CrashError(f"no answer within {limit:g} s")
            raised, found = self._here.recv()
        except (EOFError, ConnectionError, CrashError) as error:
            self._end()
            self._start()
            raise CrashError(str(error) or "the process ended") from None
        if raised:
            raise found
        return found

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._here, there = context.Pipe()
        self._process = context.Process(target=_serve, args=(there,), daemon=True)
        self._process.start()
        there.close()

    def _end(self) -> None:
        self._process.kill()
        self._process.join()
        self._here.close()


def _serve(there: Connection) -> None:
    torch.set_num_threads(1)
    while True:
        try:
            function, arguments = there.recv()
        except EOFError:
            return
        try:
            found = (False, function(*arguments))
        except Exception as error:
            found = (True, error)
        try:
            there.send(found)
        except Exception as error:  # an error that cannot be sent
            there.send((True, RuntimeError(f"{type(found[1]).__name__}: {found[1]} ({error})")))
