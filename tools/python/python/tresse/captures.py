"""Captures of any SCTP stack, or of TCP: what was sent again, why, and how long that took."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Sequence

from . import _native, _tables
from ._native import TresseError

if TYPE_CHECKING:
    import pandas
    import pyarrow


@dataclass(frozen=True)
class Capture:
    """What captures tell: see `read_capture`."""

    #: What is counted over all of it.
    totals: dict[str, Any]
    #: One for each association or connection: its ends, paths, directions and streams, as in `tresse trace --json`.
    associations: list[dict[str, Any]]
    _tables: dict[str, "pyarrow.Table"] = field(repr=False)

    @property
    def tables(self) -> list[str]:
        """Names of the tables, for `table`."""
        return sorted(self._tables)

    def table(self, name: str) -> "pyarrow.Table":
        """One of the tables of `tresse trace --out`, each column with its unit as metadata."""
        if name not in self._tables:
            known = ", ".join(self.tables) or "none"
            raise TresseError(f"there is no table {name}; there are: {known}")
        return self._tables[name]

    def to_pandas(self, name: str) -> "pandas.DataFrame":
        """`table` as a data frame, whose `attrs["units"]` are the units."""
        return _tables.to_pandas(self.table(name))

    @property
    def directions(self) -> "pyarrow.Table":
        """One row for each direction of each association: figures only, those that are lists left out."""
        rows = []
        for number, association in enumerate(self.associations, 1):
            for direction in association["directions"]:
                figures = {k: v for k, v in direction.items() if not isinstance(v, (dict, list))}
                rows.append({"association": number, **figures})
        return _tables.from_rows(rows)


def read_capture(
    files: str | Path | Sequence[str | Path],
    *,
    receiver: str | Path | Sequence[str | Path] = (),
    udp_ports: Sequence[int] = (),
    missing_reports: int = 3,
    rto_min_ms: int = 1000,
) -> Capture:
    """Analyses captures (pcap, pcapng) and qlog files made at one end, and at the other one (`receiver`) if there are any:
    only both together tell what was lost on the way.

    `udp_ports`: those that carry SCTP besides 9899. `missing_reports`: after how many a fast retransmit is one.
    `rto_min_ms`: RTO.Min of the estimate of RTO.

    Raises `TresseError` if a file cannot be read or is no capture.
    """
    with tempfile.TemporaryDirectory(prefix="tresse-") as name:
        folder = Path(name)
        _native.read_capture(
            _paths(files), _paths(receiver), folder, list(udp_ports), missing_reports, rto_min_ms
        )
        summary = json.loads((folder / "summary.json").read_text())
        parts: dict[str, list[Path]] = {}
        for path in sorted(folder.glob("*.parquet")):
            # A long one goes on in NAME-2 and so on.
            parts.setdefault(path.stem.partition("-")[0], []).append(path)
        pa = _tables.arrow()
        tables = {
            name: _tables.with_units(pa.concat_tables([_tables.read(path) for path in paths]))
            for name, paths in parts.items()
        }
    return Capture(summary["totals"], summary["associations"], tables)


def _paths(files: str | Path | Sequence[str | Path]) -> list[Path]:
    return [Path(files)] if isinstance(files, (str, Path)) else [Path(file) for file in files]
