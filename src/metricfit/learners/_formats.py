"""The formats of fitted estimators in files: a new one has its one entry here. None of them is pickle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from safetensors.numpy import load, save_file

from metricfit._description import check
from metricfit.learners import _boosters, _tree_arrays

Write = Callable[[Path], None]


class CannotBeSavedError(TypeError):
    """There is no format for an estimator."""


@dataclass(frozen=True)
class Format:
    """How estimators of some types are kept; the types are meant exactly, a subclass may do anything."""

    types: tuple[str, ...]
    file: str
    keep: Callable[[Any, int], tuple[dict[str, Any], Write]]  # estimator and number of classes to a description and a file
    restore: Callable[[Mapping[str, Any], bytes, int, int], Any]  # with the numbers of features and classes


def keep_estimator(estimator: Any, n_classes: int) -> tuple[dict[str, Any], dict[str, Write]]:
    """A description, and what writes the file; a :class:`CannotBeSavedError` if there is no format."""
    full_name, name = f"{type(estimator).__module__}.{type(estimator).__qualname__}", type(estimator).__name__
    for key, one in FORMATS.items():
        if full_name in one.types:
            try:
                description, write = one.keep(estimator, n_classes)
            except (TypeError, KeyError) as error:
                raise CannotBeSavedError(_refusal(f"This {name}", str(error))) from error
            return {"format": key, "n_features": int(estimator.n_features_in_), **description}, {one.file: write}
    raise CannotBeSavedError(_refusal(name))


def restore_estimator(description: Mapping[str, Any], read: Callable[[str], bytes], n_features: int, n_classes: int) -> Any:
    """The estimator, ready to predict."""
    name = description["format"]
    check(name in FORMATS, f"the format {name!r} is not known")
    check(description["n_features"] == n_features, "the shapes of its parts do not fit each other")
    return FORMATS[name].restore(description, read(FORMATS[name].file), n_features, n_classes)


def _refusal(name: str, reason: str = "") -> str:
    return (
        f"{name} cannot be saved without pickle{': ' * bool(reason)}{reason}. Files hold linear models, networks, "
        "scikit-learn's trees and forests, LightGBM and XGBoost: pass one of these, such as model='boosting', or keep the "
        "fitted classifier by your own tool."
    )


def _keep_trees(estimator: Any, n_classes: int) -> tuple[dict[str, Any], Write]:
    return {"type": type(estimator).__name__}, lambda file: save_file(_tree_arrays.forest_arrays(estimator), file)


def _restore_trees(description: Mapping[str, Any], content: bytes, n_features: int, n_classes: int) -> Any:
    return _tree_arrays.build_forest(description["type"], load(content), n_features, n_classes)


def _keep_boosting(estimator: Any, n_classes: int) -> tuple[dict[str, Any], Write]:
    return {}, lambda file: save_file(_tree_arrays.boosting_arrays(estimator), file)


def _restore_boosting(description: Mapping[str, Any], content: bytes, n_features: int, n_classes: int) -> Any:
    return _tree_arrays.build_boosting(load(content), n_features, n_classes)


def _keep_lightgbm(estimator: Any, n_classes: int) -> tuple[dict[str, Any], Write]:
    return {}, partial(_write_text, _boosters.lightgbm_text(estimator, n_classes))


def _restore_lightgbm(description: Mapping[str, Any], content: bytes, n_features: int, n_classes: int) -> Any:
    return _boosters.restore_lightgbm(content.decode(), n_features, n_classes)


def _keep_xgboost(estimator: Any, n_classes: int) -> tuple[dict[str, Any], Write]:
    return {"missing": float(estimator.missing)}, partial(_write_text, _boosters.xgboost_json(estimator, n_classes))


def _restore_xgboost(description: Mapping[str, Any], content: bytes, n_features: int, n_classes: int) -> Any:
    missing = float(description["missing"])
    return _boosters.restore_xgboost(content.decode(), missing, n_features, n_classes)


def _write_text(text: str, file: Path) -> None:
    file.write_text(text, encoding="utf-8", newline="\n")


FORMATS = {
    "trees": Format(
        (
            "sklearn.ensemble._forest.ExtraTreesClassifier",
            "sklearn.ensemble._forest.RandomForestClassifier",
            "sklearn.tree._classes.DecisionTreeClassifier",
            "sklearn.tree._classes.ExtraTreeClassifier",
        ),
        "trees.safetensors",
        _keep_trees,
        _restore_trees,
    ),
    "boosting": Format(
        ("sklearn.ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoostingClassifier",),
        "trees.safetensors",
        _keep_boosting,
        _restore_boosting,
    ),
    "lightgbm": Format(
        ("lightgbm.sklearn.LGBMClassifier", f"{_boosters.__name__}.LightGBM"),
        "lightgbm.txt",
        _keep_lightgbm,
        _restore_lightgbm,
    ),
    "xgboost": Format(("xgboost.sklearn.XGBClassifier",), "xgboost.json", _keep_xgboost, _restore_xgboost),
}
