"""The report on an ended command: how it ended, its duration, the machine's activity, and its tasks."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from turbotui.commands.formats import text_lines
from turbotui.features.tasks.energy import share_out
from turbotui.features.tasks.parallel_columns import MADE_LONG
from turbotui.features.tasks.tables import Grouping
from turbotui.features.tasks.text import TaskInterval, in_text
from turbotui.machine.tasks.proc_facts import ProcFacts, TaskLooks
from turbotui.quantities.scope import SYSTEM_ROW, Scope
from turbotui.tables.envelope import envelope_now
from turbotui.tables.frame_table import FrameTable, envelope_of
from turbotui.tables.layout import Layout

if TYPE_CHECKING:
    from turbotui.features.dashboard.beside import CommandBeside
    from turbotui.features.tasks.watched_applications import WatchedApplications
    from turbotui.machine.machine import Machine
    from turbotui.sampling.frame import Frame
    from turbotui.sampling.session import Session

_REGIONS: Final = 20
"""The most regions in the table of regions."""
_TASKS: Final = 10
"""The most commands in the table of tasks."""
_CPUS: Final = 32
"""The most CPUs with rows of their own; with more, only the machine's row is shown."""


_MEANS: Final = ((("Busy%", "Load%"), "CPUs {:.1f} % busy"), (("Bzy_MHz",), "{:,.0f} MHz while busy"),
                 (("IPC",), "{:.2f} instructions a cycle"))
"""The facts of the whole machine: columns, of which the first known one is used, with their words."""


def report_lines(beside: CommandBeside, session: Session, room: int | None) -> Iterator[str]:
    """Format the report on a command that has ended, or was left running.

    Args:
        room: characters of a line of the terminal; None for unlimited.
    """
    frame, machine = beside.frame, session.machine
    yield from _in_words(f"{beside.title}: {beside.state}{_used(beside)}", room)
    if frame is not None and frame.older is not None:
        facts = [*_means(frame, session), *_energy(beside, frame)]
        if facts:
            yield from _in_words(f"The machine meanwhile: {', '.join(facts)}", room)
        yield ""
        many = len(frame.topology.cpus) > _CPUS
        layout = Layout(beside.columns, summary_only=many, machine=machine.host.name, kind=machine.host.kind)
        yield from text_lines(envelope_of(frame, layout), FrameTable(frame, layout), room=room)
    tasks: list[str] = []
    beside.finish_tasks(lambda watching: tasks.extend(_task_lines(watching, beside, machine, room)))
    if tasks:
        yield ""
        yield from tasks
    totals = None if beside.regions is None else beside.regions.totals()
    if totals is not None and totals.regions:
        yield from ("", "Regions that the command marks:")
        table = totals.table
        yield from text_lines(envelope_now(machine.host), replace(table, rows=table.rows[:_REGIONS]), room=room)
        more = len(table.rows) - _REGIONS
        yield from [f"and {more} more regions: turbotui tasks -- COMMAND shows all"] if more > 0 else []
        yield from (line for note in totals.notes() for line in _in_words(f"# {note}", room))
    if beside.keeper is not None and not beside.keeper.failure:
        yield from ("", "turbotui replay shows this run again")


def _in_words(text: str, room: int | None) -> list[str]:
    """Wrap a sentence between words, because half a number is another number."""
    return [text] if room is None else textwrap.wrap(text, room, subsequent_indent="  ", break_long_words=False,
                                                     break_on_hyphens=False)


def _used(beside: CommandBeside) -> str:
    """Describe the CPU time, and the average number of busy CPUs."""
    used, seconds = beside.cpu_seconds, beside.seconds
    if used is None:
        return ""
    return f", {used:.2f} s of CPU time" + (f" ({used / seconds:.2f} CPUs busy)" if seconds else "")


def _means(frame: Frame, session: Session) -> Iterator[str]:
    for names, words in _MEANS:
        columns = (session.catalog.get(name) for name in names)
        values = (frame.cell(column, SYSTEM_ROW) for column in columns if column is not None)
        value = next((value for value in values if isinstance(value, int | float)), None)
        if value is not None:
            yield words.format(value)


def _energy(beside: CommandBeside, frame: Frame) -> Iterator[str]:
    energy = beside.energy
    if (joules := energy.total(len(frame.topology.instances(Scope.PACKAGE)))) is not None and energy.span:
        yield f"{joules:,.1f} J ({joules / energy.span:,.1f} W)"


def _task_lines(watching: WatchedApplications, beside: CommandBeside, machine: Machine, room: int | None) -> list[str]:
    """Format the tasks that the command started, busiest first; called while their counters are closed."""
    application, by = watching.watched[0], Grouping.COMMAND
    report = watching.report(application, by, whole=True)
    joules = share_out(report, beside.energy, machine.topology)
    most = replace(report, rows=report.rows[:_TASKS])
    shown = TaskInterval(most, application.aggregate, None, joules, beside.energy, by, machine.host,
                         looks=TaskLooks(ProcFacts(machine.host)))
    if report.parallel is not None and report.parallel.why is None and beside.keeper is not None:
        beside.keeper.mark(f"{MADE_LONG}{report.serial_part}")  # the replay's tasks screen has it from there
    more = len(report.rows) - _TASKS
    lines = list(text_lines(shown.envelope, in_text(shown.tasks), room=room))
    return [*lines, *([f"and {more} more commands: turbotui tasks -- COMMAND shows all"] if more > 0 else []),
            *(_in_words(f"# {report.serial_part}", room) if report.serial_part else [])]
