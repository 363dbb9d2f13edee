"""The base of full screens: banner, summary, the screen's own body, status line and keys."""

from __future__ import annotations

import textwrap
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from operator import methodcaller
from typing import Any, ClassVar, Final, cast

from textual import events
from textual.app import ComposeResult
from textual.message import Message
from textual.widget import Widget

from turbotui.app import scales
from turbotui.app.actions import actions_of
from turbotui.app.elsewhere import OtherScreens, SearchAnswer
from turbotui.app.footer import ScreenTab, footer
from turbotui.app.modal import Window
from turbotui.app.scales import gauges_of
from turbotui.app.sessions import has_banner
from turbotui.app.tcc import tcc_flag
from turbotui.app.time_line import TimeLine
from turbotui.app.view_states import ViewChoice, ViewState
from turbotui.app.watch import Watch
from turbotui.cell_widths import cell_count, centred, cut, flush_left
from turbotui.dataclass import dataclass
from turbotui.feature import EVERYWHERE, part
from turbotui.machine.host import HostKind
from turbotui.machine.view import CONTAINER_NUMBERS
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope
from turbotui.quantities.sentences import as_sentence, several
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.frame import Frame
from turbotui.widgets.cells import StyleRole, cut_words
from turbotui.widgets.comparison import MarkedMoment, difference, difference_text, marked_moment
from turbotui.widgets.direct_screen import DirectScreen, forget_drawn_lines
from turbotui.widgets.painter import TextSegment
from turbotui.widgets.segment_lines import ClickableSegment, SegmentLines
from turbotui.widgets.summary import Place, gauge_line, place_line, remote_banner, short_model

SMALLEST = (40, 10)
"""Minimum size of a screen; below it one sentence is shown instead."""


_OF_CPUS: Final = "cpus"
"""The screen with the catalog's columns, and the place of its keys."""
_REFERENCE_NS: Final = 60_000_000_000
"""Length of the time with which `b` compares."""
_ROOM: Final = 10
"""Characters of a difference in the line of a comparison."""


def _of_column(name: str, why: Unavailable | None, go: Callable[[], None]) -> SearchAnswer:
    """What a search says of a column that is not shown."""
    if why is None:
        return SearchAnswer(f"{name} is not shown", key="lists the columns", go=go)
    return SearchAnswer(f"{name} is not here", why.sentence(), "says why", go)


class WatchScreen(DirectScreen, inherit_bindings=False):
    """A screen that shows frames of the watched machine.

    No widget on it takes the focus, so Textual's keys of every screen (Tab to move the focus, Ctrl+C to copy) are not
    inherited, because they would hide the app's actions on the same keys.
    """

    where: str = EVERYWHERE  # whose keys it has
    number: str = ""
    word: str = ""  # its name in the footer
    # the footer's word for Enter, where the cursor is on something that Enter opens; "" where it never is
    opens: ClassVar[str] = ""
    chooses: ClassVar[bool] = False  # whether the footer has names of other screens before keys of rank 2

    class LaidOut(Message):
        """The screen was laid out for another size."""

    DEFAULT_CSS = """
    WatchScreen { background: $background; layers: base over; }
    WatchScreen #banner { dock: top; }
    WatchScreen #beside { height: 1; }
    WatchScreen #time { display: none; }
    WatchScreen.-past #time { display: block; }
    WatchScreen #summary { height: 2; }
    WatchScreen #alert, WatchScreen #compared { display: none; }
    WatchScreen.-alert #alert { display: block; }
    WatchScreen #tiny { display: none; height: 1fr; }
    WatchScreen.-tiny #tiny { display: block; }
    WatchScreen.-tiny .body, WatchScreen.-tiny #summary, WatchScreen.-tiny #status, WatchScreen.-tiny #keys,
    WatchScreen.-tiny #banner, WatchScreen.-tiny #compared,
    WatchScreen.-tiny #time, WatchScreen.-tiny #beside { display: none; }
    """

    @dataclass()
    class Sought(Message):
        """Another screen, which is named by its mode, is to do something as soon as it shows numbers."""

        mode: str
        task: Callable[[WatchScreen], object]

    def __init__(self, watch: Watch) -> None:
        super().__init__()
        self.watch_state = watch
        self.noticed = self._noticed_empty = ""
        self._is_quiet = False
        self._query = ""  # of the last search
        self._asked_for: Callable[[WatchScreen], object] | None = None  # what another screen asks of this one
        self._others: OtherScreens | None = None
        self._back: Callable[[], None] | None = None  # undoes the last search; None if none is to be undone
        self._is_composed = False
        self._banner: SegmentLines | None = None
        self._keys_fit = -1  # the width for which the footer was drawn

    @abstractmethod
    def body(self) -> Iterable[Widget]:
        """The widgets between summary and status line."""

    def compose(self) -> ComposeResult:
        """Lay out banner (unless the machine is real and read here), summary, body, status line and keys."""
        if has_banner(self.watch_state.session):
            self._banner = SegmentLines(base=StyleRole.BANNER, id="banner")
            yield self._banner
        yield TimeLine(id="time")
        if self.watch_state.beside is not None:
            yield SegmentLines(id="beside")
        yield SegmentLines(id="summary")
        if self.watch_state.alerts is not None:
            yield SegmentLines(id="alert")
        yield SegmentLines(base=StyleRole.CELL, id="compared")
        for widget in self.body():
            widget.add_class("body")
            yield widget
        yield SegmentLines(id="status")
        yield SegmentLines(id="keys")
        yield SegmentLines(id="tiny")

    # Called by the app

    def show_frame(self) -> None:
        """Show the watch's current frame.

        Called for every frame while this screen is on top or under a window.
        """
        self.show_summary()
        if self._asked_for is not None:
            self.call_after_refresh(self._do_asked_for)

    def take(self, frame: Frame) -> None:
        """Process a new frame, whether or not the screen draws it, and keep what is needed later.

        Called for every frame while this screen is on top or under a window, also while the picture is paused, and for
        some minutes after the user left the screen.
        """

    def show_columns(self) -> None:
        """Lay the screen out for its size and the chosen columns."""

    @property
    def sparks(self) -> Iterable[str]:
        """Columns whose history is needed for all rows."""
        return scales.sparks(self.watch_state, self.size.width)

    @property
    def groups(self) -> Sequence[RowId]:
        """Rows of groups that have sparklines."""
        return ()

    @property
    def shown(self) -> tuple[Sequence[CounterColumn], Sequence[RowId]]:
        """Visible columns and rows."""
        return (), ()

    @property
    def wanted(self) -> Sequence[CounterColumn]:
        """Columns that have to be read for this screen."""
        return self.watch_state.columns

    def read_beside(self) -> None:
        """Read what this screen needs beside columns; by default nothing."""
        self.watch_state.read_also(self, (), frozenset())

    def point_at(self, _row: RowId) -> None:
        """Put the cursor on a row as soon as the row is drawn; does nothing on screens without rows."""

    def open_chosen(self) -> bool:
        """Open the item under the cursor; returns false if there is nothing to open, as on most screens."""
        return False

    def states(self) -> Iterator[ViewState]:
        """What is on and Esc would undo, beside what all screens share."""
        if self.shared_mark is not None:
            yield ViewState("", ("comparison", self.shared_mark.seq), self._end_shared)
        if self._back is not None:
            yield ViewState(self.number, ("search", self._query), self._end_search, "Back to where the search began")

    def choices(self) -> Iterator[ViewChoice[Any]]:
        """What the view always has in some way, and Esc puts back to what it was at first."""
        yield from ()

    # Comparison

    @property
    def shared_mark(self) -> MarkedMoment | None:
        """The moment with which numbers of CPUs, packages and the machine are compared, the same for all screens."""
        return None if self.watch_state.mark is None else marked_moment(self.watch_state.mark)

    @property
    def marked(self) -> MarkedMoment | None:
        """The moment with which this screen compares."""
        return self.shared_mark

    def compare(self, *, begin: bool) -> None:
        """Compare with the minute up to what is shown now from now on, or show values again."""
        self.watch_state.mark = self.last_minute() if begin else None

    def last_minute(self, *, whole: bool = False) -> Frame | None:
        """One frame of the intervals that ended within the minute before the shown moment, as far as they are kept.

        Args:
            whole: leave out those in which something was not read yet that is read now.
        """
        kept = list(self.minute())
        if whole and kept:
            read = kept[-1].newer.values.keys()
            kept = [frame for frame in kept if frame.older is not None and read <= frame.older.values.keys()]
        if not kept:
            return self.watch_state.frame
        from turbotui.recording.averages import averaged  # noqa: PLC0415 - most never compare

        return averaged(kept)

    def minute(self) -> Iterator[Frame]:
        """The kept frames that ended within the minute before the shown moment, oldest first."""
        frame, cursor = self.watch_state.frame, self.watch_state.cursor
        if frame is not None and cursor is not None:
            end = frame.newer.wall_ns
            times = [time_ns for time_ns in cursor.timeline.times if end - _REFERENCE_NS < time_ns <= end]
            yield from filter(None, map(cursor.timeline.frame, times))

    def action_mark(self) -> None:
        """Compare with what is shown now, or show values again."""
        begin = self.marked is None
        if begin and (self.watch_state.frame is None or self.watch_state.frame.older is None):
            self.notice("Nothing to compare with yet: the first interval is not over")
            return
        self.compare(begin=begin)
        self.show_mark()
        which = "Cells are differences" if self.shows_differences else "Differences of the machine stand above"
        self.notice(f"{which} from this moment on; Esc ends it" if begin else "Values again")

    def action_compared_window(self, reference: str) -> None:
        """Open the window that a feature's function makes of the compared moment, or say why there is none."""
        mark = self.marked or self.shared_mark
        if mark is None:
            self.notice("Nothing is compared: b compares with the minute up to now")
            return
        window = cast("Callable[[Watch, int], Window[None] | str]", part(reference))(self.watch_state, mark.wall_ns)
        if isinstance(window, str):
            self.notice(window)
        else:
            self.app.push_screen(window)

    def _end_shared(self) -> None:
        self.watch_state.mark = None
        self.show_columns()
        self.show_frame()
        self.notice("Values again")

    def show_mark(self) -> None:
        """Show what is compared with what, and on screens without a table by how much the machine's numbers differ."""
        if not self.composed:
            return
        mark, frame = self.marked or self.shared_mark, self.watch_state.frame
        line = self.query_one("#compared", SegmentLines)
        line.display = mark is not None
        if mark is not None:
            keys = next((f"{action.shown} tests them" for action in actions_of(self.app) if action.id == "chance"
                         and self.where in action.where), "")
            text = self._compared_line(mark, frame, keys)
            text = centred(cut(text, self.size.width), self.size.width)
            # Esc ends the newest state, and the words about it on this line, as all but the test's, the comparison
            before, test, after = text.partition(keys or " ")
            line.show([[(text, StyleRole.CELL)]], [
                ClickableSegment(0, 0, len(before), "mark"),
                ClickableSegment(0, len(before) + len(test), len(before) + len(test) + len(after), "mark")])

    @property
    def shows_differences(self) -> bool:
        """Whether the numbers of this screen are differences during a comparison."""
        return False

    def _compared_line(self, mark: MarkedMoment, now: Frame | None, keys: str) -> str:
        """What is compared with what; on a screen without differences of its own, by how much the machine's differ.

        Args:
            keys: the words about the test's key; "" where it does not work.
        """
        then = self.watch_state.mark
        unlike = () if now is None or then is None or self.shows_differences else (
            (column, difference(column, now.cell(column, SYSTEM_ROW), then.cell(column, SYSTEM_ROW)))
            for column in self.watch_state.headline)
        numbers = [f"{column.id} {difference_text(column, value, _ROOM).strip()}" for column, value in unlike]
        first = f"{'DIFFERENCES FROM' if self.shows_differences else 'COMPARED WITH'} {mark.words}"
        ends = [keys, "Esc ends it"] if keys else ["Esc ends it"]
        while cell_count(" · ".join((first, *numbers, *ends))) > self.size.width and (numbers or len(ends) > 1):
            del (numbers or ends)[-1 if numbers else 0]
        return " · ".join((first, *numbers, *ends))

    # Search

    def find(self, text: str, *, after: bool = False) -> bool:
        """Go to the first match from the cursor on (with `after`: behind it), wrapping around; false for none.

        A screen with rows, CPUs, panels or lines finds them by name.
        """
        del text, after
        return False

    def way_back(self) -> Callable[[], None]:
        """Return a function that puts the cursor back to its current place."""
        return lambda: None

    def action_search(self) -> None:
        """Search while the user types; Enter keeps the place, Esc goes back."""
        from turbotui.app.prompt import Prompt  # noqa: PLC0415 - the first screen loads what it draws

        back = self.way_back()
        answer: SearchAnswer | None = None

        def typed(text: str) -> str:
            nonlocal answer
            self._query = text
            answer = None if not text or self.find(text) else self._unmatched(text)
            if not text or answer is not None:
                back()  # letters before had moved the cursor
            return "" if answer is None else answer.offer

        def done(text: str | None) -> None:
            if text is None:
                back()
            elif answer is not None and answer.go is not None:
                answer.go()
            elif answer is not None:
                self.notice(answer.sentence)
            elif text:
                self._back = back

        self.app.push_screen(Prompt("find", "", typed), done)

    def do_when_drawn(self, task: Callable[[WatchScreen], object]) -> None:
        """Do something as soon as numbers are drawn."""
        self._asked_for = task
        self.call_after_refresh(self._do_asked_for)

    def _do_asked_for(self) -> None:
        if self._asked_for is not None and self.composed and self.can_find:
            task, self._asked_for = self._asked_for, None
            task(self)

    def seek(self, text: str) -> None:
        """Put the cursor on what a text finds, or list the columns of that name."""
        self._query = text
        if text and not self.find(text):
            self.list_columns(text)

    def action_category_of_cpus(self) -> None:
        """Show and hide groups of columns in the table of CPUs."""
        self.post_message(self.Sought(_OF_CPUS, methodcaller("action_category")))

    @property
    def can_find(self) -> bool:
        """Whether there is something in which a text can be found."""
        return self.watch_state.frame is not None

    def hidden_column(self, text: str) -> tuple[str, Unavailable | None] | None:
        """The column of that name, in any case, of the screen's own table, and why it is not here."""
        column = self.watch_state.known(text) if self.where == _OF_CPUS else None
        return None if column is None else (column.id, self.watch_state.why_absent(column))

    def list_columns(self, text: str) -> None:
        """Open the list of columns with a text typed; a screen without columns says that it has none."""
        self.notice(f"{text} is not on this screen")

    def _end_search(self) -> None:
        """Put the cursor back to its place before the search."""
        back, self._back = self._back, None
        if back is not None:
            back()

    def _unmatched(self, text: str) -> SearchAnswer:
        """What to say of a text that matches nothing: a column that is not shown, or a name on another screen."""
        watch = self.watch_state
        if (hidden := self.hidden_column(text)) is not None:
            return _of_column(*hidden, partial(self.list_columns, text))
        others, column = self._other_screens(), watch.known(text)
        if column is not None and others.named(_OF_CPUS):
            why, go = watch.why_absent(column), partial(self.seek_on, _OF_CPUS, text)
            return (SearchAnswer(f"{column.id} is on another screen", key="goes to it", go=go) if why is None
                    else _of_column(column.id, why, go))
        if not (fitting := others.find(text)):
            return SearchAnswer(f"Nothing matches {text}")
        name, spec = fitting[0]
        if name == spec.word:
            go = partial(self.seek_on, spec.id, "")
            return SearchAnswer(f"{name} is screen {spec.number}", key="goes there", go=go)
        about = f"{name.partition(': ')[0]} is on screen {spec.number}, {spec.word}"
        return SearchAnswer(about, key="goes there", go=partial(self.seek_on, spec.id, text))

    def _other_screens(self) -> OtherScreens:
        if self._others is None:
            screens = getattr(self.app, "screens", ())
            self._others = OtherScreens(self.watch_state.session, screens, self.number)
        return self._others

    def named_elsewhere(self, text: str) -> Iterator[tuple[str, str, str]]:
        """Columns and what other screens show that contain a text: a name, where it is or why not, and the mode."""
        watch, wanted = self.watch_state, text.strip().lower()
        others = self._other_screens()
        for column in watch.session.catalog.columns if others.named(_OF_CPUS) or self.where == _OF_CPUS else ():
            if wanted and wanted in column.id.lower():
                why = watch.why_absent(column)
                where = column.help if why is None else f"not here: {why.sentence()}"
                yield column.id, f"column of the CPUs · {where}", _OF_CPUS
        for name, spec in others.find(text):
            if name != spec.word:
                yield name.partition(": ")[0], f"on screen {spec.number}, {spec.word}", spec.id

    def seek_on(self, mode: str, text: str) -> None:
        """Look for a text on another screen."""
        self.post_message(self.Sought(mode, methodcaller("seek", text)))

    def action_search_next(self) -> None:
        """Go to the next match of the last search."""
        if not self._query:
            self.notice("Nothing was searched yet: / finds as you type")
        elif not self.find(self._query, after=True):
            self.notice(self._unmatched(self._query).sentence)

    # Texts

    def show_time(self) -> None:
        """Draw the time bar, which is shown during a moment of the past."""
        if not self.composed:
            return
        cursor = self.watch_state.cursor
        self.set_class(cursor is not None and cursor.at is not None, "-past")
        if cursor is not None and cursor.at is not None:
            latest = self.watch_state.session.latest
            self.query_one("#time", TimeLine).show_moment(cursor, latest, self.size.width, self.watch_state.play_state)

    def show_summary(self) -> None:
        """Draw both lines on top, and the banner."""
        if not self.composed:
            return
        watch = self.watch_state
        width = self.size.width
        self._show_banner(width)
        if (command := self.watch_state.beside) is not None:
            from turbotui.app.beside import beside_line  # noqa: PLC0415 - most watch without a command

            key = next((action.shown for action in actions_of(self.app) if action.id == "output"), "")
            self.query_one("#beside", SegmentLines).show([beside_line(command, width, key.partition(" ")[0])])
        self.show_mark()
        machine, frame = watch.session.machine, watch.frame
        topology = machine.topology if frame is None else frame.topology
        packages = len(topology.instances(Scope.PACKAGE))
        model = short_model(machine.model.name)
        cores, cpus = len(topology.instances(Scope.CORE)), len(topology.cpus)
        cost = watch.session.own_cost()
        place = Place(
            name=machine.host.name,
            model=f"{packages} x {model}" if packages > 1 and model else model,
            counts=several(cpus, "CPU") if cores == cpus else f"{several(cores, 'core')} · {several(cpus, 'CPU')}",
            kernel=f"Linux {watch.kernel}" if watch.kernel else "",
            interval=None if frame is None else frame.seconds,
            own_percent=cost.cpu_percent,
            own_bytes=cost.rss_bytes,
            sample_ms=cost.sample_ms if frame is not None else None,
        )
        lines = [place_line(place, width), self.second_line(width)]
        self.query_one("#summary", SegmentLines).show(lines, self.clicks_of(lines[1]))
        self.show_alerts()
        if width != self._keys_fit:  # the class of the screen determines the keys
            self._keys_fit = width
            self.show_keys()

    def show_alerts(self) -> None:
        """Draw the line about alerts, which is shown while an alert lasts."""
        if (alerts := self.watch_state.alerts) is not None and self.composed:
            line = alerts.line(self.size.width)
            self.set_class(bool(line), "-alert")
            self.query_one("#alert", SegmentLines).show([line])

    def second_line(self, width: int) -> list[TextSegment]:
        """The line below the machine's: gauges of the whole machine."""
        frame = self.watch_state.frame
        return gauge_line(gauges_of(self.watch_state), width, 0 if frame is None else frame.seq)

    def clicks_of(self, _second: list[TextSegment]) -> Sequence[ClickableSegment]:
        """What clicks on the second line do; nothing, unless it has a key."""
        return ()

    def show_trouble(self) -> None:
        """Draw the banner that says that no frames arrive."""
        self._show_banner(self.size.width)
        self.show_status()

    def _show_banner(self, width: int) -> None:
        if self._banner is not None:
            self._banner.show([[(self._banner_text(width), StyleRole.BANNER)]])

    def _banner_text(self, width: int) -> str:
        session = self.watch_state.session
        host = session.machine.host
        if (collector := session.collector) is not None:
            return remote_banner(host.kind, host.name, collector.way, collector.trouble, width)
        word = host.kind.value
        long = f"{word} machine {host.name}: no number on this screen was measured"
        if host.kind is HostKind.REAL:
            word, long = "container", f"container {host.name}: {CONTAINER_NUMBERS}, not the machine's"
        if host.kind is HostKind.RECORDED:
            player = self.watch_state.player
            beside = "" if player is None or not player.command else f", beside {player.command}"
            earlier = ": these numbers are of an earlier time"
            long = f"{word} on {host.name}{cut(beside, max(0, width - len(word + host.name + earlier) - 6))}{earlier}"
        return centred(long if len(long) + 2 <= width else f"{word} {host.name}", width)

    def show_keys(self) -> None:
        """Draw the footer: keys by rank, and the screens at the right."""
        if not self.composed:
            return
        here = {EVERYWHERE, self.where}
        usable = [action for action in actions_of(self.app) if action.label and not here.isdisjoint(action.where)]
        if (kept := self.keys_without_table) is not None:
            usable = [action for action in usable if EVERYWHERE in action.where or action.id in kept]
        elif self.opens:
            usable = [replace(action, label=self.opens, rank=2) if action.id == "open" else action for action in usable]
        screens: Sequence[ScreenTab] = getattr(self.app, "screen_table", ())
        self.query_one("#keys", SegmentLines).show(*footer(usable, screens, self.number, self.size.width,
                                                           chooses=self.chooses))

    @property
    def keys_without_table(self) -> Collection[str] | None:
        """Ids of the screen's own actions that work without a table; None if the screen has one."""
        return None

    @property
    def nothing_here(self) -> str:
        """Why the keys of this screen have nothing to act on; "" if they have."""
        return ""

    def waiting_for(self, what: str) -> str:
        """The text while nothing can be shown; a paused picture waits for a key."""
        return f"Paused before {what}: space goes on" if self.watch_state.paused else f"Waiting for {what}"

    def notice(self, text: str, *, quiet: bool = False) -> None:
        """Show a sentence on the status line until the next key or frame with something else to say.

        Args:
            quiet: whether it is dim, like the usual text there.
        """
        self.noticed = as_sentence(text)
        self._is_quiet = quiet
        self.show_status()

    def notice_nothing_here(self) -> None:
        """Say that a key has nothing to act on, until there is something."""
        self.notice(self.nothing_here)
        self._noticed_empty = self.noticed

    def show_status(self) -> None:
        """Draw the status line."""
        if not self.composed:
            return
        if self._noticed_empty and self.noticed == self._noticed_empty and not self.nothing_here:
            self.noticed = self._noticed_empty = ""
        left = f" {self.noticed}" if self.noticed else f" {self.readout()}"
        flags = self.flags()
        right = "  ".join(flags) + " " if flags else ""
        room = self.size.width - len(right) - 1
        role = StyleRole.KEY if self.noticed and not self._is_quiet else StyleRole.DIM
        text = cut_words(left, room)
        self.query_one("#status", SegmentLines).show([[(flush_left(text, room + 1), role), (right, StyleRole.AMBER)]])

    def readout(self) -> str:
        """Text of the status line without a notice."""
        return ""

    def copied(self) -> str:
        """Text that `y` copies: the cell under the cursor with its column, row and unit; "" for none."""
        return ""

    def flags(self) -> list[str]:
        """Words at the right of the status line for states that must not be overlooked."""
        watch = self.watch_state
        states = ["PAST" if watch.in_past and not watch.play_state else "",
                  "PAUSED (Esc: go on)" if watch.paused else "",
                  f"found {self._query} (n: next, Esc: back)" if self._back is not None else ""]
        if watch.session.collector is not None:
            states += watch.session.collector.remarks
        recorder = "" if watch.recorder is None else watch.recorder.flag
        flags = [recorder, *states, watch.late_flag(), tcc_flag(watch.session), watch.spy_flag()]
        return [flag for flag in flags if flag]

    # Events

    async def on_segment_lines_key_clicked(self, message: SegmentLines.KeyClicked) -> None:
        """Do what the key does that the clicked words name."""
        named = message.key if len(message.key) == 1 else message.key.lower()  # ctrl+r is written Ctrl+R, too
        for action in actions_of(self.app):
            words = action.shown.split() if len(named) == 1 else action.shown.lower().split()
            if named in words and not {EVERYWHERE, self.where}.isdisjoint(action.where):
                namespace = self.app if EVERYWHERE in action.where else self
                await self.app.run_action(action.call, default_namespace=namespace)
                return

    def on_key(self) -> None:
        """Drop the notice on the status line when a key is pressed."""
        self.noticed = ""

    def on_resize(self, event: events.Resize) -> None:
        """Show one sentence when nothing else fits."""
        if not self.composed:
            return
        width, height = event.size
        tiny = width < SMALLEST[0] or height < SMALLEST[1]
        self.set_class(tiny, "-tiny")
        if tiny:
            text = f"{width}x{height} is too small: {SMALLEST[0]}x{SMALLEST[1]} is needed"
            lines = textwrap.wrap(text, max(1, width))
            self.query_one("#tiny", SegmentLines).show([[(line, StyleRole.PLAIN)] for line in lines])
        self.show_columns()
        self.show_time()
        self.show_summary()
        self.show_status()
        self.post_message(self.LaidOut())

    @property
    def composed(self) -> bool:
        """Whether the widgets exist; on a first visit Textual resumes a screen before it is composed."""
        if not self._is_composed:  # asked for often: a tick of the overview takes 7 % more if each time is a query
            self._is_composed = bool(self.query("#tiny"))
        return self._is_composed

    def on_mount(self) -> None:
        """Draw what arrived before the widgets existed."""
        self.on_screen_resume()

    def go_to(self, screen: str) -> None:
        """Show a screen by its name."""
        self.app.call_later(self.app.run_action, f"app.show_screen({screen!r})")

    def go_back(self) -> None:
        """Stop pointing at a CPU or task, and return to the screen on which that began."""
        if back := self.watch_state.pointing.clear():
            self.show_frame()
            self.go_to(back)

    def let_go(self) -> None:
        """Release what the next drawing makes again, of which a frame alone may take megabytes."""
        forget_drawn_lines(self)

    def on_screen_suspend(self) -> None:
        """Let go when another screen is shown; a window over this screen does not count."""
        if self not in self.app.screen_stack:
            self.let_go()

    def on_screen_resume(self) -> None:
        """Take the newest frame, because a hidden screen gets none."""
        if not self.composed:
            return
        if self.watch_state.frame is not None:
            self.show_frame()
        else:
            self.show_summary()
