"""Groups of perf counters that are opened together and read by one read(2) each.

Every source over perf uses the readers here, which add to `counting` what is special about CPUs: they go offline.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from turbotui.counting.counters import (
    ENABLED,
    FIRST_COUNT,
    RUNNING,
    Counters,
    CountTarget,
    LostCounterError,
    open_counters,
)
from turbotui.dataclass import dataclass
from turbotui.machine.host import RECORDED_COUNTER, Host, HostError, PerfAttr
from turbotui.machine.perf_errors import Circumstances, explain_perf
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.source import GONE, CpuGone, raise_if_gone
from turbotui.sources.unreadable import may_pass

_SLACK_NS = 10_000_000  # a millisecond, ten times over: time_enabled may lag by that, and by a tenth
_PINNED = 1 << 2  # of the flag word of perf_event_attr (uapi linux/perf_event.h)
_READ_FORMAT = "perf_event_open(2), read_format"


@dataclass(frozen=True, slots=True)
class GroupEvent:
    """One counter of a group: its signal, its attribute, and its name in perf's syntax."""

    signal: SignalId
    attr: PerfAttr
    title: str


@dataclass(frozen=True, slots=True)
class Times:
    """Signals that carry a group's time_enabled and time_running, in ns."""

    enabled: SignalId
    running: SignalId

    @classmethod
    def of(cls, stem: str) -> Times:
        """The signals of a group by what their names begin with."""
        return cls(f"{stem}.enabled", f"{stem}.running")

    def signals(
        self, what: str, scope: Scope = Scope.CPU, *, reduce: Reduce = Reduce.MEAN, document: str = _READ_FORMAT,
        readers: tuple[int, ...] = (), absent: Mapping[int, Unavailable] | None = None,
    ) -> dict[SignalId, Signal]:
        """Both, raw in ns and in seconds as values; `what` names the group."""
        return {signal: Signal(signal, scope, Unit.SECOND, Behavior.COUNTER, reduce, f"{word} of {what}", document,
                               scale=1e-9, readers=readers, absent=absent or {})
                for signal, word in ((self.enabled, "time_enabled"), (self.running, "time_running"))}


@dataclass(frozen=True, slots=True, eq=False)
class _Layout:
    """Layout of a group's read buffer; one object for all CPUs with the same events, compared by identity."""

    count: int  # number of events
    places: Mapping[SignalId, int]  # the word of each signal


@lru_cache(maxsize=256)
def _layout_of(signals: tuple[SignalId, ...], times: Times | None) -> _Layout:
    places = {signal: FIRST_COUNT + index for index, signal in enumerate(signals)}
    if times is not None:
        places[times.enabled] = ENABLED
        places[times.running] = RUNNING
    return _Layout(len(signals), MappingProxyType(places))


@dataclass(frozen=True, slots=True, eq=False)
class _Choice:
    """Signals selected from the buffers of some groups; one object for all CPUs with the same groups."""

    signals: tuple[SignalId, ...]  # in the order of the groups; refused ones last, so that their absence stays visible
    places: tuple[tuple[int, int] | None, ...]  # group and word of each; None for a refused one


@lru_cache(maxsize=256)
def _choice_of(layouts: tuple[_Layout, ...], wanted: frozenset[SignalId]) -> _Choice:
    open_at = {signal: (number, word) for number, layout in enumerate(layouts)
               for signal, word in layout.places.items()}
    signals = (*(signal for signal in open_at if signal in wanted), *sorted(wanted - open_at.keys()))
    return _Choice(signals, tuple(open_at.get(signal) for signal in signals))


_NOTHING = _Choice((), ())


def probe_events(host: Host, events: Iterable[GroupEvent], cpu: int, facts: Circumstances) -> dict[SignalId,
                                                                                                   Unavailable | None]:
    """Open and close each counter alone on one CPU: None for one that opens, otherwise the reason."""
    reasons: dict[SignalId, Unavailable | None] = {}
    for event in events:
        try:
            open_counters(host, (event.attr,), CountTarget(cpu=cpu)).close()
        except HostError as error:
            reasons[event.signal] = explain_perf(error, event.title, facts, event.attr.type)
        else:
            reasons[event.signal] = None
    return reasons


class PerfGroupReader:
    """Open counters of one CPU, in as few groups as the kernel accepts.

    All of `events` are opened, wanted or not, so that the wanted ones can change later (`choose`) without restarting
    the others. An event that the kernel does not accept in the group gets a group of its own; one that does not open at
    all reads as None.

    Args:
        wanted: the signals that `read` returns, in the order of the groups.
        times: for a group's position in `groups`, the signals of its times.

    Raises:
        CpuGone: the CPU is offline.
        HostError: events were refused for good, and none of the wanted ones is open.
    """

    __slots__ = ("_choice", "_cpu", "_host", "_open_groups", "_refusal", "_refused", "_wanted")

    def __init__(self, host: Host, cpu: int, groups: Sequence[Sequence[GroupEvent]], wanted: frozenset[SignalId],
                 times: Mapping[int, Times] | None = None) -> None:
        self._host, self._cpu, self._wanted = host, cpu, wanted
        self._open_groups: list[CounterGroup] = []
        self._choice = _NOTHING
        self._refused: list[tuple[Sequence[GroupEvent], Times | None]] = []
        refusals: list[HostError] = []
        for position, events in enumerate(groups):
            try:
                self._add(events, (times or {}).get(position), refusals)
            except CpuGone:
                self.close()
                raise
        self._refusal = refusals[0] if refusals else None
        useless = not any(wanted & group.layout.places.keys() for group in self._open_groups)
        if refusals and wanted and useless and not self._refused:
            self.close()
            raise refusals[0]
        self._pick(wanted)

    @property
    def signals(self) -> tuple[SignalId, ...]:
        """Signals that `read` returns, in order."""
        return self._choice.signals

    @property
    def incomplete(self) -> bool:
        """Whether a counter was refused that may open later, when another program lets its PMU go."""
        return bool(self._refused)

    def retry(self) -> None:
        """Open the counters that were refused and may open now; the others go on counting.

        Raises:
            CpuGone: the CPU is offline.
        """
        refused, self._refused = self._refused, []
        for events, times in refused:
            self._add(events, times, [])
        self._pick(self._wanted)

    def choose(self, wanted: frozenset[SignalId]) -> bool:
        """Change what `read` returns without opening or closing anything.

        Returns:
            False, without a change, if one of `wanted` is not open here.
        """
        if not all(any(signal in group.layout.places for group in self._open_groups) for signal in wanted):
            return False
        self._pick(wanted)
        return True

    def read(self) -> Sequence[Raw]:
        """One running count for each of `signals`, and ns for times; None for a counter that lost its place.

        Raises HostError if every counter is refused for now.
        """
        if self._refusal is not None and not self._open_groups:
            raise self._refusal.with_traceback(None)  # with it, the frames of every earlier reading
        words = [group.read() for group in self._open_groups]
        return [None if place is None or (group_words := words[place[0]]) is None else group_words[place[1]]
                for place in self._choice.places]

    def close(self) -> None:
        """Close every descriptor."""
        for group in self._open_groups:
            group.close()
        self._open_groups = []
        self._choice = _NOTHING

    def _add(self, events: Sequence[GroupEvent], times: Times | None, refusals: list[HostError]) -> None:
        """Open the events of a group; those that may open later are kept, and other refusals noted."""
        before = len(refusals)
        opened = _open_groups(self._host, self._cpu, events, times, refusals)
        self._open_groups += opened
        if any(may_pass(error, self._host) for error in refusals[before:]):
            there = {signal for group in opened for signal in group.layout.places}
            missing = [event for event in events if event.signal not in there]
            if times is None or not opened:  # a count cannot be scaled by the times of another group
                self._refused.append((missing, times))

    def _pick(self, wanted: frozenset[SignalId]) -> None:
        self._wanted = wanted
        self._choice = _choice_of(tuple(group.layout for group in self._open_groups), wanted)


class CounterGroup:
    """Counters of a CPU, where each signal is in the words of a read, and whether the CPU was there all the time."""

    __slots__ = ("_counters", "_enabled", "_ended", "_pinned", "layout")

    def __init__(self, counters: Counters, events: Iterable[GroupEvent], times: Times | None) -> None:
        members = tuple(events)
        self._pinned = bool(members[0].attr.flags & _PINNED)
        self.layout = _layout_of(tuple(event.signal for event in members), times)
        self._counters = counters
        self._enabled = -1
        self._ended = 0

    def read(self) -> tuple[int, ...] | None:
        """The words of one read; None if the group no longer counts although its CPU is there.

        Raises:
            CpuGone: the CPU went offline.
            HostError: a pinned group has lost its counters to another group.
        """
        now = self._counters.host.now_ns
        started = now()
        return self.words(self.capture(), started, now())

    def capture(self) -> bytes | None:
        """One raw read, which `words` decodes later; None if it is refused.

        Raises:
            CpuGone: the CPU went offline.
            HostError: the machine is a recorded one, on which nothing counts.
        """
        try:
            return self._counters.capture()
        except HostError as error:
            raise_if_gone(error)
            if error.what == RECORDED_COUNTER:
                raise
            return None

    def words(self, data: bytes | None, started: int, ended: int) -> tuple[int, ...] | None:
        """The words of a raw read between two times in ns; returns and raises as `read` does."""
        if data is None:
            return None
        try:
            words = self._counters.words(data)
        except LostCounterError as error:
            if not data and self._pinned:
                raise HostError(errno.EBUSY, "a pinned counter found no place") from error
            raise CpuGone("the counter group ended") from error
        if words[0] != self.layout.count:
            raise CpuGone("the counter group was taken apart")
        # Once its CPU was offline, a counter stands still for good, even after the CPU returns [seen on Linux 6.18],
        # which would look like an idle CPU. Its time_enabled stands still too, while that of a counter on an online CPU
        # keeps up with time. From the end of the last read to the start of this one is at most the time between the two
        # countings.
        between = started - self._ended
        if self._enabled >= 0 and (words[ENABLED] - self._enabled) * 10 < between * 9 - _SLACK_NS:
            raise CpuGone("the CPU was offline")
        self._enabled, self._ended = words[ENABLED], ended
        return words

    def close(self) -> None:
        """Close every descriptor."""
        self._counters.close()


def _open_groups(host: Host, cpu: int, events: Sequence[GroupEvent], times: Times | None,
                 refusals: list[HostError]) -> list[CounterGroup]:
    """Open events as one group; events that do not fit are opened alone.

    Raises:
        CpuGone: the CPU is offline.
    """
    target = CountTarget(cpu=cpu)
    together, members = Counters(host, target), list[GroupEvent]()
    alone: list[tuple[Counters, GroupEvent]] = []
    for event in events:
        # a group is scheduled as a whole: counters of their own (tsc, switches) need not wait for a core PMU
        fits = not members or members[0].attr.type == event.attr.type
        try:
            if fits:
                together.add(event.attr)
                members.append(event)
                continue
        except HostError as error:
            refused = error.with_traceback(None)  # the exception refers to this frame: a cycle for each CPU
            if error.errno in GONE:
                _close_all(together, alone)
                raise CpuGone(str(error)) from error
            # with times, together or not at all: a count cannot be scaled by another group's times
            if not members or times is not None:
                refusals.append(refused)
                continue
        try:
            alone.append((open_counters(host, (event.attr,), target), event))
        except HostError as error:
            if error.errno in GONE:
                _close_all(together, alone)
                raise CpuGone(str(error)) from error
            refusals.append(error.with_traceback(None))
    groups = [CounterGroup(together, members, times)] if members else []
    return groups + [CounterGroup(counters, (event,), None) for counters, event in alone]


def _close_all(together: Counters, alone: Iterable[tuple[Counters, GroupEvent]]) -> None:
    for counters, _event in alone:
        counters.close()
    together.close()
