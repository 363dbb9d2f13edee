"""The map: one mark for each CPU, siblings stacked, caches and kinds of core apart, packages in boxes."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from textual import events
from textual.message import Message

from turbotui.quantities.columns import CounterColumn, ShownAs
from turbotui.quantities.scope import Scope, cpu_row
from turbotui.sampling.frame import Frame
from turbotui.widgets.cells import StyleRole, alarm, cell_text, number
from turbotui.widgets.geometry import nearest_place
from turbotui.widgets.levels import LEVELS, MARKS, FrameLevels, step_of
from turbotui.widgets.map_plan import CELLS, MapPlan, plan_map
from turbotui.widgets.painter import TextSegment, merged
from turbotui.widgets.row_charts import DrawBelow
from turbotui.widgets.segment_lines import SegmentLines

UNKNOWN_MARK = "?"
CURSOR_MARK = "●"
LIT_MARK = "◆"


class HeatMap(SegmentLines):
    """All CPUs at once, each as a mark for its value of one column; `below` draws in the room that a map leaves."""

    DEFAULT_CSS = "HeatMap { height: 1fr; }"

    class Moved(Message):
        """The cursor moved to another CPU."""

    def __init__(self, below: DrawBelow | None = None, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._draw_below = below
        self._below: Sequence[list[TextSegment]] = ()
        self._ends_at = 0  # the first line below the map
        self.frame: Frame | None = None
        self.column: CounterColumn | None = None
        self.cpu: int | None = None
        self.lit: frozenset[int] = frozenset()
        self._levels: FrameLevels | None = None
        self._top = 1.0
        self._cells: dict[int, tuple[int, TextSegment]] = {}  # the step, -1 for none, and its drawing
        self.plan = MapPlan(1, {}, (), (), (), 0, 0)  # positions of the marks and of the boxes of packages
        self._by_line: dict[int, list[tuple[int, list[int], bool]]] = {}  # the last: whether the number stands there
        self._drawing: dict[int, list[tuple[int, str, StyleRole]]] = {}

    def show_frame(self, frame: Frame, column: CounterColumn, levels: FrameLevels, top: float) -> None:
        """Show a column of a frame.

        Args:
            levels: of its values, if the ends of its scale are known.
            top: otherwise the upper end of a scale from 0.
        """
        arrange = self.frame is None or self.frame.topology is not frame.topology
        self.frame, self.column, self._levels, self._top = frame, column, levels, top
        if arrange:
            self._arrange()
        if self.cpu not in frame.topology.places:
            self.cpu = frame.topology.cpus[0] if frame.topology.cpus else None
        self._judge()
        self._redraw()

    def let_go(self) -> None:
        """Release the frame until one is shown again."""
        self.frame = self._levels = None

    def _arrange(self) -> None:
        if self.frame is None or not self.size.width:
            return
        plan = self.plan = plan_map(self.frame.topology, self.size.width, self.size.height - 2)
        self._ends_at = max((box.y + box.height for box in plan.boxes), default=self.size.height)
        together: dict[tuple[int, int], list[int]] = {}
        for cpu, place in plan.places.items():
            together.setdefault(place, []).append(cpu)
        self._by_line = {}
        for (x, y), cpus in together.items():
            for line in range(plan.tall):
                self._by_line.setdefault(y + line, []).append((x, cpus, not line))
        self._drawing = drawing(plan)

    def _ends(self, cpu: int) -> tuple[float, float]:
        if self.frame is None or self.column is None or self._levels is None:
            return 0.0, self._top
        return self._levels.ends(self.frame, self.column, cpu_row(cpu)) or (0.0, self._top)

    @property
    def _mark_size(self) -> int:
        return max(1, min(self.plan.cell - 1, 3))

    def _judge(self) -> None:
        """Compute the mark of every CPU; the CPU under the cursor is marked during drawing."""
        frame, column = self.frame, self.column
        if frame is None or column is None:
            return
        rows, cell, size = frame.rows(Scope.CPU), self.plan.cell, self._mark_size
        for row, value in zip(rows, frame.cells(column, rows), strict=True):
            cpu = row.key[0]
            step, mark, role = -1, UNKNOWN_MARK, StyleRole.DIM
            if isinstance(value, int | float):
                low, high = self._ends(cpu)
                step = step_of((value - low) / (high - low)) if high > low else 0
                mark, role = MARKS[step], alarm(column, value) or LEVELS[step]
            text = mark * size
            if cell >= CELLS[1]:
                text += f" {cpu:>4}"
            if cell >= CELLS[0]:
                text += f" {cell_text(column, value, 6)}"
            self._cells[cpu] = step, (text, role)

    def _redraw(self) -> None:
        self._below = () if self._draw_below is None else self._draw_below(self.size.width,
                                                                           self.size.height - 2 - self._ends_at)
        self.show([self._line(y) for y in range(self.size.height)])
        self.post_message(self.Moved())

    def _line(self, y: int) -> list[TextSegment]:
        if y == self.size.height - 1:
            return self._legend()
        if self._ends_at <= y < self._ends_at + len(self._below):
            return self._below[y - self._ends_at]
        marks = [(x, *self._mark(cpus, named=named)) for x, cpus, named in self._by_line.get(y, ())]
        items = [*self._drawing.get(y, ()), *marks]
        items.sort(key=itemgetter(0))
        segments: list[TextSegment] = []
        at = 0
        for x, text, role in items:
            if x > at:
                segments.append((" " * (x - at), StyleRole.PLAIN))
            segments.append((text, role))
            at = x + len(text)
        return merged(segments)

    def _mark(self, cpus: Sequence[int], *, named: bool) -> TextSegment:
        """The mark of the CPUs at one place: which is that of the greatest value; its first line has the number."""
        unknown = -1, (UNKNOWN_MARK, StyleRole.DIM)
        text, role = max((self._cells.get(cpu, unknown) for cpu in cpus), key=itemgetter(0))[1]
        if not named:  # dots of what idles stand once
            text = " " * self._mark_size if text.startswith(MARKS[0]) else text[:self._mark_size]
        if not self.lit.isdisjoint(cpus):
            text, role = LIT_MARK + text[1:] if named else text, StyleRole.TAGGED
        if self.cpu not in cpus:
            return text, role
        size = self._mark_size
        if not named:
            return " " * size, StyleRole.CELL
        return CURSOR_MARK * size + text[size:], StyleRole.CELL

    def _legend(self) -> list[TextSegment]:
        """The column, and its scale for the CPU under the cursor."""
        if (column := self.column) is None:
            return []
        low, high = self._ends(-1 if self.cpu is None else self.cpu)
        shown = column.shown or ShownAs(column.unit, 1.0)
        ends = [number(end * shown.factor + shown.offset, 0 if high >= 10 else 2, 7) for end in (low, high)]
        segments: list[TextSegment] = [(f" {column.id}  ", StyleRole.SORTED), (f"{ends[0]} ", StyleRole.DIM)]
        segments += [(mark * 2, role) for mark, role in zip(MARKS, LEVELS, strict=True)]
        folded = "   a mark is a core" if self.plan.folded else ""
        segments.append((f" {ends[1]} {shown.unit}   {UNKNOWN_MARK} unknown{folded}", StyleRole.DIM))
        return segments

    # Moving

    def move(self, across: int, down: int) -> None:
        """Move to the nearest CPU in a direction."""
        here = None if self.cpu is None else self.plan.places.get(self.cpu)
        cpu = None if here is None else nearest_place(here, self.plan.places, across, down)
        if cpu is not None:
            self.select(cpu)

    def step(self, by: int) -> None:
        """Move by a number of CPUs in the table's order."""
        if self.frame is None or self.cpu is None:
            return
        cpus: Sequence[int] = self.frame.topology.cpus
        self.select(cpus[max(0, min(len(cpus) - 1, cpus.index(self.cpu) + by))])

    def select(self, cpu: int) -> None:
        """Put the cursor on a CPU."""
        self.cpu = cpu
        self._redraw()

    def on_resize(self) -> None:
        """Lay the map out for the new size."""
        super().on_resize()  # Textual runs the base's handler after this one, which needs no strips of the old width
        self._arrange()
        self._judge()
        self._redraw()

    async def on_click(self, event: events.Click) -> None:
        """Put the cursor there."""
        event.prevent_default()  # no words of the map name keys, as in other lines
        for x, cpus, _ in self._by_line.get(event.y, []):
            if x <= event.x < x + self.plan.cell:
                self.select(cpus[0])


def drawing(plan: MapPlan) -> dict[int, list[tuple[int, str, StyleRole]]]:
    """Parts of the map beside its marks, by line: frames with names, captions, and rules between blocks."""
    cells: dict[int, list[tuple[int, str, StyleRole]]] = {}

    def put(x: int, y: int, text: str, role: StyleRole) -> None:
        cells.setdefault(y, []).append((x, text, role))

    for box in plan.boxes:
        inner = box.width - 2
        short = box.name.partition(" · ")[0]
        tries = (box.name, short, short.removeprefix("package "))
        name = next((name for name in tries if len(name) + 2 <= inner), tries[-1])[: max(0, inner - 2)]
        start = "┌─" if len(name) + 3 <= inner else "┌"
        put(box.x, box.y, start, StyleRole.RULE)
        put(box.x + len(start), box.y, f" {name} ", StyleRole.TITLE)
        rest = box.width - len(start) - len(name) - 3
        put(box.x + box.width - rest - 1, box.y, "─" * rest + "┐", StyleRole.RULE)
        put(box.x, box.y + box.height - 1, "└" + "─" * inner + "┘", StyleRole.RULE)
        for y in range(box.y + 1, box.y + box.height - 1):
            put(box.x, y, "│", StyleRole.RULE)
            put(box.x + box.width - 1, y, "│", StyleRole.RULE)
    for caption in plan.captions:
        put(caption.x, caption.y, caption.text[: caption.width], StyleRole.TITLE)
        rest = caption.width - len(caption.text) - 1
        if rest > 0:
            put(caption.x + len(caption.text) + 1, caption.y, "─" * rest, StyleRole.RULE)
    for rule in plan.rules:
        for y in range(rule.y, rule.y + rule.height):
            put(rule.x, y, "│", StyleRole.RULE)
    return cells
