"""Metrics as text, by prometheus-client: nothing else imports that package, which is not there with every turbotui."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from prometheus_client import exposition as plain
from prometheus_client.metrics_core import Metric as ClientFamily
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.registry import Collector

from turbotui.features.export.live.exposition import Exposed
from turbotui.untrusted import in_cell

PLAIN: Final = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_LEVEL: Final = 6  # of gzip: 5 is a tenth larger, 9 takes twice the time for a hundredth
_ENDINGS: Final = {"counter": "_total", "info": "_info", "gauge": ""}


class _Collected(Collector):
    """Metrics in the words of prometheus-client."""

    def __init__(self, metrics: Iterable[Exposed]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[ClientFamily]:
        """Give each metric with its samples."""
        for one in self._metrics:
            family = ClientFamily(one.name, _clean(one.text), one.kind)
            for labels, value in one.samples:
                family.add_sample(one.name + _ENDINGS[one.kind],
                                  {name: _clean(text) for name, text in labels.items()}, value)
            yield family


def _clean(text: str) -> str:
    """A text without what would move a cursor where somebody looks at a scrape in a terminal: visible marks instead."""
    return in_cell(text).encode("utf-8", "replace").decode()


class RenderedScrape:
    """One scrape in every form that is asked for, each made once, by whoever asks first.

    Args:
        metrics: in the order in which they are written.
    """

    def __init__(self, metrics: Sequence[Exposed]) -> None:
        self._metrics = metrics
        self._made: dict[tuple[str, bool], bytes] = {}

    def text(self) -> str:
        """Prometheus' own text."""
        return self.body(PLAIN, packed=False).decode()

    def body(self, content_type: str, *, packed: bool) -> bytes:
        """The bytes of an answer.

        Args:
            content_type: `PLAIN` or `OPENMETRICS`.
            packed: by gzip.
        """
        found = self._made.get((content_type, packed))
        if found is None:
            if packed:
                found = gzip.compress(self.body(content_type, packed=False), _LEVEL, mtime=0)
            else:
                module = openmetrics if content_type == OPENMETRICS else plain
                found = module.generate_latest(_Collected(self._metrics))
            self._made[content_type, packed] = found
        return found
