"""Finds events between two snapshots: skipped ticks, a set clock, CPUs that came or went, alerts, spikes."""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final, cast

from turbotui.dataclass import dataclass
from turbotui.machine import suspend_clock
from turbotui.machine.cpulist import format_cpulist
from turbotui.machine.topology import Topology
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Raw, SignalId
from turbotui.recording.stream_writer import Event, Gap
from turbotui.recording.tiers import clock_step
from turbotui.sampling.snapshot import Snapshot

_KEPT: Final = 60
"""Earlier readings that a spike is compared with."""
_LEAST: Final = 20
"""Readings that are needed before any spike is reported."""
_QUIET: Final = 30
"""Readings after a spike for which its kind is not reported again, because a lasting change is no spike."""
_SPREADS: Final = 6.0
"""Median absolute deviations above the median from which on a reading is a spike."""
_IDLE: Final = ("stat.idle", "stat.iowait")
_STATES: Final = (*_IDLE, *(f"stat.{name}" for name in ("user", "nice", "system", "irq", "softirq", "steal")))


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of spike: a value that is `times` the median of earlier readings and `more` above it.

    The counter is summed over all instances, in counts per second and CPU; "" is the share of CPU time that is not
    idle.
    """

    word: str
    counter: SignalId
    times: float
    more: float


_KINDS: Final = (
    _Kind("CPU time", "", 3.0, 0.25),
    _Kind("energy of packages", "energy.pkg", 2.0, 0.0),
    _Kind("interrupts", "irq.total", 3.0, 1000.0),
    _Kind("switches", "switches", 3.0, 1000.0),
)


@dataclass(slots=True, eq=False)
class _Past:
    values: deque[float] = field(default_factory=lambda: deque(maxlen=_KEPT))
    quiet: int = 0


class Spikes:
    """Compares each reading of the whole machine with those of the minute before."""

    def __init__(self) -> None:
        self._pasts = {kind: _Past() for kind in _KINDS}
        self._topology: Topology | None = None
        self._started_ns = 0
        self._totals: dict[SignalId, int] = {}

    def take(self, snapshot: Snapshot) -> Iterator[str]:
        """Return sentences about the spikes of the interval that a snapshot ends."""
        before, started = self._totals, self._started_ns
        names = (*_STATES, *(kind.counter for kind in _KINDS if kind.counter))
        totals = ((name, _total(snapshot.values.get(name))) for name in names)
        self._totals = {name: total for name, total in totals if total is not None}
        self._started_ns = snapshot.started_ns
        same, self._topology = self._topology is snapshot.topology, snapshot.topology
        seconds = (snapshot.started_ns - started) / 1e9
        if not same or seconds <= 0:
            return
        moved = {name: total - before[name] for name, total in self._totals.items() if name in before}
        cpus = len(snapshot.topology.cpus)
        for kind, past in self._pasts.items():
            if (value := _value(kind, moved, seconds * cpus)) is not None:
                yield from _spike_sentence(kind, past, value)


def _total(column: Sequence[Raw] | None) -> int | None:
    """Return the sum of a counter over all instances; None if one of them is unknown."""
    try:
        return sum(cast("Sequence[int]", column)) if column else None
    except TypeError:  # None and texts cannot be added
        return None


def _value(kind: _Kind, moved: dict[SignalId, int], seconds: float) -> float | None:
    """Return a kind's value in an interval of that many CPU seconds; None if unknown, or a counter began anew."""
    if kind.counter:
        increase = moved.get(kind.counter, -1)
        return None if increase < 0 else increase / seconds
    whole = sum(moved.get(name, 0) for name in _STATES)
    if "stat.idle" not in moved or whole <= 0:
        return None
    return 1.0 - sum(moved.get(name, 0) for name in _IDLE) / whole


def _spike_sentence(kind: _Kind, past: _Past, value: float) -> Iterator[str]:
    values = past.values
    past.quiet = max(0, past.quiet - 1)
    if len(values) >= _LEAST and not past.quiet:
        usual = statistics.median(values)
        # the spread is asked for last: a calm machine needs it at no tick
        if value > max(kind.times * usual, usual + kind.more, 0.0) and value > usual + _SPREADS * statistics.median(
                abs(value - usual) for value in values):
            past.quiet = _QUIET
            often = f"{value / usual:.1f} times the median of before" if usual > 0 else "none before"
            yield f"spike of {kind.word}: {often}"
    values.append(value)


_THROTTLING: Final[Mapping[SignalId, tuple[Scope, str]]] = {
    "throttle.core.count": (Scope.CORE, "cores"),
    "throttle.pkg.count": (Scope.PACKAGE, "packages"),
}
"""Counters of thermal throttling (sysfs thermal_throttle), and whom each counts for."""
_GOVERNOR: Final = "cpufreq.governor"


class Alerts:
    """Compares each snapshot with the one before, and reports the beginning of throttling, not its continuation."""

    def __init__(self) -> None:
        self._throttled: dict[SignalId, bool] = {}

    def between(self, before: Snapshot, now: Snapshot) -> Iterator[str]:
        """Return sentences about what began in this interval; none if CPUs came or went, which is its own event."""
        if now.topology is not before.topology:
            return
        yield from self._throttling(before, now)
        yield from _governors(before, now)
        lost = now.failures.keys() - before.failures.keys()
        for source in sorted({source for source, _cpu in lost}):
            cpus = [cpu for name, cpu in lost if name == source and cpu >= 0]
            where = f" of CPUs {format_cpulist(cpus)}" if cpus else ""
            yield f"counters lost: {source}{where}"

    def _throttling(self, before: Snapshot, now: Snapshot) -> Iterator[str]:
        for name, (scope, word) in _THROTTLING.items():
            older, newer = before.values.get(name), now.values.get(name)
            if older is None or newer is None:
                continue
            pairs = () if older == newer else zip(older, newer, strict=True)  # nearly always
            rising = [at for at, (less, more) in enumerate(pairs)
                      if isinstance(less, int) and isinstance(more, int) and more > less]
            if rising and not self._throttled.get(name):
                instances = now.topology.instances(scope)
                some = f"{len(rising)} of {len(newer)} {word}, from CPU {instances[rising[0]].cpus[0]} on"
                yield f"throttled for heat: {some if len(rising) < len(newer) else f'all {word}'}"
            self._throttled[name] = bool(rising)


def _governors(before: Snapshot, now: Snapshot) -> Iterator[str]:
    older, newer = before.values.get(_GOVERNOR), now.values.get(_GOVERNOR)
    if older is None or newer is None or older == newer:
        return
    cells = zip(now.topology.cpus, older, newer, strict=True)
    changed = lists_by_key(((was, is_now), cpu) for cpu, was, is_now in cells
                           if was is not None and is_now is not None and was != is_now)
    for (was, is_now), cpus in changed.items():
        yield f"governor {was} became {is_now}: CPUs {format_cpulist(cpus)}"


_ASLEEP_SECONDS: Final = 0.1  # of a suspend that is worth an event


class Changes:
    """Finds events by comparing each snapshot with the one before; recordings of the same frames share one.

    Args:
        suspended_ns: returns the time for which this machine has been suspended since its start, in ns.
    """

    def __init__(self, suspended_ns: Callable[[], int] | None = None) -> None:
        self._suspended_ns = suspended_ns or suspend_clock.suspended_ns
        self._suspended = self._suspended_ns()
        self._last: Snapshot | None = None
        self._events: Sequence[Gap | Event] = ()  # before the last one
        self._alerts, self._spikes = Alerts(), Spikes()

    def take(self, snapshot: Snapshot) -> Sequence[Gap | Event]:
        """Return the events before a snapshot, in the order of their report; the same again for the same snapshot."""
        if snapshot is not self._last:
            self._events = self._between(self._last, snapshot)
            self._last = snapshot
        return self._events

    def _between(self, before: Snapshot | None, snapshot: Snapshot) -> Sequence[Gap | Event]:
        spikes = tuple(self._spikes.take(snapshot))
        if before is None:
            return ()
        wall, started = snapshot.wall_ns, snapshot.started_ns
        changes: list[Gap | Event] = []
        slept = self._suspended_ns()
        asleep, self._suspended = (slept - self._suspended) / 1e9, slept
        passed = (started - before.started_ns) / 1e9
        if asleep > _ASLEEP_SECONDS:
            changes.append(Gap(wall, started, "suspend", asleep))
        if step := clock_step(before, snapshot):
            changes.append(Gap(wall, started, "clock", step))
        if snapshot.overruns > before.overruns:
            changes.append(Gap(wall, started, "missed", passed, snapshot.overruns - before.overruns))
        if snapshot.topology is not before.topology:
            old, new = set(before.topology.cpus), set(snapshot.topology.cpus)
            gone, come = format_cpulist(old - new), format_cpulist(new - old)
            parts = [f"CPUs {gone} went" if gone else "", f"CPUs {come} came" if come else ""]
            changes.append(Event(wall, started, "topology", ", ".join(filter(None, parts)) or "the topology changed"))
        texts = (*self._alerts.between(before, snapshot), *spikes)
        changes += [Event(wall, started, "alert", text) for text in texts]
        return changes
