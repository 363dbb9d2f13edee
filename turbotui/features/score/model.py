"""The performance ratio APERF/MPERF under load, and the benchmark score that it predicts.

A score that is bound by the clock grows with the slowest busy CPU's ratio: score = baseline x ratio / baseline's ratio.
The counters' definitions: Intel SDM vol. 3 section 16.2; the claimed bound of 1.1 % and the worked example (113.2 at
ratio 1.0 predicts 121.5 at 1.07346, 120.8 measured) are those of the literature on this method.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import TurbotuiError
from turbotui.machine.cpulist import format_cpulist
from turbotui.quantities.catalog.frequency import BUSY
from turbotui.quantities.plain_numbers import whole_number

BOUND: Final = 0.011  # relative error that the literature claims for the prediction
LOADED: Final = 0.9  # share of the time for which CPUs must be busy so that the ratio is the load's
SHORTEST: Final = 1.0  # seconds below which the milliseconds between reading CPUs affect the ratio
FEWER: Final = 0.05  # share of CPUs by which the numbers of busy CPUs of two similar runs may differ
IDLER: Final = 0.1  # share of the time by which their load may differ
GREATEST: Final = 1e15  # of a score and of any number kept of a run, so that sums and squares stay finite
STOLEN: Final = 0.01  # share of the wanted CPU time from which a score is doubted
CLOCK: Final = "clock"
"""The key of a configuration whose clock was not counted, with the way in which it was measured."""
SAMPLED: Final = "at moments"
COUNTED: Final = "counted"
UNKNOWN: Final = "unknown"
"""The value of a property that could not be read."""
_TURBO: Final = 1.005  # ratio above which turbo was active; the counters' jitter is smaller
_BASE: Final = 0.995
_LIMITED: Final = 0.005  # share of the interval below which a power limit does not affect the ratio


class ConfigurationError(TurbotuiError):
    """Machines are not configured alike, so that nothing is concluded."""

    exit_status = 6


@dataclass(frozen=True, slots=True)
class CpuRatio:
    """One CPU over an interval, from differences of its counters."""

    cpu: int  # Linux number
    ratio: float | None  # ΔAPERF/ΔMPERF; None if the CPU never left idle
    busy: float | None  # share of the interval in C0, 0 to 1; None if unknown
    kind: str = ""  # "P", "E", "LP" on machines with several core types, else ""


@dataclass(frozen=True, slots=True)
class Throttling:
    """Throttling of the CPUs during an interval; None for values that the machine does not count, or did not read."""

    heat: int | None = None  # episodes of throttling for heat, of cores and packages
    # the greatest share of the interval that a package was held back by its power limit, 0 to 1
    limited: float | None = None
    # what held a package's cores back at the instant of the last reading: "PL1", "PROCHOT"
    reasons: tuple[str, ...] | None = None

    @property
    def active(self) -> bool | None:
        """Whether anything throttled the CPUs; None if that is not known."""
        if all(reading is None for reading in (self.heat, self.limited, self.reasons)):
            return None
        return bool(self.heat or (self.limited or 0.0) > _LIMITED or self.reasons)

    def sentence(self) -> str:
        """The throttling in words: "throttled: heat 3 times, power limit 12 % of the time"."""
        if self.active is None:
            return "whether it was throttled is not known"
        words = []
        if self.heat:
            words.append(f"heat {self.heat} times" if self.heat > 1 else "heat once")
        if self.limited is not None and self.limited > _LIMITED:
            words.append(f"power limit {percent(self.limited)} of the time")
        if self.reasons:
            words.append(f"{' '.join(self.reasons)} at the end")
        return f"throttled: {', '.join(words)}" if words else "not throttled"


@dataclass(frozen=True, slots=True)
class Baseline:
    """A measured score, and the ratio during its measurement."""

    name: str  # of the benchmark
    unit: str  # of the value
    value: float  # the score; more is better
    ratio: float  # lowest ratio of a busy CPU while it ran; 1.0 with turbo off
    configuration: Mapping[str, str]  # of the hardware that it was measured on
    simulated: str = ""  # the label of the simulated machine, "" for a real one
    busy_cpus: int | None = None  # the number of busy CPUs meanwhile; None for all CPUs of the configuration
    busy: float | None = None  # mean share of the time for which they were busy, 0 to 1; None if not given

    @property
    def cpus(self) -> int | None:
        """The number of busy CPUs."""
        return self.busy_cpus if self.busy_cpus is not None else whole_number(self.configuration.get("CPUs", ""))


@dataclass(frozen=True, slots=True)
class Run:
    """One measurement under load."""

    seconds: float  # its length
    cpus: tuple[CpuRatio, ...]
    lowest: CpuRatio | None  # the busy CPU with the lowest ratio; None if no CPU was busy
    state: str  # "turbo", "base clock" or "below base clock" by the lowest ratio; "idle" when no CPU was busy
    warnings: tuple[str, ...]  # why the ratio may not be that of the load
    throttling: Throttling = Throttling()  # what held the CPUs back
    # expected relative error (rms) of the ratio where the clock was sampled; 0 where cycles were counted
    error: float = 0.0

    @property
    def ratio(self) -> float | None:
        """The lowest ratio of a busy CPU."""
        return None if self.lowest is None else self.lowest.ratio

    @property
    def busy_cpus(self) -> int:
        """The number of busy CPUs."""
        return len(_busy(self.cpus))

    @property
    def load(self) -> float | None:
        """Mean share of the interval for which busy CPUs were busy, 0 to 1; None if no CPU was."""
        busy = _busy(self.cpus)
        return statistics.fmean(ratio.busy or 0.0 for ratio in busy) if busy else None


@dataclass(frozen=True, slots=True)
class Prediction:
    """A predicted score and half the width of its error bar, in the baseline's unit."""

    value: float
    error: float


def percent(share: float, form: str = ".0f") -> str:
    """Format a share as people write it: "97 %"."""
    return f"{100.0 * share:{form}} %"


def _busy(cpus: Sequence[CpuRatio]) -> list[CpuRatio]:
    return [cpu for cpu in cpus if cpu.ratio is not None and cpu.busy is not None and cpu.busy >= BUSY]


def judge(seconds: float, cpus: Sequence[CpuRatio], throttling: Throttling | None = None, *, error: float = 0.0,
          stolen: float = 0.0) -> Run:
    """Find the busy CPU with the lowest ratio, and doubts about the measurement.

    Args:
        error: of the ratios, if they were sampled (`Run.error`).
        stolen: share of the CPU time that the machine wanted, 0 to 1, which a hypervisor gave to others.
    """
    busy = _busy(cpus)
    lowest = min(busy, key=lambda ratio: ratio.ratio or 0.0, default=None)
    unknown = [cpu.cpu for cpu in cpus if cpu.busy is None or (cpu.ratio is None and cpu.busy >= BUSY)]
    warnings = []
    if seconds < SHORTEST:
        warnings.append(f"the interval of {seconds:.2f} s is too short: measure for at least {SHORTEST:g} s")
    if unknown:
        warnings.append(f"cpu {format_cpulist(unknown)} could not be read: the lowest ratio may be another")
    if lowest is None and len(unknown) < len(cpus):
        warnings.append(f"the load was too low: no CPU was busy for {percent(BUSY)} of the interval")
    elif lowest is not None:
        share = statistics.fmean(ratio.busy or 0.0 for ratio in busy)
        if share < LOADED:
            warnings.append(f"the load was too low: the busy CPUs were busy for {percent(share)} of the interval, "
                            f"less than {percent(LOADED)}")
    if stolen >= STOLEN:
        warnings.append(f"a hypervisor gave {percent(stolen, '.1f')} of the CPU time that this machine wanted to "
                        "others, which lowers a score and not the ratio")
    return Run(seconds, tuple(cpus), lowest, _state(lowest, error), tuple(warnings), throttling or Throttling(), error)


def _state(lowest: CpuRatio | None, error: float) -> str:
    """Return the CPU's state by its clock; below the base clock a governor may have requested less."""
    if lowest is None or lowest.ratio is None:
        return "idle"
    if lowest.ratio > _TURBO + error:
        return "turbo"
    return "below base clock" if lowest.ratio < _BASE - error else "base clock"


def predict(baseline: Baseline, ratio: float, ratios: Sequence[float] = (), error: float = 0.0) -> Prediction:
    """Predict the score at a ratio.

    Args:
        ratios: the ratios of several runs; half their range is added to the claimed error.
        error: of the ratio, which is added too.
    """
    value = baseline.value * ratio / baseline.ratio
    spread = (max(ratios) - min(ratios)) / 2 / ratio if len(ratios) > 1 else 0.0
    return Prediction(value, value * (BOUND + spread + error))


def property_of(configuration: Mapping[str, str], key: str) -> str:
    """Return a property of a configuration; UNKNOWN if it is not in it."""
    return configuration.get(key, COUNTED if key == CLOCK else UNKNOWN)


def differing(earlier: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """Return the properties that both configurations know and in which they differ."""
    pairs = {key: (property_of(earlier, key), property_of(other, key)) for key in sorted({*earlier, *other})}
    return [key for key, (first, second) in pairs.items() if first != second and UNKNOWN not in (first, second)]


def differences(baseline: Baseline, configuration: Mapping[str, str]) -> list[str]:
    """Return a sentence for each property in which this configuration differs from the baseline's."""
    return [
        f"the configuration differs: {key} is {property_of(configuration, key)}, "
        f"the baseline was measured with {property_of(baseline.configuration, key)}"
        for key in differing(configuration, baseline.configuration)
    ]


def uncompared(baseline: Baseline, configuration: Mapping[str, str]) -> list[str]:
    """Return a sentence about the properties that only this machine or only the baseline knows."""
    known = {*baseline.configuration, *configuration}
    here = [key for key in sorted(known) if property_of(configuration, key) == UNKNOWN
            and property_of(baseline.configuration, key) != UNKNOWN]
    there = [key for key in sorted(known) if property_of(baseline.configuration, key) == UNKNOWN
             and property_of(configuration, key) != UNKNOWN]
    return [*([f"not compared, for it cannot be read here: {', '.join(here)}"] if here else []),
            *([f"not compared, for the baseline does not have it: {', '.join(there)}"] if there else [])]


def unlike_loads(cpus: int | None, busy: float | None, other_cpus: int, other_busy: float | None) -> tuple[str, ...]:
    """Describe how the second measurement's load differs from the first's; nothing if they are similar.

    Clocks are comparable only with equally many and equally busy CPUs, because fewer busy CPUs run faster.

    Args:
        cpus: the first one's number of busy CPUs; None if unknown.
        busy: the share of the time for which they were busy, 0 to 1; None if unknown.
        other_cpus: the second one's number of busy CPUs.
        other_busy: the share of the time for which those were busy.
    """
    unlike = []
    if cpus is not None and abs(other_cpus - cpus) > FEWER * max(cpus, other_cpus):
        unlike.append(f"{'1 CPU was' if other_cpus == 1 else f'{other_cpus} CPUs were'} busy, not {cpus}")
    if busy is not None and other_busy is not None and abs(other_busy - busy) > IDLER:
        unlike.append(f"they were busy for {percent(other_busy)} of the time, not for {percent(busy)}")
    return tuple(unlike)


def load_differences(baseline: Baseline, runs: Sequence[Run]) -> list[str]:
    """Return a sentence for each way in which these runs' load differs from the baseline's."""
    words = [word for run in runs for word in unlike_loads(baseline.cpus, baseline.busy, run.busy_cpus, run.load)]
    return [f"the load is not that of the baseline: {word}" for word in dict.fromkeys(words)]
