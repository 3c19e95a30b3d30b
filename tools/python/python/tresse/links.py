"""Models of a network link: rate, delay, queue, loss, reordering, duplication, corruption."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterable, Mapping

from . import _native, _tables
from .lab import _json, _without_none

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True)
class Carried:
    """What a link made of some packets."""

    #: One row for each arrival, in order: `packet` (index from 0), `sent_ms`, `arrived_ms`, `size_bytes`, `copy`,
    #: `corrupted`.
    arrivals: "pyarrow.Table"
    #: Counters, such as `delivered` and `dropped_queue`.
    counts: dict[str, int]


class Link:
    """One direction of a link. Its keywords are the keys of a link in an experiment file (`docs/experiments.md`):
    `bandwidth_kbps`, `delay_ms`, `jitter_ms`, `queue_packets`, `loss` (0 to 1), `gilbert_elliott`, `red`, `codel`, ...
    Without any it is perfect. The same `seed` makes the same decisions.

    >>> link = Link(bandwidth_kbps=1000, delay_ms=10)
    >>> link.carry([(0.0, 1250)]).arrivals["arrived_ms"].to_pylist()
    [20.0]
    """

    def __init__(self, *, seed: int = 1, **settings: Any) -> None:
        self._settings: Mapping[str, Any] = _without_none(settings)
        self._seed = seed
        self._text = _native.to_toml(_json(self._settings))
        _native.carry(self._text, seed, [])  # What is wrong is said here.

    def __repr__(self) -> str:
        settings = "".join(f", {key}={value!r}" for key, value in self._settings.items())
        return f"Link(seed={self._seed}{settings})"

    def carry(self, packets: Iterable[tuple[float, int]]) -> Carried:
        """Sends packets, each with its time in milliseconds (ascending) and its size in bytes, over a link that is empty
        in the beginning."""
        sent = [(float(time), int(size)) for time, size in packets]
        arrivals, counts = _native.carry(self._text, self._seed, sent)
        columns: dict[str, list[Any]] = {
            "packet": [packet for packet, *_ in arrivals],
            "sent_ms": [sent[packet][0] for packet, *_ in arrivals],
            "arrived_ms": [at for _, at, *_ in arrivals],
            "size_bytes": [sent[packet][1] for packet, *_ in arrivals],
            "copy": [copy for *_, copy, _ in arrivals],
            "corrupted": [corrupted for *_, corrupted in arrivals],
        }
        pa = _tables.arrow()
        # Also where nothing arrives.
        types = [pa.int64(), pa.float64(), pa.float64(), pa.int64(), pa.bool_(), pa.bool_()]
        table = pa.table(columns, schema=pa.schema(list(zip(columns, types))))
        return Carried(_tables.with_units(table), dict(counts))
