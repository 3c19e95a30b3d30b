"""The native part. What it says of arguments stands at the Python functions that call it."""

from os import PathLike
from pathlib import Path
from typing import Any, Awaitable

class TresseError(Exception):
    """What this package raises: one line that says what is wrong."""

class LabError(TresseError):
    """An experiment, a profile or a request to the laboratory is wrong."""

class ClosedError(TresseError):
    """The association or its endpoint has ended."""

def version() -> str:
    """Version of the package, and of the source code that decides results."""

def experiments() -> list[tuple[str, str, bool]]: ...
def definition(name: str, text: str | None = None) -> str: ...
def to_toml(json: str) -> str: ...
def profiles() -> list[tuple[str, str]]: ...
def profile(name: str, overrides: str) -> str: ...
def carry(
    link: str, seed: int, packets: list[tuple[float, int]]
) -> tuple[list[tuple[int, float, bool, bool]], list[tuple[str, int]]]: ...
def read_capture(
    files: list[Path],
    receiver: list[Path],
    folder: Path,
    udp_ports: list[int],
    missing_reports: int,
    rto_min_ms: int,
) -> None: ...

def forked() -> None: ...
def shut_down() -> None: ...

class Plan:
    def __init__(
        self,
        name: str,
        text: str | None,
        profiles: list[str],
        parameters: list[str],
        seed: int | None,
    ) -> None: ...
    @property
    def id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def runs(self) -> int: ...
    def run(
        self,
        out: PathLike[str],
        jobs: int | None,
        fresh: bool,
        capture: PathLike[str] | None,
        progress: bool,
    ) -> tuple[int, int, str, list[tuple[str, str]]]: ...
    def collect(self, out: PathLike[str]) -> Collection: ...
    def make(self, keys: list[str]) -> list[tuple[str, str | None, str | None]]: ...

class Collection:
    def missing(self) -> list[str]: ...
    def store(self, result: str) -> None: ...
    def close(self) -> None: ...

class Endpoint:
    @staticmethod
    def bind(
        local: list[str],
        *,
        port: int | None = None,
        raw: bool = False,
        profile: str = "tresse",
        overrides: str = "",
        streams: int = 16,
        no_delay: bool = False,
        concurrent: bool = False,
        send_buffer: int | None = None,
        receive_buffer: int | None = None,
        max_message: int | None = None,
    ) -> Endpoint: ...
    def connect(self, addresses: list[str], udp_port: int, port: int) -> Awaitable[Association]: ...
    def accept(self) -> Awaitable[Association | None]: ...
    def wait_idle(self) -> Awaitable[None]: ...
    def close(self) -> None: ...
    def abort_all(self, reason: bytes) -> None: ...
    @property
    def addresses(self) -> list[tuple[str, int]]: ...
    @property
    def port(self) -> int: ...
    def stats(self) -> list[tuple[str, int]]: ...

class Association:
    def send(
        self,
        data: bytes,
        stream: int = 0,
        *,
        ppid: int = 0,
        unordered: bool = False,
        lifetime: float | None = None,
        retransmissions: int | None = None,
    ) -> Awaitable[None]: ...
    def recv(self) -> Awaitable[Message | None]: ...
    def shutdown(self) -> Awaitable[None]: ...
    def closed(self) -> Awaitable[str]: ...
    def abort(self, reason: bytes) -> None: ...
    @property
    def streams(self) -> tuple[int, int]: ...
    def stats(self) -> list[tuple[str, int]]: ...
    def paths(self) -> list[list[tuple[str, Any]]]: ...

class Message:
    """A message that was received."""

    @property
    def data(self) -> bytes:
        """The user data, never empty."""

    @property
    def stream(self) -> int:
        """The stream it came on."""

    @property
    def ppid(self) -> int:
        """Payload protocol identifier (RFC 9260 §3.3.1)."""

    @property
    def unordered(self) -> bool:
        """Whether it was sent without regard to order."""
