"""Read the counters of one row of added events, each group with one read(2), and sum those of several PMUs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from turbotui.counting.counters import ENABLED, RUNNING, CountTarget, open_counters
from turbotui.counting.totals import scaled
from turbotui.dataclass import dataclass
from turbotui.machine.host import Host, HostError
from turbotui.quantities.signals import Raw, SignalId
from turbotui.sources.perf_group import CounterGroup, GroupEvent, Times
from turbotui.sources.source import raise_if_gone


@dataclass(frozen=True, slots=True)
class Part:
    """Counters of one row that are opened as one group."""

    cpu: int  # the CPU to count on
    events: tuple[GroupEvent, ...]  # the leader first


@dataclass(frozen=True, slots=True)
class Count:
    """One signal of a row."""

    signal: SignalId
    times: Times | None  # by which it can be scaled if multiplexed; None for a level


class _Sum:
    """Counts of several PMUs as one, with times that scale the sum as each count's own times scale the count.

    Over an interval in which counter i gained v_i, was enabled e_i and ran r_i, the estimate is S = sum(v_i e_i / r_i).
    The sum shows E = sum(e_i), R = sum(r_i) and V = S R / E, from which V E / R is S again.
    """

    def __init__(self) -> None:
        self.value = 0
        self.enabled = 0
        self.running = 0
        self._last: list[tuple[int, int, int]] = []

    def take(self, words: Sequence[tuple[int, int, int]]) -> None:
        """Add one read: value, enabled and running of every counter, in the same order each time."""
        before = self._last or [(0, 0, 0)] * len(words)
        gains = [(v - a, e - b, r - c) for (v, e, r), (a, b, c) in zip(words, before, strict=True)]
        self._last = list(words)
        enabled, running = sum(gain[1] for gain in gains), sum(gain[2] for gain in gains)
        self.enabled += enabled
        whole = [scaled(*gain) for gain in gains]
        if None not in whole:  # where one never ran the sum is unknown: it has no running time
            self.running += running
            self.value += round(math.fsum(filter(None, whole)) * running / enabled) if enabled else 0


class EventReader:
    """Open counters of one row.

    Raises:
        CpuGone: a CPU is offline.
        HostError: a counter can no longer be opened.
    """

    def __init__(self, host: Host, parts: Sequence[Part], counts: Sequence[Count]) -> None:
        self._host = host
        self._groups: list[CounterGroup] = []
        try:
            self._groups.extend(open_part(host, part) for part in parts)
        except HostError as error:
            self.close()
            raise_if_gone(error)
            raise
        self._instances: list[list[tuple[int, int]]] = [[(number, group.layout.places[count.signal])
            for number, group in enumerate(self._groups) if count.signal in group.layout.places] for count in counts]
        self._sums: Mapping[int, _Sum] = {number: _Sum() for number, instances in enumerate(self._instances)
                                          if len(instances) > 1 and counts[number].times is not None}
        self._timed = [count.times is not None for count in counts]
        # most rows have one counter for each count, and need no sum
        self._alone = [instances[0] for instances in self._instances] if all(self._timed) and all(
            len(instances) == 1 for instances in self._instances) else None
        self.signals: tuple[SignalId, ...] = tuple(name for count in counts
            for name in ((count.signal,) if count.times is None
            else (count.signal, count.times.enabled, count.times.running)))

    def choose(self, wanted: frozenset[SignalId]) -> bool:
        """Do nothing, because all counters are read in any case."""
        return wanted <= frozenset(self.signals)

    def read(self) -> Sequence[Raw]:
        """A running count and its two times in ns of what can be multiplexed, and a value for each level.

        Raises HostError if a pinned counter has lost its place.
        """
        words = [group.read() for group in self._groups]
        values: list[Raw] = []
        if self._alone is not None:
            for index, place in self._alone:
                group_words = words[index]
                values += (None, None, None) if group_words is None else (group_words[place], group_words[ENABLED],
                                                                          group_words[RUNNING])
            return values
        for number, instances in enumerate(self._instances):
            read = [(group[place], group[ENABLED], group[RUNNING]) for index, place in instances
                    if (group := words[index]) is not None]
            whole = len(read) == len(instances) and bool(read)
            if not self._timed[number]:
                values.append(sum(value for value, _e, _r in read) if whole else None)
            elif not whole:
                values += (None, None, None)
            elif len(read) == 1:
                values += read[0]
            else:
                total = self._sums[number]
                total.take(read)
                values += (total.value, total.enabled, total.running)
        return values

    def close(self) -> None:
        """Close every descriptor."""
        for group in self._groups:
            group.close()
        self._groups = []


def open_part(host: Host, part: Part) -> CounterGroup:
    """Open all counters of a group, or none. Raises the HostError of the first refusal."""
    counters = open_counters(host, (event.attr for event in part.events), CountTarget(cpu=part.cpu))
    return CounterGroup(counters, part.events, None)
