"""Which signals a collector reads: those of its own columns, and what its readers ask for or did a while ago."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Final

from turbotui.quantities.columns import ColumnId
from turbotui.quantities.signals import SignalId
from turbotui.sampling.session import Session

LINGER: Final = 300.0
"""Seconds that a signal is read on: counters that are opened anew lose an interval, for all readers."""


class WantedSignals:
    """Joins what readers ask for, and has it read.

    Args:
        session: that reads.
        columns: that are read whoever asks.
        clock: seconds that only grow.
    """

    def __init__(self, session: Session, columns: Iterable[ColumnId],
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._session = session
        self._columns = tuple(columns)
        self._clock = clock
        self._last: dict[SignalId, float] = {}
        self._read: frozenset[SignalId] = frozenset()

    def take(self, wanted: Iterable[SignalId]) -> None:
        """Have what all readers ask for now read from the next tick on; names that nothing here gives are left out."""
        known, now = self._session.capabilities.signals, self._clock()
        self._last |= {name: now for name in wanted if name in known}
        self._last = {name: at for name, at in self._last.items() if now - at < LINGER}
        if self._last.keys() != self._read:
            self._read = frozenset(self._last)
            self._session.want(self._columns, self._read)
