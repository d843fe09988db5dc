"""``metricfit metrics``: what a model can be judged by."""

from __future__ import annotations

import json
import re

from metricfit.cli import _options as options

_AVERAGES = {
    "binary": "for the positive class of two",
    "macro": "the mean over classes",
    "micro": "over all classes together",
    "weighted": "the mean over classes by their size",
}


def metrics(as_json: options.AsJson = False) -> None:
    """List the metrics by name."""
    from metricfit.metrics import get, names

    if as_json:
        print(json.dumps(names()))
        return
    for name in names():
        metric = get(name)
        what = re.split(r"[,;:.] |\.$", (type(metric).__doc__ or "").splitlines()[0])[0].replace("`", "")
        average = _AVERAGES.get(getattr(metric, "average", ""), "")
        print(f"{name:28}{what}{', ' + average if average else ''}")
