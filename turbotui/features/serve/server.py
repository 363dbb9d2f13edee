"""The server of `turbotui serve`: textual-serve's page for those who have its address, a dashboard for each tab."""

from __future__ import annotations

import hmac
import os
import secrets
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from aiohttp import WSMsgType, web
from textual_serve.server import Server

from turbotui.errors import TurbotuiError
from turbotui.features.serve.tab import Tab

_MOST_TABS: Final = 8
"""Tabs at once; each is a process that reads the machine."""
_POLICY: Final = ("default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
                  "font-src 'self' data:; img-src 'self' data:; connect-src 'self' {socket}; frame-ancestors 'none'; "
                  "base-uri 'none'; form-action 'none'")
"""What the page may load: nothing from elsewhere, where textual-serve's own page asks for a font of Google's."""

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class DashboardServer(Server):
    """Shows a dashboard to each tab that knows the key of the address.

    Whoever else has an account on this machine can reach the port, and a page from anywhere can have its visitor's
    browser do so: the first lacks the key, the second is given away by Host (DNS rebinding) or Origin.

    Args:
        host: address that is listened at.
        port: that is listened at.
        options: of the dashboard.
    """

    def __init__(self, host: str, port: int, options: Sequence[str]) -> None:
        named = f"[{host}]" if ":" in host else host
        super().__init__("turbotui", host, port, title="turbotui", public_url=f"http://{named}:{port}")
        self._options = tuple(options)
        self._key = secrets.token_urlsafe(24)
        self._cookie = f"turbotui-{port}"
        self._host = f"{named}:{port}"
        self._tabs = 0

    @property
    def address(self) -> str:
        """The address for a browser, with the key."""
        return f"{self.public_url}/?key={self._key}"

    async def application(self) -> web.Application:
        """The pages, each behind the checks."""
        app = await self._make_app()
        app.middlewares.append(self._checked)
        return app

    async def on_startup(self, app: web.Application) -> None:
        """Say nothing: the verb does."""

    @web.middleware
    async def _checked(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Refuse who came by another name, from another page, or without the key."""
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
        response = await handler(request)
        if not response.prepared:
            policy = _POLICY.format(socket=self.public_url.replace("http", "ws", 1))
            response.headers.update({"Content-Security-Policy": policy, "Referrer-Policy": "no-referrer",
                                     "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"})
        return response

    def _is_key(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self._key.encode())

    async def handle_websocket(self, request: web.Request) -> web.StreamResponse:
        """Show a dashboard to a tab, until either ends."""
        if self._tabs >= _MOST_TABS:
            return _refused(f"{_MOST_TABS} tabs are open already, each with a dashboard of its own", 503)
        self._tabs += 1
        connection = web.WebSocketResponse(heartbeat=15)
        tab = Tab(self._options, connection.send_bytes, connection.close)
        try:
            await connection.prepare(request)
            await tab.start(_number(request.query.get("width"), 80), _number(request.query.get("height"), 24))
            async for message in connection:
                if message.type == WSMsgType.TEXT:
                    await _obey(tab, connection, message.json())
        finally:
            self._tabs -= 1
            await tab.stop()
        return connection


async def _obey(tab: Tab, connection: web.WebSocketResponse, said: object) -> None:
    """Do what the page asks for; what it does not ask for in textual-serve's words is passed over."""
    kind, about = (*said, None, None)[:2] if isinstance(said, list) else (None, None)
    if kind == "stdin" and isinstance(about, str):
        await tab.type(about.encode("utf-8", "surrogateescape"))
    elif kind == "resize" and isinstance(about, dict):
        tab.resize(_number(about.get("width"), 80), _number(about.get("height"), 24))
    elif kind == "ping":
        await connection.send_json(["pong", about])


def _number(text: object, otherwise: int) -> int:
    return int(text) if isinstance(text, int) or (isinstance(text, str) and text.isdecimal()) else otherwise


def _refused(sentence: str, status: int = 403) -> web.Response:
    return web.Response(text=f"turbotui: {sentence}\n", status=status)


def serve(host: str, port: int, options: Sequence[str], told: Callable[[str], None] = print) -> None:
    """Serve until SIGINT or SIGTERM.

    Args:
        host: address to listen at.
        port: to listen at; 0 for any.
        options: of the dashboard.
        told: takes the sentence with the address, once it is listened at.

    Raises:
        TurbotuiError: the address cannot be listened at.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise TurbotuiError(f"{host}, port {port} cannot be listened at: {why}") from error
    with listener:
        server = DashboardServer(host, listener.getsockname()[1], options)
        told(f"The dashboard is at {server.address}\nCtrl+C ends it.")
        web.run_app(server.application(), sock=listener, print=None, access_log=None)
