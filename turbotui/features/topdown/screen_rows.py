"""Rows of the top-down screen: stacked bars in colour, each part with its name; without Textual."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Final

from turbotui.cell_widths import cut, fitted, flush_left, flush_right
from turbotui.features.topdown.bars import DOUBT, bar_parts
from turbotui.features.topdown.engine import Drill
from turbotui.features.topdown.model import TopdownRow
from turbotui.features.topdown.tables import BAR
from turbotui.features.topdown.trees import Node
from turbotui.widgets.cells import UNKNOWN, Slot, StyleRole
from turbotui.widgets.content import Line
from turbotui.widgets.painter import TextSegment, merged
from turbotui.widgets.row_content import RowContent, RowPainter

_SENTENCE_LINES: Final = 2
"""The most lines of a node's meaning and of its advice."""
_ROLES: Final[Mapping[str, StyleRole]] = {
    "R": StyleRole.LANE_2_FULL, "S": StyleRole.LANE_4_FULL, "F": StyleRole.LANE_1_FULL, "B": StyleRole.LANE_0_FULL,
    "T": StyleRole.LANE_3_FULL, DOUBT: StyleRole.AMBER,
}  # fmt: skip
"""Colours of the categories of level 1, and of shares that do not add up."""
_UNITS: Final = {"slots": "slots", "cycles": "cycles", "operations": "ops"}
_LEGENDS: Final = ("R retiring  S bad speculation  F front end  B back end", "R retire S specul. F front B back",
                   "Retire Spec Front Back", "")
"""What stands above the bars, the longest that has room: narrow parts have their letters only."""
_BELOW: Final = (StyleRole.LANE_0, StyleRole.LANE_5, StyleRole.LANE_6, StyleRole.LANE_7,
                 StyleRole.LANE_3, StyleRole.LANE_1)


def bar_segments(row: TopdownRow, room: int) -> list[TextSegment]:
    """Draw the bar of level 1."""
    if not (parts := bar_parts(row, room)):
        return [(flush_left(UNKNOWN, room), StyleRole.DIM)]
    names = {node.words.letter: f" {node.words.title} " for node in row.nodes()}
    return [(_named(letter, names.get(letter, ""), length), _ROLES.get(letter, StyleRole.PLAIN))
            for letter, length in parts]


def _named(letter: str, name: str, length: int) -> str:
    """Draw a part of a bar: its name if there is room, else its letter; doubt is hatched."""
    if letter == DOUBT:
        return letter * length
    return flush_left(name if len(name) <= length else flush_left(letter, min(2, length)), length)


class TopdownPainter(RowPainter[TopdownRow]):
    """Paints the bars."""

    def _title(self, segments: list[TextSegment], slot: Slot) -> None:
        if slot.column.id == BAR.id:
            legend = next(text for text in _LEGENDS if len(text) <= slot.width) or BAR.id
            segments.append((f" {flush_left(legend, slot.width)}", StyleRole.TITLE))
        else:
            super()._title(segments, slot)

    def ids(self, content: RowContent[TopdownRow], line: Line[Hashable]) -> list[TextSegment]:
        row = content.get(line.row)
        if row is None or not any(slot.column.id == BAR.id for slot in self.fixed):
            return super().ids(content, line)
        tagged = line.row in self.view.tags
        segments: list[TextSegment] = []
        for at, slot in enumerate(self.fixed):
            segments.append(("•" if tagged and not at else " ", StyleRole.TAGGED))
            if slot.column.id == BAR.id:
                segments += bar_segments(row, slot.width)
            else:
                segments.append((fitted(str(content.value(slot.column, line.row) or ""), slot.width), StyleRole.PLAIN))
        return merged(segments)


def tree_lines(row: TopdownRow, path: Sequence[Node], width: int, key: Callable[[Node], str]) -> list[
        list[TextSegment]]:
    """Draw the opened levels of a row: path, meaning, advice, and parts.

    Args:
        path: the opened nodes, from level 1 on; () if none is open.
        key: returns the words for the key that opens a node.
    """
    node = path[-1] if path else None
    hottest = row.hottest("" if node is None else node.id)
    if node is None:
        fault = row.fault()
        if fault:
            return wrapped(f"{row.place.label}: {fault}", width, StyleRole.AMBER)
        if hottest is None:
            first = row.first_unknown()
            why = row.refused if first is None else row.why(first.id)
            what = f"{first.words.title} is unknown: " if first is not None and row.missing else ""
            return wrapped(f"{row.place.label}: {what}{'' if why is None else why.sentence()}", width, StyleRole.DIM)
        return [
            [(f" {row.place.label} · ", StyleRole.PLAIN), (f"{hottest.words.title} {_in_words(row, hottest)}",
                                                           StyleRole.SUMMARY), (f"  {key(hottest)}", StyleRole.KEY)],
            *_words(hottest, width),
        ]
    lines: list[list[TextSegment]] = [[(f" {row.place.label}", StyleRole.PLAIN)]]
    for step in path:
        lines[0] += [(" › ", StyleRole.DIM), (f"{step.words.title} {_in_words(row, step)}", StyleRole.SUMMARY)]
    lines += _words(node, width)
    below = sorted(row.nodes(node.id), key=lambda child: -(row.percent(child.id) or 0.0))
    if not below:
        return lines
    room = max(10, min(60, width - 52))
    for at, step in enumerate(below):
        lines.append(_part(row, step, room, _BELOW[at % len(_BELOW)], hot=step is hottest))
    fault = row.fault(node.id)
    if fault:
        lines.append([(cut(f" {fault}", width), StyleRole.AMBER)])
    keys = {(branch.pmu, node.id) for branch in row.branches}
    ran = [row.ran[key] for key in keys if key in row.ran]
    if ran and min(ran) < 1.0:
        share = f"{100 * min(ran):.0f} %"
        lines += wrapped(f"~ counters of these ran {share} of the interval: they are multiplexed", width,
                         StyleRole.DIM)
    how = "" if hottest is None else key(hottest)
    if hottest is not None and how:
        lines.append([(cut(f" {hottest.words.title}: {how}", width), StyleRole.KEY)])
    return lines


def _in_words(row: TopdownRow, node: Node) -> str:
    value = row.percent(node.id)
    return UNKNOWN if value is None else f"{value:.1f} %"


def _words(node: Node, width: int) -> list[list[TextSegment]]:
    return [*wrapped(node.words.sentence, width, StyleRole.PLAIN),
            *wrapped(f"Try: {node.words.advice}.", width, StyleRole.KEY)]


def wrapped(text: str, width: int, role: StyleRole) -> list[list[TextSegment]]:
    """Wrap a sentence to at most two lines."""
    lines = textwrap.wrap(text, max(20, width - 2), max_lines=_SENTENCE_LINES, placeholder=" …")
    return [[(f" {line}", role)] for line in lines]


def _part(row: TopdownRow, node: Node, room: int, role: StyleRole, *, hot: bool) -> list[TextSegment]:
    """Draw one part: name, share, and a bar on the scale of all slots, or the reason why it is unknown."""
    value = row.percent(node.id)
    name = f" {'›' if hot else ' '} {fitted(node.words.title, 24)}"
    if value is None:
        return [(name, StyleRole.PLAIN), (f"{flush_right(UNKNOWN, 7)}  {row.why(node.id).sentence()}", StyleRole.DIM)]
    length = max(0, min(room, round(value / 100.0 * room)))
    share = f"{value:6.1f} % of {flush_left(_UNITS[node.unit], 6)} "
    return [(name, StyleRole.SUMMARY if hot else StyleRole.PLAIN), (share, StyleRole.PLAIN),
            ("■" * length, role), ("·" * (room - length), StyleRole.RULE)]


def drill_of(row: TopdownRow, path: Sequence[Node]) -> Drill:
    """Return the nodes to count while a path of a row is open, on the row's CPUs only."""
    return Drill(tuple(node.id for node in path), frozenset(row.place.cpus)) if path else Drill()


AHEAD: Final = 1.25
"""The ratio of slots at which a row overtakes the row above, so that similar rows keep their places."""


def busiest_first(rows: Sequence[TopdownRow], before: Sequence[Hashable] = ()) -> tuple[TopdownRow, ...]:
    """Sort rows by their slots, rows with unknown slots last.

    Args:
        before: the keys of the rows in their previous order, which rows with similar slots keep, so that lines do not
            jump. Without it the order is exact.
    """
    # of a region its share, because an opened region is counted for a shorter time than others
    slots = {row.place.key: (row.slots() if row.extent is None else row.extent.of_slots) or 0.0 for row in rows}
    if not before:
        return tuple(sorted(rows, key=lambda row: -slots[row.place.key]))
    at = {key: place for place, key in enumerate(before)}
    ordered: list[TopdownRow] = []
    for row in sorted(rows, key=lambda row: at.get(row.place.key, len(at))):
        own_slots, place = slots[row.place.key], len(ordered)
        while place and own_slots > AHEAD * slots[ordered[place - 1].place.key]:
            place -= 1
        ordered.insert(place, row)
    return tuple(ordered)
