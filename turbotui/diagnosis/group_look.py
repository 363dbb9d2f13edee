"""A look at every control group: which one's CPU quota was used up between two looks."""

from __future__ import annotations

from collections.abc import Mapping

from turbotui.diagnosis.rules import ThrottledGroup
from turbotui.machine.cgroups import GroupUse, find_groups, for_cpu_time, hierarchies, read_groups
from turbotui.machine.host import Host
from turbotui.untrusted import one_line


class GroupLook:
    """Looks at the control groups of a host that have a quota; those that come later are not seen."""

    def __init__(self, host: Host) -> None:
        tree = for_cpu_time(hierarchies(host))
        self._host = host
        self._groups = None if tree is None else find_groups(host, tree)
        self._before: Mapping[str, GroupUse] = {}
        self._now: Mapping[str, GroupUse] = {}
        self._seconds = 0.0
        self._at = 0.0

    @property
    def looked(self) -> bool:
        """Whether there are control groups whose CPU time is counted, and two looks at them."""
        return bool(self._before)

    def look(self) -> None:
        """Read the counts of every group."""
        if self._groups is not None:
            found = {use.name: use for use in read_groups(self._host, self._groups, pressure=False)}
            self._before, self._now = self._now, found
            now = self._host.now_ns() * 1e-9
            self._seconds, self._at = now - self._at, now

    @property
    def throttled(self) -> ThrottledGroup | None:
        """The group that stood still most between the looks; the innermost of those that stood still as much."""
        found = [(percent, name) for name, use in self._now.items()
                 if (percent := _percent(self._before.get(name), use)) is not None]
        if not found:
            return None
        percent, name = max(found, key=lambda one: (one[0], one[1].count("/")))
        if not percent:
            return None
        before, now = self._before[name].cpu.throttled_ns, self._now[name].cpu.throttled_ns
        stood = None if before is None or now is None or not self._seconds else (now - before) * 1e-9 / self._seconds
        return ThrottledGroup(one_line(name), percent, self._now[name].cpu.quota, stood)


def _percent(before: GroupUse | None, now: GroupUse) -> float | None:
    """Percent of the periods in which a quota was used up; None where none was to be used up."""
    if before is None or before.cpu.periods is None or before.cpu.throttled is None:
        return None
    if now.cpu.periods is None or now.cpu.throttled is None or now.cpu.periods <= before.cpu.periods:
        return None
    return 100.0 * (now.cpu.throttled - before.cpu.throttled) / (now.cpu.periods - before.cpu.periods)
