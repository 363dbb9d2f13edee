"""The texts beside and below the roofline's picture, or instead of it; and the files that it is saved to.

If room is short, the least important lines are dropped.
"""

from __future__ import annotations

import math
import os
import textwrap
import time
from collections.abc import Sequence
from typing import Final

from turbotui.errors import TurbotuiError
from turbotui.features.roofline.level_points import LETTERS
from turbotui.features.roofline.live import RooflinePoint
from turbotui.features.roofline.roof_plot import MARKS
from turbotui.features.roofline.screen_view import TRAILS, RoofView
from turbotui.features.roofline.task_points import Note
from turbotui.features.roofline.verdict_text import verdict_text
from turbotui.machine.host import HostKind
from turbotui.machine.machine import Machine
from turbotui.quantities.marks import PARTIAL
from turbotui.quantities.sentences import as_sentence, several
from turbotui.quantities.unavailable import Unavailable
from turbotui.tables.saving import write_numbered
from turbotui.widgets.absence import wrapped
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.painter import TextSegment, nice_top
from turbotui.widgets.spark import spark

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


_BLANK: Final = [("", StyleRole.PLAIN)]
_SIMULATED: Final = "a simulated machine"
"""A remedy that is shown below with examples."""


def missing_lines(why: Unavailable, roofs: str, width: int) -> list[list[TextSegment]]:
    """Format the reason, its remedy, and the source of roofs that are known without counters."""
    remedies = [part.strip() for part in why.remedy.split(";") if not part.strip().startswith(_SIMULATED)]
    until = "" if not roofs else f" Until then: {roofs}."
    return [
        _BLANK, [("  No point can be placed on the roofline here.", StyleRole.SUMMARY)], _BLANK,
        *wrapped(as_sentence(f"{why.reason.value}: {why.detail}."), StyleRole.PLAIN, width),
        *wrapped(f"to do: {'; '.join(remedies)}" if any(remedies) else "", StyleRole.KEY, width, hang=7),
        _BLANK,
        *wrapped(f"Its roofs can be measured all the same: turbotui roofs.{until}", StyleRole.DIM, width),
        _BLANK,
        [("  Functions have shares of time here, too: ", StyleRole.PLAIN), ("f", StyleRole.KEY),
         (" samples those that run now.", StyleRole.PLAIN)],
        [("  Those and the regions of a command:", StyleRole.PLAIN)],
        [("    turbotui roofline --by function -- COMMAND", StyleRole.KEY)],
        _BLANK,
        [("  A simulated machine has the counters:", StyleRole.PLAIN)],
        [("    turbotui --machine laptop-old+calculix", StyleRole.KEY), ("   two behaviours", StyleRole.DIM)],
        [("    turbotui --machine sapphire-2s+tonto", StyleRole.KEY), ("     two widths, 224 CPUs", StyleRole.DIM)],
    ]


_WHOLE = 100.0
"""The value from which a number is shown without a fraction."""
EACH = 4
"""Most intervals that a character of a curve stands for."""


def machine_lines(watts: Sequence[float], speed: Sequence[float], width: int, seq: int) -> list[list[TextSegment]]:
    """A line for each quantity, with its newest number and a curve, which `seq` (the interval) moves.

    Args:
        watts: of all packages in the last intervals, oldest first; NaN where unknown.
        speed: GFLOP/s of the machine, as above.
    """
    size = max(len(watts), len(speed))
    pairs = list(zip(_filled(watts, size), _filled(speed, size), strict=True))
    first = next((at for at, pair in enumerate(pairs) if not all(map(math.isnan, pair))), size)
    powers, rates = [power for power, _ in pairs[first:]], [flops for _, flops in pairs[first:]]
    efficiency = [flops / power if power > 0 else math.nan for power, flops in pairs[first:]]
    rows = (("power", "W", powers), ("all", "GF/s", rates), ("per W", "GF/s", efficiency))
    return [[(f" {word:<7}", StyleRole.DIM), (f"{_text(values):>7}", StyleRole.SUMMARY),
             (f" {unit:<7}", StyleRole.DIM), (_curve(values, width, seq), StyleRole.SPARK)]
            for word, unit, values in rows]


def _filled(values: Sequence[float], size: int) -> list[float]:
    return [*[math.nan] * (size - len(values)), *values]


def _text(values: Sequence[float]) -> str:
    last = values[-1] if values else math.nan
    return "—" if math.isnan(last) else f"{last:,.3g}" if last < _WHOLE else f"{last:,.0f}"


def _curve(values: Sequence[float], width: int, seq: int) -> str:
    known = [value for value in values if not math.isnan(value)]
    return spark(tuple(values)[-width * EACH:], nice_top(max(known, default=0.0)), width, seq)


def title_of(machine: Machine, view: RoofView) -> str:
    """Return the title of a picture: the kind of machine unless it is real, the processor, the level of the points."""
    host = machine.host
    kind = "" if host.kind is HostKind.REAL else f"{host.kind.value} machine {host.name}"
    return ", ".join(word for word in (kind, machine.model.title, view.levels[view.level].word) if word)


def save_file(machine: str, suffix: str, text: str, without: str = "") -> str:
    """Write a new file in the current directory, and return a notice with its path or the error.

    Args:
        machine: the machine's name, which becomes a part of the file's name.
        suffix: of the file, without a dot.
        without: what the file leaves out, as a part of the notice.
    """
    kept = "".join(char if char.isalnum() or char in "-+." else "-" for char in machine)
    stem = f"turbotui-roofline-{kept}-{time.strftime('%Y%m%d-%H%M%S')}"
    try:
        return f"Saved{without} {write_numbered(os.getcwd(), stem, suffix, text)}"
    except (TurbotuiError, OSError) as error:
        return f"Not saved: {error}"
