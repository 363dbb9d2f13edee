"""A derived value of an uncore PMU: a formula over the increases of its events in one interval.

Names in the formulas are events of one PMU and `dt`, the interval in ns: bytes in a nanosecond are decimal GB/s. A
name in quotes holds the PMU's terms where the kernel gives the event no name: 'event=0xa,rdwrmask=0x1'. An event whose
unit file says MiB counts in bytes here, any other in the unit of that file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Final, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.quantities.columns import Column, Value
from turbotui.quantities.expressions import Expression, parse_expression
from turbotui.quantities.uncore.names import CLOCKS, ELAPSED
from turbotui.untrusted import one_line

_DECIMALS: Final = {"GB/s": 3, "1/cycle": 4, "cycles": 1, "ns": 1, "GHz": 3, "%": 1, "M/s": 3}
# fixed by unit, so that a column of numbers never moves
_UNTOLD: Final = 3
_SHORT: Final = ((" bandwidth", ""), (" requests", ""), (" latency", " lat"), ("frequency", "clock"))
_NARROWEST: Final = 8

Increases: TypeAlias = Mapping[str, float | None]
"""What a formula is given: by how much each event rose, and `ELAPSED`."""


@dataclass(frozen=True, kw_only=True)
class Metric(Column[Increases]):
    """One derived value: a column of the PMUs of a kind, made by `metric_of`.

    Attributes:
        pmu: kind of PMU: its name without instance numbers.
        what: what it measures; several are told apart by their units.
        expression: the formula. The events of a latency belong in one group.
        clocks: events of the formula, beside `CLOCKS`, that tell time.
    """

    compute: Callable[[Increases], Value] = field(compare=False)  # the expression says it
    pmu: str
    what: str
    expression: Expression
    clocks: frozenset[str] = frozenset()

    @property
    def heading(self) -> tuple[str, str]:
        """Two short lines above its column: what, and the unit, which says the rest."""
        what = one_line(self.what)
        for long, short in _SHORT:
            what = what.replace(long, short)
        return what.replace("_", " "), "req/cyc" if self.unit == "1/cycle" else self.unit

    @property
    def together(self) -> bool:
        """Whether its events mean something only if they were counted in the same time: a latency's."""
        return any("cum_outs" in name or "outstanding" in name for name in self.needs)

    def is_clock(self, event: str) -> bool:
        """Whether an event of the formula tells time."""
        return event in CLOCKS or event in self.clocks


def metric_of(pmu: str, what: str, unit: str, formula: str, *, document: str,
              clocks: frozenset[str] = frozenset()) -> Metric:
    """One metric from its formula's text."""
    expression = parse_expression(formula)
    return Metric(
        id=f"{what} {unit}", unit=unit, decimals=_DECIMALS.get(unit, _UNTOLD), width=_NARROWEST,
        needs=tuple(name for name in expression.names if name != ELAPSED), compute=expression.evaluate,
        formula=expression.text, help=one_line(what), document=document,
        pmu=pmu, what=what, expression=expression, clocks=clocks,
    )  # fmt: skip
