"""Send changed lines of a screen to the terminal immediately if nothing covers them.

Textual's own way handles any layout: a widget notifies its screen, a timer of the screen finds overlaps, and every line
between the first and the last changed one is requested and cut where a widget ends. That way a tick of the table of
CPUs takes 30 to 38 % more CPU time, and one of the overview 12 to 20 % (laptop, 200x50, in turn in one process).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from rich.color import ColorSystem
from rich.style import Style
from textual import events
from textual.geometry import NULL_SIZE, Offset, Region
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget, _RenderCache

from turbotui.widgets.role_styles import words_of


class DirectScreen(Screen[None]):
    """A screen whose widgets may draw lines themselves.

    Textual draws everything else: after a change of the layout, below a window, and where widgets overlap.

    Attributes:
        directly: number of updates that were drawn directly.
    """

    def __init__(self) -> None:
        super().__init__()
        self.directly = 0
        self._direct_lines: dict[Widget, dict[int, Strip]] = {}
        self._stands: dict[Widget, Region | None] = {}
        self._stands_in: object = None

    async def _on_resize(self, event: events.Resize) -> None:
        skip_old_size(self, event)

    def draw_lines(self, widget: Widget, lines: Mapping[int, Strip]) -> None:
        """Draw lines of a widget after the current callback, in one update with the lines of other widgets."""
        if not self._is_clear:
            _refresh(widget, lines)
            return
        if not self._direct_lines:
            asyncio.get_running_loop().call_soon(self._send_lines)
        self._direct_lines.setdefault(widget, {}).update(lines)

    def _send_lines(self) -> None:
        waiting, self._direct_lines = self._direct_lines, {}
        try:
            self._send_to_terminal(waiting)
        except Exception as error:  # noqa: BLE001 - here is no message loop that would contain it
            self.app._handle_exception(error)  # noqa: SLF001 - as Textual does around every callback

    def _send_to_terminal(self, waiting: Mapping[Widget, Mapping[int, Strip]]) -> None:
        app = self.app
        placed: list[tuple[int, int, Strip]] = []
        clear = self._is_clear
        for widget, lines in waiting.items():
            place = self._stand(widget) if clear else None
            if place is None or any(strip.cell_length > place.width for strip in lines.values()):
                _refresh(widget, lines)
                continue
            placed.extend((place.y + y, place.x, strip) for y, strip in lines.items() if y < place.height)
        driver = app._driver  # noqa: SLF001 - the app writes to it as below
        if not placed or driver is None:
            return
        self.directly += 1
        write_lines = getattr(driver, "write_lines", None)  # of the driver of a terminal; tests have others
        if write_lines is not None:
            write_lines([(y, x, words_of(strip)) for y, x, strip in placed], self._sgr,
                        synchronized=app._sync_available)  # noqa: SLF001 - as below
            return
        app._begin_update()  # noqa: SLF001 - as above
        driver.write("".join(f"\x1b[{y + 1};{x + 1}H{strip.render(app.console)}" for y, x, strip in placed))
        app._end_update()  # noqa: SLF001 - as above
        driver.flush()

    def _sgr(self, style: Style | None) -> str:
        """The parameters of a style, as `Strip.render_style` has them."""
        if style is None:
            return ""
        system = self.app.console._color_system or ColorSystem.TRUECOLOR  # noqa: SLF001 - as there
        return Strip.render_ansi(style, system) if style._ansi is None else style._ansi  # noqa: SLF001 - as there

    @property
    def _is_clear(self) -> bool:
        app = self.app
        # `is_current` is also true of a screen below a window
        return (app.screen is self and not app._batch_count  # noqa: SLF001 - as `Screen` asks before it draws
                and not (self._layout_required or self._scroll_required or self._recompose_required))

    def _stand(self, widget: Widget) -> Region | None:
        """The screen position of a widget's lines, if all of them are visible and nothing else is there."""
        visible = self._compositor.visible_widgets
        if visible is not self._stands_in:  # created again with every layout
            self._stands_in = visible
            self._stands.clear()
        if widget not in self._stands:
            self._stands[widget] = _region_of(widget, visible)
        return self._stands[widget]


def draw_lines(widget: Widget, lines: Mapping[int, Strip]) -> None:
    """Draw changed lines of a widget exactly as given, by their distance from its top.

    `render_lines` must later return the same lines, because Textual draws them too when it draws.
    """
    node = widget.parent
    while node is not None and not isinstance(node, Screen):
        node = node.parent
    if isinstance(node, DirectScreen) and node.is_running:
        node.draw_lines(widget, lines)
    else:
        _refresh(widget, lines)


def skip_old_size(screen: Screen[Any], event: events.Resize) -> None:
    """Skip Textual's layout for a size that the terminal has no more; its present one is in the queue, or will be.

    Textual runs the handlers of the classes one after the other. Its own lays the screen out for each size that waits
    in the queue, and the layout puts its size there again: two sizes with another message between them would change
    places for ever, without a rest for keys or for other widgets.
    """
    if event.size != screen.app.size:
        event.stop()
        event.prevent_default()


def forget_drawn_lines(screen: Screen[Any]) -> None:
    """Empty Textual's caches of what a hidden or closed screen has drawn: up to a megabyte, drawn anew when shown."""
    for widget in screen.walk_children(Widget):
        widget._styles_cache.clear()  # noqa: SLF001 - only `refresh` empties them, and asks for a drawing as well
        widget._render_cache = _RenderCache(NULL_SIZE, [])  # noqa: SLF001 - as above


def _refresh(widget: Widget, lines: Mapping[int, Strip]) -> None:
    """Let Textual draw lines: a few lines one by one, otherwise the whole widget."""
    height, width = widget.size.height, widget.size.width
    if len(lines) * 3 > height:
        widget.refresh()
    else:
        widget.refresh(*(Region(0, y, width, 1) for y in lines))


def _region_of(widget: Widget, visible: Mapping[Widget, tuple[Region, Region]]) -> Region | None:
    if widget not in visible or widget.styles.gutter:
        return None
    region, clip = visible[widget]
    inside = Region.from_offset(Offset(region.x, region.y), widget.scrollable_content_region.size)
    if not clip.contains_region(inside):
        return None
    around = {widget, *widget.ancestors}
    covered = any(inside.overlaps(other.intersection(within)) for widget, (other, within) in visible.items()
                  if widget not in around)
    return None if covered else inside
