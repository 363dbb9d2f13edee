"""The table of all rules. To add a cause, add one `SlownessRule(...)` to a module of rules."""

from __future__ import annotations

from typing import Final

from turbotui.diagnosis import clock_rules, spread_rules, time_rules, vector_rules, waiting_rules
from turbotui.diagnosis.rules import SlownessRule

RULES: Final[tuple[SlownessRule, ...]] = (
    *waiting_rules.RULES,
    time_rules.STEAL,
    time_rules.INTERRUPTS,
    time_rules.SOFTIRQS,
    spread_rules.ONE_CPU,
    spread_rules.ONE_GROUP,
    spread_rules.SLOW_CORES,
    *clock_rules.RULES,
    vector_rules.VECTORS,
)
"""The order of findings with equal weight."""
