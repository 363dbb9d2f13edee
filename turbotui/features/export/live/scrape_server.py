"""The server of scrapes: few connections, short times, one answer each. A client that is slow is the first to go."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Mapping
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.export.live.requests import MOST_HEAD, HttpRequest, RefusedError, check_host, parse_request

MOST_CONNECTIONS: Final = 32
"""At once; one more ends the oldest, which has had its time: an honest scrape takes milliseconds."""
_PHRASES: Final = {
    200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 405: "Method Not Allowed",
    408: "Request Timeout", 421: "Misdirected HttpRequest", 429: "Too Many Requests",
    431: "Request Header Fields Too Large", 500: "Internal Server Error", 503: "Service Unavailable",
}
_ALWAYS: Final = {"Connection": "close", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
_TEXT: Final = "text/plain; charset=utf-8"
_FULL_SECONDS: Final = 0.1  # to wait where the system has no descriptor left


@dataclass(frozen=True, slots=True)
class ClientTimes:
    """How long a client may take, in seconds.

    Attributes:
        ask: for its request, the handshake of TLS before it included.
        take: for our answer.
    """

    ask: float = 5.0
    take: float = 10.0


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What a client gets."""

    body: bytes
    content_type: str = _TEXT
    headers: Mapping[str, str] | None = None


class Access:
    """Who may read: anybody, unless a web config says otherwise (`web_config`). Exchanged while the server runs.

    Attributes:
        tls: for the connections to come; None for none.
        headers: that every answer has.
    """

    tls: ssl.SSLContext | None = None
    headers: Mapping[str, str] = {}

    async def check(self, request: HttpRequest, client: str) -> None:
        """Let a request pass.

        Args:
            request: what is asked.
            client: its address.

        Raises:
            RefusedError: it must not.
        """


class ScrapeServer:
    """Answers requests on a listening socket until it is stopped.

    Args:
        listener: non-blocking.
        answer: gives the answer of a request; quick, and raises `RefusedError` where there is none.
        names: by which clients may know this server, in lower case.
        times: that clients have.

    Attributes:
        access: who may read.
    """

    def __init__(self, listener: socket.socket, answer: Callable[[HttpRequest], HttpAnswer], names: frozenset[str],
                 times: ClientTimes) -> None:
        self._listener = listener
        self._answer = answer
        self._names = names
        self._times = times
        self._open: dict[asyncio.Task[None], None] = {}  # oldest first
        self.access = Access()

    async def run(self) -> None:
        """Serve until cancelled; then every connection is cut."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                try:
                    connection, address = await loop.sock_accept(self._listener)
                except OSError:  # a client that left already, or no descriptor: the next may do
                    await asyncio.sleep(_FULL_SECONDS)
                    continue
                if len(self._open) >= MOST_CONNECTIONS:
                    oldest = next(iter(self._open))
                    del self._open[oldest]
                    oldest.cancel()
                task = loop.create_task(self._serve(connection, str(address[0])))
                self._open[task] = None
                task.add_done_callback(lambda done: self._open.pop(done, None))
                await asyncio.sleep(0)  # it begins, and closes what it was given whatever comes
        finally:
            for task in tuple(self._open):
                task.cancel()
            await asyncio.gather(*self._open, return_exceptions=True)

    async def _serve(self, connection: socket.socket, client: str) -> None:
        """Answer one connection; whatever it does ends with it."""
        writer: asyncio.StreamWriter | None = None
        try:
            async with asyncio.timeout(self._times.ask):
                reader, writer = await self._opened(connection)
                answer = await self._answered(reader, client)
            writer.write(answer)
            async with asyncio.timeout(self._times.take):
                await writer.drain()
                writer.close()
                await writer.wait_closed()
        except (OSError, TimeoutError, asyncio.IncompleteReadError):  # ssl.SSLError is an OSError
            return  # the client's loss
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

    async def _answered(self, reader: asyncio.StreamReader, client: str) -> bytes:
        head = False
        try:
            try:
                asked = await reader.readuntil(b"\r\n\r\n")
            except asyncio.LimitOverrunError:
                raise RefusedError(431, f"a request has {MOST_HEAD} bytes at most") from None
            request = parse_request(asked)
            head = request.method == "HEAD"
            check_host(request.host, self._names)
            await self.access.check(request, client)
            answer = self._answer(request)
        except RefusedError as refused:
            sentence = f"{refused.sentence}\n".encode()
            return self._written(refused.status, HttpAnswer(sentence, _TEXT, refused.headers), head)
        return self._written(200, answer, head)

    def _written(self, status: int, answer: HttpAnswer, head: bool) -> bytes:
        headers = {"Content-Type": answer.content_type, "Content-Length": str(len(answer.body)), **_ALWAYS,
                   **self.access.headers, **(answer.headers or {})}
        lines = [f"HTTP/1.1 {status} {_PHRASES[status]}", *(f"{name}: {value}" for name, value in headers.items())]
        start = "\r\n".join((*lines, "", "")).encode("latin-1", "replace")
        return start if head else start + answer.body


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        OSError: it cannot be listened at.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, port), family=family, backlog=MOST_CONNECTIONS)
    listener.setblocking(False)
    return listener

