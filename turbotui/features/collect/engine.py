"""What of collecting runs without a command line: the collector that writes to a pipe."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Sequence
from typing import Final

from turbotui.quantities.columns import ColumnId
from turbotui.remote.backlog import Backlog, Outgoing
from turbotui.remote.links import PIECE
from turbotui.remote.requests import RequestError, RequestParser, WantedSignals
from turbotui.sampling.sampled import raise_failure
from turbotui.sampling.session import Session

_FIRST_INTERVAL: Final = 0.15
"""Seconds of the first interval, so that a screen has numbers at once."""

_LOOK_MS: Final = 250
"""After which a writer looks whether it is to end."""


class PipeCollector:
    """Writes the journal of what a session reads to a descriptor, as fast as it is taken.

    Args:
        session: not started yet.
        columns: that are read whatever is asked for.
        output: a pipe, or a file.
    """

    def __init__(self, session: Session, columns: Sequence[ColumnId], output: int) -> None:
        self._session = session
        self._output = output
        self._wanted = WantedSignals(session, columns)
        self._backlog = Backlog()
        self._stopping = False

    def run(self, requests: int | None = None) -> None:
        """Collect until `stop`, or until the reader is gone.

        Args:
            requests: a descriptor that requests are read from; its end is the end of the collector.

        Raises:
            BrokenPipeError: nobody reads any more.
            TurbotuiError: what ended the sampling.
        """
        outgoing = Outgoing(self._write, self._session.machine)
        if requests is not None:
            threading.Thread(target=self._hear, args=(requests,), name="requests", daemon=True).start()
        threading.Thread(target=self._mind_reader, name="reader", daemon=True).start()
        self._session.start(self._backlog.put, first=_FIRST_INTERVAL, on_end=self._backlog.close)
        try:
            while (waiting := self._backlog.wait()) is not None:
                outgoing.send(waiting)
            outgoing.end()
        finally:
            self._session.stop()
        raise_failure(self._session)

    def stop(self) -> None:
        """End after what is read now; may be called by a signal handler."""
        self._stopping = True
        self._session.stop(0.0)

    def _write(self, data: bytes) -> None:
        """Write all bytes; a reader that takes none cannot delay the end of the program.

        Raises:
            BrokenPipeError: nobody reads any more, or it is to end.
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
        """End as soon as nobody reads: at an interval of a minute the next write would be a minute later."""
        poll = select.poll()
        poll.register(self._output, 0)
        poll.poll()
        self.stop()

    def _hear(self, requests: int) -> None:
        parser = RequestParser()
        try:
            while data := os.read(requests, PIECE):
                wanted = parser.feed(data)
                if wanted is not None:
                    self._wanted.take(wanted)
        except (OSError, RequestError):
            pass
        self.stop()
