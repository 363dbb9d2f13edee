"""The intervals that + and - step through."""

from __future__ import annotations

from typing import Final

_STEPS: Final = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0)
"""Seconds, in steps of 1, 2 and 5."""


def next_interval(seconds: float, by: int) -> float:
    """Return the next longer interval for `by` above 0, else the next shorter one.

    Args:
        seconds: the present interval, which need not be one of the steps. An interval beyond the steps stays as it is.
    """
    # a thousandth of tolerance, because an interval may be a step with a rounding error
    if by > 0:
        return next((step for step in _STEPS if step > seconds * 1.001), max(seconds, _STEPS[-1]))
    return next((step for step in reversed(_STEPS) if step < seconds * 0.999), min(seconds, _STEPS[0]))
