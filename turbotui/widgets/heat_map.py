"""The map: one mark a CPU, siblings stacked, cores of a cache together, packages boxed side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from turbotui.machine.topology import Topology
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.scope import RowId, Scope, cpu_row
from turbotui.sampling.frame import Frame
from turbotui.widgets.cells import StyleRole, alarm, cell_text, number
from turbotui.widgets.painter import TextSegment
from turbotui.widgets.role_styles import Palette, role_css

SHADES: tuple[tuple[float, str, StyleRole], ...] = (
    (0.05, "·", StyleRole.RULE),
    (0.25, "░", StyleRole.DIM),
    (0.50, "▒", StyleRole.SPARK),
    (0.75, "▓", StyleRole.KEY),
    (1.00, "█", StyleRole.SUMMARY),
)
"""Up to which share of the scale, with which mark, in which role: readable without colour."""

UNKNOWN_MARK = "?"
CURSOR_MARK = "●"


@dataclass(frozen=True, slots=True)
class Box:
    """One package on the map."""

    row: RowId
    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class HeatMapPlan:
    """Layout of the map: places of the CPUs' marks, and the packages' boxes.

    Attributes:
        cell: characters a CPU takes, its gap included.
        places: CPU -> character and line of its mark.
        boxes: packages.
        width, height: characters and lines in use.
    """

    cell: int
    places: dict[int, tuple[int, int]]
    boxes: tuple[Box, ...]
    width: int
    height: int


CELLS = (16, 10, 4, 3, 2, 1)
"""Characters a CPU may take: number and value beside the mark, the number only, marks of 3, 2, 1 (with a gap)."""

NAME_WIDTH = 16
"""Room for a package's name in its frame."""


def plan_map(topology: Topology, width: int, height: int) -> HeatMapPlan:
    """The largest marks with which all packages fit; if nothing fits, the smallest."""
    packages = topology.instances(Scope.PACKAGE)
    best: HeatMapPlan | None = None
    for cell in CELLS:
        for across in range(min(len(packages), max(1, width // 8)), 0, -1):
            best = _lay_out(topology, width, cell, across)
            if best.height <= height and best.width <= width:
                return best
    return best or HeatMapPlan(1, {}, (), 0, 0)


def _lay_out(topology: Topology, width: int, cell: int, across: int) -> HeatMapPlan:
    packages = topology.instances(Scope.PACKAGE)
    room = (width + 1) // across - 5
    # As wide as the widest package needs, and as its name does.
    shapes = [_fill(topology, package.row, {}, (0, 0), room, cell=cell) for package in packages]
    inner = max([used for _, used in shapes], default=0)
    outer = max(inner + 4, NAME_WIDTH if room >= NAME_WIDTH else 0)
    places: dict[int, tuple[int, int]] = {}
    boxes: list[Box] = []
    top = 0
    for start in range(0, len(packages), across):
        line = packages[start : start + across]
        tall = max(lines for lines, _ in shapes[start : start + across]) + 2
        for at, package in enumerate(line):
            left = at * (outer + 1)
            _fill(topology, package.row, places, (left + 2, top + 1), room, cell=cell)
            boxes.append(Box(package.row, left, top, outer, tall))
        top += tall
    return HeatMapPlan(cell, places, tuple(boxes), min(across, len(packages)) * (outer + 1) - 1, top)


def _fill(topology: Topology, package: RowId, places: dict[int, tuple[int, int]], origin: tuple[int, int], room: int,
          *, cell: int) -> tuple[int, int]:
    """Place the cores of a package line by line; gives lines and characters used."""
    cores = topology.instances(Scope.CORE)
    members = [cores[position] for position in topology.parts(package, Scope.CORE)]
    deepest = max((len(core.cpus) for core in members), default=1)
    x = y = used = 0
    cache: int | None = None
    for core in members:
        mine = topology.index(Scope.L3, core.cpus[0])
        if cache is not None and mine != cache and x:
            x += 1
        cache = mine
        if x + cell > max(room, cell) and x:
            x = 0
            y += deepest + (1 if deepest > 1 else 0)
        for depth, cpu in enumerate(core.cpus):
            places[cpu] = (origin[0] + x, origin[1] + y + depth)
        x += cell
        used = max(used, x)
    return y + deepest, used


class HeatMap(Widget):
    """All CPUs at once, each as a mark for the value of one column."""

    DEFAULT_CSS = role_css("HeatMap") + " HeatMap { height: 1fr; }"

    can_focus = False

    @dataclass
    class Moved(Message):
        """The cursor is on another CPU."""

        heat_map: HeatMap

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self.frame: Frame | None = None
        self.column: CounterColumn | None = None
        self.top = 1.0
        self.cpu: int | None = None
        self._plan = HeatMapPlan(1, {}, (), 0, 0)
        self._by_line: dict[int, list[tuple[int, int]]] = {}
        self._strips: dict[int, tuple[list[TextSegment], Strip]] = {}
        self._palette = Palette(self)

    @property
    def plan(self) -> HeatMapPlan:
        """Layout of the map: places of the CPUs' marks, and the packages' boxes."""
        return self._plan

    def show_frame(self, frame: Frame, column: CounterColumn, top: float) -> None:
        """Show a column of a frame; `top` is the end of the scale."""
        arrange = self.frame is None or self.frame.topology is not frame.topology
        self.frame, self.column, self.top = frame, column, top
        if arrange:
            self._arrange()
        if self.cpu not in frame.topology.places:
            self.cpu = frame.topology.cpus[0] if frame.topology.cpus else None
        self._redraw()

    def _arrange(self) -> None:
        if self.frame is None or not self.size.width:
            return
        self._plan = plan_map(self.frame.topology, self.size.width, self.size.height - 2)
        self._by_line = {}
        for cpu, (x, y) in self._plan.places.items():
            self._by_line.setdefault(y, []).append((x, cpu))
        for line in self._by_line.values():
            line.sort()
        self._strips.clear()

    def _redraw(self) -> None:
        """Refresh the lines that changed."""
        dirty = []
        for y in range(self.size.height):
            segments = self._segments(y)
            known = self._strips.get(y)
            if known is None or known[0] != segments:
                self._strips[y] = (segments, self._palette.strip(segments, self.size.width))
                dirty.append(y)
        if dirty:
            self.refresh(*(Region(0, y, self.size.width, 1) for y in dirty))
        self.post_message(self.Moved(self))

    def render_line(self, y: int) -> Strip:
        """One line of the widget."""
        known = self._strips.get(y)
        if known is None:
            segments = self._segments(y)
            known = self._strips[y] = (segments, self._palette.strip(segments, self.size.width))
        return known[1]

    def _segments(self, y: int) -> list[TextSegment]:
        if y == self.size.height - 1:
            return self._legend()
        segments: list[TextSegment] = []
        at = 0

        def put(x: int, text: str, role: StyleRole) -> None:
            nonlocal at
            if x > at:
                segments.append((" " * (x - at), StyleRole.PLAIN))
                at = x
            segments.append((text, role))
            at += len(text)

        marks = self._by_line.get(y, [])
        for box in self._plan.boxes:
            if not box.y <= y < box.y + box.height:
                continue
            if y in {box.y, box.y + box.height - 1}:
                put(box.x, self._edge(box, top=y == box.y), StyleRole.RULE)
                continue
            put(box.x, "│", StyleRole.RULE)
            for x, cpu in marks:
                if box.x < x < box.x + box.width:
                    text, role = self._mark(cpu)
                    put(x, text, role)
            put(box.x + box.width - 1, "│", StyleRole.RULE)
        return segments

    def _edge(self, box: Box, *, top: bool) -> str:
        inner = box.width - 2
        if not top:
            return "└" + "─" * inner + "┘"
        instance = None if self.frame is None else self.frame.topology.instance(box.row)
        label = box.row.key[0] if instance is None else instance.label
        name = f"─ package {label} " if inner >= 14 else f" {label} "  # as long as the words
        return "┌" + name[:inner].ljust(inner, "─") + "┐"

    def _mark(self, cpu: int) -> TextSegment:
        if self.frame is None or self.column is None:
            return UNKNOWN_MARK, StyleRole.DIM
        value = self.frame.cell(self.column, cpu_row(cpu))
        mark, role = UNKNOWN_MARK, StyleRole.DIM
        if isinstance(value, int | float):
            share = value / self.top if self.top > 0 else 0.0
            mark, role = next(((mark, role) for limit, mark, role in SHADES if share < limit), SHADES[-1][1:])
            role = alarm(self.column, value) or role
        cell = self._plan.cell
        if cpu == self.cpu:
            mark = CURSOR_MARK
        text = mark * max(1, min(cell - 1, 3))
        if cell >= CELLS[1]:
            text += f" {cpu:>4}"
        if cell >= CELLS[0]:
            text += f" {cell_text(self.column, value, 6)}"
        return text, StyleRole.CELL if cpu == self.cpu else role

    def _legend(self) -> list[TextSegment]:
        column = self.column
        if column is None:
            return []
        segments: list[TextSegment] = [(f" {column.id}  ", StyleRole.SORTED)]
        for limit, mark, role in SHADES:
            last = limit >= 1.0
            bound = SHADES[-2][0] if last else limit
            text = number(bound * self.top, 0 if self.top >= 10 else 2, 7)  # small scales need decimals
            segments += [(mark * 2, role), (f" {'from' if last else 'below'} {text}   ", StyleRole.DIM)]
        segments.append((f"{column.unit}   {UNKNOWN_MARK} unknown", StyleRole.DIM))
        return segments

    # Moving

    def move(self, across: int, down: int) -> None:
        """Move to the nearest CPU in a direction."""
        here = None if self.cpu is None else self._plan.places.get(self.cpu)
        if here is None:
            return
        best: tuple[float, int] | None = None
        for cpu, (x, y) in self._plan.places.items():
            dx, dy = x - here[0], y - here[1]
            if (across and (dx * across <= 0 or dy)) or (down and dy * down <= 0):
                continue
            distance = abs(dx) if across else abs(dy) * 1000.0 + abs(dx)
            if best is None or distance < best[0]:
                best = (distance, cpu)
        if best is not None:
            self.select(best[1])

    def step(self, by: int) -> None:
        """Move by CPUs in the order of the table."""
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
        self._arrange()
        self._strips.clear()
        self._redraw()

    def on_click(self, event: events.Click) -> None:
        """Put the cursor there."""
        for x, cpu in self._by_line.get(event.y, []):
            if x <= event.x < x + self._plan.cell:
                self.select(cpu)

    def notify_style_update(self) -> None:
        """Forget colours when the theme changes."""
        super().notify_style_update()
        self._palette.clear()
        self._strips.clear()
