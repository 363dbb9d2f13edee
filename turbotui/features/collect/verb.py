"""`turbotui collect`: writes the journal of what it reads to stdout, or serves it at a unix socket."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager

from turbotui.commands.arguments import add_watching_arguments
from turbotui.errors import UsageError
from turbotui.machine.signal_guard import guarded_signals

_INTERVAL = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_watching_arguments(parser, _INTERVAL)
    parser.add_argument("--requests", action="store_true",
                        help="read from stdin which signals the reader shows, and end when stdin does")


def run(arguments: argparse.Namespace) -> int:
    """Collect until a signal, or until nobody reads.

    Raises:
        UsageError: stdout is a terminal.
        TurbotuiError: the machine cannot be read, or sampling failed.
    """
    if sys.stdout is None or sys.stdout.isatty():
        raise UsageError("readings are bytes for a program: turbotui collect | turbotui view -")
    from turbotui.commands.watching import open_session  # noqa: PLC0415 - --help stays fast
    from turbotui.features.collect.engine import PipeCollector  # noqa: PLC0415 - as above

    session, columns = open_session(arguments)
    collector = PipeCollector(session, [column.id for column in columns], sys.stdout.fileno())
    with _until_signal(collector.stop):
        collector.run(os.dup(0) if arguments.requests else None)
    return 0


def _until_signal(stop: Callable[[], None]) -> AbstractContextManager[None]:
    return guarded_signals(dict.fromkeys((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), lambda _number: stop()))
