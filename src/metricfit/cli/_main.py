"""The command and its subcommands, its exit codes and its error messages."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer

from metricfit._errors import ClusterError, DataError, PartialError, UsageError
from metricfit._extras import MissingExtraError
from metricfit._printable import printable
from metricfit.cli._options import COMMANDS, AsJson, CompareOptions, Jobs, as_command

USAGE, DATA, INTERRUPTED = 2, 1, 130
STOPPED = "Interrupted; nothing was written."
NO_MEMORY = "There is not enough memory for these data. Pass fewer rows, or drop columns with --drop."
_SAID_BY_PARSER = {  # typer's words for a number, and ours
    r"Input should be a valid integer\b.*": "expected a whole number",
    r"Input should be a valid number\b.*": "expected a number",
    r"Input should be ": "expected a number ",
}
QUESTIONS = (  # of the demo: words, data, and options of `compare`
    (
        "How does a buyer's guide rate a car? A linear model keeps the answer readable.",
        "cars.csv",
        {"metric": "mcc", "models": "linear"},
    ),
    ("Is a tumour malignant?", "tumours.csv", {"metric": "f1", "models": "linear,boosting"}),
)


def run_app(app: typer.Typer, command: str, stopped: str = STOPPED) -> int:
    """Run the app and return the exit code; a user's mistake prints one line to stderr, a bug prints a traceback.

    ``command`` starts every error line; ``stopped`` is the message after Ctrl-C.
    """

    def complain(message: object, code: int) -> int:
        print(f"{command}: {printable(' '.join(str(message).split()))}", file=sys.stderr)
        return code

    def warn(message: Warning | str, *_: object, **__: object) -> None:
        complain(message, 0)

    for stream in (sys.stdout, sys.stderr):  # characters that the terminal's encoding lacks are printed as escapes
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        with warnings.catch_warnings(), _end_in_order():
            warnings.showwarning = warn  # without the path of a source file
            code = int(app(standalone_mode=False) or 0)  # typer turns Ctrl-C into a code
            _flush_results()
        return complain(stopped, code) if code == INTERRUPTED else code
    except (UsageError, FileExistsError) as error:
        return complain(error, USAGE)
    except (ClusterError, DataError, MissingExtraError) as error:
        return complain(error, DATA)
    except PartialError as error:
        return complain(error, INTERRUPTED)
    except (KeyboardInterrupt, typer.Abort):
        return complain(stopped, INTERRUPTED)
    except OSError as error:
        return complain(_describe_system_error(error), DATA)
    except MemoryError:
        return complain(NO_MEMORY, DATA)
    except Exception as error:
        if type(error).__name__ == "TerminatedWorkerError":  # by name: its package is heavy
            return complain(f"A process of --jobs was killed, perhaps because of its memory. {NO_MEMORY}", DATA)
        if hasattr(error, "format_message"):  # an error of typer about options or arguments
            if type(error).__name__ == "NoArgsIsHelpError":  # by name: its module depends on typer's version
                print(error.format_message(), file=sys.stderr)  # the whole help, as click prints it
                return USAGE
            return complain(f"{_plain_words(error.format_message())} See `{command} --help`.", USAGE)
        raise


def _plain_words(text: str) -> str:
    """An error of typer without the words of its parser, and as a sentence.

    >>> _plain_words("Invalid value for '--folds': Input should be a valid integer, unable to parse string as an integer")
    "Invalid value for '--folds': expected a whole number."
    >>> _plain_words("No such option: --fold Did you mean --folds?")
    'No such option: --fold Did you mean --folds?'
    """
    for said, words in _SAID_BY_PARSER.items():
        text = re.sub(said, words, text)
    return text if text.endswith((".", "?", "!")) else f"{text}."


@contextmanager
def _end_in_order() -> Iterator[None]:
    """Let SIGTERM, and the end of the terminal, end a command as Ctrl-C does, so that it removes its temporary files."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_IGN)  # a second signal would interrupt the removal
        raise KeyboardInterrupt

    numbers = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    before = {number: signal.getsignal(number) for number in numbers}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # as nohup has it
            signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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


def _describe_system_error(error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return f"The disk is full: {error.filename or 'the output'} was not written."
    return f"{error.filename}: {error.strerror}." if error.filename else str(error)


app = typer.Typer(
    name="metricfit",
    help="Train a classifier for the metric it will be judged on, and test which model and method do best.",
    epilog="Example: metricfit compare churn.csv --target churned --metric f1",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
for _command, _example in COMMANDS.items():
    app.command(epilog=f"Example: metricfit {_example}")(as_command(_command))


@app.command(epilog="Example: metricfit metrics")
def metrics(as_json: AsJson = False) -> None:
    """List the names for --metric."""
    from metricfit.metrics import REGISTRY

    if as_json:
        print(json.dumps({name: entry.about for name, entry in REGISTRY.items()}, indent=1))
        return
    width = max(map(len, REGISTRY)) + 2
    for name, entry in REGISTRY.items():
        print(f"{name:{width}}{entry.about}")
    print(f"{'f<beta>':{width}}F-beta for any other beta, such as f3 or f0.25_macro")


@app.command(epilog="Example: metricfit demo")
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the two reports.")] = Path("metricfit-demo"), jobs: Jobs = 1
) -> None:
    """Compare models on two example tables.

    The tables ship with the package. Each gets a report.
    """
    from metricfit.cli._compare import compare

    for number, (question, data, options) in enumerate(QUESTIONS, 1):
        with as_file(files("metricfit.cli") / "examples" / data) as path:
            report = out / f"{path.stem}.html"
            typed = " ".join(f"--{name} {value}" for name, value in options.items())
            print(f"{'' if number == 1 else chr(10)}Question {number}: {question}", flush=True)
            print(f"metricfit compare {data} {typed} --report {report}", flush=True)
            compare(CompareOptions(data=path, jobs=jobs, report=report, overwrite=True, **options))  # type: ignore[arg-type]


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"metricfit {version('metricfit')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options of the command itself."""
