"""`turbotui`: the interactive dashboard."""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
import traceback
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING

from turbotui.commands.arguments import add_watching_arguments
from turbotui.errors import InternalError, TerminalError
from turbotui.machine.signal_guard import guarded_signals

if TYPE_CHECKING:
    from turbotui.app.dashboard import TurbotuiApp
    from turbotui.app.failures import Failure, Failures
    from turbotui.sampling.frame import Frame
    from turbotui.sampling.session import Session
    from turbotui.widgets.profiles import Profile

_INTERVAL = 1.0
_FIRST_INTERVAL = 0.15
"""Seconds of the first interval, so that the first screen has numbers."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_watching_arguments(parser, _INTERVAL)
    parser.set_defaults(interval=None)  # so that one that was given can be told from the profile's
    parser.add_argument("--profile", metavar="NAME", help="a view that was saved with the key s")
    parser.add_argument("--spy", metavar="FILE", help="event sets by CPU (see turbotui spy), followed when it changes")
    parser.add_argument("--drop-privileges", action="store_true",
                        help="give root up for good once the counters are open")
    parser.add_argument("--theme", metavar="NAME", help="colours: calm, contrast, or ansi for 16-colour terminals")


def run(arguments: argparse.Namespace) -> int:
    """Show the dashboard until the person leaves.

    Raises:
        TerminalError: stdin, stdout or stderr (where Textual draws) is not a terminal.
        InternalError: something of ours failed; the terminal is restored first.
    """
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.__stderr__ or sys.stdout)):
        raise TerminalError("the dashboard needs a terminal, and this is not one: use `turbotui stat` for text output")
    from turbotui.commands.watching import open_session  # noqa: PLC0415 - --help stays fast

    profile = _profile(arguments)
    if arguments.interval is None:
        arguments.interval = str(_INTERVAL if profile is None else profile.interval)
    session, columns = open_session(arguments)
    if profile is not None:
        profile = _chosen(profile, session, arguments)
    if arguments.spy is not None:
        from turbotui.sampling.spy_file import SpyFile  # noqa: PLC0415 - seldom used

        session.spy_by(SpyFile(arguments.spy))
    if arguments.drop_privileges:
        session.give_up_privileges()
    # the first interval passes while Textual is loaded, which takes as long
    session.start(_unseen, first=_FIRST_INTERVAL)
    # Textual repaints at most this often: at its own 60 a key waits for up to 17 ms, and nothing else is gained
    os.environ.setdefault("TEXTUAL_FPS", "120")
    from turbotui.app.dashboard import TurbotuiApp  # noqa: PLC0415 - as said

    app = TurbotuiApp(session, columns, theme=arguments.theme,
                      profile=None if profile is None else (arguments.profile, profile), on_shown=_settle,
                      on_rest=_collect)
    _settle()
    # a frame has no cycles: collections need not come often, in the middle of a key press
    gc.set_threshold(20_000, 50, 100)
    with _signals(app):
        try:
            app.run()
        finally:
            session.stop(1.0)
    failures = app.containment.failures
    if app.failure is None and session.failure is not None:
        failures.take(session.failure, "sampling")
    ending = failures.seen[-1] if app.failure or session.failure else None
    if not app.terminal_lost:
        _tell(failures, ending)
    if ending is not None:
        raise InternalError(ending.sentence) from ending.error
    # nobody could read a sentence about it
    return TerminalError.exit_status if app.terminal_lost else 0


def _tell(failures: Failures, ending: Failure | None) -> None:
    """Say on stderr what failed and was contained; with TURBOTUI_TRACEBACK=1 also where."""
    for failure in failures.seen:
        if failure is not ending:
            print(f"turbotui: {failure.sentence}", file=sys.stderr)
            if os.environ.get("TURBOTUI_TRACEBACK"):
                traceback.print_exception(failure.error)


def _settle() -> None:
    """What is there now lives for ever (modules, catalog, topology, widgets): no collection need walk it again.

    At the start only: cycles are never freed of what is frozen. At every change of screens it kept 0.6 MB.
    """
    gc.collect()
    gc.freeze()


def _collect() -> None:
    """Free what closed windows have left: up to a megabyte of cycles each (widgets and their styles)."""
    gc.collect()


def _profile(arguments: argparse.Namespace) -> Profile | None:
    """The saved view that the command line names.

    Raises:
        ProfileError: it is not there, or cannot be understood.
    """
    if arguments.profile is None:
        return None
    from turbotui.widgets.profiles import Profiles  # noqa: PLC0415 - as in run

    return Profiles(os.environ).load(arguments.profile)


def _chosen(profile: Profile, session: Session, arguments: argparse.Namespace) -> Profile:
    """The profile with what else the command line says, which comes after it; read from the first tick on.

    Raises:
        UsageError: an added counter of the profile is none, or a word names no column.
    """
    from turbotui.sampling.selection import choose_columns  # noqa: PLC0415 - as in run

    for text in profile.added:
        session.add(text)
    named = {column.id for text in arguments.add for column in session.add_all(text)}
    catalog = session.catalog
    start = [column for column in catalog.columns if column.id in profile.columns or column.id in named]
    columns = [column.id for column in choose_columns(catalog, start, arguments.choices)]
    session.want(columns)
    absent = [name for name in profile.columns if catalog.get(name) is None]
    return replace(profile, columns=(*columns, *absent), interval=session.interval,
                   theme=arguments.theme or profile.theme)


def _unseen(_frame: Frame) -> None:
    """Frames before the screen is there; the newest is handed over when it is."""


def _signals(app: TurbotuiApp) -> AbstractContextManager[None]:
    """SIGUSR1 ends the interval; SIGINT, SIGTERM and SIGHUP leave as `q` does, with the terminal restored."""
    leaving = dict.fromkeys((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), lambda _number: app.request_quit())
    return guarded_signals({signal.SIGUSR1: lambda _number: app.request_end_interval(), **leaving})
