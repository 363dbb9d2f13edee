"""A derived value of an uncore PMU: a formula over the increases of its events in one interval.

Names in the formulas are events of one PMU, `dt`, the interval in ns, and `units`, how many units are added: bytes in a
nanosecond are decimal GB/s. A name in quotes holds the PMU's terms where the kernel gives the event no name:
'event=0xa,rdwrmask=0x1'; a vendor's name stands for such terms where the table says which. An event whose unit file
says MiB counts in bytes here, any other in the unit of that file.
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
# fixed by unit, so that a column of numbers never moves
_UNTOLD: Final = 3
_SHORT: Final = ((" bandwidth", ""), (" requests", ""), (" latency", " lat"), ("frequency", "clock"))
_NARROWEST: Final = 8
_NAME: Final = re.compile(r"'[^']*'|([A-Za-z_][\w.]*)", re.ASCII)
_NO_EVENTS: Final = (ELAPSED, UNITS, LINK, L3_UNIT, DRAM)
_NONE: Final[Mapping[str, str]] = {}

Increases: TypeAlias = Mapping[str, float | None]
"""What a formula is given: by how much each event rose, `ELAPSED`, `UNITS`, `LINK`, `L3_UNIT`, `DRAM`."""


@dataclass(frozen=True, kw_only=True)
class Metric(Column[Increases]):
    """One derived value: a column of the PMUs of a kind, made by `metric_of`.

    Attributes:
        pmu: kind of PMU: its name without instance numbers.
        what: what it measures; several are told apart by their units.
        expression: the formula. The events of a latency belong in one group.
        clocks: events of the formula, beside `CLOCKS`, that tell time.
        chosen: it is shown, and counted, only where somebody chose it.
        tier: memory with which a machine has it shown from the start, in words of `pmus.toml`; "" for what needs none.
        vendor: the vendor's name of each event that is counted by its terms.
    """

    compute: Callable[[Increases], Value] = field(compare=False)  # the expression says it
    pmu: str
    what: str
    expression: Expression
    clocks: frozenset[str] = frozenset()
    chosen: bool = False
    tier: str = ""
    vendor: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def heading(self) -> tuple[str, str]:
        """Two short lines above its column: what, and the unit, which says the rest."""
        what = one_line(self.what)
        for long, short in _SHORT:
            what = what.replace(long, short)
        words = what if "=" in what else what.replace("_", " ")  # terms are typed as they stand
        return words, "req/cyc" if self.unit == "1/cycle" else self.unit

    @property
    def together(self) -> bool:
        """Whether its events mean something only if they were counted in the same time: a latency's."""
        return any("cum_outs" in name or "outstanding" in name for name in self.needs) or self.what.endswith("latency")

    @property
    def additive(self) -> bool:
        """Whether the formula only adds events up, so that they need not be counted in the same time."""
        return not self.expression.divides_by(self.needs)

    def is_clock(self, event: str) -> bool:
        """Whether an event of the formula tells time."""
        return event in CLOCKS or event in self.clocks


def metric_of(pmu: str, what: str, unit: str, formula: str, *, document: str, clocks: frozenset[str] = frozenset(),
              chosen: bool = False, tier: str = "", events: Mapping[str, str] = _NONE) -> Metric:
    """One metric from its formula's text.

    Args:
        pmu: the kind of PMU.
        what: the thing that it measures.
        unit: of the value.
        formula: over names of events.
        document: where the events are defined.
        clocks: events that tell time.
        chosen: whether it is shown only where somebody chose it.
        tier: the memory that a machine needs to have it shown from the start.
        events: terms of the events that the formula calls by the vendor's names.
    """
    said = parse_expression(formula)
    named = {name: events[name] for name in said.names if name in events}
    counted = _NAME.sub(lambda match: f"'{named[match[1]]}'" if match[1] in named else match[0], formula)
    expression = parse_expression(counted) if named else said
    return Metric(
        id=f"{what} {unit}", unit=unit, decimals=_DECIMALS.get(unit, _UNTOLD), width=_NARROWEST,
        needs=tuple(name for name in expression.names if name not in _NO_EVENTS), compute=expression.evaluate,
        formula=said.text, help=one_line(what), document=document, scale=PERCENT if _is_load(what, unit) else None,
        pmu=pmu, what=what, expression=expression, clocks=clocks, chosen=chosen, tier=tier,
        vendor={terms: name for name, terms in named.items()},
    )  # fmt: skip


def _is_load(what: str, unit: str) -> bool:
    """Whether a value is a share of the most that its PMU can take, of which much is worth a look."""
    return unit == "%" and what.rsplit(maxsplit=1)[-1] in ("used", "peak")
