"""Signals that wait while a library works in C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def held_signals() -> Iterator[Callable[[], None]]:
    """Hold back signals, such as that of Ctrl-C, while a library works in C; what is yielded hands them to their handlers.

    A signal that comes during work in C is otherwise handled when Python begins again. That may be at the first instruction of
    a call from C, where Python forgets what the handler raises. Signals are handled in the main thread alone. Those without a
    handler in Python end the process, or do nothing, as before.
    """
    before: dict[int, Callable[[int, Any], Any]] = {}
    held: list[int] = []

    def raise_held() -> None:
        while held:
            number = held.pop(0)
            before[number](number, None)

    try:
        for number in signal.valid_signals() if threading.current_thread() is threading.main_thread() else ():
            handler = signal.getsignal(number)
            if callable(handler):
                before[number] = handler
                signal.signal(number, lambda number, frame: held.append(number))
        yield raise_held
    finally:
        for known, handler in before.items():
            signal.signal(known, handler)
        raise_held()
