"""How long tests wait for what must come."""

from __future__ import annotations

from typing import Final

PATIENCE: Final = 240.0
"""Seconds: a limit for what never comes, far above what the slowest loaded machine needs; no test lasts that long."""
