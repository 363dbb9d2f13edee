"""Moments of a core's clock: how one was judged, and how far a few of them may miss the mean clock of their interval.

A moment lasts some 25 microseconds, while clocks change about every millisecond. Measured on two virtual machines whose
hosts moved the clock in steps of 100 MHz: one moment misses the mean of its second by 0.9 and 2.4 % rms (9 % at worst),
ten that are spread over the second by 0.24 and 0.5 %.
"""

from __future__ import annotations

import math
from enum import Enum
from typing import Final

from turbotui.quantities.signals import SignalId

CLOCK: Final[SignalId] = "moment.clock"
VERDICT: Final[SignalId] = "moment.verdict"
COUNT: Final[SignalId] = "moment.count"
SPREAD: Final[SignalId] = "moment.spread"
ERROR: Final[SignalId] = "moment.error"

KEPT: Final = 10
"""The number of moments whose spread is told, and of moments in an interval where many are asked for."""
USUAL_SPREAD: Final = 0.024
"""Relative rms of one moment about the mean of its second until ten are known: the greater of two machines'."""
FLOOR: Final = 0.003
"""Relative error that no number of moments takes away: the spread of the host's clock generator, and timing."""


class MomentVerdict(Enum):
    """Why there is a clock, or none."""

    KNOWN = 0
    IDLE = 1
    FIRST = 2
    DISTURBED = 3
    EMULATED = 4
    UNKNOWN_CORE = 5
    MIGRATED = 6
    UNREAD = 7


def moment_error(count: float, spread: float) -> float:
    """The expected relative error (rms) of the mean of some moments as the mean clock of their interval.

    Args:
        count: the number of moments in the interval.
        spread: relative standard deviation of the last ten; 0 while fewer are known.
    """
    return math.hypot((spread or USUAL_SPREAD) / math.sqrt(count), FLOOR)
