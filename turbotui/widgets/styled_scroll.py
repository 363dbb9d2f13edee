"""The base of scrolling widgets made of lines: roles, one scroll bar, and a cursor that stays visible."""

from __future__ import annotations

from textual.geometry import Size
from textual.scroll_view import ScrollView

from turbotui.widgets.role_styles import Palette, role_css


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
        else:
            self.set_reactive(StyledScroll.virtual_size, size)
            self._scroll_update(size)

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
