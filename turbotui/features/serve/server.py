"""The server of `turbotui serve`: a page, and behind its key a dashboard for each tab."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hmac
import json
import logging
import os
import pty
import secrets
import signal
import socket
import struct
import termios
from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path
from typing import Final

import textual_serve
from aiohttp import WSMsgType, web
from aiohttp.http import HttpProcessingError

from turbotui.commands.addresses import ASK_SECONDS, MOST_CONNECTIONS
from turbotui.errors import TurbotuiError
from turbotui.features.serve.page import PAGE, POLICY
from turbotui.machine.own_program import environment_of_children, own_command
from turbotui.machine.signal_guard import ending_signals
from turbotui.quantities.plain_numbers import whole_number

_MADE: Final = 0.01
"""Seconds after which asyncio has told the server of a connection that it accepted."""
_LAST: Final = 1.0
"""Seconds that open tabs have at the end of the server before their dashboards are ended."""


class LimitedConnections:
    """Makes the protocols of connections, and cuts the oldest connections beyond the limit.

    Args:
        tabs: protocols of the connections that show a dashboard, whose number is limited elsewhere.
    """

    def __init__(self, server: web.Server, tabs: Collection[object]) -> None:
        self._server = server
        self._tabs = tabs

    def __call__(self) -> asyncio.Protocol:
        """Make the protocol of a new connection."""
        asyncio.get_running_loop().call_later(_MADE, self._cut)
        made: asyncio.Protocol = self._server()
        return made

    def _cut(self) -> None:
        others = [connection for connection in self._server.connections
                  if connection not in self._tabs and connection.transport is not None]
        for other in others[:max(0, len(others) - MOST_CONNECTIONS)]:  # the oldest first
            other.force_close()


async def serve_until_signal(app: web.Application, listener: socket.socket, tabs: Collection[object],
                             announce: Callable[[], None]) -> int:
    """Serve an application until a signal that ends a process, and return the exit status.

    A connection that sends no whole request within `ASK_SECONDS` is closed.
    """
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    runner = web.AppRunner(app, access_log=None, keepalive_timeout=ASK_SECONDS, shutdown_timeout=_LAST)
    with ending_signals(lambda: loop.call_soon_threadsafe(over.set)) as ended:
        await runner.setup()
        try:
            if (server := runner.server) is not None:  # always, after setup
                listening = await loop.create_server(LimitedConnections(server, tabs), sock=listener)
                announce()
                await over.wait()
                listening.close()
        finally:
            await runner.cleanup()
    return ended.status


_READ: Final = 1 << 16
_PATIENCE: Final = 5.0  # seconds for a dashboard to end after its terminal is gone
_MOST: Final = 1000  # most columns or lines


class Tab:
    """A dashboard whose terminal is a tab.

    No shell is involved: the words of the command line are passed to exec(2) unchanged.
    """

    def __init__(self, options: Sequence[str], show: Callable[[bytes], Awaitable[None]],
                 close: Callable[[], Awaitable[object]]) -> None:
        self._options = tuple(options)
        self._show = show
        self._close = close
        self._process: asyncio.subprocess.Process | None = None
        self._terminal = -1
        self._task: asyncio.Task[None] | None = None

    async def start(self, width: int, height: int) -> None:
        """Open the terminal, and start the dashboard in it."""
        self._terminal, slave = pty.openpty()
        self._resize(width, height)
        environment = {**environment_of_children(os.environ), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        for name in ("COLUMNS", "LINES"):  # variables of the terminal in which serve was started
            environment.pop(name, None)
        try:
            self._process = await asyncio.create_subprocess_exec(
                *own_command(), *self._options, stdin=slave, stdout=slave, stderr=slave,
                env=environment, start_new_session=True)
        finally:
            os.close(slave)
        os.set_blocking(self._terminal, False)
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Close the terminal, which ends the dashboard, and wait for its end."""
        process, self._process = self._process, None
        if self._task is not None:
            self._task.cancel()
        if self._terminal >= 0:
            os.close(self._terminal)
            self._terminal = -1
        if process is None:
            return
        for number in (signal.SIGHUP, signal.SIGKILL):
            if process.returncode is None:
                _send(process, number)
                try:
                    await asyncio.wait_for(process.wait(), _PATIENCE)
                except TimeoutError:
                    continue
            return

    async def type(self, data: bytes) -> None:
        """Pass on typed data, or answers of the tab's terminal."""
        while data and self._terminal >= 0:
            try:
                data = data[os.write(self._terminal, data):]
            except BlockingIOError:
                await asyncio.sleep(0.01)
            except OSError:  # the dashboard has ended
                return

    def resize(self, width: int, height: int) -> None:
        """Set the size of the tab, in characters and lines."""
        if self._terminal >= 0 and self._process is not None and self._process.returncode is None:
            self._resize(width, height)
            _send(self._process, signal.SIGWINCH)  # the kernel sends it for controlling terminals only

    def _resize(self, width: int, height: int) -> None:
        lines, columns = (min(_MOST, max(1, size)) for size in (height, width))
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    async def _run(self) -> None:
        """Show the dashboard's output until it ends, then close the tab's connection."""
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        terminal = self._terminal
        loop.add_reader(terminal, readable.set)
        try:
            while True:
                await readable.wait()
                readable.clear()
                try:
                    data = os.read(terminal, _READ)
                except BlockingIOError:
                    continue
                except OSError:  # EIO: the other end was closed
                    break
                if not data:
                    break
                await self._show(data)
        except ConnectionError:  # the tab is gone
            return
        finally:
            loop.remove_reader(terminal)
        await self._close()


def _send(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    """Send a signal to a dashboard that may just have ended.

    Not by `Process.send_signal`: `subprocess` polls before it signals, and so takes the exit status of a process that
    has ended away from asyncio, which complains on stderr.
    """
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, number)


_MOST_TABS: Final = 8
"""The most tabs at a time, because each is a process that reads the machine."""
_STATIC: Final = Path(textual_serve.__path__[0]) / "static"
"""The terminal in JavaScript, with its styles and fonts."""

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class DashboardServer:
    """Shows a dashboard to each tab that knows the address's key.

    Other users of this machine can reach the port, and so can any page through its visitor's browser. The users lack
    the key; such pages are recognised by Host (DNS rebinding) or Origin. Page and script hold no secret.
    """

    def __init__(self, host: str, port: int, options: Sequence[str]) -> None:
        named = f"[{host}]" if ":" in host else host
        self._options = tuple(options)
        self._key = secrets.token_urlsafe(24)
        self._host = f"{named}:{port}"
        self._origin = f"http://{self._host}"
        self._tabs: set[object] = set()  # protocols of the connections of tabs

    @property
    def address(self) -> str:
        """The address for a browser, with the key."""
        return f"{self._origin}/?key={self._key}"

    def application(self) -> web.Application:
        """Make the application, all of whose requests are checked."""
        app = web.Application(middlewares=[self._checked])
        app.add_routes([web.get("/", self._page), web.get("/ws", self._tab), web.static("/static", _STATIC)])
        return app

    async def serve_at(self, listener: socket.socket) -> int:
        """Serve at a listening socket until a signal, and return the exit status."""
        return await serve_until_signal(self.application(), listener, self._tabs, lambda: print(
            f"The dashboard is at {self.address}\nCtrl+C ends it.", flush=True))

    @web.middleware
    async def _checked(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Refuse requests with another host name, from another page, or without the key."""
        if request.host != self._host:
            return _refused(f"this is {self._origin}, and no other name is answered for it")
        if (origin := request.headers.get("Origin")) is not None and origin != self._origin:
            return _refused("pages from elsewhere get no answer")
        given = request.query.get("key")
        if (given is None and request.path == "/ws") or (given is not None and not self._is_key(given)):
            return _refused("the whole address is needed, with the key that turbotui serve printed")
        try:
            response = await handler(request)
        except OSError as error:
            if not request.path.startswith("/static/"):
                raise
            raise web.HTTPNotFound from error  # a name that no file system takes
        if not response.prepared:
            policy = POLICY.format(socket=self._origin.replace("http", "ws", 1))
            response.headers.update({"Content-Security-Policy": policy, "Referrer-Policy": "no-referrer",
                                     "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"})
        return response

    def _is_key(self, text: str) -> bool:
        # a header may hold bytes that are no UTF-8, which Python decodes as lone surrogates
        return hmac.compare_digest(text.encode("utf-8", "surrogatepass"), self._key.encode())

    @staticmethod
    async def _page(_request: web.Request) -> web.StreamResponse:
        return web.Response(text=PAGE, content_type="text/html")

    async def _tab(self, request: web.Request) -> web.StreamResponse:
        """Show a dashboard to a tab, until either ends."""
        if len(self._tabs) >= _MOST_TABS:
            return _refused(f"{_MOST_TABS} tabs are open already, each with a dashboard of its own", 503)
        self._tabs.add(request.protocol)
        connection = web.WebSocketResponse(heartbeat=15)
        tab = Tab(self._options, connection.send_bytes, connection.close)
        try:
            await connection.prepare(request)
            await tab.start(_number(request.query.get("width"), 80), _number(request.query.get("height"), 24))
            async for message in connection:
                if message.type == WSMsgType.TEXT:
                    await _handle_message(tab, connection, _in_words(message.data))
        finally:
            self._tabs.discard(request.protocol)
            await tab.stop()
        return connection


def _in_words(text: str) -> object:
    """Parse a page's message as JSON; None if it is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


async def _handle_message(tab: Tab, connection: web.WebSocketResponse, message: object) -> None:
    """Handle a message of the page; messages that textual-serve does not define are ignored."""
    kind, about = (*message, None, None)[:2] if isinstance(message, list) else (None, None)
    if kind == "stdin" and isinstance(about, str):
        await tab.type(about.encode("utf-8", "ignore"))
    elif kind == "resize" and isinstance(about, dict):
        tab.resize(_number(about.get("width"), 80), _number(about.get("height"), 24))
    elif kind == "ping":
        await connection.send_json(["pong", about])


def _number(text: object, otherwise: int) -> int:
    number = whole_number(text) if isinstance(text, str) else text
    return number if isinstance(number, int) else otherwise


def _refused(sentence: str, status: int = 403) -> web.Response:
    return web.Response(text=f"turbotui: {sentence}\n", status=status)


def _is_fault(record: logging.LogRecord) -> bool:
    """Tell whether aiohttp reports a fault of this program, and not a malformed request."""
    return record.exc_info is None or not isinstance(record.exc_info[1], HttpProcessingError)


def serve(host: str, port: int, options: Sequence[str]) -> int:
    """Serve until a signal, and return the exit status.

    Raises:
        TurbotuiError: the address cannot be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise TurbotuiError(f"{host}, port {port} cannot be listened at: {why}") from error
    with listener:
        server = DashboardServer(host, listener.getsockname()[1], options)
        logging.getLogger("aiohttp.server").addFilter(_is_fault)
        return asyncio.run(server.serve_at(listener))
