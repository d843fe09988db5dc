"""The list of slow tests names files that exist: a renamed one would come back to ``make test``."""

from tests.conftest import ROOT, SLOW


def test_slow_paths_exist():
    assert [path for path in SLOW if not (ROOT / path).exists()] == []
