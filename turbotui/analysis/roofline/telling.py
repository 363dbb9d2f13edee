"""A point read out: with its verdict, or with why it has no place."""

from __future__ import annotations

from turbotui.analysis.roofline.judging import Choice, sentence
from turbotui.analysis.roofline.live import Spot


def told(spot: Spot, choice: Choice) -> str:
    """The sentence of a point: "cpu 17: AI 0.41 flop/B, 18.2 GF/s: 71 % of the L2 roof, memory-bound".

    Args:
        spot: of any level.
        choice: the roofs of its row.
    """
    if spot.few_turns:
        mark = "~" * spot.estimated
        return f"{spot.name}: {mark}{spot.gflops:.3g} GF/s; it ran in too few turns for its bytes, so it has no place"
    return sentence(spot, choice.under(spot.working), choice.used(spot.working))
