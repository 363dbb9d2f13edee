"""Look at every control group: whose CPU quota was used up between two looks, and whose tasks waited."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from turbotui.diagnosis.rules import PressedGroup, ThrottledGroup
from turbotui.machine.cgroups import GroupUse, find_groups, for_cpu_time, for_pressure, hierarchies, read_groups, stalls
from turbotui.machine.host import Host
from turbotui.machine.tasks.group_names import CGROUP, UNIT, group_name
from turbotui.untrusted import one_line

_MOST_PRESSURES: Final = 256  # groups whose pressure is read, from the root downwards: three files each
_RESOURCES: Final = ("cpu", "memory", "io")
_LEAST: Final = 1.0  # percent of the time
_AS_MUCH: Final = 0.8  # share of the greatest value; the innermost of such groups is reported
_Stalls: TypeAlias = Mapping[str, tuple[Mapping[str, int], int]]


class GroupLook:
    """Looks at a host's control groups that have a quota or wait; groups created later are not seen."""

    def __init__(self, host: Host) -> None:
        trees = hierarchies(host)
        tree, waits = for_cpu_time(trees), for_pressure(trees)
        self._host = host
        self._groups = None if tree is None else find_groups(host, tree)
        self._waits = None if waits is None else find_groups(host, waits, _MOST_PRESSURES)
        # of the two last looks: by group its stalls, and when they were read
        self._stalled: tuple[_Stalls, _Stalls] = {}, {}
        self._before: Mapping[str, GroupUse] = {}
        self._now: Mapping[str, GroupUse] = {}

    @property
    def looked(self) -> bool:
        """Whether there are control groups whose CPU time is counted, and two looks at them."""
        return bool(self._before)

    def look(self) -> None:
        """Read the counts of every group."""
        if self._groups is not None:
            uses = {use.name: use for use in read_groups(self._host, self._groups)}
            self._before, self._now = self._now, uses
        if self._waits is not None:
            tree, places = self._waits.hierarchy, self._waits.directories[1:]  # the mount itself is the machine
            self._stalled = self._stalled[1], {tree.name(place): self._stalls(place) for place in places}

    def _stalls(self, place: str) -> tuple[Mapping[str, int], int]:
        began = self._host.now_ns()
        return stalls(self._host, place), (began + self._host.now_ns()) >> 1

    @property
    def pressed(self) -> Mapping[str, PressedGroup]:
        """The group that waited most for each resource between the looks, innermost among equals."""
        pressed = {}
        for resource in _RESOURCES:
            shares = self._shares(f"{resource}.some")
            if (most := max(shares.values(), default=0.0)) >= _LEAST:
                name = max((path for path in shares if shares[path] >= _AS_MUCH * most),
                           key=lambda path: path.count("/"))
                pressed[resource] = PressedGroup(_in_words(name), min(100.0, shares[name]))
        return pressed

    def _shares(self, line: str) -> Mapping[str, float]:
        """Percent of the time between the looks in which tasks of each group waited."""
        before, now = self._stalled
        return {
            name: 1e5 * (stalled[line] - before[name][0][line]) / (at_ns - before[name][1])  # of us and ns
            for name, (stalled, at_ns) in now.items()
            if name in before and line in stalled and line in before[name][0] and at_ns > before[name][1]
        }

    @property
    def throttled(self) -> ThrottledGroup | None:
        """The group that was throttled most between the looks, innermost among equals."""
        throttled = [(percent, name) for name, use in self._now.items()
                     if (percent := _percent(self._before.get(name), use)) is not None]
        if not throttled:
            return None
        percent, name = max(throttled, key=lambda pair: (pair[0], pair[1].count("/")))
        if not percent:
            return None
        older, newer = self._before[name], self._now[name]
        before, now, passed = older.cpu.throttled_ns, newer.cpu.throttled_ns, newer.read_ns - older.read_ns
        stood = None if before is None or now is None or passed <= 0 else (now - before) / passed
        return ThrottledGroup(_in_words(name), percent, self._now[name].cpu.quota, stood)


def _in_words(path: str) -> str:
    """A group's name for people: that of a container, pod or job, otherwise the path."""
    known = group_name((path,))
    named = known is not None and known.path == path and known.kind not in (UNIT, CGROUP)
    return one_line(known.text if known is not None and named else path)


def _percent(before: GroupUse | None, now: GroupUse) -> float | None:
    """Percent of the periods in which a quota was used up; None without periods."""
    if before is None or before.cpu.periods is None or before.cpu.throttled is None:
        return None
    if now.cpu.periods is None or now.cpu.throttled is None or now.cpu.periods <= before.cpu.periods:
        return None
    return 100.0 * (now.cpu.throttled - before.cpu.throttled) / (now.cpu.periods - before.cpu.periods)
