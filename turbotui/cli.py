"""The command line: finds the verb, imports only its module, turns errors into one sentence and an exit status."""

from __future__ import annotations

import argparse
import errno
import gc
import importlib
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NoReturn

from turbotui import __version__
from turbotui.errors import InternalError, TurbotuiError, UsageError
from turbotui.feature import Command
from turbotui.features import COMMANDS
from turbotui.tables.terminal_text import terminal_texts
from turbotui.untrusted import one_line, visible

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_EPILOG = """commands:
{commands}

Without a command the dashboard starts. Each command has its own --help.
turbotui [OPTIONS] -- COMMAND runs a command beside the dashboard, ends with it, and reports on it; its exit status is
the command's, 127 where there is no such command, 126 where it cannot be run.
Exit status: 0 done, 1 failed, 2 a word on the command line, 3 the machine cannot be read, 4 no usable terminal,
70 a fault of turbotui itself."""


_FULL: Final = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF))


_COLLECT_AFTER: Final = 50_000
"""Objects that may be made, beyond those that were freed, before the youngest are looked through for cycles."""


class Parser(argparse.ArgumentParser):
    """argparse, but a wrong word is one sentence and a `UsageError`."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing usage.

        Raises:
            UsageError: always.
        """
        raise UsageError(f"{message} (see {self.prog} --help)")

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        """Print help or version. argparse's own loses what cannot be written."""
        if message:
            (sys.stderr if file is None else file).write(message)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line.

    Returns:
        The exit status (README, "Exit status").
    """
    # what is imported stays: looking through it again and again takes a start 7 ms
    gc.set_threshold(_COLLECT_AFTER, *gc.get_threshold()[1:])
    words = [visible(word) for word in (sys.argv[1:] if argv is None else argv)]
    with terminal_texts():
        status = _status(words)
    if argv is None:  # the program ends: the interpreter's last looks for cycles would take 25 ms of all that is there
        gc.freeze()
    return status


def _status(words: list[str]) -> int:
    try:
        return _written(_run(words))
    except TurbotuiError as error:
        if isinstance(error, InternalError) and os.environ.get("TURBOTUI_TRACEBACK"):
            import traceback  # noqa: PLC0415 - 2 ms that a start need not take

            traceback.print_exception(error)  # here it is the exception behind it that is wanted
        print(f"turbotui: {one_line(str(error))}", file=sys.stderr)
        return error.exit_status
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is still buffered has no reader
        return 128 + 13  # as if SIGPIPE had ended it
    except KeyboardInterrupt:
        return 128 + 2
    except Exception as error:
        if isinstance(error, OSError) and _is_full(error):
            # what is still buffered would fail again when the interpreter ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            print(f"turbotui: cannot write to stdout: {error.strerror}", file=sys.stderr)
            return TurbotuiError.exit_status
        if os.environ.get("TURBOTUI_TRACEBACK"):
            raise
        print(
            f"turbotui: internal error: {type(error).__name__}: {one_line(str(error))} "
            "(set TURBOTUI_TRACEBACK=1 to see where; please report it)",
            file=sys.stderr,
        )
        return InternalError.exit_status


def _written(status: int) -> int:
    """The exit status after stdout was flushed, so that a failed write shows here and not at the interpreter's end."""
    if sys.stdout is not None and not sys.stdout.closed:
        sys.stdout.flush()
    return status


def _is_full(error: Exception) -> bool:
    """Whether stdout is what failed: a write names no file, and other files have their own errors."""
    return type(error) is OSError and error.filename is None and error.errno in _FULL


def _run(words: list[str]) -> int:
    command = next((command for command in COMMANDS if command.name and words[:1] == [command.name]), None)
    if command is not None:
        return _dispatch(command, words[1:])
    if words and not words[0].startswith("-"):
        known = ", ".join(item.name for item in COMMANDS if item.name)
        raise UsageError(f'unknown command "{words[0]}"; there are: {known}')
    return _dispatch(COMMANDS[0], words)


def _dispatch(command: Command, words: list[str]) -> int:
    module = importlib.import_module(command.module)
    if command.reads_words:
        ended: int = module.main(words)
        return ended
    width = max(len(item.name) for item in COMMANDS)
    listing = "\n".join(f"  {item.name:<{width}}  {item.summary}" for item in COMMANDS if item.name)
    parser = Parser(
        prog=f"turbotui {command.name}".strip(),
        description=command.summary[0].upper() + command.summary[1:] + ".",
        epilog=None if command.name else _EPILOG.format(commands=listing),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=bool(command.name),
    )
    if not command.name:
        parser.add_argument("--version", action="version", version=f"turbotui {__version__}")
    module.add_arguments(parser)
    own, rest = _parted(words) if command.runs else (words, [])
    try:
        arguments = parser.parse_args(_with_values(own))
    except SystemExit:  # --help and --version are printed, and what cannot be written is still to show
        return 0
    if command.runs:
        arguments.command = rest
    status: int = module.run(arguments)
    return status


def _with_values(words: list[str]) -> list[str]:
    """The words with times that begin with a minus (`--from -30m`) joined to their options: `--from=-30m`.

    argparse takes such a word for an option, though no option begins with a digit.
    """
    found: list[str] = []
    for word in words:
        if len(word) > 1 and word[0] == "-" and word[1].isdecimal() and found and found[-1].startswith("--"):
            found[-1] = f"{found[-1]}={word}"
        else:
            found.append(word)
    return found


def _parted(words: list[str]) -> tuple[list[str], list[str]]:
    """The words before --, and those behind it."""
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1:]
