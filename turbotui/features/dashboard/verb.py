"""`turbotui`: the interactive dashboard."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from turbotui.commands.arguments import add_watching_arguments
from turbotui.commands.regions import add_regions_argument, open_given_pipe
from turbotui.commands.screens import add_screen_arguments, screen_abilities
from turbotui.errors import UsageError
from turbotui.sampling.limits import DEFAULT_INTERVAL

if TYPE_CHECKING:
    from types import ModuleType

    from turbotui.app.settings import PersonalSettings
    from turbotui.features.dashboard.beside import CommandBeside
    from turbotui.features.dashboard.run_keeper import RunKeeper
    from turbotui.machine.region_pipes import MarkPipe
    from turbotui.opening.picture import Line
    from turbotui.opening.waiting import Opening
    from turbotui.quantities.columns import CounterColumn
    from turbotui.remote.links import Connector
    from turbotui.repertoire import Abilities
    from turbotui.sampling.frame import Frame
    from turbotui.sampling.session import Session
    from turbotui.widgets.profiles import Profile

T = TypeVar("T")
_PLAIN: Final = ("dumb", "unknown", "")
"""Terminals that are not drawn on before their abilities are known."""
_FIRST_SCREEN = "overview"
_FIRST_INTERVAL = 0.15
"""Seconds of the first interval, so that the first screen has numbers."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_watching_arguments(parser, DEFAULT_INTERVAL)
    parser.set_defaults(interval=None)  # None, so that a given value differs from the profile's
    parser.add_argument("--profile", metavar="NAME", help="a view saved with key s")
    parser.add_argument("--spy", metavar="FILE", help="event sets by CPU (see turbotui spy), read again when the "
                        "file changes")
    parser.add_argument("--drop-privileges", action="store_true", help="drop root for good once the counters are open")
    parser.add_argument("--connect", metavar="PATH",
                        help="show the readings of the collector behind this socket (turbotui collect --socket PATH)")
    parser.add_argument("--host", metavar="USER@NODE",
                        help="show another machine: ssh starts turbotui collect there, without asking for passwords; "
                        "where no turbotui is, its collecting part is sent to python3")
    parser.add_argument("--sudo", action="store_true",
                        help="with --host: collect there as root, by a sudo that asks for no password")
    parser.add_argument("--remote", metavar="COMMAND",
                        help='with --host: the command that starts turbotui there, such as "sudo -n turbotui"')
    parser.add_argument("--screen", metavar="NAME",
                        help="screen to begin with, by its name or key: overview (the default), cpus, map, tasks ...")
    parser.add_argument("--stay", action="store_true",
                        help="after -- COMMAND has ended, stay until q (else the dashboard ends with the command)")
    add_regions_argument(parser)
    add_screen_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Show the dashboard until the user quits.

    Raises:
        TerminalError: stdin, stdout or stderr (where Textual draws) is not a terminal.
        InternalError: turbotui itself failed; the terminal is restored first.
    """
    stat = "turbotui stat -- COMMAND" if arguments.command else "turbotui stat"
    abilities = screen_abilities(ascii_alone=arguments.ascii, instead=f": use `{stat}` for text output")
    given = open_given_pipe(arguments)
    from turbotui.features.dashboard.run_keeper import RunKeeper  # noqa: PLC0415 - --help stays fast

    with RunKeeper(arguments.command) as keeper:
        return _run(arguments, abilities, keeper, given)


def _run(arguments: argparse.Namespace, abilities: Abilities, keeper: RunKeeper, given: MarkPipe | None) -> int:
    if arguments.command:
        return _run_beside(arguments, abilities, keeper)
    if arguments.stay:
        raise UsageError("--stay is for a command beside the dashboard: turbotui --stay -- COMMAND")
    if (way := _way(arguments)) is not None:
        from turbotui.app.loading import load_asyncio  # noqa: PLC0415 - --help stays fast

        load_asyncio()
        from turbotui.app.remote import show_remote  # noqa: PLC0415 - as above

        return show_remote(way, abilities, theme=arguments.theme, screen=arguments.screen or _FIRST_SCREEN,
                           moments=arguments.moments)
    from turbotui.opening.waiting import UserLeftError  # noqa: PLC0415 - as above

    try:
        with contextlib.nullcontext() if given is None else given:
            return _open(arguments, abilities, None, keeper, given=given)
    except UserLeftError as left:
        return left.exit_status


def _run_beside(arguments: argparse.Namespace, abilities: Abilities, keeper: RunKeeper) -> int:
    """Run a command with the dashboard beside it, and return its exit status.

    Raises:
        UsageError: the shown machine would not be the one on which the command runs.
    """
    for option, value in (("--machine", arguments.machine), ("--host", arguments.host),
                          ("--connect", arguments.connect)):
        if value is not None:
            kind = "a simulated one" if option == "--machine" else "another one"
            raise UsageError(f"a command runs on this machine, not on {kind}: leave {option} out")
    if arguments.sysroot != "/":
        raise UsageError("a command runs on this machine, not on a recorded one: leave --sysroot out")
    from turbotui.features.dashboard.beside_run import run_beside  # noqa: PLC0415 - most watch without a command
    from turbotui.machine.identity import without_root  # noqa: PLC0415 - as above

    return run_beside(arguments.command, lambda beside: _open(arguments, abilities, beside, keeper),
                      stays=arguments.stay, prepare=without_root if arguments.drop_privileges else None)


def _open(arguments: argparse.Namespace, abilities: Abilities, beside: CommandBeside | None, keeper: RunKeeper,
          *, given: MarkPipe | None = None) -> int:
    """Show the dashboard, from its opening on. Raises UserLeftError if the user quit before there were screens."""
    from turbotui.app.settings import read_settings  # noqa: PLC0415 - --help stays fast

    settings = read_settings(os.environ)
    arguments.screen = arguments.screen or ("" if settings.screen else _FIRST_SCREEN)
    from turbotui.opening.terminal import GROUNDS, OpeningTerminal  # noqa: PLC0415 - as above

    doubtful = arguments.profile is not None or (arguments.theme or "ansi") not in {"ansi", *GROUNDS}
    settings = with_own_profile(arguments, settings)
    if os.environ.get("TERM", "dumb") in _PLAIN or doubtful:  # errors of these are shown on the user's terminal
        return _show(arguments, abilities, settings, None, beside, keeper=keeper, given=given)
    from turbotui.opening.readings import read_opening  # noqa: PLC0415 - as above
    from turbotui.opening.waiting import Opening  # noqa: PLC0415 - as above

    here = arguments.machine is None and arguments.sysroot == "/"
    screen = sys.__stderr__ or sys.stdout
    theme = arguments.theme or settings.theme or None
    terminal = OpeningTerminal(sys.stdin.fileno(), screen.fileno(), theme, os.environ, abilities)
    with Opening(terminal, read_opening if here else None, _help) as opening:
        return _show(arguments, abilities, settings, opening, beside, keeper=keeper, given=given)


def _show(arguments: argparse.Namespace, abilities: Abilities, settings: PersonalSettings,
          opening: Opening | None, beside: CommandBeside | None, *, keeper: RunKeeper,
          given: MarkPipe | None) -> int:
    """Open the machine and load the screens, both during the opening, then show them.

    A command is started when all is ready.
    """
    wait_for = _at_once if opening is None else opening.wait_for
    session, columns, profile = wait_for(lambda: _opened(arguments, settings),
                                         "Looking at what can be read on this machine")
    if beside is not None:
        beside.choose_columns(session)
        session.want(column.id for column in (*columns, *beside.columns))
    # the first interval passes while Textual is loaded, which takes as long
    keeps = settings.keep_runs and keeper.begin(session.machine)
    if beside is not None and keeps:
        beside.keeper = keeper
    session.start(keeper.take if beside is None else partial(_taken, keeper, beside), first=_FIRST_INTERVAL,
                  on_loop=True)
    try:
        dashboard, running = wait_for(_load_screens, "Loading the screens")
        if beside is not None:
            if opening is not None:
                opening.pause = beside.pause
            wait_for(partial(beside.begin, session), f"Opening the counters of {beside.title}")
    except BaseException:
        session.stop(1.0)
        raise
    app = dashboard.TurbotuiApp(session, columns, abilities=abilities, theme=arguments.theme, screen=arguments.screen,
                                profile=None if profile is None else (arguments.profile, profile), settings=settings,
                                tour=_offers_tour(arguments, settings),
                                on_shown=running.freeze_objects, on_rest=running.collect_garbage)
    app.keeps_whole = True
    app.named_columns = [word.strip() for option, words in arguments.choices if option != "hide"
                         for word in words.split(",")]
    app.watched.keeper = keeper if keeps else None
    app.set_beside(beside)
    marked = None
    if given is not None:
        from turbotui.features.dashboard.beside import marked_programs  # noqa: PLC0415 - few name a FIFO

        app.watched.marked = marked = marked_programs(session.machine, given)
    if opening is not None:
        app.handover = opening.hand_over()
    left_by = opening.left_by if opening is not None else int
    stop = partial(session.stop, 1.0) if beside is None else beside.leave
    try:
        status: int = running.run_app(app, stop, lambda: session.failure, left_by)
    finally:
        if marked is not None:
            marked.regions.stop()
        if beside is not None:
            beside.left(app.left_by, has_terminal=not app.terminal_lost)
    return status


def _offers_tour(arguments: argparse.Namespace, settings: PersonalSettings) -> bool:
    """Tell whether to offer the tour: the user never ended it, and the numbers are live."""
    from turbotui.app.settings import may_offer_tour  # noqa: PLC0415 - --help stays fast

    return arguments.sysroot == "/" and sys.stdin.isatty() and may_offer_tour(settings, os.environ)


def _opened(arguments: argparse.Namespace, settings: PersonalSettings) -> tuple[
        Session, tuple[CounterColumn, ...], Profile | None]:
    """Open the session that the command line names, without starting it, with columns and saved view.

    Raises:
        TurbotuiError: the command line or the machine is at fault.
    """
    from turbotui.app.loading import load_asyncio  # noqa: PLC0415 - --help stays fast
    from turbotui.commands.sessions import open_session  # noqa: PLC0415 - as above

    load_asyncio()  # before the sampler does, on a thread of its own
    profile = _profile(arguments)
    if arguments.interval is None:
        arguments.interval = str(profile.interval if profile is not None else settings.interval or DEFAULT_INTERVAL)
    session, columns = open_session(arguments)
    session.waits = False
    if profile is not None:
        profile = _chosen(profile, session, arguments)
    elif not arguments.choices:
        columns = _remembered(settings, session, columns)
    if arguments.spy is not None:
        from turbotui.sampling.spy_file import SpyFile  # noqa: PLC0415 - seldom used

        session.spy_by(SpyFile(arguments.spy))
    if arguments.drop_privileges:
        session.give_up_privileges()
    return session, columns, profile


def _load_screens() -> tuple[ModuleType, ModuleType]:
    """Import the modules of the application, which with Textual take half of the start."""
    # Textual's highest repaint rate; at its default of 60 a key waits up to 17 ms, with no other benefit
    os.environ.setdefault("TEXTUAL_FPS", "120")
    from turbotui.app import dashboard, running  # noqa: PLC0415 - as said

    return dashboard, running


def _at_once(work: Callable[[], T], _doing: str) -> T:
    return work()


def _help() -> Sequence[Line]:
    from turbotui.app.plain_help import plain_help  # noqa: PLC0415 - few ask for it before there are screens

    return plain_help()


def _way(arguments: argparse.Namespace) -> Connector | None:
    """Return the way to the collector that the command line names; None if this process reads the machine.

    Raises:
        UsageError: another option belongs to the collector's command line.
    """
    option = "--connect" if arguments.connect is not None else "--host"
    if arguments.remote is not None and arguments.host is None:
        raise UsageError("--remote is for --host: it says how turbotui is called there")
    if arguments.sudo and arguments.host is None:
        raise UsageError("--sudo is for --host: it says who collects there")
    if arguments.connect is None and arguments.host is None:
        return None
    if arguments.connect is not None and arguments.host is not None:
        raise UsageError("--host and --connect name two collectors: give one of them")
    handed_on = {"--machine": arguments.machine, "--cpu": arguments.cpu, "--interval": arguments.interval,
                 "--TCC": arguments.tcc, "--sysroot": None if arguments.sysroot == "/" else arguments.sysroot}
    own = {"--add": arguments.add, "--show, --hide or --enable": arguments.choices, "--spy": arguments.spy,
           "--profile": arguments.profile, "--events": arguments.events,
           "--event-tables": arguments.event_tables,
           "--drop-privileges": arguments.drop_privileges}
    given = [name for name, value in ((own | handed_on) if arguments.host is None else own).items() if value]
    if given:
        raise UsageError(f"{given[0]} is not for {option}: give it to the collector (turbotui collect)")
    from turbotui.remote.ssh import connector_to  # noqa: PLC0415 - --help stays fast

    return connector_to(arguments.connect, arguments.host, arguments.remote, handed_on, sudo=arguments.sudo)


def _profile(arguments: argparse.Namespace) -> Profile | None:
    """Load the saved view that the command line names.

    Raises:
        ProfileError: the view does not exist, or is invalid.
    """
    if arguments.profile is None:
        return None
    from turbotui.widgets.profiles import Profiles  # noqa: PLC0415 - as in run

    return Profiles(os.environ).load(arguments.profile)


def with_own_profile(arguments: argparse.Namespace, settings: PersonalSettings) -> PersonalSettings:
    """Set the saved view of the settings if the command line names none; a missing one is reported."""
    if arguments.profile is not None or not settings.profile:
        return settings
    from turbotui.widgets.profiles import ProfileError, Profiles  # noqa: PLC0415 - as in run

    try:
        Profiles(os.environ).load(settings.profile)
    except ProfileError as error:
        return replace(settings, problems=(*settings.problems, settings.problem("profile", str(error))))
    arguments.profile = settings.profile
    return settings


def _chosen(profile: Profile, session: Session, arguments: argparse.Namespace) -> Profile:
    """Return the profile changed by the command line, with columns read from the first tick on.

    Raises:
        UsageError: an added counter of the profile is invalid, or a word names no column.
    """
    from turbotui.quantities.event_columns import joined_metrics  # noqa: PLC0415 - as in run
    from turbotui.sampling.selection import choose_columns  # noqa: PLC0415 - as in run

    for text in profile.added:
        session.add(text)
    named = {column.id for text in joined_metrics(arguments.add) for column in session.add_all(text)}
    catalog = session.catalog
    start = [column for column in catalog.columns if column.id in profile.columns or column.id in named]
    columns = [column.id for column in choose_columns(catalog, start, arguments.choices)]
    session.want(columns)
    absent = [name for name in profile.columns if catalog.get(name) is None]
    return replace(profile, columns=(*columns, *absent), interval=session.interval,
                   theme=arguments.theme or profile.theme)


def _remembered(settings: PersonalSettings, session: Session,
                columns: tuple[CounterColumn, ...]) -> tuple[CounterColumn, ...]:
    """Return the user's remembered columns and those that the command line adds, read from the first tick on."""
    from turbotui.app.settings import kind_of_machine  # noqa: PLC0415 - as in run
    from turbotui.sampling.selection import default_columns  # noqa: PLC0415 - as in run

    if not (names := settings.columns_on(kind_of_machine(session.machine))):
        return columns
    usual = default_columns(session.catalog, session.capabilities, session.machine.topology, extras=True)
    added = {column.id for column in columns} - {column.id for column in usual}
    chosen = tuple(column for column in session.catalog.columns if column.id in names or column.id in added)
    session.want(column.id for column in chosen)
    return chosen


def _taken(keeper: RunKeeper, beside: CommandBeside, frame: Frame) -> None:
    """Take frames before the screen exists, which then gets the newest one."""
    keeper.take(frame)
    beside.take(frame)
