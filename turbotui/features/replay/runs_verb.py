"""`turbotui runs`: the kept runs of the dashboard."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Iterator
from typing import Final

from turbotui.commands.formats import add_format_arguments, print_tables, terminal_room, text_lines
from turbotui.dataclass import dataclass
from turbotui.machine.linux import LinuxHost
from turbotui.quantities.columns import Column, Value
from turbotui.quantities.moments import NS, local_time
from turbotui.quantities.tables import Cell, RowTable
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.recording.kept_runs import (
    MOST_BYTES,
    MOST_RUNS,
    RecordedRun,
    RunFacts,
    kept_runs,
    run_facts,
    runs_folder,
)
from turbotui.tables.envelope import envelope_now
from turbotui.untrusted import one_line


@dataclass(frozen=True, slots=True)
class RunRow:
    """A row of the table of runs."""

    number: int
    run: RecordedRun
    facts: RunFacts
    size: int


def _begun(row: RunRow) -> str | None:
    return None if row.facts.why else f"{local_time(row.facts.first_ns):%Y-%m-%d %H:%M:%S}"


def _seconds(row: RunRow) -> float | None:
    return None if row.facts.why else (row.facts.last_ns - row.facts.first_ns) / NS


def _judged(_column: Column[RunRow], row: RunRow, value: Value) -> Cell:
    """The cell of a run, with the reason why its recording cannot be read."""
    return Cell(value, None if value is not None else Unavailable(Reason.FAILED, row.facts.why))


RUN_COLUMNS: Final[tuple[Column[RunRow], ...]] = (
    Column("run", "", 0, (), lambda row: row.number, help="number, the newest first, as in turbotui replay 1",
           identity=True),
    Column("begun", "", -1, (), _begun, help="local time of its first reading"),
    Column("lasted", "s", 0, (), _seconds, help="time from the first reading to the last"),
    Column("MiB", "MiB", 1, (), lambda row: row.size / 2**20, help="size of all of its files"),
    Column("name", "", -1, (), lambda row: row.run.name, help="name, as in turbotui replay NAME"),
    Column("what", "", -1, (), lambda row: one_line(row.facts.why or shlex.join(row.facts.command) or "the dashboard"),
           help="the command beside the dashboard, or why its recording cannot be read"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_format_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """List the kept runs."""
    rows = tuple(RunRow(at, run, run_facts(run), run.size) for at, run in enumerate(kept_runs(os.environ), 1))
    table = RowTable("runs", "run", RUN_COLUMNS, rows, judge=_judged)
    envelope = envelope_now(LinuxHost())

    def text() -> Iterator[str]:
        if not rows:
            yield f"no run of the dashboard is kept in {runs_folder(os.environ)}"
            return
        yield from text_lines(envelope, table, room=terminal_room())
        yield ""
        yield (f"turbotui replay shows run 1, turbotui replay 2 the one before; the last {MOST_RUNS} are kept in "
               f"{runs_folder(os.environ)}, {MOST_BYTES >> 20} MiB at most (keep_runs = false in the settings: none)")

    print_tables(arguments, envelope, (table,), text)
    return 0
