"""Doctests may use ``torch`` without importing it; hypothesis tests the same examples in every run.

``METRICFIT_EXPLORE=20 make test`` tests twenty times as many examples, new ones each time.
"""

import importlib.util
import os
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
import torch

from metricfit.methods._registry import REGISTRY

# collect doctests of modules that need an extra only if it is installed
collect_ignore_glob = [] if importlib.util.find_spec("numba") else ["src/metricfit/numerics/fused/_*.py"]

EXPLORE = int(os.environ.get("METRICFIT_EXPLORE", "0"))
hypothesis.settings.register_profile("metricfit", deadline=None, derandomize=not EXPLORE)
hypothesis.settings.load_profile("metricfit")


@pytest.fixture(autouse=True)
def _torch_in_doctests(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace["torch"] = torch


@pytest.fixture(autouse=True)
def _methods_stay(request: pytest.FixtureRequest) -> Iterator[None]:
    """Forget the methods that a doctest registers."""
    before = dict(REGISTRY)
    yield
    if hasattr(request.node, "dtest"):
        REGISTRY.clear()
        REGISTRY.update(before)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes stay out of a test's name: two processes that pack the same file may get other bytes, and must agree on names."""
    return argname if isinstance(val, bytes) else None
