"""The map of traffic as text: a package in the middle, its memory on the left, devices on the right, links below.

Names stand where lines have room, those of links left of the line that leaves the package, so that they fit 80 columns
uncut. The map uses the most detailed layout that fits: every edge; devices added up; links added up, too; packages side
by side; a few lines without a box for each package; one line for each package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

from turbotui.cell_widths import centred, cut, flush_left, flush_right
from turbotui.dataclass import dataclass
from turbotui.features.uncore.traffic import Traffic
from turbotui.quantities.marks import sign_above_peak
from turbotui.quantities.uncore import EdgeKind
from turbotui.widgets.cells import StyleRole, cut_words
from turbotui.widgets.levels import role_of
from turbotui.widgets.painter import TextSegment

MapLine = list[TextSegment]
_Way = Callable[["_Package"], list[MapLine]]

_INWARD, _OUTWARD = "◀", "▶"  # arrows on the right of a package; reversed on its left
_DOWN, _UP = "▼", "▲"
_UNKNOWN: Final = "—"
_AT_LEAST: Final = "≥"
_OF: Final = " of "
_LEFT, _BOX = 14, 11
_ARROW: Final = 13
_NARROW: Final = 78
_BESIDE: Final = 98
"""Characters of a package beside another one."""
_NAME, _TOLD = 10, 15
"""Characters of a package's name, and of numbers behind a name, in the layout of a few lines."""


@dataclass(frozen=True, slots=True)
class _Stroke:
    """One line of the map: one edge, or several added up."""

    name: str  # the name of the other end
    # inward, outward, total: GB/s; None if unknown
    inward: float | None
    outward: float | None
    total: float | None
    share: float | None  # of the peak; of several edges, that of the fullest one
    peak: float | None  # GB/s, of the same edge
    least: bool = False  # whether a part of the sum is unknown
    chosen: bool = False  # whether the cursor is on the edge
    several: bool = False  # whether the line is a sum of edges

    @property
    def role(self) -> StyleRole:
        """The colour of the share; plain if the peak is unknown."""
        if self.chosen:
            return StyleRole.CELL
        return StyleRole.PLAIN if self.share is None else role_of(self.share)

    @property
    def limit(self) -> str:
        """The share of the peak in words; "" if unknown."""
        if self.share is None or self.peak is None:
            return ""
        share = f"{_AT_LEAST * self.least}{100 * self.share:.1f}%{sign_above_peak(self.share)}"
        return f"{'max ' if self.several else ''}{share}{_OF}{self.peak:.0f}"


def _amount(value: float | None, *, least: bool = False, decimals: int = 2) -> str:
    return _UNKNOWN if value is None else f"{_AT_LEAST * least}{value:.{decimals}f}"


def _stroke(row: Traffic, chosen: str) -> _Stroke:
    return _Stroke(row.edge.end, row.inward.value, row.outward.value, row.total.value, row.share, row.peak.value,
                   row.is_partial, row.edge.key == chosen)


def _added(name: str, rows: Sequence[Traffic], chosen: str) -> _Stroke:
    def of(values: Iterable[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return sum(known) if known else None

    inward, outward = of(row.inward.value for row in rows), of(row.outward.value for row in rows)
    total = of(row.total.value for row in rows)
    # one full link holds work up, however idle the links beside it are
    fullest = max((row for row in rows if row.share is not None), key=lambda row: row.share or 0.0, default=None)
    # a PMU may count one direction only and leave the other to another PMU, as for CXL links
    least = any((place.inward and row.inward.value is None) or (place.outward and row.outward.value is None)
                or row.is_partial for row in rows for place in (row.edge.place,))
    share, peak = (None, None) if fullest is None else (fullest.share, fullest.peak.value)
    return _Stroke(name, inward, outward, total, share, peak, least, any(row.edge.key == chosen for row in rows),
                   several=True)


@dataclass(frozen=True, slots=True)
class _Package:
    name: str
    memory: tuple[Traffic, ...]
    links: tuple[Traffic, ...]
    ports: tuple[Traffic, ...]


def draw_map(traffic: Sequence[Traffic], width: int, height: int, chosen: str = "") -> list[MapLine]:
    """Draw the map in this many columns, and lines if possible.

    Args:
        width: columns; longer lines are cut.
        height: the available lines.
        chosen: key of the highlighted edge.
    """
    packages = [_package(name, [row for row in traffic if row.edge.start == name])
                for name in dict.fromkeys(row.edge.start for row in traffic)]
    blocks: list[_Way] = [lambda package: _block(package, _each(package.ports, chosen), _each(package.links, chosen),
                                                 chosen),
        lambda package: _block(package, _sums(package.ports, chosen), _each(package.links, chosen), chosen),
        lambda package: _block(package, _sums(package.ports, chosen), _sums(package.links, chosen), chosen)]
    beside = range(1, max(1, width // _BESIDE) + 1) if width >= _NARROW else ()
    ways = [(way, columns) for way in blocks for columns in beside]
    ways += [(lambda package: _row(package, width, chosen), 1), (lambda package: [_line(package, chosen)], 1)]
    lines: list[MapLine] = []
    for way, columns in ways:
        lines = _side_by_side([way(package) for package in packages], columns)
        if len(lines) <= height:
            break
    return [_cut(line, width) for line in lines]


def _side_by_side(blocks: Sequence[Sequence[MapLine]], columns: int) -> list[MapLine]:
    """Arrange blocks in this many columns, row by row."""
    lines: list[MapLine] = []
    for at in range(0, len(blocks), columns):
        row = blocks[at : at + columns]
        for number in range(max(map(len, row))):
            line: MapLine = []
            for place, block in enumerate(row):
                line += [(" " * (place * _BESIDE - _length(line)), StyleRole.PLAIN)] if place else []
                line += block[number] if number < len(block) else []
            lines.append(line)
    return lines


def _length(line: MapLine) -> int:
    return sum(len(text) for text, _role in line)


def _package(name: str, rows: Sequence[Traffic]) -> _Package:
    def of(*kinds: EdgeKind) -> tuple[Traffic, ...]:
        return tuple(row for row in rows if row.edge.place.kind in kinds)

    return _Package(name, of(EdgeKind.MEMORY), of(EdgeKind.PACKAGE), of(EdgeKind.GPU, EdgeKind.CXL, EdgeKind.DEVICE))


def _each(rows: Sequence[Traffic], chosen: str) -> list[_Stroke]:
    return [_stroke(row, chosen) for row in rows]


def _sums(rows: Sequence[Traffic], chosen: str) -> list[_Stroke]:
    """Add up the edges of one kind, and those of links to one package."""
    groups: dict[str, list[Traffic]] = {}
    for row in rows:
        name = (row.edge.end.partition(" by ")[0] if row.edge.place.kind is EdgeKind.PACKAGE else
                "CXL" if row.edge.place.kind is EdgeKind.CXL else row.edge.units.kind.title)
        groups.setdefault(name, []).append(row)
    return [_stroke(group[0], chosen) if len(group) == 1 else _added(f"{name}, {len(group)} edges", group, chosen)
            for name, group in groups.items()]


def _block(package: _Package, ports: Sequence[_Stroke], links: Sequence[_Stroke], chosen: str) -> list[MapLine]:
    """Draw a package's box with memory on its left, ports on its right, and links below."""
    left = [line for row in package.memory for line in _memory(_stroke(row, chosen), row)]
    left = left or [[(flush_left("no PMU counts the memory", _LEFT + _ARROW), StyleRole.DIM)]]
    rows = max(len(left), len(ports), 3)
    blank: MapLine = [(" " * (_LEFT + _ARROW), StyleRole.PLAIN)]
    lines: list[MapLine] = [[*blank, (f"┌{'─' * _BOX}┐", StyleRole.SUMMARY)]]
    for at in range(rows):
        name = package.name if at == (rows - 1) // 2 else ""
        middle: TextSegment = (f"│{centred(name, _BOX)}│", StyleRole.SUMMARY)
        lines.append([*(left[at] if at < len(left) else blank), middle, *(_port(ports[at]) if at < len(ports) else [])])
    joint = "┬" if links else "─"
    lines.append([*blank, (f"└{centred(joint, _BOX, '─')}┘", StyleRole.SUMMARY)])
    lines += [_link(stroke, _LEFT + _ARROW + 2 + _BOX // 2) for stroke in links]
    return lines


def _memory(stroke: _Stroke, row: Traffic) -> list[MapLine]:
    name = (centred(stroke.name, _LEFT - 2), StyleRole.CELL if stroke.chosen else StyleRole.SUMMARY)
    sides: list[TextSegment] = [("[", StyleRole.DIM), name, ("]", StyleRole.DIM)]
    empty: TextSegment = (" " * _LEFT, StyleRole.PLAIN)
    if row.edge.together:
        first = _wire(f"◀─ {_amount(stroke.total, least=stroke.least)} ─▶", stroke)
        second: MapLine = [(" " * _ARROW, StyleRole.PLAIN)]
    else:
        first = _wire(f"─ {_amount(stroke.inward, least=stroke.least)} ─{_OUTWARD}", stroke)
        second = _wire(f"{_INWARD}─ {_amount(stroke.outward, least=stroke.least)} ─", stroke)
    limit = _apart(flush_left(cut(stroke.limit, _LEFT + _ARROW), _LEFT + _ARROW), stroke.role)
    return [[*sides, *first], [empty, *second], limit]


def _wire(text: str, stroke: _Stroke) -> MapLine:
    return _apart(flush_right(text, _ARROW), stroke.role)


def _apart(text: str, role: StyleRole) -> MapLine:
    """Return a text in its colour between plain blanks, so that a cursor marks the text only."""
    stripped = text.strip()
    left, _, right = text.partition(stripped) if stripped else (text, "", "")
    return [segment for segment in ((left, StyleRole.PLAIN), (stripped, role), (right, StyleRole.PLAIN)) if segment[0]]


def _port(stroke: _Stroke) -> MapLine:
    inward, outward = (_amount(value, least=stroke.least) for value in (stroke.inward, stroke.outward))
    name = (stroke.name, StyleRole.CELL if stroke.chosen else StyleRole.PLAIN)
    return [(f"{_INWARD}{inward:>7}{outward:>8}{_OUTWARD} ", stroke.role), name,
            (f"  {stroke.limit}" if stroke.limit else "", StyleRole.DIM)]


def _link(stroke: _Stroke, indent: int) -> MapLine:
    inward, outward = (_amount(value, least=stroke.least) for value in (stroke.inward, stroke.outward))
    other, _by, label = stroke.name.partition(" by ")
    name = flush_right(cut(f"{label} to {other}" if label else stroke.name, indent - 2), indent - 2)
    return [*_apart(name, StyleRole.CELL if stroke.chosen else StyleRole.PLAIN), (" │ ", StyleRole.SUMMARY),
            (f"{_UP}{inward:>7} {_DOWN}{outward:>7}", stroke.role), (f"  {stroke.limit}", StyleRole.DIM)]


def _row(package: _Package, width: int, chosen: str) -> list[MapLine]:
    """Draw a package in a few lines: memory and ports, then links to each other package."""
    first = [_total(_memory_word(package), package.memory, chosen)] if package.memory else []
    first += [_stroke_line(stroke) for stroke in _sums(package.ports, chosen)]
    ends = [_stroke_line(stroke) for stroke in _sums(package.links, chosen)]
    many = max(1, (width - _NAME) // (_TOLD + len(" pkg 1 ")))
    lines = [first, *(ends[at : at + many] for at in range(0, len(ends), many))]
    names = [package.name, *([""] * (len(lines) - 1))]
    return [[(flush_left(name, _NAME), StyleRole.SUMMARY), *(segment for part in line for segment in part)]
            for name, line in zip(names, lines, strict=True)]


def _line(package: _Package, chosen: str) -> MapLine:
    """Draw a package in one line: memory, links and ports, each added up."""
    line: MapLine = [(f"{package.name:<{_NAME}}", StyleRole.SUMMARY)]
    for word, rows in ((_memory_word(package), package.memory), ("links", package.links), ("ports", package.ports)):
        line += _total(word, rows, chosen) if rows else []
    return line


def _memory_word(package: _Package) -> str:
    """Return the name of memory: that of the edge with the most traffic."""
    return "mem ≤" if any(row.edge.place.label.startswith("≤") for row in package.memory) else "mem"


def _total(word: str, rows: Sequence[Traffic], chosen: str) -> MapLine:
    alone = replace(_stroke(rows[0], chosen), name=word) if len(rows) == 1 else _added(word, rows, chosen)
    return _stroke_line(alone, both=all(row.edge.together for row in rows))


def _stroke_line(stroke: _Stroke, *, both: bool = False) -> MapLine:
    """Format a sum of edges in a few characters."""
    inward, outward = (_amount(value, least=stroke.least, decimals=1) for value in (stroke.inward, stroke.outward))
    text = _amount(stroke.total, least=stroke.least, decimals=1) if both else f"{_UP}{inward} {_DOWN}{outward}"
    share = "" if stroke.share is None else f" {100 * stroke.share:.0f}%"
    name = stroke.name.partition(", ")[0].partition(" by ")[0].replace("package", "pkg")
    return [(f" {name} ", StyleRole.CELL if stroke.chosen else StyleRole.DIM),
            (flush_left(f"{text}{share}", _TOLD), stroke.role)]


def _cut(line: MapLine, width: int) -> MapLine:
    """Cut a line at the right border."""
    segments: MapLine = []
    for text, role in line:
        if width <= 0:
            break
        segments.append((_fitting(text, width), role))
        width -= len(text)
    return segments


def _fitting(text: str, width: int) -> str:
    """Fit a text into a width; the peak behind a share is dropped before the text is cut."""
    if len(text) <= width:
        return text
    share, of, _peak = text.partition(_OF)
    return share if of and len(share) <= width else cut_words(text, width)
