"""The application's screens and frames: the newest, the one paused at, one of the past; and the command beside it."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from abc import abstractmethod
from collections.abc import Callable, Coroutine, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App
from textual.await_complete import AwaitComplete
from textual.driver import Driver

from turbotui.app.base import WatchScreen
from turbotui.app.column_requests import RecentScreens
from turbotui.app.containment import Containment
from turbotui.app.failed_screen import FailedScreen
from turbotui.app.history_reader import HistoryReader
from turbotui.app.modal import Window
from turbotui.app.palette import ActionPalette
from turbotui.app.past import FoundMoment, PastEvent, TimeCursor
from turbotui.app.past_prompt import past_prompt
from turbotui.app.player import Player
from turbotui.app.prompt import Prompt
from turbotui.app.saved_views import absent_of
from turbotui.app.screen_table import SCREENS, build_screen
from turbotui.app.themes import THEMES
from turbotui.app.time_line import TimeLine
from turbotui.app.view_states import StateOrder, ViewState
from turbotui.app.watch import Watch
from turbotui.errors import SignalledError, TurbotuiError
from turbotui.feature import ScreenSpec
from turbotui.machine.signal_guard import SIGNAL_PATIENCE
from turbotui.quantities.moments import time_of_day
from turbotui.quantities.scope import RowId
from turbotui.sampling.bus import LatestItem
from turbotui.sampling.collector import loop_here, when_resting
from turbotui.sampling.frame import Frame
from turbotui.sampling.history import History
from turbotui.terminal.handover import Handover
from turbotui.widgets.profiles import Profile, Profiles

if TYPE_CHECKING:  # most users record nothing, have no alerts and run no command
    from turbotui.app.alerting import Alerting
    from turbotui.app.beside import BesideCommand

_MOST_MARKS = 500
"""Maximum number of marks on the time bar, because alerts may begin and end for days."""
_PART = 0.02
"""Seconds of a search between two checks for keys."""
_FAILED = "failed "
"""Prefix of the mode that reports a failed screen."""


class FramesApp(App[int]):
    """Shows frames on one screen at a time, each a mode that is rebuilt after a failure.

    Args:
        watched: the state that every screen shares.
        driver_class: of the terminal.
        first_screen: mode of the screen to begin with.

    Attributes:
        keeps_whole: whether Ctrl+R records, as `turbotui record` does, files, columns and rows that are not shown.
        left_by: the first signal that asked the program to end; 0 for none.
    """

    screens: ClassVar[Sequence[ScreenSpec]] = SCREENS

    def __init__(self, watched: Watch, driver_class: type[Driver], first_screen: str) -> None:
        self.handover: Handover | None = None
        super().__init__(driver_class=driver_class)
        self.watched = watched
        self._frames: LatestItem[Frame] = LatestItem(self._wake)
        self._loop_here: asyncio.AbstractEventLoop | None = None
        self._pending: Frame | None = None
        self._recent: RecentScreens[WatchScreen] = RecentScreens()
        self._work: asyncio.Task[None] | None = None  # a search in the past
        self._searched = ""  # how much of it was looked at, and as far as when
        self._playing: asyncio.Task[None] | None = None
        self.keeps_whole = False
        self._histories = HistoryReader(watched, self._history_read)
        watched.live_history.wanting = self._histories.begin
        watched.past_read = self._history_read
        self._laid_out: tuple[object, ...] = ()  # the columns and rows for which the screen was last laid out
        self.left_by = 0
        self._left_at = 0.0
        self._first_screen = first_screen
        self._state_order = StateOrder()
        self._opened = "", ""  # the screen that Enter opened, and the one to which Esc returns
        self.containment = Containment(self, self._show_failed)
        for spec in self.screens:
            self.add_mode(spec.id, partial(build_screen, spec, watched))

    # Frames as they come

    def _wake(self) -> None:
        loop = self._loop_here
        if loop is None or loop.is_closed():
            return
        # past Textual's queue: a message per frame was a tenth of the cost of showing it
        wake = partial(loop.call_soon_threadsafe, self._frame_left)
        if loop_here() is loop:
            wake()
        else:
            when_resting(wake)

    def _frame_left(self) -> None:
        if not self.is_running or self._exit:
            return
        self._contained(self.show_newest)

    def _history_read(self) -> None:
        if self.is_running and not self._exit and (self.watched.in_past or not self.watched.paused):
            self._contained(self._draw)

    def _contained(self, work: Callable[[], None]) -> None:
        with self._context():
            try:
                work()
            except Exception as error:  # noqa: BLE001 - whatever it is: here is no message loop that contains it
                self._handle_exception(error)

    def show_newest(self) -> None:
        """Keep the newest frame's history, and draw the frame on the visible screens unless the picture is held."""
        if (frame := self._frames.take()) is None:  # a newer frame took its place and has been drawn
            return
        watch = self.watched
        base = self.base
        left = () if base is None else self._recent.beside(base)
        if base is not None:
            groups = [row for screen in (base, *left) for row in screen.groups]
            watch.record(frame, dict.fromkeys(name for screen in (base, *left) for name in screen.sparks), groups)
        for screen in (() if base is None else (base, *left)):
            screen.take(frame)
        if watch.alerts is not None:
            self._alert(watch.alerts, frame)
        if watch.held:
            self._pending = frame
            if base is not None and watch.cursor is not None:
                base.show_time()
        else:
            watch.frame = frame.held or frame
            if watch.follow_spies():
                self._resumed()
            self._draw()
        if not watch.in_past:
            for screen in (() if base is None else (base, *left)):
                watch.record_shown(frame, *screen.shown)
        self._rested()

    def _alert(self, alerts: Alerting, frame: Frame) -> None:
        """Show the alerts that begin and end with the newest frame, whatever moment is shown."""
        watch = self.watched
        marks, rings = alerts.take(frame)
        if watch.cursor is not None:
            watch.cursor.marks = (*watch.cursor.marks, *marks)[-_MOST_MARKS:]
        for mark in marks:
            watch.record_mark(mark.text)
        if rings:
            self.bell()
        if watch.held and self.base is not None:
            self.base.show_alerts()

    def _rested(self) -> None:
        """Do slow work between two frames; nothing here."""

    def _draw(self) -> None:
        for screen in self.screen_stack:
            if self.containment.is_condemned(screen) or (isinstance(screen, WatchScreen) and not screen.composed):
                continue
            if isinstance(screen, WatchScreen | Window) and screen.is_mounted:
                screen.show_frame()
        self.look_at_states()  # the mouse changes a view, too

    @property
    def base(self) -> WatchScreen | None:
        screen = self.screen_stack[0] if self.screen_stack else None
        return screen if isinstance(screen, WatchScreen) else None

    @abstractmethod
    def read_wanted(self) -> None:
        """Read what the current screen and explained cells need from the next tick on."""

    def action_pause(self) -> None:
        """Hold the picture while measuring and histories continue; for a recording, play or stop."""
        watch = self.watched
        if self.watched.player is not None:
            self._play(self.watched.player)
            return
        watch.paused = not watch.paused
        if not watch.held and self._pending is not None:
            watch.frame, self._pending = self._pending.held or self._pending, None
            self._draw()
        if self.base is not None:
            self.base.show_status()

    # The past

    def _past(self) -> TimeCursor | None:
        """The moments that can be shown; if there are none, the status line says so."""
        cursor = self.watched.cursor
        if cursor is None or len(cursor.timeline.times) < 2:
            self.say("No past yet: two intervals are needed")
            return None
        return cursor

    def say(self, sentence: str) -> None:
        """Show a sentence in the status line."""
        if self.base is not None:
            self.base.notice(sentence)

    def action_past_step(self, by: int) -> None:
        """Show an earlier moment, or a later one, at which a recording then stands."""
        if (player := self.watched.player) is not None and player.playing:
            self._play(player)
        if (cursor := self._past()) is not None and cursor.step(by):
            self._show_moment(cursor)

    def action_past_now(self) -> None:
        """Return to now."""
        if (cursor := self.watched.cursor) is not None and cursor.at is not None:
            cursor.now()
            self._show_moment(cursor)

    def action_past_jump(self) -> None:
        """Ask for a time, or for a condition to look for."""
        if (cursor := self._past()) is not None:
            busy = self.watched.busy
            example = "Load%" if busy is None else busy.id
            self.push_screen(*past_prompt(cursor, self.watched.named, self._jumped, example))

    def _jumped(self, cursor: TimeCursor) -> None:
        """Handle the prompt's answer: a time, to which the cursor has moved, or a condition to look for."""
        if cursor.condition is None:
            self._show_moment(cursor)
        else:  # of a recording that is shown from its start, nothing is earlier
            self._do(self._search(cursor, -1 if cursor.index > 0 else 1, events=False))

    def action_past_event(self, by: int) -> None:
        """Show the next event, or the next moment at which the condition begins to hold."""
        if (cursor := self._past()) is not None:
            self._do(self._search(cursor, by))

    def on_time_line_pointed(self, message: TimeLine.Pointed) -> None:
        """Show the moment that the user pointed at on the bar."""
        self.go_to_time(message.time_ns)

    def go_to_time(self, time_ns: int) -> None:
        """Show the moment of a time."""
        if (cursor := self._past()) is not None:
            is_kept = time_ns >= cursor.timeline.times[0]
            if cursor.jump(time_ns):
                self._show_moment(cursor)
            if not is_kept:
                self.say("That moment is no longer kept: this is the oldest one")

    def action_past_mark(self) -> None:
        """Mark this moment."""
        if (cursor := self._past()) is not None:
            time_ns = cursor.timeline.times[cursor.index]
            mark = PastEvent(time_ns, f"Mark {1 + sum(event.text.startswith('Mark ') for event in cursor.marks)}")
            cursor.marks = (*cursor.marks, mark)
            self.say(f"{mark.text}: ( and ) lead back to it")
            if cursor.at is None:
                self.watched.record_mark(mark.text)
            if self.base is not None:
                self.base.show_time()

    def action_record(self) -> None:
        """Ask for a file and record to it from now on, or end the recording."""
        watch = self.watched
        if watch.player is not None:
            self.say("This is a recording already")
        elif watch.recorder is not None:
            recorder, watch.recorder = watch.recorder, None
            watch.read_also(recorder, (), frozenset())
            self.say(recorder.stop())
            self.read_wanted()
        else:
            from turbotui.app.live_recorder import default_path  # noqa: PLC0415 - most people record nothing

            path = default_path(watch.session.machine, time.time())
            self.push_screen(Prompt("record to", path, lambda _text: "Enter: begin, Esc: do not"), self._record_to)

    def _record_to(self, path: str | None) -> None:
        if path is None or not path.strip():
            return
        self.say(self._begin_recording(path.strip()))
        self.read_wanted()

    def _begin_recording(self, path: str) -> str:
        from turbotui.app.live_recorder import LiveRecorder  # noqa: PLC0415 - as above
        from turbotui.commands.recording import kept_columns, open_recorder, recorded_rows  # noqa: PLC0415 - as above
        from turbotui.diagnosis.memory_meter import watch_memory  # noqa: PLC0415 - as above
        from turbotui.recording.framing import RecordingError  # noqa: PLC0415 - as above
        from turbotui.recording.recorder import Recorder  # noqa: PLC0415 - as above

        watch, session = self.watched, self.watched.session
        can_look, whole = watch.judge.can_look, self.keeps_whole
        columns = kept_columns(session.catalog, session.capabilities, session.machine.topology) if whole else ()
        try:
            recorder = open_recorder(path, session.machine, None) if whole else Recorder(path, session.machine)
            watch.recorder = LiveRecorder(path, recorder, columns, looks=session.machine if can_look else None)
        except RecordingError as error:
            return str(error)
        memory = watch_memory(session.machine) if can_look else None
        counted = memory if memory is not None and memory.counts else None
        watch.read_also(watch.recorder, () if counted is None else counted.sources(),
                        frozenset() if counted is None else counted.signals(), lasting=True,
                        rows=recorded_rows() if whole else ())
        return f"Recording to {path} until Ctrl+R is pressed again"

    async def _search(self, cursor: TimeCursor, by: int, *, events: bool = True) -> None:
        """Search the past in a task beside keys and frames."""
        looked, began, moment, times = 0, time.monotonic(), None, cursor.timeline.times
        ahead = max(0, len(times) - 1 - cursor.index if by > 0 else cursor.index)
        for moment in cursor.search(by, events=events):
            looked += 1
            if moment is None and time.monotonic() - began > _PART:
                where = f"{looked:,} of {ahead:,} moments"
                at = max(0, min(len(times) - 1, cursor.index + by * looked))
                self._searched = f"{where}, as far as {time_of_day(times[at])}"
                self.say(f"Searching {'forward' if by > 0 else 'back'}: {where}; Esc stops it")
                await asyncio.sleep(0)
                began = time.monotonic()
        if isinstance(moment, FoundMoment):
            cursor.jump(moment.time_ns)
            self._show_moment(cursor)
            self.say(moment.text)
        else:
            wanted = "" if cursor.condition is None else f" where {cursor.condition.text} begins to hold"
            self.say(f"Nothing {'later' if by > 0 else 'earlier'}{wanted}: {looked:,} moments were looked at")

    @property
    def _searches(self) -> bool:
        return self._work is not None and not self._work.done()

    def _stop_search(self) -> None:
        self._do(None)
        self.say(f"The search was stopped: nothing in {self._searched}")

    # Playing

    def _play(self, player: Player) -> None:
        """Play the recording from the current moment, or stop; from its end, start again."""
        player.playing = not player.playing
        player.moved()
        if self._playing is not None:
            self._playing.cancel()
            self._playing = None
        if player.playing:
            self._playing = asyncio.get_running_loop().create_task(self._play_on(player))
        if self.base is not None:
            self.base.show_time()
            self.base.show_status()

    async def _play_on(self, player: Player) -> None:
        before = time.monotonic()
        while player.playing:
            await asyncio.sleep(player.wait())
            now = time.monotonic()
            if player.advance(now - before):
                self._show_moment(player.cursor, played=True)
            else:
                player.cursor.timeline.look_again()
                if self.base is not None:
                    self.base.show_time()
            before = now

    def step_speed(self, player: Player, by: int) -> None:
        """Play faster, or slower."""
        speed = player.step_speed(by)
        if player.playing:  # the pending wait was for the old speed
            self._play(player)
            self._play(player)
        if self.base is not None:
            self.base.show_time()
            self.base.notice(f"{speed:g} s of the recording in a second")

    # Moments

    def _show_moment(self, cursor: TimeCursor, *, played: bool = False) -> None:
        """Draw the moment of the cursor on all screens.

        Args:
            played: whether time passed; otherwise the user moved the cursor.
        """
        watch = self.watched
        if self.watched.player is not None and not played:
            self.watched.player.moved()
        frame, before = cursor.frame(), watch.frame
        if cursor.at is None:
            latest = self._pending or watch.session.latest
            watch.frame = None if latest is None else latest.held or latest
            self._pending = None
            watch.history = watch.live_history
        elif frame is None:
            self.say("This moment cannot be shown: its record is damaged, or no longer there")
            return
        else:
            watch.frame = frame
            player = watch.player
            if player is not None and watch.alerts is not None and watch.alerts.replay(frame, played=played) and (
                    player.playing and player.speed <= 1):
                self.bell()
            if watch.history is not watch.live_history and (_follows(frame, before) or _follows(before, frame)):
                watch.history.turn(frame)
            else:
                watch.history = History.until(frame, self._histories.begin)
        base = self.base
        self.set_class(watch.in_past or self._banded, "-banded")
        self.set_class(watch.in_past and self._banded, "-banded-twice")
        if base is not None and base.composed:
            self._lay_out(base)
            base.show_time()
        if base is not None and frame is not None and watch.player is not None and _follows(frame, before):
            base.take(frame)
        self._do(None)
        self._draw()
        self._histories.again()

    def _lay_out(self, base: WatchScreen) -> None:
        """Lay the screen out, which draws it once more, if the moment has other columns or rows."""
        frame = self.watched.frame
        wanted = base, self.watched.in_past, frame and frame.capabilities, frame and frame.topology
        if not self._laid_out or any(now is not before for now, before in zip(wanted, self._laid_out, strict=True)):
            self._laid_out = wanted
            base.show_columns()

    @property
    def _banded(self) -> bool:
        raise NotImplementedError

    def _do(self, work: Coroutine[Any, Any, None] | None) -> None:
        if self._work is not None:
            self._work.cancel()
        self._work = None if work is None else asyncio.get_running_loop().create_task(work)

    # Screens

    @property
    def screen_table(self) -> tuple[tuple[str, str, str], ...]:
        """Mode, key and name of every screen, for footer and help."""
        return tuple((spec.id, spec.number, spec.word) for spec in self.screens)

    def action_command_palette(self) -> None:
        """Show the palette."""
        if not any(isinstance(window, ActionPalette) for window in self.screen_stack):
            self.push_screen(ActionPalette(id="--command-palette"))

    def action_show_screen(self, name: str) -> None:
        """Show a screen by its name."""
        left, self._opened = self.current_mode, ("", "")
        self.switch_mode(name)
        if left.startswith(_FAILED):
            self.remove_mode(left)
        self.call_after_refresh(self._resumed)

    def open_screen(self, name: str) -> None:
        """Show a screen from which Esc returns to the current one."""
        before = self.current_mode
        self.action_show_screen(name)
        self._opened = name, before

    def show_row(self, name: str, row: RowId | None) -> None:
        """Open a screen by its name, with the cursor on a row."""
        self.open_screen(name)
        if (base := self.base) is not None and row is not None:
            base.point_at(row)

    def on_watch_screen_sought(self, message: WatchScreen.Sought) -> None:
        """Do on another screen what was asked of it."""
        self.open_screen(message.mode)
        if self.base is not None:
            self.base.do_when_drawn(message.task)

    def push_screen(self, screen: Any, *rest: Any, **more: Any) -> Any:
        """Open a window, unless it has failed twice."""
        return AwaitComplete() if self.containment.refuses(screen) else super().push_screen(screen, *rest, **more)

    def _show_failed(self, screen: WatchScreen, sentence: str, again: bool) -> None:
        """Have a screen rebuilt when it is next shown, unless it failed again; if it is shown, say why it is gone."""
        spec = next(spec for spec in self.screens if spec.number == screen.number)
        failed = partial(FailedScreen, self.watched, spec.number, spec.word, sentence, for_good=again)
        if spec.id == self.current_mode:
            mode = f"{_FAILED}{spec.id}"
            self.add_mode(mode, failed)
            self.switch_mode(mode)
            self.call_after_refresh(self._resumed)
        self.remove_mode(spec.id)
        self.add_mode(spec.id, failed if again else partial(build_screen, spec, self.watched))

    def _resumed(self) -> None:
        """Redraw the current screen, and read what it needs."""
        base = self.base
        if base is not None and base.composed:  # a screen that does not exist yet draws everything when it does
            base.show_columns()
            base.show_frame()
            self.look_at_states()
            self.read_wanted()

    def action_next_screen(self, by: int) -> None:
        """Show the next or previous screen."""
        base = self.base
        here = next(at for at, spec in enumerate(self.screens) if base is None or spec.number == base.number)
        self.action_show_screen(self.screens[(here + by) % len(self.screens)].id)

    def action_use_profile(self, name: str) -> None:
        """Show a saved view."""
        try:
            self._use_profile(name, Profiles(os.environ).load(name))
        except TurbotuiError as error:
            self.say(str(error))

    def _use_profile(self, name: str, profile: Profile) -> None:
        self.watched.take(profile)
        self._state_order.settle()
        if profile.theme in self.available_themes:
            self.theme = profile.theme
        absent = absent_of(profile, self.watched)
        sentence = f"profile {name}" + (f"; not on this machine: {', '.join(absent)}" if absent else "")
        known = any(profile.screen == spec.id for spec in self.screens)
        self.action_show_screen(profile.screen if known else self._first_screen)
        self.call_after_refresh(self.say, sentence)

    def action_next_theme(self) -> None:
        """Change to the next theme."""
        names = [theme.name for theme in THEMES]
        at = names.index(self.theme) if self.theme in names else -1
        self.theme = names[(at + 1) % len(names)]
        self.say(f"Theme {self.theme}")

    def action_close(self) -> None:
        """Undo the newest state of the view; Esc never quits."""
        if states := self.look_at_states():
            sentence = states[-1].ended
            try:
                states[-1].undo()
            except TurbotuiError as error:
                sentence = str(error)
            if sentence:
                self.say(sentence)

    def look_at_states(self) -> Sequence[ViewState]:
        """The states that Esc undoes, the newest last; called before each action, so that their order is known."""
        base = self.base
        order = self._state_order
        return () if base is None else order.look(
            base.number, (*self._states(), *base.states(), *order.changed(base.choices())))

    def _states(self) -> Iterator[ViewState]:
        """The states of all screens."""
        watch = self.watched
        opened, before = self._opened
        if opened == self.current_mode:
            yield ViewState("", ("screen", opened), lambda: self.action_show_screen(before))
        if watch.pointing.cpu is not None or watch.pointing.cpus:
            about = watch.pointing.cpu, watch.pointing.who
            yield ViewState("", ("pointing", *about), lambda: None if self.base is None else self.base.go_back())
        if self._searches:
            yield ViewState("", ("searching", id(self._work)), self._stop_search)
        if watch.paused:
            yield ViewState("", "paused", self.action_pause, "The picture goes on")
        if watch.cursor is not None and watch.cursor.live and watch.in_past:
            yield ViewState("", "past", self.action_past_now, "Now again")

    # The command beside it

    @abstractmethod
    def request(self, what: str) -> None:
        """Request something from another thread or a signal handler."""

    def set_beside(self, command: BesideCommand | None) -> None:
        """Run beside a command; called before the application runs."""
        self.watched.beside = self.watched.marked = command
        if command is not None:
            command.on_end = partial(self.request, "command ended")

    def request_leave(self, number: int) -> None:
        """Quit for a signal; a later one ends the program where it is, because something keeps it.

        Raises:
            SignalledError: by a later signal.
        """
        now = time.monotonic()
        if not self.left_by:
            self.left_by, self._left_at = number, now
            self.request("quit")
        elif now - self._left_at > SIGNAL_PATIENCE:
            raise SignalledError(number)

    def leaves_with_command(self) -> bool:
        """Whether the program ends with the command, which has ended; if it stays, say so."""
        command = self.watched.beside
        if command is None or not command.stays:
            return True
        if self.base is not None:
            self.base.show_summary()
        self.say(f"The command has {command.state}: q leaves with its report")
        return False

    async def action_quit(self) -> None:
        """Leave with status 0; while a command runs beside, ask what is to happen to it."""
        command = self.watched.beside
        if command is None or command.over:
            self.exit(0)
            return
        from turbotui.app.beside import LeaveWindow  # noqa: PLC0415 - most watch without a command

        self.push_screen(LeaveWindow(command), partial(self._leave, command))

    def _leave(self, command: BesideCommand, choice: str | None) -> None:
        from turbotui.app.beside import LEAVE, SIGNALS  # noqa: PLC0415 - as above

        if choice == LEAVE or (choice is not None and command.over):
            self.exit(0)
        elif choice is not None:
            command.send(SIGNALS[choice])
            self.say(f"{signal.Signals(SIGNALS[choice]).name} was sent: the report follows when the command has ended")

    def action_interrupt(self) -> None:
        """Stop a search in the past; else leave with status 0, or interrupt the command that runs beside.

        The command gets SIGINT, as its terminal would send.
        """
        if self._searches:
            self._stop_search()
            return
        command = self.watched.beside
        if command is None or command.over:
            self.exit(0)
            return
        command.send(signal.SIGINT)
        self.say("SIGINT was sent to the command: the report follows when it has ended (q: what else can be done)")

    def action_output(self) -> None:
        """Show the command's output."""
        command = self.watched.beside
        if command is None:
            self.say("No command runs beside the dashboard: turbotui -- COMMAND starts one")
            return
        from turbotui.app.beside import OutputWindow  # noqa: PLC0415 - as above

        self.push_screen(OutputWindow(command))

    def stop_beside(self) -> None:
        """Stop the command together with the program."""
        if self.watched.beside is not None:
            self.watched.beside.pause(True)

    def go_on_beside(self) -> None:
        """Continue the command together with the program."""
        if self.watched.beside is not None:
            self.watched.beside.pause(False)


def _follows(frame: Frame | None, before: Frame | None) -> bool:
    return (before is not None and frame is not None and frame.older is not None and frame.older.seq == before.newer.seq
            and frame.older.wall_ns == before.newer.wall_ns)
