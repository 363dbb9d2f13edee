"""A graph as lines of text: panels of curves, one time axis, one cursor. Nothing here knows Textual."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from turbotui.cell_widths import flush_right
from turbotui.dataclass import dataclass
from turbotui.quantities.columns import Column
from turbotui.quantities.moments import NS, age, time_of_day
from turbotui.widgets.cells import UNKNOWN, StyleRole, in_words
from turbotui.widgets.curves import Extent, TimedValue, buckets, extent, raster, value_at, visible
from turbotui.widgets.painter import TextSegment, merged, nice_top, scale_top
from turbotui.widgets.time_axis import TimeSpan, axis_lines

T = TypeVar("T")

LEAST_ROWS: Final = 3
"""Minimum lines of a curve: for both ends of its scale and the middle."""
_AXIS: Final = 2
_SAID: Final = 1
_MARK: Final = "━━"
_LOADING: Final = "…"


@dataclass(frozen=True, slots=True)
class Curve:
    """One row's values of a column."""

    name: str
    role: StyleRole
    timed: Sequence[TimedValue]  # oldest first


@dataclass(frozen=True, slots=True)
class CurvePanel:
    """The curves of one column."""

    column: Column[Any]
    curves: Sequence[Curve]  # the first is drawn over the others
    top: float = 0.0  # end of the scale if there is a natural one; 0.0 if the values decide


@dataclass(frozen=True, slots=True)
class GraphEvent:
    """An event on the time axis."""

    time_ns: int  # ns since 1970
    text: str


@dataclass(frozen=True, slots=True)
class GraphPicture:
    """The contents of a graph's picture."""

    panels: Sequence[CurvePanel]  # from top to bottom
    span: TimeSpan
    at: int  # the moment of the cursor, at which an interval ends
    now: int  # the time from which ages count, in ns since 1970: the present, or the end of a recording
    ends_now: bool = False  # whether the span ends now
    following: bool = False  # whether the cursor follows the newest interval
    events: Sequence[GraphEvent] = ()  # oldest first
    loading: str = ""  # how much of the past is still to be read, in words; "" if all of it is


class GraphPainter:
    """Draws pictures and keeps the curves of the last one, so that a step of the cursor computes none of them again.

    Attributes:
        left: characters before the time axis of the last picture.
        across: characters of the axis; 0 before the first picture.
    """

    def __init__(self) -> None:
        self.left = self.across = 0
        self._before: dict[tuple[object, ...], tuple[tuple[object, ...], Any]] = {}

    def lines(self, picture: GraphPicture, width: int, height: int) -> list[list[TextSegment]]:
        """Draw the picture in a number of characters; panels that do not fit are counted on the last line."""
        panels = picture.panels[:room(height)]
        extents = [self._extents(at, panel, picture.span) for at, panel in enumerate(panels)]
        scales = [_scale(panel.top, extent_of) for panel, extent_of in zip(panels, extents, strict=True)]
        labels = [_labels(panel.column, *scale) for panel, scale in zip(panels, scales, strict=True)]
        left = min(max((len(label) for three in labels for label in three), default=0), width // 3) + 2
        across = width - left
        self.left, self.across = left, across
        picture_lines: list[list[TextSegment]] = []
        share, rest = divmod(height - _AXIS - _SAID, max(1, len(panels)))
        for at, panel in enumerate(panels):
            lines = share + (at < rest)
            head = _head(picture, panel, extents[at], width, lines - LEAST_ROWS)
            plot = self._plot(at, panel, picture.span, scales[at], (across, lines - len(head)))
            picture_lines += [*head, *_framed(picture, plot, labels[at], left, across)]
        events = [event.time_ns for event in picture.events]
        marks, times = axis_lines(picture.span, across, events, picture.at, now=picture.ends_now)
        picture_lines.append([(" " * (left - 1), StyleRole.DIM), ("└", StyleRole.RULE), *marks])
        picture_lines.append([(" " * left, StyleRole.DIM), *times])
        picture_lines.append(_in_words(picture, len(picture.panels) - len(panels), width))
        return picture_lines

    def _extents(self, at: int, panel: CurvePanel, span: TimeSpan) -> list[Extent | None]:
        return [self._once(("extent", at, number), lambda timed, span: extent(visible(timed, span)), curve.timed, span)
                for number, curve in enumerate(panel.curves)]

    def _plot(self, at: int, panel: CurvePanel, span: TimeSpan, scale: tuple[float, float],
              size: tuple[int, int]) -> list[list[TextSegment]]:
        places = [self._once(("places", at, number), buckets, curve.timed, span, 2 * size[0])
                  for number, curve in enumerate(panel.curves)]
        drawn = [(buckets_of, curve.role) for buckets_of, curve in zip(places, panel.curves, strict=True)][::-1]
        return self._once(("plot", at), raster, drawn, *scale, *size)

    def _once(self, name: tuple[object, ...], make: Callable[..., T], *of: object) -> T:
        """What was made of the same objects for the last picture, else made now.

        A step of the cursor over four panels with three curves of an hour takes 1.5 ms with what is kept, 52 without.
        """
        known = self._before.get(name)
        if known is None or known[0] != of:  # identical objects are not compared
            known = self._before[name] = of, make(*of)
        drawn: T = known[1]
        return drawn


def room(height: int) -> int:
    """The number of panels that remain readable in this many lines."""
    return max(1, (height - _AXIS - _SAID) // (LEAST_ROWS + 2))


def _scale(natural: float, extents: Sequence[Extent | None]) -> tuple[float, float]:
    """Both ends of a scale that includes 0 and every visible value."""
    low = min((extent.low for extent in extents if extent is not None), default=0.0)
    high = max((extent.high for extent in extents if extent is not None), default=0.0)
    top = scale_top(natural, high) if natural > 0 or high > 0 or low >= 0 else 0.0
    return (0.0 if low >= 0 else -nice_top(-low)), top


def _labels(column: Column[Any], bottom: float, top: float) -> tuple[str, str, str]:
    """The ends of a scale and its middle, from the top."""
    if column.hexadecimal:
        return in_words(column, top), in_words(column, (bottom + top) / 2), in_words(column, bottom)
    ends = [column.as_shown(value) for value in (top, (bottom + top) / 2, bottom)]
    texts = [f"{float(f'{value:.4g}'):,.10g}" for value in ends]
    return f"{texts[0]} {column.shown_unit}".rstrip(), texts[1], texts[2]


def _framed(picture: GraphPicture, plot: Sequence[Sequence[TextSegment]], labels: tuple[str, str, str], left: int,
            across: int) -> list[list[TextSegment]]:
    """Lines of a plot with the scale before them and the cursor over them."""
    cursor = -1 if picture.following else picture.span.place(picture.at, across)
    written = {len(plot) // 2: labels[1]} if len(plot) % 2 or len(plot) > 2 * LEAST_ROWS else {}
    written |= {0: labels[0], len(plot) - 1: labels[2]}
    picture_lines: list[list[TextSegment]] = []
    for row, line in enumerate(plot):
        cells, label = list(line), written.get(row, "")
        if cursor >= 0:
            dots = cells[cursor][0]
            cells[cursor] = ("│", StyleRole.KEY) if dots == " " else (dots, StyleRole.CELL)
        picture_lines.append([(flush_right(label[:left - 1], left - 1), StyleRole.DIM),
                              ("┤" if label else "│", StyleRole.RULE),
                              *merged(cells)])
    return picture_lines


def _head(picture: GraphPicture, panel: CurvePanel, extents: Sequence[Extent | None], width: int,
          most: int) -> list[list[TextSegment]]:
    """The column, and its curves with their values at the cursor; at least one and at most `most` lines."""
    column = panel.column
    words: list[list[TextSegment]] = [[(f" {column.id}", StyleRole.TITLE)]]
    for curve in panel.curves:
        value = _value(picture, column, curve)
        alone = curve.role is StyleRole.SPARK
        mark = [] if alone else [(f"  {_MARK} ", curve.role)]
        name = f" · {curve.name}  " if alone else f"{curve.name} "
        words.append([*mark, (name, StyleRole.PLAIN), (value, StyleRole.SUMMARY)])
    stats = _stats(panel, extents, owners=len(panel.curves) > 1)
    if len(stats) >= width:
        stats = _stats(panel, extents, owners=False)
    lines = _wrapped(words, width)
    used = sum(len(text) for text, _ in lines[-1])
    if used + 2 + len(stats) <= width:
        lines[-1] = [*lines[-1], (flush_right(stats, width - used), StyleRole.DIM)]
    elif len(lines) < most:
        lines.append([(f" {stats}"[:width], StyleRole.DIM)])
    hidden = len(lines) - max(1, most)
    if hidden > 0:
        lines = lines[:max(1, most)]
        lines[-1] = [*lines[-1], (" …", StyleRole.DIM)]
    return lines


def _value(picture: GraphPicture, column: Column[Any], curve: Curve) -> str:
    value_of = value_at(curve.timed, picture.at)
    if value_of is None or not value_of.known:
        return _LOADING if value_of is None and picture.loading else UNKNOWN
    return in_words(column, value_of.value)


def _stats(panel: CurvePanel, extents: Sequence[Extent | None], *, owners: bool) -> str:
    """Least, mean and greatest of all curves of a panel, with the rows they belong to if that matters."""
    known = [(extent, curve.name) for extent, curve in zip(extents, panel.curves, strict=True) if extent is not None]
    if not known:
        return "nothing is known of this time"
    low, low_of = min((extent.low, name) for extent, name in known)
    high, high_of = max((extent.high, name) for extent, name in known)
    count = max(extent.count for extent, _ in known)
    mean = sum(extent.mean * extent.count for extent, _ in known) / sum(extent.count for extent, _ in known)
    column = panel.column
    texts = [in_words(column, value).removesuffix(f" {column.shown_unit}") for value in (low, mean)]
    who = (f" ({low_of})", f" ({high_of})") if owners else ("", "")
    return (f"over {count:,} interval{'s' * (count != 1)}:  min {texts[0]}{who[0]}  mean {texts[1]}  "
            f"max {in_words(column, high)}{who[1]}")


def _wrapped(words: Sequence[Sequence[TextSegment]], width: int) -> list[list[TextSegment]]:
    """Wrap unbreakable words to lines of this many characters."""
    lines: list[list[TextSegment]] = [[]]
    used = 0
    for word in words:
        size = sum(len(text) for text, _ in word)
        if used and used + size > width:
            lines.append([])
            used = 0
        lines[-1] += word
        used += size
    return lines


def _in_words(picture: GraphPicture, left_out: int, width: int) -> list[TextSegment]:
    """The moment of the cursor in words, and what the picture lacks."""
    ago = (picture.now - picture.at) / NS
    words = [(f" {time_of_day(picture.at)}", StyleRole.SUMMARY)]
    words.append((" now" if picture.following else f" · {age(ago)} ago", StyleRole.PLAIN))
    timed = (value_at(curve.timed, picture.at) for panel in picture.panels for curve in panel.curves)
    start = min((value_of.start for value_of in timed if value_of is not None), default=picture.at - 1)
    happened = [event.text for event in picture.events if start < event.time_ns <= picture.at]
    if happened:
        words.append((f" · {'; '.join(happened)}", StyleRole.AMBER))
    if left_out:
        words.append((f" · {left_out} more column{'s' * (left_out != 1)} in a higher window", StyleRole.AMBER))
    used = sum(len(text) for text, _ in words)
    if picture.loading and used + len(picture.loading) + 2 <= width:
        words.append((flush_right(picture.loading, width - used), StyleRole.DIM))
    return words
