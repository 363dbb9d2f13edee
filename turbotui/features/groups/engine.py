"""Watches the groups of a machine: what each did in every interval, and the packages' energy beside it."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence

from turbotui.dataclass import dataclass
from turbotui.errors import MachineError
from turbotui.features.groups.files import QUANTITIES, Quantity
from turbotui.features.groups.model import GroupMoment, GroupRow, rows_between
from turbotui.features.groups.reader import CgroupReader
from turbotui.features.groups.resctrl_reader import ResctrlReader, resctrl_rows
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import Machine
from turbotui.machine.resctrl import ResctrlInfo
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
        resctrl: one for each group of resctrl, and below it for each of its domains; none where it is not mounted.
        info: what resctrl says of itself; None where it is not mounted.
    """

    rows: Sequence[GroupRow]
    wall_ns: int
    seconds: float
    energy: Energy
    complete: bool
    resctrl: Sequence[GroupRow] = ()
    info: ResctrlInfo | None = None


def watch_groups(machine: Machine, seconds: float, intervals: int | None = None,
                 wanted: Iterable[Quantity] = QUANTITIES) -> Generator[GroupInterval, None, None]:
    """Read every control group and every group of resctrl at the end of each interval; the iterator closes the files.

    Args:
        machine: real, simulated or recorded.
        seconds: of an interval.
        intervals: how many; None for no end.
        wanted: what is to be known of each group.

    Raises:
        MachineError: no tree of control groups is mounted, and no resctrl.
        TurbotuiError: what ended the sampling.
    """
    reader, monitors = CgroupReader(machine.host, wanted), ResctrlReader(machine.host)
    is_mounted = monitors.why_none is None
    if reader.why_none is not None and not is_mounted:
        raise MachineError(reader.why_none.sentence())
    session = Session(machine, tuple(one for one in SOURCES if one.id in ENERGY_SOURCES), seconds, LinuxHost())
    meter = EnergyMeter(session.capabilities)
    session.want((), energy_signals(session.capabilities))
    older: tuple[GroupMoment, GroupMoment | None] | None = None
    try:
        for frame in frames_of(session, intervals):
            meter.feed(frame)
            newer, monitored = reader.read(), monitors.read() if is_mounted else None
            if older is not None:
                yield GroupInterval(
                    rows_between(older[0], newer), newer.wall_ns, (newer.at_ns - older[0].at_ns) * 1e-9, meter.take(),
                    newer.complete, () if monitored is None else resctrl_rows(older[1], monitored),
                    monitors.info if is_mounted else None)
            older = newer, monitored
    finally:
        reader.close()
        monitors.close()
