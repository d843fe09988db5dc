"""Doctests may use ``torch`` without importing it."""

from typing import Any

import pytest
import torch


@pytest.fixture(autouse=True)
def _torch_in_doctests(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace["torch"] = torch
