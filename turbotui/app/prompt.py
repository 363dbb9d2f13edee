"""One line to type into, at the bottom: search and filter, applied with every letter."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Input, Static

from turbotui.app.modal import Window
from turbotui.cell_widths import cell_count
from turbotui.widgets.cells import cut_words

_AROUND = 5
"""Blanks around word and answer, and the cursor."""


class Prompt(Window[str]):
    """A field at the bottom of the screen; it returns the text on Enter, None on Esc.

    Args:
        typed: called with every change; returns a sentence to show, or "".
        replaces: whether the text to start with is selected, so that the first letter takes its place; a filter is more
            often continued, another choice is not.
    """

    DEFAULT_CSS = """
    Prompt { align: left bottom; background: transparent; }
    Prompt > Horizontal { height: 1; width: 100%; background: $tui-prompt; }
    Prompt > Horizontal > .word { width: auto; color: $tui-accent; padding: 0 1; background: $tui-prompt; }
    Prompt > Horizontal > .answer {
        width: auto; max-width: 75%; color: $tui-amber; padding: 0 1; background: $tui-prompt;
    }
    Prompt > Horizontal > Input, Prompt > Horizontal > Input:focus {
        width: 1fr; background: $tui-prompt; color: $tui-strong;
    }
    """

    def __init__(self, word: str, text: str, typed: Callable[[str], str], *, replaces: bool = False) -> None:
        super().__init__()
        self._word = word
        self._text = text
        self._typed = typed
        self._replaces = replaces

    def compose(self) -> ComposeResult:
        """Lay out word, field and sentence on one line."""
        with Horizontal():
            yield Static(self._word, classes="word", markup=False)
            yield Input(self._text, select_on_focus=self._replaces)
            yield Static("", classes="answer", markup=False)

    def on_mount(self) -> None:
        """Give the field the focus."""
        self.query_one(Input).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Apply the text, and show what is wrong."""
        width, answer = self.app.size.width, self._typed(event.value)
        shown = cut_words(answer, width * 3 // 4 - 2)
        self.query_one(".answer", Static).update(shown)
        # the typed text comes before the word about it
        used = cell_count(self._word) + cell_count(shown) + cell_count(event.value) + _AROUND
        self.query_one(".word", Static).display = not answer or used <= width

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Close the prompt with the typed text."""
        self.dismiss(event.value)
