"""Watches the groups of a machine: what each did in every interval, and the packages' energy beside it."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import MachineError
from turbotui.features.groups.files import QUANTITIES, Quantity
from turbotui.features.groups.model import GroupMoment, GroupRow, rows_between
from turbotui.features.groups.reader import CgroupReader
from turbotui.features.groups.resctrl_reader import ResctrlReader, resctrl_rows
from turbotui.machine.host import Host
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import Machine
from turbotui.machine.resctrl import ResctrlInfo
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.energy import ENERGY_SOURCES, Energy, EnergyMeter, energy_signals
from turbotui.sampling.sampled import frames_of
from turbotui.sampling.session import Session
from turbotui.sources import SOURCES

NO_ENERGY: Final = Energy({}, {}, {})


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


class GroupsReader:
    """Reads control groups and groups of resctrl, interval after interval.

    Args:
        host: the machine.
        wanted: what is to be known of each control group.
    """

    def __init__(self, host: Host, wanted: Iterable[Quantity] = QUANTITIES) -> None:
        self._reader, self._monitors = CgroupReader(host, wanted), ResctrlReader(host)
        self._is_mounted = self._monitors.why_none is None
        self._older: tuple[GroupMoment, GroupMoment | None] | None = None

    @property
    def why_none(self) -> Unavailable | None:
        """Why there is neither a control group nor a group of resctrl; None where there is."""
        return None if self._is_mounted else self._reader.why_none

    def read(self, energy: Energy = NO_ENERGY) -> GroupInterval | None:
        """End the interval; None for the first reading, which only begins one.

        Args:
            energy: of the packages, about the same interval.
        """
        older, newer = self._older, self._reader.read()
        monitored = self._monitors.read() if self._is_mounted else None
        self._older = newer, monitored
        if older is None:
            return None
        groups = () if monitored is None else resctrl_rows(older[1], monitored)
        return GroupInterval(rows_between(older[0], newer), newer.wall_ns, (newer.at_ns - older[0].at_ns) * 1e-9,
                             energy, newer.complete, groups, self._monitors.info if self._is_mounted else None)

    def close(self) -> None:
        """Close every file."""
        self._reader.close()
        self._monitors.close()


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
    reader = GroupsReader(machine.host, wanted)
    if reader.why_none is not None:
        raise MachineError(reader.why_none.sentence())
    session = Session(machine, tuple(one for one in SOURCES if one.id in ENERGY_SOURCES), seconds, LinuxHost())
    meter = EnergyMeter(session.capabilities)
    session.want((), energy_signals(session.capabilities))
    try:
        for frame in frames_of(session, intervals):
            meter.feed(frame)
            interval = reader.read(meter.take())
            if interval is not None:
                yield interval
    finally:
        reader.close()
