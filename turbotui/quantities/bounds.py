"""Bounds: what a reading cannot be, by its unit and by what it measures.

A register that is not there, a driver that subtracts unsigned numbers and a bus that answers with ones give numbers
that no machine can have. They are far outside, so the bounds are wide: nothing that exists comes near them. They are
not part of a `Signal`, so that recordings of any age are held against those of today.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.quantities.signals import Behavior, Signal, SignalId
from turbotui.quantities.units import Unit


@dataclass(frozen=True, slots=True)
class Bounds:
    """The range of a signal in its unit: of the value of a gauge, of the increase a second of a counter's instance."""

    least: float  # smallest possible number
    most: float  # largest possible number
    because: str  # what makes the range certain, a clause for people
    zero: bool = True  # whether 0 is a value and not a way to say nothing

    def admits(self, value: float) -> bool:
        """Whether a gauge can have a value."""
        return self.least <= value <= self.most and (self.zero or value != 0)


_TASKS: Final = 4_194_304.0  # PID_MAX_LIMIT, kernel include/linux/threads.h
_FASTEST: Final = 20e9  # Hz; the highest clock that a processor was ever run at is 9.2 GHz
NO_BOUNDS: Final = Bounds(-math.inf, math.inf, "")
_TIME: Final = Bounds(0.0, 1.1, "no time passes faster than the interval")
"""Readings lie some ms apart, and shares up to 110 % are real (docs/specs/turbostat.md 0)."""
_SILICON: Final = "sensors of processors and boards measure -55 to 150 °C (data sheets of LM75, TMP421)"
_RACK: Final = "no machine takes so much: a whole rack takes 200 kW"

_GAUGES: Final[Mapping[Unit, Bounds]] = {
    Unit.CELSIUS: Bounds(-60.0, 200.0, _SILICON),
    Unit.HERTZ: Bounds(0.0, _FASTEST, "no clock of a machine is so fast"),
    Unit.WATT: Bounds(-200e3, 200e3, _RACK),
    Unit.VOLT: Bounds(-1e3, 1e3, "no supply of a machine has so many volts"),
    Unit.AMPERE: Bounds(-10e3, 10e3, "no supply of a machine gives so many amperes"),
    Unit.JOULE: Bounds(0.0, 1e9, "no battery of a machine holds so much"),
    Unit.COULOMB: Bounds(0.0, 1e8, "no battery of a machine holds so much"),
    Unit.BYTE: Bounds(0.0, 2.0**57, "no processor addresses so much"),  # Intel SDM vol. 3, 5-level paging
}
_COUNTERS: Final[Mapping[Unit, Bounds]] = {
    Unit.SECOND: _TIME,
    Unit.CYCLE: Bounds(0.0, _FASTEST, "no clock of a processor is so fast"),
    Unit.JOULE: Bounds(0.0, 200e3, _RACK),
    Unit.BYTE: Bounds(0.0, 1e14, "no memory is so fast"),
    Unit.COUNT: Bounds(0.0, 1e14, "nothing in a processor happens so often"),
    Unit.FLOP: Bounds(0.0, 1e18, "no processor computes so fast"),
}

_OFTEN: Final = Bounds(0.0, 1e9, "a kernel does nothing so often")
_OF_TASKS: Final = Bounds(0.0, _TASKS, "Linux has at most 4,194,304 tasks (PID_MAX_LIMIT)")
_CLOCK: Final = Bounds(0.0, _FASTEST, "what runs has a clock, and none is so fast", zero=False)
_RUNNING: Final = Bounds(
    1e-3, 200e3, "a machine that runs this program takes more than 0 W, and less than a rack", zero=False)
_SHARE: Final = Bounds(0.0, 1.1, "it is a share of all there is")
_PACKAGE: Final = Bounds(0.0, 10e3, "no package takes 10 kW")

_ANY: Final = ("",)
_BY_ID: Final[tuple[tuple[tuple[str, ...], tuple[str, ...], Bounds], ...]] = (
    (("energy.",), _ANY, _PACKAGE),
    (("cpufreq.",), _ANY, _CLOCK),
    (("stat.running", "stat.blocked", "load."), _ANY, _OF_TASKS),
    (("irq.", "softirq.", "stat.forks", "switches", "migrations", "faults", "smi"), _ANY, _OFTEN),
    (("cpuidle.",), (".usage",), _OFTEN),
    (("stat.ctxt",), _ANY, Bounds(0.0, 1e11, "CPUs do not switch so often")),
    (("throttle.",), (".count",), Bounds(0.0, 1e6, "no driver logs it so often")),
    (("hsmp.c0", "hsmp.gfx", "hsmp.hbm"), _ANY, _SHARE),
    (("instructions",), _ANY, Bounds(0.0, 32 * _FASTEST, "no core retires so many")),
    (("uncore.",), (".cur",), _CLOCK),
    (("epb",), _ANY, Bounds(0.0, 15.0, "the field has four bits")),
    (("c0.pkg.total",), _ANY, Bounds(0.0, 1024 * _FASTEST, "no package has so many cores")),
    (("sched.delay",), _ANY, Bounds(0.0, _TASKS, "no more tasks can wait")),
    (("cgroup.psi.",), _ANY, _TIME),
    (("cgroup.",), _ANY, NO_BOUNDS),  # of all CPUs of the group
    (_ANY, (".enabled", ".running"), NO_BOUNDS),  # times of several counters may be added
    (("meter.meter.", "meter.bmc.", "meter.module.", "meter.socket.", "meter.apu."), (".power",), _RUNNING),
    (("meter.fan.",), (".turns",), Bounds(0.0, 60e3, "no fan turns so fast")),
    (("meter.battery.",), (".cycles",), Bounds(0.0, 60e3, "no battery lives so long")),
    (("meter.battery.",), (".capacity",), _SHARE),
)
"""Narrower ranges, and wider ones, by how an id may begin and end; the first that fits counts."""


_SYMBOLS: Final[Mapping[Unit, str]] = {Unit.COUNT: "", Unit.RATIO: "", Unit.CYCLE: "cycles", Unit.FLOP: "flop"}


def in_words(value: float, signal: Signal) -> str:
    """A number of a signal with its unit: "65,262 °C", "4.29e+12 Hz"."""
    return f"{value:,.10g} {_SYMBOLS.get(signal.unit, signal.unit.value)}".rstrip()


def bounds_of(signal: Signal) -> Bounds:
    """Bounds of a signal's numbers."""
    return bounds_of_kind(signal.id, signal.unit, signal.behavior is Behavior.COUNTER)


def bounds_of_kind(name: SignalId, unit: Unit, counter: bool) -> Bounds:
    """Bounds of the numbers of a signal, or of a quantity that is measured like that signal."""
    if unit is Unit.TEXT:
        return NO_BOUNDS
    for begins, ends, bounds in _BY_ID:
        if name.startswith(begins) and name.endswith(ends):
            return bounds
    return (_COUNTERS if counter else _GAUGES).get(unit, NO_BOUNDS)
