"""Snapshots: the raw values of one tick, stored by column, exactly as read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from turbotui.dataclass import dataclass
from turbotui.machine.topology import Topology
from turbotui.quantities.row_kinds import KindId
from turbotui.quantities.signals import Raw, SignalId
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.rows import RowTicks


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """Raw values of the machine at one tick."""

    seq: int  # number of the tick, from 0; skipped ticks have no number
    wall_ns: int  # wall clock when the tick began
    # host monotonic clock when the tick began, plus the time that the machine was suspended since sampling began, in
    # which hardware counts on and programs do not run
    started_ns: int
    topology: Topology  # the CPUs at that time; all sequences below are in the order of its instances
    values: Mapping[SignalId, Sequence[Raw]]  # signal -> one raw value per instance of the signal's scope
    # signal -> ns of the middle of each reading on the clock of `started_ns`; 0 without a reading
    stamps: Mapping[SignalId, Sequence[int]]
    # CPUs whose worker did not answer in time; -1 stands for the reader of the shared files
    late: frozenset[int] = frozenset()
    failed: frozenset[int] = frozenset()  # CPUs whose worker has ended (offline)
    span_ns: int = 0  # from the first read's start to the last read's end over all CPUs
    busy_ns: int = 0  # time spent in reads, summed over all CPUs
    overruns: int = 0  # ticks skipped so far because a tick took longer than the interval
    late_total: int = 0  # late answers so far
    # signal -> positions whose counter was opened with this very reading, so that no difference to the snapshot before
    # exists
    fresh: Mapping[SignalId, frozenset[int]] = field(default_factory=dict)
    # signal that wraps -> how often each position's counter was seen to wrap since sampling began. Raw values stay as
    # read; readings between two snapshots appear only in this count.
    wraps: Mapping[SignalId, Sequence[int]] = field(default_factory=dict)
    # signal -> positions whose increase since the snapshot before is unknown: a counter that wraps was not read for too
    # long, or was reset; what a reader adds up lacks a part
    unsure: Mapping[SignalId, frozenset[int]] = field(default_factory=dict)
    # (source id, reading CPU; -1 for the shared files) -> why opening or reading failed
    failures: Mapping[tuple[str, int], str] = field(default_factory=dict)
    # signal that cannot stand still -> positions at which it stands still, with the seconds
    still: Mapping[SignalId, Mapping[int, float]] = field(default_factory=dict)
    behind: int = 0  # frames that were read and held back together with this one, and are published right after it
    # (source id, reading CPU) -> length in ns of a read in which the reader lost its CPU, so that its counters are not
    # of one moment
    interrupted: Mapping[tuple[str, int], int] = field(default_factory=dict)
    # the rows of each kind that was asked for. A kind that was not read at this tick, because its reader was late or
    # failed, has the same tick as in the snapshot before, so that its next difference is longer.
    rows: RowTicks = field(default_factory=dict)
    no_rows: Mapping[KindId, Unavailable] = field(default_factory=dict)  # kind that was not read at this tick -> why
