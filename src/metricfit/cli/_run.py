"""How a command ends: an exit code and, after a mistake, one line on stderr."""

from __future__ import annotations

import errno
import sys

import typer

from metricfit._errors import DataError, UsageError
from metricfit._extras import MissingExtraError

USAGE, DATA, INTERRUPTED = 2, 1, 130
STOPPED = "Stopped; nothing was written."


def run_app(app: typer.Typer, command: str, stopped: str = STOPPED) -> int:
    """Run it and return the exit code; a user's mistake is one line on stderr, a bug is a traceback.

    ``command`` is what the user types, ``stopped`` what Ctrl-C prints.
    """

    def complain(message: object, code: int) -> int:
        print(f"{command}: {' '.join(str(message).split())}", file=sys.stderr)
        return code

    try:
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
        if hasattr(error, "format_message"):  # typer's own, about options and arguments
            if type(error).__name__ == "NoArgsIsHelpError":  # by its name: where the class lives depends on typer's version
                print(error.format_message(), file=sys.stderr)  # the help as it is, where click prints it
                return USAGE
            return complain(f"{error.format_message()} See `{command} --help`.", USAGE)
        raise
