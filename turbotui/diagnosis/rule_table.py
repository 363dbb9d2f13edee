"""All rules. To add a cause, add one `SlownessRule(...)` to a module of rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from turbotui.diagnosis import clock_rules, spread_rules, time_rules, vector_rules, waiting_rules
from turbotui.diagnosis.rules import JudgedFrame, NoFinding, Observed, SlownessRule

RULES: Final[tuple[SlownessRule, ...]] = (
    *waiting_rules.RULES,
    time_rules.STEAL,
    time_rules.HOST_CLOCK,
    time_rules.INTERRUPTS,
    time_rules.SOFTIRQS,
    spread_rules.ONE_CPU,
    spread_rules.ONE_GROUP,
    spread_rules.SLOW_CORES,
    *clock_rules.RULES,
    vector_rules.VECTORS,
)
"""The order of findings with equal weight."""


def limited(rules: Sequence[SlownessRule], least: Mapping[str, float]) -> tuple[SlownessRule, ...]:
    """Rules, some of which find nothing until the lost percent of the wanted work reaches a limit, by the rule's id."""
    return tuple(replace(rule, judge=_from(rule.judge, least[rule.id]), least=least[rule.id]) if rule.id in least
                 else rule for rule in rules)


def _from(judge: Callable[[JudgedFrame], Observed | NoFinding],
          percent: float) -> Callable[[JudgedFrame], Observed | NoFinding]:
    def judged(frame: JudgedFrame) -> Observed | NoFinding:
        judged_frame = judge(frame)
        return NoFinding.CLEAR if isinstance(judged_frame,
                                             Observed) and 100 * judged_frame.lost < percent else judged_frame

    return judged
