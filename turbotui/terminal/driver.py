"""The dashboard's terminal under Textual: modes, keys, job control, and its end.

Textual's own driver reads for ever from a terminal that is gone, freezes when one write fails, and takes raw modes for
the ones to restore when it is continued without having been stopped.
"""

from __future__ import annotations

import os
import select
import signal
import termios
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import FrameType
from typing import Final

from rich.style import Style
from textual import constants, events
from textual.app import App
from textual.drivers.linux_driver import (
    KITTY_DISAMBIGUATE_ESCAPE_CODES,
    KITTY_REPORT_ALL_KEYS,
    KITTY_REPORT_ASSOCIATED_TEXT,
    LinuxDriver,
)
from textual.geometry import Size
from textual.message import Message

from turbotui.repertoire import Repertoire
from turbotui.terminal.backlog import InputBacklog
from turbotui.terminal.handover import LAST_ROW, HandedOver, Handover, bounded, modes_of, set_raw, wait_for_front
from turbotui.terminal.keys import InputMessages
from turbotui.terminal.shown_cells import ShownCells, Words
from turbotui.terminal.writer import TerminalWriter
from turbotui.threads import NamedThread

_PATIENCE: Final = 0.5  # seconds that leaving waits for a terminal that accepts nothing
_UNTIL_SIGNAL: Final = 1.5  # seconds until a program that lost its terminal is ended by a signal, and by the next
_REMEMBERED: Final = 60.0  # seconds after which lines are sent whole: another program may have written over them
_READ: Final = 4096
_TRIES: Final = 10
_REST: Final = 0.1
_SYNC_START: Final = "\x1b[?2026h"
_SYNC_END: Final = "\x1b[?2026l"
_KITTY: Final = KITTY_DISAMBIGUATE_ESCAPE_CODES | KITTY_REPORT_ALL_KEYS | KITTY_REPORT_ASSOCIATED_TEXT
_ALTERNATE: Final = "\x1b[?1049h"  # alternate screen; entering it twice would clear it
_ENTER: Final = (
    "{mouse}"
    "\x1b[?25l"  # no cursor
    "\x1b[?1004h"  # report the focus
    "{kitty}"
    "\x1b[?2004h"  # bracketed paste
    "\x1b[?7l"  # no line wrap
)
_LEAVE: Final = (
    "\x1b[?2026l"  # end an update that was cut off
    "\x1b[?2004l\x1b[?7h\x1b[?2048l\x1b[?1016l\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l"
    "{kitty}"
    f"{LAST_ROW}\x1b[?1049l\x1b[?25h\x1b[?1004l"
)
"""XTerm Control Sequences, "Functions using CSI"; 2026 and 2048 as in https://github.com/contour-terminal/vt-extensions
and https://gist.github.com/rockorager/e695fb2924d36b2bcf1fff4a3704bd83."""
_MOUSE: Final = "\x1b[?1000h\x1b[?1003h\x1b[?1015h\x1b[?1006h"

_Handler = Callable[[int, FrameType | None], object] | int | None


class TerminalLost(Message, bubble=False):
    """The terminal is gone, or refuses every byte."""

    def __init__(self, why: str) -> None:
        super().__init__()
        self.why = why


class Continued(Message, bubble=False):
    """The process continues after a stop: everything has to be redrawn."""


class TerminalDriver(LinuxDriver):
    """Textual's Linux driver with output that never blocks, input that ends with its terminal, and job control.

    It stops and continues as htop does. Create it on the main thread, where Python handles signals and Textual runs.
    """

    def __init__(self, app: App[object], *, debug: bool = False, mouse: bool = True,
                 size: tuple[int, int] | None = None) -> None:
        before = {number: signal.getsignal(number) for number in (signal.SIGTSTP, signal.SIGCONT, signal.SIGWINCH)}
        super().__init__(app, debug=debug, mouse=mouse, size=size or bounded(self._get_terminal_size()))
        self._repertoire: Repertoire | None = getattr(app, "repertoire", None)
        self._handlers_before: dict[signal.Signals, _Handler] = before
        self._handover = app.handover if isinstance(app, HandedOver) else None
        self._backlog = InputBacklog(app, self._soon)
        self._writer: TerminalWriter | None = None
        self._held: list[str] = []
        self._cells = ShownCells()
        self._remembered = 0.0  # when the cells were last unknown
        self._unknown = True  # set by any thread: the next update is sent whole
        self._entered = False
        self._stopping = False
        self._closing = False
        self._closed = threading.Event()
        self._input_ends, self._end_input = os.pipe()
        signal.signal(signal.SIGTSTP, lambda _number, _frame: self._soon(self._stop))
        signal.signal(signal.SIGCONT, lambda _number, _frame: self._continued())

    # Output

    def write(self, data: str) -> None:
        """Write an update, which may be dropped if the terminal has not accepted earlier ones.

        Textual writes an update in parts, which are held until `flush`, because only a whole update may be dropped.
        """
        if threading.current_thread() is self._key_thread:
            self._unknown = True
            self._send(data)
        elif data == _SYNC_START or self._held:
            self._held.append(data)
        else:
            self._hand_over(data)

    def flush(self) -> None:
        """Complete the update."""
        if self._held:
            data, self._held = "".join(self._held), []
            self._hand_over(data)

    def write_lines(self, lines: Iterable[tuple[int, int, Words]], sgr: Callable[[Style | None], str], *,
                    synchronized: bool) -> None:
        """Write lines as an update, which may be dropped.

        Args:
            synchronized: whether the terminal is asked to show the update at once.
        """
        if self._entered:
            self._look_at_age()
            if changes := self._cells.changes_of(lines, sgr):
                self._send(f"{_SYNC_START}{changes}{_SYNC_END}" if synchronized else changes)

    def _hand_over(self, data: str) -> None:
        if self._entered:
            self._look_at_age()
            if changes := self._cells.changes(data):
                self._send(changes)

    def _look_at_age(self) -> None:
        """Forget the cells after some time, and if the terminal may show something else."""
        now = time.monotonic()
        if self._unknown or now - self._remembered > _REMEMBERED:
            self._unknown, self._remembered = False, now
            self._cells.forget()

    def _send(self, data: str) -> None:
        if self._writer is not None and self._entered:
            shown = data if self._repertoire is None else self._repertoire.shown(data)
            if not self._writer.write(shown.encode(errors="replace")):
                self._unknown = True

    def _lost(self, error: OSError) -> None:
        self._end_without_terminal(f"it cannot be written to: {error.strerror}")

    def _end_without_terminal(self, why: str) -> None:
        """End the program: by a message, or where it is if it waits for something or runs for ever."""
        self.send_message(TerminalLost(why))
        NamedThread(target=self._insist, name="terminal-lost", daemon=True).start()

    def _insist(self) -> None:
        while not self._closed.wait(_UNTIL_SIGNAL):
            os.kill(os.getpid(), signal.SIGTERM)

    # Modes

    def start_application_mode(self) -> None:
        """Take the terminal over, and start reading and writing."""
        output = self._file
        assert output is not None  # noqa: S101 - the command has looked before it made the app
        self._writer = TerminalWriter(output.fileno(), self._lost, lambda: self.send_message(Continued()))
        self._writer.start()
        # by asyncio, so that every signal that is caught wakes the event loop: Python looks for signals before it waits
        # for events, and one that comes between the two waited with it, in a dashboard at rest for ever
        self._loop.add_signal_handler(signal.SIGWINCH, self._resized)
        self._send_size()
        if self._handover is None:
            self._remember()
        else:
            self.attrs_before, self._handover.taken = self._handover.modes, True
        self._enter(f"\x1b[>{_KITTY}u", alternate=self._handover is None)
        self._key_thread = NamedThread(target=self._run_input_thread, name="keys", daemon=True)
        self._key_thread.start()
        self._request_terminal_sync_mode_support()
        self._query_in_band_window_resize()
        if self._handover is not None and self._handover.stops:
            self._handover.stops = False
            self._soon(self._stop)

    def _remember(self) -> None:
        self.attrs_before = modes_of(self.fileno)

    def _enter(self, kitty: str, *, alternate: bool = True) -> None:
        wait_for_front(self.fileno)
        with suppress(termios.error):
            set_raw(self.fileno)
        words = _ALTERNATE if alternate else ""
        words += _ENTER.format(mouse=_MOUSE if self._mouse else "", kitty="" if constants.DISABLE_KITTY_KEY else kitty)
        words += "\x1b[?2048h" if self._in_band_window_resize else ""
        words += "\x1b[?1016h" if self._mouse_pixels else ""
        if self._writer is not None:
            self._writer.write(words.encode(), must=True)
        self._entered = self._unknown = True

    def _leave(self) -> None:
        if not self._entered or self._writer is None:
            return
        self._entered = False
        self._held.clear()
        self._writer.settle(_LEAVE.format(kitty="" if constants.DISABLE_KITTY_KEY else "\x1b[<u").encode(), _PATIENCE)
        with suppress(termios.error):
            termios.tcflush(self.fileno, termios.TCIFLUSH)
        if self.attrs_before is not None:
            with suppress(termios.error):
                termios.tcsetattr(self.fileno, termios.TCSANOW, self.attrs_before)

    def disable_input(self) -> None:
        """Stop reading keys."""
        if self._key_thread is None:
            return
        self._closing = True
        os.write(self._end_input, b"x")
        self._key_thread.join()
        self._key_thread = None

    def stop_application_mode(self) -> None:
        """Restore the terminal for good."""
        self.disable_input()
        self._leave()

    def close(self) -> None:
        """End the threads, and restore the signal handlers."""
        self._closing = True
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        if not self._loop.is_closed():
            self._loop.remove_signal_handler(signal.SIGWINCH)
        for number, handler in self._handlers_before.items():
            signal.signal(number, handler)
        self._closed.set()

    # Size

    def _resized(self) -> None:
        if not self._in_band_window_resize:
            self._send_size()

    def send_message(self, message: Message) -> None:
        """Hand on an event; the terminal's are bounded in number, and its size, wherever it comes from."""
        if isinstance(message, events.Resize):
            self._unknown = True  # terminals move, cut and clear lines
            size = Size(*bounded(message.size))
            message = events.Resize(size, size, pixel_size=message.pixel_size)
        if threading.current_thread() is self._key_thread and not isinstance(message, TerminalLost):
            self._backlog.put(message)
        else:
            super().send_message(message)

    def _send_size(self) -> None:
        size = Size(*self._get_terminal_size())
        self.send_message(events.Resize(size, size))

    # Job control

    @property
    def can_suspend(self) -> bool:
        """False: Textual's own way to stop is not used."""
        return False

    @staticmethod
    def suspend() -> None:
        """Stop as Ctrl+Z does in a terminal's usual modes: every process of the group, including this one."""
        os.kill(0, signal.SIGTSTP)

    def _soon(self, call: Callable[[], None]) -> None:
        """Run something between two messages; called from a signal handler."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call)

    def _stop(self) -> None:
        """Restore the terminal, stop, and take the terminal over again when continued in the foreground."""
        if self._closing or self._stopping:
            return
        self._stopping = True
        if (stop_beside := getattr(self._app, "stop_beside", None)) is not None:
            stop_beside()  # before the terminal is left, which may take seconds
        self._leave()
        handler = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        # the default action, not SIGSTOP: it does nothing in an orphaned process group, which no shell could continue
        signal.pthread_kill(threading.get_ident(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, handler)
        wait_for_front(self.fileno)
        self._remember()  # another program may have changed the terminal's modes meanwhile, and they stay
        self._enter(f"\x1b[>{_KITTY}u")
        self._stopping = False
        self._request_all()

    def _continued(self) -> None:
        """Handle SIGCONT: set the terminal's modes again, unless `_stop` does."""
        if not self._stopping:
            self._soon(self.draw_anew)

    def draw_anew(self) -> None:
        """Set the terminal's modes again and have every cell drawn, whatever the terminal shows."""
        if self._entered and not self._closing:
            # the terminal's stack of keyboard modes still holds turbotui's: the mode is set, not pushed
            self._enter(f"\x1b[={_KITTY};1u")
            self._request_all()

    def _request_all(self) -> None:
        self._send_size()
        self.send_message(Continued())

    # Input

    def run_input_thread(self) -> None:
        """Hand keys on until the program or the terminal ends."""
        poll = select.poll()
        poll.register(self.fileno, select.POLLIN)
        poll.register(self._input_ends, select.POLLIN)
        before = self._handover or Handover()
        typed = InputMessages(before.sequences)
        for event in typed.of(before.typed):
            self.process_message(event)
        empty = 0
        while True:
            wait = typed.sequences.wait
            ready = dict(poll.poll(None if wait is None else wait * 1e3 + 1))
            if self._input_ends in ready:
                break
            if self.fileno in ready:
                data, why = self._taken()
                if data:
                    empty = 0
                    for event in typed.feed(data):
                        self.process_message(event)
                elif why:
                    empty += 1
                    if ready[self.fileno] & (select.POLLHUP | select.POLLERR | select.POLLNVAL) or empty == _TRIES:
                        self._end_without_terminal(why)
                        break
                    time.sleep(_REST)
            elif not ready:
                for event in typed.expire():
                    self.process_message(event)

    def _taken(self) -> tuple[bytes, str]:
        """Typed bytes, or why nothing can be read."""
        try:
            data = os.read(self.fileno, _READ)
        except BlockingIOError:  # a process that shares the terminal made reads nonblocking, and took what there was
            return b"", ""
        except OSError as error:
            return b"", f"it cannot be read: {error.strerror}"
        return data, "" if data else "its other end was closed"
