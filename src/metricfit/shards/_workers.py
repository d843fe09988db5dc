"""Where the shards of a pass are looked at: here, in processes, or on a cluster. The sums have the same bits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from metricfit._parallel import cluster_client, parallel, runs_here
from metricfit._threads import single_threaded
from metricfit.shards._rows import Map

Look = Callable[[Any], Any]


def shard_map(n_jobs: int | None) -> Map:
    """A map over shards for ``n_jobs``, as in scikit-learn, and for the cluster that joblib is configured for."""
    if runs_here(n_jobs):
        return map
    return ClusterMap() if cluster_client() is not None else partial(map_in_processes, n_jobs)


def map_in_processes(n_jobs: int | None, look: Look, shards: Iterable[Any]) -> Iterator[Any]:
    """``look(shard)`` of all shards, in order. A process gets the shards that it looks at: names and a few bytes per row."""
    return parallel(_look_alone, None, ((look, shard) for shard in shards), n_jobs)


def _look_alone(_: None, look: Look, shard: Any) -> Any:
    with single_threaded():
        return look(shard)


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
