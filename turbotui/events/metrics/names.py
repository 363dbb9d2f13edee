"""Names in metric expressions as event strings, and the number and unit in front of a metric.

An expression cannot hold a slash, so it has @ instead: "cha@UNC_CHA_CLOCKTICKS@" (kernel tools/perf/util/expr.l).
"""

from __future__ import annotations

import re
from typing import Final

TIME: Final = "duration_time"
"""The seconds of the interval, in expressions: `dt` in formulas."""
_SCALE: Final = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)", re.ASCII)
_PMU_EVENT: Final = 2  # the @ in front of the terms, and that behind them


def event_text(name: str, modifiers: str = "") -> str:
    """The event string of a name without escapes: only the first and the last @ are slashes.

    Args:
        name: of an expression.
        modifiers: letters that its person added: "u".
    """
    if name.count("@") < _PMU_EVENT:
        return name if not modifiers else f"{name}{'' if ':' in name else ':'}{modifiers}"
    pmu, _, rest = name.partition("@")
    terms, _, behind = rest.rpartition("@")
    return f"{pmu}/{terms}/{behind}{modifiers}"


def name_on(pmu: str, name: str) -> str:
    """A bare name of an expression as an event of one PMU: "STALL:u" -> "cpu_core@STALL@u"."""
    event, _, modifiers = name.partition(":")
    return f"{pmu}@{event}@{modifiers}"


def scale_and_unit(text: str) -> tuple[float, str]:
    """The factor and the unit of a metric: "100%" -> (100, "%"); "1per_instr" -> (1, "per_instr")."""
    found = _SCALE.match(text)
    if found is None:
        return 1.0, text.strip()
    return float(found[1]), text[found.end() :].strip()
