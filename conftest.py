"""Doctests may use ``torch`` without importing it; hypothesis repeats itself unless asked to explore.

``METRICFIT_EXPLORE=20 make test`` looks at twenty times as many examples, new ones each time.
"""

import os
from typing import Any

import hypothesis
import pytest
import torch

EXPLORE = int(os.environ.get("METRICFIT_EXPLORE", "0"))
hypothesis.settings.register_profile("metricfit", deadline=None, derandomize=not EXPLORE)
hypothesis.settings.load_profile("metricfit")


@pytest.fixture(autouse=True)
def _torch_in_doctests(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace["torch"] = torch
