"""Bounds of sampling."""

from __future__ import annotations

SHORTEST_INTERVAL = 0.05
"""Seconds. Below this the reading itself would be a visible part of what is measured."""
