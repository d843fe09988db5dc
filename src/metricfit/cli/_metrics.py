"""``metricfit metrics``: list the metrics."""

from __future__ import annotations

import json
import re

from metricfit.cli import _options as options

_AVERAGES = {
    "binary": "of the positive class",
    "macro": "mean over classes",
    "micro": "all classes pooled",
    "weighted": "mean over classes, weighted by size",
}


def metrics(as_json: options.AsJson = False) -> None:
    """List the names for --metric."""
    from metricfit.metrics import get, names

    if as_json:
        print(json.dumps(names()))
        return
    for name in names():
        metric = get(name)
        what = re.split(r"[,;:.] |\.$", (type(metric).__doc__ or "").splitlines()[0])[0].replace("`", "")
        average = _AVERAGES.get(getattr(metric, "average", ""), "")
        print(f"{name:28}{what}{', ' + average if average else ''}")
