"""The server of `turbotui serve`: textual-serve's page behind a key, and a dashboard for each tab."""

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
import sys
import termios
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from aiohttp import WSMsgType, web
from aiohttp.http import HttpProcessingError
from textual_serve.server import Server

from turbotui.errors import TurbotuiError
from turbotui.features.serve.connections import serve_until_signal
from turbotui.quantities.plain_numbers import whole_number

_READ: Final = 1 << 16
_PATIENCE: Final = 5.0  # seconds for a dashboard to end after its terminal is gone
_MOST: Final = 1000  # most columns or lines


class Tab:
    """A dashboard whose terminal is a tab, with the interface of textual-serve's `AppService`.

    No shell is involved: the words of the command line are passed to exec(2) unchanged.

    Args:
        options: the dashboard's options.
        show: sends bytes to the tab.
        close: closes the tab's connection.
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
        environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        for name in ("COLUMNS", "LINES"):  # variables of the terminal in which serve was started
            environment.pop(name, None)
        try:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "turbotui", *self._options, stdin=slave, stdout=slave, stderr=slave,
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
_POLICY: Final = ("default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
                  "font-src 'self' data:; img-src 'self' data:; connect-src 'self' {socket}; frame-ancestors 'none'; "
                  "base-uri 'none'; form-action 'none'")
"""The page's content security policy, which forbids the font of Google's that textual-serve's page requests."""

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class DashboardServer(Server):
    """Shows a dashboard to each tab that knows the address's key.

    Other users of this machine can reach the port, and so can any page through its visitor's browser. The users lack
    the key; such pages are recognised by Host (DNS rebinding) or Origin.

    Args:
        host: the listening address.
        port: the listening port.
        options: the dashboards' options.
    """

    def __init__(self, host: str, port: int, options: Sequence[str]) -> None:
        named = f"[{host}]" if ":" in host else host
        super().__init__("turbotui", host, port, title="turbotui", public_url=f"http://{named}:{port}")
        self._options = tuple(options)
        self._key = secrets.token_urlsafe(24)
        self._cookie = f"turbotui-{port}"
        self._host = f"{named}:{port}"
        self._tabs: set[object] = set()  # protocols of the connections of tabs

    @property
    def address(self) -> str:
        """The address for a browser, with the key."""
        return f"{self.public_url}/?key={self._key}"

    async def application(self) -> web.Application:
        """Make the application, whose pages are all checked."""
        app = await self._make_app()
        app.middlewares.append(self._checked)
        return app

    async def serve_at(self, listener: socket.socket) -> None:
        """Serve at a listening socket until SIGINT or SIGTERM."""
        await serve_until_signal(await self.application(), listener, self._tabs)

    async def on_startup(self, app: web.Application) -> None:
        """Print nothing, because the verb prints the address."""

    @web.middleware
    async def _checked(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Refuse requests with another host name, from another page, or without the key."""
        if request.host != self._host:
            return _refused(f"this is {self.public_url}, and no other name is answered for it")
        origin = request.headers.get("Origin")
        if origin is not None and origin != self.public_url:
            return _refused("pages from elsewhere get no answer")
        if request.path.startswith("/download/"):
            return _refused("there is nothing to download")
        given = request.query.get("key", "")
        if given and request.path == "/" and self._is_key(given):
            came = web.HTTPSeeOther("/")  # the key does not stay in the address bar
            came.set_cookie(self._cookie, self._key, httponly=True, samesite="Strict")
            raise came
        if not request.path.startswith("/static/") and not self._is_key(request.cookies.get(self._cookie, "")):
            return _refused("the whole address is needed, with the key that turbotui serve printed")
        try:
            response = await handler(request)
        except OSError as error:
            if not request.path.startswith("/static/"):
                raise
            raise web.HTTPNotFound from error  # a name that no file system takes
        if not response.prepared:
            policy = _POLICY.format(socket=self.public_url.replace("http", "ws", 1))
            response.headers.update({"Content-Security-Policy": policy, "Referrer-Policy": "no-referrer",
                                     "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"})
        return response

    def _is_key(self, text: str) -> bool:
        # a header may hold bytes that are no UTF-8, which Python decodes as lone surrogates
        return hmac.compare_digest(text.encode("utf-8", "surrogatepass"), self._key.encode())

    async def handle_websocket(self, request: web.Request) -> web.StreamResponse:
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


async def _handle_message(tab: Tab, connection: web.WebSocketResponse, said: object) -> None:
    """Handle a message of the page; messages that textual-serve does not define are ignored."""
    kind, about = (*said, None, None)[:2] if isinstance(said, list) else (None, None)
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


def serve(host: str, port: int, options: Sequence[str]) -> None:
    """Serve until SIGINT or SIGTERM.

    Args:
        host: address to listen at.
        port: port to listen at; 0 for any.
        options: the dashboards' options.

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
        print(f"The dashboard is at {server.address}\nCtrl+C ends it.")
        logging.getLogger("aiohttp.server").addFilter(_is_fault)
        asyncio.run(server.serve_at(listener))
