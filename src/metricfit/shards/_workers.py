"""Where the shards of a pass are looked at: one after the other, in threads, or on a cluster. The sums have the same bits."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from metricfit._parallel import cluster_client, count_workers, parallel, runs_here
from metricfit.shards._rows import Map

Look = Callable[[Any], Any]


def shard_map(n_jobs: int | None) -> Map:
    """A map over shards for ``n_jobs``, as in scikit-learn, and for the cluster that joblib is configured for."""
    if runs_here(n_jobs):
        return map
    return ClusterMap() if cluster_client() is not None else partial(map_in_threads, count_workers(n_jobs))


def map_in_threads(n_threads: int, look: Look, shards: Iterable[Any]) -> Iterator[Any]:
    """``look(shard)`` of all shards, in order; no more than ``n_threads`` results wait for those before them.

    >>> list(map_in_threads(2, abs, [-3, 2, -1]))
    [3, 2, 1]
    """
    with ThreadPoolExecutor(n_threads) as pool:
        begun = deque[Any]()
        for shard in shards:
            if len(begun) == n_threads:
                yield begun.popleft().result()
            begun.append(pool.submit(look, shard))
        while begun:
            yield begun.popleft().result()


class ClusterMap:
    """``look(shard)`` of all shards, in order, by the workers of a cluster. Shards are sent once, and then only functions."""

    def __init__(self) -> None:
        self._sent = _Shards(())

    def __call__(self, look: Look, shards: Iterable[Any]) -> Iterator[Any]:
        if self._sent.shards is not shards:
            self._sent = _Shards(shards if isinstance(shards, Sequence) else list(shards))
        return parallel(_look_at, self._sent, [(look, place) for place in range(len(self._sent.shards))])


@dataclass(frozen=True)
class _Shards:
    """Shards in one object, which a cluster is sent once."""

    shards: Sequence[Any]


def _look_at(sent: _Shards, look: Look, place: int) -> Any:
    return look(sent.shards[place])
