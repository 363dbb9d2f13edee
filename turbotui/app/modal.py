"""Windows over a screen. Esc, q and the key that opened one close it; frames go on behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, TypeVar

from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from turbotui.quantities.columns import CounterColumn

Result = TypeVar("Result")


class Window(ModalScreen[Result]):
    """A window that shows live values if it wants to."""

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
        """Columns that have to be read while the window is open, beside those of the screen below."""
        return ()

    def copied(self) -> str:
        """Text that `y` copies, the first of several lines a title; "" for none."""
        return ""

    def show_frame(self) -> None:
        """A newer frame is there."""

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        """Close with a choice; keys that were typed faster than the window could close change nothing any more."""
        return super().dismiss(result) if self.is_current else AwaitComplete()

    def action_close(self) -> None:
        """Close without a choice."""
        self.dismiss(None)
