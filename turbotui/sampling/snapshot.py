"""Snapshots: the raw values of one tick, column-wise, exactly as read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from turbotui.dataclass import dataclass
from turbotui.machine.topology import Topology
from turbotui.quantities.signals import Raw, SignalId


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """Raw values of the machine at one tick.

    Attributes:
        seq: number of the tick, from 0; a skipped tick leaves no number out.
        wall_ns: wall clock when the tick began.
        started_ns: host monotonic clock when the tick began, and the time that the machine was suspended since
            sampling began: hardware counts on in it, and programs do not.
        topology: the CPUs as they were; all sequences below are in the order of its instances.
        values: signal -> one raw value per instance of the signal's scope.
        stamps: signal -> ns of the middle of each reading by the clock of `started_ns`, 0 where there was none.
        late: CPUs whose worker did not answer in time; -1 stands for the reader of files that hold all CPUs.
        failed: CPUs whose worker ended (offline).
        span_ns: from the first read's start to the last read's end over all CPUs.
        busy_ns: time spent inside reads, added over all CPUs.
        overruns: ticks skipped so far because a tick took longer than the interval.
        late_total: late answers so far.
        fresh: signal -> positions whose counter began at this very reading (opened anew): no difference with the
            snapshot before.
        wraps: signal that wraps -> how often each position's counter was seen to pass zero since sampling began. Raw
            values stay as read; readings between two snapshots show in this count only.
        unsure: signal that wraps -> positions of which nothing tells whether they wrapped, and how often: not looked at
            for too long, or set.
        still: signal that cannot stand still -> positions at which it does, with the seconds for which it has.
        behind: frames that were read together with this one, held back, and are published right after it.
        interrupted: (source id, reading CPU) -> ns that a read took in which the reader lost its CPU: its counters are
            not of one moment.
        failures: (source id, reading CPU; -1 for all CPUs at once) -> why opening or reading failed.
    """

    seq: int
    wall_ns: int
    started_ns: int
    topology: Topology
    values: Mapping[SignalId, Sequence[Raw]]
    stamps: Mapping[SignalId, Sequence[int]]
    late: frozenset[int] = frozenset()
    failed: frozenset[int] = frozenset()
    span_ns: int = 0
    busy_ns: int = 0
    overruns: int = 0
    late_total: int = 0
    fresh: Mapping[SignalId, frozenset[int]] = field(default_factory=dict)
    wraps: Mapping[SignalId, Sequence[int]] = field(default_factory=dict)
    unsure: Mapping[SignalId, frozenset[int]] = field(default_factory=dict)
    failures: Mapping[tuple[str, int], str] = field(default_factory=dict)
    still: Mapping[SignalId, Mapping[int, float]] = field(default_factory=dict)
    behind: int = 0
    interrupted: Mapping[tuple[str, int], int] = field(default_factory=dict)
