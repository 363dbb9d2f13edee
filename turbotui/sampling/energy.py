"""The energy meter: joules of each package over several frames, with the cycles to share them by, or a reason."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.quantities.signals import SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.frame import Frame
from turbotui.sampling.selection import part_of_packages

_ENERGY: Final = "energy.pkg"
_CYCLES: Final = "aperf"
_CLOSE: Final = 1e-9  # seconds
_TOO_SOON: Final = Unavailable(Reason.FIRST_TICK, "the packages' energy has not been read twice")
_PARTLY: Final = Unavailable(Reason.NOT_READ, "the energy of some packages could not be read")
ENERGY_SOURCES: Final = frozenset({
    "clock-start", "perf-msr", "perf-power", "platform-constants", "msr", "amd-energy", "powercap", "proc-stat",
    "clock-end",
})
"""Ids of the sources of the values by which energy is shared; a caller that wants nothing else probes only these."""


@dataclass(frozen=True, slots=True)
class Energy:
    """Energy of packages over some time, with the cycles by which it is shared among tasks."""

    joules: Mapping[int, float]  # by package (position in the topology)
    cycles: Mapping[int, float]  # unhalted cycles by CPU; empty if they are not counted
    seconds: float = 0.0  # the length of that time
    why: Unavailable | None = None  # the reason, if there is no energy
    # seconds between the readings of a package's own counter, if they differ from `seconds`
    spans: Mapping[int, float] = field(default_factory=dict)
    # seconds in which a CPU's cycles were known, if they differ from `seconds`
    read: Mapping[int, float] = field(default_factory=dict)
    # CPUs whose cycles were never known in that time, so that those of their package are no whole
    unread: frozenset[int] = frozenset()
    part: Unavailable | None = None  # why the cycles are not those of all CPUs of the packages; None if they are

    def over(self, seconds: float) -> Energy:
        """Scale the energy to another length of time, because two readers never stop at the same instant."""
        if self.seconds <= _CLOSE:
            return self
        joules = {package: used * seconds / span if span > _CLOSE else used
                  for (package, used), span in zip(self.joules.items(), self._spans().values(), strict=True)}
        cycles = {cpu: used * seconds / known if known > _CLOSE else used
                  for (cpu, used), known in zip(self.cycles.items(), self._read().values(), strict=True)}
        return Energy(joules, cycles, seconds, self.why, unread=self.unread, part=self.part)

    def total(self, packages: int) -> float | None:
        """Joules of a machine with this many packages over `span`; None unless every package is known."""
        return math.fsum(self.over(self.span).joules.values()) if len(self.joules) == packages else None

    @property
    def span(self) -> float:
        """Seconds between the readings of the package that was known for the longest time."""
        return max(self._spans().values(), default=0.0)

    def reason(self, total: float | None) -> Unavailable | None:
        """Why there is no total; None if there is one."""
        return None if total is not None else self.why or _PARTLY

    def plus(self, other: Energy) -> Energy:
        """The sum of this energy and another; a missing energy adds nothing."""
        joules, cycles = _plus(self.joules, other.joules), _plus(self.cycles, other.cycles)
        return Energy(joules, cycles, self.seconds + other.seconds,
                      None if joules else other.why, _plus(self._spans(), other._spans()),
                      _plus(self._read(), other._read()), (self.unread | other.unread) - cycles.keys(),
                      self.part or other.part)

    def _read(self) -> dict[int, float]:
        return {cpu: self.read.get(cpu, self.seconds) for cpu in self.cycles}

    def _spans(self) -> dict[int, float]:
        return {package: self.spans.get(package, self.seconds) for package in self.joules}


class EnergyMeter:
    """Adds up frames until a taker asks for the sum; frames and takers may be on different threads."""

    def __init__(self, capabilities: Capabilities) -> None:
        self._lock = threading.Lock()
        self._absent = None if _ENERGY in capabilities.signals else capabilities.why_missing(_ENERGY)
        self._energy = self._empty()

    def feed(self, frame: Frame) -> None:
        """Add an interval."""
        if frame.older is None or self._absent is not None:
            return
        known = frame.capabilities.signals
        if _ENERGY not in known:
            self._absent = frame.capabilities.why_missing(_ENERGY)
            return
        joules = {package: value for package, value in enumerate(frame.deltas(_ENERGY)) if value is not None}
        spans = {package: span for package, span in enumerate(frame.spans(_ENERGY)) if package in joules and span}
        doubted = next(iter(frame.unbelieved(_ENERGY).values()), None)
        seconds, topology = frame.seconds or 0.0, frame.topology
        # by the time between a CPU's own readings: after a late one that is more than the interval
        rates = dict(zip(topology.cpus, frame.rates(_CYCLES), strict=True)) if _CYCLES in known else {}
        cycles = {cpu: rate * seconds for cpu, rate in rates.items() if rate is not None}
        more = Energy(joules, cycles, seconds, None if joules else doubted or _TOO_SOON, spans, {},
                      frozenset(rates.keys() - cycles.keys()) if cycles else frozenset(), part_of_packages(topology))
        with self._lock:
            self._energy = self._energy.plus(more)

    def take(self) -> Energy:
        """The energy accumulated since the last call."""
        with self._lock:
            energy, self._energy = self._energy, self._empty()
        return energy if energy.joules or self._absent is None else replace(energy, why=self._absent)

    def _empty(self) -> Energy:
        return Energy({}, {}, why=self._absent or _TOO_SOON)


def energy_of(frame: Frame) -> Energy:
    """The packages' energy of one frame."""
    meter = EnergyMeter(frame.capabilities)
    meter.feed(frame)
    return meter.take()


def energy_signals(capabilities: Capabilities) -> frozenset[SignalId]:
    """The signals that `EnergyMeter` reads; empty if there is no energy."""
    if _ENERGY not in capabilities.signals:
        return frozenset()
    return frozenset(name for name in (_ENERGY, _CYCLES) if name in capabilities.signals)


def _known(pairs: Iterable[tuple[int, float | None]]) -> dict[int, float]:
    return {key: value for key, value in pairs if value is not None}


def _plus(old: Mapping[int, float], more: Mapping[int, float]) -> dict[int, float]:
    return {**old, **{key: old.get(key, 0.0) + value for key, value in more.items()}}
