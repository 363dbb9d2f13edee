"""Bounds of sampling."""

from __future__ import annotations

SHORTEST_INTERVAL = 0.05
"""Seconds. Below this the reading itself would be a visible part of what is measured."""

COMPARED_SECONDS = 0.5
"""The shortest interval in which two sources are compared: a millisecond between two updates does not matter then."""
