"""The part of the application that shows frames: the newest, the one paused at, or one of the past."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.driver import Driver

from turbotui.app.base import WatchScreen
from turbotui.app.column_requests import RecentScreens
from turbotui.app.containment import Containment
from turbotui.app.history_reader import HistoryReader
from turbotui.app.modal import Window
from turbotui.app.past import FoundMoment, PastEvent, TimeCursor
from turbotui.app.past_prompt import past_prompt
from turbotui.app.player import Player
from turbotui.app.prompt import Prompt
from turbotui.app.time_line import TimeLine
from turbotui.app.watch import Watch
from turbotui.sampling.bus import LatestItem
from turbotui.sampling.collector import loop_here, when_resting
from turbotui.sampling.frame import Frame
from turbotui.sampling.history import History
from turbotui.terminal.handover import Handover

if TYPE_CHECKING:  # most users record nothing and have no alerts
    from turbotui.app.alerting import Alerting
    from turbotui.app.live_recorder import KeptColumns
    from turbotui.machine.machine import Machine
    from turbotui.recording.recorder import FrameRecorder

_MOST_MARKS = 500
"""Maximum number of marks on the time bar, because alerts may begin and end for days."""
_PART = 0.02
"""Seconds of a search between two checks for keys."""


class FramesApp(App[int]):
    """Shows frames on the visible screens.

    Attributes:
        open_recorder: opens a file to record to; None for a recording of the readings alone.
        kept_columns: returns the columns that are recorded whatever is shown; None for none.
    """

    containment: Containment

    def __init__(self, watched: Watch, driver_class: type[Driver]) -> None:
        self.handover: Handover | None = None
        super().__init__(driver_class=driver_class)
        self.watched = watched
        self._frames: LatestItem[Frame] = LatestItem(self._wake)
        self._loop_here: asyncio.AbstractEventLoop | None = None
        self._pending: Frame | None = None
        self._recent: RecentScreens[WatchScreen] = RecentScreens()
        self._work: asyncio.Task[None] | None = None
        self._playing: asyncio.Task[None] | None = None
        self.open_recorder: Callable[[str, Machine], FrameRecorder] | None = None
        self.kept_columns: KeptColumns | None = None
        self._histories = HistoryReader(watched, self._history_read)
        watched.live_history.wanting = self._histories.begin
        self._laid_out: tuple[object, ...] = ()  # the columns and rows for which the screen was last laid out

    # Frames as they come

    def _wake(self) -> None:
        loop = self._loop_here
        if loop is None or loop.is_closed():
            return
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
        frame = self._frames.take()
        if frame is None:  # a newer frame took its place and has been drawn
            return
        watch = self.watched
        base = self._base
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
        if watch.recorder is not None:
            for mark in marks:
                watch.recorder.mark(mark.text)
        if rings:
            self.bell()
        if watch.held and self._base is not None:
            self._base.show_alerts()

    def _rested(self) -> None:
        """Do slow work between two frames; nothing here."""

    def _draw(self) -> None:
        for screen in self.screen_stack:
            if self.containment.is_condemned(screen) or (isinstance(screen, WatchScreen) and not screen.composed):
                continue
            if isinstance(screen, WatchScreen | Window) and screen.is_mounted:
                screen.show_frame()

    @property
    def _base(self) -> WatchScreen | None:
        screen = self.screen_stack[0] if self.screen_stack else None
        return screen if isinstance(screen, WatchScreen) else None

    def _resumed(self) -> None:
        raise NotImplementedError

    def read_wanted(self) -> None:
        """Read what the current screen and explained cells need from the next tick on."""
        raise NotImplementedError

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
        if self._base is not None:
            self._base.show_status()

    # The past

    def _past(self) -> TimeCursor | None:
        """The moments that can be shown; if there are none, the status line says so."""
        cursor = self.watched.cursor
        if cursor is None or len(cursor.timeline.times) < 2:
            self._say("No past yet: two intervals are needed")
            return None
        return cursor

    def _say(self, sentence: str) -> None:
        if self._base is not None:
            self._base.notice(sentence)

    def action_past_step(self, by: int) -> None:
        """Show an earlier moment, or a later one."""
        cursor = self._past()
        if cursor is not None and cursor.step(by):
            self._show_moment(cursor)

    def action_past_now(self) -> None:
        """Return to now."""
        cursor = self.watched.cursor
        if cursor is not None and cursor.at is not None:
            cursor.now()
            self._show_moment(cursor)

    def action_past_jump(self) -> None:
        """Ask for a time, or for a condition to look for."""
        cursor = self._past()
        if cursor is not None:
            self.push_screen(*past_prompt(cursor, self.watched.find, self._jumped))

    def _jumped(self, cursor: TimeCursor) -> None:
        """Handle the prompt's answer: a time, to which the cursor has moved, or a condition to look for."""
        if cursor.condition is None:
            self._show_moment(cursor)
        else:
            self.action_past_event(-1)

    def action_past_event(self, by: int) -> None:
        """Show the next event, or the next moment at which the condition begins to hold."""
        cursor = self._past()
        if cursor is not None:
            self._do(self._search(cursor, by))

    def on_time_line_pointed(self, message: TimeLine.Pointed) -> None:
        """Show the moment that the user pointed at on the bar."""
        self.go_to_time(message.time_ns)

    def go_to_time(self, time_ns: int) -> None:
        """Show the moment of a time."""
        cursor = self._past()
        if cursor is not None and cursor.jump(time_ns):
            self._show_moment(cursor)

    def action_past_mark(self) -> None:
        """Mark this moment."""
        cursor = self._past()
        if cursor is not None:
            index = cursor.index
            time_ns = cursor.timeline.times[index]
            mark = PastEvent(time_ns, f"mark {1 + sum(one.text.startswith('mark ') for one in cursor.marks)}")
            cursor.marks = (*cursor.marks, mark)
            self._say(f"{mark.text}: ( and ) lead back to it")
            if self.watched.recorder is not None and cursor.at is None:
                self.watched.recorder.mark(mark.text)
            if self._base is not None:
                self._base.show_time()

    def action_record(self) -> None:
        """Ask for a file and record to it from now on, or end the recording."""
        watch = self.watched
        if watch.player is not None:
            self._say("This is a recording already")
        elif watch.recorder is not None:
            recorder, watch.recorder = watch.recorder, None
            watch.read_also(recorder, (), frozenset())
            self._say(recorder.stop())
            self.read_wanted()
        else:
            from turbotui.app.live_recorder import default_path  # noqa: PLC0415 - most people record nothing

            path = default_path(watch.session.machine, time.time())
            self.push_screen(Prompt("record to", path, lambda _text: "Enter: begin, Esc: do not"), self._record_to)

    def _record_to(self, path: str | None) -> None:
        if path is None or not path.strip():
            return
        from turbotui.app.live_recorder import begin_recording  # noqa: PLC0415 - as above

        self._say(begin_recording(self.watched, path.strip(), self.open_recorder, self.kept_columns))
        self.read_wanted()

    async def _search(self, cursor: TimeCursor, by: int) -> None:
        """Search the past in a task beside keys and frames."""
        looked, began, found = 0, time.monotonic(), None
        for found in cursor.search(by):
            looked += 1
            if found is None and time.monotonic() - began > _PART:
                self._say(f"Searching {'forward' if by > 0 else 'back'}: {looked:,} moments")
                await asyncio.sleep(0)
                began = time.monotonic()
        if isinstance(found, FoundMoment):
            cursor.jump(found.time_ns)
            self._show_moment(cursor)
            self._say(found.text)
        else:
            wanted = "" if cursor.condition is None else f" where {cursor.condition.text}"
            self._say(f"Nothing {'later' if by > 0 else 'earlier'}{wanted}: {looked:,} moments were looked at")

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
        if self._base is not None:
            self._base.show_time()
            self._base.show_status()

    async def _play_on(self, player: Player) -> None:
        before = time.monotonic()
        while player.playing:
            await asyncio.sleep(player.wait())
            now = time.monotonic()
            if player.advance(now - before):
                self._show_moment(player.cursor, played=True)
            else:
                player.cursor.timeline.look_again()
                if self._base is not None:
                    self._base.show_time()
            before = now

    def step_speed(self, player: Player, by: int) -> None:
        """Play faster, or slower."""
        speed = player.step_speed(by)
        if player.playing:  # the pending wait was for the old speed
            self._play(player)
            self._play(player)
        if self._base is not None:
            self._base.show_time()
            self._base.notice(f"{speed:g} s of the recording in a second")

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
            self._say("This moment cannot be shown: its record is damaged, or no longer there")
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
        base = self._base
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
        if not self._laid_out or any(one is not before for one, before in zip(wanted, self._laid_out, strict=True)):
            self._laid_out = wanted
            base.show_columns()

    @property
    def _banded(self) -> bool:
        raise NotImplementedError

    def _do(self, work: Coroutine[Any, Any, None] | None) -> None:
        if self._work is not None:
            self._work.cancel()
        self._work = None if work is None else asyncio.get_running_loop().create_task(work)


def _follows(frame: Frame | None, before: Frame | None) -> bool:
    return (before is not None and frame is not None and frame.older is not None and frame.older.seq == before.newer.seq
            and frame.older.wall_ns == before.newer.wall_ns)
