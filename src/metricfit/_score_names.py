"""Which class a column of scores is about, by its name: ``p_fraud``, ``proba_1``, ``score(fraud)``, ``fraud`` and the like."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

PREFIX = r"p|prob|proba|probability|score|logit|log_?p|log_?prob|log_?proba"
_OF_A_CLASS = re.compile(rf"(?P<prefix>{PREFIX})(?:[ _.:=(\[-]+(?P<label>.+?)[)\]]*|(?P<number>\d+))", re.IGNORECASE)
OF_NO_CLASS = re.compile(rf"(y_|predict_)?({PREFIX}|scores|prediction)", re.IGNORECASE)


def column_names(scores: Any) -> list[Any]:
    """The names of the columns of a data frame; none of other scores."""
    names = getattr(scores, "column_names", None)  # of pyarrow
    return list(getattr(scores, "columns", ()) if names is None else names)


def match_names(names: Iterable[str], classes: Sequence[Any]) -> tuple[list[tuple[str, ...]], dict[str, Any]]:
    """The sets of columns that have all classes, with one prefix each; and the class of every column that names one.

    >>> match_names(["p_ok", "p_fraud"], ["fraud", "ok"])
    ([('p_fraud', 'p_ok')], {'p_fraud': 'fraud', 'p_ok': 'ok'})
    """
    whole, parts = [], dict[str, Any]()
    for group in _groups(names).values():
        matched = {label: group[_key(label)] for label in classes if _key(label) in group}
        parts |= {name: label for label, name in matched.items()}
        if len(set(matched.values())) == len(classes):
            whole.append(tuple(matched[label] for label in classes))
    return whole, parts


def labels_of_names(names: Sequence[Any], known: Sequence[Any]) -> list[Any] | None:
    """The label of every column, if all names say one and all known labels are among them; a known label as it is.

    None if no name has a label, and a ValueError if only some have.

    >>> labels_of_names(["p_ok", "p_fraud"], ["fraud", "ok"]), labels_of_names(["p_2", "p_0", "p_1"], [0, 1])
    (['ok', 'fraud'], [2, 0, 1])
    """
    texts = [name for name in names if isinstance(name, str)]
    parts = match_names(texts, known)[1]
    if not parts:
        return None
    by_key, are_numbers = {_key(label): label for label in known}, all(_key(label).isdigit() for label in known)
    for prefix, group in _groups(texts).items():
        if len(group) == len(names) and by_key.keys() <= group.keys() and (not are_numbers or all(map(str.isdigit, group))):
            of_name = {name: by_key.get(key, int(key) if are_numbers else _label(name, prefix)) for key, name in group.items()}
            return [of_name[name] for name in names]
    name, label = next(iter(parts.items()))
    raise ValueError(
        f"`scores` has the columns {few(names)}, where {name!r} has the name of label {label!r}, but not every column and "
        f"label has a partner: the labels are {few(known)}. Pass `classes=`, the label of every column."
    )


def in_order_of(scores: Any, names: Sequence[str], classes: Sequence[Any]) -> Any:
    """A data frame with its columns as in the fit: by ``names``, or by the classes if the columns of the fit had no names.

    Default names, 0 ... k - 1, say nothing. Other scores are returned as they are.
    """
    found = column_names(scores)
    texts = list(map(str, found))
    if tuple(texts) == tuple(names) or not texts:
        return scores
    missing = [name for name in names if name not in texts]
    if missing and not (_are_default(texts) or _are_default(names)):
        raise ValueError(
            f"`scores` should have the columns of the fit, {few(names)}, got {few(found)}. Rename them, or pass an array "
            "with its columns in the order of the fit."
        )
    if missing or not names:
        whole = match_names(texts, classes)[0]
        names = () if _are_default(texts) or not whole else whole[0]
    if not names:
        return scores
    wanted = [found[texts.index(name)] for name in names]
    return scores.select(wanted) if hasattr(scores, "select") else scores[wanted]


def _are_default(names: Sequence[str]) -> bool:
    return list(names) == list(map(str, range(len(names))))


def _groups(names: Iterable[str]) -> dict[str, dict[str, str]]:
    """The columns by their prefix, and then by what follows it, in lower case."""
    groups: dict[str, dict[str, str]] = {}
    for name in names:
        prefixes = [found["prefix"].lower()] if (found := _OF_A_CLASS.fullmatch(name.strip())) else []
        for prefix in ("", *prefixes):
            groups.setdefault(prefix, {})[_label(name, prefix).lower()] = name
    return groups


def _label(name: str, prefix: str) -> str:
    found = _OF_A_CLASS.fullmatch(name.strip()) if prefix else None
    return name.strip() if found is None else (found["label"] or found["number"]).strip()


def _key(label: Any) -> str:
    return str(int(label) if isinstance(label, float) and label.is_integer() else label).lower()


def few(values: Sequence[Any]) -> str:
    """The first five values."""
    return ", ".join(map(repr, values[:5])) + (", ..." if len(values) > 5 else "")
