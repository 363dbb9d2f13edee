"""Readers of rows: one worker a kind, asked together with the CPUs' workers at the start of each tick."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Final, Protocol

from turbotui.dataclass import dataclass
from turbotui.installed_features import contained
from turbotui.machine.machine import Machine
from turbotui.quantities.row_kinds import KindId, Quantity, QuantityId, RowKind
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.answers import Answer, ReadRequest, RowRequest
from turbotui.sampling.collector import CLOCK, Clock
from turbotui.sampling.rows import Columns, RowTick
from turbotui.sampling.workers import Worker, why_failed


class RowReader(Protocol):
    """Reads the rows of a kind; one thread uses it."""

    def read(self, into: Columns) -> Unavailable | None:
        """Put births, deaths and readings into the columns of a tick that has begun.

        Returns:
            Why there are no rows now; None if there are, or if the machine has none of this kind.

        Raises:
            HostError: nothing can be read now.
        """

    def close(self) -> None:
        """Close files and counters."""


class RowSource(Protocol):
    """Where the rows of a kind come from."""

    @property
    def kind(self) -> RowKind:
        """The kind."""

    @property
    def quantities(self) -> Sequence[Quantity]:
        """All that is read for a row."""

    def open(self, machine: Machine) -> RowReader | Unavailable:
        """Open a reader on a machine, or say why it cannot have such rows."""


@dataclass(frozen=True, slots=True)
class NarrowedSource:
    """A `RowSource` of which some quantities are wanted, and those that explain them."""

    whole: RowSource
    wanted: frozenset[QuantityId]

    @property
    def kind(self) -> RowKind:
        """The kind."""
        return self.whole.kind

    @property
    def quantities(self) -> Sequence[Quantity]:
        """All that can be read for a row."""
        return self.whole.quantities

    def open(self, machine: Machine) -> RowReader | Unavailable:
        """Open a reader of the whole source, whose `Columns` know what is wanted."""
        return self.whole.open(machine)


def joined_sources(sources: Iterable[RowSource]) -> Mapping[KindId, RowSource]:
    """A source for each kind, with what all that ask for it want together."""
    by_kind: dict[KindId, RowSource] = {}
    for source in sources:
        before = by_kind.get(source.kind.id)
        if isinstance(before, NarrowedSource) and isinstance(source, NarrowedSource):
            by_kind[source.kind.id] = NarrowedSource(source.whole, before.wanted | source.wanted)
        elif before is None or not isinstance(source, NarrowedSource):
            by_kind[source.kind.id] = source
    return by_kind


_LATE: Final = Unavailable(Reason.LATE, "the reader of these rows did not answer in time",
                           "give it a longer interval: -i")
_TORN: Final = Unavailable(Reason.INTERRUPTED, "the machine was suspended while these rows were read")


class RowWorker(Worker):
    """Reads the rows of one kind when asked, on any CPU."""

    def __init__(self, source: RowSource, clock: Clock = CLOCK) -> None:
        super().__init__(f"rows {source.kind.id}", clock=clock)
        self._source = source
        self._whole = source.whole if isinstance(source, NarrowedSource) else source
        self._columns = Columns(source.kind, source.quantities)
        self._reader: RowReader | None = None
        self._last: RowTick | None = None

    def _serve(self, work: ReadRequest) -> Answer:
        if work.rows is None:
            return Answer(self)
        try:
            rows = self._read(work.machine, work.rows)
        except Exception as error:  # noqa: BLE001 - raised again where it is turbotui's own
            rows = Unavailable(Reason.FAILED, why_failed(error))
        return Answer(self, rows={self._whole.kind.id: rows})

    def follow(self, source: RowSource) -> bool:
        """Read what a source wants from the next tick on; False if it is another source."""
        same = (source.whole if isinstance(source, NarrowedSource) else source) is self._whole
        if same:
            self._source = source
        return same

    def _read(self, machine: Machine, request: RowRequest) -> RowTick | Unavailable:
        if self._reader is None:
            opened = self._whole.open(machine)
            if isinstance(opened, Unavailable):
                return opened
            self._reader = opened
        lost = self._last is not request.published.get(self._whole.kind.id)
        self._last = None
        source = self._source
        self._columns.want(source.wanted if isinstance(source, NarrowedSource) else None)
        self._columns.begin(request.wall_ns, request.started_ns, request.slept_ns, lost=lost)
        if (why := self._reader.read(self._columns)) is not None:
            return why
        self._last = self._columns.tick()
        return self._last

    def _close_all(self) -> None:
        super()._close_all()
        if self._reader is not None:
            contained(self._reader.close)
            self._reader = None


class LatestRows:
    """The newest rows of each kind, for snapshots."""

    def __init__(self) -> None:
        self.ticks: dict[KindId, RowTick] = {}

    def keep(self, kinds: Container[KindId]) -> None:
        """Forget the rows of other kinds."""
        self.ticks = {kind: rows for kind, rows in self.ticks.items() if kind in kinds}

    def take(self, kinds: Sequence[KindId], answers: Sequence[Answer], *,
             torn: bool) -> tuple[Mapping[KindId, RowTick], Mapping[KindId, Unavailable]]:
        """Note the answers to a tick, and return `Snapshot.rows` and `Snapshot.no_rows`.

        Args:
            kinds: all that are wanted.
            answers: those of any workers.
            torn: whether the machine slept while they read, so that the stamps of readings are of neither time.
        """
        ticks = {} if torn else {kind: rows for answer in answers for kind, rows in answer.rows.items()}
        missing: dict[KindId, Unavailable] = {}
        kept: dict[KindId, RowTick] = {}
        for kind in kinds:
            rows = ticks.get(kind, _TORN if torn else _LATE)
            if isinstance(rows, Unavailable):
                missing[kind] = rows
                if kind in self.ticks:
                    kept[kind] = self.ticks[kind]
            else:
                kept[kind] = rows
        self.ticks = kept
        return kept, missing
