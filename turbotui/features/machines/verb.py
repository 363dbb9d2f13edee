"""`turbotui machines`: the simulated machines."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Final

from turbotui.commands.formats import add_format_arguments, print_tables, text_lines
from turbotui.machine.host import HostKind
from turbotui.quantities.columns import Column
from turbotui.quantities.tables import RowTable
from turbotui.simulated import SHAPES
from turbotui.simulated.applications import APPLICATIONS, SimulatedApplication
from turbotui.simulated.causes import CAUSES, SimulatedCause
from turbotui.simulated.shapes import MachineShape
from turbotui.tables.envelope import Envelope

MACHINE_COLUMNS: Final[tuple[Column[MachineShape], ...]] = (
    Column("name", "", -1, (), lambda shape: shape.name, help="name of the model, as in --machine NAME", identity=True),
    Column("packages", "", 0, (), lambda shape: shape.packages, help="processor packages"),
    Column("CPUs", "", 0, (), lambda shape: shape.cpus, help="logical CPUs"),
    Column("summary", "", -1, (), lambda shape: shape.summary, help="summary of the machine"),
)
APPLICATION_COLUMNS: Final[tuple[Column[SimulatedApplication], ...]] = (
    Column("name", "", -1, (), lambda application: application.name,
           help="name of the application, as in --machine NAME+APPLICATION", identity=True),
    Column("summary", "", -1, (), lambda application: application.summary, help="summary of what runs on every CPU"),
)
CAUSE_COLUMNS: Final[tuple[Column[SimulatedCause], ...]] = (
    Column("name", "", -1, (), lambda cause: cause.name,
           help="name of the cause, as in --machine NAME+CAUSE or NAME+CAUSE+CAUSE",
           identity=True),
    Column("summary", "", -1, (), lambda cause: cause.summary, help="summary of the cause's effect on the machine"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_format_arguments(parser, ("machines", "applications", "causes"))


def run(arguments: argparse.Namespace) -> int:
    """List the simulated machines."""
    machines = RowTable("machines", "machine", MACHINE_COLUMNS, tuple(SHAPES.values()))
    applications = RowTable("applications", "application", APPLICATION_COLUMNS, tuple(APPLICATIONS.values()))
    causes = RowTable("causes", "cause", CAUSE_COLUMNS, tuple(CAUSES.values()))
    envelope = Envelope("simulated machines", HostKind.SIMULATED, time.time_ns())

    def text() -> Iterator[str]:
        yield "SIMULATED machines for --machine NAME: models with known answers, nothing on them is measured"
        yield from text_lines(envelope, machines)
        yield ""
        yield "applications for --machine NAME+APPLICATION, on every CPU instead of the machine's own load"
        yield from text_lines(envelope, applications)
        yield ""
        yield "causes of slowness for --machine NAME+CAUSE+..., which turbotui why has to find; calm and idle: none"
        yield from text_lines(envelope, causes)

    print_tables(arguments, envelope, (machines, applications, causes), text)
    return 0
