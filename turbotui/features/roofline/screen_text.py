"""The texts beside and below the roofline's picture; if room is short, the least important are dropped."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Final

from turbotui.features.roofline.level_points import LETTERS
from turbotui.features.roofline.live import RooflinePoint
from turbotui.features.roofline.roof_plot import MARKS
from turbotui.features.roofline.screen_view import TRAILS, RoofView
from turbotui.features.roofline.task_points import Note
from turbotui.features.roofline.verdict_text import verdict_text
from turbotui.quantities.marks import PARTIAL
from turbotui.quantities.sentences import several
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.painter import TextSegment

SIDE: Final = 38
"""Characters of the panel at the right."""
Lines = list[list[TextSegment]]


def notes_of(view: RoofView, outside: int) -> tuple[Note, ...]:
    """Return notes on points that are not in the picture, the most important first."""
    notes = [*view.flats.notes, *view.notes]
    if outside:
        notes.append(Note(f"{outside} outside the axes: A shows them", f"{outside} outside the axes: A"))
    if view.unknown:
        notes.append(Note(f"{view.unknown} not counted", f"{view.unknown} not counted"))
    unplaced = [region for region in view.regions if region.point is None]
    if unplaced:
        short = f"{several(len(unplaced), 'region')} without a point"
        why = unplaced[0].why
        notes.append(Note(f"{short}: {'' if why is None else why.sentence()}", short))
    if view.idle:
        notes.append(Note(f"{view.idle} without floating-point work or bytes", f"{view.idle} without FLOPs or bytes"))
    return tuple(notes)


def below_lines(view: RoofView, notes: Sequence[Note], power: Lines, width: int) -> Lines:
    """Format lines for narrow screens: the machine and notes, on two lines if they fit."""
    watts, machine, efficiency = power
    # Why threads have no position is important then, and longer than a line.
    why = textwrap.wrap(view.why, max(20, width - 2)) if view.why and not view.placed else []
    rest = [note for note in notes if not why or note not in view.notes]
    source = view.choice.source
    whole = " · ".join([f" {source}", *(note.text for note in rest)])
    short = [note.short for note in rest]
    lines = [whole] if len(whole) <= width else [_as_many(short, width), _as_many([source], width)]
    return [[*watts, *machine[0:3], *efficiency[0:3]], *([(f" {line}", StyleRole.AMBER)] for line in why),
            *([(line, StyleRole.DIM)] for line in lines if line)]


def _as_many(parts: Sequence[str], width: int) -> str:
    """Join as many of the first parts as fit a line, with a mark if some are left out."""
    for number in range(len(parts), 0, -1):
        text = " " + " · ".join([*parts[:number], *["…"] * (number < len(parts))])
        if len(text) <= width:
            return text
    return f" {parts[0]}"[: max(0, width - 1)] + "…" if parts else ""


def side_lines(view: RoofView, notes: Sequence[Note], power: Lines, ridges: Sequence[str], height: int) -> Lines:
    """Format the panel: the point, the machine over time, roofs, marks, notes.

    If the panel is too high, short notes come first, and the least important lines are left out.

    Args:
        height: the height of the panel; 0 before it is known.
    """
    blank: Lines = [[("", StyleRole.PLAIN)]]
    point = _point_lines(view, view.under_cursor)
    run = _wrapped("in a second of a thread's own run time") if view.tasks else []
    # the order of leaving out, and the lines
    blocks: list[tuple[int, Lines]] = [
        (0, point),
        (1, _level_lines(view)),
        (3, [*blank, [(" whole machine over time", StyleRole.TITLE)], *power]),
        (1, [*blank, [(" roofs", StyleRole.TITLE)], *_wrapped(view.choice.source)]),
        (6, _wrapped("ridges at " + ", ".join(ridges) + " flop/B") if ridges else []),
        (5, _wrapped(view.memory) if ridges else []),
        (2, [*blank, [(" points", StyleRole.TITLE), (f"  {view.levels[view.level].word}", StyleRole.PLAIN)]]),
        (2, run),
        (4, _mark_lines(view)),
        (7, _wrapped(f"·∘∙ past {TRAILS[view.trail]}")),
        (0, [line for note in notes for line in _wrapped(note.text)]),
    ]
    if height and _height(blocks) > height:
        short = [line for note in notes for line in _wrapped(note.short, StyleRole.AMBER)]
        blocks = [blocks[0], (0, short), *blocks[1:-1]]
        while _height(blocks) > height - 1 and any(rank for rank, _ in blocks):
            least = max(rank for rank, _ in blocks)
            blocks = [block for block in blocks if block[0] < least]
        blocks.append((0, [[(" …", StyleRole.DIM)]]))
    return [line for _, lines in blocks for line in lines]


def _height(blocks: Sequence[tuple[int, Lines]]) -> int:
    return sum(len(lines) for _, lines in blocks)


def _mark_lines(view: RoofView) -> Lines:
    lines: Lines = []
    used = dict.fromkeys(point.dominant for point in view.placed)
    for mark in dict.fromkeys(MARKS.get(name, MARKS[""]) for name in used):
        names = "/".join(name or "width not counted" for name in used if MARKS.get(name, MARKS[""]) == mark)
        lines.append([(f" {mark} ", StyleRole.SUMMARY), (names, StyleRole.DIM)])
    return lines


def _point_lines(view: RoofView, point: RooflinePoint | None) -> Lines:
    if point is None:
        return [[(" no point", StyleRole.TITLE)]]
    mark = point.signs
    lines: Lines = [[(f" {point.name}", StyleRole.TITLE)]]
    for word, value, unit in (("AI", point.intensity, "flop/B"), ("speed", point.gflops, "GFLOP/s"),
                              ("moved", point.gbytes, "GB/s")):
        text = "—" if value is None else f"{mark}{value:.4g}"
        lines.append([(f" {word:<7}", StyleRole.DIM), (f"{text:>9}", StyleRole.SUMMARY), (f" {unit}", StyleRole.DIM)])
    verdict = verdict_text(point, view.roofs(point.row)).removeprefix(f"{point.name}: ").partition(": ")[2]
    lines += _wrapped(verdict, StyleRole.AMBER) if verdict else []
    if point.dominant:
        lines += _wrapped(f"mostly {point.dominant}")
    if point.width is not None:
        lines += _wrapped(f"bytes: {point.width.value}")
    if point.is_region:
        lines += _wrapped("region of the command, since its first mark")
        if point.estimated:
            lines += _wrapped("~ counters were multiplexed, or marks were faster than they are read")
    elif point.estimated:
        lines += _wrapped("~ counters were multiplexed")
    if point.lacking is not None:
        lines += _wrapped(f"{PARTIAL.sign} {point.lacking.detail}")
    return lines


def _level_lines(view: RoofView) -> Lines:
    """Format the point by memory level, with the binding one; nothing if not requested."""
    if (verdict := view.by_level) is None:
        return []
    lines: Lines = [[("", StyleRole.PLAIN)], [(" by memory level", StyleRole.TITLE)],
                    [("         flop/B      GB/s  of its roof", StyleRole.DIM)]]
    for point in verdict.points:
        values = ["—" if value is None else f"{value:.3g}" for value in (point.intensity, point.gbytes)]
        role = StyleRole.AMBER if point.binds else StyleRole.SUMMARY
        lines.append([(f" {LETTERS[point.level]} {point.level:<4}", StyleRole.DIM),
                      (f"{values[0]:>8}{values[1]:>10}{point.share_text:>9}", role)])
    return [*lines, *_wrapped(verdict.sentence, StyleRole.AMBER)]


def _wrapped(text: str, role: StyleRole = StyleRole.DIM) -> Lines:
    return [[(f" {line}", role)] for line in textwrap.wrap(text, SIDE - 2)]
