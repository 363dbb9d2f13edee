"""The service of `turbotui export --listen`: an exporter and its server, until a signal."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import Callable
from typing import Final

from turbotui.errors import TurbotuiError
from turbotui.features.export.live.exporter import Exporter
from turbotui.features.export.live.rendering import OPENMETRICS, PLAIN, RenderedScrape
from turbotui.features.export.live.requests import HttpRequest, RefusedError
from turbotui.features.export.live.scrape_server import Access, ClientTimes, HttpAnswer, ScrapeServer
from turbotui.machine.signal_guard import ending_signals
from turbotui.machine.uname import own_uname
from turbotui.untrusted import one_line

METRICS: Final = "/metrics"
_PAGE: Final = HttpAnswer(
    b'<!DOCTYPE html><title>turbotui</title><h1>turbotui export</h1><p><a href="/metrics">Metrics</a></p>\n',
    "text/html; charset=utf-8", {"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'"})


def answers(newest: Callable[[], RenderedScrape]) -> Callable[[HttpRequest], HttpAnswer]:
    """Make the function that answers requests."""
    def answer(request: HttpRequest) -> HttpAnswer:
        if request.path == "/":
            return _PAGE
        if request.path != METRICS:
            raise RefusedError(404, f"there is nothing at this path: {METRICS}")
        content_type = OPENMETRICS if request.takes("application/openmetrics-text") else PLAIN
        packed = request.takes_gzip
        headers = {"Vary": "Accept, Accept-Encoding", **({"Content-Encoding": "gzip"} if packed else {})}
        return HttpAnswer(newest().body(content_type, packed=packed), content_type, headers)

    return answer


def own_names(extra: tuple[str, ...] = ()) -> frozenset[str]:
    """Return the names of this machine that clients may use: its own, and those given by the user."""
    name = own_uname().nodename
    return frozenset(word.lower().rstrip(".") for word in ("localhost", name, name.partition(".")[0], *extra) if word)


def serve_until_signal(exporter: Exporter, listener: socket.socket, names: frozenset[str], access: Access,
                       reread: Callable[[], Access], *, announce: Callable[[], None]) -> int:
    """Answer scrapes until a signal, or until sampling ends.

    Args:
        reread: reads the rules again after each SIGHUP; an error is reported, and the old rules stay.
        announce: says where, once signals end the work: whoever reads the address may send one at once.

    Returns:
        The exit status.

    Raises:
        TurbotuiError: the sampling failed.
    """
    server = ScrapeServer(listener, answers(lambda: exporter.newest), names, ClientTimes())
    server.access = access
    return asyncio.run(_serve(exporter, server, reread, announce))


async def _serve(exporter: Exporter, server: ScrapeServer, reread: Callable[[], Access],
                 announce: Callable[[], None]) -> int:
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    with ending_signals(lambda: loop.call_soon_threadsafe(over.set),
            {signal.SIGHUP: lambda _number: loop.call_soon_threadsafe(_reread_into, server, reread)}) as ended:
        announce()
        exporter.start(on_end=lambda: loop.call_soon_threadsafe(over.set))
        serving = loop.create_task(server.run())
        try:
            await over.wait()
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)
        finally:
            await asyncio.to_thread(exporter.stop)  # the sampler reports its end to this loop
    return ended.status


def _reread_into(server: ScrapeServer, reread: Callable[[], Access]) -> None:
    """Read the web config again; if it is bad or protects less, report that and keep the old rules."""
    try:
        access = reread()
        access.succeed(server.access)
        server.access = access
    except TurbotuiError as error:
        print(f"turbotui: {one_line(str(error))}; what was there before stays in force", file=sys.stderr, flush=True)
