"""``metricfit inspect``: what is in a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from metricfit.cli import _options as options

PAPERS = {
    "leaky": ["İrsoy 2019, On Expected Accuracy, arXiv 1905.00448", "Karpukhin et al. 2022, EXACT, arXiv 2205.09615"],
    "direct": ["Karpukhin et al. 2022, EXACT, arXiv 2205.09615"],
    "anneal": ["Li et al. 2024, EAST, arXiv 2405.20954"],
    "expected": ["İrsoy 2019, On Expected Accuracy, arXiv 1905.00448"],
}


def inspect(
    model: Annotated[Path, typer.Argument(help="Folder that `metricfit fit` wrote.", show_default=False)],
    as_json: options.AsJson = False,
) -> None:
    """What is in a model: metric, columns, classes, scores."""
    from metricfit.cli._model import open_model

    opened = open_model(model)
    classifier, scores = opened.classifier, opened.scores
    written = json.loads((model / "model.json").read_text(encoding="utf-8"))
    found: dict[str, Any] = {
        "metric": str(classifier.metric),
        "classes": classifier.classes_.tolist(),
        "positive class": classifier.positive_class,
        "target": opened.target,
        "columns": {column.name: column.type for column in opened.columns},
        "model": f"{written['model']['kind']}, {classifier.n_inputs_} inputs",
        "trained by": classifier.chosen_,
        "candidates": list(classifier.candidates_),
        "held out": {row["method"]: row["mean"] for row in scores.get("methods", ())},
        "verdict": scores.get("verdict", ""),
        "versions": {name: written[name] for name in ("metricfit", "scikit-learn", "torch")},
        "papers": PAPERS.get(classifier.chosen_.split("(")[0], []),
    }
    if as_json:
        print(json.dumps(found, indent=1, default=str))
        return
    for name, value in found.items():
        _show(name, value)


def _show(name: str, value: Any) -> None:
    if value in ("", None, [], {}):
        return
    if name == "candidates":
        value = {row["candidate"]: f"{row['metric']:.4f}  {row['verdict']}" for row in value}
    if isinstance(value, dict):
        width = max(len(str(key)) for key in value)
        lines = [f"{key!s:{width}}  {f'{item:.4f}' if isinstance(item, float) else item}" for key, item in value.items()]
    elif isinstance(value, list):
        lines = [", ".join(map(str, value))] if name == "classes" else [str(item) for item in value]
    else:
        lines = [str(value)]
    for place, line in enumerate(lines):
        print(f"{name if not place else '':16}{line}")
