"""Describes points with their verdict, or why they have no position, and the source of the memory's roof."""

from __future__ import annotations

import re
from typing import Final

from turbotui.features.roofline.live import RooflinePoint
from turbotui.features.roofline.roofs import RoofSet
from turbotui.features.roofline.verdicts import LevelRoofs, sentence

_OF_MEMORY: Final = ("DRAM: ", "no DRAM roof: ", "L3 and DRAM are hardly apart")
_ASIDE: Final = re.compile(r" \(|, as |, not |\. ")
"""The end of the part of a memory note that fits the screen; `turbotui roofs` prints the documents behind it."""


def verdict_text(point: RooflinePoint, choice: LevelRoofs) -> str:
    """Describe a point: "cpu 17: AI 0.41 flop/B, 18.2 GF/s: 71 % of the L2 roof, memory-bound"."""
    if point.not_scheduled:
        return (f"{point.name}: {point.signs}{point.gflops:.3g} GF/s; did not run in each set's time slice, so it "
                "has no place")
    return sentence(point, choice.under(point.working), choice.used(point.working))


def memory_note(roofs: RoofSet | None, choice: LevelRoofs, counters: str) -> str:
    """Describe the DRAM roof: its source, the cores that share it, or why none is drawn."""
    if roofs is None or choice.roofs is None:
        return ""
    # one core's share of the memory may be a roof although the whole memory is none
    of_all = "DRAM" in roofs.levels and "DRAM" not in choice.roofs.levels and choice.whole is not None
    notes = choice.whole.notes if of_all and choice.whole is not None else roofs.notes
    source = _ASIDE.split(next((note for note in notes if note.startswith(_OF_MEMORY)), ""))[0]
    source = source or ("" if "DRAM" in roofs.levels else "no DRAM roof was measured")
    return "; ".join(part for part in (source, roofs.working, counters) if part)
