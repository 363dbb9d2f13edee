r"""Requests of a reader to a collector: which signals are read, and nothing else.

A request is one line of JSON, `{"want": ["tsc", "aperf"]}`, with every signal that the reader shows; the next one takes
its place. Nothing in it is run, opened or looked up but as the name of a signal that the collector knows. A screen adds
the word `SCREEN`, which is no signal: its collector goes on without CPUs that are late. `MOMENTS` is another such word.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Collection, Iterable
from typing import Final

from turbotui.errors import TurbotuiError
from turbotui.quantities.columns import ColumnId
from turbotui.quantities.documents import DocumentError, parse_json
from turbotui.quantities.row_kinds import KindId
from turbotui.quantities.signals import SignalId
from turbotui.sampling.row_workers import RowSource
from turbotui.sampling.session import Session
from turbotui.untrusted import json_text

MOST_BYTES: Final = 1 << 16
"""Of a line: five times the names of all signals of the largest machine."""
_WORD: Final = "want"
SCREEN: Final = "(screen)"
"""Among the signals of a request: the reader is a screen. Older collectors know no such signal and ignore it."""
MOMENTS: Final = "(moments)"
"""Likewise: the clocks of virtual CPUs are to be timed at ten moments of an interval, not one."""


class RequestError(TurbotuiError):
    """A reader sent something other than a permitted request; the message is a sentence."""


def request_line(signals: Iterable[SignalId]) -> bytes:
    """Return the line of a request for these signals."""
    return json_text({_WORD: sorted(signals)}, compact=True).encode() + b"\n"


class RequestParser:
    """Parses the bytes of one reader, which come in pieces of any size."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> frozenset[SignalId] | None:
        """Return the signals of the last request that these bytes complete; None if they complete none.

        Raises:
            RequestError: it is no request, or too long for one; nothing of this reader is to be believed any more.
        """
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > MOST_BYTES or any(len(line) > MOST_BYTES for line in lines):
            raise RequestError(f"a request has more than {MOST_BYTES:,} bytes")
        return _parsed(lines[-1]) if lines else None


def _parsed(line: bytes) -> frozenset[SignalId]:
    try:
        request = parse_json(line)
    except DocumentError as error:
        raise RequestError(f"a request cannot be understood: {error}") from error
    wanted = request.get(_WORD) if isinstance(request, dict) and len(request) == 1 else None
    if not isinstance(wanted, list) or not all(isinstance(name, str) for name in wanted):
        raise RequestError(f'a request is no {{"{_WORD}": [signals]}}')
    return frozenset(wanted)


LINGER: Final = 300.0
"""Seconds that a signal is read on: counters that are opened anew lose an interval, for all readers."""


def rows_word(kind: KindId) -> str:
    """Return what asks for the rows of a kind among the signals of a request; older collectors ignore it."""
    return f"(rows {kind})"


class WantedSignals:
    """Joins the requests of all readers, and has their signals and rows read.

    Args:
        kinds: of rows that readers may ask for.
    """

    def __init__(self, session: Session, columns: Iterable[ColumnId], kinds: Iterable[RowSource] = ()) -> None:
        self._session = session
        self._columns = tuple(columns)
        self._kinds = {rows_word(source.kind.id): source for source in kinds}
        self._beside = frozenset({*self._kinds, MOMENTS})  # words that are no signals
        self._last: dict[SignalId, float] = {}
        self._read: frozenset[SignalId] = frozenset()

    def take(self, requests: Iterable[Collection[SignalId]]) -> None:
        """Read the signals and rows that all readers request from the next tick on, as far as they exist here.

        Late CPUs are waited for unless all readers are screens.
        """
        requests = tuple(requests)
        self._session.waits = not requests or not all(SCREEN in request for request in requests)
        wanted = frozenset(itertools.chain(*requests))
        known, now = self._session.capabilities.signals, time.monotonic()
        self._last |= {name: now for name in wanted if name in known or name in self._beside}
        self._last = {name: at for name, at in self._last.items() if now - at < LINGER}
        if self._last.keys() != self._read:
            before, self._read = self._read, frozenset(self._last)
            self._session.want(self._columns, self._read.difference(self._beside))
            if MOMENTS in before ^ self._read:
                self._session.look_often(self._session.machine.topology.cpus if MOMENTS in self._read else ())
            if (before ^ self._read) & self._kinds.keys():
                self._session.read_rows(self, [source for name, source in self._kinds.items() if name in self._read])
