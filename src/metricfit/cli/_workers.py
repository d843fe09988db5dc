"""``--jobs`` and ``--cluster``: where the work of a command runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from metricfit._errors import UsageError
from metricfit.cli._options import say


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
