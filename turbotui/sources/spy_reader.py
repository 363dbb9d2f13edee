"""A spy: reads the event sets of one CPU, on the worker that is pinned there, and multiplexes them.

What a set counted is added to totals that outlive it, so neither a change of sets nor multiplexing loses a count:
the new set is opened and read, then the old one is read for the last time and closed. In between runs only the spy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from turbotui.counting.counters import CountTarget, open_counters
from turbotui.counting.totals import scaled
from turbotui.dataclass import dataclass
from turbotui.events.encoded import EncodedEvent
from turbotui.machine.host import Host, HostError
from turbotui.machine.timed_reads import undisturbed
from turbotui.quantities.signals import Raw, SignalId
from turbotui.quantities.spies import SpyPlan
from turbotui.quantities.spy_signals import SAMPLES, SETS, SpySignals
from turbotui.sources.perf_group import CounterGroup, GroupEvent, Times
from turbotui.sources.source import Capture, CpuGone, raise_if_gone
from turbotui.sources.spy_sets import Arrangement, SpySet

_ENABLED, _RUNNING = ":enabled", ":running"
_FIELDS = ("count", "enabled", "running", "beside", "last", "along")  # of a tally, named as in `SpySignals`


@dataclass()
class SpyEffort:
    """System calls of spying so far; one for each reader, written by its thread only."""

    reads: int = 0  # of counter groups
    opened: int = 0  # counters opened


@dataclass(slots=True)
class _Tally:
    """One event's totals on one CPU, over all its sets."""

    count: int = 0
    # enabled, running: ns
    enabled: int = 0
    running: int = 0
    begun: tuple[int, int, int] = (0, 0, 0)  # `count` when the interval began
    # last, along: of the newest interval in which its set was on
    last: int | None = None
    along: int | None = None
    beside: int = 0  # the reference since the event is asked for here
    # count and ns from the last reading of an interval to the change of sets. So short a time says nothing of an
    # interval, so it is added when the event's set is on again.
    held: tuple[int, int, int] = (0, 0, 0)

    def add(self, gain: tuple[int, int, int]) -> None:
        """Add new counts, and counts that were held back before."""
        self.count += gain[0] + self.held[0]
        self.enabled += gain[1] + self.held[1]
        self.running += gain[2] + self.held[2]
        self.held = (0, 0, 0)


class _OpenSet:
    """The open groups of one set, and their counts at the last reading."""

    def __init__(self, host: Host, cpu: int, spy_set: SpySet, effort: SpyEffort) -> None:
        self.spy_set = spy_set
        self._host = host
        self._effort = effort
        self._groups: list[tuple[tuple[str, ...], CounterGroup]] = []
        try:
            for events in spy_set:
                self._groups.append((tuple(event.name for event in events), self._opened(cpu, events)))
            started = host.now_ns()
            self._seen = self._words(self.capture(), started, host.now_ns())
        except CpuGone:
            self.close()
            raise
        except HostError as error:
            self.close()
            raise_if_gone(error)
            raise

    def _opened(self, cpu: int, events: tuple[EncodedEvent, ...]) -> CounterGroup:
        counters = open_counters(self._host, (event.attr for event in events), CountTarget(cpu=cpu))
        self._effort.opened += len(events)
        members = [GroupEvent(event.name, event.attr, event.string) for event in events]
        return CounterGroup(counters, members, Times(_ENABLED, _RUNNING))

    def capture(self) -> Capture:
        """Return the raw bytes of every group now. Raises CpuGone if the CPU went offline."""
        return [group.capture() for _names, group in self._groups]

    def _words(self, captured: Capture, started: int, ended: int) -> list[tuple[int, ...]]:
        counts = []
        for (_names, group), group_words in zip(self._groups, captured, strict=True):
            words = group.words(group_words, started, ended)
            self._effort.reads += 1
            if words is None:
                raise CpuGone("a set of counters ended")
            counts.append(words)
        return counts

    def increases(self, captured: Capture, started: int, ended: int) -> dict[str, tuple[int, int, int]]:
        """Return count, ns enabled and ns running of each event since the previous capture.

        Raises:
            CpuGone: the CPU went offline.
        """
        grown: dict[str, tuple[int, int, int]] = {}
        before, self._seen = self._seen, self._words(captured, started, ended)
        for (names, group), old, new in zip(self._groups, before, self._seen, strict=True):
            places = group.layout.places
            enabled, running = places[_ENABLED], places[_RUNNING]
            on, ran = new[enabled] - old[enabled], new[running] - old[running]
            for name in names:
                grown[name] = (new[places[name]] - old[places[name]], on, ran)
        return grown

    def close(self) -> None:
        for _names, group in self._groups:
            group.close()
        self._groups = []


class SpyReader:
    """The spy of one CPU.

    Args:
        effort: where it notes what it costs.

    Attributes:
        samples: intervals that ended so far.

    Raises:
        CpuGone: the CPU is offline.
        HostError: its first set does not open.
    """

    def __init__(self, arrangement: Callable[[], Arrangement], host: Host, cpu: int, wanted: frozenset[SignalId],
                 effort: SpyEffort) -> None:
        self._newest = arrangement
        self._host = host
        self._cpu = cpu
        self._effort = effort
        self._tallies: dict[str, _Tally] = {}
        self._open: _OpenSet | None = None
        self._arrangement = Arrangement(SpyPlan())
        self._sets: tuple[SpySet, ...] = ()
        self._at = 0
        self.samples = 0
        self._time = host.now_ns()
        self.signals: tuple[SignalId, ...] = tuple(sorted(wanted))
        self._picks: tuple[tuple[object, str] | None, ...] = ()
        self._joins = False
        self._follow()

    def read(self) -> Sequence[Raw]:
        """Return the totals of every event counted here; None for other events."""
        started = self._host.now_ns()
        return self.decode(self.capture(), started, self._host.now_ns())

    @property
    def deferrable(self) -> bool:
        """Whether one set counts all the time, so that nothing has to be done between two readings."""
        return len(self._sets) == 1

    def capture(self) -> Capture:
        """Return the raw bytes of the groups of the active set. Raises CpuGone if the CPU went offline."""
        return () if self._open is None else self._open.capture()

    def decode(self, captured: Capture, started: int, ended: int) -> Sequence[Raw]:
        """Return totals as of the time of a capture; captures must be decoded in their order."""
        self._collect(captured, started, ended)
        return [None if pick is None else getattr(*pick) for pick in self._picks]

    def choose(self, wanted: frozenset[SignalId]) -> bool:
        """Return these signals of the newest arrangement from now on; no continuing count starts again."""
        self.signals = tuple(sorted(wanted))
        try:
            self._follow()
        except (CpuGone, HostError):
            return False  # opened anew, it says why
        self._pick()
        return True

    def rotate(self, *, more: bool = False) -> None:
        """Adopt a new arrangement at the end of an interval, and rotate to the next set.

        Args:
            more: captures of the same set are still to be decoded: it stays.
        """
        self.samples += 1
        if not more:
            if self._newest() is not self._arrangement:
                self._follow()
            elif len(self._sets) > 1:
                self._at = (self._at + 1) % len(self._sets)
                self._switch()
        self._begin()

    @property
    def set_count(self) -> int:
        """The number of sets that are multiplexed on this CPU."""
        return len(self._sets)

    def close(self) -> None:
        """Close every counter."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _follow(self) -> None:
        arrangement = self._newest()
        if arrangement is self._arrangement:
            return
        running = None if self._open is None else self._open.spy_set
        self._arrangement = arrangement
        self._sets = arrangement.sets.get(self._cpu, ())
        self._tallies = {name: self._tallies.get(name) or _Tally() for name in arrangement.counted(self._cpu)}
        self._at = self._sets.index(running) if running in self._sets else 0
        self._switch()
        self._begin()
        self._pick()

    def _switch(self) -> None:
        """Open the set that counts next; the counts of the old set stay in the totals."""
        spy_set = self._sets[self._at] if self._sets else None
        if self._open is not None and self._open.spy_set == spy_set:
            return
        fresh = None if spy_set is None else _OpenSet(self._host, self._cpu, spy_set, self._effort)
        old = self._open
        try:
            # What both count is the old set's up to its last reading, and the new set's from the next line on. A thread
            # that loses its CPU between the two loses what was counted meanwhile, so it reads both again.
            started, (last, first), ended = undisturbed(
                lambda: (() if old is None else old.capture(), () if fresh is None else fresh.capture()),
                1, self._host.now_ns)
            if old is not None:
                self._collect(last, started, ended, _names(spy_set))
                old.close()
            if fresh is not None:
                fresh.increases(first, started, ended)
        except (CpuGone, HostError):
            if fresh is not None:
                fresh.close()
            raise
        self._open = fresh
        self._time = self._host.now_ns()

    def _collect(self, captured: Capture, started: int, ended: int, following: frozenset[str] | None = None) -> None:
        """Add the counts since the last reading to the totals.

        Args:
            captured: the set that is open, as it was then.
            started: ns before it was captured.
            ended: ns after that.
            following: where the set changes, the events of the next one. It counts from the end of the interval on, as
                good as; what only the old one counted since then is held back.
        """
        elapsed, self._time = started - self._time, started
        grown = {} if self._open is None else self._open.increases(captured, started, ended)
        reference = self._arrangement.plan.reference
        if following is not None:
            # Both sets were open for some microseconds, in which the PMU may not have had room for both.
            grown = {name: (_scaled(*gain), gain[1], gain[1]) for name, gain in grown.items()}
        beside = grown.get(reference)
        for name, tally in self._tallies.items():
            gain = grown.get(name)
            if gain is None:
                tally.enabled += 0 if following is not None and name in following else elapsed
            elif following is not None and name not in following:
                tally.held = gain
                continue
            else:
                tally.add(gain)
                if self._joins:
                    tally.last, tally.along = self._of_interval(tally), None
            if self._joins and beside is not None:
                tally.beside += _scaled(*beside)
        on = self._tallies.get(reference) if self._joins else None
        if on is not None and beside is not None and following is None:
            along = self._of_interval(on)
            for name in grown:
                if name in self._tallies:
                    self._tallies[name].along = along

    @staticmethod
    def _of_interval(tally: _Tally) -> int:
        """Return the counts of a tally in the present interval."""
        count, enabled, running = tally.begun
        return _scaled(tally.count - count, tally.enabled - enabled, tally.running - running)

    def _begin(self) -> None:
        for tally in self._tallies.values():
            tally.begun = (tally.count, tally.enabled, tally.running)

    def _pick(self) -> None:
        picked: dict[SignalId, tuple[object, str]] = {}
        if self._sets:
            picked = {SAMPLES: (self, "samples"), SETS: (self, "set_count")}
        self._joins = False
        for name, tally in self._tallies.items():
            ids = SpySignals(name)
            picked |= {getattr(ids, field): (tally, field) for field in _FIELDS}
            self._joins = self._joins or not set(ids.joined).isdisjoint(self.signals)
        self._picks = tuple(picked.get(name) for name in self.signals)


def _names(spy_set: SpySet | None) -> frozenset[str]:
    return frozenset(event.name for group in spy_set or () for event in group)


def _scaled(count: int, enabled: int, running: int) -> int:
    """Scale a count that ran for part of the time to all of it; 0 if it never ran."""
    return round(scaled(count, enabled, running) or 0)
