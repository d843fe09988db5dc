"""``metricfit inspect``: show the contents of a model, without the packages that would run it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from metricfit._description import DamagedError, SavedFiles, check, read_description
from metricfit._errors import DataError, UsageError
from metricfit._printable import printable
from metricfit.cli._options import InspectOptions

TABLE_FILE, SCORES_FILE, REPORT_FILE = "table.json", "scores.json", "report.html"  # of a model's folder


def inspect(options: InspectOptions) -> None:
    model, as_json = options.model, options.as_json
    if model.is_file():
        _show_rule(model, as_json)
        return
    described, table, scores = _read(model)
    try:
        found = _contents(described, table, scores)
        lines = [line for name, value in _as_read(found).items() for line in _format_lines(name, value)]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise DataError(f"{model} contains a damaged model: {error!r}") from error
    if as_json:
        print(json.dumps(found, indent=1, default=str))
        return
    for line in lines:
        print(printable(line))


def _show_rule(file: Path, as_json: bool) -> None:
    from metricfit.decisions import DecisionRule
    from metricfit.metrics import name_of

    try:
        rule = DecisionRule.load(file)
    except ValueError as error:
        raise DataError(str(error)) from error
    lines = rule.summary().splitlines()
    if as_json:
        print(json.dumps({"metric": name_of(rule.metric), "classes": rule.classes_.tolist(), "rule": lines}, indent=1))
        return
    for line in lines:
        print(printable(line))


def _read(folder: Path) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The descriptions of model, table and scores; the last two are empty if the model was saved from Python."""
    if not folder.is_dir():
        raise UsageError(f"Folder {folder} does not exist.")
    model, files = describe(folder)
    try:
        files.check_all()
    except DamagedError as error:
        raise DataError(f"{folder} contains a damaged model: {error}.") from error
    table, scores = (read_json(files, name) if name in files else {} for name in (TABLE_FILE, SCORES_FILE))
    return model, table, scores


def describe(folder: Path) -> tuple[dict[str, Any], SavedFiles]:
    """The description of a model, and the files that it names; others in the folder are not read."""
    try:
        found = read_description(folder)
        return found, SavedFiles(folder, found.get("sha256", {}))
    except ValueError as error:
        raise DataError(str(error)) from error


def read_json(files: SavedFiles, name: str) -> dict[str, Any]:
    try:
        found = files.read_json(name)
        check(isinstance(found, dict), f"{name} is not an object")
    except DamagedError as error:
        raise DataError(f"{files.folder} contains a damaged model: {error}.") from error
    return found


def _contents(model: dict[str, Any], table: dict[str, Any], scores: dict[str, Any]) -> dict[str, Any]:
    return {
        "metric": model["metric_name"],
        "costs": _costs(model),
        "classes": model["classes"]["values"],
        "positive class": model["pos_label"],
        "order of classes": model["class_order"],
        "target": table.get("target", ""),
        "columns": _columns(model, table),
        "model": model["learner"],
        "method": f"{model['method']['name']} ({model['method']['title']})",
        "candidates": model["candidates"],
        "notes": list(dict.fromkeys([*model["notes"], *scores.get("notes", ())])),
        "warnings": list(scores.get("warnings", ())),
        "held out": {f"{row['model']}, {row['method']}": row["mean"] for row in scores.get("results", ())},
        "evaluation": scores.get("evaluation", ""),
        "best": scores.get("best", ""),
        "fitted": scores.get("subject", ""),
        "verdict": scores.get("verdict", ""),
        "versions": {name: model[name] for name in ("metricfit", "scikit-learn", "torch")},
        "papers": model["method"]["papers"],
    }


def _as_read(found: dict[str, Any]) -> dict[str, Any]:
    """The contents with costs as positive numbers. In JSON, more is better for every metric."""
    if not found["costs"]:
        return found
    candidates = [{**row, "metric": -row["metric"]} for row in found["candidates"]]
    held_out = {name: mean if mean is None else -mean for name, mean in found["held out"].items()}
    return {**found, "metric": "cost per case", "candidates": candidates, "held out": held_out}


def _costs(model: dict[str, Any]) -> dict[str, float]:
    """The cost of every wrong answer, and of a right one that has a cost; empty for other metrics."""
    metric, names = model["metric"], model["classes"]["values"]
    if not metric or metric["type"] != "Cost":
        return {}
    pairs = [(i, j, cost) for i, row in enumerate(metric["fields"]["matrix"]) for j, cost in enumerate(row)]
    return {f"{names[i]}, predicted {names[j]}": float(cost) for i, j, cost in pairs if i != j or cost}


def _columns(model: dict[str, Any], table: dict[str, Any]) -> dict[str, str]:
    """Columns and their types; a model that was saved from Python has names at most."""
    if table:
        return {column["name"]: column["type"] for column in table["columns"]}
    return dict.fromkeys(map(str, model["feature_names_in"] or ()), "")


def _format_lines(name: str, value: Any) -> list[str]:
    if value in ("", None, [], {}):
        return []
    if name == "candidates":
        value = {row["candidate"]: f"{row['metric']:.4f}  {row['verdict']}" for row in value}
    if name == "costs":
        value = {pair: f"{cost:g}" for pair, cost in value.items()}
    if isinstance(value, dict):
        width = max(len(str(key)) for key in value)
        lines = [f"{key!s:{width}}  {f'{item:.4f}' if isinstance(item, float) else item}" for key, item in value.items()]
    elif isinstance(value, list):
        lines = [", ".join(map(str, value))] if "classes" in name else [str(item) for item in value]
    else:
        lines = str(value).splitlines()
    return [f"{'' if index else name:16}{line}" for index, line in enumerate(lines)]
