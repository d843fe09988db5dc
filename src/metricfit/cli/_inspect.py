"""``metricfit inspect``: show the contents of a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metricfit._errors import DataError
from metricfit._printable import printable
from metricfit.cli import _options as options

if TYPE_CHECKING:
    from metricfit.cli._model import Model


def inspect(
    model: Annotated[Path, typer.Argument(help="Folder that `metricfit fit` wrote.", show_default=False)],
    as_json: options.AsJson = False,
) -> None:
    """Show the contents of a model: metric, columns, classes, scores."""
    from metricfit.cli._model import open_model

    opened = open_model(model)
    try:
        found = _contents(opened, json.loads((model / "model.json").read_text(encoding="utf-8")))
        lines = [line for name, value in found.items() for line in _format_lines(name, value)]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise DataError(f"{model} holds a damaged model: {error!r}") from error
    if as_json:
        print(json.dumps(found, indent=1, default=str))
        return
    for line in lines:
        print(printable(line))


def _contents(opened: Model, written: dict[str, Any]) -> dict[str, Any]:
    classifier, scores = opened.classifier, opened.scores
    return {
        "metric": str(classifier.metric),
        "classes": classifier.classes_.tolist(),
        "positive class": classifier.pos_label,
        "target": opened.target,
        "columns": {column.name: column.type for column in opened.schema.columns},
        "model": classifier.learner_,
        "method": f"{classifier.chosen_} ({classifier.method_.title})",
        "candidates": list(classifier.candidates_),
        "notes": list(dict.fromkeys([*classifier.notes_, *scores.get("notes", ())])),
        "held out": {f"{row['model']}, {row['method']}": row["mean"] for row in scores.get("results", ())},
        "best": scores.get("best", ""),
        "simplest": scores.get("simplest", ""),
        "verdict": scores.get("verdict", ""),
        "versions": {name: written[name] for name in ("metricfit", "scikit-learn", "torch")},
        "papers": list(classifier.method_.papers),
    }


def _format_lines(name: str, value: Any) -> list[str]:
    if value in ("", None, [], {}):
        return []
    if name == "candidates":
        value = {row["candidate"]: f"{row['metric']:.4f}  {row['verdict']}" for row in value}
    if isinstance(value, dict):
        width = max(len(str(key)) for key in value)
        lines = [f"{key!s:{width}}  {f'{item:.4f}' if isinstance(item, float) else item}" for key, item in value.items()]
    elif isinstance(value, list):
        lines = [", ".join(map(str, value))] if name == "classes" else [str(item) for item in value]
    else:
        lines = str(value).splitlines()
    return [f"{'' if place else name:16}{line}" for place, line in enumerate(lines)]
