"""A derived value of an uncore PMU: a formula over the increases of its events in one interval.

Names in the formulas are events of one PMU; `dt` is the interval in ns, and `units` the number of units that are added,
so bytes in a nanosecond are decimal GB/s. A name in quotes holds the PMU's terms if the kernel has no name for the
event: 'event=0xa,rdwrmask=0x1'; the table may map a vendor's name to such terms. An event whose unit file says MiB
counts in bytes here, any other in the unit of that file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Final, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.quantities.columns import PERCENT, Column, Value
from turbotui.quantities.expressions import Expression, parse_expression
from turbotui.quantities.uncore.names import CLOCKS, DRAM, ELAPSED, L3_UNIT, LINK, UNITS
from turbotui.untrusted import one_line

_DECIMALS: Final = {"GB/s": 3, "1/cycle": 4, "cycles": 1, "ns": 1, "GHz": 3, "%": 1, "M/s": 3, "GT/s": 3, "walks": 3}
# fixed for each unit, so that a column of numbers keeps its alignment
_USUAL_DECIMALS: Final = 3
_SHORT: Final = ((" bandwidth", ""), (" requests", ""), (" latency", " lat"), ("frequency", "clock"))
_NARROWEST: Final = 8
_NAME: Final = re.compile(r"'[^']*'|([A-Za-z_][\w.]*)", re.ASCII)
_NO_EVENTS: Final = (ELAPSED, UNITS, LINK, L3_UNIT, DRAM)
_NONE: Final[Mapping[str, str]] = {}

Increases: TypeAlias = "Mapping[str, float | None]"
"""The inputs of a formula: the increase of each event, `ELAPSED`, `UNITS`, `LINK`, `L3_UNIT`, `DRAM`."""


@dataclass(frozen=True, kw_only=True)
class Metric(Column[Increases]):
    """A derived value: a column of a kind of PMU, made by `metric_of`."""

    compute: Callable[[Increases], Value] = field(compare=False)  # the expression says it
    pmu: str  # kind of PMU: its name without instance numbers
    what: str  # what it measures; metrics with the same word have different units
    expression: Expression  # the formula. The events of a latency belong in one group.
    clocks: frozenset[str] = frozenset()  # events of the formula that count time, beside `CLOCKS`
    chosen: bool = False  # whether it is shown, and counted, only on request
    tier: str = ""  # the memory that a machine must have to show it by default, in words of `pmus.toml`; "" for none
    # the vendor's name of each event that is counted by its terms
    vendor: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def heading(self) -> tuple[str, str]:
        """Two short lines above its column: what it measures, and the unit."""
        what = one_line(self.what)
        for long, short in _SHORT:
            what = what.replace(long, short)
        words = what if "=" in what else what.replace("_", " ")  # terms are shown as typed
        return words, "req/cyc" if self.unit == "1/cycle" else self.unit

    @property
    def together(self) -> bool:
        """Whether its events have to be counted in the same time, as those of a latency."""
        return any("cum_outs" in name or "outstanding" in name for name in self.needs) or self.what.endswith("latency")

    @property
    def additive(self) -> bool:
        """Whether the formula only adds events, which then need not be counted in the same time."""
        return not self.expression.divides_by(self.needs)

    def is_clock(self, event: str) -> bool:
        """Whether an event of the formula counts time."""
        return event in CLOCKS or event in self.clocks


def metric_of(pmu: str, what: str, unit: str, formula: str, *, document: str, clocks: frozenset[str] = frozenset(),
              chosen: bool = False, tier: str = "", events: Mapping[str, str] = _NONE) -> Metric:
    """Make a metric from the text of its formula.

    Args:
        document: where the events are defined.
        chosen: whether it is shown only on request.
        tier: the memory that a machine must have to show it by default.
        events: terms of the events that the formula calls by vendors' names.
    """
    parsed = parse_expression(formula)
    named = {name: events[name] for name in parsed.names if name in events}
    counted = _NAME.sub(lambda match: f"'{named[match[1]]}'" if match[1] in named else match[0], formula)
    expression = parse_expression(counted) if named else parsed
    is_load = unit == "%" and what.rsplit(maxsplit=1)[-1] in ("used", "peak")  # high values deserve attention
    return Metric(
        id=f"{what} {unit}", unit=unit, decimals=_DECIMALS.get(unit, _USUAL_DECIMALS), width=_NARROWEST,
        needs=tuple(name for name in expression.names if name not in _NO_EVENTS), compute=expression.evaluate,
        formula=parsed.text, help=one_line(what), document=document, scale=PERCENT if is_load else None,
        of_peak=is_load, pmu=pmu, what=what, expression=expression, clocks=clocks, chosen=chosen, tier=tier,
        vendor={terms: name for name, terms in named.items()},
    )
