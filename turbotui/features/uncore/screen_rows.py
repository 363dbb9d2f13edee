"""The layout of an uncore table on the screen: units below their sums, titles above units of measurement."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import field, replace
from typing import Any, Final, TypeVar

from turbotui.cell_widths import cut, flush_left, flush_right
from turbotui.dataclass import dataclass
from turbotui.features.uncore.absence import UNNAMED
from turbotui.features.uncore.kinds import TRAFFIC, UncoreUnits, UnitRow
from turbotui.features.uncore.tables import PLACE, UncoreTable
from turbotui.quantities.columns import Column
from turbotui.quantities.tables import RowTable
from turbotui.widgets.cells import Slot, StyleRole, cut_words
from turbotui.widgets.content import Line
from turbotui.widgets.geometry import RULE, Geometry
from turbotui.widgets.levels import cell_role_of
from turbotui.widgets.painter import FOLDED, OPEN, TextSegment
from turbotui.widgets.row_content import Naming, RowContent, RowPainter, RowView
from turbotui.widgets.slots import row_slots
from turbotui.widgets.table_view import RowList, ordered, passes

T = TypeVar("T", bound=RowTable[Any])
FILTERED: Final = " [f]"
"""The mark of a row with filters, because there may be no room for the column of filters."""
_NARROWEST: Final = 8
"""The least characters of a text that is cut."""


NO_EVENTS: Final[Column[UnitRow]] = Column(
    "events", "", -1, (), lambda _row: f"{UNNAMED}: C types one, such as event=0x1,umask=0x2",
                                           help="reason for the absence of counts")
"""The column of a table without numbers."""


def caption_of(units: UncoreUnits, content: RowContent[UnitRow], width: int) -> list[TextSegment]:
    """Return the line above a table, cut behind a word at this width, but never within the sentence that answers."""
    kind, many = units.kind, f"{len(units.units)} x {units.kind.id}"
    fullest = content.whole.fullest() if isinstance(content.whole, UncoreTable) else None
    line: list[TextSegment] = [(f"   {kind.title}", StyleRole.SUMMARY)]
    if fullest is not None:
        line += [("  nearest to its peak: ", StyleRole.DIM), (fullest.words, cell_role_of(fullest.share))]
    answers = ((f"no GB/s: {kind.no_bytes}",) if kind.no_bytes else
               (f"no share of a peak: {units.no_peak}", "no share of a peak") if units.no_peak else ("",))
    captions = ["  " + " · ".join(filter(None, (answer, kind.what, many))) for answer in answers]
    room = width - sum(len(text) for text, _role in line)
    line.append((cut_words(next((text for text in captions if len(text) <= room), captions[-1]), room), StyleRole.DIM))
    return line


def widened(table: T) -> T:
    """A table whose columns of texts are as wide as the longest, and the place as wide as with the mark of a filter."""
    def widened_column(column: Column[Any]) -> Column[Any]:
        if column.decimals >= 0:
            return column
        more = len(FILTERED) + 2 if column.id == PLACE.id else 0
        return replace(column, width=max((len(str(column.compute(row))) for row in table.rows), default=0) + more)

    return replace(table, columns=tuple(map(widened_column, table.columns)))


def content_of(table: UncoreTable) -> RowContent[UnitRow]:
    """Make a table's content for the screen, with constant widths of positions and texts, so that nothing moves."""

    def title_of(row: UnitRow) -> str:
        name = f"{len(row.units)} x {table.units.kind.title}" if row.is_sum else row.units[0].pmu.name
        return " · ".join(filter(None, (name, row.label, table.counters.filters_in_words(table.units, row))))

    def words(row: UnitRow) -> str:
        texts = (str(column.compute(row)) for column in table.columns if column.decimals < 0)
        ports = () if table.ports is None or row.is_sum else table.ports.addresses(row.units[0])
        return " ".join((table.units.kind.title, *texts, *ports, "" if row.is_sum else row.units[0].pmu.name))

    seq = 0 if table.frame is None else table.frame.seq
    return RowContent(widened(table), Naming(lambda row: row.key, words, title_of), seq)


class UnitRows(RowList[RowContent[UnitRow], Column[Any], Hashable]):
    """Sorted sums, each followed by its sorted units."""

    def arranged(self, content: RowContent[UnitRow], view: RowView[UnitRow]) -> Sequence[Line[Hashable]]:
        """Arrange rows; a sum is shown if one of its units passes the filter."""
        outer: list[Hashable] = []
        parts: dict[Hashable, list[Hashable]] = {}
        for key in content.rows:
            row = content.get(key)
            if row is None or (not row.is_sum and view.filter.text and not passes(content, view, key)):
                continue
            if row.parent is not None:
                parts.setdefault(row.parent, []).append(key)
            else:
                outer.append(key)

        def in_order(rows: Sequence[Hashable]) -> Sequence[Hashable]:
            return ordered(content, rows, view.sort, reverse=view.reverse, mark=view.mark)

        totals = [key for key in outer if (row := content.get(key)) is not None and row.is_machine]
        outer = [key for key in outer if key not in totals]
        lines: list[Line[Hashable]] = [] if view.filter.text else [Line(key) for key in totals]
        for key in in_order(outer):
            row = content.get(key)
            if row is None or not row.is_sum:
                lines.append(Line(key))
            elif key in parts:
                lines.append(Line(key, 0, key not in view.folded))
                if key not in view.folded:
                    lines += [Line(part, parent=key) for part in in_order(parts[key])]
        return lines


_MUCH_MORE: Final = 2.0
"""The ratio to the others' mean from which a unit is highlighted."""


@dataclass(kw_only=True)
class UnitPainter(RowPainter[UnitRow]):
    """Paints sums brightly, and units with clearly more traffic than others by their share of the maximum.

    No document states the most traffic of a unit, so units are compared with each other; evenly shared traffic is not
    highlighted. Units of measurement stand in a second line of titles.
    """

    _greatest: dict[str, float | None] = field(default_factory=dict)

    def begin(self, _content: RowContent[UnitRow]) -> None:
        """Begin a content, forgetting what was computed for the one before."""
        self._greatest.clear()

    def _most(self, content: RowContent[UnitRow], column: Column[UnitRow]) -> float | None:
        """Return the greatest traffic of a unit if it is far above the others' mean; None if units are alike."""
        if column.id not in self._greatest:
            units = [row for row in content.whole.rows if not row.is_sum]
            values = [value for value in content.whole.values(column, units) if isinstance(value, int | float)]
            most = max(values, default=0.0)
            others = (math.fsum(values) - most) / max(1, len(values) - 1)
            stands_out = column.unit in TRAFFIC and len(values) > 1 and most >= _MUCH_MORE * others
            self._greatest[column.id] = most if stands_out and most > 0 else None
        return self._greatest[column.id]

    def headers(self, geometry: Geometry) -> list[list[TextSegment]]:
        second = [flush_right(cut("".join(slot.column.heading[1:]), slot.width), slot.width) for slot in geometry.slots]
        if not any(map(str.strip, second)):
            return super().headers(geometry)
        below = [(f" {text}", StyleRole.DIM) for text in second]
        return [self.header(geometry), [(" " * self.label_width, StyleRole.TITLE), (RULE, StyleRole.RULE), *below]]

    def ids(self, content: RowContent[UnitRow], line: Line[Hashable]) -> list[TextSegment]:
        row, whole = content.get(line.row), content.whole
        if row is None or not self.fixed or not isinstance(whole, UncoreTable):
            return super().ids(content, line)
        mark = " " if line.open is None else OPEN if line.open else FOLDED
        label = row.label + (FILTERED if whole.counters.filters_in_words(whole.units, row) else "")
        tag = "•" if line.row in self.view.tags else " "
        room = self.label_width - 2
        return [(tag, StyleRole.TAGGED), (mark, StyleRole.DIM), (flush_left(cut(f" {label}", room), room),
                                                                 StyleRole.SUMMARY if row.is_sum else StyleRole.PLAIN)]

    def segment(self, content: RowContent[UnitRow], row: Hashable, slot: Slot) -> TextSegment:
        text, role = super().segment(content, row, slot)
        unit_row = content.get(row)
        if role is StyleRole.PLAIN and slot.column.decimals < 0:
            role = StyleRole.DIM
        elif role is StyleRole.PLAIN and unit_row is not None:
            value, most = content.value(slot.column, row), self._most(content, slot.column)
            if unit_row.is_sum:
                role = StyleRole.SUMMARY
            elif most is not None and self.view.mark is None and isinstance(value, int | float):
                role = cell_role_of(value / most)
        return text, role


def unit_painter(view: RowView[UnitRow], width: int) -> UnitPainter:
    """Make a painter that cuts texts behind the numbers to the room left."""
    fixed, moving = row_slots(view, width, stacked=True)
    taken = (*fixed, *(slot for slot in moving if slot.column.decimals >= 0))
    room = width - sum(slot.outer for slot in taken) - len(RULE) - 2
    slots: list[Slot] = []
    for slot in moving:
        if slot.column.decimals < 0 and slot.column.id not in view.arrangement.widths:
            slot = replace(slot, width=min(slot.width, max(room, _NARROWEST, len(slot.title))))  # noqa: PLW2901
            room -= slot.outer
        slots.append(slot)
    return UnitPainter(view, fixed, tuple(slots), width)
