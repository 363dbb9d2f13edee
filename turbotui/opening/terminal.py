"""The terminal before Textual: its modes, its pictures and its end, by plain escape sequences."""

from __future__ import annotations

import os
import signal
import termios
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from turbotui.opening.picture import BAR, DIM, PLAIN, STRONG, Line
from turbotui.repertoire import Abilities, Repertoire
from turbotui.terminal.handover import LAST_ROW, Handover, bounded, modes_of, set_raw, wait_for_front
from turbotui.terminal.writer import TerminalWriter

_ENTER: Final = b"\x1b[?1049h\x1b[?25l\x1b[?7l"
_LEAVE: Final = f"\x1b[?2026l\x1b[?7h{LAST_ROW}\x1b[?1049l\x1b[?25h".encode()
"""Alternate screen, no cursor, no line wrap; see XTerm Control Sequences, "Functions using CSI"."""
_PATIENCE: Final = 0.5  # seconds that leaving waits for a terminal that accepts nothing
_READ: Final = 4096

GROUNDS: Final[Mapping[str, Mapping[str, str]]] = {
    "calm": {PLAIN: "b9c3cc", DIM: "8f9aa4", STRONG: "e6ebf0", BAR: "6f9fb8", "ground": "10151a"},
    "contrast": {PLAIN: "ffffff", DIM: "b2b2b2", STRONG: "ffffff", BAR: "5fd7ff", "ground": "000000"},
    "light": {PLAIN: "24313c", DIM: "4d5863", STRONG: "0d1720", BAR: "2f6685", "ground": "fbfcfd"},
}
"""Colours of themes with their own, so that the background stays when Textual paints it; a test compares them."""
_WITHOUT: Final[Mapping[str, str]] = {PLAIN: "\x1b[m", DIM: "\x1b[0;2m", STRONG: "\x1b[0;1m", BAR: "\x1b[m"}

_ANY_TERMINAL: Final = Abilities()


class OpeningTerminal:
    """A terminal that `enter` takes over, and that `leave` or the driver restores.

    Args:
        environment: of the process; it gives the terminal's colours.
        abilities: the terminal's other abilities.
    """

    def __init__(self, keys: int, screen: int, theme: str | None, environment: Mapping[str, str],
                 abilities: Abilities = _ANY_TERMINAL) -> None:
        self.keys = keys
        self.handover = Handover()
        self._screen = screen
        self._styles = styles(theme, environment) if abilities.colours and not abilities.sixteen else _WITHOUT
        self._repertoire = None if abilities.encoding is None else Repertoire(abilities.encoding)
        self._entered = False
        self._writer = TerminalWriter(screen, lambda _error: None, lambda: None, "first screen")
        self._started = False

    def enter(self) -> None:
        """Take the terminal over, once this process is in its foreground."""
        wait_for_front(self.keys)
        self.handover.modes = modes_of(self.keys)
        with suppress(termios.error):  # the terminal is gone, which the next read reports
            set_raw(self.keys)
        if not self._started:
            self._started = True
            self._writer.start()
        self._writer.write(_ENTER, must=True)
        self._entered = True

    def enter_again(self) -> None:
        """Set the modes again, because whatever stopped the process may have changed them."""
        with suppress(termios.error):
            set_raw(self.keys)
        self._writer.write(_ENTER, must=True)

    def leave(self) -> None:
        """Restore the terminal; does nothing if the driver has it, or if nobody took it."""
        if self._entered and not self.handover.taken:
            self._entered = False
            self._writer.settle(_LEAVE, _PATIENCE)
            with suppress(termios.error):
                termios.tcflush(self.keys, termios.TCIFLUSH)
                if self.handover.modes is not None:
                    termios.tcsetattr(self.keys, termios.TCSANOW, self.handover.modes)

    def hand_over(self) -> Handover:
        """Write pending output, and leave everything else to the driver."""
        self._writer.settle(b"", _PATIENCE)
        return self.handover

    def close(self) -> None:
        """Leave, and end the writer."""
        self.leave()
        if self._started:
            self._writer.close()

    def draw(self, lines: Sequence[Line]) -> None:
        """Draw a whole screen."""
        plain = self._styles[PLAIN]
        rows = ["".join(self._styles[style] + text for text, style in line) + plain + "\x1b[K" for line in lines]
        text = "\x1b[?2026h\x1b[H" + "\r\n".join(rows) + "\x1b[?2026l"
        shown = text if self._repertoire is None else self._repertoire.shown(text)
        self._writer.write(shown.encode(errors="replace"))

    def read(self) -> bytes:
        """Typed bytes; empty when the terminal is gone."""
        try:
            return os.read(self.keys, _READ)
        except OSError:
            return b""

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines; 80 and 24 if the terminal does not report them."""
        try:
            columns, lines = os.get_terminal_size(self._screen)
        except OSError:
            return 80, 24
        return bounded((columns or 80, lines or 24))

    def stop(self) -> None:
        """Give the terminal back, stop as the shell expects it, and take the terminal over when continued in front."""
        self.leave()
        handler = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        # the default action, not SIGSTOP: it does nothing in an orphaned process group, which no shell could continue
        signal.pthread_kill(threading.get_ident(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, handler)
        self.enter()


def styles(theme: str | None, environment: Mapping[str, str]) -> Mapping[str, str]:
    """The control sequence of each style: the theme's colours if the terminal shows all colours, otherwise none."""
    colours = GROUNDS.get(theme or "calm")
    every = environment.get("COLORTERM", "").lower() in ("truecolor", "24bit")
    if colours is None or not every or environment.get("NO_COLOR"):
        return _WITHOUT
    ground = _rgb(48, colours["ground"])
    return {style: f"\x1b[0;{_rgb(38, colours[style])};{ground}m" for style in (PLAIN, DIM, STRONG, BAR)}


def _rgb(layer: int, colour: str) -> str:
    return f"{layer};2;{int(colour[:2], 16)};{int(colour[2:4], 16)};{int(colour[4:], 16)}"
