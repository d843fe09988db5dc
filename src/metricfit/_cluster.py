"""A Dask cluster: connect to it, check that it can do the work, and call a function there. Needs ``metricfit[cluster]``."""

from __future__ import annotations

import logging
import time
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import Any

from joblib import parallel_config
from sklearn import get_config
from sklearn.utils.parallel import delayed

from metricfit._errors import ClusterError
from metricfit._extras import require
from metricfit._threads import single_threaded

CONNECT = 10.0  # seconds to wait for the scheduler, and for a first worker
NO_WORKERS = 60.0  # seconds without any worker before a cluster is given up
LOOK = 2.0  # seconds between two looks at the workers
WENT_AWAY = "The connection to the scheduler of the cluster is lost."
LOST_DATA = "All workers of the cluster that had the data ended. Start the command again."
PACKAGES = ("metricfit", "numpy", "scipy", "scikit-learn", "torch")  # that the numbers depend on

_sent: dict[tuple[str, int], tuple[weakref.ref[Any], Any]] = {}  # by client and object: the object, and where it is there


@contextmanager
def connected(address: str, one_thread: bool = False) -> Iterator[Any]:
    """Run everything that runs in parallel on the cluster of this scheduler, such as ``tcp://host:8786``; yield the client.

    ``one_thread`` is for work that is wrong beside other work in its process: a worker with more threads is an error.
    """
    require("distributed", "cluster", "--cluster")
    with _quiet_logs(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?s).*(Mismatched versions|large graph)")  # versions are checked below
        client = _connect(address)
        try:
            _check_workers(client, address, one_thread)
            with parallel_config(backend="dask", client=client):
                yield client
        finally:
            with suppress(Exception):  # it may be gone
                client.close(timeout=1.0)


def map_on_cluster(
    client: Any, function: Callable[..., Any], data: Any, items: Iterable[tuple[Any, ...]], ordered: bool
) -> Iterator[Any]:
    """``function(data, *item)`` of every item; see :func:`metricfit._parallel.parallel`.

    Dask runs the tasks of a worker that died once more.
    """
    call = delayed(function)()[0].with_config_and_warning_filters(get_config(), warnings.filters)
    futures = _submit(client, call, data, list(items))
    try:
        while futures:
            future = _next_done(client, futures[: 1 if ordered else None])
            futures.remove(future)
            yield _result(client, future)
    finally:
        if futures and client.status == "running":
            client.cancel(futures)


def version_problem(here: Mapping[str, str | None], there: Mapping[str, str | None]) -> str:
    """What is wrong with the packages of a worker, for numbers that are the same there; nothing if they are.

    >>> version_problem({"python": "3.11.7", "torch": "2.13.0"}, {"python": "3.11.2", "torch": "2.13.0+cu130"})
    ''
    >>> version_problem({"python": "3.11.7", "torch": "2.13.0"}, {"python": "3.11.2", "torch": "2.9.1"})
    'has torch 2.9.1, but 2.13.0 is installed here'
    >>> version_problem({"python": "3.11.7", "metricfit": "0.1.0"}, {"python": "3.11.7", "metricfit": None})
    'has no metricfit, but 0.1.0 is installed here'
    """
    for name, version in here.items():
        other = there.get(name)
        if _public(name, version) != _public(name, other):
            return f"has {f'{name} {other}' if other else f'no {name}'}, but {version or 'none'} is installed here"
    return ""


def _public(name: str, version: str | None) -> str:
    """The part of a version that has to be the same: of Python the first two numbers, of others all but ``+cpu``."""
    known = (version or "").partition("+")[0]
    return ".".join(known.split(".")[:2]) if name == "python" else known


def _connect(address: str) -> Any:
    from distributed import Client

    try:
        return Client(address, timeout=CONNECT, set_as_default=False)
    except (OSError, ValueError, TypeError, ImportError) as error:  # a timeout, too; a name or a protocol that nobody knows
        reason = " ".join(str(error.__cause__ or error).split()) or type(error).__name__
        raise ClusterError(
            f"--cluster {address} cannot be reached: {reason}. Expected the address of a Dask scheduler, "
            "such as tcp://host:8786, which `dask scheduler` prints."
        ) from error


def _check_workers(client: Any, address: str, one_thread: bool) -> None:
    """Raise an error for a cluster without workers, or with workers that would give other numbers."""
    try:
        client.wait_for_workers(1, timeout=CONNECT)
    except TimeoutError as error:
        command = f"dask worker {address} --nthreads 1"
        raise ClusterError(f"--cluster {address} has no workers. Start some with `{command}`.") from error
    found = client.get_versions(packages=list(PACKAGES))
    here = {name: found["client"]["packages"][name] for name in ("python", *PACKAGES)}
    for where, known in {"The scheduler": found["scheduler"], **found["workers"]}.items():
        own = {name: here[name] for name in ("python", "metricfit")} if where == "The scheduler" else here
        if known and (problem := version_problem(own, known["packages"])):
            who = where if where == "The scheduler" else f"The worker {where}"
            raise ClusterError(f"{who} of --cluster {address} {problem}. Install the same version there.")
    most = max(client.nthreads().values(), default=1)
    if one_thread and most > 1:
        raise ClusterError(
            f"--cluster {address} has a worker with {most} threads, expected one, because work in one process would share its "
            f"random numbers. Start workers with `dask worker {address} --nthreads 1`, one for each core."
        )


def _submit(client: Any, call: Callable[..., Any], data: Any, items: Sequence[tuple[Any, ...]]) -> list[Any]:
    """A future of every item."""
    try:
        client.wait_for_workers(1, timeout=NO_WORKERS)
        sent = _send(client, data, len(items))
        return [client.submit(_run, call, sent, item, pure=False) for item in items]
    except TimeoutError as error:
        raise ClusterError(f"The cluster had no workers for {NO_WORKERS:.0f} seconds.") from error
    except CancelledError as error:
        raise _cancelled(client) from error
    except OSError as error:
        raise ClusterError(WENT_AWAY) from error


def _send(client: Any, data: Any, n_items: int) -> Any:
    """Where the data are on the cluster: on as many workers as need them, and on two at least, since one may die."""
    known = client.id, id(data)
    if known in _sent and _sent[known][0]() is data and _sent[known][1].status == "finished":
        return _sent[known][1]
    (future,) = client.scatter([data], broadcast=max(2, min(n_items, len(client.nthreads()))), hash=False)
    with suppress(TypeError):  # not everything can be referred to weakly, and what cannot is sent again by the next call
        _sent[known] = weakref.ref(data, lambda _: _sent.pop(known, None)), future
    return future


def _run(call: Callable[..., Any], data: Any, item: tuple[Any, ...]) -> Any:
    """One task, on a worker: on one thread, and with nothing in parallel inside."""
    with single_threaded(), parallel_config(backend="sequential"):
        return call(data, *item)


def _next_done(client: Any, futures: Sequence[Any]) -> Any:
    """The first future that has ended; a ClusterError if there are no workers for a while."""
    from distributed import wait

    since = time.monotonic()
    while True:
        for future in futures:
            if future.done():
                return future
        try:
            with client.as_current():
                wait(futures, timeout=LOOK, return_when="FIRST_COMPLETED")
        except CancelledError as error:
            raise _cancelled(client) from error
        except TimeoutError as error:
            if _has_workers(client):
                since = time.monotonic()
            elif time.monotonic() - since > NO_WORKERS:
                raise ClusterError(f"The cluster had no workers for {NO_WORKERS:.0f} seconds.") from error


def _has_workers(client: Any) -> bool:
    try:
        return bool(client.nthreads())
    except (CancelledError, OSError) as error:
        raise ClusterError(WENT_AWAY) from error


def _result(client: Any, future: Any) -> Any:
    """The result; an error of the task is raised as it is."""
    from distributed import KilledWorker
    from distributed.comm.core import CommClosedError

    try:
        return future.result()
    except CancelledError as error:
        raise _cancelled(client) from error
    except CommClosedError as error:
        raise ClusterError(WENT_AWAY) from error
    except KilledWorker as error:
        raise ClusterError("A task ended every worker that ran it, perhaps for its memory.") from error
    except (ModuleNotFoundError, RuntimeError) as error:
        if (missing := _missing_module(error)) is None:
            raise
        raise ClusterError(f"The cluster has no module {missing!r}. Install it there, for its scheduler too.") from error


def _missing_module(error: BaseException | None) -> str | None:
    """The module that could not be imported, where that is what an error of Dask comes from."""
    while error is not None and not isinstance(error, ModuleNotFoundError):
        error = error.__cause__
    return error.name if error is not None else None


def _cancelled(client: Any) -> ClusterError:
    """The error of a cancelled task: all workers that had the data ended, or the scheduler did."""
    return ClusterError(LOST_DATA if client.status == "running" else WENT_AWAY)


@contextmanager
def _quiet_logs() -> Iterator[None]:
    """Leave the reports of Dask's own loggers out; an error says what was wrong."""
    import distributed  # noqa: F401 - it makes its loggers

    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in ("distributed", "tornado")]
    before = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)
