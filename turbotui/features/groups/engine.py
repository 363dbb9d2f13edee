"""Watches the groups of a machine: what each did in every interval, and the packages' energy beside it."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence

from turbotui.dataclass import dataclass
from turbotui.errors import MachineError
from turbotui.features.groups.files import QUANTITIES, Quantity
from turbotui.features.groups.model import GroupRow, rows_between
from turbotui.features.groups.reader import CgroupReader
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import Machine
from turbotui.sampling.energy import ENERGY_SOURCES, Energy, EnergyMeter, energy_signals
from turbotui.sampling.sampled import frames_of
from turbotui.sampling.session import Session
from turbotui.sources import SOURCES


@dataclass(frozen=True, slots=True)
class GroupInterval:
    """What the groups of a machine did in an interval.

    Attributes:
        rows: one for each control group, outer ones before those in them.
        wall_ns: end of the interval, in ns since 1970.
        seconds: its length.
        energy: of the packages, about the same interval.
        complete: whether there are no more groups than these.
    """

    rows: Sequence[GroupRow]
    wall_ns: int
    seconds: float
    energy: Energy
    complete: bool


def watch_groups(machine: Machine, seconds: float, intervals: int | None = None,
                 wanted: Iterable[Quantity] = QUANTITIES) -> Generator[GroupInterval, None, None]:
    """Read every control group at the end of each interval; files are closed with the iterator.

    Args:
        machine: real, simulated or recorded.
        seconds: of an interval.
        intervals: how many; None for no end.
        wanted: what is to be known of each group.

    Raises:
        MachineError: no tree of control groups is mounted.
        TurbotuiError: what ended the sampling.
    """
    reader = CgroupReader(machine.host, wanted)
    if reader.why_none is not None:
        raise MachineError(reader.why_none.sentence())
    session = Session(machine, tuple(one for one in SOURCES if one.id in ENERGY_SOURCES), seconds, LinuxHost())
    meter = EnergyMeter(session.capabilities)
    session.want((), energy_signals(session.capabilities))
    older = None
    try:
        for frame in frames_of(session, intervals):
            meter.feed(frame)
            newer = reader.read()
            if older is not None:
                yield GroupInterval(rows_between(older, newer), newer.wall_ns, (newer.at_ns - older.at_ns) * 1e-9,
                                    meter.take(), newer.complete)
            older = newer
    finally:
        reader.close()
