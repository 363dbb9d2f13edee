"""Spikes: moments at which the whole machine did much more than in the minute before, for the time bar."""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.topology import Topology
from turbotui.quantities.signals import Raw, SignalId
from turbotui.sampling.snapshot import Snapshot

_KEPT: Final = 60
"""Readings of before that a spike is held against."""
_LEAST: Final = 20
"""Readings before nothing is told."""
_QUIET: Final = 30
"""Readings after a spike in which no other of its kind is told: what goes on is no spike."""
_SPREADS: Final = 6.0
"""Median absolute deviations above the median from which on chance is ruled out."""
_IDLE: Final = ("stat.idle", "stat.iowait")
_STATES: Final = (*_IDLE, *(f"stat.{name}" for name in ("user", "nice", "system", "irq", "softirq", "steal")))


@dataclass(frozen=True, slots=True)
class _Kind:
    """One thing that can have spikes.

    Attributes:
        word: what it is called.
        counter: its signal, summed over all instances; "": the share of CPU time that is not idle.
        times: the median of before, at least.
        more: than that median, at least: in counts a second of each CPU, or the share.
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
    """Holds each reading of the whole machine against those of the minute before."""

    def __init__(self) -> None:
        self._pasts = {kind: _Past() for kind in _KINDS}
        self._topology: Topology | None = None
        self._started_ns = 0
        self._totals: dict[SignalId, int] = {}

    def take(self, snapshot: Snapshot) -> Iterator[str]:
        """Sentences about the spikes of the interval that a snapshot ends."""
        before, started = self._totals, self._started_ns
        names = (*_STATES, *(kind.counter for kind in _KINDS if kind.counter))
        found = ((name, _total(snapshot.values.get(name))) for name in names)
        self._totals = {name: total for name, total in found if total is not None}
        self._started_ns = snapshot.started_ns
        same, self._topology = self._topology is snapshot.topology, snapshot.topology
        seconds = (snapshot.started_ns - started) / 1e9
        if not same or seconds <= 0:
            return
        moved = {name: total - before[name] for name, total in self._totals.items() if name in before}
        cpus = len(snapshot.topology.cpus)
        for kind, past in self._pasts.items():
            value = _value(kind, moved, seconds * cpus)
            if value is not None:
                yield from _told(kind, past, value)


def _total(column: Sequence[Raw] | None) -> int | None:
    """The sum of a counter over all instances; None where one of them is unknown."""
    whole = 0
    for value in () if column is None else column:
        if not isinstance(value, int):
            return None
        whole += value
    return whole if column else None


def _value(kind: _Kind, moved: dict[SignalId, int], seconds: float) -> float | None:
    """A kind's value in an interval of so many seconds of CPUs; None where it is unknown, or a counter began anew."""
    if kind.counter:
        increase = moved.get(kind.counter, -1)
        return None if increase < 0 else increase / seconds
    whole = sum(moved.get(name, 0) for name in _STATES)
    if "stat.idle" not in moved or whole <= 0:
        return None
    return 1.0 - sum(moved.get(name, 0) for name in _IDLE) / whole


def _told(kind: _Kind, past: _Past, value: float) -> Iterator[str]:
    values = past.values
    past.quiet = max(0, past.quiet - 1)
    if len(values) >= _LEAST and not past.quiet:
        usual = statistics.median(values)
        spread = statistics.median(abs(one - usual) for one in values)
        if value > max(kind.times * usual, usual + kind.more, usual + _SPREADS * spread) and value > 0:
            past.quiet = _QUIET
            often = f"{value / usual:.1f} times the median of before" if usual > 0 else "none before"
            yield f"spike of {kind.word}: {often}"
    values.append(value)
