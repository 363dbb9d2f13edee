"""`turbotui replay`: a recording in the dashboard."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Mapping

from turbotui.commands.recorded import report_missing
from turbotui.commands.screens import add_screen_arguments, screen_abilities
from turbotui.errors import UsageError
from turbotui.quantities.plain_numbers import decimal_number
from turbotui.recording.kept_runs import find_run, is_run, runs_folder
from turbotui.untrusted import one_line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("file", metavar="FILE", nargs="?", default="",
                        help="a recording by turbotui record or the key Ctrl+R, a FILE.tar.gz of turbotui gather, or a "
                        "run's number or name in turbotui runs; without it the last run of the dashboard")
    parser.add_argument("--from", metavar="TIME", dest="start", default="first",
                        help="the moment to begin with: 14:03:20, 2026-11-22 14:03, +5m, first (the default) or last")
    parser.add_argument("--speed", metavar="N", default="1",
                        help="seconds of the recording that pass in a second: 0.1 to 1000")
    parser.add_argument("--paused", action="store_true", help="wait at the beginning until Space is pressed")
    add_screen_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Show the recording until the user quits.

    Raises:
        TerminalError: stdin, stdout or stderr (where Textual draws) is not a terminal.
        RecordingError: the file is no recording, or cannot be read.
        UsageError: an argument is invalid.
        InternalError: turbotui itself failed; the terminal is restored first.
    """
    abilities = screen_abilities(ascii_alone=arguments.ascii, instead=": use `turbotui stat --replay` for text output")
    from turbotui.app.loading import load_asyncio  # noqa: PLC0415 - --help stays fast

    load_asyncio()
    from turbotui.app.dashboard import TurbotuiApp  # noqa: PLC0415 - as above
    from turbotui.app.journal_past import JournalPast  # noqa: PLC0415 - as above
    from turbotui.app.past import TimeCursor  # noqa: PLC0415 - as above
    from turbotui.app.player import SPEEDS, Player  # noqa: PLC0415 - as above
    from turbotui.app.recorded_session import RecordedSession  # noqa: PLC0415 - as above
    from turbotui.app.running import collect_garbage, freeze_objects, run_app  # noqa: PLC0415 - as above
    from turbotui.app.settings import read_settings  # noqa: PLC0415 - as above
    from turbotui.quantities.moments import NS, parse_start  # noqa: PLC0415 - as above
    from turbotui.recording import read_machine  # noqa: PLC0415 - as above

    speed = _speed(arguments.speed, SPEEDS)
    path = recording_path(arguments.file, os.environ)
    with read_machine(path) as journal:
        past = JournalPast(journal)
        if not past.times:
            raise UsageError(f"{path} holds one reading, and no interval yet")
        first, last = past.times[0], past.times[-1]
        command = one_line(shlex.join(journal.header.command))
        player = Player(TimeCursor(past, live=False), speed, command)
        player.cursor.jump(max(first, parse_start(arguments.start, journal.first_ns, last)))
        player.playing = not arguments.paused
        session = RecordedSession(journal, (past.times[1] - first) / NS if len(past.times) > 1 else 1.0)
        app = TurbotuiApp(session, abilities=abilities, theme=arguments.theme, screen="overview", player=player,
                          settings=read_settings(os.environ), on_shown=freeze_objects, on_rest=collect_garbage)
        status = run_app(app, session.stop, lambda: None)
    report_missing(journal)
    return status


def recording_path(given: str, environment: Mapping[str, str]) -> str:
    """Return the path of a recording: the named file, or the kept run of this name or number; "" is the last run.

    Raises:
        UsageError: no run is kept.
    """
    if given and (os.path.lexists(given) or not is_run(given)):
        return given
    run = find_run(environment, given)
    if run is None:
        missing = f"no run is kept as {given}: turbotui runs lists them" if given else (
            f"no run of the dashboard is kept in {runs_folder(environment)}: name a recording, or run turbotui first")
        raise UsageError(missing)
    return run.path


def _speed(text: str, speeds: tuple[float, ...]) -> float:
    """Parse the speed of the command line.

    Raises:
        UsageError: the text is no number between the least and the greatest speed.
    """
    speed = decimal_number(text) or 0.0
    if not speeds[0] <= speed <= speeds[-1]:
        raise UsageError(f'speed "{text}" is no number from {speeds[0]:g} to {speeds[-1]:g}')
    return speed
