"""`turbotui collect`: writes the journal of its readings to stdout, or serves it at a unix socket."""

from __future__ import annotations

import argparse
import os
import sys

from turbotui.commands.arguments import add_watching_arguments
from turbotui.errors import UsageError
from turbotui.machine.signal_guard import ending_signals

_INTERVAL = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_watching_arguments(parser, _INTERVAL)
    parser.add_argument("--socket", metavar="PATH",
                        help="serve a unix socket instead of stdout; turbotui --connect PATH needs no privileges")
    parser.add_argument("--group", metavar="NAME",
                        help="with --socket: members of this group may connect, beside root and this user")
    parser.add_argument("--requests", action="store_true",
                        help="read from stdin which signals the reader shows, and end when stdin does")
    parser.add_argument("--tables", metavar="KINDS", default="",
                        help="for a reader that cannot ask, such as a file: these kinds of rows, too, as turbotui "
                        "record --tables, comma separated: interrupts,memory")


def run(arguments: argparse.Namespace) -> int:
    """Collect until a signal, or until the reader is gone.

    Raises:
        UsageError: stdout is a terminal, or the group does not exist.
        SocketFileError: the socket cannot be created.
        TurbotuiError: the machine cannot be read, or sampling failed.
    """
    if arguments.tables and (arguments.requests or arguments.socket is not None):
        raise UsageError("--tables is for a reader that cannot ask: this one asks for what it shows")
    if arguments.socket is not None:
        return _serve(arguments)
    if arguments.group is not None:
        raise UsageError("--group is for the socket of --socket PATH")
    if sys.stdout is None or sys.stdout.isatty():
        raise UsageError("readings are bytes for a program: turbotui collect | turbotui view -")
    from turbotui.commands.sessions import open_session  # noqa: PLC0415 - --help stays fast
    from turbotui.features.collect.engine import PipeCollector  # noqa: PLC0415 - as above
    from turbotui.sampling.row_tables import known_kinds  # noqa: PLC0415 - as above

    tables = [word.strip() for word in arguments.tables.split(",") if word.strip()]
    strange = next((word for word in tables if word not in known_kinds()), None)
    if strange is not None:
        raise UsageError(f'--tables: "{strange}" is no kind of row; there are {", ".join(known_kinds())}')
    session, columns = open_session(arguments)
    if not arguments.requests:  # the reader cannot ask for what a diagnosis needs, or is a file
        from turbotui.commands.recording import kept_columns, recorded_rows  # noqa: PLC0415 - the diagnosis is large

        columns = (*columns, *kept_columns(session.catalog, session.capabilities, session.machine.topology))
        session.want(column.id for column in columns)
    collector = PipeCollector(session, [column.id for column in columns], sys.stdout.fileno(),
                              [definition.source for definition in known_kinds().values()])
    if not arguments.requests:
        session.read_rows(collector, recorded_rows(tables))
    with ending_signals(collector.stop) as ended:
        collector.run(os.dup(0) if arguments.requests else None)
    return ended.status


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
