"""The Textual application: themes, screens as modes, one handler for frames."""

from __future__ import annotations

import asyncio
import importlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.app import App, SystemCommand
from textual.binding import BindingType
from textual.dom import DOMNode
from textual.message import Message
from textual.screen import Screen

from turbotui.errors import InternalError, TurbotuiError, UsageError
from turbotui.quantities.columns import Column
from turbotui.quantities.units import parse_celsius
from turbotui.sampling.bus import Latest
from turbotui.sampling.frame import Frame
from turbotui.screens.actions import ACTIONS, Where, bindings_for
from turbotui.screens.base import WatchScreen
from turbotui.screens.help import Help
from turbotui.screens.key_gate import KeyGate
from turbotui.screens.modal import Window
from turbotui.screens.prompt import Prompt
from turbotui.screens.saved import absent_of
from turbotui.screens.themes import THEMES, TUI_DEFAULTS
from turbotui.screens.watch import Watch
from turbotui.screens.watched import WatchedSession
from turbotui.widgets.profiles import Profile, Profiles


@dataclass(frozen=True, slots=True)
class ScreenSpec:
    """One screen: its mode, the key that shows it, its name, and its class, whose module is loaded when it is shown."""

    id: str
    number: str
    word: str
    module: str
    name: str

    def build(self, watch: Watch) -> WatchScreen:
        """Make the screen."""
        made: WatchScreen = getattr(importlib.import_module(self.module), self.name)(watch)
        return made


SCREENS: tuple[ScreenSpec, ...] = (
    ScreenSpec("cpus", "1", "CPUs", "turbotui.screens.cpus", "CpuScreen"),
    ScreenSpec("topology", "2", "topology", "turbotui.screens.cpus", "TopologyScreen"),
    ScreenSpec("map", "3", "map", "turbotui.screens.map", "MapScreen"),
    ScreenSpec("power", "4", "power", "turbotui.screens.power", "PowerScreen"),
    ScreenSpec("uncore", "5", "uncore", "turbotui.screens.uncore", "UncoreScreen"),
    ScreenSpec("roofline", "6", "roofline", "turbotui.screens.roofline", "RooflineScreen"),
    ScreenSpec("tasks", "7", "tasks", "turbotui.screens.tasks", "TasksScreen"),
    ScreenSpec("info", "8", "info", "turbotui.screens.info", "InfoScreen"),
    ScreenSpec("doctor", "9", "doctor", "turbotui.screens.doctor", "DoctorScreen"),
)
"""Every screen there is; keys, tabs, help and palette follow."""


class FrameReady(Message, bubble=False):
    """The sampler has left a frame in the mailbox."""


class _Asked(Message, bubble=False):
    """Something asked from another thread or a signal handler."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what = what


class TurbotuiApp(App[int]):
    """The dashboard of one machine.

    `run()` returns the exit status; the terminal is restored by Textual whatever happens.

    Args:
        session: what is watched; started when the screen is there, stopped when it goes.
        columns: visible at the start; None for the catalog's defaults that can be had.
        theme: name of one of `THEMES`; None for the first.
        profile: name and content of the saved view to begin with.
        on_shown: called when the empty first screen is there, and after every change to another one.

    Attributes:
        failure: the exception that ended the program, if one did.

    Raises:
        UsageError: there is no such theme.
    """

    TITLE = "turbotui"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings_for(Where.APP),
        *((spec.number, f"show_screen('{spec.id}')", spec.word) for spec in SCREENS),
    ]
    CSS = """
    * { transition: none; }
    """

    def __init__(self, session: WatchedSession, columns: Sequence[Column] | None = None, *,
                 theme: str | None = None, profile: tuple[str, Profile] | None = None,
                 on_shown: Callable[[], None] | None = None) -> None:
        super().__init__()
        for known in THEMES:
            self.register_theme(known)
        if theme is not None and theme not in self.available_themes:
            raise UsageError(f'no theme is called "{theme}"; there are {", ".join(known.name for known in THEMES)}')
        self.theme = theme or THEMES[0].name
        self.failure: BaseException | None = None
        self.animation_level = "none"
        self.session = session
        self.watched = Watch(session, columns)
        self._profile = profile
        self._on_shown = on_shown
        self._frames: Latest[Frame] = Latest(lambda: self.post_message(FrameReady()))
        self._pending: Frame | None = None
        self._loop_here: asyncio.AbstractEventLoop | None = None
        self._asked_early: list[str] = []
        self._keys = KeyGate(self, super().on_event)
        for spec in SCREENS:
            self.add_mode(spec.id, lambda spec=spec: spec.build(self.watched))  # type: ignore[misc]  # a default is untyped

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our variables for themes that do not have them."""
        return TUI_DEFAULTS

    @property
    def screen_table(self) -> tuple[tuple[str, str, str], ...]:
        """Mode, key and name of every screen, for footer and help."""
        return tuple((spec.id, spec.number, spec.word) for spec in SCREENS)

    # Start and end

    def on_mount(self) -> None:
        """Show the skeleton first, then start measuring."""
        self._loop_here = asyncio.get_running_loop()
        for what in self._asked_early:
            self.request(what)
        self.switch_mode(SCREENS[0].id)
        self.call_after_refresh(self._start)

    def _start(self) -> None:
        if self._profile is not None:
            self._use_profile(*self._profile)
        self._want()
        if self._on_shown is not None:
            self._on_shown()
        self.session.start(self._frames.put, on_end=lambda: self.request("ended"))

    def on_unmount(self) -> None:
        """Close every counter."""
        self.session.stop()

    def request(self, what: str) -> None:
        """Ask for something from another thread or a signal handler: "quit", "end_interval"."""
        loop = self._loop_here
        if loop is None:
            self._asked_early.append(what)
        elif not loop.is_closed():
            # A signal handler runs inside the loop's own wait: only this call ends that wait.
            loop.call_soon_threadsafe(self.post_message, _Asked(what))

    def request_quit(self) -> None:
        """Quit; may be called from any thread or a signal handler."""
        self.request("quit")

    def request_end_interval(self) -> None:
        """End the interval now; may be called from any thread or a signal handler."""
        self.request("end_interval")

    def on__asked(self, message: _Asked) -> None:
        """Do it on the user interface's thread."""
        if message.what == "end_interval":
            self.session.end_interval()
        else:
            self.exit(0)

    def _handle_exception(self, error: Exception) -> None:
        """Leave with the terminal restored and without Textual's own report: the command says what failed."""
        self.failure = error
        if self.is_headless:
            super()._handle_exception(error)  # tests want the whole story
        else:
            self.exit(InternalError.exit_status)

    async def on_event(self, event: events.Event) -> None:
        """Keys from the terminal one at a time, whatever else as it comes."""
        if isinstance(event, events.Key) and not event.is_forwarded:
            await self._keys.take(event)
        else:
            await super().on_event(event)

    # Frames

    def on_frame_ready(self) -> None:
        """Keep the newest frame's history; draw it on the screens that can be seen, unless the picture is paused."""
        frame = self._frames.take()
        if frame is None:  # a newer one took its place, and has been drawn
            return
        watch = self.watched
        base = self._base
        if base is not None:
            watch.record(frame, base.sparks, base.groups)
            base.take(frame)
        if watch.paused:
            self._pending = frame
        else:
            watch.frame = frame
            if watch.follow_spies():
                self._resumed()
            self._draw()
        if base is not None:
            watch.record_shown(frame, *base.shown)

    def _draw(self) -> None:
        with self.batch_update():
            for screen in self.screen_stack:
                if isinstance(screen, WatchScreen) and not screen.composed:
                    continue
                if isinstance(screen, WatchScreen | Window) and screen.is_mounted:
                    screen.show_frame()

    @property
    def _base(self) -> WatchScreen | None:
        screen = self.screen_stack[0] if self.screen_stack else None
        return screen if isinstance(screen, WatchScreen) else None

    def _want(self) -> None:
        base = self._base
        self.watched.want(base.wanted if base is not None else self.watched.columns)
        if base is not None:
            base.read_beside()

    # Actions

    async def action_quit(self) -> None:
        """Leave with status 0."""
        self.exit(0)

    def action_help(self) -> None:
        """Show keys and columns."""
        self.push_screen(Help(self.watched, self.screen_table))

    def action_show_screen(self, name: str) -> None:
        """Show one of SCREENS."""
        self.switch_mode(name)
        self.call_after_refresh(self._resumed)

    def _resumed(self) -> None:
        base = self._base
        if base is not None and base.composed:  # a screen that is not yet draws what there is when it is
            base.show_columns()
            base.show_frame()
            self._want()
        if self._on_shown is not None:
            self._on_shown()

    def action_next_screen(self, by: int) -> None:
        """The next or previous one of SCREENS."""
        names = [spec.id for spec in SCREENS]
        self.action_show_screen(names[(names.index(self.current_mode) + by) % len(names)])

    def action_pause(self) -> None:
        """Hold the picture; measuring and histories go on."""
        watch = self.watched
        watch.paused = not watch.paused
        if not watch.paused and self._pending is not None:
            watch.frame, self._pending = self._pending, None
            self._draw()
        if self._base is not None:
            self._base.show_status()

    def action_end_interval(self) -> None:
        """End the interval now."""
        self.session.end_interval()

    def action_step_interval(self, by: int) -> None:
        """A longer or shorter interval."""
        seconds = self.watched.step_interval(by)
        if self._base is not None:
            self._base.show_columns()
            self._base.notice(f"interval {seconds:g} s")

    def action_reset(self) -> None:
        """Least, greatest and mean from now on."""
        self.watched.history.reset()
        if self._base is not None:
            self._base.notice("least, greatest and mean start anew")

    def action_tcc(self) -> None:
        """Ask for the temperature that readouts count down from."""
        watch = self.watched

        def typed(text: str) -> str:
            try:
                if text.strip():
                    parse_celsius(text)
            except UsageError as error:
                return str(error)
            return ""

        def done(text: str | None) -> None:
            if text is None or self._base is None:
                return
            try:
                self._base.notice(watch.tell_tcc(text))
            except UsageError as error:
                self._base.notice(str(error))
            self._base.show_columns()

        now = watch.session.machine.tcc
        word = "TCC target in °C, empty for the machine's own"
        self.push_screen(Prompt(word, "" if now is None else f"{now}", typed), done)

    def action_use_profile(self, name: str) -> None:
        """Show a saved view."""
        try:
            self._use_profile(name, Profiles(os.environ).load(name))
        except TurbotuiError as error:
            if self._base is not None:
                self._base.notice(str(error))

    def _use_profile(self, name: str, profile: Profile) -> None:
        self.watched.take(profile)
        if profile.theme in self.available_themes:
            self.theme = profile.theme
        absent = absent_of(profile, self.watched)
        said = f"profile {name}" + (f"; not on this machine: {', '.join(absent)}" if absent else "")
        self.action_show_screen(profile.screen if profile.screen in self._known_modes else SCREENS[0].id)
        self.call_after_refresh(self._say, said)

    @property
    def _known_modes(self) -> frozenset[str]:
        return frozenset(spec.id for spec in SCREENS)

    def _say(self, sentence: str) -> None:
        if self._base is not None:
            self._base.notice(sentence)

    def action_next_theme(self) -> None:
        """The next of our themes."""
        names = [theme.name for theme in THEMES]
        at = names.index(self.theme) if self.theme in names else -1
        self.theme = names[(at + 1) % len(names)]
        if self._base is not None:
            self._base.notice(f"theme {self.theme}")

    def action_close(self) -> None:
        """Nothing is open: Esc does nothing, and never quits."""

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The palette: every action that works on this screen, every screen, every theme."""
        for action in ACTIONS:
            if action.id in {"palette", "interrupt", "close"}:
                continue
            if Where.APP in action.where:
                target: Callable[[], object] = self._runner(action.call, self)
            elif isinstance(screen, WatchScreen) and screen.where in action.where:
                target = self._runner(action.call, screen)
            else:
                continue
            yield SystemCommand(action.help.rstrip("."), f"key: {action.shown}", target)
        for spec in SCREENS:
            call = f"show_screen('{spec.id}')"
            yield SystemCommand(f"Screen: {spec.word}", f"key: {spec.number}", self._runner(call, self))
        for name in Profiles(os.environ).names():
            yield SystemCommand(f"Profile: {name}", "a saved view", self._runner(f"use_profile({name!r})", self))

    def _runner(self, call: str, namespace: DOMNode) -> Callable[[], object]:
        return lambda: self.run_worker(self.run_action(call, default_namespace=namespace))
