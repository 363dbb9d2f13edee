"""Progress of long work on stderr, with what is left, and its end by a signal with what there is until then."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TextIO

from turbotui.cell_widths import cell_count, cut, flush_left
from turbotui.errors import StoppedError, signal_status
from turbotui.machine.signal_guard import EndedWork, ending_signals
from turbotui.quantities.moments import age, time_of_day

if TYPE_CHECKING:
    from turbotui.sampling.frame import Frame

_QUIET: Final = 2.0
"""Seconds of which a terminal is told nothing: most work is over by then."""
_REDRAWN: Final = 0.5
"""The least seconds between two drawings of the line on a terminal, which must not disturb what is measured."""
_PIPED: Final = 10.0
"""Seconds between two lines where stderr is no terminal."""
_SOON: Final = 1 / 50
"""Share of the work from which what is left can be told."""


class LongWork:
    """What a verb says of work that takes longer, and whether a signal has ended it.

    Args:
        verb: what is done, in one word.
        output: where to say it.
        is_terminal: whether one line is redrawn there instead of a line now and then.
        clock: seconds of a clock that goes on.

    Attributes:
        ended: the signal that ends it.
        until_ns: the end of the last frame before a signal ended the frames, in ns since 1970; 0 if none did.
    """

    def __init__(self, verb: str, output: TextIO, *, is_terminal: bool,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self.ended = EndedWork()
        self._verb, self._output, self._is_terminal, self._clock = verb, output, is_terminal, clock
        self._began = clock()
        self._last = self._began + (_QUIET - _REDRAWN if is_terminal else 0.0)
        self._drawn = 0
        self._interrupt: Callable[[], object] = lambda: None
        self.until_ns = 0

    @property
    def number(self) -> int:
        """The signal; 0 for none."""
        return self.ended.number

    @property
    def status(self) -> int:
        """The exit status of the verb: 0, or that of a signal."""
        return signal_status(self.number) if self.number else 0

    def check(self) -> None:
        """Raise StoppedError if a signal has come."""
        if self.number:
            raise StoppedError(f"{self._verb} was stopped before there was anything to keep", self.number)

    def show(self, done: float, total: float, what: str = "", *, at_once: bool = False) -> None:
        """Say how far the work is, if it is time to.

        Args:
            done: of `total`, in the same unit.
            total: of the whole work.
            what: what is being done, such as the name of a step.
            at_once: say it although the work has only begun.
        """
        now = self._clock()
        if not at_once and now - self._last < (_REDRAWN if self._is_terminal else _PIPED):
            return
        self._last = now
        share = min(1.0, done / total) if total > 0 else 0.0
        spent = now - self._began
        left = f", about {age(spent * (1 - share) / share)} left" if _SOON < share < 1.0 and spent >= 1.0 else ""
        self._say(f"turbotui: {self._verb}: {share:.0%}{left}{f' · {what}' if what else ''}")

    def interrupt(self) -> None:
        """End what the work waits for, because a signal has come."""
        self._interrupt()

    def frames(self, frames: Iterable[Frame], begin_ns: int, end_ns: int, what: str = "",
               interrupt: Callable[[], object] = lambda: None) -> Iterator[Frame]:
        """Frames of a time, until a signal comes; says how much of the time is done.

        Args:
            interrupt: ends the interval of frames that are measured meanwhile.

        Raises:
            StoppedError: a signal came before the first interval was over.
        """
        self.check()
        self._began, self._interrupt = self._clock(), interrupt
        for frame in frames:
            yield frame
            if frame.older is None:
                self.check()
            if self.number:
                self.until_ns = frame.newer.wall_ns
                return
            self.show(frame.newer.wall_ns - begin_ns, end_ns - begin_ns, what)

    @property
    def stopped(self) -> str:
        """Until when the frames were that a signal ended; "" if none did."""
        return stopped_at(self.until_ns) if self.until_ns else ""

    def _say(self, line: str) -> None:
        if not self._is_terminal:
            print(line, file=self._output, flush=True)
            return
        try:
            width = max(20, os.get_terminal_size(self._output.fileno()).columns - 1)
        except OSError:
            width = 79
        text = cut(line, width)
        room = max(cell_count(text), min(width, self._drawn))  # what was there before is written over
        self._return()
        print(flush_left(text, room), end="", file=self._output, flush=True)
        self._drawn = cell_count(text)

    def end(self) -> None:
        """Erase the line of progress from the terminal."""
        if self._drawn:
            self._return()
            print(" " * self._drawn, end="", file=self._output)
            self._return()
            self._drawn = 0

    def _return(self) -> None:
        """Go back to the line's beginning, past the guard, which marks carriage returns of a text."""
        self._output.flush()
        self._output.buffer.write(b"\r")
        self._output.flush()


def stopped_at(until_ns: int) -> str:
    """Words for work that a signal ended, of which there is everything until a time, in ns since 1970."""
    return f"stopped: whole until {time_of_day(until_ns)}, what follows is missing"


@contextmanager
def long_work(verb: str) -> Iterator[LongWork]:
    """Let a block say how far it is on stderr, and end its work by a signal; a second one ends the program there."""
    work = LongWork(verb, sys.stderr, is_terminal=sys.stderr.isatty())
    with ending_signals(work.interrupt) as work.ended:
        try:
            yield work
        finally:
            work.end()
