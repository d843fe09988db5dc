"""Two tiers: ``make test`` is for every change, ``make test-slow`` for what needs other processes, a browser or minutes.

Whole files and folders are listed here; single tests have ``@pytest.mark.slow``. Plain ``pytest`` runs both.
"""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SLOW = (
    "tests/benchmarks",
    "tests/campaign",
    "tests/numerics/test_fused_cache.py",
    "tests/losses/test_distributed.py",
    "tests/report/test_page.py",  # in a browser
    "tests/reproductions",
    "tests/test_cluster.py",
    "tests/test_clusters_page.py",
    "tests/test_examples.py",
    "tests/test_packaging.py",
    "tests/test_pages.py",  # runs the code of the docs
    "tests/test_ray.py",
    "tests/test_sweep.py",
    "tests/training/test_processes.py",
)


@pytest.hookimpl(tryfirst=True)  # before `-m` looks at the markers
def pytest_collection_modifyitems(items):
    for item in items:
        path = item.path.relative_to(ROOT)
        if any(path.is_relative_to(slow) for slow in SLOW):
            item.add_marker("slow")
