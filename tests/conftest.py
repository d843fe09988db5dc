"""Where tests run: those that share a costly fixture in one process, because each process makes its fixtures itself."""

import pytest

COSTLY = {"bare", "browser", "fitted", "four", "metadata", "outliers", "pages", "saved", "two", "wheel"}  # seconds to make


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the marks, for `--dist loadgroup`
def pytest_collection_modifyitems(items):
    for item in items:
        if not COSTLY.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.xdist_group(item.path.parent.name))
