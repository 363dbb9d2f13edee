"""The command line: find the verb, import only its module, turn errors into one sentence and an exit status."""

from __future__ import annotations

import errno
import gc
import importlib
import os
import signal
import sys
from collections.abc import Sequence
from typing import Final

from turbotui.errors import (
    InternalError,
    SignalledError,
    TurbotuiError,
    UsageError,
    ending_behind,
    signal_status,
)
from turbotui.feature import Command
from turbotui.feature_list import COMMANDS
from turbotui.installed_features import FAILED, foreign_failure
from turbotui.machine.signal_guard import ended_by_signals
from turbotui.tables.terminal_text import terminal_texts
from turbotui.untrusted import one_line, visible

_FULL: Final = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF))


_COLLECT_AFTER: Final = 50_000
"""Number of net allocations before the youngest generation is searched for cycles."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line.

    Returns:
        The exit status (README, "Exit status").
    """
    # imported objects stay: searching them again and again took 0, 2 and 6 % of `stat -n1` in three runs
    gc.set_threshold(_COLLECT_AFTER, *gc.get_threshold()[1:])
    words = [visible(word) for word in (sys.argv[1:] if argv is None else argv)]
    with terminal_texts(), ended_by_signals():
        status = _status(words)
        for sentence in FAILED.values():
            print(f"turbotui: {sentence}", file=sys.stderr)
    if argv is None:  # the program ends: the interpreter's last looks for cycles would take 25 ms of all that is there
        gc.freeze()
    return status


def _status(words: list[str]) -> int:
    try:
        return _written(_run(words))
    except TurbotuiError as error:
        if isinstance(error, InternalError) and os.environ.get("TURBOTUI_TRACEBACK"):
            import traceback  # noqa: PLC0415 - 2 ms that a start need not take

            traceback.print_exception(error)  # the exception behind this one is wanted
        print(f"turbotui: {one_line(str(error))}", file=sys.stderr)
        return error.exit_status
    except BrokenPipeError:
        _drop_output()  # what is still buffered has no reader
        return signal_status(signal.SIGPIPE)  # exit as if SIGPIPE had ended the program
    except (KeyboardInterrupt, SignalledError) as ended:
        return _ended(ended)
    except Exception as error:
        if (ended_by := ending_behind(error)) is not None:
            return _ended(ended_by)
        # an error of a write names no file, and other files have errors of their own
        if type(error) is OSError and error.filename is None and error.errno in _FULL:
            _drop_output()  # the interpreter's exit would fail again on what is still buffered
            print(f"turbotui: cannot write to stdout: {error.strerror}", file=sys.stderr)
            return TurbotuiError.exit_status
        if os.environ.get("TURBOTUI_TRACEBACK"):
            raise
        parts = (command.rows or command.module for command in COMMANDS if words[:1] == [command.name])
        if foreign_failure(error, next(parts, "")):
            return InternalError.exit_status
        print(
            f"turbotui: internal error: {type(error).__name__}: {one_line(str(error))} "
            "(set TURBOTUI_TRACEBACK=1 to see where; please report it)",
            file=sys.stderr,
        )
        return InternalError.exit_status


def _ended(by: KeyboardInterrupt | SignalledError) -> int:
    _drop_output()  # a reader that takes nothing would keep the program from its end
    return signal_status(signal.SIGINT) if isinstance(by, KeyboardInterrupt) else by.exit_status


def _drop_output() -> None:
    """Write nothing more to stdout, whatever is still buffered."""
    if sys.stdout is not None and not sys.stdout.closed:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _written(status: int) -> int:
    """The exit status after stdout was flushed, so that a failed write shows here and not at the interpreter's end."""
    if sys.stdout is not None and not sys.stdout.closed:
        sys.stdout.flush()
    return status


def _run(words: list[str]) -> int:
    command = next((command for command in COMMANDS if command.name and words[:1] == [command.name]), None)
    if command is not None:
        return _dispatch(command, words[1:])
    if words and not words[0].startswith("-"):
        from difflib import get_close_matches  # noqa: PLC0415 - for a mistyped word only

        near = get_close_matches(words[0], [item.name for item in COMMANDS if item.name], n=2, cutoff=0.5)
        meant = f"did you mean {' or '.join(near)}? " if near else ""
        raise UsageError(f'unknown command "{words[0]}": {meant}turbotui --help lists them, and -- {words[0]} runs a '
                         "program beside the dashboard")
    return _dispatch(COMMANDS[0], words)


def _dispatch(command: Command, words: list[str]) -> int:
    if command.reads_words:
        ended: int = importlib.import_module(command.module).main(words)
        return ended
    from turbotui.commands.parser import run_parsed  # noqa: PLC0415 - stat, which starts often, reads its words itself

    return run_parsed(command, COMMANDS, words)
