"""``metricfit demo``: two real questions, one where training for the metric pays and one where it does not."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Any

import typer

from metricfit.cli import _options as options
from metricfit.cli._compare import CompareOptions, compare


@dataclass(frozen=True)
class Question:
    """A question, and the options of ``compare`` that answer it."""

    words: str
    data: str
    command: dict[str, Any] = field(default_factory=dict)


QUESTIONS = (
    Question(
        "How does a buyer's guide rate a car? The model should stay linear, so that one can read it.",
        "cars.csv",
        {"metric": "mcc", "models": "linear"},
    ),
    Question("Is a tumour malignant?", "tumours.csv", {"metric": "f1", "models": "linear,boosting"}),
)


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the two reports.")] = Path("metricfit-demo"),
    jobs: options.Jobs = 1,
) -> None:
    """Answer two questions with data that ship with the package, and write a report of each."""
    for number, question in enumerate(QUESTIONS, 1):
        with as_file(files("metricfit.cli") / "examples" / question.data) as path:
            report = out / f"{path.stem}.html"
            asked = " ".join(f"--{name} {value}" for name, value in question.command.items())
            print(f"{'' if number == 1 else chr(10)}Question {number}: {question.words}", flush=True)
            print(f"metricfit compare {question.data} {asked} --report {report}", flush=True)
            compare(CompareOptions(data=path, jobs=jobs, report=report, overwrite=True, **question.command))
