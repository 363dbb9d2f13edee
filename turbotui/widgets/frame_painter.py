"""Paint the lines of a frame's table: CPUs and groups of them, with sparklines. Nothing here knows Textual."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import field
from typing import TypeAlias

from turbotui.cell_widths import cut, fitted, flush_left, flush_right
from turbotui.dataclass import dataclass
from turbotui.machine.topology import Topology
from turbotui.quantities.columns import ColumnId, CounterColumn, Value
from turbotui.quantities.marks import OLD, PARTIAL
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope
from turbotui.sampling.frame import Frame
from turbotui.sampling.history import History
from turbotui.sampling.tagged import tagged_cell, tagged_partial
from turbotui.tables.row_names import row_name
from turbotui.widgets.cells import (
    IDENTITY_SCOPES,
    TOO_WIDE,
    UNKNOWN,
    Slot,
    StyleRole,
    alarm,
    cell_text,
)
from turbotui.widgets.comparison import difference, difference_text
from turbotui.widgets.content import Line
from turbotui.widgets.frame_rows import FrameContent
from turbotui.widgets.geometry import Geometry
from turbotui.widgets.headings import Heading
from turbotui.widgets.levels import FrameLevels
from turbotui.widgets.painter import (
    FOLDED,
    OPEN,
    Painter,
    TextSegment,
    alarmed,
    alerted,
    fast_numbers,
    marked,
    merged,
    nice_top,
)
from turbotui.widgets.slots import HISTORY
from turbotui.widgets.spark import spark
from turbotui.widgets.table_view import TAGS_ROW

Alerted: TypeAlias = Mapping[ColumnId, Mapping[Hashable, StyleRole]]
"""Roles of cells that belong to alerts, by column and row."""


@dataclass(kw_only=True)
class FramePainter(Painter[FrameContent, CounterColumn, RowId]):
    """Paints CPUs or a tree; most cells of a CPU have no mark and are painted a column at a time."""

    history: History
    levels: FrameLevels
    # returns the roles of cells that belong to alerts; None without alerts
    alerted: Callable[[], Alerted] | None = None
    _alerted: Alerted = field(default_factory=dict)
    _may_be_scaled: dict[ColumnId, bool] = field(default_factory=dict)
    _standings: dict[tuple[Scope, RowId], StyleRole | None] = field(default_factory=dict)
    _identities: dict[RowId, list[TextSegment]] = field(default_factory=dict)
    _topology: Topology | None = None

    @property
    def tree(self) -> bool:
        """Whether rows are labelled by their place in a tree instead of by identity columns."""
        return len(self.view.levels) > 1

    @property
    def label_width(self) -> int:
        return 13 + 2 * (len(self.view.levels) - 1) if self.tree else super().label_width

    @property
    def columns(self) -> list[CounterColumn]:
        return [slot.column for slot in self.moving if not slot.spark] if self.tree else super().columns

    def headings(self, geometry: Geometry) -> list[Heading]:
        """The headings of columns; the label of a tree has none."""
        headings = super().headings(geometry)
        return headings[len(self.fixed) :] if self.tree else headings

    def head(self, segments: list[TextSegment]) -> None:
        if self.tree:
            segments.append((flush_left(" machine", self.label_width), StyleRole.TITLE))
        else:
            super().head(segments)

    def begin(self, content: FrameContent) -> None:
        """Begin a content, forgetting the rows of another topology."""
        if self.alerted is not None:
            self._alerted = self.alerted()
        if (topology := content.frame.topology) is not self._topology:
            self._topology = topology
            self._standings.clear()
            self._identities.clear()

    def ids(self, content: FrameContent, line: Line[RowId]) -> list[TextSegment]:
        frame = content.frame
        if self.tree:
            return [(self._label(frame, line), StyleRole.PLAIN if line.open is None else StyleRole.TITLE)]
        return self._identity(frame, line.row)

    def _identity(self, frame: Frame, row: RowId) -> list[TextSegment]:
        if row in {SYSTEM_ROW, TAGS_ROW}:
            word = "all" if row == SYSTEM_ROW else f"Σ {len(self.view.tags)}"
            return [(flush_right(word, self.label_width), StyleRole.PLAIN)]
        if (known := self._identities.get(row)) is not None:
            return known
        if frame.topology.instance(row) is None:  # a tagged row that has since disappeared: its place is unknown
            word = f"{row_name(frame.topology, row)} off"
            word = word if len(word) <= self.label_width else str(row.key[-1])
            return [(flush_right(word, self.label_width)[-self.label_width :], StyleRole.DIM)]
        segments: list[TextSegment] = []
        tagged = row in self.view.tags
        for slot in self.fixed:
            value = frame.cell(slot.column, row)
            # decimal, as in sysfs and in the tree, even where turbostat prints hexadecimal ids
            text = UNKNOWN if value is None else str(value)
            if slot.column.decimals < 0:
                text = flush_left(cut(text, slot.width), slot.width)
            else:
                text = flush_right(text, slot.width) if len(text) <= slot.width else TOO_WIDE * slot.width
            own = _first(frame, slot.column, row)
            segments.append(("•" if tagged and slot is self.fixed[0] else " ", StyleRole.TAGGED))
            segments.append((text, StyleRole.PLAIN if own else StyleRole.DIM))
        segments = merged(segments)
        if not any(slot.column.needs for slot in self.fixed):  # the others are read, but perhaps not yet
            self._identities[row] = segments
        return segments

    def _label(self, frame: Frame, line: Line[RowId]) -> str:
        if (row := line.row) == SYSTEM_ROW:
            text = " whole machine"
        elif row == TAGS_ROW:
            text = f" Σ {len(self.view.tags)} tagged"
        else:
            name = row_name(frame.topology, row, inside=Scope.PACKAGE in self.view.levels)
            place = frame.topology.places.get(row.key[0]) if row.scope is Scope.CPU else None
            kind = "" if place is None else place.core_type or ""
            name += f" {kind}" if kind else " off" if frame.topology.instance(row) is None else ""
            mark = " " if line.open is None else OPEN if line.open else FOLDED
            tagged = "•" if row in self.view.tags else " "
            text = f"{tagged}{'  ' * line.depth}{mark} {name}"
        return fitted(text, self.label_width)

    def value(self, frame: Frame, column: CounterColumn, row: RowId) -> Value:
        """The value of a cell, including cells of the tagged rows' sum."""
        if row == TAGS_ROW:
            return tagged_cell(frame, column, self._tagged_cpus(frame))
        return frame.cell(column, row)

    def column(self, content: FrameContent, rows: Sequence[RowId], slot: Slot) -> list[TextSegment]:
        segments = self._column(content, rows, slot)
        roles = self._alerted.get(slot.column.id)
        if roles is None or slot.spark:
            return segments
        owners = (content.frame.home(slot.column, row) or row for row in rows)
        return [segment if role is None else alerted(segment, role)
                for segment, role in zip(segments, map(roles.get, owners), strict=True)]

    def _column(self, content: FrameContent, rows: Sequence[RowId], slot: Slot) -> list[TextSegment]:
        frame = content.frame
        if slot.spark:
            return self._sparks(frame, rows, slot)
        column: CounterColumn = slot.column
        blank = (" " * (slot.width + 1), StyleRole.DIM)
        standings = self._standings_of(frame, column, rows)
        values = frame.cells(column, rows)
        plain = self.view.mark is None and not frame.newer.late and not frame.disputes(column) and (
            not self._scaled(frame, column) or frame.ran_throughout(column))
        if not plain:
            return [blank if standing is None else self._cell(frame, row, slot, standing)
                    for row, standing in zip(rows, standings, strict=True)]
        # nearly every column: as above, but without look-ups for a CPU
        texts = fast_numbers(column, values, slot.width)
        segments: list[TextSegment] = []
        levels = self.levels.roles(frame, column, rows, values)
        alarming = column.thresholds is not None
        ruled = self._outstanding(frame, column, rows)
        for row, standing, text, value, level in zip(rows, standings, texts, values, levels, strict=True):
            if standing is None:
                segments.append(blank)
            elif text is None or row.scope is not Scope.CPU:
                segments.append(self._cell(frame, row, slot, standing))
            elif alarming and (role := alarm(column, value)) is not None:
                segments.append(alarmed(text[1:], role, standing))
            elif row in ruled:
                segments.append(alarmed(text[1:], StyleRole.AMBER, standing))
            else:
                segments.append((text, level if standing is StyleRole.PLAIN else standing))
        return segments

    def _outstanding(self, frame: Frame, column: CounterColumn, rows: Sequence[RowId]) -> Collection[RowId]:
        """The rows whose value stands out by the rule of a metric's vendor."""
        if column.rule is None:
            return ()
        plain = [row for row in rows if row != TAGS_ROW]
        return {row for row, shown in zip(plain, frame.cells(column.rule, plain), strict=True) if shown}

    def _standings_of(self, frame: Frame, column: CounterColumn, rows: Sequence[RowId]) -> Sequence[StyleRole | None]:
        if column.scope is Scope.CPU and not column.whole_only:
            return [StyleRole.PLAIN] * len(rows)
        return [self._standing(frame, column, row) for row in rows]

    def _cell(self, frame: Frame, row: RowId, slot: Slot, standing: StyleRole) -> TextSegment:
        column: CounterColumn = slot.column
        if (value := self.value(frame, column, row)) is None:
            return " " + cell_text(column, None, slot.width), StyleRole.DIM
        if self.view.mark is None:
            text = cell_text(column, value, slot.width)
        else:
            marked_at = self.view.mark
            then = self.value(marked_at.frame, column, row) if isinstance(marked_at, FrameContent) else None
            text = difference_text(column, difference(column, value, then), slot.width)
        signs = self._signs(frame, column, row)
        if OLD.sign in signs:
            return marked(signs, text), StyleRole.DIM
        role = alarm(column, value) or (StyleRole.AMBER if row in self._outstanding(frame, column, (row,)) else None)
        if role is not None:
            return alarmed(text, role, standing, signs)
        if standing is not StyleRole.PLAIN or self.view.mark is not None or row == TAGS_ROW:
            return marked(signs, text), standing
        return marked(signs, text), self.levels.roles(frame, column, (row,), (value,))[0]

    def _signs(self, frame: Frame, column: CounterColumn, row: RowId) -> str:
        """The signs of a cell's marks, including cells of the tagged rows' sum."""
        if row == TAGS_ROW:
            return PARTIAL.sign if tagged_partial(frame, column, self._tagged_cpus(frame)) else ""
        return frame.signs(column, row)

    def _tagged_cpus(self, frame: Frame) -> Sequence[int]:
        instances = (frame.topology.instance(tag) for tag in self.view.tags)
        return sorted({cpu for instance in instances if instance is not None for cpu in instance.cpus})

    def _standing(self, frame: Frame, column: CounterColumn, row: RowId) -> StyleRole | None:
        """How a row shows a column: as its own value, dimmed as an enclosing row's value, or not at all (None)."""
        scope = Scope.SYSTEM if column.whole_only else column.scope
        key = (scope, row)
        if key in self._standings:
            return self._standings[key]
        role: StyleRole | None = StyleRole.PLAIN
        if scope is Scope.SYSTEM:  # the top row shows it
            role = StyleRole.PLAIN if row == SYSTEM_ROW else None
        elif row.scope.rank < scope.rank:
            if self.tree and self._repeated(frame, column, row):
                role = None
            elif not frame.first_of_home(column, row):
                role = StyleRole.DIM
        self._standings[key] = role
        return role

    def _repeated(self, frame: Frame, column: CounterColumn, row: RowId) -> bool:
        """Whether a cell would only repeat a line above it in the tree."""
        topology = frame.topology
        home = frame.home(column, row)
        own, whole = topology.instance(row), None if home is None else topology.instance(home)
        if own is None or whole is None or set(own.cpus) == set(whole.cpus):
            return False
        if not frame.first_of_home(column, row):
            return True
        above = (level for level in self.view.levels if level.rank > row.scope.rank)
        lines = (topology.instance(topology.row(level, own.cpus[0])) for level in above)
        return any(line is not None and set(line.cpus) == set(whole.cpus) for line in lines)

    def _scaled(self, frame: Frame, column: CounterColumn) -> bool:
        """Whether a column is sampled, or has a counter that can be multiplexed at all."""
        known = self._may_be_scaled.get(column.id)
        if known is None:
            signals = (frame.capabilities.signals.get(name) for name in (*column.needs, *column.wants))
            known = column.error is not None or any(signal is not None and signal.running for signal in signals)
            if frame.can(column):  # an older frame may not know the column's signals yet
                self._may_be_scaled[column.id] = known
        return known

    def _sparks(self, frame: Frame, rows: Sequence[RowId], slot: Slot) -> list[TextSegment]:
        """Histories in the colour of their newest value."""
        levels = self.levels.roles(frame, slot.column, rows, frame.cells(slot.column, rows))
        return [(" " + self._spark(frame, row, slot), StyleRole.SPARK if level is StyleRole.PLAIN else level)
                for row, level in zip(rows, levels, strict=True)]

    def _spark(self, frame: Frame, row: RowId, slot: Slot) -> str:
        column: CounterColumn = slot.column
        finer = row.scope.rank < column.scope.rank
        if row == TAGS_ROW or (finer and (self.tree or not frame.first_of_home(column, row))):
            return " " * slot.width
        home = frame.home(column, row) if finer else row
        if home is None:
            return " " * slot.width
        past = self.history.series(column, home, HISTORY)
        top = self.view.tops.get(column.id)
        if top is None or (home.scope is Scope.SYSTEM and column.unit == "W"):
            top = nice_top(self.history.peak(column.id, home.scope) or 0.0)
        return spark(past, top, slot.width, frame.seq)


def _first(frame: Frame, column: CounterColumn, row: RowId) -> bool:
    """Whether a row is the first of the package, core ... that an identity column numbers."""
    scope = IDENTITY_SCOPES.get(column.id)
    if scope is None or row.scope is not Scope.CPU or row.key[0] not in frame.topology.places:
        return True
    instance = frame.topology.instance(frame.topology.row(scope, row.key[0]))
    return instance is None or instance.cpus[0] == row.key[0]
