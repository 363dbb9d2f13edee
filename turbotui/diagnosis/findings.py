"""Findings: ranked causes, with the time for which each has been present."""

from __future__ import annotations

import re
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.diagnosis.rules import WEIGHTS, Observed, SlownessRule

_WHOLE = 0.995
"""Share of the time from which a cause counts as present all the time."""
_BESIDE_NAME: Final = re.compile(r" \([^()]*\)$")


@dataclass(frozen=True, slots=True)
class Finding:
    """A cause that is present now."""

    rule: SlownessRule  # the cause
    observed: Observed  # the current observation
    seconds: float  # how long it has been present without a break, up to now
    share: float  # share of the last `window` seconds in which it was present, 0 to 1
    window: float  # seconds observed
    who: tuple[str, ...] = ()  # the tasks or groups behind it, the largest part first, as safe text
    ago: float = 0.0  # seconds since it was last judged; 0 for the newest interval
    at_least: bool = False  # whether it was there in the first judged interval, and may have been before

    @property
    def score(self) -> float:
        """Rank: the share of the wanted work that is lost, less where it is not sure, or not so all the time."""
        return self.observed.lost * WEIGHTS[self.observed.sure] * (1.0 if self.seconds else self.share)

    @property
    def sentence(self) -> str:
        """The finding as a sentence with its number."""
        return self.observed.sentence

    @property
    def remedy(self) -> str:
        """The remedy: what a user can do about the cause."""
        return self.observed.remedy or self.rule.remedy

    @property
    def since(self) -> str:
        """How long the cause has been present: "for 40 s", or "92 % of the last 40 s" if it came and went."""
        if not self.window:
            return "now"
        ago = f", seen {_span(self.ago)} ago" if self.ago else ""
        if self.seconds and self.share >= _WHOLE:
            return f"for {_span(self.seconds)}{' or longer' if self.at_least else ''}{ago}"
        return f"{100 * self.share:.0f} % of the last {_span(self.window)}{ago}"

    @property
    def cost(self) -> str:
        """How much of what tasks want to do is lost, and how certain that is."""
        lost = f"about {100 * self.observed.lost:.0f} % of the work is lost"
        return f"{'no loss is seen, no task waits' if self.observed.news else lost}; {self.observed.sure.value}"

    @property
    def how(self) -> str:
        """How certain the finding is, how much is lost, and how long the cause has been present."""
        lost = "" if self.observed.news else f", {100 * self.observed.lost:.0f} % lost"
        return f"{self.observed.sure.value}{lost}; {self.since}"


def name_alone(who: str) -> str:
    """Return the name of a task or group without the brackets behind it, which hold its unit and its share."""
    return _BESIDE_NAME.sub("", who)


def is_named(who: str, sentence: str) -> bool:
    """Tell whether a sentence already names a task or group."""
    return name_alone(who) in sentence


def _span(seconds: float) -> str:
    if seconds >= 7200:
        return f"{seconds / 3600:.0f} h"
    if seconds >= 120:
        return f"{seconds / 60:.0f} min"
    return f"{seconds:.0f} s" if seconds >= 9.5 else f"{seconds:.1f} s"
