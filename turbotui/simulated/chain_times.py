"""The times that chains of dependent instructions take on a core of a model."""

from __future__ import annotations

from turbotui.machine.code.chains import ROUNDS, ChainSet


def made_stamps(chains: ChainSet, hertz: float, latencies: tuple[float, float] = (3, 3), timing: float = 20.0,
                start: int = 0) -> list[int]:
    """The times that a core gives whose clock does not change, in ns.

    Args:
        hertz: its clock.
        latencies: cycles of a multiplication and of CRC32C.
        timing: ns that taking a time costs.
        start: the first time.
    """
    stamps, now = [], 0.0
    for _round in range(ROUNDS):
        stamps.append(start + round(now))
        for links, cycles in zip(chains.shape.links, (1, *latencies, 1), strict=True):
            now += timing + 1e9 * links * cycles / hertz
            stamps.append(start + round(now))
        now += timing
    return stamps
