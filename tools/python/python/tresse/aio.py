"""SCTP associations on asyncio.

    async with Endpoint.bind("127.0.0.1:0", port=5001) as server:
        association = await server.accept()
        async for message in association:
            await association.send(message.data, message.stream)
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from types import TracebackType
from typing import Any, Awaitable, Callable, Generic, Mapping, Sequence, TypeVar

from . import _native
from ._native import ClosedError, Message
from .profiles import Profile

__all__ = ["Association", "Endpoint", "Message"]

_T = TypeVar("_T")


async def _task(made: Awaitable[_T]) -> _T:
    """As a task, it is cancelled when its event loop ends; a future that the loop does not know would outlive it."""
    return await made


class _Once(Generic[_T]):
    """Waits for one thing after the other. Who is cancelled leaves what was meant for it to the next one."""

    def __init__(self, take: Callable[[], Awaitable[_T]]) -> None:
        self._take = take
        self._turn = asyncio.Lock()
        self._pending: asyncio.Future[_T] | None = None

    async def next(self) -> _T:
        async with self._turn:
            if self._pending is None:
                self._pending = asyncio.ensure_future(_task(self._take()))
            taken = await asyncio.shield(self._pending)
            self._pending = None
            return taken


class Endpoint:
    """One SCTP port on some local addresses: it opens associations, and takes those of peers if it has a port.

    Use `bind`. As a context manager it is closed in the end, and aborts what is still open.
    """

    def __init__(self, native: _native.Endpoint) -> None:
        self._native = native
        self._accepted: _Once[_native.Association | None] | None = None

    @classmethod
    def bind(
        cls,
        local: str | Sequence[str] = "0.0.0.0:0",
        *,
        port: int | None = None,
        raw: bool = False,
        profile: str | Profile = "tresse",
        parameters: Mapping[str, Any] | None = None,
        streams: int = 16,
        no_delay: bool = False,
        concurrent: bool = False,
        send_buffer: int | None = None,
        receive_buffer: int | None = None,
        max_message: int | None = None,
    ) -> "Endpoint":
        """Opens an endpoint. To be called while an event loop runs.

        `local`: addresses with the UDP port that they share (RFC 6951; 0: the system chooses), or without one if `raw`:
        directly on IP, which needs CAP_NET_RAW on Linux. `port`: SCTP port of a server; `None`: any, and nothing is
        accepted. `profile` and `parameters` say how it recovers from loss (see `profiles`, `Profile`). `streams`: outbound streams
        that are asked for. `no_delay`: no Nagle's algorithm. `concurrent`: all paths to a peer at once. Sizes of buffers
        and of the largest message are in bytes; by default 1 MiB, 1 MiB and 16 MiB.

        Raises `OSError` if an address is not free, `LabError` if the profile is unknown, `ValueError` if a number is out of
        its range.
        """
        base = profile if isinstance(profile, Profile) else Profile(profile)
        overrides = base.set(parameters or {}).overrides
        if port is not None:
            _whole("port", port, 1, 65_535)
        _whole("streams", streams, 1, 65_535)
        _whole("send_buffer", send_buffer, 1, 2**62)
        _whole("receive_buffer", receive_buffer, 1, 2**32 - 1)
        _whole("max_message", max_message, 1, 2**62)
        native = _native.Endpoint.bind(
            [local] if isinstance(local, str) else list(local),
            port=port,
            raw=raw,
            profile=base.name,
            overrides=overrides,
            streams=streams,
            no_delay=no_delay,
            concurrent=concurrent,
            send_buffer=send_buffer,
            receive_buffer=receive_buffer,
            max_message=max_message,
        )
        return cls(native)

    async def connect(
        self, peer: str | Sequence[str], port: int, *, udp_port: int = 9899
    ) -> "Association":
        """Opens an association with the SCTP port `port` of a peer: one address or name (`"192.0.2.1"`, or with its UDP
        port, `"192.0.2.1:9899"`) or several of them.

        Raises `ClosedError` if the peer does not answer or refuses, `OSError` if a name has no address.
        """
        addresses = [peer] if isinstance(peer, str) else list(peer)
        if len(addresses) == 1 and ":" in addresses[0]:
            addresses[0], udp_port = _split(addresses[0], udp_port)
        _whole("port", port, 1, 65_535)
        _whole("udp_port", udp_port, 1, 65_535)
        family = ipaddress.ip_address(self.addresses[0][0]).version
        resolved = [await _resolve(address, family) for address in addresses]
        return Association(await self._native.connect(resolved, udp_port, port))

    async def accept(self) -> "Association":
        """Waits for an association that a peer opens."""
        if self._accepted is None:
            self._accepted = _Once(self._native.accept)
        native = await self._accepted.next()
        if native is None:
            raise ClosedError("the endpoint is closed")
        return Association(native)

    async def wait_idle(self) -> None:
        """Waits until no association is left, so that peers hear of every end."""
        await self._native.wait_idle()

    def close(self) -> None:
        """Has no association taken or opened any more: who waits in `accept` gets a `ClosedError`. Open ones go on; see
        `wait_idle` and `abort_all`."""
        self._native.close()

    def abort_all(self, reason: bytes = b"") -> None:
        """Aborts all associations; peers are told the reason."""
        self._native.abort_all(reason)

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Local addresses, each with its UDP port (0 on raw IP)."""
        return self._native.addresses

    @property
    def port(self) -> int:
        """The SCTP port."""
        return self._native.port

    @property
    def stats(self) -> dict[str, int]:
        """Counters of what belongs to no association, by the names of metrics (`docs/observability.md`)."""
        return dict(self._native.stats())

    async def __aenter__(self) -> "Endpoint":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        self.abort_all()

    def __repr__(self) -> str:
        addresses = ", ".join(f"{address} ({udp})" if udp else address for address, udp in self.addresses)
        return f"Endpoint({addresses}; SCTP port {self.port})"


def _whole(name: str, value: Any, least: int, most: int) -> None:
    """Checks a whole number; `None` is a default."""
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} is a whole number, not {type(value).__name__}")
    if not least <= value <= most:
        raise ValueError(f"{name} is {value}: it can be {least} to {most}")


async def _resolve(host: str, family: int) -> str:
    """An address as it is, and of a name the first one of this version of IP."""
    try:
        ipaddress.ip_address(host)
        return host
    except ValueError:
        kind = socket.AF_INET6 if family == 6 else socket.AF_INET
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, None, family=kind, type=socket.SOCK_DGRAM)
        return str(found[0][4][0])


def _split(text: str, default: int) -> tuple[str, int]:
    """Address and UDP port; an IPv6 address with one stands in brackets."""
    if text.startswith("["):
        address, _, port = text[1:].partition("]:")
    elif text.count(":") == 1:
        address, _, port = text.partition(":")
    else:
        return text, default
    if not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError(f'"{text}" has no UDP port: an address with one is such as 192.0.2.1:9899 or [2001:db8::1]:9899')
    return address, int(port)


class Association:
    """Whole messages on many streams to and from one peer.

    Every method can be cancelled: a message is then either sent or not, and one that had arrived is what the next `recv`
    returns. As a context manager it is shut down in the end, or aborted after an exception.
    """

    def __init__(self, native: _native.Association) -> None:
        self._native = native
        self._received: _Once[Message | None] = _Once(native.recv)
        self._turn = asyncio.Lock()
        self._sending: asyncio.Future[None] | None = None

    async def send(
        self,
        data: bytes,
        stream: int = 0,
        *,
        ppid: int = 0,
        unordered: bool = False,
        lifetime: float | None = None,
        retransmissions: int | None = None,
    ) -> None:
        """Sends a message, waiting for room in the send buffer. That it returns means accepted, not delivered: `shutdown`
        tells whether everything arrived.

        Messages leave in the order of the calls. One whose call is cancelled while it waits for room is still sent, before
        those that follow; one that waits for its turn is not.

        `ppid`: payload protocol identifier. `unordered`: delivered without regard to order. `lifetime` (seconds) or
        `retransmissions`: when it is given up (RFC 3758, RFC 7496).

        Raises `ClosedError` after the end, `TresseError` if there is no such stream or the message is empty or too large.
        """
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"a message is bytes, not {type(data).__name__}")
        _whole("stream", stream, 0, 65_535)
        _whole("ppid", ppid, 0, 2**32 - 1)
        _whole("retransmissions", retransmissions, 0, 2**32 - 1)
        async with self._turn:
            if self._sending is not None:
                # That of a call that was cancelled: what became of it is nobody's business any more.
                await asyncio.wait([self._sending])
            sending = self._native.send(
                bytes(data),
                stream,
                ppid=ppid,
                unordered=unordered,
                lifetime=lifetime,
                retransmissions=retransmissions,
            )
            self._sending = asyncio.ensure_future(_task(sending))
            await asyncio.shield(self._sending)

    async def recv(self) -> Message | None:
        """Waits for a message; `None` once the association has ended and all were read."""
        return await self._received.next()

    def __aiter__(self) -> "Association":
        return self

    async def __anext__(self) -> Message:
        message = await self.recv()
        if message is None:
            raise StopAsyncIteration
        return message

    def __repr__(self) -> str:
        peers = ", ".join(str(path["address"]) for path in self.paths) or "ended"
        return f"Association({peers})"

    async def shutdown(self) -> None:
        """Waits until everything that was sent is delivered, and ends the association.

        Raises `ClosedError` if it ended otherwise.
        """
        await self._native.shutdown()

    async def closed(self) -> str:
        """Waits for the end; says how it ended."""
        return await self._native.closed()

    def abort(self, reason: bytes = b"") -> None:
        """Ends at once; the peer is told the reason."""
        self._native.abort(reason)

    @property
    def streams(self) -> tuple[int, int]:
        """How many streams there are in our direction, and in the peer's."""
        return self._native.streams

    @property
    def stats(self) -> dict[str, int]:
        """Counters, by the names of metrics (`docs/observability.md`)."""
        return dict(self._native.stats())

    @property
    def paths(self) -> list[dict[str, Any]]:
        """What is known of each path to the peer: address, state, window, round-trip time, ..."""
        return [dict(path) for path in self._native.paths()]

    async def __aenter__(self) -> "Association":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            await self.shutdown()
        else:
            self.abort()
