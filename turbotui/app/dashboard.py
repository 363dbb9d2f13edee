"""The Textual application: themes, screens as modes, and one handler for frames."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import ClassVar, Final

from rich.console import COLOR_SYSTEMS
from rich.segment import Segment
from textual import events
from textual._context import visible_screen_stack
from textual._styles_cache import StylesCache
from textual.app import SystemCommand
from textual.await_complete import AwaitComplete
from textual.binding import BindingType
from textual.dom import DOMNode
from textual.filter import NoColor
from textual.geometry import Region
from textual.message import Message
from textual.screen import Screen

from turbotui.app.actions import actions_of, bindings_for
from turbotui.app.applied_settings import first_screen, forget_view, own_actions, presented, remember_view
from turbotui.app.base import WatchScreen
from turbotui.app.copying import copy_text
from turbotui.app.frames import FramesApp
from turbotui.app.help import Help
from turbotui.app.key_gate import KeyGate
from turbotui.app.modal import Window
from turbotui.app.palette import OrderedCommands, palette_commands
from turbotui.app.past import LivePast, TimeCursor
from turbotui.app.player import Player
from turbotui.app.screen_table import SCREENS, screen_named
from turbotui.app.sessions import WatchedSession, has_banner
from turbotui.app.settings import NO_SETTINGS, PersonalSettings, kind_of_machine
from turbotui.app.tcc import tcc_prompt
from turbotui.app.themes import SIXTEEN, THEMES, TUI_DEFAULTS
from turbotui.app.tour import Tour
from turbotui.app.user_keys import key_word
from turbotui.app.view_states import ViewState
from turbotui.app.watch import Watch
from turbotui.dataclass import dataclass
from turbotui.errors import InternalError, TerminalError, TurbotuiError, UsageError, nearest_or_all
from turbotui.feature import EVERYWHERE
from turbotui.quantities.columns import CounterColumn
from turbotui.repertoire import Abilities, Repertoire
from turbotui.sampling.frame import Frame
from turbotui.sampling.limits import DEFAULT_INTERVAL
from turbotui.tables.saving import write_alike
from turbotui.terminal.driver import Continued, TerminalDriver, TerminalLost
from turbotui.untrusted import guarded
from turbotui.widgets.profiles import Profile

_SCREENS_TOLD: Final = 4
_OF_HTOP: Final = {"f7": "acts", "f8": "acts", "f9": "acts"}
"""Actions that stand for keys of htop (htop(1): nice values, kill) which do nothing here."""
_QUIET = 1.5  # seconds without a key after which no key is expected soon
_MOST_KEYS = 200  # typed ones from one rest to the next
_MOST_CLOSED = 3  # windows whose remains wait for a rest, up to a megabyte of each
_GROWING: Final = (StylesCache.get_inner_outer, Segment._split_cells,  # noqa: SLF001 - nothing else bounds it
                   Region.overlaps, Region.contains_region, Region.translate, Region.grow, Region.shrink,
                   Region.intersection, Region.union)
"""Caches of Textual 8.2 and Rich 15 that fill within hours, with what closed windows drew and where that was."""
_TROUBLE_SECONDS = 0.5  # seconds between two looks at a connection
_ANY_TERMINAL = Abilities()


@dataclass()
class _Asked(Message, bubble=False):
    what: str


class TurbotuiApp(FramesApp):
    """The dashboard of one machine.

    `run()` returns the exit status; the terminal is restored by Textual whatever happens.

    Args:
        session: the watched session; started with the screen and stopped at its end.
        columns: visible at the start; None for the catalog's available defaults.
        abilities: of the terminal.
        theme: name of one of `THEMES`; None for the first that the terminal can show.
        screen: mode of the first screen; "" for the table of CPUs.
        profile: name and content of the saved view to begin with.
        player: of the recording that is shown; None for a watched machine.
        tour: whether to offer the tour.
        settings: the user's settings; theme, first screen and keys are used here.
        on_shown: called when the empty first screen is there.
        on_rest: called after keys when nobody has typed for a while, at the latest when a few windows were closed.

    Attributes:
        failure: the exception that ended the program, if any.
        containment: failures that did not end the program.
        repertoire: replacements for characters that the terminal lacks; None for none.
        named_columns: words of --show and --enable; the first screen says which columns of them are not here, and why.
        terminal_lost: why the terminal could no longer be used, if that ended the program.

    Raises:
        UsageError: there is no such theme, or no such screen.
    """

    named_columns: Sequence[str] = ()
    TITLE = "turbotui"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings_for(EVERYWHERE),
        *((spec.number, f"show_screen('{spec.id}')", spec.word) for spec in SCREENS),
    ]
    CSS = """
    * { transition: none; }
    Input > .input--placeholder, Input > .input--suggestion { color: $tui-dim; text-style: none; }
    Input > .input--selection { background: $tui-cell; color: $tui-on-cell; }
    CommandPalette CommandInput, CommandPalette CommandList, CommandPalette SearchIcon {
        color: $foreground; background: $background;
    }
    CommandPalette > .command-palette--help-text { text-style: not bold; }
    .-banded Window > .window { margin-top: 1; }
    .-banded-twice Window > .window { margin-top: 2; }
    """

    def __init__(self, session: WatchedSession, columns: Sequence[CounterColumn] | None = None, *,
                 abilities: Abilities = _ANY_TERMINAL, theme: str | None = None, screen: str = "",
                 profile: tuple[str, Profile] | None = None, player: Player | None = None,
                 settings: PersonalSettings = NO_SETTINGS, tour: bool = False,
                 on_shown: Callable[[], None] | None = None, on_rest: Callable[[], None] | None = None) -> None:
        wanted, unknown = first_screen(settings)
        if settings.units or settings.thresholds:
            settings = replace(settings, problems=(*settings.problems, *presented(settings, session)))
            columns = columns and [session.catalog.by_id[column.id] for column in columns]
        super().__init__(Watch(session, columns, player), TerminalDriver, screen_named(screen or wanted, self.screens))
        self.watched.why_limits = settings.why
        self.watched.row_limits = {table: {name.lower(): limits_of for name, limits_of in limits.items()}
                                   for table, limits in settings.row_thresholds.items()}
        if settings.units.get("energy") == "J":
            self.watched.show_joules()
        for known in THEMES:
            self.register_theme(known)
        if theme is not None and theme not in self.available_themes:
            raise UsageError(f'no theme is called "{theme}"{nearest_or_all(theme, (known.name for known in THEMES))}')
        rich = abilities.colours and not abilities.sixteen
        self.actions, self._own_keys, problems = own_actions(settings)
        if settings.theme and settings.theme not in self.available_themes:
            problems = (*problems, settings.problem("theme", f'no theme is called "{settings.theme}"'))
        self._problems = tuple(filter(None, (*settings.problems, *problems, unknown)))
        remembered = settings.theme if rich and settings.theme in self.available_themes else ""
        tables = settings.tables_on(kind_of_machine(session.machine))
        self.watched.arrangements, self.watched.remembered = dict(tables), frozenset(tables)
        if settings.alerts:
            from turbotui.app.alerting import make_alerts  # noqa: PLC0415 - most people have none

            self.watched.alerts, wrong = make_alerts(settings, session, self.watched.why_absent)
            self._problems = (*self._problems, *wrong)
        if self._problems:
            self.watched.mistakes = (settings.where, self._problems)
        self.theme = theme or remembered or (THEMES[0] if rich else SIXTEEN).name
        if abilities.system:
            self.console._color_system = COLOR_SYSTEMS[abilities.system]  # noqa: SLF001 - as `direct_screen` reads it
        self.no_color = self.no_color or not abilities.colours
        if not abilities.colours:
            self._filters.append(NoColor())
        self.repertoire = None if abilities.encoding is None else Repertoire(abilities.encoding)
        self.failure: BaseException | None = None
        self.terminal_lost = ""
        self.animation_level = "none"
        self.session = session
        # the line that says SIMULATED or RECORDED stays visible above every window
        self.set_class(self._banded, "-banded")
        self._live_past = LivePast() if player is None else None
        if self._live_past is not None:
            self.watched.cursor = TimeCursor(self._live_past)
        self._profile = profile
        self._has_tour = tour
        self.tour = Tour(self, is_over=not settings.tour)
        self._on_shown = on_shown
        self._on_rest = on_rest
        self._keys_since_rest = self._closed_since_rest = 0
        self._last_key = 0.0
        self._asked_early: list[str] = []
        self.key_gate = KeyGate(self, super().on_event)

    @property
    def _banded(self) -> bool:
        return has_banner(self.session)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Default values of turbotui's style variables, for themes without them."""
        return TUI_DEFAULTS

    # Start and end

    def on_mount(self) -> None:
        """Show the skeleton first, then start measuring."""
        self._loop_here = asyncio.get_running_loop()
        for what in self._asked_early:
            self.request(what)
        if self._own_keys:
            self.set_keymap(self._own_keys)
        self.switch_mode(self._first_screen)
        self.call_after_refresh(self._start)
        if self.session.collector is not None:
            self.set_interval(_TROUBLE_SECONDS, self._show_trouble)

    def _show_trouble(self) -> None:
        """Say that frames no longer arrive, or that they arrive again; lines that have not changed are not drawn."""
        if self.is_running and self.base is not None and self.base.composed:  # an app that ends takes screens apart
            self.base.show_trouble()

    def _start(self) -> None:
        if self._profile is not None:
            self._use_profile(*self._profile)
        if self._problems:
            first, *others = self._problems
            key = next(action.shown for action in self.actions if action.id == "help").split()[0]
            self.call_after_refresh(self.say, f"{len(self._problems)} mistakes ({key} lists them): {first}" if others
                                    else first)
        elif self.watched.lacks_chosen:
            self.call_after_refresh(self.say, "None of the chosen columns is here, so the usual ones are; C says why")
        elif absent := self.watched.absent_columns(self.named_columns):
            names, why = ", ".join(column.id for column, _ in absent), absent[0][1]
            self.call_after_refresh(self.say, f"Not here (C says why): {names}: {why.sentence()}")
        self.read_wanted()
        if self._has_tour:
            self.tour.begin()  # before the keys that were typed ahead, one of which may end it
            self.call_after_refresh(self.tour.show)
        if self._on_shown is not None:
            self._on_shown()
        self.session.start(self._taken, on_end=lambda: self.request("ended"))
        if self.watched.player is not None:
            self._show_moment(self.watched.player.cursor)
            if self.watched.player.playing:
                self.watched.player.playing = False
                self._play(self.watched.player)

    def _taken(self, frame: Frame) -> None:
        """Keep a frame for the past and hand it to the screens; called on the sampler's thread."""
        if self._live_past is not None:
            self._live_past.take(frame)
        for recorder in self.watched.recorders:
            recorder.take(frame)
        if self.watched.beside is not None:
            self.watched.beside.take(frame)
        self._frames.put(frame)

    def on_unmount(self) -> None:
        """Close every counter, unless a command continues without the screen, and end a recording."""
        if self.watched.beside is None:
            self.session.stop()
        if self.watched.recorder is not None:
            self.watched.recorder.stop()
        if self.watched.alerts is not None:
            self.watched.alerts.close()

    def request(self, what: str) -> None:
        """Request something from another thread or a signal handler: "quit", "end_interval"."""
        if (loop := self._loop_here) is None:
            self._asked_early.append(what)
        elif not loop.is_closed():
            # a signal handler runs inside the loop's own wait, which only this call ends
            loop.call_soon_threadsafe(self.post_message, _Asked(what))

    def request_end_interval(self) -> None:
        """End the interval now; may be called from any thread or a signal handler."""
        self.request("end_interval")

    def on__asked(self, message: _Asked) -> None:
        """Carry out a request on the user interface's thread."""
        if message.what == "end_interval":
            self.session.end_interval()
        elif message.what != "command ended" or self.leaves_with_command():
            self.exit(0)

    def on_terminal_lost(self, message: TerminalLost) -> None:
        """Quit when the terminal is gone."""
        self.terminal_lost = message.why
        self.exit(TerminalError.exit_status)

    def on_continued(self, _message: Continued) -> None:
        """Redraw everything after the shell had the terminal."""
        self.go_on_beside()
        if self.screen_stack:
            self.screen.refresh()

    def _handle_exception(self, error: Exception, *, alive: bool = False) -> None:
        """Contain a failure, or leave with the terminal restored; the command says why.

        Textual's own report, which shows every local variable, is not used.
        """
        if self.is_headless:
            self.failure = error
            super()._handle_exception(error)  # tests need the whole traceback
        elif not self.containment.contain(error, alive=alive):
            self.failure = error
            self.exit(InternalError.exit_status)
        elif not alive:
            self.call_later(self.key_gate.release)  # after what has failed is removed

    async def _dispatch_action(self, namespace: DOMNode, action_name: str, params: object) -> bool:
        base = self.base if namespace is self.base else None
        before = None if base is None else (base.noticed, len(self.screen_stack))
        try:
            self.look_at_states()
            is_handled = await super()._dispatch_action(namespace, action_name, params)
            self.tour.follow(action_name)
        except Exception as error:  # noqa: BLE001 - whatever it is
            self._handle_exception(error, alive=True)
            return True
        if base is not None and base.nothing_here and before == (base.noticed, len(self.screen_stack)):
            base.notice_nothing_here()
        return is_handled

    async def _dispatch_message(self, message: Message) -> None:
        """Contain failures while a frame is drawn, which would end Textual's message loop and with it all keys."""
        try:
            await super()._dispatch_message(message)
        except Exception as error:  # noqa: BLE001 - whatever it is
            self._handle_exception(error)

    async def on_event(self, event: events.Event) -> None:
        """Hand keys from the terminal on one at a time, and other events at once."""
        if isinstance(event, events.Key) and not event.is_forwarded:
            self._keys_since_rest += 1
            self._last_key = time.monotonic()
            await self.key_gate.take(event)
            if self._has_much_to_free:  # and the next frame may be a minute away
                self.call_later(self._rested)
        else:
            await super().on_event(event)

    # Frames

    def pop_screen(self) -> AwaitComplete:
        """Close the topmost window; what remains of it is freed at a rest."""
        self._closed_since_rest += 1
        return super().pop_screen()

    @property
    def _has_much_to_free(self) -> bool:
        return self._closed_since_rest >= _MOST_CLOSED or self._keys_since_rest > _MOST_KEYS

    def _rested(self) -> None:
        """Do slow work, such as clearing caches, between two frames."""
        is_quiet = self._keys_since_rest and time.monotonic() - self._last_key > _QUIET
        if is_quiet or self._has_much_to_free:
            self._keys_since_rest = self._closed_since_rest = 0
            for cached in _GROWING:
                cached.cache_clear()
            if self._on_rest is not None:
                self._on_rest()

    def read_wanted(self) -> None:
        base = self.base
        windows = (column for screen in self.screen_stack if isinstance(screen, Window) for column in screen.wanted)
        self.watched.want((*(base.wanted if base is not None else self.watched.columns), *windows))
        if base is not None:
            base.read_beside()

    # Actions

    def action_suspend(self) -> None:
        """Give the terminal back to the shell, and stop until the shell continues the program."""
        if isinstance(self._driver, TerminalDriver):
            self._driver.suspend()

    def action_help(self) -> None:
        """Show keys and columns."""
        self.push_screen(Help(self.watched, self.screen_table, None if self.base is None else self.base.where))

    def action_remember(self) -> None:
        """Write the current view into the settings."""
        base = self.base
        spec = next((spec for spec in self.screens if base is not None and spec.number == base.number), self.screens[0])
        self.say(remember_view(self.watched, self.theme, spec))
        self._state_order.settle()

    def action_default_settings(self) -> None:
        """Forget what Ctrl+S wrote, and show the defaults."""
        watch, base = self.watched, self.base
        sentence = forget_view(watch)
        if self.theme != SIXTEEN.name:  # of a terminal that may have no other
            self.theme = THEMES[0].name
        watch.arrangements.clear()
        watch.show_only(watch.usual)
        if watch.player is None and self.session.collector is None:
            watch.interval = DEFAULT_INTERVAL
            self.session.set_interval(DEFAULT_INTERVAL)
        if base is not None:
            base.show_columns()
            base.show_frame()
            self.read_wanted()
        self.say(sentence)

    def action_alerts(self) -> None:
        """List what happened: alerts, findings and marks with their times, and the conditions that are watched."""
        from turbotui.app.happened_window import HappenedWindow  # noqa: PLC0415 - the first frame does without

        self.push_screen(HappenedWindow(self.watched), self._asked_moment)

    def _asked_moment(self, time_ns: int | None) -> None:
        if time_ns is not None:
            self.go_to_time(time_ns)

    def action_why(self) -> None:
        """Show what slows the machine down."""
        from turbotui.app.why_window import WhyWindow  # noqa: PLC0415 - the first frame does without

        self.push_screen(WhyWindow(self.watched), self._asked_why)
        self.read_wanted()

    def _asked_why(self, number: str | None) -> None:
        self.read_wanted()
        spec = next((spec for spec in self.screens if spec.number == number), None)
        if spec is not None:
            self.open_screen(spec.id)

    def action_open(self) -> None:
        """Open what the cursor of the screen is on; end the interval where there is nothing to open."""
        if self.base is None or not self.base.open_chosen():
            self.action_end_interval()

    def action_redraw(self) -> None:
        """Set the terminal's modes again and draw every cell."""
        if isinstance(self._driver, TerminalDriver):
            self._driver.draw_anew()
            self.say("The screen was drawn anew")

    def action_end_interval(self) -> None:
        """End the interval now."""
        self.session.end_interval()

    def action_step_interval(self, by: int) -> None:
        """Change to a longer or shorter interval; for a recording, to a higher or lower speed."""
        if self.watched.player is not None:
            self.step_speed(self.watched.player, by)
            return
        if self.session.collector is not None:
            self.say("The interval is the collector's: turbotui collect --interval")
            return
        seconds = self.watched.step_interval(by)
        if self.base is not None:
            self.base.show_columns()
            self.base.notice(f"Interval {seconds:g} s")

    def action_reset(self) -> None:
        """Reset least, greatest and mean values."""
        self.watched.history.reset()
        self.say("Least, greatest and mean were reset")

    def action_tcc(self) -> None:
        """Ask for the temperature from which readouts count down."""
        if (base := self.base) is not None:
            def shown(sentence: str) -> None:
                base.notice(sentence)
                base.show_columns()

            self.push_screen(*tcc_prompt(self.session, shown))

    def action_tour(self) -> None:
        """Start the tour, or go to its next step."""
        self.tour.go_on()

    def action_end_tour(self) -> None:
        """End the tour for ever."""
        self.tour.end()

    def _states(self) -> Iterator[ViewState]:
        """The tour, which is older than whatever a user does meanwhile, before the states of all screens."""
        if self.tour.step is not None:
            yield ViewState("", "tour", self.tour.hide)
        yield from super()._states()

    def on_watch_screen_laid_out(self) -> None:
        """Draw the tour's step for the new size, which may have room for more of its keys, or for none."""
        if self.tour.step is not None:
            self.tour.show()

    def _resumed(self) -> None:
        super()._resumed()
        if self.tour.step is not None:
            self.tour.show()

    COMMANDS = frozenset({OrderedCommands})  # type: ignore[assignment]  # Textual's is a set

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The palette: every action that works on this screen, every screen and every profile."""
        return palette_commands(self, screen, self.screens)

    # Saving

    def action_save_screen(self) -> None:
        """Save the view as a drawing and as text in the current folder."""
        self.say(self._saved())

    def _saved(self) -> str:
        base = self.base
        name = next((spec.id for spec in self.screens if base is not None and spec.number == base.number), "screen")
        stem = f"turbotui-{name}-{time.strftime('%Y%m%d-%H%M%S')}"
        drawing, text = self.pictures(stem)
        try:
            folder = os.getcwd()
            path = write_alike(folder, stem, {"svg": drawing, "txt": text})
        except OSError as error:
            return f"Not saved (start turbotui in another folder): the current one is gone, {error.strerror}"
        except TurbotuiError as error:
            return f"Not saved (start turbotui in a folder of yours): {error}"
        return f"Saved {os.path.basename(path)}.svg and .txt in {guarded(folder)}"

    def pictures(self, title: str) -> tuple[str, str]:
        """The terminal's current picture, windows included, as a drawing (SVG) with this title, and as text."""
        from turbotui.widgets.drawn_screen import drawn_screen  # noqa: PLC0415 - few save a picture

        visible_screen_stack.set(self._background_screens)  # the screen behind a window
        shown: Screen[object] = self.screen
        shown_as = str if self.repertoire is None else self.repertoire.shown
        lines = [[segment._replace(text=shown_as(segment.text)) for segment in strip if not segment.control]
                 for strip in shown._compositor.render_strips()]  # noqa: SLF001 - as Textual's own screenshot does
        texts = ["".join(segment.text for segment in line).rstrip() for line in lines]
        ground = self.screen_stack[0].styles.background.rich_color.get_truecolor(self.ansi_theme, foreground=False)
        drawing = drawn_screen(lines, self.size.width, self.ansi_theme, ground.hex, title)
        return drawing, "\n".join([*texts, ""])

    # Copying

    def action_copy(self) -> None:
        """Copy what is under the screen's cursor, or the text of the window over it."""
        shown = self.screen
        if not isinstance(shown, WatchScreen | Window):
            return
        text = shown.copied()
        if not text:
            self.say("Nothing is under the cursor to copy: the arrows choose a number")
            return
        first, *others = text.splitlines()
        more = f" … and {len(others)} more line{'s' if len(others) > 1 else ''}" if others else ""
        self.say(copy_text(self, f"{first}{self._origin()}{text[len(first):]}", f"{first}{more}"))

    def _origin(self) -> str:
        """A word for numbers of another machine or of the past; "" for numbers of this machine now."""
        from turbotui.app.command_lines_window import other_machine, past_moment  # noqa: PLC0415 - only this key needs them

        watch = self.watched
        words = ", ".join(filter(None, (other_machine(watch), past_moment(watch))))
        return f" ({words})" if words else ""

    # Keys that do nothing

    async def _check_bindings(self, key: str, priority: bool = False) -> bool:
        """Run a key's binding; if the key does nothing here, say where it does something."""
        is_handled = await super()._check_bindings(key, priority)
        base = self.base
        if not is_handled and not priority and base is not None and self.screen is base:
            base.notice(self._where_it_works(key, base.where), quiet=True)
        return is_handled

    def _where_it_works(self, key: str, here: str) -> str:
        others = [action for action in actions_of(self) if key in action.keys and here not in action.where]
        alike = [] if others else [action for action in actions_of(self) if action.id == _OF_HTOP.get(key)]
        places = {where for action in others or alike for where in action.where}
        screens = [f"{spec.word} ({spec.number})" for spec in self.screens if spec.place in places]
        if screens and alike:
            return f"{key_word(key)} of htop is {alike[0].shown} on {_listed(screens)}: command lines to copy"
        if screens:
            shown = _shown(others[0].keys, others[0].shown, key)
            return f"{shown} works on {_listed(screens)}, and does nothing here"
        lists = next(action.shown for action in actions_of(self) if action.id == "help").split()[0]
        return f"{key_word(key)} does nothing: {lists} lists the keys"


def _shown(keys: tuple[str, ...], shown: str, key: str) -> str:
    """A key's name for people; for an action with several shown keys, the pressed one."""
    words = shown.split(" ")
    return words[keys.index(key)] if len(words) == len(keys) else words[0]


def _listed(words: list[str]) -> str:
    """Words as a list in a sentence: "a", "a and b", "a, b and c"; more than a few are counted."""
    if (more := len(words) - _SCREENS_TOLD) > 0:
        words = [*words[:_SCREENS_TOLD], f"{more} more"]
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]
