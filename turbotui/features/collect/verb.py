"""`turbotui collect`: writes the journal of its readings to stdout, or serves it at a unix socket."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys

from turbotui.commands.arguments import add_watching_arguments, whole
from turbotui.commands.elsewhere import (
    SshSource,
    add_host_arguments,
    check_host_arguments,
    copy_records,
    watching_words,
    way_to_host,
)
from turbotui.errors import UsageError
from turbotui.machine.signal_guard import ending_signals
from turbotui.recording.framing import RecordingError
from turbotui.untrusted import one_line

_INTERVAL = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_watching_arguments(parser, _INTERVAL)
    add_host_arguments(parser)
    parser.add_argument("--socket", metavar="PATH",
                        help="serve a unix socket instead of stdout; turbotui --connect PATH needs no privileges")
    parser.add_argument("--group", metavar="NAME",
                        help="with --socket: members of this group may connect, beside root and this user")
    parser.add_argument("--requests", action="store_true",
                        help="read from stdin which signals the reader shows, and end when stdin does")
    parser.add_argument("--tables", metavar="NAMES", default="",
                        help="for a reader that cannot ask, such as a file: these tables, too, as turbotui record "
                        "--tables, comma separated: interrupts,tasks")
    parser.add_argument("-n", "--intervals", metavar="N", type=whole,
                        help="for such a reader: end after this many intervals")


def run(arguments: argparse.Namespace) -> int:
    """Collect until a signal, or until the reader is gone.

    Raises:
        UsageError: stdout is a terminal, or the group does not exist.
        SocketFileError: the socket cannot be created.
        TurbotuiError: the machine cannot be read, or sampling failed.
    """
    if arguments.intervals is not None and arguments.intervals < 1:
        raise UsageError(f"-n {arguments.intervals}: at least one interval")
    for option, given in (("--tables", arguments.tables), ("-n", arguments.intervals)):
        if given and (arguments.requests or arguments.socket is not None):
            raise UsageError(f"{option} is for a reader that cannot ask: this one asks for what it shows")
    check_host_arguments(arguments)
    if arguments.host and (arguments.requests or arguments.socket is not None):
        raise UsageError("--host is for stdout: a socket and requests are for a collector of this machine")
    if arguments.socket is not None:
        return _serve(arguments)
    if arguments.group is not None:
        raise UsageError("--group is for the socket of --socket PATH")
    if sys.stdout is None or sys.stdout.isatty():
        raise UsageError("readings are bytes for a program: turbotui collect | turbotui view -")
    if arguments.host:
        return _relay(arguments)
    return _answer(arguments) if arguments.requests else _record(arguments)


def _relay(arguments: argparse.Namespace) -> int:
    """Send what a collector on another machine sends."""
    from turbotui.features.collect.engine import mind_reader  # noqa: PLC0415 - --help stays fast
    from turbotui.recording.recorder import RecordingPipe  # noqa: PLC0415 - as above

    words = [*watching_words(arguments), *(() if arguments.intervals is None else (f"-n{arguments.intervals}",)),
             *((f"--tables={arguments.tables}",) if arguments.tables else ())]
    source = SshSource(way_to_host(arguments, ("collect", *words)))
    pipe = RecordingPipe(sys.stdout.fileno())

    def stop() -> None:
        pipe.stop()
        source.stop()

    mind_reader(pipe, stop)
    with contextlib.closing(source), ending_signals(stop) as ended:
        try:
            copy_records(source, pipe.write)
        except RecordingError as error:
            if pipe.failed:
                raise BrokenPipeError from error
            raise
        failure = source.failure()
    if failure:
        raise RecordingError(failure)
    return ended.status


def _answer(arguments: argparse.Namespace) -> int:
    """Send what a reader asks for."""
    from turbotui.commands.sessions import open_session  # noqa: PLC0415 - --help stays fast
    from turbotui.features.collect.engine import PipeCollector  # noqa: PLC0415 - as above
    from turbotui.recording.recorder import RecordingPipe  # noqa: PLC0415 - as above
    from turbotui.sampling.row_tables import known_kinds  # noqa: PLC0415 - as above

    session, columns = open_session(arguments)
    collector = PipeCollector(session, [column.id for column in columns], RecordingPipe(sys.stdout.fileno()),
                              [definition.source for definition in known_kinds().values()])
    with ending_signals(collector.stop) as ended:
        try:
            collector.run(os.dup(0))
        except RecordingError as error:
            raise BrokenPipeError from error
    return ended.status


def _record(arguments: argparse.Namespace) -> int:
    """Send a whole recording, because the reader cannot ask for what a diagnosis needs, or is a file."""
    from turbotui.commands.recording import kept_answers  # noqa: PLC0415 - the diagnosis is large
    from turbotui.commands.sessions import open_session  # noqa: PLC0415 - as above
    from turbotui.features.collect.engine import mind_reader  # noqa: PLC0415 - as above
    from turbotui.features.record.engine import (  # noqa: PLC0415 - as above
        absent_columns,
        prepare,
        record,
        refuse_marks,
        requested_tables,
    )
    from turbotui.recording.recorder import Recorder, RecordingPipe  # noqa: PLC0415 - as above

    tables = requested_tables(arguments.tables)
    refuse_marks(tables)
    session, columns = open_session(arguments)
    _columns, notes = prepare(session, columns, tables)
    for sentence in (*absent_columns(session, columns, arguments.choices), *notes):
        print(f"turbotui: {one_line(sentence)}", file=sys.stderr, flush=True)
    pipe = RecordingPipe(sys.stdout.fileno())

    def stop() -> None:
        pipe.stop()
        session.stop(0.0)

    recorder = Recorder(pipe, session.machine, kept=kept_answers(session.machine))
    mind_reader(pipe, stop)
    with ending_signals(stop) as ended:
        result = record(session, recorder, intervals=arguments.intervals, tables=tables, tell=_tell_missing)
    if result.failure:
        raise BrokenPipeError
    return ended.status


def _tell_missing(what: str, why: str) -> None:
    print(f"turbotui: no {what} were sent: {one_line(why)}", file=sys.stderr, flush=True)


def _serve(arguments: argparse.Namespace) -> int:
    from turbotui.commands.sessions import open_session  # noqa: PLC0415 - --help stays fast
    from turbotui.remote.server import Admission, SocketCollector  # noqa: PLC0415 - as above
    from turbotui.remote.socket_file import group_number, listening_socket  # noqa: PLC0415 - as above
    from turbotui.sampling.row_tables import known_kinds  # noqa: PLC0415 - as above
    from turbotui.sampling.sampled import raise_failure  # noqa: PLC0415 - as above

    if arguments.requests:
        raise UsageError("--requests is for a pipe: clients of a socket ask through it")
    group = None if arguments.group is None else group_number(arguments.group)
    session, columns = open_session(arguments)
    with listening_socket(arguments.socket, group) as listener:
        collector = SocketCollector(session, [column.id for column in columns], Admission(os.geteuid(), group),
                                    [definition.source for definition in known_kinds().values()])
        with ending_signals(collector.stop) as ended:
            collector.run(listener)
    raise_failure(session)
    return ended.status
