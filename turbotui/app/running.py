"""Run the application until the user leaves, and report failures on stderr."""

from __future__ import annotations

import gc
import os
import signal
import sys
import traceback
from collections.abc import Callable

from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.failures import Failure, Failures
from turbotui.errors import InternalError, TerminalError, signal_status
from turbotui.machine.allocator import return_free_pages
from turbotui.machine.signal_guard import ENDING, guarded_signals


def run_app(app: TurbotuiApp, stop: Callable[[], None], failure: Callable[[], BaseException | None],
            left_by: Callable[[], int] = lambda: 0) -> int:
    """Run an application and restore the terminal at its end.

    Args:
        app: not started yet.
        failure: what ended the sampling, if anything.
        left_by: the signal that asked the program to end before signals were handled here; 0 for none.

    Returns:
        The exit status: as a shell has it, with 128 and the signal's number, where a signal ended the program.

    Raises:
        InternalError: a fault of turbotui.
    """
    gc.freeze()  # to look for cycles here took 20 to 60 ms of the time to the first screen, and found 200 objects
    leaving = dict.fromkeys(ENDING, app.request_leave)
    with guarded_signals({signal.SIGUSR1: lambda _number: app.request_end_interval(), **leaving}):
        try:
            if number := left_by():
                app.request_leave(number)
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
    if app.terminal_lost:
        return TerminalError.exit_status
    return signal_status(app.left_by) if app.left_by else 0


def _tell(failures: Failures, ending: Failure | None) -> None:
    """Report contained failures on stderr, with tracebacks if TURBOTUI_TRACEBACK=1."""
    for failure in failures.seen:
        if failure is not ending:
            print(f"turbotui: {failure.sentence}", file=sys.stderr)
            if os.environ.get("TURBOTUI_TRACEBACK"):
                traceback.print_exception(failure.error)


def freeze_objects() -> None:
    """Freeze objects that live for ever (modules, catalog, topology, widgets), so that no collection walks them again.

    Call it at the start only, because cycles among frozen objects are never freed: at every change of screens it kept
        0.6 MB. Frames have no cycles, so collections become rare from now on, because they would run in the middle of a
        key press.
    """
    gc.set_threshold(20_000, 50, 100)
    gc.collect()
    gc.freeze()


def collect_garbage() -> None:
    """Free the remains of closed windows: up to a megabyte of cycles each (widgets and their styles)."""
    gc.collect()
    return_free_pages()
