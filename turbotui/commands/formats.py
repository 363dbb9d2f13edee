"""--format of the verbs: the option, and the writer of a verb's tables in the requested format."""

from __future__ import annotations

import argparse
import contextlib
import functools
import io
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from turbotui.quantities.tables import AnyTable
from turbotui.tables.envelope import Envelope
from turbotui.tables.formats import NAMES, TEXT, Writer, two_formats
from turbotui.tables.saving import writing_new
from turbotui.tables.table import PIPED, TableText


class OneFormat(argparse.Action):
    """Stores the format of an output, and refuses a second one."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace,
                 values: str | Sequence[Any] | None, option_string: str | None = None) -> None:
        """Store the format that --format or --json names. Raises UsageError if another format was given before."""
        del option_string
        name = str(values or self.const)
        if (before := getattr(namespace, _GIVEN, name)) != name:
            parser.error(two_formats(before, name))
        setattr(namespace, _GIVEN, name)
        setattr(namespace, self.dest, name)


_GIVEN: Final = "given_format"
"""The attribute of a namespace for the requested format; absent if none was requested."""


TRACE: Final = "trace"
"""The format of a trace, of verbs that know when something was: Chrome's trace events."""


def add_format_arguments(parser: argparse.ArgumentParser, tables: Sequence[str] = (), *, traced: str = "") -> None:
    """Declare --format, --json and, for a verb with several tables, --table.

    Args:
        tables: the names of its tables; the first is the one that CSV writes.
        traced: when the verb writes traces, in words; "" if it writes none.
    """
    trace = f"; trace {traced}: Chrome's trace events, which ui.perfetto.dev opens" if traced else ""
    parser.add_argument("--format", choices=(*NAMES, TRACE) if traced else NAMES, default=TEXT, action=OneFormat,
                        help="text for people (default), an aligned table, csv, json (see docs/table.schema.json) or "
                        f"openmetrics{trace}")
    parser.add_argument("--json", dest="format", action=OneFormat, nargs=0, const="json", help="as --format json")
    if len(tables) > 1:
        parser.add_argument("--table", choices=tables, default="", help=f"only this table (csv: {tables[0]})")
    else:
        parser.set_defaults(table="")


def add_output_argument(parser: argparse.ArgumentParser) -> None:
    """Declare --output, for verbs that run a command, which prints to the same stdout; `to_output` follows it."""
    parser.add_argument("-o", "--output", metavar="FILE", default="",
                        help="print to this new file instead of stdout, where a command's own output would stand "
                             "between the lines")


def to_output(run: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """Let a verb print to the file of --output, if that was given.

    The file must not exist yet, and remains only if the verb ends without an error.
    """
    @functools.wraps(run)
    def running(arguments: argparse.Namespace) -> int:
        if not arguments.output:
            return run(arguments)
        with writing_new(arguments.output) as file:
            text = io.TextIOWrapper(file, "utf-8", "backslashreplace", write_through=True)
            with contextlib.redirect_stdout(text):
                status = run(arguments)
            text.detach()
            return status

    return running


def make_writer(arguments: argparse.Namespace, intervals: int | None = 1, *, marks: bool = False) -> Writer | None:
    """The writer of the requested format; None for text, which the verb prints itself."""
    if arguments.format == TEXT:
        return None
    return Writer(arguments.format, print_lines, arguments.table, intervals, marks=marks)


def print_tables(arguments: argparse.Namespace, envelope: Envelope, tables: Sequence[AnyTable],
                 text: Callable[[], Iterable[str]] | None = None, *, marks: bool = False) -> None:
    """Print the tables of a verb that prints once.

    Args:
        tables: the first is the one that CSV writes.
        text: returns the lines for people; without it the tables are printed, below the mark of a machine that is not
            real.
    """
    writer = make_writer(arguments, marks=marks)
    if writer is None:
        print_lines(marked(envelope, _text(envelope, tables)) if text is None else text())
        return
    writer.write(envelope, tables)
    writer.end()


def marked(envelope: Envelope, lines: Iterable[str]) -> Iterator[str]:
    """Lines for people, below the mark of a machine that is not real."""
    if envelope.label:
        yield f"# {envelope.label}"
    yield from lines


def _text(envelope: Envelope, tables: Sequence[AnyTable]) -> Iterator[str]:
    for at, table in enumerate(tables):
        yield from ("",) if at else ()
        yield from text_lines(envelope, table)


def print_lines(lines: Iterable[str]) -> None:
    """Print lines and flush stdout, so that a reader of a pipe gets whole tables."""
    text = "".join(f"{line}\n" for line in lines)
    if text:
        sys.stdout.write(text)
        sys.stdout.flush()


def terminal_room() -> int | None:
    """The characters of a line of the terminal; None if stdout is no terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def text_lines(envelope: Envelope, table: AnyTable, *, indent: str = "", room: int | None = None,
               way: str = PIPED) -> Iterator[str]:
    """A table for people, without the line of its time; `room` and `way` are those of `TableText`."""
    for line in TableText(headed=False, room=room, way=way).lines(envelope, table):
        yield f"{indent}{line}".rstrip()
