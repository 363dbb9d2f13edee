"""A collector behind a Unix socket; each client receives the stream and can only say which signals it shows.

One thread waits for all clients at once, and never for a single one: data that a client does not accept stays in its
    own bounded queue, and is dropped there.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import struct
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.machine import Machine
from turbotui.quantities.columns import ColumnId
from turbotui.quantities.signals import SignalId
from turbotui.remote.backlog import Backlog, Outgoing
from turbotui.remote.requests import RequestError, RequestParser, WantedSignals
from turbotui.sampling.frame import Frame
from turbotui.sampling.row_workers import RowSource
from turbotui.sampling.session import Session

MOST_CLIENTS: Final = 32
MOST_OF_ONE_USER: Final = 8
"""Maximum number of connections of a user, so that nobody keeps others out."""
_HIGH_WATER: Final = 1 << 16
"""Unaccepted bytes from which on a client's frames wait without being encoded."""
_REST: Final = 0.2
"""Seconds for which a client is ignored after a request."""
_PEER_GROUPS: Final = 59  # SO_PEERGROUPS, asm-generic/socket.h
_MOST_GROUPS: Final = 256  # Python asks for 1,024 bytes at most; for a user with more groups the first ones count
_CREDENTIALS: Final = struct.Struct("3i")  # struct ucred: pid, uid, gid


@dataclass(frozen=True, slots=True)
class Peer:
    """The other end of a connection, by the kernel's account."""

    uid: int  # effective user id at the time of connecting
    groups: frozenset[int]  # group ids at that time


def peer_of(connection: socket.socket) -> Peer:
    """The peer of a unix socket. Raises OSError if the kernel does not report it."""
    _pid, uid, gid = _CREDENTIALS.unpack(
        connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    more = array("I")
    try:
        more.frombytes(connection.getsockopt(socket.SOL_SOCKET, _PEER_GROUPS, _MOST_GROUPS * more.itemsize))
    except OSError as error:
        if error.errno != errno.ERANGE:
            raise
    return Peer(uid, frozenset((gid, *more)))


@dataclass(frozen=True, slots=True)
class Admission:
    """The users that may connect to the socket."""

    uid: int  # the collector's user; root may connect too
    group: int | None = None  # the group whose members may connect; None for no group

    def admits(self, peer: Peer) -> bool:
        """Whether a peer may connect."""
        return peer.uid in (0, self.uid) or (self.group is not None and self.group in peer.groups)


class SocketClient(asyncio.Protocol):
    """One connection.

    Args:
        asked, left: called after a request, and after the client is gone.
    """

    def __init__(self, peer: Peer, machine: Machine, asked: Callable[[], None],
                 left: Callable[[SocketClient], None]) -> None:
        self.peer = peer
        self.wanted: frozenset[SignalId] = frozenset()
        self._machine = machine
        self._asked = asked
        self._left = left
        self._backlog = Backlog()
        self._parser = RequestParser()
        self._transport: asyncio.Transport | None = None
        self._outgoing: Outgoing | None = None
        self._full = False
        self._seq = -1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - of a stream socket
        transport.set_write_buffer_limits(_HIGH_WATER)
        self._transport = transport
        self._outgoing = Outgoing(transport.write, self._machine)

    def take(self, frame: Frame) -> None:
        """Send a frame, queue it, or drop it."""
        if frame.seq > self._seq:  # the reader gets these with the connection
            self._seq = frame.seq
            self._backlog.put(frame)
            self._send()

    def _send(self) -> None:
        while not self._full and self._outgoing is not None and (unsent := self._backlog.take()) is not None:
            self._outgoing.send(unsent)

    def pause_writing(self) -> None:
        """Handle a reader that has not taken what was sent."""
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        self._send()

    def data_received(self, data: bytes) -> None:
        """Take a request; a client that sends anything else is cut off."""
        try:
            wanted = self._parser.feed(data)
        except RequestError:
            self.abort()
            return
        if wanted is not None and self._transport is not None:
            self.wanted = wanted
            self._asked()
            self._transport.pause_reading()
            asyncio.get_running_loop().call_later(_REST, self._listen_again)

    def _listen_again(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def connection_lost(self, _error: Exception | None) -> None:
        self._transport = self._outgoing = None
        self._left(self)

    def end(self) -> None:
        """Tell a listening client that the collector ends."""
        if self._outgoing is not None and not self._full:
            self._outgoing.end()

    def abort(self) -> None:
        """Close the connection without waiting."""
        if self._transport is not None:
            self._transport.abort()


class SocketCollector:
    """Serves the readings of a session."""

    def __init__(self, session: Session, columns: Sequence[ColumnId], admission: Admission,
                 kinds: Iterable[RowSource] = ()) -> None:
        self._session = session
        self._wanted = WantedSignals(session, columns, kinds)
        self._admission = admission
        self._clients: list[SocketClient] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over = asyncio.Event()
        self._stopped = False

    def run(self, listener: socket.socket) -> None:
        """Serve until `stop`, or until the sampling ends."""
        asyncio.run(self._serve(listener))

    def stop(self) -> None:
        """Stop; may be called from a signal handler or another thread."""
        self._stopped = True
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # it has ended
                self._loop.call_soon_threadsafe(self._over.set)

    async def _serve(self, listener: socket.socket) -> None:
        loop = self._loop = asyncio.get_running_loop()
        if self._stopped:
            return
        accepting = loop.create_task(self._accept(listener))
        self._session.start(self._hand_over, on_end=self.stop)
        try:
            await self._over.wait()
        finally:
            accepting.cancel()
            await loop.run_in_executor(None, self._session.stop)
            for client in tuple(self._clients):
                client.end()
            await asyncio.sleep(0)
            for client in tuple(self._clients):
                client.abort()

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _address = await loop.sock_accept(listener)
            except OSError:  # no descriptor is free, or the client is already gone
                await asyncio.sleep(_REST)
                continue
            peer = self._admitted(connection)
            if peer is None:
                connection.close()
                continue
            client = SocketClient(peer, self._session.machine, self._want, self._leave)
            self._clients.append(client)
            await loop.connect_accepted_socket(lambda client=client: client, connection)  # type: ignore[misc]
            if self._session.latest is not None:
                client.take(self._session.latest)

    def _admitted(self, connection: socket.socket) -> Peer | None:
        """The other end of a connection, if it may connect and there is room."""
        try:
            peer = peer_of(connection)
        except OSError:
            return None
        users = Counter(client.peer.uid for client in self._clients)
        room = len(self._clients) < MOST_CLIENTS and users[peer.uid] < MOST_OF_ONE_USER
        return peer if room and self._admission.admits(peer) else None

    def _hand_over(self, frame: Frame) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # it has ended
                self._loop.call_soon_threadsafe(self._publish, frame)

    def _publish(self, frame: Frame) -> None:
        for client in tuple(self._clients):
            client.take(frame)
        self._want()

    def _want(self) -> None:
        self._wanted.take([client.wanted for client in self._clients])

    def _leave(self, client: SocketClient) -> None:
        if client in self._clients:
            self._clients.remove(client)
