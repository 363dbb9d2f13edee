"""Convert style roles to Textual styles; every colour is a variable of the theme."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.strip import Strip
from textual.widget import Widget

from turbotui.cell_widths import begin_of, cell_count
from turbotui.untrusted import in_cell
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.levels import FULL_LEVELS, HIGH, LEVELS
from turbotui.widgets.painter import TextSegment

if TYPE_CHECKING:
    from rich.console import Console

_PLAIN, _BOLD = Style(), Style(bold=True)
_INKS: Final[dict[StyleRole, tuple[str, str, Style]]] = {
    StyleRole.PLAIN: ("foreground", "", _PLAIN),
    StyleRole.DIM: ("tui-dim", "", _PLAIN),
    StyleRole.AMBER: ("tui-amber", "", _BOLD),
    StyleRole.RED: ("tui-red", "", _BOLD),
    StyleRole.SPARK: ("tui-spark", "", _PLAIN),
    StyleRole.RULE: ("tui-rule", "", _PLAIN),
    StyleRole.TITLE: ("tui-title", "", _PLAIN),
    StyleRole.SORTED: ("tui-accent", "", _BOLD),
    StyleRole.SUMMARY: ("tui-strong", "", _BOLD),
    StyleRole.CURSOR: ("tui-on-cursor", "tui-cursor", _PLAIN),
    StyleRole.CELL: ("tui-on-cell", "tui-cell", _PLAIN),
    StyleRole.TAGGED: ("tui-accent", "", _PLAIN),
    StyleRole.BANNER: ("tui-on-banner", "tui-banner", _BOLD),
    StyleRole.KEY: ("tui-accent", "", _PLAIN),
    **{role: (f"tui-level-{step}", "", _BOLD if step >= HIGH else _PLAIN) for step, role in enumerate(LEVELS)},
    **{role: ("tui-on-lane", f"tui-level-{step}", _PLAIN) for step, role in enumerate(FULL_LEVELS)},
    **{StyleRole[f"LANE_{lane}"]: (f"tui-lane-{lane}", "", _PLAIN) for lane in range(8)},
    **{StyleRole[f"LANE_{lane}_FULL"]: ("tui-on-lane", f"tui-lane-{lane}", _PLAIN) for lane in range(8)},
}
"""The theme's variables of a role's text and background, and the role's weight.

They are not component classes: Textual recomputes each of the 30 for every widget whenever a screen's styles may have
    changed.
"""


_WEIGHTS: Final[dict[StyleRole, Style]] = {
    **dict.fromkeys((StyleRole.DIM, StyleRole.RULE), Style(dim=True)),
    **dict.fromkeys((StyleRole.CELL, StyleRole.BANNER), Style(reverse=True)),
    **dict.fromkeys(FULL_LEVELS, Style(reverse=True)),
    **{StyleRole[f"LANE_{lane}_FULL"]: Style(reverse=True) for lane in range(8)},
    StyleRole.CURSOR: Style(underline=True),
    StyleRole.SORTED: Style(bold=True, underline=True),
    **dict.fromkeys((StyleRole.KEY, StyleRole.TAGGED), _BOLD),
}
"""The weight of roles where there are no colours, if it differs."""


def role_css(widget: str) -> str:
    """The DEFAULT_CSS of a widget whose roles are drawn on the theme's background."""
    return f"{widget} {{ background: $background; color: $foreground; }}"


class StyledStrip(Strip):
    """A strip without reference cycles, which is freed as soon as its line changes.

    Textual's own strip, asked for the whole of itself, caches itself in itself: a screenful of cells would wait for the
    garbage collector every second, and a tick of the table of CPUs would take 2 to 9 % more. Most strips are written to
    the terminal and never asked for anything, so segments and the seven caches of a strip are made on demand.

    Args:
        cell_length: cells of the whole strip.
    """

    __slots__ = ("_words",)

    def __init__(self, words: Sequence[tuple[str, Style]], cell_length: int) -> None:
        # the base class's attributes come from `__getattr__`
        self._words = words
        self._cell_length = cell_length
        self._render_cache: str | None = None

    def __getattr__(self, name: str) -> object:
        """Make a cache of a Textual strip on first use."""
        if name not in Strip.__slots__:
            raise AttributeError(name)
        rendered = self._render_cache
        super().__init__([Segment(text, style) for text, style in self._words], self._cell_length)
        self._render_cache = rendered
        return getattr(self, name)

    def render(self, console: Console) -> str:
        if self._render_cache is None:
            render, system = self.render_style, console._color_system or ColorSystem.TRUECOLOR  # noqa: SLF001 - as there
            self._render_cache = "".join([render(style, text, system) for text, style in self._words])
        return self._render_cache

    def divide(self, cuts: Iterable[int]) -> Sequence[Strip]:
        # Textual's own returns nothing behind the last cut inside: a table whose scroll bar is to be shown, and is not
        # laid out yet, is a cell narrower than its region, and would be the ground until its lines change
        inside = list(dict.fromkeys(min(cut, self.cell_length) for cut in cuts))
        return [self] if inside == [self.cell_length] else super().divide(inside)

    def adjust_cell_length(self, cell_length: int, style: Style | None = None) -> Strip:
        return self if cell_length == self.cell_length else super().adjust_cell_length(cell_length, style)


def words_of(strip: Strip) -> Sequence[tuple[str, Style | None]]:
    """The text and the style of each segment."""
    return strip._words if isinstance(strip, StyledStrip) else [(text, style) for text, style, _ in strip]  # noqa: SLF001


def beside(left: Strip, right: Strip, at: int) -> Strip:
    """One strip that continues with another one from a cell on."""
    words = _cut([(text, style or Style()) for text, style in words_of(left)], at)
    words += [(text, style or Style()) for text, style in words_of(right)]
    return StyledStrip(words, at + right.cell_length)


class Palette:
    """The styles of one widget's roles, each looked up once per theme.

    Args:
        final: apply Textual's line filters (no colour, 16 colours) here, once for each style, for a widget whose lines
            go to the screen unchanged.
    """

    def __init__(self, widget: Widget, *, final: bool = False) -> None:
        self._widget = widget
        self._final = final
        self._styles: dict[StyleRole, dict[StyleRole, Style]] = {}
        self._ground: Style | None = None
        self._final_styles: dict[Style, Style] = {}

    def clear(self) -> None:
        """Forget everything after a change of theme."""
        self._styles.clear()
        self._final_styles.clear()
        self._ground = None

    def style(self, base: StyleRole, role: StyleRole) -> Style:
        """The style of a segment on a line whose own role is `base`."""
        styles = self._styles.setdefault(base, {})
        style = styles.get(role)
        if style is None:
            style = self._widget.rich_style + self._partial(base)
            # dim text would be unreadable on the cursor's background; bold of the summary row is for its numbers
            if role is not StyleRole.PLAIN and not (base is StyleRole.CURSOR and role is StyleRole.DIM):
                style += self._partial(role, on=base)
            if self._final:
                style = self.filtered(style)
            styles[role] = style
        return style

    @property
    def ground(self) -> Style:
        """The widget's background alone."""
        if self._ground is None:
            self._ground = self.filtered(Style(bgcolor=self._widget.background_colors[1].rich_color))
        return self._ground

    def strip(self, segments: Sequence[TextSegment], width: int, base: StyleRole = StyleRole.PLAIN) -> Strip:
        """Segments as a strip of exactly `width` cells."""
        if (known := self._styles.get(base)) is None:
            known = self._styles[base] = {}
        text = "".join([text for text, _ in segments])
        if not text.isprintable():  # escape what was missed where it came in
            segments = [(in_cell(text), role) for text, role in segments]
            text = "".join([text for text, _ in segments])
        # not `known.get(role) or`: Textual computes the truth of a style in Python
        words = [(text, known[role] if role in known else self.style(base, role)) for text, role in segments if text]
        length = cell_count(text)
        if length > width:
            words = _cut(words, width)
            length = sum(cell_count(word) for word, _ in words)  # half a wide character is left out
        if length < width:
            words.append((" " * (width - length), self.style(base, StyleRole.PLAIN)))
        return StyledStrip(words, width)

    def filtered(self, style: Style) -> Style:
        """A style as Textual's line filters leave it."""
        known = self._final_styles.get(style)
        if known is None:
            known, background = style, self._widget.background_colors[1]
            for line_filter in self._widget.get_line_filters():
                known = line_filter.apply([Segment(" ", known)], background)[0].style or known
            self._final_styles[style] = known
        return known

    def _partial(self, role: StyleRole, on: StyleRole = StyleRole.PLAIN) -> Style:
        """The colours and weight of a role on a line's own role; in 16 colours the cursor's line keeps its colour."""
        app = self._widget.app
        ink, ground, weight = _INKS[role]
        if app.no_color:
            weight = _WEIGHTS.get(role, weight)
        if on is StyleRole.CURSOR and app.current_theme.ansi and not ground:
            return weight
        theme = app.theme_variables
        return weight + Style(color=Color.parse(theme[ink]).rich_color,
                              bgcolor=Color.parse(theme[ground]).rich_color if ground else None)


def _cut(words: Sequence[tuple[str, Style]], width: int) -> list[tuple[str, Style]]:
    segments, left = [], width
    for text, style in words:
        if left > 0:
            segments.append((begin_of(text, left), style))
            left -= cell_count(text)
    return segments
