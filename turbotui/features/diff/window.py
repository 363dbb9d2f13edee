"""The window of | during a comparison: columns that differ by more than chance from the minute before."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

from textual.binding import Binding, BindingType

from turbotui.app.past import Portions
from turbotui.app.text_window import TextWindow
from turbotui.app.watch import Watch
from turbotui.commands.formats import text_lines
from turbotui.features.diff.comparing import FEWEST, SIGNIFICANT, ComparedColumn, compared
from turbotui.features.diff.series import GatheredSeries, Side, SpanFacts, comparable_columns
from turbotui.features.diff.tables import DRIFTS, span_line, text_table
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.moments import NS
from turbotui.quantities.scope import Scope
from turbotui.quantities.sentences import several
from turbotui.tables.envelope import envelope_now

_BEFORE_NS: Final = 60 * NS
_SINCE_NS: Final = 600 * NS
"""Time up to the mark, and up to the shown moment, whose intervals are compared."""
_WORDS: Final = ("before", "since")


def chance_window(watch: Watch, mark_ns: int) -> ChanceWindow | str:
    """The window, or why nothing can be tested yet.

    Args:
        mark_ns: the moment with which the screen compares, in ns since 1970.
    """
    cursor, frame = watch.cursor, watch.frame
    if cursor is None or frame is None:
        return "No intervals are kept with which the test could be made"
    last_ns = frame.newer.wall_ns
    times = [time_ns for time_ns in cursor.timeline.times if time_ns <= last_ns]
    before = [time_ns for time_ns in times if mark_ns - _BEFORE_NS < time_ns <= mark_ns]
    since = [time_ns for time_ns in times if max(mark_ns, last_ns - _SINCE_NS) < time_ns]
    if min(len(before), len(since)) < FEWEST:
        return f"The test needs {FEWEST} intervals on each side of b: {len(before)} before, {len(since)} since"
    return ChanceWindow(watch, (before, since))


class ChanceWindow(TextWindow):
    """The result of the test, for which the kept frames of both sides are read, a few ms at a time.

    Args:
        times: ends of the intervals before and since the mark, in ns since 1970.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("vertical_line", "close", "close", show=False)]

    def __init__(self, watch: Watch, times: tuple[Sequence[int], Sequence[int]]) -> None:
        super().__init__(lambda width: ("by more than chance?", list(self._lines(width))))
        self._watch = watch
        self._times = times
        self._read = 0  # intervals
        self._sides: tuple[SpanFacts, ...] = ()
        self._compared: Sequence[ComparedColumn] | None = None  # None until all are read

    def on_mount(self) -> None:
        """Begin to read; Textual calls on_mount of the base class by itself."""
        self.run_worker(self._read_both())

    async def _read_both(self) -> None:
        watch, portions = self._watch, Portions()
        columns = comparable_columns(dict.fromkeys((*watch.columns, *watch.headline)))
        usual = 0.0 if watch.frame is None else watch.frame.seconds or 0.0
        both = tuple(GatheredSeries(columns, Scope.SYSTEM, usual) for _ in self._times)
        for gathered, times in zip(both, self._times, strict=True):
            for time_ns in times:
                frame = watch.frame_at(time_ns)
                if frame is not None:
                    gathered.take(frame)
                self._read += 1
                await portions.rest()
        self._sides = tuple(SpanFacts(
            f"{word} b", watch.session.machine.host.name, (), {}, min(gathered.ends, default=times[0]),
            max(gathered.ends, default=times[-1]), len(gathered.lengths), usual, gathered.left_out)
            for word, gathered, times in zip(_WORDS, both, self._times, strict=True))
        first, second = (Side(number, facts, gathered.by_key)
                         for number, (facts, gathered) in enumerate(zip(self._sides, both, strict=True)))
        self._compared = compared(first, second)
        self.show_frame()

    def _lines(self, width: int) -> Iterator[str]:
        if self._compared is None:
            yield f"Reading {self._read} of {sum(map(len, self._times))} intervals"
            return
        for letter, facts in zip("AB", self._sides, strict=True):
            left_out = f", {facts.left_out} of another length left out" if facts.left_out else ""
            yield from textwrap.wrap(span_line(letter, facts) + left_out, width, subsequent_indent="   ")
        able = [column for column in self._compared if column.p is not None]
        differing = [column for column in able if column.differs]
        drifting = [column for column in self._compared if column.p is None and column.size == "large"]
        yield ""
        yield from textwrap.wrap(f"{len(differing)} of {several(len(able), 'column')} of the machine "
                                 f"{'differs' if len(differing) == 1 else 'differ'} by more than chance (p < "
                                 f"{SIGNIFICANT} among all of them)" if able else "No column can be tested yet", width)
        if differing or drifting:
            yield ""
            yield from text_lines(envelope_now(self._watch.session.machine.host),
                                  text_table([*differing, *drifting], verdicts=False), room=width,
                                  way="y copies them, too")
            yield from textwrap.wrap("A, B: medians; IQR: width of the middle half; effect: -1 all lower, +1 higher",
                                     width)
        if drifting:
            yield from textwrap.wrap(f"{DRIFTS}: so few independent values that it may be chance; wait, and try again",
                                     width)
        unable = lists_by_key(("unknown" if column.why is None else column.why.detail, column.column.id)
                              for column in self._compared if column.p is None and column not in drifting)
        if unable:
            yield ""
        for why, names in unable.items():
            yield from textwrap.wrap(f"not tested: {', '.join(names)}: {why}", width, subsequent_indent="  ")
