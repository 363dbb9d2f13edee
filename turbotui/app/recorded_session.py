"""A session over a recording, for the dashboard."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from turbotui.errors import UsageError
from turbotui.events.set_files import EventSet
from turbotui.machine.linux import LinuxHost
from turbotui.quantities.columns import ColumnId, CounterColumn
from turbotui.quantities.signals import SignalId
from turbotui.recording.journal import Journal
from turbotui.recording.rows import RecordedRows
from turbotui.sampling.fixed_columns import FixedColumns
from turbotui.sampling.frame import Frame
from turbotui.sampling.own_cost import Meter, OwnCost
from turbotui.sources.source import Source


class RecordedSession(FixedColumns):
    """An `app.sessions.WatchedSession` of a recording, which ignores requests for more signals.

    Attributes:
        capabilities: the signals that were read.
        catalog: the columns that this version computes from them.
        latest: always None, because the cursor chooses the shown moment.
        find_sets: finds none, because nothing can be counted any more.
        interval: seconds between the first two moments.
        definitions: what was counted beside the catalog at any time of the recording.
    """

    why_fixed = "a recording has what was counted when it was made, and nothing can be added to it"

    def __init__(self, journal: Journal, interval: float) -> None:
        self.machine = journal.machine
        self.capabilities = journal.capabilities
        self.catalog = journal.catalog
        self.latest: Frame | None = None
        self.find_sets: Callable[[], Mapping[str, EventSet]] = dict
        self.interval = interval
        self.definitions = journal.definitions()
        self._journal = journal
        self._meter = Meter(LinuxHost())

    def start(self, on_frame: Callable[[Frame], None], *, intervals: int | None = None,
              on_end: Callable[[], None] | None = None) -> None:
        """Do nothing: a recording publishes no frames by itself."""
        del on_frame, intervals, on_end

    def present(self, how: Callable[[CounterColumn], CounterColumn]) -> None:
        self.catalog = self.catalog.mapped(how)

    def want(self, _columns: Iterable[ColumnId]) -> None:
        """Nothing: a recording has the columns that were recorded."""

    def read_also(self, _sources: Sequence[Source], _signals: frozenset[SignalId]) -> None:
        """Nothing: a recording has the columns that were recorded."""

    def rows(self, stream: int, start_ns: int, end_ns: int) -> Iterator[RecordedRows]:
        return self._journal.rows(stream, start_ns, end_ns)

    @property
    def collector(self) -> None:
        """None, because the readings are recorded."""

    def end_interval(self) -> None:
        """Recorded intervals end where they ended."""

    def set_interval(self, _seconds: float) -> None:
        """Nothing: a recording has the columns that were recorded."""

    def set_tcc(self, degrees: int | None) -> None:
        """Always fail with a UsageError, because recorded values already depend on the recorded target."""
        raise UsageError(f"the temperature target of a recording is that of its machine, not {degrees}")

    def stop(self) -> None:
        """Nothing runs in the background."""

    def own_cost(self) -> OwnCost:
        return self._meter.cost
