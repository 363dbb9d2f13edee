"""Counts perf events for the control groups in view, as many as descriptors and time allow."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from turbotui.counting.totals import CountTotal
from turbotui.features.groups.event_columns import ENABLED, RUNNING, quantities_of, reading_of
from turbotui.features.groups.event_plans import EventPlan
from turbotui.features.groups.files import Quantity
from turbotui.features.groups.model import WHOLE, GroupMoment, GroupSample
from turbotui.machine.cgroups import hierarchies
from turbotui.machine.host import Host, HostError
from turbotui.machine.machine import Machine
from turbotui.machine.open_files import FileReading
from turbotui.machine.perf_errors import Circumstances, circumstances, explain_perf
from turbotui.machine.small_files import text_of
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.cgroup_events import GroupCounters, tree_of_events

MOST_READS: Final = 2_048
"""The most reads of one CPU's counters in an interval, for all groups: 10 to 35 ms (docs/costs.md)."""
_SHARE: Final = 4
"""Counters of groups may take one in this many of all descriptors."""
_LINGERING: Final = 10
"""Readings for which a group's counters stay open after the group left the view."""
_RETRY: Final = 10
"""Readings after which a refused group is tried again."""
_ONLINE: Final = "/sys/devices/system/cpu/online"
_NOT_THERE: Final = Unavailable(
    Reason.NO_DRIVER, "the group is not in the tree whose groups perf counts: that of the controller perf_event where "
                      "it is mounted as version 1, else that of version 2")
_NOT_ENABLED: Final = Unavailable(
    Reason.NO_DRIVER, "the kernel does not follow the group for perf (ENOENT): in version 2 it begins to when a "
                      "controller is enabled below the outermost group, and cgroup.subtree_control there has none",
    "echo +pids > cgroup.subtree_control in the directory of the outermost group; systemd does so")
_NO_TREE: Final = Unavailable(
    Reason.NO_DRIVER, "no tree of control groups is mounted that perf can count by: version 2, or perf_event of "
                      "version 1")
_CPUS_CHANGED: Final = Unavailable(Reason.FIRST_TICK, "a CPU came or went: the counters are opened anew")


class GroupEvents:
    """Counters of groups, opened for the followed groups."""

    def __init__(self, machine: Machine, plans: Sequence[EventPlan] = ()) -> None:
        self._host: Host = machine.host
        self._machine = machine
        self._facts: Circumstances | None = None
        self._tree = tree_of_events(hierarchies(machine.host))
        self.plans: tuple[EventPlan, ...] = tuple(plans)
        self._followed: tuple[str, ...] = ()
        self._asked = 0
        self._open: dict[str, GroupCounters] = {}
        self._unseen: dict[str, int] = {}
        self._refused: dict[str, Unavailable] = {}
        self._gives: dict[int, tuple[Mapping[Quantity, str], Mapping[Quantity, str]]] = {}
        self._online = ""
        self._rounds = 0

    def want(self, plans: Sequence[EventPlan]) -> None:
        """Count these events from now on."""
        if tuple(plans) != self.plans:
            self.close()
            self.plans = tuple(plans)
            self._gives.clear()
            self._refused.clear()

    def follow(self, paths: Iterable[str]) -> None:
        """Count for these groups from now on, in their order, as far as there is room."""
        shared = (WHOLE,) if any(plan.parts for plan in self.plans) else ()  # its cycles are what energy is shared by
        asked = tuple(dict.fromkeys((*shared, *paths)))
        self._asked, self._followed = len(asked), asked[: self.room]

    @property
    def counters(self) -> int:
        """Return the number of descriptors that one group needs."""
        return sum(len(bundle.attrs) for plan in self.plans for bundle in plan.bundles)

    @property
    def room(self) -> int:
        """Return how many groups can be counted at the same time."""
        reads, counters = sum(len(plan.bundles) for plan in self.plans), self.counters
        if not reads:
            return 0
        return min(max(1, MOST_READS // reads), self._host.privileges().most_descriptors // _SHARE // counters)

    @property
    def coverage(self) -> str:
        """Say for how many groups events are counted, and why not for more; "" if for all followed groups."""
        if not self.counters or self._asked <= self.room:
            return ""
        limit = self._host.privileges().most_descriptors
        return (f"events are counted for {len(self._followed):,} of {self._asked:,} groups, each of which takes "
                f"{self.counters:,} counters: the most are {MOST_READS:,} reads, and {limit // _SHARE:,} counters (a "
                f"quarter of RLIMIT_NOFILE)")

    def merged(self, moment: GroupMoment) -> GroupMoment:
        """Return the moment with each group's counts, or the reasons why there are none."""
        if not self.plans:
            return moment
        self._rounds += 1
        if self._rounds % _RETRY == 0:
            self._refused.clear()
        changed = self._cpus_changed()
        self._keep_followed(moment)
        samples = {path: self._with_events(path, sample, changed) for path, sample in moment.samples.items()}
        return replace(moment, samples=samples)

    def close(self) -> None:
        """Close every counter."""
        for counters in self._open.values():
            counters.close()
        self._open.clear()
        self._unseen.clear()

    def _cpus_changed(self) -> bool:
        """Tell whether a CPU went offline or came back since the last reading; if so, close the counters."""
        before, self._online = self._online, text_of(self._host, _ONLINE) or self._online
        if not before or before == self._online:
            return False
        self.close()
        return True

    def _keep_followed(self, moment: GroupMoment) -> None:
        """Close the counters of groups that are gone, long out of view, or whose room is needed."""
        self._unseen = {path: 0 if path in self._followed else self._unseen.get(path, 0) + 1 for path in self._open}
        needed = sum(path not in self._open for path in self._followed)
        spare = max(0, self.room - needed)
        keep = sorted(self._open, key=self._unseen.__getitem__)[:spare]
        for path in tuple(self._open):
            if path not in keep or path not in moment.samples or self._unseen[path] > _LINGERING:
                self._open.pop(path).close()

    def _with_events(self, path: str, sample: GroupSample, changed: bool) -> GroupSample:
        totals: Mapping[str, CountTotal] | Unavailable = {}
        if self.counters:
            totals = _CPUS_CHANGED if changed else self._read(path)
        readings, absent = dict(sample.readings), dict(sample.absent)
        for plan in self.plans:
            for name in (*quantities_of(plan.counted.request)[::3], *plan.parts):
                file, why = reading_of(name), plan.refused.get(name)
                total = None if isinstance(totals, Unavailable) else totals.get(name)
                if why is not None:
                    readings[file] = FileReading(dict.fromkeys((name, name + ENABLED, name + RUNNING), why), 0)
                elif isinstance(totals, Unavailable):
                    absent[file] = totals
                elif total is not None:
                    values = {name: total.count * plan.scales.get(name, 1), name + ENABLED: total.enabled,
                              name + RUNNING: total.running}
                    readings[file] = FileReading(values, round(total.passed), round(total.unsure), summed=True)
        return replace(sample, readings=readings, absent=absent, gives=self._given(sample.gives))

    def _read(self, path: str) -> Mapping[str, CountTotal] | Unavailable:
        if path not in self._open and path not in self._followed:
            return self._refused.get(path) or self._not_followed()
        if path in self._refused:
            return self._refused[path]
        if self._tree is None:
            return _NO_TREE
        try:
            if path not in self._open:
                bundles = [bundle for plan in self.plans for bundle in plan.bundles]
                self._open[path] = GroupCounters(self._host, f"{self._tree.top}{path}".rstrip("/"), bundles)
            return self._open[path].read()
        except HostError as error:
            if path in self._open:
                self._open.pop(path).close()
            return self._refused.setdefault(path, self._why(error))

    def _why(self, error: HostError) -> Unavailable:
        if error.errno in (errno.ENOENT, errno.EBADF):  # the event itself is known to be valid, because CPUs counted it
            return _NOT_ENABLED if error.what.startswith("perf_event_open") else _NOT_THERE
        if self._facts is None:
            self._facts = circumstances(self._machine)
        texts = ", ".join(plan.counted.request.text for plan in self.plans)
        return explain_perf(error, f"perf {texts} of the group", self._facts, 1)

    def _not_followed(self) -> Unavailable:
        if not self.room:
            limit = self._host.privileges().most_descriptors
            return Unavailable(Reason.NO_DESCRIPTORS, f"the events take {self.counters:,} counters for one group, and "
                               f"a quarter of RLIMIT_NOFILE is {limit // _SHARE:,}", "ulimit -n 65536, or fewer events")
        return Unavailable(
            Reason.NOT_READ, f"events are counted for {self.room:,} groups at most, those that are looked at or are "
            f"the busiest: each takes {self.counters:,} counters", "give a filter of fewer groups, or fewer events")

    def _given(self, gives: Mapping[Quantity, str]) -> Mapping[Quantity, str]:
        known = self._gives.get(id(gives))
        if known is None or known[0] is not gives:
            more = {name: reading_of(name) for plan in self.plans
                    for name in (*quantities_of(plan.counted.request), *plan.parts)}
            known = self._gives[id(gives)] = gives, {**gives, **more}
        return known[1]
