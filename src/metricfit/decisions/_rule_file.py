"""A decision rule as one JSON file."""

from __future__ import annotations

import base64
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from metricfit._description import MOST_BYTES, parse_json
from metricfit._files import check_free, new_file, read_regular
from metricfit.decisions._actions import Actions
from metricfit.decisions._constraints import read_constraints, resolve_constraints
from metricfit.decisions._row_costs import Money
from metricfit.decisions._rows import Rows
from metricfit.metrics import Custom, metric_from_plain, metric_to_plain, name_of

FORMAT, VERSION = "metricfit rule", 1
_ROWS = {"scores": np.float32, "labels": np.int32, "weight": np.float32}
_OPTIONS = ("confidence", "pos_label", "class_order", "kind", "fallback", "abstain", "abstain_cost", "abstain_label")
_FOUND = (
    *("kind_", "is_single_", "attainable_", "refusal_", "constraints_", "score_", "score_interval_", "is_cross_fitted_"),
    *("baseline_", "gain_", "gain_interval_", "gain_p_", "columns_", "notes_", "coverage_", "has_lists_"),
    "threshold_range_",
)


def save(rule: Any, file: Path, overwrite: bool = False) -> None:
    if not hasattr(rule, "offsets_"):
        raise ValueError("`save` needs a fitted rule: call fit first.")
    check_free(file, "pass overwrite=True", overwrite)
    content = rule_to_plain(rule)
    with new_file(file, overwrite) as temporary:
        temporary.write_text(json.dumps(content, indent=1), encoding="utf-8")


def rule_to_plain(rule: Any) -> dict[str, Any]:
    """A fitted rule as JSON values."""
    has_many = rule.has_lists_ is not None
    return {
        "format": FORMAT,
        "version": VERSION,
        "metricfit": version("metricfit"),
        "metric": None if has_many else metric_to_plain(rule.metric_),
        "metric_name": name_of(rule.metric),
        "subject_to": " and ".join(map(str, read_constraints(rule.subject_to))) or None,
        "classes": rule.classes_.tolist(),
        "positive": rule._positive,
        "offsets": rule.offsets_.tolist(),
        "shares": rule.shares_.tolist(),
        "options": {name: _plain(getattr(rule, name)) for name in _OPTIONS},
        "found": {name: _plain(getattr(rule, name)) for name in _FOUND if hasattr(rule, name)},
        "actions": None if rule.actions_ is None else rule.actions_.to_plain(),
        "money": None if rule.money_ is None else rule.money_.to_plain(),
        "rows": None if rule._rows is None else {name: _pack(getattr(rule._rows, name), kind) for name, kind in _ROWS.items()},
    }


def load(cls: Any, file: Path, metric: Any) -> Any:
    try:
        found = parse_json(read_regular(file, MOST_BYTES))
        known = isinstance(found, dict) and found.get("format") == FORMAT
    except ValueError:
        known = False
    if not known:
        raise ValueError(f"{file} is not a decision rule of metricfit.")
    if found.get("version") != VERSION:
        raise ValueError(f"{file} was written by another version of metricfit ({found.get('metricfit')}). Fit the rule again.")
    try:
        return rule_from_plain(cls, found, metric)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ValueError(f"{file} is damaged: {error}.") from error


def rule_from_plain(cls: Any, found: dict[str, Any], given: Any) -> Any:
    """The rule; a metric that was a function is passed again as ``given``."""
    metric = metric_from_plain(found["metric"]) if found["metric"] else Custom(_not_stored if given is None else given)
    rule = cls(metric, subject_to=found["subject_to"], **found["options"])
    rule.metric_, rule.classes_, rule._positive = metric, np.array(found["classes"]), found["positive"]
    rule.offsets_, rule.shares_ = (np.array(found[name], np.float64) for name in ("offsets", "shares"))
    if not rule.offsets_.shape == rule.shares_.shape == rule.classes_.shape or not np.isfinite(rule.offsets_).all():
        raise ValueError("its offsets do not fit its classes")
    rule._constraints = resolve_constraints(read_constraints(rule.subject_to), found["classes"], rule._positive, metric)
    rule.actions_ = Actions.from_plain(found["actions"]) if found.get("actions") else None
    if rule.actions_ is not None and "@" in found["metric_name"]:
        rule.metric = found["metric_name"]
    elif rule.actions_ is not None and rule.actions_.budget is not None:
        rule.budget = rule.actions_.budget.by_label(found["classes"])
    rule.money_ = Money.from_plain(found["money"]) if found.get("money") else None
    for name in _FOUND:
        if name in found["found"]:
            value = found["found"][name]
            setattr(rule, name, tuple(value) if isinstance(value, list) and name != "constraints_" else value)
    if rule.has_lists_ is not None:  # the metric of several labels per row is a name
        rule.metric, rule.metric_ = found["metric_name"], None
    if found["rows"] is None:
        return rule
    scores, labels, weight = (_unpack(found["rows"][name], kind) for name, kind in _ROWS.items())
    rule._rows = Rows(scores.reshape(len(labels), -1).astype(np.float64), labels.astype(np.int64), weight.astype(np.float64))
    return rule


def _not_stored(matrix: Any) -> Any:
    raise ValueError("The metric is a function, which a file cannot store: pass it to load as `metric`.")


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _pack(values: Any, kind: Any) -> str:
    """Numbers in little-endian order as base64: exact, and a third of the size of their digits."""
    return base64.b64encode(np.ascontiguousarray(values, np.dtype(kind).newbyteorder("<")).tobytes()).decode()


def _unpack(text: str, kind: Any) -> Any:
    return np.frombuffer(base64.b64decode(text, validate=True), np.dtype(kind).newbyteorder("<"))
