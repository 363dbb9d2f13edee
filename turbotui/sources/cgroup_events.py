"""perf events of control groups, opened on every CPU, each counting while a task of the group runs there.

Tasks of nested groups belong to the group too. perf_event_open(2), PERF_FLAG_PID_CGROUP: the target is the descriptor
of a directory in the tree of version 2, or in that of version 1's controller perf_event; a CPU must be given, and a PMU
that counts no tasks (uncore) refuses. docs/specs/groups.md 1.6 has what was measured, and the cost.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.cgroups import Hierarchy
from turbotui.machine.host import Host, HostError, PerfAttr
from turbotui.machine.perf_groups import close_all, open_group
from turbotui.sources.source import GONE

PID_CGROUP: Final = 4
"""PERF_FLAG_PID_CGROUP (uapi linux/perf_event.h)."""
_HEAD: Final = 3
"""Words before the values of a read: count, time_enabled, time_running."""


@dataclass(frozen=True, slots=True)
class GroupBundle:
    """Counters that are opened together on one CPU.

    Attributes:
        cpu: the CPU.
        names: of the counts; "" for a leader that was only added for its group.
        attrs: the leader first.
        parts: names of counts over some CPUs to which each counter is added too; empty for none.
    """

    cpu: int
    names: tuple[str, ...]
    attrs: tuple[PerfAttr, ...]
    parts: tuple[str, ...] = ()

    def of_group(self) -> tuple[PerfAttr, ...]:
        """The attributes with a control group as their target."""
        return tuple(replace(attr, target_flags=PID_CGROUP) for attr in self.attrs)


@dataclass(slots=True)
class RunningCount:
    """A running count over all CPUs.

    Attributes:
        count: scaled to the whole time for which the group ran.
        enabled, running: ns for which the group ran on some CPU, and for which the counter did.
    """

    count: float = 0
    enabled: int = 0
    running: int = 0


class _Open:
    """A bundle that is open."""

    def __init__(self, host: Host, bundle: GroupBundle, directory: int) -> None:
        self.bundle = bundle
        self.descriptors = open_group(host, bundle.of_group(), directory, bundle.cpu)
        self._words = struct.Struct(f"={_HEAD + len(self.descriptors)}Q")
        self._last: Sequence[int] = (0,) * (_HEAD + len(self.descriptors))

    def gain(self, host: Host) -> tuple[int, int, Sequence[int]]:
        """Enabled and running ns since the previous reading, and each counter's increase.

        Raises:
            HostError: as read(2); ENODATA if a pinned counter has lost its place.
        """
        content = host.read_counter(self.descriptors[0], self._words.size)
        if len(content) != self._words.size:
            raise HostError(errno.ENODATA, "a counter that lost its place")
        before, self._last = self._last, self._words.unpack(content)
        gains = [new - old for new, old in zip(self._last, before, strict=True)]
        return gains[1], gains[2], gains[_HEAD:]


class GroupCounters:
    """The counters of one control group, on every CPU.

    Args:
        host: the host.
        directory: of the group.
        bundles: what to count; bundles of offline CPUs are left out.

    Raises:
        HostError: as open(2) and perf_event_open(2); nothing stays open.
    """

    def __init__(self, host: Host, directory: str, bundles: Iterable[GroupBundle]) -> None:
        self._host = host
        self._open: list[_Open] = []
        self._counted: dict[str, RunningCount] = {}
        target = host.open_file(directory)
        try:
            for bundle in bundles:
                for name in (*bundle.names, *bundle.parts):
                    if name:
                        self._counted.setdefault(name, RunningCount())
                try:
                    self._open.append(_Open(host, bundle, target))
                except HostError as error:
                    if error.errno not in GONE:
                        raise
        except HostError:
            self.close()
            raise
        finally:
            host.close(target)  # each counter holds a reference to the group

    def read(self) -> Mapping[str, RunningCount]:
        """All counts since the opening, by name.

        Raises:
            HostError: a counter can no longer be read.
        """
        gains: dict[str, list[tuple[int, int, int]]] = {}
        for one in self._open:
            enabled, running, counts = one.gain(self._host)
            for names in (one.bundle.names, one.bundle.parts):
                for name, count in zip(names, counts, strict=False):  # there may be no parts
                    if name:
                        gains.setdefault(name, []).append((enabled, running, count))
        for name, parts in gains.items():
            _add(self._counted[name], parts)
        return self._counted

    def close(self) -> None:
        """Close every counter."""
        for one in self._open:
            close_all(self._host, one.descriptors)
        self._open.clear()


def _add(total: RunningCount, parts: Iterable[tuple[int, int, int]]) -> None:
    """Add the counts of one event on each CPU: enabled ns, running ns and count.

    A count is scaled by its own CPU's times. If a counter never ran although the group did, the other CPUs' mean
    replaces it; if none ran at all, the count stands still while `enabled` continues.
    """
    estimate: float = 0
    covered = missed = 0
    for enabled, running, count in parts:
        total.enabled += enabled
        total.running += running
        if running >= enabled:
            estimate += count
            covered += enabled
        elif running > 0:
            estimate += count * enabled / running
            covered += enabled
        else:
            missed += enabled
    total.count += estimate * (covered + missed) / covered if missed and covered else estimate


def tree_of_events(trees: Iterable[Hierarchy]) -> Hierarchy | None:
    """The tree whose groups perf counts: that of version 1's controller perf_event, else version 2's."""
    known = tuple(trees)
    old = next((tree for tree in known if "perf_event" in tree.controllers), None)
    return old or next((tree for tree in known if tree.version == 2), None)
