"""Tables with units, as pyarrow and pandas have them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Mapping, Sequence

from ._native import TresseError

if TYPE_CHECKING:
    import pandas
    import pyarrow

# What the end of a column's name says of its unit; a statistic may follow, as in `transfer_ms.p99`.
_UNITS = {
    "ms": "ms",
    "s": "s",
    "us": "µs",
    "kbps": "kbit/s",
    "kBps": "kB/s",
    "mbps": "Mbit/s",
    "bytes": "byte",
    "percent": "%",
    "packets": "packet",
    "chunks": "chunk",
}
_ENDS = re.compile(r"(?:^|_)(" + "|".join(_UNITS) + r")(?:_(?:ci95|low|high))?(?:\.\w+)?$")


def unit_of(column: str) -> str | None:
    """The unit that the name of a column tells, such as `ms` of `mtt_ms`; `None` if it tells none."""
    found = _ENDS.search(column)
    return _UNITS[found.group(1)] if found else None


def units(table: "pyarrow.Table") -> dict[str, str]:
    """Units of the columns of a table that have one."""
    known: dict[str, str] = {}
    for field in table.schema:
        unit = (field.metadata or {}).get(b"unit")
        if unit is not None:
            known[field.name] = unit.decode()
    return known


def arrow() -> Any:
    """pyarrow, or what to install."""
    try:
        import pyarrow
        import pyarrow.csv
        import pyarrow.parquet
    except ImportError as missing:
        raise TresseError("tables need pyarrow and pandas: pip install 'tresse[data]'") from missing
    return pyarrow


def with_units(table: "pyarrow.Table", known: Mapping[str, str] | None = None) -> "pyarrow.Table":
    """The table, each column with its unit as metadata: one of `known`, or that of its name."""
    pa = arrow()
    fields = []
    for field in table.schema:
        unit = (known or {}).get(field.name) or unit_of(field.name)
        fields.append(field.with_metadata({"unit": unit}) if unit else field)
    return table.cast(pa.schema(fields, metadata=table.schema.metadata))


def read(path: Path) -> "pyarrow.Table":
    """A Parquet or CSV file as a table with units."""
    pa = arrow()
    if path.suffix == ".parquet":
        return with_units(pa.parquet.read_table(path))
    return with_units(pa.csv.read_csv(path))


def from_rows(rows: Sequence[Mapping[str, Any]]) -> "pyarrow.Table":
    """Rows of names and values as a table with units."""
    return with_units(arrow().Table.from_pylist([dict(row) for row in rows]))


def to_pandas(table: "pyarrow.Table") -> "pandas.DataFrame":
    """A table as a data frame, whose `attrs["units"]` are the units of its columns."""
    frame = table.to_pandas()
    frame.attrs["units"] = units(table)
    return frame
