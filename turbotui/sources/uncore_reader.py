"""Opens the counters of uncore units in as few groups as the kernel schedules, and reads each group by one read(2).

Uncore counters are few and other programs may hold some: whether a group fits shows only when it is opened
(perf_event_open(2), EINVAL). Events that belong together are put into a group together or not at all.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from turbotui.counting.counters import TOO_MANY, Counters, CountTarget, LostCounterError
from turbotui.dataclass import dataclass
from turbotui.machine.host import Host, HostError, PerfAttr
from turbotui.quantities.signals import Raw, SignalId
from turbotui.sources.perf_group import Times
from turbotui.sources.source import GONE, CpuGone, raise_if_gone

_WHAT = "(its counters may be held, or filtered otherwise, by another program)"


@dataclass(frozen=True, slots=True)
class ConcurrentEvents:
    """Events that are counted in the same time."""

    signals: Mapping[SignalId, PerfAttr]  # what each event gives
    times: Times  # signals of how long they were to count and did, ns
    # what they set a register to that all counters of the unit share; () where they leave it alone
    filter: tuple[str, ...] = ()


@dataclass(slots=True)
class _Group:
    """A group that is being opened: its counters, and what they count in the order of a read."""

    counters: Counters
    attrs: list[PerfAttr] = field(default_factory=list)
    held: list[ConcurrentEvents] = field(default_factory=list)

    def has_room(self, bundle: ConcurrentEvents, limit: int | None) -> bool:
        """Tell whether a bundle may be tried in this group: the filters must be equal, and the events few enough."""
        if any(events.filter != bundle.filter for events in self.held):
            return False
        return limit is None or not self.attrs or len({*self.attrs, *bundle.signals.values()}) <= limit

    def take(self, bundle: ConcurrentEvents) -> HostError | None:
        """Open the events of a bundle that the group does not have yet; if one is refused, close all of them."""
        fresh = [attr for attr in dict.fromkeys(bundle.signals.values()) if attr not in self.attrs]
        try:
            for attr in fresh:
                self.counters.add(attr)
        except HostError as error:
            self.counters.keep(len(self.attrs))
            return error
        self.attrs += fresh
        self.held.append(bundle)
        return None


class UncoreReader:
    """Open counters of units on one CPU.

    Args:
        units: what to count of each unit, those that need most first.
        limit: the most events of a group, where the kernel does not check it.

    Raises:
        CpuGone: the CPU is offline.
        HostError: nothing of it opens.
    """

    def __init__(self, host: Host, cpu: int, units: Iterable[Sequence[ConcurrentEvents]],
                 limit: int | None = None) -> None:
        self._host = host
        self._limit = limit
        self._cpu = cpu
        self._groups: list[_Group] = []
        refused: list[HostError] = []
        absent: list[SignalId] = []
        try:
            for bundles in units:
                absent += self._open(bundles, refused)
        except CpuGone:
            self.close()
            raise
        if refused and not self._groups:
            raise HostError(refused[0].errno or errno.EINVAL, f"{refused[0].what} {_WHAT}")
        self._places: list[tuple[int, int] | None] = []
        names: list[SignalId] = []
        for number, group in enumerate(self._groups):
            word = {attr: at for at, attr in enumerate(group.attrs, 2)}
            for bundle in group.held:
                at = {bundle.times.enabled: 0, bundle.times.running: 1}
                at |= {signal: word[attr] for signal, attr in bundle.signals.items()}
                names += at
                self._places += [(number, place) for place in at.values()]
        self.signals: tuple[SignalId, ...] = (*names, *absent)
        self._places += [None] * len(absent)

    def _open(self, bundles: Sequence[ConcurrentEvents], refused: list[HostError]) -> list[SignalId]:
        """Open the bundles of one unit, and return the signals of those that cannot be opened."""
        groups: list[_Group] = []
        absent: list[SignalId] = []
        for bundle in bundles:
            empty = _Group(Counters(self._host, CountTarget(cpu=self._cpu)))
            for group in (*(other for other in groups if other.has_room(bundle, self._limit)), empty):
                error = group.take(bundle)
                if error is not None and error.errno in GONE:
                    self._groups += groups
                    raise CpuGone(str(error)) from error
                if error is None or error.errno not in TOO_MANY:
                    break
            if error is not None:
                refused.append(error)
                absent += [*bundle.signals, bundle.times.enabled, bundle.times.running]
            elif group not in groups:
                groups.append(group)
        self._groups += groups
        return absent

    def read(self) -> Sequence[Raw]:
        """Return one running count for each of `signals`, ns for times; None for counters that are not open.

        Raises CpuGone if a group's CPU or its PMU is away.
        """
        try:
            words = [group.counters.totals() for group in self._groups]
        except LostCounterError as error:
            raise CpuGone("the counter group was taken apart") from error
        except HostError as error:
            raise_if_gone(error)
            raise
        return [None if place is None else words[place[0]][place[1]] for place in self._places]

    def close(self) -> None:
        """Close every descriptor, leaders last."""
        for group in self._groups:
            group.counters.close()
        self._groups = []
