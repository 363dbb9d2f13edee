"""How long tests wait for what must come: only a failure takes so long, so a busy machine is no failure."""

from __future__ import annotations

from typing import Final

PATIENCE: Final = 240.0
"""Seconds; less than pytest's faulthandler_timeout, so that a test says what it waited for."""
