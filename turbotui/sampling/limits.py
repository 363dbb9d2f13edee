"""Bounds of the sampling interval."""

from __future__ import annotations

SHORTEST_INTERVAL = 0.05
"""Seconds; below this the reading itself would be a visible part of what is measured."""

LONGEST_INTERVAL = 1_000_000.0
"""Seconds, eleven and a half days. Waits of the kernel and of threads end in an overflow a little above: poll(2) takes
milliseconds in 31 bits (24.8 days)."""

INTERVAL_BOUNDS = f"from {SHORTEST_INTERVAL:g} to {LONGEST_INTERVAL:,.0f}"
"""For help and messages."""

COMPARED_SECONDS = 0.5
"""The shortest interval at which two sources are compared; a millisecond between two updates is negligible there."""
