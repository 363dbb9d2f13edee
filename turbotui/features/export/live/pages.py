"""What the server answers: the newest scrape, and a page that says where it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from turbotui.features.export.live.rendering import OPENMETRICS, PLAIN, RenderedScrape
from turbotui.features.export.live.requests import HttpRequest, RefusedError
from turbotui.features.export.live.scrape_server import HttpAnswer

METRICS: Final = "/metrics"
_PAGE: Final = HttpAnswer(
    b'<!DOCTYPE html><title>turbotui</title><h1>turbotui export</h1><p><a href="/metrics">Metrics</a></p>\n',
    "text/html; charset=utf-8", {"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'"})


def answers(newest: Callable[[], RenderedScrape]) -> Callable[[HttpRequest], HttpAnswer]:
    """The function that answers requests.

    Args:
        newest: gives the newest scrape.
    """
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
