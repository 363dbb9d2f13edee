"""The performance ratio APERF/MPERF under load, and what it predicts of a benchmark's score.

A score that is bound by the clock grows with the slowest busy CPU's ratio: score = baseline x ratio / baseline's ratio.
The counters' definitions: Intel SDM vol. 3 section 16.2; the claimed bound of 1.1 % and the worked example (113.2 at
ratio 1.0 predicts 121.5 at 1.07346, 120.8 measured) are those of the literature on this method.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

BOUND: Final = 0.011  # relative error that the literature claims for the prediction
BUSY: Final = 0.5  # share of the interval in C0 from which a CPU counts as busy
LOADED: Final = 0.9  # share of time that busy CPUs should have been busy for the ratio to be that of the load
SHORTEST: Final = 1.0  # seconds below which the few milliseconds between reading CPUs are seen in the ratio
_TURBO: Final = 1.005  # above: turbo was active; the counters' own jitter is below this
_THROTTLED: Final = 0.995


@dataclass(frozen=True, slots=True)
class CpuRatio:
    """One CPU over an interval: differences of its counters.

    Attributes:
        cpu: Linux number.
        ratio: ΔAPERF/ΔMPERF, None where it never left idle.
        busy: share of the interval in C0, 0 to 1; None where it cannot be had.
    """

    cpu: int
    ratio: float | None
    busy: float | None


@dataclass(frozen=True, slots=True)
class Baseline:
    """A score that was measured once, and the ratio at which it was.

    Attributes:
        name: of the benchmark.
        unit: of the value.
        value: the score; more is better.
        ratio: lowest ratio of a busy CPU while it ran; 1.0 with turbo off.
        configuration: of the hardware that it was measured on.
        simulated: the label of the simulated machine, "" for a real one.
    """

    name: str
    unit: str
    value: float
    ratio: float
    configuration: Mapping[str, str]
    simulated: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """One measurement under load.

    Attributes:
        seconds: its length.
        cpus: the ratios of all CPUs.
        lowest: the busy CPU with the lowest ratio, None when no CPU was busy.
        state: "turbo", "throttled" or "base clock" by the lowest ratio; "idle" when no CPU was busy.
        warnings: why the ratio may not be that of the load.
    """

    seconds: float
    cpus: tuple[CpuRatio, ...]
    lowest: CpuRatio | None
    state: str
    warnings: tuple[str, ...]

    @property
    def ratio(self) -> float | None:
        """The lowest ratio of a busy CPU."""
        return None if self.lowest is None else self.lowest.ratio


@dataclass(frozen=True, slots=True)
class Prediction:
    """A predicted score: the value, and half the width of its error bar, in the baseline's unit."""

    value: float
    error: float


def judge(seconds: float, cpus: Sequence[CpuRatio]) -> Run:
    """The lowest busy CPU, and what is doubtful about the measurement."""
    busy = [one for one in cpus if one.ratio is not None and one.busy is not None and one.busy >= BUSY]
    lowest = min(busy, key=lambda one: one.ratio or 0.0, default=None)
    warnings = []
    if seconds < SHORTEST:
        warnings.append(f"the interval of {seconds:.2f} s is too short: measure for at least {SHORTEST:g} s")
    if lowest is None:
        warnings.append(f"the load was too low: no CPU was busy for {BUSY:.0%} of the interval")
    else:
        share = statistics.fmean(one.busy or 0.0 for one in busy)
        if share < LOADED:
            warnings.append(f"the load was too low: the busy CPUs were busy for {share:.0%} of the interval")
    return Run(seconds, tuple(cpus), lowest, _state(lowest), tuple(warnings))


def _state(lowest: CpuRatio | None) -> str:
    if lowest is None or lowest.ratio is None:
        return "idle"
    if lowest.ratio > _TURBO:
        return "turbo"
    return "throttled" if lowest.ratio < _THROTTLED else "base clock"


def predict(baseline: Baseline, ratio: float, ratios: Sequence[float] = ()) -> Prediction:
    """The score at a ratio.

    Args:
        baseline: what was measured once.
        ratio: now.
        ratios: of several runs; half their range is added to the claimed bound.
    """
    value = baseline.value * ratio / baseline.ratio
    spread = (max(ratios) - min(ratios)) / 2 / ratio if len(ratios) > 1 else 0.0
    return Prediction(value, value * (BOUND + spread))


def differences(baseline: Baseline, configuration: Mapping[str, str]) -> list[str]:
    """One sentence for each property in which this configuration is not the baseline's."""
    keys = sorted({*baseline.configuration, *configuration})
    return [
        f"the configuration differs: {key} is {configuration.get(key, 'unknown')}, "
        f"the baseline was measured with {baseline.configuration.get(key, 'unknown')}"
        for key in keys if baseline.configuration.get(key) != configuration.get(key)
    ]
