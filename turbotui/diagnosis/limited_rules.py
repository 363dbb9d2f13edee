"""Rules that stay silent until they cost as much as the user demands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from turbotui.diagnosis.rules import JudgedFrame, NoFinding, Observed, SlownessRule


def limited(rules: Sequence[SlownessRule], least: Mapping[str, float]) -> tuple[SlownessRule, ...]:
    """Rules, some of which find nothing until the lost percent of the wanted work reaches a limit, by the rule's id."""
    return tuple(replace(rule, judge=_from(rule.judge, least[rule.id]), least=least[rule.id]) if rule.id in least
                 else rule for rule in rules)


def _from(judge: Callable[[JudgedFrame], Observed | NoFinding],
          percent: float) -> Callable[[JudgedFrame], Observed | NoFinding]:
    def judged(frame: JudgedFrame) -> Observed | NoFinding:
        found = judge(frame)
        return NoFinding.CLEAR if isinstance(found, Observed) and 100 * found.lost < percent else found

    return judged
