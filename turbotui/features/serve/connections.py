"""Connections of browsers: few at a time and short ones, except those of tabs."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Collection
from typing import Final

from aiohttp import web

from turbotui.commands.addresses import ASK_SECONDS, MOST_CONNECTIONS
from turbotui.machine.signal_guard import ending_signals

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
        others = [one for one in self._server.connections if one not in self._tabs and one.transport is not None]
        for one in others[:max(0, len(others) - MOST_CONNECTIONS)]:  # the oldest first
            one.force_close()


async def serve_until_signal(app: web.Application, listener: socket.socket, tabs: Collection[object]) -> int:
    """Serve an application until a signal that ends a process, and return the exit status.

    A connection that sends no whole request within `ASK_SECONDS` is closed.
    """
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    runner = web.AppRunner(app, access_log=None, keepalive_timeout=ASK_SECONDS, shutdown_timeout=_LAST)
    with ending_signals(lambda: loop.call_soon_threadsafe(over.set)) as ended:
        await runner.setup()
        try:
            server = runner.server
            if server is not None:  # always, after setup
                listening = await loop.create_server(LimitedConnections(server, tabs), sock=listener)
                await over.wait()
                listening.close()
        finally:
            await runner.cleanup()
    return ended.status
