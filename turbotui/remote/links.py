"""Links to a collector, from which bytes come and to which requests go."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import socket
from typing import Final, Protocol

from turbotui.errors import TurbotuiError
from turbotui.untrusted import original

PIECE: Final = 1 << 16
"""Maximum number of bytes of a read."""
CONNECT_SECONDS: Final = 5.0
FIRST_SECONDS: Final = 20.0
"""Seconds for the first reading: a new connection, and the start of a collector on a loaded machine."""


class LinkError(TurbotuiError):
    """There is no way to a collector, or the collector ended; the message says why."""


class Link(Protocol):
    """One connection to a collector."""

    def read(self, seconds: float) -> bytes | None:
        """Receive at most `PIECE` bytes; empty if the link ended; None if nothing came for a while."""

    def ask(self, request: bytes) -> None:
        """Send a request; a failure shows as the end of the connection."""

    def why_ended(self) -> str:
        """A sentence about why nothing will come any more."""

    def close(self) -> None:
        """Close the link."""


class Connector(Protocol):
    """How a collector is reached, once and again."""

    name: str  # for people: "ssh user@node", or a socket's path
    again: bool  # whether reopening after the end makes sense

    def open(self) -> Link:
        """Open a connection. Raises LinkError if the connection cannot be opened."""


class Outbox:
    """Bytes of requests that were not accepted yet; nobody waits for them."""

    def __init__(self) -> None:
        self._unsent = b""

    @property
    def full(self) -> bool:
        """Whether bytes wait for the descriptor."""
        return bool(self._unsent)

    def push(self, descriptor: int, request: bytes = b"") -> None:
        """Write pending bytes to a nonblocking descriptor; a failure shows in the next read."""
        self._unsent += request
        if self._unsent:
            with contextlib.suppress(OSError):
                self._unsent = self._unsent[os.write(descriptor, self._unsent):]


class PipeLink:
    """A pipe that somebody else made: nothing can be asked through it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def read(self, seconds: float) -> bytes | None:
        if not select.select([self._descriptor], [], [], seconds)[0]:
            return None
        return os.read(self._descriptor, PIECE)

    def ask(self, request: bytes) -> None:
        """Ask nothing: no reader is connected."""

    def why_ended(self) -> str:
        return "the stream has ended"

    def close(self) -> None:
        os.close(self._descriptor)


class PipeConnector:
    """A pipe that can be read once."""

    name = "a pipe"
    again = False

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def open(self) -> PipeLink:
        return PipeLink(self._descriptor)


class SocketLink:
    """A connection to the socket of a collector on this machine."""

    def __init__(self, connection: socket.socket, path: str) -> None:
        self._connection = connection
        self._path = path
        self._received = False
        self._outbox = Outbox()

    def read(self, seconds: float) -> bytes | None:
        self._outbox.push(self._connection.fileno())
        if not select.select([self._connection], [], [], seconds)[0]:
            return None
        try:
            data = self._connection.recv(PIECE)
        except BlockingIOError:
            return None
        except ConnectionError:
            return b""
        self._received = self._received or bool(data)
        return data

    def ask(self, request: bytes) -> None:
        self._outbox.push(self._connection.fileno(), request)

    def why_ended(self) -> str:
        if self._received:
            return f"the collector behind {self._path} has ended"
        return (f"the collector behind {self._path} closed the connection without a word: it serves root, its own user "
                "and its group, and a bounded number of readers")

    def close(self) -> None:
        self._connection.close()


class SocketConnector:
    """The socket of a collector on this machine."""

    again = True

    def __init__(self, path: str) -> None:
        self.name = path

    def open(self) -> SocketLink:
        """Fails with a LinkError if nobody listens there, or not to this user."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(CONNECT_SECONDS)
        try:
            connection.connect(os.fsencode(original(self.name)))
        except OSError as error:
            connection.close()
            raise LinkError(self._refused(error)) from error
        connection.setblocking(False)
        return SocketLink(connection, self.name)

    def _refused(self, error: OSError) -> str:
        if error.errno == errno.ENOENT:
            return f"there is no socket {self.name}: no collector was started there (turbotui collect --socket)"
        if error.errno == errno.ECONNREFUSED:
            return f"nobody listens at {self.name}: the collector was killed, or it is no collector's socket"
        if error.errno in (errno.EACCES, errno.EPERM):
            return f"this user may not use {self.name}: ask for the group of its collector (turbotui collect --group)"
        if isinstance(error, (TimeoutError, BlockingIOError)):  # the latter: too many others wait for an answer
            return f"the collector behind {self.name} does not answer"
        return f"{self.name} cannot be used: {error.strerror or error}"
