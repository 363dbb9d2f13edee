"""The output streams of `turbotui stat`: rows, and notes (docs/specs/turbostat.md 1.2)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

from turbotui.errors import TurbotuiError
from turbotui.feature_list import FEATURES, part_called
from turbotui.features.stat.options import StatError, StatOptions
from turbotui.untrusted import one_line

if TYPE_CHECKING:  # imported here, because --version needs none
    from turbotui.machine.machine import Machine


class Streams:
    """Writes rows to stdout (in command mode to stderr) and the header to stderr; with --out both to the file.

    In a format for programs the file of --out has the rows alone, so that it can be parsed.

    Raises:
        StatError: the file cannot be created (exit status 1).
        TurbotuiError: there is no stdout.
    """

    def __init__(self, options: StatOptions) -> None:
        self._file: TextIO | None = None
        if options.out:
            from turbotui.machine.own_files import open_output  # noqa: PLC0415 - most runs write no file

            try:
                self._file = open_output(options.out)
            except OSError as error:
                raise StatError(f"{options.out} cannot be written: {error.strerror or error}", 1) from error
        self._to_stderr = bool(options.command)
        self._notes = self._file if options.for_people else None
        if self._rows is None or not self._rows.writable():
            raise TurbotuiError("there is no stdout to print on: it was closed before turbotui started")

    @property
    def _rows(self) -> TextIO | None:
        return self._file or (sys.stderr if self._to_stderr else sys.stdout)

    def rows(self, lines: Iterable[str]) -> None:
        """Write lines of the table at once.

        Raises:
            BrokenPipeError: the reader closed the pipe.
            TurbotuiError: writing failed.
        """
        self._write(self._rows, lines)

    def notes(self, lines: Iterable[str]) -> None:
        """Write lines of the header at once."""
        self._write(self._notes or sys.stderr, lines)

    def configuration(self, machine: Machine, options: StatOptions) -> None:
        """Write the configuration header; with --quiet only its warnings (docs/specs/turbostat.md 5)."""
        self.notes(text for feature in FEATURES
                   for text, always in part_called(feature.preface, tuple, machine, options.debug > 0)
                   if always or not options.quiet)

    def _write(self, stream: TextIO | None, lines: Iterable[str]) -> None:
        text = "".join(f"{line}\n" for line in lines)
        if stream is None or not text:
            return
        try:
            stream.write(text)
            stream.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            # Otherwise buffered data would be written again, and fail again, at the interpreter's end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            what = stream.name if self._file is not None else "stderr" if stream is sys.stderr else "stdout"
            raise TurbotuiError(f"cannot write to {what}: {error.strerror or error}") from error

    def close(self) -> None:
        """Close the file, if there is one."""
        if self._file is not None:
            self._file.close()


def warn(text: str) -> None:
    """Print a sentence on stderr, wherever the output goes (docs/specs/turbostat.md 1.2)."""
    print(f"turbotui: {one_line(text)}", file=sys.stderr)
