"""``metricfit metrics``: what a model can be judged by."""

from __future__ import annotations

import json

from metricfit.cli import _options as options


def metrics(as_json: options.AsJson = False) -> None:
    """List the metrics by name."""
    from metricfit.metrics import names
    from metricfit.metrics._registry import REGISTRY

    if as_json:
        print(json.dumps(names()))
        return
    for name in names():
        print(f"{name:28}{type(REGISTRY[name].metric).__doc__.splitlines()[0]}")  # type: ignore[union-attr]
