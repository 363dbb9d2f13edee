"""What may be known about a cell's value beside the value, and how each output says so.

Every writer walks `MARKS`. Screens and aligned tables put the signs beside the number, JSON and CSV use the names.
turbostat's text, CSV without columns of marks, OpenMetrics and exports have no place for a mark: there a value is
printed bare, or is unknown.
"""

from __future__ import annotations

from typing import Final

from turbotui.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class CellMark:
    """One thing that a reader has to know with a value."""

    name: str  # the attribute of `Cell`, the member of a row in JSON, the column of CSV
    sign: str  # beside the number
    meaning: str  # in words for people
    bare: bool  # whether formats without a place for marks print the value; if not, it is unknown there


MARKS: Final = (
    CellMark("old", "‹", "a CPU behind it did not answer in time; a longer interval (+) helps", bare=False),
    CellMark("disputed", "?", "another counter contradicts this one; e shows both", bare=True),
    CellMark("partial", "*", "a part of what it is made of is unknown", bare=False),
    CellMark("estimated", "~", "the counter ran part of the interval and was scaled, or it is a sample", bare=True),
    CellMark("outstanding", "▲", "past the threshold of its metric's vendor", bare=True),
)
"""Where there is room for one sign, it is the first one's."""
OLD, DISPUTED, PARTIAL, ESTIMATED, OUTSTANDING = MARKS
_BEYOND: Final = 0.005
"""Share of a peak by which a right measurement may exceed it.

SMBIOS has whole MT/s (1,066 for 1,066.67 is 0.06 % too low), clocks have up to 100 ppm, and a counter is read some us
before or after its time stamp, which is 0.1 % to 0.5 % of an interval of 10 ms.
"""
_ABOVE_PEAK: Final = "more than its peak: what is counted, or what is known of the peak, is wrong"


def above_peak(share: float | None) -> tuple[str, ...]:
    """What contradicts a share of a peak, from 0 to 1, for a disputed cell; nothing where it can be measured."""
    return (_ABOVE_PEAK,) if share is not None and share > 1.0 + _BEYOND else ()


def sign_above_peak(share: float | None) -> str:
    """The sign beside a share of a peak in a sentence; "" where it can be."""
    return DISPUTED.sign if above_peak(share) else ""
