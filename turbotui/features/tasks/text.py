"""Tables and timelines of tasks as text and JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import field, replace
from typing import Final

from turbotui.cell_widths import cell_count, flush_left, flush_right
from turbotui.commands.formats import text_lines
from turbotui.dataclass import dataclass
from turbotui.features.tasks.application_totals import ApplicationTotals, Totals, multiplexing_sentence
from turbotui.features.tasks.columns import NOT_SCHEDULED, TaskInputs
from turbotui.features.tasks.cpu_time import CPU_TIME
from turbotui.features.tasks.cpu_waits import CpuWaits, cpu_wait_table
from turbotui.features.tasks.energy import method, why_not
from turbotui.features.tasks.fact_columns import ARGUMENTS
from turbotui.features.tasks.loads import LOADS
from turbotui.features.tasks.memory_places import MAPS
from turbotui.features.tasks.parallel_watch import ParallelWatch
from turbotui.features.tasks.report import Report, cpu_seconds
from turbotui.features.tasks.tables import Grouping, TaskRow
from turbotui.features.tasks.task_regions import TaskRegions, region_table
from turbotui.features.tasks.task_table import of_all_sets, task_table, total_table
from turbotui.features.tasks.thread_totals import RUN, RUN_MEANING, SWITCHES
from turbotui.features.tasks.timeline import IDLE, NO_SLICE, STAYS, Stretch, place_texts, place_width
from turbotui.features.tasks.totals_table import ALIVE, ENDED
from turbotui.features.tasks.waits import WAIT, lacking_threads
from turbotui.machine.host import Host
from turbotui.machine.tasks.numa_maps import NodeMemory
from turbotui.machine.tasks.proc_facts import TaskLooks
from turbotui.machine.tasks.sets import Mode, SamplingMoment
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.columns import Value
from turbotui.quantities.sentences import several
from turbotui.quantities.tables import AnyTable, RowTable
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.energy import Energy
from turbotui.tables.envelope import Envelope, envelope_now
from turbotui.tables.text import UNKNOWN

LANE_COLOURS: Final = (36, 33, 32, 35, 34, 31, 96, 93)
"""SGR foreground colours of CPUs 0 to 7; further CPUs begin again (ECMA-48, 8.3.117)."""
_IN_TEXT_TOO: Final = frozenset({"Time_s", "~J", "Wall%", "Parallel", "Alone%"})
_HARM: Final = {
    Mode.CPUS: "what was counted meanwhile is nobody's: it stands in the row (lost samples), and the others lack it",
    Mode.INHERITED: "a thread's row lacks what it did since its last sample, until the next one or its end",
    Mode.THREADS: "a thread's row lacks what it did since its last sample, until the next one or its end",
    Mode.PROC: "",
}
"""What a loss of samples does to rows."""
_SHORT_SLICE_NS: Final = 1_000_000  # of run time a switch: below, what perf leaves out is 3 % and more
_GUESSED: Final = ("by perf's task clock where no schedstat told it and whole CPUs may not be watched; it leaves out "
                   "the way onto a CPU (0.4 us, up to 30 us from an idle one) and 50 us of a process's start and end. "
                   "Else the way out of an idle CPU is taken to be as long as others are, where the kernel does not "
                   "record it")
_LONG_NS: Final = 10_000_000  # of run time, from which a row is spoken of
_RUNNING: Final = "running"
_REASONS: Final = 3  # of missing memory by node that are said
_SOME: Final = 0.05  # threads at a time in a place, from which it is not idle
_STRETCHES: Final = 5  # serial stretches that are listed
_OTHERS: Final = 4  # threads of one wait that are named
_FULL: Final = 0.5  # share of a place from which it is drawn filled


@dataclass(frozen=True, slots=True)
class StartTotals:
    """Totals of an application at the start of an interval."""

    seconds: float = 0.0  # since watching began
    totals: Totals | None = None  # counts; None when it began
    damaged: int = 0  # records that could not be understood


@dataclass(frozen=True, slots=True)
class TaskInterval:
    """The tables and notes of one application over one interval."""

    report: Report  # its rows
    aggregate: ApplicationTotals
    number: int | None  # of the interval; None for the whole run
    joules: Mapping[str, float]  # of rows, by their key, and of what is in no row, by its word
    energy: Energy  # what they were shared out of
    by: Grouping  # what a row stands for
    host: Host
    # what was known when the interval began; of the whole run, nothing
    earlier: StartTotals = field(default_factory=StartTotals)
    looks: TaskLooks = field(default_factory=lambda: TaskLooks(None))  # what /proc says of the rows
    parallel: ParallelWatch | None = None  # who ran beside whom; None where nobody asked
    # that a command marks, over the whole run; None where it marks none, or the run is not over
    regions: TaskRegions | None = None

    @property
    def no_energy(self) -> Unavailable | None:
        """Why there is no share of the energy; None where there is."""
        return why_not(self.report, self.energy)

    @property
    def tasks(self) -> RowTable[TaskInputs]:
        """A row for each thread, process or command."""
        return task_table(self.report, self.by, self.joules, self.no_energy, self.looks)

    @property
    def tables(self) -> tuple[AnyTable, ...]:
        """The table of tasks, the table of their totals, and that of regions where a command marked some."""
        region_rows = () if self.regions is None else self.regions.rows(self.report.parallel)
        regions = (region_table(region_rows),) if region_rows else ()
        return self.tasks, total_table(self.report, self.aggregate, self.joules), *self.cpu_waits, *regions

    @property
    def cpu_waits(self) -> tuple[RowTable[CpuWaits], ...]:
        """The table of waits for each CPU, where waits are read."""
        waits = self.report.cpu_waits
        return (cpu_wait_table(waits, self.report.seconds),) if waits else ()

    @property
    def envelope(self) -> Envelope:
        """The envelope, with facts on the sampling and on lost samples."""
        report, aggregate, now = self.report, self.aggregate, self.so_far()
        whole, earlier = aggregate.totals(), self.earlier.totals or Totals(())
        name = report.application.name
        facts: dict[str, Value] = {
            **({"application": name} if name else {}),
            **({} if self.number is None else {"interval": self.number}),
            "mode": aggregate.choice.mode.name, "sampled": aggregate.choice.when.name, "sets": aggregate.set_count,
            "lost": whole.lost - earlier.lost, "throttled": whole.throttled - earlier.throttled,
            "damaged": report.damaged - self.earlier.damaged,
            "seconds_since_start": now.seconds, "lost_since_start": whole.lost,
            "throttled_since_start": whole.throttled, "damaged_since_start": report.damaged,
        }
        return replace(envelope_now(self.host, facts, tuple(notes(self))), seconds=report.seconds)

    def so_far(self) -> StartTotals:
        """Totals of the application at the end of the interval."""
        return StartTotals(self.earlier.seconds + self.report.seconds, self.aggregate.totals(), self.report.damaged)


def as_text(table: TaskInterval, printed: Collection[str] = (), room: int | None = None) -> list[str]:
    """The head line, the columns that fit the width, and the notes not printed before."""
    report, aggregate = table.report, table.aggregate
    title = f"{'whole run' if table.number is None else f'interval {table.number}'} of {report.seconds:.3f} s"
    name = f"{report.application.name}: " if report.application.name else ""
    label = table.envelope.label
    lines = [f"# {label}"] if label else []
    lines += [f"# {name}{title}; {aggregate.choice.mode.value}", f"# sampled {aggregate.choice.when.value}",
              *text_lines(table.envelope, in_text(table.tasks), room=room), f"# {report.sums_sentence()}"]
    for waits in table.cpu_waits:
        lines += ["# waits that ended on each CPU", *text_lines(table.envelope, waits, room=room)]
    regions = () if table.regions is None else table.regions.rows(table.report.parallel)
    if regions:
        lines += ["# marked regions", *text_lines(table.envelope, region_table(regions), room=room)]
    if any(row.incomplete for row in report.rows):
        lines.append("# * marks counts that are too low: another profiler held the counters for a part of the time")
    return [*lines, *(f"# {note}" for note in notes(table) if note not in printed)]


def notes(table: TaskInterval) -> list[str]:
    """Notes on what the numbers leave out and how they were obtained; of a whole run, who makes it long stands last."""
    return [*_what_lacks(table), *_what_adds_up(table), *_what_is_not_counted(table), *_what_is_estimated(table),
            *(() if table.regions is None else table.regions.notes),
            *([table.report.serial_part] if table.number is None and table.report.serial_part else [])]


def _what_lacks(table: TaskInterval) -> Iterator[str]:
    """Notes on lost samples, throttling, omitted counters and merged threads."""
    report, aggregate = table.report, table.aggregate
    if report.unseen is not None:
        yield report.unseen_note()
    so_far = "" if table.number is None else " so far"
    if report.lost:
        harm = _HARM[aggregate.choice.mode]
        yield f"{several(report.lost, 'sample')} LOST{so_far} for want of room in the ring ({harm}): --pages gives more"
    if aggregate.misnumbered:
        yield (f"another program that samples switches numbered {several(aggregate.misnumbered, 'sample')}{so_far}, "
               "maybe in another pid namespace: whose they are is unknown")
    if report.throttled:
        yield (f"the kernel held samples back {several(report.throttled, 'time')}{so_far} "
               "(kernel.perf_event_max_sample_rate)")
    if report.waits_lost:
        yield f"{report.waits_lost} records of switches LOST{so_far} for want of room: waits are too low"
    yield from filter(None, dict.fromkeys(lacking_threads(row.waits) for row in report.rows))
    if report.damaged:
        yield f"{report.damaged} records could not be understood{so_far}"
    if report.early:
        yield (f"{report.early:.3f} s of run time that was seen in this interval lie before it, and are in the "
               "whole run only")
    if aggregate.together:
        yield (f"without a row of their own{so_far}: {several(aggregate.together, 'thread')}, put together by name; "
               f"such a row has no number and says how many it stands for (of those that ended the latest {ENDED} have "
               f"a row, of those that live the {ALIVE} that ran most)")
    if report.missed:
        yield (f"{several(report.missed, 'thread')} that ended between two looks at /proc, or may not be followed: "
               f"not counted{so_far}")


def _what_adds_up(table: TaskInterval) -> Iterator[str]:
    """Notes on differences between the sum of the rows and the total count."""
    aggregate = table.aggregate
    tail = of_all_sets(aggregate, aggregate.tail)
    if any(value < 0 for value in tail.values()):
        more = ", ".join(f"{name} {_plain(name, -value)}" for name, value in tail.items() if value < 0)
        yield f"rows hold more than the final read, so some counts were booked twice: {more}"
    if aggregate.read is not None and any(value > 0 for value in tail.values()):
        rest = ", ".join(f"{name} {_plain(name, value)}" for name, value in tail.items() if value > 0)
        yield f"after the last samples of threads, in the final read only: {rest}"
    yield from _what_time_lacks(table)


def _what_time_lacks(table: TaskInterval) -> Iterator[str]:
    """Notes on how far CPU time is an estimate or differs from the kernel's."""
    report = table.report
    guessed = sum(row.guessed for row in report.rows)
    used = report.used_ns if table.number is None else None
    if guessed:
        share = "" if not used else (f"; the command and all that it waited for used {used / 1e9:.6f} s by wait4, of "
                                     f"which the rows hold {1e9 * cpu_seconds(report.sums) / used:.1%}")
        yield f"CPU time of {several(guessed, 'row')} is an estimate (~): too low {_GUESSED}{share}"
    elif used:
        yield (f"the command and all that it waited for used {used / 1e9:.6f} s by wait4: "
               f"the rows hold {1e9 * cpu_seconds(report.sums) / used:.1%}")
    if CPU_TIME not in table.aggregate.names and any(
            _LONG_NS < row.counts[RUN] < row.counts.get(SWITCHES, 0) * _SHORT_SLICE_NS for row in report.rows):
        yield f"rows with many switches: CPU time is {RUN_MEANING}"


def _what_is_not_counted(table: TaskInterval) -> Iterator[str]:
    """Notes on unavailable columns and their reasons."""
    report, aggregate = table.report, table.aggregate
    if report.numerics.refused is not None:
        yield f"CPU time, and no counters: {report.numerics.refused.sentence()}"
    elif not {"instructions", "cycles"} & set(aggregate.names):
        yield "instructions, cycles and misses are not counted: no core PMU answers here, or others were chosen"
    if report.numerics_note() and report.numerics.refused is None:
        yield report.numerics_note()
    if table.no_energy is not None:
        yield f"no energy: {table.no_energy.sentence()}"
    if table.looks.knows_memory:
        places = [table.looks.memory_of(row.pid) for row in report.rows if row.pid is not None]
        reasons = dict.fromkeys(place.sentence() for place in places if isinstance(place, Unavailable))
        whose = "some rows" if len(reasons) > 1 or any(isinstance(place, NodeMemory) for place in places) else "any row"
        yield from (f"no memory by node of {whose}: {why}" for why in list(reasons)[:_REASONS])


def _what_is_estimated(table: TaskInterval) -> Iterator[str]:
    """Notes on numbers that are estimates."""
    report, aggregate = table.report, table.aggregate
    if report.set_count > 1:
        yield multiplexing_sentence(report.set_count)
    if any(row.unseen for row in report.rows):
        yield f"{UNKNOWN} {NOT_SCHEDULED}"
    if report.numerics.has_flops and report.numerics.note:
        yield f"FLOPs and bytes: {report.numerics.note}"
    if table.no_energy is None and table.joules:
        yield f"J and W are an {method(report)}"
    if report.sampling:
        yield report.sampling
    if aggregate.choice.when is SamplingMoment.SWITCHES:
        yield "migrations: samples on another CPU than the sample before"


def _plain(name: str, value: int) -> str:
    return f"{value / 1e6:.3f} ms" if name == RUN else str(value)


def in_text(whole: RowTable[TaskInputs]) -> RowTable[TaskInputs]:
    """The screen's columns with the time and energy of the interval; arguments, which may be long, come last."""
    columns = [column for column in whole.columns
               if column.default or column.id in _IN_TEXT_TOO or not {WAIT, LOADS, MAPS}.isdisjoint(column.needs)]
    return replace(whole, columns=tuple(sorted(columns, key=lambda column: column.id == ARGUMENTS)))


def timeline_lines(table: TaskInterval, width: int, *, colour: bool) -> list[str]:
    """Timelines of where each thread ran over the whole watch.

    A place shows the CPU where the thread ran longest: on a terminal filled with the CPU's colour where it ran at least
    half of the time, written in it where less; a point where it did not run, and a line while it stays where numbers
    have several digits.
    """
    timeline = table.aggregate.timeline
    rows = [row for row in table.report.rows if row.tid is not None]
    names = max([cell_count(_name(row)) for row in rows], default=len(_RUNNING))
    cell = place_width(max([cpu for row in rows for cpu in row.cpus], default=0))
    places = max(1, (width - names - 2) // cell)
    if table.aggregate.choice.mode is Mode.PROC:
        return ["# when threads ran is known by perf alone"]
    if not timeline.end:
        return [f"# {NO_SLICE}"]
    seconds = (timeline.end - timeline.start) / 1e9
    head = (f"# where each thread ran: {seconds:.3f} s from left to right, {seconds / places * 1e3:.3g} ms a place; "
            f"the CPU by number, {f'{STAYS} while it stays, ' * (cell > 1)}{IDLE} where it did not run")
    running = "".join(flush_right(IDLE if number < _SOME else str(max(1, round(number))), cell)
                      for number in timeline.running(timeline.start, timeline.end + 1, places))
    lines = [head, f"{flush_left(_RUNNING, names)}  {running}"]
    for row in rows:
        line = timeline.line(row.serials, timeline.start, timeline.end + 1, places)
        lines.append(f"{flush_left(_name(row), names)}  " + "".join(
            _place(stretch, text, colour=colour) for stretch, text in zip(line, place_texts(line, cell), strict=True)))
    return [*lines, *_serial_lines(table, {serial: row for row in rows for serial in row.serials})]


def _serial_lines(table: TaskInterval, rows: Mapping[int, TaskRow]) -> Iterator[str]:
    """The longest serial stretches, and what the other threads waited for in each."""
    watch = table.parallel
    if watch is None or not (stretches := watch.slices.longest_stretches()):
        return
    longest = sorted(sorted(stretches, key=lambda stretch: -stretch.ran)[:_STRETCHES])
    yield f"# the {len(longest)} longest stretches in which one thread ran alone, and what the others waited for"
    for stretch in longest:
        row = rows.get(stretch.thread)
        waits = lists_by_key((word, _name(rows[serial]) if serial in rows else "?")
                             for serial, word in watch.waited(stretch).items())
        others = "; ".join(f"~{word}: {', '.join(names[:_OTHERS])}"
                           f"{f' and {len(names) - _OTHERS} more' if len(names) > _OTHERS else ''}"
                           for word, names in sorted(waits.items(), key=lambda item: -len(item[1])))
        begin = (stretch.start - table.aggregate.timeline.start) / 1e9
        yield (f"{stretch.ran / 1e6:9.3f} of {(stretch.end - stretch.start) / 1e6:.3f} ms from {begin:.3f} s  "
               f"{'?' if row is None else _name(row)}  {others or 'no look at /proc fell into it'}")


def _name(row: TaskRow) -> str:
    return f"{row.tid} {row.name}"


def _place(stretch: Stretch | None, text: str, *, colour: bool) -> str:
    if stretch is None or not colour:
        return text
    shade = LANE_COLOURS[stretch.cpu % len(LANE_COLOURS)]
    return f"\x1b[{shade}{';7' if stretch.share >= _FULL else ''}m{text}\x1b[0m"  # 7: filled
