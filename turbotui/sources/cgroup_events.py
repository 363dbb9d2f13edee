"""perf events of control groups, opened on every CPU, each counting while a task of the group runs there.

Tasks of nested groups belong to the group too. perf_event_open(2), PERF_FLAG_PID_CGROUP: the target is the descriptor
of a directory in the tree of version 2, or in that of version 1's controller perf_event; a CPU must be given, and a PMU
that counts no tasks (uncore) refuses. docs/specs/groups.md 1.6 has what was measured, and the cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from turbotui.counting.counters import Counters, CountTarget, open_counters
from turbotui.counting.totals import CountTotal
from turbotui.dataclass import dataclass
from turbotui.machine.cgroups import Hierarchy
from turbotui.machine.host import Host, HostError, PerfAttr
from turbotui.sources.source import GONE


@dataclass(frozen=True, slots=True)
class GroupBundle:
    """Counters that are opened together on one CPU."""

    cpu: int
    names: tuple[str, ...]  # of the counts; "" for a leader that was only added for its group
    attrs: tuple[PerfAttr, ...]  # the leader first
    parts: tuple[str, ...] = ()  # names of counts over some CPUs to which each counter is added too; empty for none


class GroupCounters:
    """The counters of one control group, on every CPU.

    Args:
        bundles: what to count; bundles of offline CPUs are left out.

    Raises:
        HostError: as open(2) and perf_event_open(2); nothing stays open.
    """

    def __init__(self, host: Host, directory: str, bundles: Iterable[GroupBundle]) -> None:
        self._host = host
        self._open: list[tuple[GroupBundle, Counters]] = []
        self._counted: dict[str, CountTotal] = {}
        target = host.open_file(directory)
        try:
            for bundle in bundles:
                for name in (*bundle.names, *bundle.parts):
                    if name:
                        self._counted.setdefault(name, CountTotal())
                try:
                    group = CountTarget(target, bundle.cpu, is_group=True)
                    self._open.append((bundle, open_counters(host, bundle.attrs, group)))
                except HostError as error:
                    if error.errno not in GONE:
                        raise
        except HostError:
            self.close()
            raise
        finally:
            host.close(target)  # each counter holds a reference to the group

    def read(self) -> Mapping[str, CountTotal]:
        """All counts since the opening, by name. Raises HostError if a counter can no longer be read."""
        gains: dict[str, list[tuple[int, int, int, int, int]]] = {}
        at_ns = self._host.now_ns()
        for bundle, counters in self._open:
            (enabled, running, *counts), passed, unsure, at_ns = counters.timed_gains(at_ns)
            for names in (bundle.names, bundle.parts):
                for name, count in zip(names, counts, strict=False):  # there may be no parts
                    if name:
                        gains.setdefault(name, []).append((enabled, running, count, passed, unsure))
        for name, parts in gains.items():
            self._counted[name].add(parts)
        return self._counted

    def close(self) -> None:
        """Close every counter."""
        for _bundle, counters in self._open:
            counters.close()
        self._open.clear()


def tree_of_events(trees: Iterable[Hierarchy]) -> Hierarchy | None:
    """The tree whose groups perf counts: that of version 1's controller perf_event, else version 2's."""
    known = tuple(trees)
    old = next((tree for tree in known if "perf_event" in tree.controllers), None)
    return old or next((tree for tree in known if tree.version == 2), None)
