"""The protocol of a session as the dashboard needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from turbotui.events.set_files import EventSet
from turbotui.machine.machine import Machine
from turbotui.quantities.catalog import Catalog
from turbotui.quantities.columns import ColumnId, CounterColumn
from turbotui.quantities.definition import Definition
from turbotui.quantities.signals import SignalId
from turbotui.quantities.spies import SpyPlan
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.frame import Frame
from turbotui.sampling.own_cost import OwnCost
from turbotui.sources.source import Source

if TYPE_CHECKING:  # few watch a recording
    from turbotui.recording.rows import RecordedRows


class WatchedSession(Protocol):
    """What the dashboard needs of `sampling.session.Session`; a scripted one serves tests."""

    machine: Machine
    capabilities: Capabilities
    catalog: Catalog
    latest: Frame | None
    find_sets: Callable[[], Mapping[str, EventSet]]

    @property
    def interval(self) -> float:
        """Nominal seconds between ticks."""

    def start(self, on_frame: Callable[[Frame], None], *, intervals: int | None = None,
              on_end: Callable[[], None] | None = None) -> None:
        """Sample on a thread of its own."""

    def want(self, columns: Iterable[ColumnId]) -> None:
        """Read what these columns need from the next tick on."""

    def read_also(self, sources: Sequence[Source], signals: frozenset[SignalId]) -> None:
        """Read these signals beside the columns' from the next tick on, and none of earlier calls."""

    def add_all(self, text: str) -> tuple[CounterColumn, ...]:
        """Add counters, events, a formula or a set by hand."""

    def by_hand(self) -> tuple[tuple[ColumnId, str], ...]:
        """Columns that were added, each with what it shows."""

    def typed(self) -> tuple[str, ...]:
        """The texts of counters that were added and not removed, as they were typed."""

    def remove(self, name: ColumnId) -> None:
        """Take an added column away."""

    def end_interval(self) -> None:
        """End the interval now."""

    def set_interval(self, seconds: float) -> None:
        """Change the nominal interval."""

    def tell_tcc(self, degrees: int | None) -> None:
        """Take thermal readouts as counting down from here."""

    def stop(self) -> None:
        """Close every counter."""

    def own_cost(self) -> OwnCost:
        """The CPU time and memory that watching costs."""


@runtime_checkable
class FarSession(Protocol):
    """A session whose readings come from a collector in another process, maybe of another machine."""

    @property
    def way(self) -> str:
        """How the collector is reached, for people."""

    @property
    def trouble(self) -> str:
        """Why no new reading comes, and since when; "" while they come."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """Notes on readings: what was lost, or began anew."""


@runtime_checkable
class PresentedSession(Protocol):
    """A session whose columns can be shown as a person wants."""

    def present(self, how: Callable[[CounterColumn], CounterColumn]) -> None:
        """Give the columns of the catalog units and marks that a person wants; what they compute stays."""


@runtime_checkable
class PlayedSession(Protocol):
    """A session of a recording."""

    @property
    def definitions(self) -> Sequence[Definition]:
        """Definitions of all that was counted beside the catalog in the recording."""

    def rows(self, stream: int, start_ns: int, end_ns: int) -> Sequence[RecordedRows]:
        """The rows of a table beside the CPUs; see `Journal.rows`."""


@runtime_checkable
class SpiedSession(Protocol):
    """A session whose CPUs can be given event sets of their own."""

    spied: tuple[CounterColumn, ...]
    spy_note: str

    @property
    def spies(self) -> SpyPlan:
        """The spies' plan, in force or from the next interval on."""

    @property
    def spy_notes(self) -> tuple[str, ...]:
        """Sentences about parts of the spies' plan that this machine cannot count."""

    def spy(self, plan: SpyPlan) -> None:
        """Have spies count this from the next interval on."""
