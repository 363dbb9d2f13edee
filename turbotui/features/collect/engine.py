"""The collector that writes to a pipe."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from turbotui.quantities.columns import ColumnId
from turbotui.recording.recorder import RecordingPipe
from turbotui.remote.backlog import Backlog, Outgoing
from turbotui.remote.links import PIECE
from turbotui.remote.requests import RequestError, RequestParser, WantedSignals
from turbotui.sampling.row_workers import RowSource
from turbotui.sampling.sampled import raise_failure
from turbotui.sampling.session import Session
from turbotui.threads import NamedThread

_FIRST_INTERVAL: Final = 0.15
"""Seconds of the first interval, so that a screen has numbers at once."""


def mind_reader(pipe: RecordingPipe, stop: Callable[[], None]) -> None:
    """Have `stop` called, on a thread of its own, as soon as the reader of a pipe is gone."""

    def wait() -> None:
        pipe.wait_for_reader()
        stop()

    NamedThread(target=wait, name="reader", daemon=True).start()


class PipeCollector:
    """Writes the journal of a session's readings to a pipe, whose reader asks for what it shows.

    Args:
        columns: columns that are read in any case.
    """

    def __init__(self, session: Session, columns: Sequence[ColumnId], pipe: RecordingPipe,
                 kinds: Iterable[RowSource] = ()) -> None:
        self._session = session
        self._pipe = pipe
        self._wanted = WantedSignals(session, columns, kinds)
        self._backlog = Backlog()

    def run(self, requests: int) -> None:
        """Collect until `stop`, until the reader is gone, or until the descriptor of requests ends.

        Raises:
            RecordingError: the reader is gone.
            TurbotuiError: the sampling failed.
        """
        outgoing = Outgoing(self._pipe.write, self._session.machine)
        NamedThread(target=self._read_requests, args=(requests,), name="requests", daemon=True).start()
        mind_reader(self._pipe, self.stop)
        self._session.start(self._backlog.put, first=_FIRST_INTERVAL, on_end=self._backlog.close)
        try:
            while (waiting := self._backlog.wait()) is not None:
                outgoing.send(waiting)
            outgoing.end()
        finally:
            self._session.stop()
        raise_failure(self._session)

    def stop(self) -> None:
        """End after the current reading; may be called by a signal handler."""
        self._pipe.stop()
        self._session.stop(0.0)

    def _read_requests(self, requests: int) -> None:
        parser = RequestParser()
        try:
            while data := os.read(requests, PIECE):
                if (wanted := parser.feed(data)) is not None:
                    self._wanted.take((wanted,))
        except (OSError, RequestError):
            pass
        self.stop()
