"""Base classes of sources and readers: the two ways of opening, and what was found on a machine."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Final, Generic, TypeVar

from turbotui.dataclass import dataclass
from turbotui.errors import InternalError
from turbotui.machine.host import Host
from turbotui.machine.machine import Machine
from turbotui.machine.topology import Topology
from turbotui.quantities.added import AddedCounter
from turbotui.quantities.facts import FactFile
from turbotui.quantities.signals import SignalId
from turbotui.sources.source import Reader, SharedReader

T = TypeVar("T")
_FILE: Final = FactFile("machine/data/sources.toml")


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """A source's table of `sources.toml`, which says what its keys are."""

    title: str
    gives: str
    files: tuple[str, ...] = ()


@functools.cache
def source_facts() -> Mapping[str, SourceFacts]:
    """What the file has of each source, by its id."""
    return {name: _FILE.row(SourceFacts, name, table) for name, table in _FILE.tables()}


def _title(source: SharedSource | PerCpuSource) -> str:
    """The name for people."""
    return source_facts()[source.id].title


def _gives(source: SharedSource | PerCpuSource) -> str:
    """The use of the source's signals."""
    return source_facts()[source.id].gives


class SharedSource:
    """Base of sources whose one file covers all CPUs; one that `sources.toml` lacks sets `title` and `gives`."""

    id: str
    title = functools.cached_property(_title)
    gives = functools.cached_property(_gives)
    shared = True
    counts_from_open = True

    def descriptors(self, wanted: frozenset[SignalId], readers: int) -> int:  # noqa: ARG002 - the contract's
        """0, because nothing stays open between two readings."""
        return 0

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> Reader:  # noqa: ARG002 - the contract's
        """Refused, because this source is opened with `open_shared`.

        Raises:
            InternalError: always.
        """
        raise InternalError(f"{type(self).__name__} holds all CPUs in one file and is not opened on CPU {cpu} alone")


class PerCpuSource:
    """Base of sources that are opened on each reading CPU; otherwise as `SharedSource`."""

    id: str
    title = functools.cached_property(_title)
    gives = functools.cached_property(_gives)
    shared = False
    counts_from_open = False

    def descriptors(self, wanted: frozenset[SignalId], readers: int) -> int:  # noqa: ARG002 - as above
        """0, because nothing stays open between two readings."""
        return 0

    def open_shared(self, machine: Machine, wanted: frozenset[SignalId]) -> SharedReader:  # noqa: ARG002 - as above
        """Refused, because this source is opened with `open`.

        Raises:
            InternalError: always.
        """
        raise InternalError(f"{type(self).__name__} is opened on each reading CPU, not once for all of them")


class AddedSource(PerCpuSource):
    """Base of sources of one counter named by a user."""

    def __init__(self, counter: AddedCounter) -> None:
        self.id = f"added-{counter.key}"
        self.title = f"{counter.place} (added)"
        self.definition = self._counter = counter

    def descriptors(self, wanted: frozenset[SignalId], readers: int) -> int:
        """One per reader."""
        return readers if wanted else 0


class NothingToClose:
    """Base of readers that have nothing to close."""

    def close(self) -> None:
        """Do nothing, because no descriptor is open."""


class CachedSearch(Generic[T]):
    """What a source found on a machine, kept until its host or topology changes."""

    def __init__(self, find: Callable[[Machine], T]) -> None:
        self._find = find
        self._kept: tuple[Host, Topology, T] | None = None

    def look(self, machine: Machine) -> T:
        """Search again and keep the result."""
        known = self._find(machine)
        # one object, so that threads see all of it or nothing
        self._kept = machine.host, machine.topology, known
        return known

    def on(self, machine: Machine) -> T:
        """What was found on this machine; searches if it was not found before."""
        kept = self._kept
        if kept is None or kept[0] is not machine.host or kept[1] is not machine.topology:
            return self.look(machine)
        return kept[2]

    @property
    def last(self) -> T | None:
        """The last result, on any machine; None before the first."""
        return None if self._kept is None else self._kept[2]
