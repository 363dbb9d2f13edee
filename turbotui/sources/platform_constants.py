"""Constants of the machine, known from the probe: base clock, TSC clock, their ratio, turbo clocks, tj_max."""

from __future__ import annotations

from collections.abc import Sequence

from turbotui.dataclass import dataclass
from turbotui.machine.calibration import Constant, KnownConstant, base_hz, tj_max, tsc_hz, tsc_tweak, turbo_hz
from turbotui.machine.machine import Machine
from turbotui.machine.perf_errors import circumstances
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.bases import NothingToClose, PerCpuSource
from turbotui.sources.source import Probe


@dataclass(frozen=True, slots=True)
class _Row:
    """A constant's unit, the step of its raw integer, and its document."""

    unit: Unit
    step: float
    document: str


_ROWS = {
    "base_hz": _Row(Unit.HERTZ, 1.0, "Intel SDM vol. 4, MSR_PLATFORM_INFO; vol. 2, CPUID 0x16"),
    "tsc_hz": _Row(Unit.HERTZ, 1.0, "Intel SDM vol. 2, CPUID 0x15"),
    # A raw value is an integer, so the ratio is kept in parts of 10^12.
    "tsc_tweak": _Row(Unit.RATIO, 1e-12, "turbostat(8); Intel SDM vol. 4, MSR_PLATFORM_INFO"),
    "turbo.single": _Row(Unit.HERTZ, 1.0, "Intel SDM vol. 4, MSR_TURBO_RATIO_LIMIT"),
    "turbo.all": _Row(Unit.HERTZ, 1.0, "Intel SDM vol. 4, MSR_TURBO_RATIO_LIMIT"),
    "tj_max": _Row(Unit.CELSIUS, 1.0, "Intel SDM vol. 4, MSR_TEMPERATURE_TARGET"),
}


class _Nothing(NothingToClose):
    """A reader without signals, because constants are never read again."""

    signals: tuple[SignalId, ...] = ()

    def read(self) -> Sequence[Raw]:
        return ()


class PlatformConstants(PerCpuSource):
    """Constants by register, CPUID and cpufreq."""

    id = "platform-constants"

    def probe(self, machine: Machine) -> Probe:
        """Read every constant once."""
        facts = circumstances(machine)
        base, tsc = base_hz(machine, facts), tsc_hz(machine, facts)
        single, everyone = turbo_hz(machine, facts)
        answers: dict[SignalId, Constant] = {"base_hz": base, "tsc_hz": tsc,
            "tsc_tweak": tsc_tweak(machine, base, tsc, facts), "turbo.single": single, "turbo.all": everyone,
            "tj_max": tj_max(machine, facts)}
        return Probe({signal: _signal(signal, answer) for signal, answer in answers.items()})

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> _Nothing:  # noqa: ARG002 as above
        """A reader without signals."""
        return _Nothing()


def _signal(signal: SignalId, answer: Constant) -> Signal | Unavailable:
    if not isinstance(answer, KnownConstant):
        return answer
    row = _ROWS[signal]
    return Signal(id=signal, scope=Scope.SYSTEM, unit=row.unit, behavior=Behavior.CONSTANT, reduce=Reduce.SAME,
                  origin=answer.origin, document=row.document, scale=row.step, constant=round(answer.value / row.step))
