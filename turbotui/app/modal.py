"""Windows over a screen. Esc, q and the key that opened a window close it; frames continue behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, TypeVar

from rich.console import RenderableType
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import ModalScreen

from turbotui.quantities.columns import CounterColumn
from turbotui.widgets.screen_below import ScreenBelow

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
    Window { align: center middle; background: $background 35%; }
    Window:ansi { background: transparent; }
    Window > .window {
        width: 90%; max-width: 100; height: auto; max-height: 90%; background: $background;
        border: round $tui-accent; border-title-color: $tui-accent; border-subtitle-color: $tui-dim; padding: 0 1;
    }
    Window Input, Window Input:focus {
        border: none; height: 1; padding: 0; background: $background; color: $foreground;
        background-tint: $background 0%;
    }
    """

    @property
    def wanted(self) -> Sequence[CounterColumn]:
        """Columns to read while the window is open, beside those of the screen below."""
        return ()

    def render(self) -> RenderableType | ScreenBelow:  # type: ignore[override]  # what any other widget may return
        """What is around the window."""
        around = super().render()
        return ScreenBelow(around) if isinstance(around, BackgroundScreen) else around

    def copied(self) -> str:
        """Text that `y` copies, its first line a title; "" for none."""
        return ""

    def show_frame(self) -> None:
        """Show a newer frame."""

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        """Close with a choice; keys typed before the window is gone have no effect."""
        return super().dismiss(result) if self.is_current else AwaitComplete()

    def action_close(self) -> None:
        """Close without a choice."""
        self.dismiss(None)
