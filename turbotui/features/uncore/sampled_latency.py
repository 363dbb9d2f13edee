"""The unit of Zen 4's sampled L3 latency, which depends on the size of the L3 (AMD PPR 55901, L3PMCxAC)."""

from __future__ import annotations

from typing import Final

from turbotui.machine.caches import read_caches
from turbotui.machine.host import Host

_LARGE: Final = 32 << 20  # bytes of the L3 of one complex
_LARGE_NS, _SMALL_NS = 10.0, 30.0  # L3LatScalingFactor of the PPR


class SampledLatency:
    """Nanoseconds of one count of sampled latency; each L3 is looked up once, when needed."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._units: dict[int, float | None] = {}

    def unit_of(self, cpu: int) -> float | None:
        """Return the unit of a CPU's L3; None if sysfs does not describe the L3."""
        if cpu not in self._units:
            size = next((cache.size for cache in read_caches(self._host, cpu) if cache.level == 3), None)
            self._units[cpu] = None if size is None else _LARGE_NS if size >= _LARGE else _SMALL_NS
        return self._units[cpu]
