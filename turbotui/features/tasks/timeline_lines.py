"""Renders task timelines as Rich segments, independent of Textual."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from turbotui.cell_widths import fitted, flush_right
from turbotui.features.tasks.live import Lane
from turbotui.features.tasks.timeline import place_texts, place_width
from turbotui.widgets.cells import UNKNOWN, StyleRole
from turbotui.widgets.painter import TextSegment

THIN: Final = tuple(StyleRole[f"LANE_{lane}"] for lane in range(8))
FULL: Final = tuple(StyleRole[f"LANE_{lane}_FULL"] for lane in range(8))
"""Colours of CPUs 0 to 7; further ones begin again, and the number tells them apart."""
FILLED: Final = 0.5  # share of a place from which it is drawn filled
_NAME: Final = 15  # characters that the kernel keeps of a name (proc(5), comm)


def lane_head(window: float, places: int, cell: int) -> list[TextSegment]:
    """The time scale above a timeline: seconds before the last sample, at the quarters."""
    text = [" "] * (places * cell)
    for quarter in range(4):
        word = f"|-{window * (4 - quarter) / 4:g} s"
        at = places * cell * quarter // 4
        text[at : at + len(word)] = word
    line = "".join(text)[: places * cell]
    head = f" {'TID':>7} {'Command':<{_NAME}} CPU%  "
    return [(head, StyleRole.TITLE), (line, StyleRole.TITLE)]


LANE_LEFT: Final = 8 + 1 + _NAME + 1 + 6
"""Characters before the lanes."""


def lane_cell(cpus: Iterable[int]) -> int:
    """Width of a timeline cell: that of the largest CPU number, so that no two CPUs look alike."""
    return place_width(max(cpus, default=0))


def lane_segments(lane: Lane, cell: int) -> tuple[TextSegment, ...]:
    """A thread's timeline: the number of the CPU it ran on, filled if it ran at least half of the time.

    A point where it did not run, blank where nobody watched yet.
    """
    row = lane.row
    tid = UNKNOWN if row.tid is None else str(row.tid)
    head = f" {flush_right(tid, 7)} {fitted(row.name, _NAME)} {100 * lane.busy:4.0f}  "
    segments: list[TextSegment] = [(head, StyleRole.DIM if row.ended else StyleRole.PLAIN)]
    text, role = "", StyleRole.PLAIN
    for at, (one, word) in enumerate(zip(lane.stretches, place_texts(lane.stretches, cell), strict=True)):
        mine = (" " * cell if at < lane.unwatched else word, StyleRole.DIM) if one is None else (
            word, (FULL if one.share >= FILLED else THIN)[one.cpu % len(THIN)])
        if mine[1] is not role and text:
            segments.append((text, role))
            text = ""
        text, role = text + mine[0], mine[1]
    return (*segments, (text, role))
