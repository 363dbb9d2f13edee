"""A derived value of an uncore PMU: a formula over the increases of its events in one interval.

Names in the formulas are events of one PMU and `dt`, the interval in ns: bytes in a nanosecond are decimal GB/s. A
name in quotes holds the PMU's terms where the kernel gives the event no name: 'event=0xa,rdwrmask=0x1'. An event whose
unit file says MiB counts in bytes here, any other in the unit of that file.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from turbotui.quantities.expressions import Expression, parse_expression

ELAPSED = "dt"
"""The name of the interval in a formula, ns."""

DECIMALS = {"GB/s": 3, "1/cycle": 4, "cycles": 1, "ns": 1, "GHz": 3, "%": 1, "M/s": 3}
"""Fixed decimals by unit, so that a column of numbers never moves."""

BYTES = {"MiB": 1 << 20, "KiB": 1 << 10, "GiB": 1 << 30, "Bytes": 1, "bytes": 1, "B": 1}
"""Units of event files that are bytes, and how many. Such an event counts in bytes in formulas."""

CLOCKS = frozenset({"cycles", "bus_cycles", "clockticks", "dclk", "ioclk", "dtc_cycles"})
"""Events that tell time rather than traffic. In a sum row they are averaged: each instance has the clock once."""


_SHORT = ((" bandwidth", ""), (" requests", ""), (" latency", " lat"), ("frequency", "clock"))


@dataclass(frozen=True)
class Metric:
    """One derived value.

    Attributes:
        pmu: kind of PMU: its name without instance numbers.
        unit: as people read it.
        formula: over increases of the events in one interval. The events of a latency belong in one group.
        document: what it follows.
        clocks: events of the formula, beside `CLOCKS`, that tell time.
    """

    pmu: str
    title: str
    unit: str
    formula: Expression
    document: str = ""
    clocks: frozenset[str] = frozenset()

    @cached_property
    def events(self) -> tuple[str, ...]:
        """The events it needs."""
        return tuple(name for name in self.formula.names if name != ELAPSED)

    @property
    def key(self) -> str:
        """Names it within its kind of PMU."""
        return f"{self.title} {self.unit}"

    @property
    def heading(self) -> tuple[str, str]:
        """Two short lines above its column: what, and the unit, which says the rest."""
        what = self.title
        for long, short in _SHORT:
            what = what.replace(long, short)
        return what.replace("_", " "), "req/cyc" if self.unit == "1/cycle" else self.unit

    @property
    def decimals(self) -> int:
        """How many are shown."""
        return DECIMALS.get(self.unit, 3)

    @property
    def together(self) -> bool:
        """Whether its events mean something only if they were counted in the same time: a latency's."""
        return any("cum_outs" in name or "outstanding" in name for name in self.events)

    def is_clock(self, event: str) -> bool:
        """Whether an event of the formula tells time."""
        return event in CLOCKS or event in self.clocks


@dataclass(frozen=True, slots=True)
class Author:
    """Makes the metrics of one document."""

    document: str

    def metric(self, pmu: str, title: str, unit: str, formula: str, *clocks: str) -> Metric:
        """One metric from its formula's text."""
        return Metric(pmu, title, unit, parse_expression(formula), self.document, frozenset(clocks))

    def clock(self, pmu: str, event: str = "cycles") -> Metric:
        """The frequency of a PMU that counts its own clock."""
        name = event if event.isidentifier() else f"'{event}'"
        return self.metric(pmu, "frequency", "GHz", f"{name} / dt", event)

    def latency(self, pmu: str, way: str, outstanding: str, requests: str) -> tuple[Metric, Metric]:
        """Cycles that requests were under way for, by requests, and the same in ns."""
        return (
            self.metric(pmu, f"{way} latency", "cycles", f"{outstanding} / {requests}"),
            self.metric(pmu, f"{way} latency", "ns", f"{outstanding} / {requests} * dt / cycles"),
        )
