"""The protocol of a session as the dashboard needs it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from turbotui.events.set_files import EventSet
from turbotui.machine.host import HostKind
from turbotui.machine.machine import Machine
from turbotui.quantities.catalog import Catalog
from turbotui.quantities.columns import ColumnId, CounterColumn
from turbotui.quantities.definition import Definition
from turbotui.quantities.row_kinds import KindId
from turbotui.quantities.signals import SignalId
from turbotui.quantities.spies import SpyPlan
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.frame import Frame
from turbotui.sampling.own_cost import OwnCost
from turbotui.sampling.row_workers import RowSource
from turbotui.sources.source import Source

if TYPE_CHECKING:  # few users watch a recording
    from turbotui.recording.rows import RecordedRows


class WatchedSession(Protocol):
    """What the dashboard needs of `sampling.session.Session`; tests use a scripted one."""

    machine: Machine
    capabilities: Capabilities
    catalog: Catalog
    latest: Frame | None
    find_sets: Callable[[], Mapping[str, EventSet]]

    @property
    def interval(self) -> float:
        """Nominal seconds between ticks."""

    @property
    def collector(self) -> CollectorSession | None:
        """The session itself if a collector in another process reads the machine; otherwise None."""

    def start(self, on_frame: Callable[[Frame], None], *, intervals: int | None = None,
              on_end: Callable[[], None] | None = None) -> None:
        """Sample on a new thread."""

    def want(self, columns: Iterable[ColumnId]) -> None:
        """Read what these columns need from the next tick on."""

    def read_also(self, sources: Sequence[Source], signals: frozenset[SignalId]) -> None:
        """Read these signals beside the columns' from the next tick on, replacing earlier calls."""

    def add_all(self, text: str) -> tuple[CounterColumn, ...]:
        """Add counters, events, a formula or a set."""

    def by_hand(self) -> tuple[tuple[ColumnId, str], ...]:
        """Added columns, each with what it shows."""

    def typed(self) -> tuple[str, ...]:
        """The texts of added counters that were not removed, as typed."""

    def remove(self, name: ColumnId) -> None:
        """Remove an added column."""

    def end_interval(self) -> None:
        """End the interval now."""

    def set_interval(self, seconds: float) -> None:
        """Change the nominal interval."""

    def set_tcc(self, degrees: int | None) -> None:
        """Count thermal readouts down from this temperature."""

    def stop(self) -> None:
        """Close every counter."""

    def own_cost(self) -> OwnCost:
        """The CPU time and memory that watching costs."""


class CollectorSession(Protocol):
    """A session whose readings come from a collector in another process, possibly on another machine."""

    @property
    def way(self) -> str:
        """The way to the collector (command, socket or host), in words."""

    @property
    def trouble(self) -> str:
        """Why no new reading arrives, and since when; "" while readings arrive."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """Notes on readings: losses and restarted counters."""


@runtime_checkable
class PresentedSession(Protocol):
    """A session whose columns can have a user's units and marks."""

    def present(self, how: Callable[[CounterColumn], CounterColumn]) -> None:
        """Apply a user's units and marks to the catalog's columns; the computation does not change."""


@runtime_checkable
class RowReadingSession(Protocol):
    """A session that reads its machine itself, and so the rows of any kind."""

    def read_rows(self, owner: object, sources: Iterable[RowSource]) -> None:
        """Read rows for an owner from the next tick on, replacing what it asked for before."""

    def why_no_rows(self, kind: KindId) -> Unavailable | None:
        """Why rows of a kind that were asked for do not come; None while they may still come."""


@runtime_checkable
class FocusedSession(Protocol):
    """A session that can look at some CPUs more often than at others."""

    def look_often(self, cpus: Collection[int] | None) -> None:
        """Time the clock at more moments of the interval on these CPUs from the next tick on; None: on all."""


@runtime_checkable
class PlayedSession(Protocol):
    """A session of a recording."""

    @property
    def definitions(self) -> Sequence[Definition]:
        """Definitions of everything that was counted on request in the recording."""

    def rows(self, stream: int, start_ns: int, end_ns: int) -> Iterator[RecordedRows]:
        """The rows of a table beside the CPUs."""


@runtime_checkable
class SpiedSession(Protocol):
    """A session whose CPUs can have event sets of their own."""

    spied: tuple[CounterColumn, ...]
    spy_note: str

    @property
    def spies(self) -> SpyPlan:
        """The spies' plan, in force or from the next interval on."""

    @property
    def spy_notes(self) -> tuple[str, ...]:
        """Sentences about parts of the spies' plan that this machine cannot count."""

    def spy(self, plan: SpyPlan) -> None:
        """Change what spies count from the next interval on."""


def has_banner(session: WatchedSession) -> bool:
    """Whether a line on top tells of a machine that is not real, not read here, or a container's numbers."""
    machine = session.machine
    return machine.host.kind is not HostKind.REAL or session.collector is not None or machine.privileges.renumbered
