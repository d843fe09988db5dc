"""Exit codes and error messages of a command."""

from __future__ import annotations

import errno
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from metricfit._errors import DataError, UsageError
from metricfit._extras import MissingExtraError
from metricfit._printable import printable

USAGE, DATA, INTERRUPTED = 2, 1, 130
STOPPED = "Interrupted; nothing was written."


def run_app(app: typer.Typer, command: str, stopped: str = STOPPED) -> int:
    """Run the app and return the exit code; a user's mistake prints one line to stderr, a bug prints a traceback.

    ``command`` starts every error line; ``stopped`` is the message after Ctrl-C.
    """

    def complain(message: object, code: int) -> int:
        print(f"{command}: {printable(' '.join(str(message).split()))}", file=sys.stderr)
        return code

    def warn(message: Warning | str, *_: object, **__: object) -> None:
        complain(message, 0)

    try:
        with warnings.catch_warnings(), _end_in_order():
            warnings.showwarning = warn  # without the path of a source file
            code = int(app(standalone_mode=False) or 0)  # typer turns Ctrl-C into a code
        return complain(stopped, code) if code == INTERRUPTED else code
    except UsageError as error:
        return complain(error, USAGE)
    except (DataError, MissingExtraError) as error:
        return complain(error, DATA)
    except FileExistsError as error:
        return complain(error, USAGE)
    except (KeyboardInterrupt, typer.Abort):
        return complain(stopped, INTERRUPTED)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            return complain(f"The disk is full: {error.filename or 'the output'} was not written.", DATA)
        return complain(f"{error.filename}: {error.strerror}." if error.filename else error, DATA)
    except Exception as error:
        if hasattr(error, "format_message"):  # an error of typer about options or arguments
            if type(error).__name__ == "NoArgsIsHelpError":  # by name: its module depends on typer's version
                print(error.format_message(), file=sys.stderr)  # the whole help, as click prints it
                return USAGE
            return complain(f"{error.format_message()} See `{command} --help`.", USAGE)
        raise


@contextmanager
def _end_in_order() -> Iterator[None]:
    """Let SIGTERM end a command as Ctrl-C does, so that it removes its temporary files."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
