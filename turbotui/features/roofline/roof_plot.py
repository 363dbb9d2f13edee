"""The roofline on a log-log canvas: roofs, ridge points, the past as a trail, points, and a cursor on one of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rich.cells import cell_len
from textual import events
from textual.message import Message

from turbotui.cell_widths import cut, flush_right
from turbotui.dataclass import dataclass
from turbotui.features.roofline.plot import LineKind, LogAxis, Plot
from turbotui.widgets.canvas import Canvas, Place, clip
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.painter import TextSegment
from turbotui.widgets.segment_lines import SegmentLines

MARKS: Final = {"scalar": "o", "SSE": "□", "NEON": "□", "AVX": "◇", "AVX-512": "△", "SVE": "△", "": "•"}
"""Marks of points by the width of most of their floating-point instructions, distinct without colour."""
CURSOR: Final = "◉"
TRAIL: Final = (("·", StyleRole.RULE), ("·", StyleRole.DIM), ("∘", StyleRole.SPARK), ("∙", StyleRole.KEY))
"""Marks and colours of the past, from the oldest quarter to the newest."""
_BELOW: Final = 2  # lines of the lower axis: ticks and title
_SHORT: Final = ((" double", ""), (" single", " sp"), (" GFLOP/s", ""), (" GOP/s", ""), (" FMA", ""), (" ADD+MUL", ""))
_ROOM: Final = 90  # width from which roofs have their full names
_WHEEL: Final = 1.25
_LABEL: Final = 24  # most characters of a point's name


@dataclass(frozen=True, slots=True)
class Dot:
    """A point on the canvas."""

    intensity: float  # flop/byte, positive
    gflops: float  # GFLOP/s, positive
    dominant: str  # the width of most of its instructions
    name: str = ""  # the name beside the point, if there is room; "" for none


@dataclass(frozen=True, slots=True)
class Picture:
    """Roofs, points, cursor and trail of one picture."""

    plot: Plot  # roofs and axes; its points are not used
    dots: tuple[Dot, ...] = ()  # the present points
    cursor: int | None = None  # index of the point under the cursor; None for none
    trail: tuple[tuple[float, float], ...] = ()  # (intensity, gflops) of the past, oldest first, positive
    # (flop/byte, GFLOP/s, letter) of the point under the cursor by the bytes of each memory level
    levels: tuple[tuple[float, float, str], ...] = ()


class RoofPlot(SegmentLines):
    """A picture of roofs and points, in which the mouse selects points and zooms."""

    DEFAULT_CSS = "RoofPlot { height: 1fr; width: 1fr; }"

    @dataclass()
    class Selected(Message):
        """A point was clicked."""

        index: int

    @dataclass()
    class Zoomed(Message):
        """The wheel zooms in (factor above 1) or out at a position."""

        factor: float
        intensity: float
        gflops: float

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self.picture: Picture | None = None
        self.places: list[tuple[int, int] | None] = []  # column and line of each point in the widget; None if outside
        self._ground: tuple[tuple[object, ...], Canvas] | None = None

    @property
    def outside(self) -> int:
        """The number of present points outside the axes."""
        return sum(place is None for place in self.places)

    def show_picture(self, picture: Picture) -> None:
        """Draw a picture, painting only changed lines."""
        self.picture = picture
        self._redraw()

    def nearest(self, index: int, across: int, up: int) -> int | None:
        """Return the nearest point to another one in a direction; None if there is none."""
        here = self.places[index] if 0 <= index < len(self.places) else None
        if here is None:
            return next((at for at, place in enumerate(self.places) if place is not None), None)
        distances: dict[int, float] = {}
        for at, place in enumerate(self.places):
            if place is None or at == index:
                continue
            dx, dy = (place[0] - here[0]) / 2, here[1] - place[1]  # characters are half as wide as they are high
            along = dx * across + dy * up
            if along > 0:
                distances[at] = along + 3 * abs(dx * up + dy * across)
        return min(distances, key=lambda at: distances[at], default=None)

    # Drawing

    def _margin(self) -> int:
        return 7 if self.size.width >= 60 else 5

    def _redraw(self) -> None:
        width, height = self.size
        if self.picture is not None and width >= 20 and height >= 6:
            self.show(self._lines(self.picture, width, height))

    def _lines(self, picture: Picture, width: int, height: int) -> list[list[TextSegment]]:
        margin, rows = self._margin(), height - _BELOW
        plot = picture.plot
        canvas = self._drawn_ground(plot, width - margin, rows).copy()
        self._draw_trail(canvas, picture)
        self._draw_dots(canvas, picture, margin)
        for intensity, gflops, letter in picture.levels:
            place = canvas.cell(picture.plot.x.place(intensity), picture.plot.y.place(gflops))
            if place is not None:
                canvas.mark(*place, letter, StyleRole.AMBER)
        labels: dict[int, str] = {}
        for tick in plot.y.ticks():
            place = canvas.cell(0.0, plot.y.place(tick.value))
            if place is not None:
                labels.setdefault(place[1], tick.label)
        lines: list[list[TextSegment]] = []
        for y in range(rows):
            label = labels.get(y, "")
            lines.append([
                (f"{flush_right(label, margin - 1)}"[-(margin - 1) :], StyleRole.DIM),
                ("┤" if label else "│", StyleRole.RULE),
                *canvas.segments(y),
            ])
        return [*lines, *_lower_axis(plot.x, plot.y.title, canvas, margin)]

    def _drawn_ground(self, plot: Plot, width: int, rows: int) -> Canvas:
        """Draw roofs and their names, which seldom change: drawn for each picture they are an eighth of its time."""
        key = (plot, width, rows)
        if self._ground is None or self._ground[0] != key:
            self._ground = (key, draw_roofs(plot, width, rows, short=self.size.width < _ROOM))
        return self._ground[1]

    def _draw_trail(self, canvas: Canvas, picture: Picture) -> None:
        x, y = picture.plot.x, picture.plot.y
        number = len(picture.trail)
        for at, (intensity, gflops) in enumerate(picture.trail):
            if (place := canvas.cell(x.place(intensity), y.place(gflops))) is not None:
                char, role = TRAIL[at * len(TRAIL) // number]
                canvas.draw_char(*place, char, role)

    def _draw_dots(self, canvas: Canvas, picture: Picture, margin: int) -> None:
        x, y = picture.plot.x, picture.plot.y
        places = [canvas.cell(x.place(dot.intensity), y.place(dot.gflops)) for dot in picture.dots]
        for dot, place in zip(picture.dots, places, strict=True):
            if place is not None:
                canvas.draw_char(*place, MARKS.get(dot.dominant, MARKS[""]), StyleRole.SUMMARY)
        for dot, place in zip(picture.dots, places, strict=True):
            if dot.name and place is not None:
                name = cut("".join(letter if cell_len(letter) == 1 else "?" for letter in dot.name), _LABEL)
                beside = ((0, 2), (0, -1 - len(name)), (-1, 1), (1, 1), (-1, -len(name)), (1, -len(name)))
                _write(canvas, name, StyleRole.KEY, ((place[0] + step, place[1] + down) for down, step in beside))
        cursor = None if picture.cursor is None else places[picture.cursor]
        if cursor is not None:
            canvas.mark(*cursor, CURSOR, StyleRole.CELL)
        self.places = [None if place is None else (place[0] + margin, place[1]) for place in places]

    def on_resize(self) -> None:
        """Draw at the new size."""
        super().on_resize()  # Textual runs the base's handler after this one, which needs no strips of the old width
        self._ground = None
        self._redraw()

    # Mouse

    async def on_click(self, event: events.Click) -> None:
        """Select the nearest point."""
        event.prevent_default()  # no words of the picture name keys, as in other lines
        distances = {at: abs(place[0] - event.x) / 2 + abs(place[1] - event.y)
                     for at, place in enumerate(self.places) if place is not None}
        if distances:
            self.post_message(self.Selected(min(distances, key=lambda at: distances[at])))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Zoom in at the mouse."""
        self._wheel(event, _WHEEL)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Zoom out at the mouse."""
        self._wheel(event, 1 / _WHEEL)

    def _wheel(self, event: events.MouseEvent, factor: float) -> None:
        event.stop()
        if self.picture is None:
            return
        margin, rows = self._margin(), self.size.height - _BELOW
        x = (event.x - margin) / max(1, self.size.width - margin)
        y = 1 - event.y / max(1, rows)
        plot = self.picture.plot
        self.post_message(self.Zoomed(factor, plot.x.value(min(1.0, max(0.0, x))),
                                      plot.y.value(min(1.0, max(0.0, y)))))


def draw_roofs(plot: Plot, width: int, rows: int, *, short: bool) -> Canvas:
    """Draw roofs, ridge points and names on an empty canvas."""
    canvas = Canvas(width, rows)
    x, y = plot.x, plot.y
    for line in reversed(plot.lines):  # slanted roofs last, over the flat ones
        canvas.line((x.place(line.start[0]), y.place(line.start[1])), (x.place(line.end[0]), y.place(line.end[1])),
                    StyleRole.SPARK if line.kind is LineKind.MEMORY else StyleRole.RULE)
    for mark in plot.ridges:
        place = canvas.cell(x.place(mark.intensity), y.place(mark.gflops))
        if place is not None:
            canvas.mark(*place, "┬", StyleRole.AMBER)
    for mark in plot.ridges:
        place = canvas.cell(x.place(mark.intensity), y.place(mark.gflops))
        if place is not None:
            # Below the ridge, or elsewhere if neighbours leave room.
            steps = (0, 1, 1 - len(mark.label))
            _write(canvas, mark.label, StyleRole.AMBER,
                   ((place[0] + step, place[1] + down) for down in (-1, 1, 2, 3) for step in steps))
    for line in plot.lines:
        name = _short(line.name) if short else line.name
        start, end = (x.place(line.start[0]), y.place(line.start[1])), (x.place(line.end[0]), y.place(line.end[1]))
        if line.kind is LineKind.MEMORY:
            _name_slanted(canvas, name, (start, end))
        else:
            _name_flat(canvas, name, start[1])
    return canvas


def _short(name: str) -> str:
    for long, brief in _SHORT:
        name = name.replace(long, brief)
    return name


def _name_slanted(canvas: Canvas, name: str, whole: tuple[Place, Place]) -> None:
    """Write a name at the lowest free position at the upper left of a slanted line, away from faster levels."""
    if (inside := clip(*whole)) is None:
        return
    start, end = inside
    for share in (0.02, 0.1, 0.18, 0.26, 0.34, 0.42, 0.5, 0.6, 0.7):
        place = canvas.cell(start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1]))
        if place is not None and canvas.text(place[0] + 1, place[1] + 1, name, StyleRole.DIM):
            return


def _name_flat(canvas: Canvas, name: str, height: float) -> None:
    """Write a name at the right end of a flat line, above or below it."""
    if (place := canvas.cell(0.0, height)) is None:
        return
    column = canvas.width - len(name) - 1
    _write(canvas, name, StyleRole.DIM, ((column, place[1] + down) for down in (-1, 1, 0)))


def _write(canvas: Canvas, name: str, role: StyleRole, places: Iterable[tuple[int, int]]) -> None:
    """Write a name at the first of these columns and lines where it is free; nowhere if there is none."""
    for column, line in places:
        if canvas.text(column, line, name, role):
            return


def _lower_axis(x: LogAxis, height_title: str, canvas: Canvas, margin: int) -> list[list[TextSegment]]:
    edge = ["─"] * canvas.width
    ticks = Canvas(canvas.width, 1)
    for tick in x.ticks():
        if (place := canvas.cell(x.place(tick.value), 0.0)) is not None:
            edge[place[0]] = "┬"
            ticks.text(max(0, min(canvas.width - len(tick.label), place[0] - len(tick.label) // 2)), 0, tick.label,
                       StyleRole.DIM)
    words = ticks.segments(0)
    title = f" ↑ {height_title}   → {x.title} "
    line = "".join(edge)
    axis = [(line, StyleRole.RULE)]
    if len(title) < canvas.width - 4:
        axis = [(line[: -len(title) - 1], StyleRole.RULE), (title, StyleRole.DIM), (line[-1], StyleRole.RULE)]
    return [[(" " * (margin - 1), StyleRole.PLAIN), ("└", StyleRole.RULE), *axis],
            [(" " * margin, StyleRole.PLAIN), *words]]
