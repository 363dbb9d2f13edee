"""The map of traffic as text: a package in the middle, its memory on the left, devices on the right, links below.

It takes the most detailed of four ways of drawing that fits: every edge, devices added up, links added up too, and one
line for each package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.uncore.traffic import Traffic
from turbotui.quantities.uncore import EdgeKind
from turbotui.widgets.cells import StyleRole, cut
from turbotui.widgets.levels import role_of
from turbotui.widgets.painter import TextSegment

MapLine = list[TextSegment]

_INWARD, _OUTWARD = "◀", "▶"  # on the right of a package; on its left they are the other way round
_DOWN, _UP = "▼", "▲"
_UNKNOWN: Final = "—"
_LEFT, _BOX = 15, 13
_ARROW: Final = 15
_NARROW: Final = 78


@dataclass(frozen=True, slots=True)
class _Stroke:
    """One line of the map: one edge, or several added up.

    Attributes:
        name: what is at its other side.
        inward, outward, total: GB/s; None where unknown.
        share: of the peak.
        peak: GB/s.
        least: something in the sum is unknown.
        chosen: it stands out, for the cursor is on it.
    """

    name: str
    inward: float | None
    outward: float | None
    total: float | None
    share: float | None
    peak: float | None
    least: bool = False
    chosen: bool = False

    @property
    def role(self) -> StyleRole:
        """The colour of its share; plain where nobody knows the peak."""
        if self.chosen:
            return StyleRole.CELL
        return StyleRole.PLAIN if self.share is None else role_of(self.share)

    @property
    def limit(self) -> str:
        """The share of the peak in words; "" where there is none."""
        return "" if self.share is None or self.peak is None else f"{100 * self.share:.1f}% of {self.peak:.0f}"


def _amount(value: float | None, *, least: bool = False, decimals: int = 2) -> str:
    return _UNKNOWN if value is None else f"{'≥' if least else ''}{value:.{decimals}f}"


def _stroke(row: Traffic, chosen: str) -> _Stroke:
    return _Stroke(row.edge.end, row.inward.value, row.outward.value, row.total.value, row.share, row.peak.value,
                   chosen=row.edge.key == chosen)


def _added(name: str, rows: Sequence[Traffic], chosen: str) -> _Stroke:
    def of(values: Iterable[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return sum(known) if known else None

    inward, outward = of(row.inward.value for row in rows), of(row.outward.value for row in rows)
    total = of(row.total.value for row in rows)
    peak = of(row.peak.value for row in rows) if all(row.peak.value is not None for row in rows) else None
    shared = any(row.edge.place.kind.shared or row.edge.together for row in rows)
    most = total if shared else max((value for value in (inward, outward) if value is not None), default=None)
    least = any(None in (row.inward.value, row.outward.value) for row in rows)
    share = None if most is None or not peak else most / peak
    return _Stroke(name, inward, outward, total, share, peak, least, any(row.edge.key == chosen for row in rows))


@dataclass(frozen=True, slots=True)
class _Package:
    """What hangs on one package."""

    name: str
    memory: tuple[Traffic, ...]
    links: tuple[Traffic, ...]
    ports: tuple[Traffic, ...]


def draw_map(traffic: Sequence[Traffic], width: int, height: int, chosen: str = "") -> list[MapLine]:
    """The map in so many columns, and lines if it can be.

    Args:
        traffic: of every edge, by package.
        width: columns; what is longer is cut.
        height: lines that there are.
        chosen: key of the edge that stands out.
    """
    packages = [_package(name, [row for row in traffic if row.edge.start == name])
                for name in dict.fromkeys(row.edge.start for row in traffic)]
    ways: list[Callable[[_Package], list[MapLine]]] = [
        lambda one: _block(one, _each(one.ports, chosen), _each(one.links, chosen), chosen),
        lambda one: _block(one, _sums(one.ports, chosen), _each(one.links, chosen), chosen),
        lambda one: _block(one, _sums(one.ports, chosen), _sums(one.links, chosen), chosen),
        lambda one: [_line(one, chosen)],
    ]
    lines: list[MapLine] = []
    for way in ways if width >= _NARROW else ways[-1:]:
        lines = [line for one in packages for line in way(one)]
        if len(lines) <= height:
            break
    return [_cut(line, width) for line in lines]


def _package(name: str, rows: Sequence[Traffic]) -> _Package:
    def of(*kinds: EdgeKind) -> tuple[Traffic, ...]:
        return tuple(row for row in rows if row.edge.place.kind in kinds)

    return _Package(name, of(EdgeKind.MEMORY), of(EdgeKind.PACKAGE), of(EdgeKind.GPU, EdgeKind.CXL, EdgeKind.DEVICE))


def _each(rows: Sequence[Traffic], chosen: str) -> list[_Stroke]:
    return [_stroke(row, chosen) for row in rows]


def _sums(rows: Sequence[Traffic], chosen: str) -> list[_Stroke]:
    """Edges of one kind, and of a link to one package, added up."""
    groups: dict[str, list[Traffic]] = {}
    for row in rows:
        linked = row.edge.place.kind is EdgeKind.PACKAGE
        name = row.edge.end.partition(" by ")[0] if linked else row.edge.units.kind.title
        groups.setdefault(name, []).append(row)
    return [_stroke(group[0], chosen) if len(group) == 1 else _added(f"{name}, {len(group)} edges", group, chosen)
            for name, group in groups.items()]


def _block(package: _Package, ports: Sequence[_Stroke], links: Sequence[_Stroke], chosen: str) -> list[MapLine]:
    """A package's box with memory on its left, ports on its right, and links below."""
    left = [line for row in package.memory for line in _memory(_stroke(row, chosen), row)]
    left = left or [[("no PMU counts the memory".ljust(_LEFT + _ARROW), StyleRole.DIM)]]
    rows = max(len(left), len(ports), 3)
    blank: MapLine = [(" " * (_LEFT + _ARROW), StyleRole.PLAIN)]
    lines: list[MapLine] = [[*blank, (f"┌{'─' * _BOX}┐", StyleRole.SUMMARY)]]
    for at in range(rows):
        name = package.name if at == (rows - 1) // 2 else ""
        middle: TextSegment = (f"│{name.center(_BOX)}│", StyleRole.SUMMARY)
        lines.append([*(left[at] if at < len(left) else blank), middle, *(_port(ports[at]) if at < len(ports) else [])])
    joint = "┬" if links else "─"
    lines.append([*blank, (f"└{joint.center(_BOX, '─')}┘", StyleRole.SUMMARY)])
    lines += [_link(stroke, _LEFT + _ARROW + 2 + _BOX // 2) for stroke in links]
    return lines


def _memory(stroke: _Stroke, row: Traffic) -> list[MapLine]:
    name = (stroke.name.center(_LEFT - 2), StyleRole.CELL if stroke.chosen else StyleRole.SUMMARY)
    sides: list[TextSegment] = [("[", StyleRole.DIM), name, ("]", StyleRole.DIM)]
    empty: TextSegment = (" " * _LEFT, StyleRole.PLAIN)
    if row.edge.together:
        first = _wire(f"◀─ {_amount(stroke.total)} ─▶", stroke)
        second: TextSegment = (" " * _ARROW, StyleRole.PLAIN)
    else:
        first = _wire(f"─ {_amount(stroke.inward)} ─{_OUTWARD}", stroke)
        second = _wire(f"{_INWARD}─ {_amount(stroke.outward)} ─", stroke)
    limit = (cut(stroke.limit, _LEFT + _ARROW).ljust(_LEFT + _ARROW), stroke.role)
    return [[*sides, first], [empty, second], [limit]]


def _wire(text: str, stroke: _Stroke) -> TextSegment:
    return text.rjust(_ARROW), stroke.role


def _port(stroke: _Stroke) -> MapLine:
    inward, outward = (_amount(value, least=stroke.least) for value in (stroke.inward, stroke.outward))
    name = (stroke.name, StyleRole.CELL if stroke.chosen else StyleRole.PLAIN)
    return [(f"{_INWARD}─{inward:>7} ─{outward:>7} ─{_OUTWARD} ", stroke.role), name,
            (f"  {stroke.limit}" if stroke.limit else "", StyleRole.DIM)]


def _link(stroke: _Stroke, indent: int) -> MapLine:
    inward, outward = (_amount(value, least=stroke.least) for value in (stroke.inward, stroke.outward))
    limit = f"{stroke.limit}  " if stroke.limit else ""
    other, _by, label = stroke.name.partition(" by ")
    name = f"{label} to {other.replace('package', 'pkg')}" if label else stroke.name
    return [(f"{'│':>{indent}} ", StyleRole.SUMMARY), (f"{_UP}{inward:>7} {_DOWN}{outward:>7}  ", stroke.role),
            (limit, StyleRole.DIM), (name, StyleRole.CELL if stroke.chosen else StyleRole.PLAIN)]


def _line(package: _Package, chosen: str) -> MapLine:
    """A package in one line: memory, links and ports, each added up."""
    line: MapLine = [(f"{package.name:<11}", StyleRole.SUMMARY)]
    for word, rows in (("mem", package.memory), ("links", package.links), ("ports", package.ports)):
        if not rows:
            continue
        stroke = _added(word, rows, chosen)
        both = all(row.edge.together for row in rows)
        inward, outward = (_amount(value, least=stroke.least, decimals=1) for value in (stroke.inward, stroke.outward))
        text = _amount(stroke.total, decimals=1) if both else f"{_UP}{inward} {_DOWN}{outward}"
        share = "" if stroke.share is None else f" {100 * stroke.share:.0f}%"
        line += [(f" {word} ", StyleRole.DIM), (f"{text}{share}".ljust(16), stroke.role)]
    return line


def _cut(line: MapLine, width: int) -> MapLine:
    """A line that ends at the right border."""
    found: MapLine = []
    for text, role in line:
        if width <= 0:
            break
        found.append((cut(text, width) if len(text) > width else text, role))
        width -= len(text)
    return found
