"""The time around a CPU's readings: start, end, and the time of day at the end.

Two sources read the host's clocks: `ClockStart` is first in SOURCES and `ClockEnd` last, and a worker reads its sources
in that order, so the two enclose everything that is read on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from turbotui.machine.machine import Machine
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal, SignalId
from turbotui.quantities.units import Unit
from turbotui.sources.bases import NothingToClose, PerCpuSource
from turbotui.sources.source import Probe, Reader

_DOCUMENT = "clock_gettime(2)"


class _ClockReader(NothingToClose):
    """Asks the host's clocks at every read."""

    def __init__(self, clocks: Mapping[SignalId, Callable[[], int]]) -> None:
        self._clocks = tuple(clocks.values())
        self.signals = tuple(clocks)

    def read(self) -> Sequence[Raw]:
        return [clock() for clock in self._clocks]


def _signal(name: SignalId, reduce: Reduce, origin: str) -> Signal:
    return Signal(name, Scope.CPU, Unit.SECOND, Behavior.GAUGE, reduce, origin=origin, document=_DOCUMENT, scale=1e-9)


class _Clock(PerCpuSource):
    """A source over clocks of the host."""

    _signals: Mapping[SignalId, Signal]

    def probe(self, machine: Machine) -> Probe:  # noqa: ARG002 - every host has clocks
        return Probe(dict(self._signals))

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> Reader:  # noqa: ARG002 - the contract's
        host = machine.host
        clocks: Mapping[SignalId, Callable[[], int]] = {
            "clock.start": host.now_ns, "clock.end": host.now_ns, "clock.wall": host.wall_ns}
        return _ClockReader({name: clocks[name] for name in self._signals if name in wanted})


class ClockStart(_Clock):
    """The `Source` of the time before a CPU's other readings."""

    id = "clock-start"
    _signals: Mapping[SignalId, Signal] = {"clock.start": _signal("clock.start", Reduce.MIN,
                                                                  "monotonic clock before a CPU's readings")}


class ClockEnd(_Clock):
    """The `Source` of the time after a CPU's other readings."""

    id = "clock-end"
    _signals: Mapping[SignalId, Signal] = {"clock.end": _signal("clock.end", Reduce.MAX,
        "monotonic clock after a CPU's readings"), "clock.wall": _signal("clock.wall", Reduce.MAX,
        "time of day after a CPU's readings")}
