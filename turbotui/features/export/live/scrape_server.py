"""The server of scrapes: few connections, short times, one answer each; slow clients are cut first."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final

from turbotui.commands.addresses import ASK_SECONDS, MOST_CONNECTIONS
from turbotui.dataclass import dataclass
from turbotui.features.export.live.requests import MOST_HEAD, HttpRequest, RefusedError, check_host, parse_request

_ALWAYS: Final = {"Connection": "close", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
_TEXT: Final = "text/plain; charset=utf-8"
_FULL_SECONDS: Final = 0.1  # seconds to wait if the system has no descriptor left
_TO_ASK: Final = 1.0  # seconds that every client has to ask, however many come


@dataclass(frozen=True, slots=True)
class ClientTimes:
    """The times that a client may take, in seconds."""

    ask: float = ASK_SECONDS  # for the request, including the TLS handshake
    take: float = 10.0  # for receiving the answer
    check: float = 600.0  # for being admitted, among the passwords of the other connections


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer to a client."""

    body: bytes
    content_type: str = _TEXT
    headers: Mapping[str, str] | None = None


class Access:
    """The access rules: anybody may read, unless a web config restricts it (`web_config`).

    The rules can be replaced while the server runs.
    """

    tls: ssl.SSLContext | None = None  # the TLS context of new connections; None for none
    headers: Mapping[str, str] = {}  # headers of every answer

    @property
    def admits_all(self) -> bool:
        """Whether nothing is asked of a client."""
        return True

    async def check(self, request: HttpRequest) -> None:
        """Check whether a request is allowed. Raises RefusedError if the request is not allowed."""

    def succeed(self, before: Access) -> None:
        """Take over from other rules.

        Raises:
            TurbotuiError: the others ask for a protection that these no longer ask for.
        """


class ScrapeServer:
    """Answers requests on a listening socket until it is stopped.

    Args:
        listener: non-blocking.
        answer: quickly returns the answer to a request, or raises `RefusedError`.
    """

    def __init__(self, listener: socket.socket, answer: Callable[[HttpRequest], HttpAnswer], names: frozenset[str],
                 times: ClientTimes) -> None:
        self._listener = listener
        self._answer = answer
        self._names = names
        self._times = times
        self._open: dict[asyncio.Task[Any], float] = {}  # since when, oldest first; without those being checked
        self._checked: set[asyncio.Task[Any]] = set()
        self._changed = asyncio.Event()
        self.access = Access()

    async def run(self) -> None:
        """Serve until cancelled, then cut every connection."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                try:
                    connection, _ = await loop.sock_accept(self._listener)
                except OSError:  # the client left already, or no descriptor is free: the next accept may succeed
                    await asyncio.sleep(_FULL_SECONDS)
                    continue
                await self._make_room()
                task = loop.create_task(self._serve(connection))
                self._open[task] = time.monotonic()
                task.add_done_callback(self._closed)
                await asyncio.sleep(0)  # the task runs at least once, and closes its connection in any case
        finally:
            tasks = (*self._open, *self._checked)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _make_room(self) -> None:
        """Wait for room for another connection, if need be that of the oldest, once it had time to ask."""
        while len(self._open) >= MOST_CONNECTIONS:
            oldest, since = next(iter(self._open.items()))
            left = since + _TO_ASK - time.monotonic()
            if left <= 0.0:
                del self._open[oldest]
                oldest.cancel()
                return
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._changed.wait()

    def _closed(self, done: asyncio.Task[Any]) -> None:
        self._open.pop(done, None)
        self._changed.set()

    async def _check(self, request: HttpRequest) -> None:
        """Check a request, which may wait for its password's hash; however many others come meanwhile, it is not cut.

        Raises:
            RefusedError: it is not allowed.
        """
        task = asyncio.current_task()
        if task is None or task not in self._open:
            return await self.access.check(request)
        del self._open[task]
        self._changed.set()
        self._checked.add(task)
        try:
            await self.access.check(request)
        finally:
            self._checked.discard(task)
            self._open[task] = time.monotonic()
        return None

    async def _serve(self, connection: socket.socket) -> None:
        """Answer one connection, whose errors end only this connection."""
        writer: asyncio.StreamWriter | None = None
        try:
            async with asyncio.timeout(self._times.ask):
                reader, writer = await self._opened(connection)
                asked = await self._asked(reader)
            async with asyncio.timeout(self._times.check):
                answer = await self._answered(asked, *[(writer.get_extra_info(end) or ("", 0))[:2]
                                                       for end in ("peername", "sockname")])
            writer.write(answer)
            async with asyncio.timeout(self._times.take):
                await writer.drain()
                writer.close()
                await writer.wait_closed()
        except (OSError, TimeoutError, asyncio.IncompleteReadError):  # ssl.SSLError is an OSError
            return  # the client gets no answer
        finally:
            if writer is not None:
                writer.transport.abort()
            else:
                connection.close()

    async def _opened(self, connection: socket.socket) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=MOST_HEAD, loop=loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        tls = self.access.tls
        transport, _ = await loop.connect_accepted_socket(
            lambda: protocol, connection, ssl=tls, ssl_handshake_timeout=self._times.ask if tls else None)
        transport.set_write_buffer_limits(0)  # drained means handed to the kernel
        return reader, asyncio.StreamWriter(transport, protocol, reader, loop)

    @staticmethod
    async def _asked(reader: asyncio.StreamReader) -> bytes:
        """The bytes of a request; none if it is too long."""
        try:
            return await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            return b""

    async def _answered(self, asked: bytes, peer: tuple[str, int], own: tuple[str, int]) -> bytes:
        head, status, penalty = False, 200, 0.0
        try:
            request = replace(_request(asked), peer=peer, own=own)
            head = request.method == "HEAD"
            check_host(request.host, self._names)
            await self._check(request)
            answer = self._answer(request)
        except RefusedError as refused:
            status, penalty = refused.status, refused.penalty
            answer = HttpAnswer(f"{refused.sentence}\n".encode(), _TEXT, refused.headers)
        if penalty:  # beyond the handler: else a connection that is cut here keeps all that the refusal passed
            self._first_to_cut()
            await asyncio.sleep(penalty)
        return self._written(status, answer, head)

    def _first_to_cut(self) -> None:
        """Have this connection cut before those that may still be admitted."""
        if (task := asyncio.current_task()) in self._open:
            self._changed.set()
            self._open = {task: 0.0} | {other: since for other, since in self._open.items() if other is not task}

    def _written(self, status: int, answer: HttpAnswer, head: bool) -> bytes:
        headers = {"Content-Type": answer.content_type, "Content-Length": str(len(answer.body)), **_ALWAYS,
                   **self.access.headers, **(answer.headers or {})}
        lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
                 *(f"{name}: {value}" for name, value in headers.items())]
        start = "\r\n".join((*lines, "", "")).encode("latin-1", "replace")
        return start if head else start + answer.body


def _request(asked: bytes) -> HttpRequest:
    if not asked:
        raise RefusedError(431, f"a request has {MOST_HEAD} bytes at most")
    return parse_request(asked)


def listening_socket(host: str, port: int) -> socket.socket:
    """Open a listening socket. Raises OSError if the address cannot be used."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, port), family=family, backlog=MOST_CONNECTIONS)
    listener.setblocking(False)
    return listener

