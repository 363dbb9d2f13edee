"""Converts names in metric expressions to event strings, and a metric's ScaleUnit to factor and unit.

An expression cannot hold a slash, so it has @ instead: "cha@UNC_CHA_CLOCKTICKS@" (kernel tools/perf/util/expr.l).
"""

from __future__ import annotations

import re
from typing import Final

TIME: Final = "duration_time"
"""The name of the interval's seconds in expressions, which is `dt` in formulas."""
_SCALE: Final = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)", re.ASCII)
_PMU_EVENT: Final = 2  # the @ in front of the terms, and that behind them


def event_text(name: str, modifiers: str = "") -> str:
    """Return the event string of a name without escapes; the first and the last @ become slashes.

    Args:
        modifiers: letters that the user added, such as "u".
    """
    if name.count("@") < _PMU_EVENT:
        return name if not modifiers else f"{name}{'' if ':' in name else ':'}{modifiers}"
    pmu, _, rest = name.partition("@")
    terms, _, behind = rest.rpartition("@")
    return f"{pmu}/{terms}/{behind}{modifiers}"


def name_on(pmu: str, name: str) -> str:
    """Return a bare name as an event of one PMU: "STALL:u" -> "cpu_core@STALL@u"."""
    event, _, modifiers = name.partition(":")
    return f"{pmu}@{event}@{modifiers}"


def scale_and_unit(text: str) -> tuple[float, str]:
    """Split a metric's ScaleUnit into factor and unit: "100%" -> (100, "%"); "1per_instr" -> (1, "per_instr")."""
    if (match := _SCALE.match(text)) is None:
        return 1.0, text.strip()
    return float(match[1]), text[match.end() :].strip()
