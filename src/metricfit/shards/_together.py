"""Several solvers side by side: what all of them ask next is answered in one pass over the rows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
Ask = Callable[[Any], Any]


class _StoppedError(Exception):
    """Raised in a solver whose question cannot be answered any more."""


def solve_together(solvers: Sequence[Callable[[Ask], T]], answer: Callable[[list[Any]], list[Any]]) -> list[T]:
    """The results of all solvers. A solver gets a function ``ask(question)``, which waits for the answer.

    The solvers run in threads, one of them or ``answer`` at a time. Whenever all that have not ended wait, ``answer`` is
    called with their questions. So the result does not depend on timing. An error in a solver or in ``answer`` ends all.

    >>> asked = []
    >>> def answer(questions):
    ...     asked.append(questions)
    ...     return [10 * question for question in questions]
    >>> solve_together([lambda ask: ask(1) + ask(2), lambda ask: ask(3)], answer), asked
    ([30, 30], [[1, 3], [2]])
    """
    runs = [_Run(solver) for solver in solvers]
    try:
        for run in runs:
            run.resume(None)
        while waiting := [run for run in runs if not run.ended]:
            for run, found in zip(waiting, answer([run.question for run in waiting]), strict=True):
                run.resume(found)
    finally:
        for run in runs:
            run.stop()
    return [run.result for run in runs]


class _Run:
    """A solver in a thread that runs only while :meth:`resume` waits for its next question or its end."""

    def __init__(self, solver: Callable[[Ask], Any]) -> None:
        self.question: Any = None
        self.result: Any = None
        self._answer: Any = None
        self.ended, self._stopped = False, False
        self._error: BaseException | None = None
        self._go, self._paused = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._solve, args=(solver,), daemon=True)
        self._thread.start()

    def resume(self, answer: Any) -> None:
        self._answer = answer
        self._go.release()
        self._paused.acquire()
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        if not self.ended:
            self._stopped = True
            self._go.release()
        self._thread.join()

    def _solve(self, solver: Callable[[Ask], Any]) -> None:
        try:
            self._wait()
            self.result = solver(self._ask)
        except _StoppedError:
            pass
        except BaseException as error:
            self._error = error
        finally:
            self.ended = True
            self._paused.release()

    def _ask(self, question: Any) -> Any:
        self.question = question
        self._paused.release()
        self._wait()
        return self._answer

    def _wait(self) -> None:
        self._go.acquire()
        if self._stopped:
            raise _StoppedError
