"""Lower bounds of the sampling interval."""

from __future__ import annotations

SHORTEST_INTERVAL = 0.05
"""Seconds; below this the reading itself would be a visible part of what is measured."""

COMPARED_SECONDS = 0.5
"""The shortest interval at which two sources are compared; a millisecond between two updates is negligible there."""
