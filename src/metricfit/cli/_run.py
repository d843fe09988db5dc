"""Exit codes and error messages of a command."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from contextlib import suppress

import typer

from metricfit._errors import ClusterError, DataError, PartialError, UsageError
from metricfit._extras import MissingExtraError
from metricfit._printable import printable
from metricfit._signals import end_in_order

USAGE, DATA, INTERRUPTED = 2, 1, 130
STOPPED = "Interrupted; nothing was written."
NO_MEMORY = "There is not enough memory for these data. Pass fewer rows, or leave columns out by --drop."


def run_app(app: typer.Typer, command: str, stopped: str = STOPPED) -> int:
    """Run the app and return the exit code; a user's mistake prints one line to stderr, a bug prints a traceback.

    ``command`` starts every error line; ``stopped`` is the message after Ctrl-C.
    """

    def complain(message: object, code: int) -> int:
        print(f"{command}: {printable(' '.join(str(message).split()))}", file=sys.stderr)
        return code

    def warn(message: Warning | str, *_: object, **__: object) -> None:
        complain(message, 0)

    print_anything()
    try:
        with warnings.catch_warnings(), end_in_order():
            warnings.showwarning = warn  # without the path of a source file
            code = int(app(standalone_mode=False) or 0)  # typer turns Ctrl-C into a code
            _flush_results()
        return complain(stopped, code) if code == INTERRUPTED else code
    except UsageError as error:
        return complain(error, USAGE)
    except (ClusterError, DataError, MissingExtraError) as error:
        return complain(error, DATA)
    except PartialError as error:
        return complain(error, INTERRUPTED)
    except FileExistsError as error:
        return complain(error, USAGE)
    except (KeyboardInterrupt, typer.Abort):
        return complain(stopped, INTERRUPTED)
    except OSError as error:
        return complain(_about_system(error), DATA)
    except MemoryError:
        return complain(NO_MEMORY, DATA)
    except Exception as error:
        if type(error).__name__ == "TerminatedWorkerError":  # by name: its package is heavy
            return complain(f"A process of --jobs was ended from outside, perhaps for its memory. {NO_MEMORY}", DATA)
        if hasattr(error, "format_message"):  # an error of typer about options or arguments
            if type(error).__name__ == "NoArgsIsHelpError":  # by name: its module depends on typer's version
                print(error.format_message(), file=sys.stderr)  # the whole help, as click prints it
                return USAGE
            return complain(f"{error.format_message()} See `{command} --help`.", USAGE)
        raise


def print_anything() -> None:
    """Let stdout and stderr take every character: those that the terminal's encoding lacks are printed as escapes."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _flush_results() -> None:
    """Write what is left for stdout. If that fails, Python must not try again at its end."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def _about_system(error: OSError) -> str:
    """One line about an error of the system."""
    if error.errno == errno.ENOSPC:
        return f"The disk is full: {error.filename or 'the output'} was not written."
    return f"{error.filename}: {error.strerror}." if error.filename else str(error)
