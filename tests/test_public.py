"""Every public module says what is public."""

from importlib import import_module
from pkgutil import walk_packages

import pytest

import metricfit

MODULES = [
    "metricfit",
    *(module.name for module in walk_packages(metricfit.__path__, "metricfit.") if "._" not in module.name),
]


@pytest.mark.parametrize("name", MODULES)
def test_a_public_module_lists_its_names_and_has_them(name):
    module = import_module(name)
    assert hasattr(module, "__all__"), f"`{name}` should have `__all__`"
    missing = [public for public in module.__all__ if not hasattr(module, public)]
    assert not missing, f"`{name}.__all__` has names that do not exist: {missing}"
