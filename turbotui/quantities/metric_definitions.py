"""Metric definitions: how a family of cores counts floating-point operations and memory accesses.

The definitions themselves are in `metric_definitions.toml`, which `metric_table` reads.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field, replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.quantities.precision import Precision
from turbotui.quantities.signals import SignalId


@dataclass(frozen=True, slots=True)
class MetricEvent:
    """One event of a core PMU."""

    key: str  # the word that terms and deltas use
    config: int  # raw code
    name: str  # the vendor's name
    counters: int = 1  # general counters it takes: two where the kernel pairs them (AMD's wide increments)
    config1: int = 0  # second word (Intel OFFCORE_RESPONSE)
    optional: bool = False  # whether a machine of this definition may lack it (ENOENT, or a count of 0 forever)

    @property
    def perf(self) -> str:
        """The event in the syntax of `perf stat -e`, without the PMU: "config=0x1c7"."""
        return f"config={self.config:#x}" + (f",config1={self.config1:#x}" if self.config1 else "")


@dataclass(frozen=True, slots=True)
class Term:
    """A summand: weight times the event's count."""

    event: str  # key of a `MetricEvent`
    weight: float  # flops, accesses or bytes of one count
    precision: Precision | None = None  # of the flops; None if the event does not distinguish
    # whether the weight is for 128 bits of vector length and scales with it (Arm SCALE events)
    per_vector: bool = False


@dataclass(frozen=True, slots=True)
class Width:
    """Instructions of one vector width, for the mean width of an access."""

    event: str  # key of a `MetricEvent`
    bytes: int  # of a register; 0 for scalars of unknown precision
    name: str  # "scalar", "SSE", "AVX", "AVX-512", "NEON"
    per_vector: bool = False  # whether bytes is for 128 bits of vector length


LINE: Final = 64
"""Bytes of a cache line on every core with level events (Intel SDM vol. 3, 13.1; AMD PPR; Arm reference manuals)."""


@dataclass(frozen=True, slots=True)
class LevelEvent:
    """An event that counts cache lines moved between two levels of the memory."""

    event: MetricEvent  # optional; its key is that of a signal
    level: str  # the level whose bandwidth the lines use: "L2" between L1 and L2, "L3" between L2 and what is beyond


@dataclass(frozen=True, slots=True)
class MetricDefinition:
    """The events of a family of cores, and how their counts make FLOPs and bytes."""

    slug: str  # the word in the ids of its signals: "roofline.SLUG.EVENT"
    name: str  # microarchitectures
    pmu: tuple[str, ...]  # sysfs names of the core PMU; the first that exists is used
    events: tuple[MetricEvent, ...]  # in the order in which they are put into sets
    flops: tuple[Term, ...]  # terms of the floating-point operations; empty where the core has no such event
    accesses: tuple[Term, ...]  # terms of loads and stores
    widths: tuple[Width, ...]  # instructions by width
    counters: int  # general counters that all machines of the definition have with SMT on
    note: str  # what the numbers do not include
    source: str  # the document
    exact_bytes: tuple[Term, ...] = ()  # terms of bytes, if the core counts bytes (optional events are tried first)
    overlap: bool = False  # whether instructions and cycles need a general counter each
    # the part that no document here confirms; "" if all of it is confirmed. No definition was run on its hardware yet.
    unverified: str = ""
    instructions: int = 0x00C0  # raw code of the retired instructions, which join multiplexed sets
    # instructions by precision, if the events of the operations do not distinguish precisions
    shares: tuple[Term, ...] = ()
    reduced_note: str = ""  # the note of `without_half`
    levels: tuple[LevelEvent, ...] = ()  # events of bytes by memory level, counted on request
    levels_note: str = ""  # what those bytes do not include
    level_terms: tuple[tuple[str, tuple[str, ...]], ...] = ()  # of `with_levels`
    # key and signal of each event
    signals: tuple[tuple[str, SignalId], ...] = field(init=False, repr=False, compare=False)
    # keys of the events that a machine of this definition may lack
    optional: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # every CPU asks in every interval
        names = tuple((event.key, f"roofline.{self.slug}.{event.key.replace(' ', '_')}") for event in self.every_event)
        object.__setattr__(self, "signals", names)
        object.__setattr__(self, "optional", frozenset(event.key for event in self.every_event if event.optional))

    @property
    def every_event(self) -> tuple[MetricEvent, ...]:
        """Events of operations and accesses, followed by events of memory levels."""
        return (*self.events, *(level.event for level in self.levels))

    @property
    def with_levels(self) -> MetricDefinition:
        """The definition whose sets count memory levels too."""
        return replace(self, events=self.every_event, levels=(), level_terms=self.terms_of_levels)

    def without(self, absent: Collection[str]) -> MetricDefinition:
        """The definition on a machine that lacks some of its optional events, by their keys."""
        if self.optional.isdisjoint(absent):
            return self
        lacked = self.optional & frozenset(absent)
        return replace(self, events=tuple(event for event in self.events if event.key not in lacked),
                       flops=tuple(term for term in self.flops if term.event not in lacked),
                       widths=tuple(width for width in self.widths if width.event not in lacked),
                       exact_bytes=_all_or_none(self.exact_bytes, lacked), shares=_all_or_none(self.shares, lacked))

    @property
    def terms_of_levels(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Memory levels with the keys of their events."""
        if self.level_terms:
            return self.level_terms
        names = dict.fromkeys(level.level for level in self.levels)
        return tuple((name, tuple(level.event.key for level in self.levels if level.level == name)) for name in names)

    @property
    def separates_precision(self) -> bool:
        """Whether the definition distinguishes flops by precision."""
        return bool(self.flops) and all(term.precision is not None for term in self.flops)


def _all_or_none(terms: tuple[Term, ...], lacked: Collection[str]) -> tuple[Term, ...]:
    """Terms that are of use only together."""
    return () if any(term.event in lacked for term in terms) else terms


def without_half(definition: MetricDefinition) -> MetricDefinition:
    """The definition without the events that only half precision, matrices and shares of precisions need.

    If event sets are multiplexed over every thread, more threads are too short-lived to run with each set.
    """
    half = {term.event for term in definition.flops if term.precision is Precision.HALF}
    dropped = half | {term.event for term in definition.shares}
    if not dropped:
        return definition
    return replace(
        definition,
        events=tuple(event for event in definition.events if event.key not in dropped),
        flops=tuple(term for term in definition.flops if term.event not in dropped),
        widths=tuple(width for width in definition.widths if width.event not in dropped),
        shares=(),
        note=definition.reduced_note or definition.note,
        unverified="" if half else definition.unverified,
    )


def plan_sets(definition: MetricDefinition, counters: int | None = None) -> tuple[tuple[MetricEvent, ...], ...]:
    """Pack the definition's events in order into as few sets as possible.

    Args:
        counters: general counters of this machine; None for those of the definition.

    Raises:
        UsageError: an event does not fit alone.
    """
    room = definition.counters if counters is None else counters
    if definition.overlap:
        room -= 1  # instructions, in every set; AMD has no fixed counters
    sets: list[list[MetricEvent]] = []
    free = 0
    for event in definition.events:
        if event.counters > room:
            raise UsageError(f"{event.name} takes {event.counters} counters, and {max(0, room)} are free")
        if not sets or event.counters > free:
            sets.append([])
            free = room
        sets[-1].append(event)
        free -= event.counters
    return tuple(tuple(events) for events in sets)


def plan_level_sets(definition: MetricDefinition) -> tuple[tuple[MetricEvent, ...], ...]:
    """Sets of the memory levels' events alone, which are idle unless a user asks for them."""
    levels = replace(definition, events=tuple(level.event for level in definition.levels), levels=())
    return plan_sets(levels) if levels.events else ()
