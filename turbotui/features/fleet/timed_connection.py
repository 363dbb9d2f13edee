"""An HTTP connection with one deadline, from the name's look-up to the last byte of the answer.

A timeout of a socket is one for each call of it: a server that sends a byte before each timeout is never given up,
whether it sends them in the TLS handshake, the status line, header fields, chunk sizes, trailers, or answers of the
kind 100 Continue.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import socket
import ssl
import time

from turbotui.machine.given_files import GivenFileError, within


class Deadline:
    """A moment, some seconds from now, after which nothing is waited for."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds left, more than 0. Raises TimeoutError if none are left."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


class TimedConnection(http.client.HTTPConnection):
    """A connection for one question, by TLS if there is a context."""

    def __init__(self, host: str, port: int | None, context: ssl.SSLContext | None, deadline: Deadline) -> None:
        self.default_port = http.client.HTTP_PORT if context is None else http.client.HTTPS_PORT
        super().__init__(host, port or self.default_port)
        self._context = context
        self._deadline = deadline

    def connect(self) -> None:
        """Connect to the first of the host's addresses that accepts.

        Raises:
            OSError: no address accepts.
            TimeoutError: it took too long.
        """
        connection = self._connected()
        try:
            if self._context is not None:
                connection.settimeout(self._deadline.left)  # of the handshake as a whole (CPython, Modules/_ssl.c)
                connection = self._context.wrap_socket(connection, server_hostname=self.host)
        except OSError:
            connection.close()
            raise
        self.sock = _TimedSocket(connection, self._deadline)  # what http.client uses of one

    def _connected(self) -> socket.socket:
        try:
            places = within(self._deadline.left,
                            lambda: socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM))
        except GivenFileError:
            raise TimeoutError from None
        failed: OSError = TimeoutError()
        for family, kind, protocol, _, address in places:
            connection = socket.socket(family, kind, protocol)
            try:
                connection.settimeout(self._deadline.left)
                connection.connect(address)
            except OSError as error:
                connection.close()
                failed = error
            else:
                return connection
        raise failed


class _TimedSocket:
    """The calls of a socket that http.client makes."""

    def __init__(self, connection: socket.socket, deadline: Deadline) -> None:
        self._connection = connection
        self._deadline = deadline
        self._is_read = False

    def sendall(self, data: bytes) -> None:
        while data:
            self._connection.settimeout(self._deadline.left)
            data = data[self._connection.send(data):]

    def makefile(self, _mode: str) -> io.BufferedReader:
        self._is_read = True
        return io.BufferedReader(_TimedReader(self._connection, self._deadline))

    def close(self) -> None:
        """Close it, unless an answer is read, whose end closes it: http.client closes its socket before that."""
        if not self._is_read:
            self._connection.close()


class _TimedReader(io.RawIOBase):
    def __init__(self, connection: socket.socket, deadline: Deadline) -> None:
        super().__init__()
        self._connection = connection
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # which BufferedReader gives
        self._connection.settimeout(self._deadline.left)
        return self._connection.recv_into(buffer)

    def close(self) -> None:
        super().close()
        with contextlib.suppress(OSError):
            self._connection.close()
