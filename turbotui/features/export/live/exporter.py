"""The exporter: a session whose frames become the newest scrape; requests never cause a reading."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from turbotui.features.export.live.machine_metrics import ExportRequest, MachineMetrics
from turbotui.features.export.live.rendering import RenderedScrape
from turbotui.features.export.live.row_metrics import RowMetrics
from turbotui.features.export.live.wait_metrics import WaitMetrics
from turbotui.sampling.frame import Frame
from turbotui.sampling.sampled import raise_failure
from turbotui.sampling.session import Session

_FIRST_INTERVAL: Final = 1.0
"""Seconds of the first interval, so that there are counters soon."""


class Exporter:
    """Samples a session that reads what is exported and nothing else, and keeps the newest scrape."""

    def __init__(self, session: Session, request: ExportRequest) -> None:
        self._session = session
        self._metrics = MachineMetrics(session.machine, session.capabilities, session.catalog, request)
        self._parts = request.parts
        self._changed = threading.Condition()
        self.newest = RenderedScrape(self._metrics.metrics(None, session.own_cost()))
        self._counted = self._ended = False
        session.want(self._metrics.columns, self._metrics.signals)
        session.read_rows(self, [part.definition.source for part in request.parts if isinstance(part, RowMetrics)])

    def start(self, on_end: Callable[[], object] | None = None) -> None:
        """Sample on a thread of the session, which calls `on_end` when sampling has ended, for whatever reason."""
        def end() -> None:
            self._end()
            if on_end is not None:
                on_end()

        self._session.start(self._take, first=min(_FIRST_INTERVAL, self._session.interval), on_end=end)

    def stop(self) -> None:
        """Close every counter. Raises TurbotuiError if the sampling failed before."""
        self._session.stop()
        for part in self._parts:
            if isinstance(part, WaitMetrics):
                part.close()
        raise_failure(self._session)

    def interrupt(self) -> None:
        """End sampling soon, and every `wait`; may be called by a signal handler."""
        self._session.stop(0.0)

    def wait(self, after: RenderedScrape | None = None) -> RenderedScrape | None:
        """Wait for a scrape with counters that is newer than `after`; None when sampling has ended."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or (self._counted and self.newest is not after))
            return None if self._ended else self.newest

    def _end(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _take(self, frame: Frame) -> None:
        self._metrics.feed(frame)
        scrape = RenderedScrape(self._metrics.metrics(frame, self._session.own_cost()))
        with self._changed:
            self.newest, self._counted = scrape, frame.older is not None
            self._changed.notify_all()
