"""Renders metrics as text by prometheus-client, an optional package that no other module imports."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Final

from prometheus_client import exposition as plain
from prometheus_client.metrics_core import Metric as ClientFamily
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.registry import Collector

from turbotui.features.export.live.exposition import ExposedMetric
from turbotui.untrusted import in_cell

PLAIN: Final = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_LEVEL: Final = 6  # level of gzip: level 5 is a tenth larger, 9 takes twice the time for a hundredth less
_ENDINGS: Final = {"counter": "_total", "info": "_info", "gauge": ""}


class _Collected(Collector):
    def __init__(self, metrics: Iterable[ExposedMetric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[ClientFamily]:
        for metric in self._metrics:
            family = ClientFamily(metric.name, _clean(metric.text), metric.kind)
            endings = metric.endings or repeat(_ENDINGS[metric.kind])
            for (labels, value), ending in zip(metric.samples, endings, strict=False):
                family.add_sample(metric.name + ending, {name: _clean(text) for name, text in labels.items()}, value)
            yield family


def _clean(text: str) -> str:
    """Replace control characters by visible marks, because scrapes may be viewed in a terminal."""
    return in_cell(text).encode("utf-8", "replace").decode()


class RenderedScrape:
    """One scrape in all requested forms, each rendered at its first request."""

    def __init__(self, metrics: Sequence[ExposedMetric]) -> None:
        self._metrics = metrics
        self._made: dict[tuple[str, bool], bytes] = {}

    def text(self) -> str:
        """Return the scrape in Prometheus's text format."""
        return self.body(PLAIN, packed=False).decode()

    def body(self, content_type: str, *, packed: bool) -> bytes:
        """Return the bytes of an answer of the type `PLAIN` or `OPENMETRICS`, compressed by gzip if `packed`."""
        body = self._made.get((content_type, packed))
        if body is None:
            if packed:
                body = gzip.compress(self.body(content_type, packed=False), _LEVEL, mtime=0)
            else:
                module = openmetrics if content_type == OPENMETRICS else plain
                body = module.generate_latest(_Collected(self._metrics))
            self._made[content_type, packed] = body
        return body
