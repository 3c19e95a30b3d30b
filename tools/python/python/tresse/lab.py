"""Experiments: what is built, varied and measured, and how it compares with what was published."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Sequence

from . import _native, _tables
from ._native import LabError

if TYPE_CHECKING:
    import pandas
    import pyarrow


def experiments(*, slow: bool = True) -> list[str]:
    """Ids of the experiments that are built in, such as `hurtig/fig2`; without `slow`, of those that take seconds."""
    return [name for name, _, is_slow in _native.experiments() if slow or not is_slow]


@dataclass(frozen=True)
class Experiment:
    """An experiment and what is changed about it. It does not change: each method returns another one.

    `name` is the id of one that is built in (see `experiments`) or the path of a TOML file; `docs/experiments.md` says
    what such a file holds.

    >>> figure = Experiment("hurtig/fig2").with_profile("tresse").set({"rto.min_ms": 300})
    >>> figure.runs
    246
    """

    name: str | Path
    #: Profiles that run beside those of the experiment.
    profiles: tuple[str, ...] = ()
    #: Changed parameters, each as `key=value` in TOML.
    parameters: tuple[str, ...] = ()
    #: Seed instead of the experiment's own.
    seed: int | None = None
    #: TOML text; of a file, what it says when this is made. `None`: it is built in.
    text: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", str(self.name))
        if self.text is None and Path(self.name).is_file():
            try:
                object.__setattr__(self, "text", Path(self.name).read_text(encoding="utf-8"))
            except (OSError, UnicodeDecodeError) as error:
                raise LabError(f"cannot read {self.name}: {error}") from error
        self.plan  # What is wrong with it is said here, not when it runs.

    @classmethod
    def from_toml(cls, text: str, name: str = "experiment") -> "Experiment":
        """The experiment in a TOML text; `name` stands in messages about it."""
        return cls(name, text=text)

    @classmethod
    def from_dict(cls, definition: Mapping[str, Any]) -> "Experiment":
        """The experiment in a dictionary, which has the keys of a file; `definition` of another one is a start."""
        text = _native.to_toml(_json(_without_none(definition)))
        return cls(str(definition.get("id", "experiment")), text=text)

    @property
    def definition(self) -> dict[str, Any]:
        """What its file says, with every default, as a dictionary: without what is changed about it."""
        return dict(json.loads(_native.definition(str(self.name), self.text)))

    @property
    def plan(self) -> _native.Plan:
        """The runs, as the native part has them."""
        return _plan(str(self.name), self.text, self.profiles, self.parameters, self.seed)

    @property
    def id(self) -> str:
        """Its id, which is also the folder of its results."""
        return self.plan.id

    @property
    def title(self) -> str:
        """One line."""
        return self.plan.title

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return self.plan.runs

    def with_profile(self, *names: str) -> "Experiment":
        """Runs these profiles, too, beside those of the experiment; see `profiles`."""
        return replace(self, profiles=(*self.profiles, *names))

    def with_seed(self, seed: int) -> "Experiment":
        """Takes another seed for all random numbers."""
        return replace(self, seed=seed)

    def set(self, parameters: Mapping[str, Any]) -> "Experiment":
        """Changes parameters of every profile (`rto.min_ms`), of the experiment (`workload.bursts.message_bytes`), or the
        values of an axis (`axis.loss`)."""
        more = tuple(f"{key}={_toml(value)}" for key, value in parameters.items())
        return replace(self, parameters=(*self.parameters, *more))

    def run(
        self,
        out: str | Path = "results",
        *,
        jobs: int | None = None,
        fresh: bool = False,
        capture: str | Path | None = None,
        progress: bool = False,
    ) -> "Result":
        """Makes the runs that are not stored in the folder `out` and writes the report there.

        `jobs`: threads, one for each core by default. `fresh`: also those that are stored. `capture`: a folder for packet
        captures of every run. Ctrl-C stores what was finished; the next call goes on.

        Raises `LabError` if a folder cannot be written, or another process writes to it. Runs that went wrong stand in
        `Result.failures`.
        """
        plan = self.plan
        capture = None if capture is None else Path(capture)
        made, stored, text, failures = plan.run(Path(out), jobs, fresh, capture, progress)
        return Result(Path(out) / plan.id, made, stored, text, failures)


@lru_cache(maxsize=8)
def _plan(
    name: str,
    text: str | None,
    profiles: tuple[str, ...],
    parameters: tuple[str, ...],
    seed: int | None,
) -> _native.Plan:
    """Of large experiments it takes seconds."""
    return _native.Plan(name, text, list(profiles), list(parameters), seed)


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(f"{json.dumps(str(key))} = {_toml(v)}" for key, v in value.items())
        return f"{{ {inner} }}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, (bool, int, float, str)):
        return json.dumps(value)
    if hasattr(value, "item"):  # A number of NumPy.
        return _toml(value.item())
    raise LabError(f"{value!r} is no value of a parameter: booleans, numbers, texts, lists and tables are")


def _json(value: Any) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise LabError(f"this is not what TOML can say: {error}") from None


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _without_none(v) for key, v in value.items() if v is not None}
    if isinstance(value, (list, tuple)):
        return [_without_none(v) for v in value]
    if hasattr(value, "item") and not isinstance(value, (bool, int, float, str)):
        return value.item()
    return value


@dataclass(frozen=True)
class Result:
    """The result of an experiment, as it is stored in a folder. Printed, it is the report that `tresse lab run` shows."""

    #: Where its files are.
    folder: Path
    #: Runs that were made for it.
    made: int = 0
    #: Runs that had been stored before.
    stored: int = 0
    #: The report as text.
    text: str = field(default="", repr=False)
    #: Runs that went wrong: which, and what happened.
    failures: list[tuple[str, str]] = field(default_factory=list)

    def __str__(self) -> str:
        return self.text

    @property
    def summary(self) -> dict[str, Any]:
        """`summary.json`: the experiment, its profiles, tables, comparisons and statistics."""
        path = self.folder / "summary.json"
        try:
            return dict(json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            raise LabError(f"there is no result in {self.folder}") from None
        except ValueError as error:
            raise LabError(f"{path} is damaged ({error}): run the experiment again") from None

    @property
    def tables(self) -> list[str]:
        """Names of the tables of measured values, for `table`."""
        return sorted(path.stem for path in self.folder.glob("*.parquet"))

    def table(self, name: str = "rows") -> "pyarrow.Table":
        """Measured values, each column with its unit as metadata (see `units`)."""
        path = self.folder / f"{name}.parquet"
        if not path.exists():
            known = ", ".join(self.tables) or "none"
            raise LabError(f"there is no table {name} in {self.folder}; there are: {known}")
        try:
            return _tables.read(path)
        except (OSError, ValueError) as error:  # pyarrow's are among them.
            raise LabError(f"{path} is damaged ({error}): run the experiment again") from None

    def to_pandas(self, name: str = "rows") -> "pandas.DataFrame":
        """`table` as a data frame, whose `attrs["units"]` are the units."""
        return _tables.to_pandas(self.table(name))

    @property
    def published(self) -> "pyarrow.Table":
        """Published numbers beside ours: what, where, their value, ours with its interval, the unit, the verdict."""
        rows = []
        for comparison in self.summary["comparisons"]:
            claim, ours = comparison["claim"], comparison.get("ours") or {}
            rows.append(
                {
                    "what": claim["what"],
                    "where": claim["place"],
                    "relation": claim["relation"],
                    "published": claim["value"],
                    "ours": ours.get("value"),
                    "ci95": ours.get("ci95"),
                    "unit": claim["unit"],
                    "verdict": comparison["verdict"],
                }
            )
        return _tables.from_rows(rows)

    @property
    def page(self) -> Path:
        """The page, to be opened in a browser."""
        return self.folder / "index.html"

    @property
    def plots(self) -> list[Path]:
        """Plots (SVG)."""
        return [self.folder / name for name in self.summary["plots"]]


def sweep(
    experiment: Experiment,
    parameters: Mapping[str, Sequence[Any]],
    *,
    out: str | Path = "results",
    table: str = "rows",
    jobs: int | None = None,
) -> "pyarrow.Table":
    """Runs an experiment with every combination of these values, and returns one table of all, in which the parameters
    are columns. Runs are stored in the folder `out`, and not made again.

    >>> rows = sweep(Experiment("hurtig/fig2"), {"rto.min_ms": [100, 200]})  # doctest: +SKIP
    """
    pa = _tables.arrow()
    parts = []
    plain = {key: values for key, values in parameters.items() if isinstance(values, (str, bytes))}
    if plain:
        key, value = next(iter(plain.items()))
        raise LabError(f"{key} is swept over a list of values, not over {value!r}")
    for values in _combinations(parameters):
        part = experiment.set(values).run(out, jobs=jobs).table(table)
        for key, value in reversed(list(values.items())):
            text = value if isinstance(value, (bool, int, float, str)) else _toml(value)
            part = part.add_column(0, key, pa.array([text] * len(part)))
        parts.append(_tables.with_units(part))
    if not parts:
        raise LabError("a sweep needs values")
    return pa.concat_tables(parts, promote_options="permissive")


def _combinations(parameters: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    keys = list(parameters)
    for values in itertools.product(*parameters.values()):
        yield dict(zip(keys, values))
