"""Readers of rows: one worker a kind, asked together with the CPUs' workers at the start of each tick."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Final, Protocol

from turbotui.installed_features import contained
from turbotui.machine.machine import Machine
from turbotui.quantities.row_kinds import KindId, Quantity, RowKind
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


_LATE: Final = Unavailable(Reason.LATE, "the reader of these rows did not answer in time",
                           "give it a longer interval: -i")
_TORN: Final = Unavailable(Reason.INTERRUPTED, "the machine was suspended while these rows were read")


class RowWorker(Worker):
    """Reads the rows of one kind when asked, on any CPU.

    Attributes:
        source: of the rows.
    """

    def __init__(self, source: RowSource, clock: Clock = CLOCK) -> None:
        super().__init__(f"rows {source.kind.id}", clock=clock)
        self.source = source
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
        return Answer(self, rows={self.source.kind.id: rows})

    def _read(self, machine: Machine, request: RowRequest) -> RowTick | Unavailable:
        if self._reader is None:
            opened = self.source.open(machine)
            if isinstance(opened, Unavailable):
                return opened
            self._reader = opened
        lost = self._last is not request.published.get(self.source.kind.id)
        self._last = None
        self._columns.begin(request.wall_ns, request.started_ns, request.slept_ns, lost=lost)
        why = self._reader.read(self._columns)
        if why is not None:
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
