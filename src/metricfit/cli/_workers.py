"""``--jobs`` and ``--cluster``: where the work of a command runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from metricfit._errors import UsageError
from metricfit.cli._options import say

Cluster = Annotated[
    str | None,
    typer.Option(help="Scheduler of a Dask cluster that does the work, such as tcp://host:8786.", show_default="this machine"),
]


@contextmanager
def workers(jobs: int, cluster: str | None, one_thread: bool = False) -> Iterator[int | None]:
    """Yield the ``n_jobs`` of everything that runs meanwhile: ``--jobs``, or None for all threads of the cluster.

    An estimator with ``n_jobs=None`` takes them too.
    """
    if cluster is None:
        from joblib import parallel_config

        with parallel_config(n_jobs=jobs):
            yield jobs
        return
    if jobs != 1:
        raise UsageError(f"--jobs {jobs} and --cluster exclude each other: a cluster does as much at once as it has threads.")
    from metricfit._cluster import connected

    with connected(cluster, one_thread) as client:
        threads = client.nthreads()
        say(f"Cluster {cluster}: {len(threads)} workers with {sum(threads.values())} threads.")
        yield None
