"""``metricfit metrics``: list the metrics."""

from __future__ import annotations

import json

from metricfit.cli import _options as options


def metrics(as_json: options.AsJson = False) -> None:
    """List the names for --metric."""
    from metricfit.metrics import REGISTRY

    if as_json:
        print(json.dumps({name: entry.about for name, entry in REGISTRY.items()}, indent=1))
        return
    width = max(map(len, REGISTRY)) + 2
    for name, entry in REGISTRY.items():
        print(f"{name:{width}}{entry.about}")
    print(f"{'f<beta>':{width}}F-beta for any other beta, such as f3 or f0.25_macro")
