"""Tones as styles: every colour comes from the theme through one component class for each `Tone`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from turbotui.untrusted import in_cell
from turbotui.widgets.cells import Tone
from turbotui.widgets.painter import Piece

TONE_CLASSES = {f"tone--{tone.value}" for tone in Tone}
"""plain dim amber red spark rule title sorted summary cursor cell tagged band key, and the lanes of timelines."""

_CSS = {
    Tone.PLAIN: "color: $foreground;",
    Tone.DIM: "color: $tui-dim;",
    Tone.AMBER: "color: $tui-amber; text-style: bold;",
    Tone.RED: "color: $tui-red; text-style: bold;",
    Tone.SPARK: "color: $tui-spark;",
    Tone.RULE: "color: $tui-rule;",
    Tone.TITLE: "color: $tui-title;",
    Tone.SORTED: "color: $tui-accent; text-style: bold;",
    Tone.SUMMARY: "color: $tui-strong; text-style: bold;",
    Tone.CURSOR: "background: $tui-cursor; color: $tui-strong;",
    Tone.CELL: "background: $tui-accent; color: $tui-on-accent;",
    Tone.TAGGED: "color: $tui-accent;",
    Tone.BAND: "background: $tui-band; color: $tui-on-band; text-style: bold;",
    Tone.KEY: "color: $tui-accent;",
    Tone.LANE_0: "color: $tui-lane-0;",
    Tone.LANE_1: "color: $tui-lane-1;",
    Tone.LANE_2: "color: $tui-lane-2;",
    Tone.LANE_3: "color: $tui-lane-3;",
    Tone.LANE_4: "color: $tui-lane-4;",
    Tone.LANE_5: "color: $tui-lane-5;",
    Tone.LANE_6: "color: $tui-lane-6;",
    Tone.LANE_7: "color: $tui-lane-7;",
    Tone.LANE_0_FULL: "background: $tui-lane-0; color: $tui-on-lane;",
    Tone.LANE_1_FULL: "background: $tui-lane-1; color: $tui-on-lane;",
    Tone.LANE_2_FULL: "background: $tui-lane-2; color: $tui-on-lane;",
    Tone.LANE_3_FULL: "background: $tui-lane-3; color: $tui-on-lane;",
    Tone.LANE_4_FULL: "background: $tui-lane-4; color: $tui-on-lane;",
    Tone.LANE_5_FULL: "background: $tui-lane-5; color: $tui-on-lane;",
    Tone.LANE_6_FULL: "background: $tui-lane-6; color: $tui-on-lane;",
    Tone.LANE_7_FULL: "background: $tui-lane-7; color: $tui-on-lane;",
}


def tone_css(widget: str) -> str:
    """The DEFAULT_CSS of a widget's tones."""
    rules = " ".join(f"& > .tone--{tone.value} {{ {rule} }}" for tone, rule in _CSS.items())
    return f"{widget} {{ background: $background; color: $foreground; {rules} }}"


class ToneStrip(Strip):
    """A strip that is in no cycle, so that it goes as soon as its line says something else.

    Textual's own, asked for the whole of itself, remembers itself in itself: a screenful of cells would wait for the
    garbage collector every second.
    """

    __slots__ = ()

    def divide(self, cuts: Iterable[int]) -> Sequence[Strip]:
        """See `Strip.divide`."""
        inside = [cut for cut in cuts if cut <= self.cell_length]
        return [self] if inside == [self.cell_length] else super().divide(inside)

    def adjust_cell_length(self, cell_length: int, style: Style | None = None) -> Strip:
        """See `Strip.adjust_cell_length`."""
        return self if cell_length == self.cell_length else super().adjust_cell_length(cell_length, style)


class Palette:
    """Styles of one widget's tones, each looked up once for a theme.

    Args:
        widget: whose component classes.
        final: pass the styles through Textual's line filters (no colour, 16 colours) here, once for each style, for a
            widget whose lines go to the screen as they are.
    """

    def __init__(self, widget: Widget, *, final: bool = False) -> None:
        self._widget = widget
        self._final = final
        self._styles: dict[tuple[Tone, Tone], Style] = {}

    def clear(self) -> None:
        """Forget everything: the theme changed."""
        self._styles.clear()

    def style(self, base: Tone, tone: Tone) -> Style:
        """The style of a piece on a line whose own tone is `base`."""
        style = self._styles.get((base, tone))
        if style is None:
            style = self._widget.rich_style + self._partial(base)
            # Dim text on the cursor's background could not be read; the bold of the summary row is for its numbers.
            if tone is not Tone.PLAIN and not (base is Tone.CURSOR and tone is Tone.DIM):
                style += self._partial(tone)
            if self._final:
                style = self._filtered(style)
            self._styles[base, tone] = style
        return style

    @property
    def ground(self) -> Style:
        """The widget's background alone."""
        return self._filtered(Style(bgcolor=self._widget.background_colors[1].rich_color))

    def strip(self, pieces: Sequence[Piece], width: int, base: Tone = Tone.PLAIN) -> Strip:
        """Pieces as a strip of exactly `width` characters, of which none is wider than one cell."""
        known, segments, length = self._styles, [], 0
        for text, tone in pieces:
            if text:
                if not text.isprintable():  # what was forgotten where it came in
                    text = in_cell(text)  # noqa: PLW2901 - it takes the place of the other
                segments.append(Segment(text, known.get((base, tone)) or self.style(base, tone)))
                length += len(text)
        if length < width:
            segments.append(Segment(" " * (width - length), self.style(base, Tone.PLAIN)))
            length = width
        return ToneStrip(segments if length == width else Strip(segments, length).crop(0, width), width)

    def _filtered(self, style: Style) -> Style:
        background = self._widget.background_colors[1]
        for line_filter in self._widget.get_line_filters():
            style = line_filter.apply([Segment(" ", style)], background)[0].style or style
        return style

    def _partial(self, tone: Tone) -> Style:
        return self._widget.get_component_rich_style(f"tone--{tone.value}", partial=True)
