"""The map of a machine with many CPUs: a mark for each core, by package and L3; without Textual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from turbotui.cell_widths import flush_left, flush_right
from turbotui.dataclass import dataclass
from turbotui.features.overview.cpu_numbers import KINDS
from turbotui.machine.topology import Topology
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.scope import RowId, Scope
from turbotui.sampling.frame import Frame
from turbotui.tables.row_names import row_name
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.levels import LEVELS, STEPS, role_of
from turbotui.widgets.painter import TextSegment

_MARKS: Final = "·▁▂▃▄▅▆▇█"
"""Marks for nine levels, readable without colour."""
_UNKNOWN: Final = "?"
_UNKNOWN_LOOK: Final = _UNKNOWN, StyleRole.DIM
_CURSOR: Final = "●"
_SIZES: Final = (4, 3, 2, 1)
"""The widths of marks to try, including the blank after marks of more than one character."""
_GREATER: Final = (8, 7, 6, 5)
"""Greater widths to try if the map needs no further line, so that no width is left empty."""
_FIGURES: Final = 36
"""Characters for a package's figures beside its cores, which tell more than wider marks."""


@dataclass(frozen=True, slots=True)
class MapMark:
    """The position of one core (one CPU if cores have no siblings)."""

    x: int  # the mark's first character
    row: RowId  # the row whose level the mark shows
    place: int  # the row's position in its scope


@dataclass(frozen=True, slots=True)
class MapLine:
    """A line of the map: a label with marks from left to right, or names of the blocks on the line below."""

    label: str  # the text in front
    marks: tuple[MapMark, ...]  # marks of cores
    names: tuple[tuple[int, str], ...] = ()  # names of blocks, with their first characters
    package: RowId | None = None  # the package whose first line this is, if there are several packages


@dataclass(frozen=True, slots=True)
class CoreMapPlan:
    """The layout of the map."""

    size: int  # characters of a mark that are painted
    label: int  # characters before the first mark
    lines: tuple[MapLine, ...]  # the lines, from the top

    @property
    def width(self) -> int:
        """The characters of the longest line."""
        return max((line.marks[-1].x + self.size for line in self.lines if line.marks), default=self.label)

    def at(self, x: int, y: int) -> RowId | None:
        """Return the row whose mark stands at a character of a line."""
        if not 0 <= y < len(self.lines):
            return None
        return next((mark.row for mark in self.lines[y].marks if mark.x <= x < mark.x + self.size), None)


def mark_scope(topology: Topology) -> Scope:
    """Return the scope of marks: cores, or CPUs if no core has siblings."""
    return Scope.CORE if len(topology.instances(Scope.CORE)) < len(topology.cpus) else Scope.CPU


def plan_map(topology: Topology, width: int, lines: int) -> CoreMapPlan:
    """Lay out the map with the widest marks that fit into that many lines, else with the narrowest.

    Names of blocks take precedence over wide marks while a blank separates marks. A package's lines have similar
    lengths, so that room that is left stands together at the right.
    """
    def at(size: int, named: bool, inside: int = width) -> CoreMapPlan:
        return _named(_lay_out(topology, inside, size), named=named)

    ways = [*((size, True) for size in _SIZES[:-1]), *((size, False) for size in _SIZES)]
    size, named = next((way for way in ways if len(at(*way).lines) <= lines), ways[-1])
    map_plan = at(size, named)
    count = len(map_plan.lines)
    if size == _SIZES[0]:
        inside = width - (_FIGURES if len(topology.instances(Scope.PACKAGE)) > 1 else 0)
        size = next((greater for greater in _GREATER if len(at(greater, named, inside).lines) <= count), size)
        map_plan = at(size, named)
    least, most = map_plan.label + 2 * size, width
    while least < most:
        tried = (least + most) // 2
        plan = at(size, named, tried)
        if len(plan.lines) <= count and plan.width <= tried:
            map_plan, most = plan, tried
        else:
            least = tried + 1
    return map_plan


def _named(plan: CoreMapPlan, *, named: bool) -> CoreMapPlan:
    """Add the names of blocks above them, once for lines with the same blocks, if there is room."""
    lines: list[MapLine] = []
    before: tuple[tuple[int, str], ...] = ()
    for line in plan.lines:
        if named and line.names and line.names != before:
            lines.append(MapLine("", (), line.names))
        before = line.names
        lines.append(replace(line, names=()))
    return replace(plan, lines=tuple(lines))


@dataclass(frozen=True, slots=True)
class _Block:
    label: str  # the core type
    name: str  # the name of the L3, "CCD 3", if there are several; else ""
    places: tuple[int, ...]  # the cores' positions in their scope

    def text(self, room: int) -> str:
        """Return as much of the name as fits: all of it, its number, or nothing."""
        return next((text for text in (self.name, self.name.rpartition(" ")[2]) if len(text) <= room), "")


def _blocks(topology: Topology, package: RowId, scope: Scope) -> list[_Block]:
    """Group a package's cores by core type and L3."""
    members = topology.instances(scope)
    slices = {instance.row for instance in topology.instances(Scope.L3)}
    blocks: dict[tuple[str, int], list[int]] = {}
    for at in topology.parts(package, scope):
        cpu = members[at].cpus[0]
        kind = topology.places[cpu].core_type or ""
        blocks.setdefault((kind, topology.index(Scope.L3, cpu) if len(slices) > 1 else 0), []).append(at)
    caches = topology.instances(Scope.L3)
    apart = len({kind for kind, _ in blocks}) == 1 < len(blocks)  # core types have words of their own
    named = [row_name(topology, caches[at].row, inside=True) if apart else "" for _, at in blocks]
    return [_Block(KINDS.get(kind, kind), name, tuple(places))
            for ((kind, _), places), name in zip(blocks.items(), named, strict=True)]


def _lay_out(topology: Topology, width: int, size: int) -> CoreMapPlan:
    scope, packages = mark_scope(topology), topology.instances(Scope.PACKAGE)
    rows = topology.rows(scope)
    names = [f" package {package.label if package.label >= 0 else at} " for at, package in enumerate(packages)]
    hybrid = len({place.core_type for place in topology.places.values()}) > 1
    label = 6 if len(packages) == 1 and hybrid else 0 if len(packages) == 1 else max(map(len, names), default=0)
    lines: list[MapLine] = []
    for name, package in zip(names, packages, strict=True):
        first = len(lines)
        marks: list[MapMark] = []
        above: list[tuple[int, str]] = []
        title, x, kind = name if len(packages) > 1 else "", label + 1, None
        for block in _blocks(topology, package.row, scope):
            needed = len(block.places) * size
            if marks and (x + min(needed, width - label - 2) > width or (hybrid and block.label != kind)):
                lines.append(MapLine(title, tuple(marks), tuple(above)))
                marks, above, title, x = [], [], "", label + 1
            if hybrid and not marks:
                title = f"{title}{flush_right(block.label, 5)}"[-label:]
            kind = block.label
            text = block.text(min(needed, width - x) - (size > 1))
            above += [(x, text)] if text else []
            for place in block.places:
                if x + size > width:
                    lines.append(MapLine(title, tuple(marks), tuple(above)))
                    marks, above, title, x = [], [], "", label + 1
                marks.append(MapMark(x, rows[place], place))
                x += size
            x += 1
        lines.append(MapLine(title, tuple(marks), tuple(above)))
        if len(packages) > 1:
            lines[first] = replace(lines[first], package=package.row)
    return CoreMapPlan(max(1, size - 1), label, tuple(lines))


def map_lines(plan: CoreMapPlan, frame: Frame, column: CounterColumn, cursor: RowId | None) -> list[list[TextSegment]]:
    """Draw the map, each mark in the colour of its core's busiest CPU."""
    greatest = [-1.0] * len(frame.rows(mark_scope(frame.topology)))
    cells = frame.cells(column, frame.rows(Scope.CPU))
    for core, value in zip(frame.topology.places_in(mark_scope(frame.topology)), cells, strict=True):
        if isinstance(value, int | float) and value > greatest[core]:
            greatest[core] = value
    looks = [_look(value / 100) if value > -1.0 else _UNKNOWN_LOOK for value in greatest]
    return [_line(line, plan, looks, cursor) for line in plan.lines]


def _look(share: float) -> tuple[str, StyleRole]:
    """Return the mark of a level, and its colour."""
    if 0.0 <= share < 1.0:  # nearly all of a thousand cores; a call of max or min would cost more than the rest
        # rounded before adding 1, because 8 times the greatest float below 1 plus 1 is 9
        return _MARKS[int(share * 8) + (share > 0.02)], LEVELS[int(share * STEPS)]
    return _MARKS[8 if share > 0.0 else 0], role_of(share)


def _line(line: MapLine, plan: CoreMapPlan, looks: Sequence[tuple[str, StyleRole]],
          cursor: RowId | None) -> list[TextSegment]:
    if line.names:
        text = ""
        for x, name in line.names:
            text = f"{flush_left(text, x)}{name}"
        return [(text, StyleRole.DIM)]
    segments: list[TextSegment] = [(flush_left(line.label, plan.label), StyleRole.TITLE)]
    text, role, at, size = "", StyleRole.TITLE, plan.label, plan.size
    for mark in line.marks:
        char, style = looks[mark.place]
        if cursor is not None and mark.row == cursor:
            char, style = _CURSOR, StyleRole.CELL
        if style is not role:
            if text:
                segments.append((text, role))
            text, role = "", style
            if style is StyleRole.CELL:
                segments.append((" " * (mark.x - at), StyleRole.PLAIN))
                at = mark.x
        text += " " * (mark.x - at) + char * size
        at = mark.x + size
    segments.append((text, role))
    return segments


def first_cpu(topology: Topology, row: RowId) -> int | None:
    """Return the first CPU of a core or CPU; None if it is gone."""
    instance = topology.instance(row)
    return instance.cpus[0] if instance is not None and instance.cpus else None
