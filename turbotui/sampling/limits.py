"""Bounds of the sampling interval, and the steps between them."""

from __future__ import annotations

from typing import Final

SHORTEST_INTERVAL = 0.05
"""Seconds; below this the reading itself would be a visible part of what is measured."""

LONGEST_INTERVAL = 1_000_000.0
"""Seconds, eleven and a half days. Waits of the kernel and of threads end in an overflow a little above: poll(2) takes
milliseconds in 31 bits (24.8 days)."""

INTERVAL_BOUNDS = f"from {SHORTEST_INTERVAL:g} to {LONGEST_INTERVAL:,.0f}"
"""For help and messages."""

DEFAULT_INTERVAL = 1.0
"""Seconds from reading to reading on the dashboard."""

COMPARED_SECONDS = 0.5
"""The shortest interval at which two sources are compared; a millisecond between two updates is negligible there."""


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
