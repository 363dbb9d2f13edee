"""Runs the application until the person leaves, and says on stderr what failed."""

from __future__ import annotations

import gc
import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager

from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.failures import Failure, Failures
from turbotui.errors import InternalError, TerminalError
from turbotui.machine.signal_guard import guarded_signals


def run_app(app: TurbotuiApp, stop: Callable[[], None], failure: Callable[[], BaseException | None],
            left: Callable[[], bool] = lambda: False) -> int:
    """Run an application, and restore the terminal when it ends.

    Args:
        app: not started yet.
        stop: ends what the application shows, however it ended itself.
        failure: what ended the sampling, if anything did.
        left: whether the program was asked to end before signals came here.

    Returns:
        The exit status.

    Raises:
        InternalError: something of ours failed.
    """
    settle()
    with _signals(app):
        try:
            if left():
                app.request_leave(signal.SIGTERM)
            app.run()
        finally:
            stop()
    failures = app.containment.failures
    ended_by = failure()
    if app.failure is None and ended_by is not None:
        failures.take(ended_by, "sampling")
    ending = failures.seen[-1] if app.failure or ended_by else None
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


def settle() -> None:
    """Freeze what lives for ever (modules, catalog, topology, widgets): no collection need walk it again.

    At the start only: cycles are never freed of what is frozen. At every change of screens it kept 0.6 MB. A frame has
    no cycles: from now on collections come seldom, for they come in the middle of a key press.
    """
    gc.set_threshold(20_000, 50, 100)
    gc.collect()
    gc.freeze()


def collect() -> None:
    """Free what closed windows have left: up to a megabyte of cycles each (widgets and their styles)."""
    gc.collect()


def _signals(app: TurbotuiApp) -> AbstractContextManager[None]:
    """SIGUSR1 ends the interval; SIGINT, SIGTERM and SIGHUP leave as `q` does, with the terminal restored."""
    leaving = dict.fromkeys((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), app.request_leave)
    return guarded_signals({signal.SIGUSR1: lambda _number: app.request_end_interval(), **leaving})
