"""Windows over a screen. Esc, q and the key that opened a window close it; frames continue behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, TypeVar

from rich.console import RenderableType
from rich.segment import Segment
from textual import events
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.css.styles import RulesMap
from textual.keys import _character_to_key
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.style import Style as VisualStyle
from textual.visual import RenderOptions, Visual
from textual.widgets import Input

from turbotui.cell_widths import cell_count
from turbotui.quantities.columns import CounterColumn
from turbotui.widgets.direct_screen import forget_drawn_lines, skip_old_size
from turbotui.widgets.key_phrases import NAMED_KEYS, key_of_hint


class ScreenBelow(Visual):
    """The screen below a window, as it is: a shade would take its colours below the contrast of 4.5 : 1.

    What goes on there is read beside a window: the columns that `C` shows, the table of the cell that `e` explains.
    The lines are drawn already, while Textual takes each word apart and cuts the result into lines again.
    """

    def __init__(self, below: BackgroundScreen) -> None:
        self._below = below

    def render_strips(self, width: int, height: int | None, style: VisualStyle,
                      options: RenderOptions) -> list[Strip]:  # noqa: ARG002 - the base class's
        lines = self._below.screen._compositor.render_strips()[:height]  # noqa: SLF001 - as Textual's own does
        base = style.rich_style
        cut = [line if line.cell_length <= width else line.crop(0, width) for line in lines]
        # nothing there can be clicked or marked
        return [Strip([Segment(text, base + word.clear_meta_and_links() if word else base)
                       for text, word, control in line if not control]) for line in cut]

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:  # noqa: ARG002 - as above
        return container_width

    def get_height(self, rules: RulesMap, width: int) -> int:  # noqa: ARG002 - as above
        return self._below.screen.size.height


LONGEST_LINE: Final = 4096
"""Characters that can be typed into a field, as many as a path may have (PATH_MAX, limits.h): each further one is drawn
and searched for with all before it."""

Result = TypeVar("Result")


class Window(ModalScreen[Result]):
    """A window, which may show live values."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "close", priority=True),
        Binding("q,f10", "close", "close", show=False),
        Binding("y", "app.copy", "copy", show=False),
        Binding("P", "app.save_screen", "save", show=False),
    ]

    DEFAULT_CSS = """
    Window { align: center middle; background: transparent; }
    Window > .window {
        width: 90%; max-width: 100; height: auto; max-height: 90%; background: $background; color: $foreground;
        border: round $tui-accent; border-title-color: $tui-accent; border-subtitle-color: $tui-dim; padding: 0 1;
    }
    Window Input, Window Input:focus {
        border: none; height: 1; padding: 0; background: $background; color: $foreground;
        background-tint: $background 0%;
    }
    """

    def on_mount(self) -> None:
        """Bound what can be typed; Textual calls on_mount of the base classes by itself."""
        for field in self.query(Input):
            field.cursor_blink = False
            field.max_length = LONGEST_LINE

    async def _on_resize(self, event: events.Resize) -> None:
        skip_old_size(self, event)

    @property
    def wanted(self) -> Sequence[CounterColumn]:
        """Columns to read while the window is open, beside those of the screen below."""
        return ()

    def render(self) -> RenderableType | ScreenBelow:  # type: ignore[override]  # what any other widget may return
        """Draw the screen around the window."""
        around = super().render()
        return ScreenBelow(around) if isinstance(around, BackgroundScreen) else around

    def on_click(self, event: events.Click) -> None:
        """Press the key that is named where the frame was clicked."""
        for frame in self.query(".window"):
            hint, region = Content.from_markup(frame.border_subtitle or "").plain, frame.region
            # Textual draws it at the right, between two blanks, with one character of the frame and the corner behind
            at = event.screen_x - (region.right - 3 - min(cell_count(hint), region.width - 6))
            key = key_of_hint(hint, at) if event.screen_y == region.bottom - 1 and 0 <= at < len(hint) else ""
            if key:
                self.app.simulate_key(NAMED_KEYS.get(key) or _character_to_key(key))

    def copied(self) -> str:
        """Text that `y` copies, its first line a title; "" for none."""
        return ""

    def entitle(self, title: str) -> None:
        """Write a title on the window's frame; brackets in it are no markup."""
        self.query_one(".window").border_title = title.replace("[", "\\[")

    def show_frame(self) -> None:
        """Show a newer frame."""

    def on_screen_suspend(self) -> None:
        """Let go of the drawn lines of a closed window at once: the rest of it waits for the garbage collector."""
        if self not in self.app.screen_stack:
            forget_drawn_lines(self)

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        """Close with a choice; keys typed before the window is gone have no effect."""
        return super().dismiss(result) if self.is_current else AwaitComplete()

    async def action_remember(self) -> None:
        """Remember the columns that were chosen, and close; for windows with a key for it."""
        self.dismiss(None)
        self.app.call_later(self.app.run_action, "app.remember")

    def action_close(self) -> None:
        """Close without a choice."""
        self.dismiss(None)
