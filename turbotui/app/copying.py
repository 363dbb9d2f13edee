"""Copy through the terminal: OSC 52 of XTerm Control Sequences, which a terminal obeys, ignores or does not know."""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from textual.app import App


class Clipboard(Enum):
    """Whether a terminal accepts copies from programs, by the start of the sentence about it."""

    TAKES = "Copied"
    MAY = "Copied, if this terminal lets programs (OSC 52)"
    TMUX = "Copied, if tmux has set-clipboard on"
    NEVER = "Not copied: this terminal takes nothing from programs (OSC 52), but from the mouse"


_KNOWN: Final[tuple[tuple[str, str, Clipboard], ...]] = (
    ("TMUX", "", Clipboard.TMUX),  # tmux(1), set-clipboard: "external" ignores copies from programs
    ("STY", "", Clipboard.NEVER),  # screen(1) has no such sequence
    ("KITTY_WINDOW_ID", "", Clipboard.TAKES),  # kitty.conf(5), clipboard_control: write-clipboard
    ("ALACRITTY_WINDOW_ID", "", Clipboard.TAKES),  # alacritty(5), terminal.osc52: OnlyCopy
    ("WT_SESSION", "", Clipboard.TAKES),  # Windows Terminal, release notes of 1.6
    ("WEZTERM_PANE", "", Clipboard.TAKES),  # wezterm.org/escape-sequences.html
    ("GHOSTTY_RESOURCES_DIR", "", Clipboard.TAKES),  # ghostty(5), clipboard-write: allow
    ("TERM", "foot", Clipboard.TAKES),  # foot.ini(5), osc52: enabled
    ("TERM", "xterm-kitty", Clipboard.TAKES),
    ("TERM", "alacritty", Clipboard.TAKES),
    ("TERM", "linux", Clipboard.NEVER),  # console_codes(4) knows no OSC 52
    ("TERM", "vt", Clipboard.NEVER),
)
"""Environment variable, prefix of its value, and the result; the first match counts."""


def clipboard_of(environment: Mapping[str, str]) -> Clipboard:
    """Whether the terminal of this environment accepts copies from programs; MAY if unknown."""
    fits = (clipboard for name, begins, clipboard in _KNOWN
            if environment.get(name) and environment[name].startswith(begins))
    return next(fits, Clipboard.MAY)


def copy_text(app: App[int], text: str, what: str) -> str:
    """Copy a text through the terminal; returns a sentence about the result, with `what` as its subject."""
    app.copy_to_clipboard(text)
    return f"{clipboard_of(os.environ).value}: {what}"
