"""Call a function for every item: in this process, in several, or on a cluster. joblib knows which.

``n_jobs`` is as in scikit-learn: None is 1, unless ``joblib.parallel_config`` says otherwise. A Dask cluster runs as many
calls as it has threads, whatever ``n_jobs`` is; only ``n_jobs=1`` keeps the calls here.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn.utils.parallel import Parallel, delayed

from metricfit._cluster import map_on_cluster


def parallel(
    function: Callable[..., Any], data: Any, items: Iterable[tuple[Any, ...]], n_jobs: int | None = None, ordered: bool = True
) -> Iterator[Any]:
    """``function(data, *item)`` of every item, in their order or, with ``ordered=False``, as they end.

    ``data`` is what all calls share. A cluster is sent it once, also for a second call of :func:`parallel` with this object.

    >>> list(parallel(pow, 2, [(3,), (4,)]))
    [8, 16]
    """
    if runs_here(n_jobs):
        return (function(data, *item) for item in items)
    if (client := cluster_client()) is not None:
        return map_on_cluster(client, function, data, items, ordered)
    backend, _ = get_active_backend()
    given = "generator" if ordered else "generator_unordered"
    how = given if backend.supports_return_generator else "list"  # Ray has no generators
    return iter(Parallel(n_jobs=n_jobs, return_as=how)(delayed(function)(data, *item) for item in items))


def runs_here(n_jobs: int | None) -> bool:
    """Whether calls run one after the other in this process, as they do inside a task of a cluster."""
    if n_jobs == 1 or _is_in_a_task():
        return True
    return cluster_client() is None and effective_n_jobs(n_jobs) == 1


def count_workers(n_jobs: int | None) -> int:
    """How many calls run at the same time."""
    if runs_here(n_jobs):
        return 1
    client = cluster_client()
    return effective_n_jobs(n_jobs) if client is None else max(1, sum(client.nthreads().values()))


def cluster_client() -> Any | None:
    """The client of the Dask cluster that joblib is configured for."""
    backend, _ = get_active_backend()
    return backend.client if type(backend).__name__ == "DaskDistributedBackend" else None  # by name: its package is an extra


def _is_in_a_task() -> bool:
    """Whether this thread runs a task of a Dask cluster. Tasks of a task would wait for a free worker, perhaps for ever."""
    distributed = sys.modules.get("distributed")
    return distributed is not None and hasattr(distributed.utils.thread_state, "execution_state")


@contextmanager
def hold_interrupts() -> Iterator[None]:
    """Delay Ctrl-C. Processes that start here never see it: it is for this one, which ends them without their tracebacks."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    from multiprocessing.resource_tracker import ensure_running

    ensure_running()  # joblib would start it with the workers, and its start lets Ctrl-C through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
