"""The collector that writes to a pipe."""

from __future__ import annotations

import os
import select
from collections.abc import Iterable, Sequence
from typing import Final

from turbotui.quantities.columns import ColumnId
from turbotui.remote.backlog import Backlog, Outgoing
from turbotui.remote.links import PIECE
from turbotui.remote.requests import RequestError, RequestParser, WantedSignals
from turbotui.sampling.row_workers import RowSource
from turbotui.sampling.sampled import raise_failure
from turbotui.sampling.session import Session
from turbotui.threads import NamedThread

_FIRST_INTERVAL: Final = 0.15
"""Seconds of the first interval, so that a screen has numbers at once."""

_LOOK_MS: Final = 250
"""Seconds after which a blocked writer checks whether it is to end."""


class PipeCollector:
    """Writes the journal of a session's readings to a descriptor, as fast as the reader accepts it.

    Args:
        columns: columns that are read in any case.
    """

    def __init__(self, session: Session, columns: Sequence[ColumnId], output: int,
                 kinds: Iterable[RowSource] = ()) -> None:
        self._session = session
        self._output = output
        self._wanted = WantedSignals(session, columns, kinds)
        self._backlog = Backlog()
        self._stopping = False

    def run(self, requests: int | None = None) -> None:
        """Collect until `stop`, until the reader is gone, or until the descriptor of requests, if any, ends.

        Raises:
            BrokenPipeError: the reader is gone.
            TurbotuiError: the sampling failed.
        """
        outgoing = Outgoing(self._write, self._session.machine)
        if requests is not None:
            NamedThread(target=self._read_requests, args=(requests,), name="requests", daemon=True).start()
        NamedThread(target=self._mind_reader, name="reader", daemon=True).start()
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
        self._stopping = True
        self._session.stop(0.0)

    def _write(self, data: bytes) -> None:
        """Write all bytes, without letting a stalled reader delay the program's end.

        Raises:
            BrokenPipeError: the reader is gone, or the collector is to end.
        """
        view = memoryview(data)
        ready = select.poll()
        ready.register(self._output, select.POLLOUT)
        while view:
            if ready.poll(_LOOK_MS):
                view = view[os.write(self._output, view[:select.PIPE_BUF]):]
            elif self._stopping:
                raise BrokenPipeError

    def _mind_reader(self) -> None:
        """End as soon as the reader is gone, because the next write may be a minute away."""
        poll = select.poll()
        poll.register(self._output, 0)
        poll.poll()
        self.stop()

    def _read_requests(self, requests: int) -> None:
        parser = RequestParser()
        try:
            while data := os.read(requests, PIECE):
                wanted = parser.feed(data)
                if wanted is not None:
                    self._wanted.take((wanted,))
        except (OSError, RequestError):
            pass
        self.stop()
