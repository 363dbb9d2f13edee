"""Wait for slow work on another thread, while the first thread draws and handles keys."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Final, Self, TypeVar

from turbotui.dataclass import dataclass
from turbotui.errors import TerminalError, signal_status
from turbotui.machine.signal_guard import ENDING, guarded_signals
from turbotui.opening import keys as typing_keys
from turbotui.opening.picture import Line, OpeningView, help_lines, opening_lines
from turbotui.opening.readings import OpeningReading, busy
from turbotui.opening.terminal import OpeningTerminal
from turbotui.terminal.handover import Handover
from turbotui.threads import NamedThread

T = TypeVar("T")
_SOON: Final = 0.1  # seconds to the second reading, from which bars have a length
_MOST_KEYS: Final = 1000  # that are kept; nobody types as many
_LATER: Final = 1.0  # seconds between further readings
_DONE, _LEAVE, _DRAW, _STOP, _AGAIN = (bytes((number,)) for number in range(5))


class UserLeftError(Exception):
    """The user left, or the terminal is gone, before the screen was there."""

    def __init__(self, exit_status: int = 0) -> None:
        super().__init__("left before the screen was there")
        self.exit_status = exit_status


@dataclass(slots=True)
class _Outcome:
    """Result of the other thread; one of the fields is set when the thread has ended."""

    value: list[object]
    error: BaseException | None = None


class Opening:
    """The screen before the screens, for the duration of a block, after which the terminal is restored.

    `look` takes the cheap readings, None for another machine than this one; `help_text` is asked on demand.
    """

    def __init__(self, terminal: OpeningTerminal, look: Callable[[], OpeningReading] | None,
                 help_text: Callable[[], Sequence[Line]]) -> None:
        self._terminal = terminal
        self._look = look
        self._help_text = help_text
        self._help: Sequence[Line] | None = None
        self._scrolled = 0
        self._began = time.monotonic()
        self._older = self._newer = None if look is None else look()
        self._looked = self._began
        self._looks = 1
        self._doing = "starting"
        self._left_by = 0
        self.pause: Callable[[bool], None] = _nothing
        """Stops and continues a command together with this program."""
        self._sequences = terminal.handover.sequences
        self._wake, self._waker = os.pipe()
        self._open = ExitStack()

    def __enter__(self) -> Self:
        """Catch signals, take the terminal over, and draw."""
        self._open.callback(os.close, self._wake)  # work that is still running has no reader for its end
        self._open.callback(self._terminal.close)
        self._open.enter_context(guarded_signals(self._signals()))
        self._terminal.enter()
        self._draw()
        return self

    def __exit__(self, *_what: object) -> None:
        """Restore the terminal in any case, unless the driver has done so."""
        self._open.close()

    def wait_for(self, work: Callable[[], T], doing: str) -> T:
        """Run something, which may never end, on another thread while keys act, bars move and signals are handled.

        Raises:
            UserLeftError: the user left, or the terminal is gone; the thread is abandoned.
            BaseException: the exception of the work.
        """
        self._doing = doing
        self._draw()
        outcome = _Outcome([])

        def run() -> None:
            try:
                outcome.value.append(work())
            except BaseException as error:  # noqa: BLE001 - raised on the thread that waits
                outcome.error = error
            self._tell(_DONE)

        NamedThread(target=run, name="opening", daemon=True).start()
        self._take_keys_until_done()
        if outcome.error is not None:
            raise outcome.error
        value: T = outcome.value[0]  # type: ignore[assignment]
        return value

    def _tell(self, what: bytes) -> None:
        try:
            os.write(self._waker, what)
        except OSError:  # the reader has closed the pipe
            return

    def _signals(self) -> Mapping[signal.Signals, Callable[[int], None]]:
        calls = dict.fromkeys(ENDING, _LEAVE)
        calls |= {signal.SIGWINCH: _DRAW, signal.SIGTSTP: _STOP, signal.SIGCONT: _AGAIN}

        def call(what: bytes) -> Callable[[int], None]:
            return lambda number: self._signalled(what, number)

        return {number: call(what) for number, what in calls.items()}

    def _signalled(self, what: bytes, number: int) -> None:
        if what == _LEAVE:
            self._left_by = self._left_by or number
        self._terminal.handover.stops |= what == _STOP
        self._tell(what)

    def _take_keys_until_done(self) -> None:
        poll = select.poll()
        poll.register(self._terminal.keys, select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        done = False
        while not done:
            look, wait = max(0.0, self._next_look() - time.monotonic()), self._sequences.wait
            ready = dict(poll.poll((look if wait is None else min(look, wait)) * 1e3 + 1))
            if self._terminal.keys in ready:
                self._take(self._terminal.read())
            elif self._sequences.wait == 0:
                self._typed(self._sequences.expire())
            if self._wake in ready:
                done = self._take_signal(os.read(self._wake, 1))
            if time.monotonic() >= self._next_look():
                self._looked = time.monotonic()
                self._looks += 1
                if self._look is not None:
                    self._older, self._newer = self._newer, self._look()
                self._draw()

    def _take_signal(self, what: bytes) -> bool:
        """Handle a signal, and return whether the other thread has ended."""
        if what == _LEAVE:
            raise UserLeftError(signal_status(self._left_by))
        if what == _STOP:
            self._terminal.handover.stops = False
            self.pause(True)
            self._terminal.stop()
            self.pause(False)
        elif what == _AGAIN:
            self._terminal.enter_again()
        if what != _DONE:
            self._draw()
        return what == _DONE

    # Keys

    def _take(self, data: bytes) -> None:
        if not data:
            raise UserLeftError(TerminalError.exit_status)
        self._typed(self._sequences.feed(data))

    def _typed(self, units: Sequence[str]) -> None:
        for key in filter(typing_keys.is_key, units):
            if key == typing_keys.INTERRUPT:
                raise UserLeftError
            if key == typing_keys.SUSPEND:
                os.kill(0, signal.SIGTSTP)  # every process of the group, as a terminal in its usual modes does
            elif self._help is not None:
                page = max(1, self._terminal.size[1] - 2)
                by = (key in typing_keys.ON) - (key in typing_keys.BACK)
                if key in typing_keys.CLOSE:
                    self._help = None
                elif by:
                    step = page if key[-1] in "~ " else 1
                    self._scrolled = max(0, min(len(self._help) - page, self._scrolled + by * step))
            else:
                self._act(key)
        self._draw()

    def _act(self, key: str) -> None:
        kept = self._terminal.handover
        text = typing_keys.may_be_text(kept.typed)
        if not text and key in typing_keys.LEAVE:
            raise UserLeftError
        if not text and key in typing_keys.HELP:
            self._help, self._scrolled = self._help_text(), 0
        elif len(kept.typed) < _MOST_KEYS:
            kept.typed = (*kept.typed, key)

    # What is drawn

    def _next_look(self) -> float:
        return self._looked + (_SOON if self._looks == 1 else _LATER)

    def _draw(self) -> None:
        width, height = self._terminal.size
        if self._help is not None:
            self._terminal.draw(help_lines(self._help, self._scrolled, width, height))
            return
        two = self._older is not None and self._newer is not None and self._looks > 1
        moment = OpeningView(self._newer, busy(self._older, self._newer) if two else {},  # type: ignore[arg-type]
                             self._doing, time.monotonic() - self._began, bool(self._terminal.handover.typed))
        self._terminal.draw(opening_lines(moment, width, height))

    def hand_over(self) -> Handover:
        """State for the driver: an open help is requested again, after the keys that were typed before it.

        Keys typed while it is open scroll it, and are not kept; in front of the others an Escape would close it.
        """
        if self._help is not None:
            self._terminal.handover.typed = (*self._terminal.handover.typed, "?")
        return self._terminal.hand_over()

    def left_by(self) -> int:
        """The signal to end the program that came and was not handled yet; 0 for none."""
        return self._left_by


def _nothing(_stopped: bool) -> None:
    """Most dashboards have no command beside them."""
