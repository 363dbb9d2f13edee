"""A point read out: with its verdict, or with why it has no place."""

from __future__ import annotations

from turbotui.features.roofline.live import RooflinePoint
from turbotui.features.roofline.verdicts import LevelRoofs, sentence


def verdict_text(point: RooflinePoint, choice: LevelRoofs) -> str:
    """The sentence of a point: "cpu 17: AI 0.41 flop/B, 18.2 GF/s: 71 % of the L2 roof, memory-bound".

    Args:
        point: of any level.
        choice: the roofs of its row.
    """
    if point.not_scheduled:
        mark = "~" * point.estimated
        return f"{point.name}: {mark}{point.gflops:.3g} GF/s; did not run in each set's time slice, so it has no place"
    return sentence(point, choice.under(point.working), choice.used(point.working))
