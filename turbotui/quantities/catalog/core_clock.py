"""The clock of CPUs at moments, by timed chains of instructions: what a virtual machine can know of its clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from turbotui.quantities import clock_moments
from turbotui.quantities.catalog.formulas import Formula
from turbotui.quantities.clock_moments import CLOCK, COUNT, KEPT, SPREAD, VERDICT, MomentVerdict
from turbotui.quantities.columns import Category, CounterColumn, Inputs, Scale, Value
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import SignalId
from turbotui.quantities.unavailable import Reason, Unavailable

MOMENT: Final = "NowMHz"
ERROR: Final = "NowErr%"
_COUNTED: Final[frozenset[SignalId]] = frozenset({"aperf", "cycles"})
"""Signals that give the mean clock, beside which moments are shown on request only."""

_WHY: Final[Mapping[float, Unavailable]] = {verdict.value: why for verdict, why in {
    MomentVerdict.IDLE: Unavailable(
        Reason.ASLEEP, "idle: busy for less than 5 % of the last interval; timing the CPU would wake it"),
    MomentVerdict.FIRST: Unavailable(
        Reason.FIRST_TICK, "only CPUs that were busy in the last interval are timed; known after the next one"),
    MomentVerdict.UNREAD: Unavailable(
        Reason.FAILED, "/proc/stat, which tells whether the CPU is busy, cannot be read, and timing wakes idle ones"),
    MomentVerdict.DISTURBED: Unavailable(
        Reason.INTERRUPTED, "disturbed: in three tries the chains of instructions took no whole ratios of cycles"),
    MomentVerdict.EMULATED: Unavailable(
        Reason.VIRTUALISED, "emulated: CRC32C takes hundreds of times as long as an exclusive or, as on no core"),
    MomentVerdict.UNKNOWN_CORE: Unavailable(
        Reason.UNKNOWN_MODEL, "unknown core: multiplications and CRC32C take other cycles than on all cores known"),
    MomentVerdict.MIGRATED: Unavailable(
        Reason.INTERRUPTED, "migrated: the thread was moved to another CPU while it timed this one"),
}.items()}
"""By the number of the verdict, which a recording may not have from any version of this table."""


def _median(value: Callable[[Inputs], float | None]) -> Formula:
    """The median over the CPUs in a row that have a clock."""

    def compute(row: Inputs) -> Value:
        import statistics  # noqa: PLC0415 - 4 ms of a start, for guests alone

        clocks = [clock for cpu in row.each(Scope.CPU) if (clock := value(cpu)) is not None]
        return statistics.median(clocks) if clocks else None

    return compute


def _mhz(cpu: Inputs) -> float | None:
    hertz = cpu.value(CLOCK)
    return hertz / 1e6 if hertz else None


def _error(cpu: Inputs) -> float | None:
    error = cpu.value(clock_moments.ERROR)
    return 100.0 * error if error else None


def _spread(cpu: Inputs) -> float | None:
    spread = cpu.value(SPREAD)
    return 100.0 * spread if spread else None


def _refusal(row: Inputs) -> Unavailable | None:
    """Why no CPU in a row has a clock."""
    verdict, hertz = row.value(VERDICT), _median(_mhz)(row)
    return None if verdict is None or hertz is not None else _WHY.get(verdict)


_moment = partial(CounterColumn, category=Category.FREQUENCY, scope=Scope.CPU, groups=("frequency",), extra=True,
                  instead_of=_COUNTED, refusal=_refusal, document="turbotui docs/specs/core-clock.md")

_ERROR: Final = _moment(
    id=ERROR, unit="%", decimals=1, needs=(clock_moments.ERROR, VERDICT), wants=(COUNT, SPREAD),
    compute=_median(_error),
    help=f"Expected error (rms) of {MOMENT} as the mean clock of the interval.", width=4, priority=4,
)

COLUMNS: Final = (
    _moment(id=MOMENT, unit="MHz", decimals=0, needs=(CLOCK, VERDICT),
            wants=(clock_moments.ERROR, COUNT, SPREAD), compute=_median(_mhz),
            formula="links x cycles / time of chains of dependent instructions; of a row the median of its busy CPUs",
            help="Clock at one moment of the interval, or the mean of ten (--moments), timed by turbotui itself. Not "
            "Bzy_MHz, which is a mean of all cycles. CPUs below 5 % busy are not timed.",
            width=5, priority=0, scale=Scale(high=("TopMHz", "Turbo1"), low=("BaseMHz", 0.0)), error=_ERROR),
    _ERROR,
    _moment(id="NowSpread%", unit="%", decimals=1, needs=(CLOCK, VERDICT, SPREAD), compute=_median(_spread),
            doubt=lambda row: f"fewer than {KEPT} moments are known of each CPU" if not row.value(SPREAD) else "",
            help=f"Standard deviation of the last ten moments of {MOMENT}: how the host changes the clock.", width=4,
            priority=6, default=False),
)
