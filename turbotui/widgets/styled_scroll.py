"""The base of scrolling widgets made of lines: roles, one scroll bar, and a cursor that stays visible."""

from __future__ import annotations

from rich.color import Color
from rich.style import Style
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar, ScrollBarRender

from turbotui.widgets.direct_screen import draw_lines
from turbotui.widgets.role_styles import Palette, StyledStrip, role_css


class StyledScroll(ScrollView):
    """A widget with the Line API that has no keys of its own and uses those of its screen."""

    DEFAULT_CSS = (
        role_css("StyledScroll")
        + """
    StyledScroll {
        height: 1fr; overflow-x: hidden; scrollbar-size-vertical: 1;
        scrollbar-color: $tui-rule; scrollbar-background: $background; scrollbar-color-hover: $tui-dim;
        scrollbar-background-hover: $background; scrollbar-color-active: $tui-accent;
        scrollbar-background-active: $background;
    }
    """
    )

    can_focus = False

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._palette = Palette(self)

    def hold(self, size: Size) -> None:
        """Have content of another size.

        Only the scroll bar tells of it unless the widget's height follows the content: a layout of the screen, with
        every line of the widget drawn again, is what assigning `virtual_size` costs.
        """
        if size == self.virtual_size:
            return
        if self.styles.is_auto_height:
            self.virtual_size = size
            return
        before, room = self.virtual_size, self.container_size.height
        self.set_reactive(StyledScroll.virtual_size, size)
        if self.show_vertical_scrollbar and before.width == size.width and min(before.height, size.height) > room:
            self._draw_bar()
        else:
            self._scroll_update(size)

    def _draw_bar(self) -> None:
        """Draw the scroll bar of content of another length, whose rows come and go at each tick.

        `refresh` would have Textual draw every line beside the bar: a tick of the tasks then takes 48 to 56 % more.
        """
        bar, height = self.vertical_scrollbar, self.virtual_size.height
        bar.set_reactive(ScrollBar.window_virtual_size, height)
        # what Textual keeps of the bar: only `refresh` forgets it, and asks for a drawing as well
        bar._layout_cache.clear()  # noqa: SLF001 - as said
        bar._set_dirty()  # noqa: SLF001 - as said
        self.scroll_y = self.validate_scroll_y(self.scroll_y)
        shown = bar.render()
        if isinstance(shown, ScrollBarRender) and isinstance(shown.style, Style) and bar.size.height:
            back, thumb = shown.style.bgcolor or Color.default(), shown.style.color or Color.default()
            lines = shown.render_bar(bar.size.height, shown.virtual_size, shown.window_size, shown.position,
                                     shown.thickness, back_color=back, bar_color=thumb).segments
            draw_lines(bar, {y: StyledStrip([(text, self._palette.filtered(style or Style.null()))], shown.thickness)
                             for y, (text, style, _) in enumerate(lines)})

    def reveal(self, first: int, last: int, room: int | None = None) -> None:
        """Scroll as little as needed to show the lines `first` to `last`, in the widget's height or less."""
        top, height = self.scroll_offset.y, self.size.height if room is None else room
        if not height:
            return
        if first < top:
            self.scroll_to(y=first, animate=False, immediate=True)
        elif last >= top + height:
            self.scroll_to(y=last - height + 1, animate=False, immediate=True)

    def notify_style_update(self) -> None:
        """Forget colours after a change of theme."""
        super().notify_style_update()
        self._palette.clear()
