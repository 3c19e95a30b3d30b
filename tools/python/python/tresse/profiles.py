"""Profiles: which mechanisms a sender has, and with which parameters."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Mapping

from . import _native
from ._native import LabError
from .lab import _json, _without_none


def profiles() -> dict[str, str]:
    """Names of the profiles that are built in, and what each is. They are joined by `+`, as in `rfc9260+rack`."""
    return dict(_native.profiles())


@dataclass(frozen=True)
class Profile:
    """A profile with what is changed about it.

    >>> Profile("rfc9260").parameters["rto"]["min_ms"]
    1000.0
    """

    #: Its name, or several joined by `+`.
    name: str
    #: Changes, as JSON; see `set`.
    changes: str = "{}"

    def __post_init__(self) -> None:
        self.parameters  # An unknown name is said here.

    @property
    def overrides(self) -> str:
        """What is changed, as TOML."""
        return _native.to_toml(self.changes)

    @property
    def parameters(self) -> dict[str, Any]:
        """All parameters, a table for each mechanism."""
        return dict(json.loads(_native.profile(self.name, self.overrides)))

    def set(self, parameters: Mapping[str, Any]) -> "Profile":
        """Changes parameters, such as `rto.min_ms`, or a table of them; of two values the later one counts."""
        changes = json.loads(self.changes)
        for key, value in parameters.items():
            _put(changes, key.split("."), value)
        return Profile(self.name, _json(_without_none(changes)))

    def differs_from(self, other: "Profile") -> dict[str, tuple[Any, Any]]:
        """Parameters in which two differ: of this one, and of the other one."""
        own, theirs = _flat(self.parameters), _flat(other.parameters)
        keys = sorted(own.keys() | theirs.keys())
        both = {key: (own.get(key), theirs.get(key)) for key in keys}
        return {key: values for key, values in both.items() if values[0] != values[1]}


def _put(table: dict[str, Any], path: list[str], value: Any) -> None:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _put(table, [*path, str(key)], inner)
    elif len(path) == 1:
        table[path[0]] = value
    else:
        inner = table.setdefault(path[0], {})
        if not isinstance(inner, dict):
            raise LabError(f"{path[0]} is one value, not a table")
        _put(inner, path[1:], value)


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{prefix}{key}."))
        elif prefix or key not in ("name", "description"):
            flat[prefix + key] = value
    return flat
