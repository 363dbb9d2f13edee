"""Tables and timelines of tasks as text and JSON."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from turbotui.analysis.tasks.accountbook import ALIVE, ENDED
from turbotui.analysis.tasks.accounts import RUN
from turbotui.analysis.tasks.books import Books, Totals, turns_sentence
from turbotui.analysis.tasks.columns import NO_TURN, cpu_ranges
from turbotui.analysis.tasks.energy import METHOD, Energy, why_not
from turbotui.analysis.tasks.report import Report
from turbotui.analysis.tasks.tables import TaskRow
from turbotui.analysis.tasks.timeline import IDLE, STAYS, Stretch, place_texts, place_width
from turbotui.machine.tasks.sets import Mode, When

LANE_COLOURS: Final = (36, 33, 32, 35, 34, 31, 96, 93)
"""SGR foreground colours of CPUs 0 to 7; further CPUs begin again (ECMA-48, 8.3.117)."""
_UNKNOWN: Final = "—"
_HARM: Final = {
    Mode.CPUS: "what was counted meanwhile is nobody's: it stands in the row (lost samples), and the others lack it",
    Mode.INHERITED: "a thread's row lacks what it did since its last sample, until the next one or its end",
    Mode.THREADS: "a thread's row lacks what it did since its last sample, until the next one or its end",
}
"""What a loss of samples does to rows."""
_FULL: Final = 0.5  # share of a place from which it is drawn filled


@dataclass(frozen=True, slots=True)
class SoFar:
    """What was known when an interval began.

    Attributes:
        seconds: since watching began.
        totals: counts; None when it began.
        damaged: records that could not be understood.
    """

    seconds: float = 0.0
    totals: Totals | None = None
    damaged: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    """What is printed at one time of one application.

    Attributes:
        report: its rows.
        books: of it.
        number: of the interval; None for the whole run.
        joules: of rows, by their key.
        energy: what they were shared out of.
        label: of a machine that is not this one; "" for this one.
        earlier: what was known when the interval began; of the whole run, nothing.
    """

    report: Report
    books: Books
    number: int | None
    joules: Mapping[str, float]
    energy: Energy
    label: str
    earlier: SoFar = field(default_factory=SoFar)

    def so_far(self) -> SoFar:
        """What is known at its end."""
        return SoFar(self.earlier.seconds + self.report.seconds, self.books.totals(), self.report.damaged)


def as_text(table: Table, said: Collection[str] = ()) -> list[str]:
    """Head, table, and the notes that were not said before."""
    report, books = table.report, table.books
    title = f"{'whole run' if table.number is None else f'interval {table.number}'} of {report.seconds:.3f} s"
    name = f"{report.application.name}: " if report.application.name else ""
    lines = [f"# {table.label}"] if table.label else []
    lines += [f"# {name}{title}; mode {books.choice.mode.value}", f"# sampled {books.choice.when.value}",
              *_columns(table), f"# {report.sums_sentence()}"]
    if any(row.incomplete for row in report.rows):
        lines.append("# > marks counts that are too low: another profiler held the counters for a part of the time")
    return [*lines, *(f"# {note}" for note in notes(table) if note not in said)]


def notes(table: Table) -> list[str]:
    """What has to be said of the numbers."""
    report, books = table.report, table.books
    found = []
    so_far = "" if table.number is None else " so far"
    if report.lost:
        harm = _HARM[books.choice.mode]
        found.append(f"{report.lost} samples LOST{so_far} for want of room in the ring ({harm}): --pages gives more")
    if report.throttled:
        found.append(f"the kernel held samples back {report.throttled} times{so_far} "
                     "(kernel.perf_event_max_sample_rate)")
    if report.damaged:
        found.append(f"{report.damaged} records could not be understood{so_far}")
    if report.early:
        found.append(f"{report.early:.3f} s of run time that was seen in this interval lie before it, and are in the "
                     "whole run only")
    if books.together:
        found.append(f"{books.together} threads have no row of their own{so_far} and are put together by name: such a "
                     f"row has no number and says how many it stands for (of those that ended the latest {ENDED} have "
                     f"a row, of those that live the {ALIVE} that ran most)")
    if report.missed:
        found.append(f"{report.missed} threads ended between two looks at /proc, or may not be followed: "
                     f"not counted{so_far}")
    tail = _of_all_sets(books, books.tail)
    if books.read is not None and any(value > 0 for value in tail.values()):
        rest = ", ".join(f"{name} {_plain(name, value)}" for name, value in tail.items() if value > 0)
        found.append(f"after the last samples of threads, in the final read only: {rest}")
    if not {"instructions", "cycles"} & set(books.names):
        found.append("instructions, cycles and misses are not counted: no core PMU answers here, or others were chosen")
    if report.numerics.why is not None:
        found.append(f"no {'bytes' if report.numerics.has_flops else 'FLOPs and bytes'}: "
                     f"{report.numerics.why.sentence()}")
    if report.turns > 1:
        found.append(turns_sentence(report.turns))
    if any(row.unseen for row in report.rows):
        found.append(f"{_UNKNOWN} {NO_TURN}")
    if report.numerics.has_flops and report.numerics.note:
        found.append(f"FLOPs and bytes: {report.numerics.note}")
    why = why_not(table.energy, by_cycles="cycles" in books.names, everything=report.application.everything)
    if why is not None:
        found.append(f"no energy: {why.sentence()}")
    elif table.joules:
        found.append(f"J and W are an {METHOD.format(unit='cycles' if 'cycles' in books.names else 'busy time')}")
    if books.choice.when is When.SWITCHES:
        found.append("migrations: samples on another CPU than the sample before")
    return found


def _plain(name: str, value: int) -> str:
    return f"{value / 1e6:.3f} ms" if name == RUN else str(value)


def _columns(table: Table) -> list[str]:
    report = table.report
    # what FLOPs and bytes are made of is in the JSON
    counts = [name for name in table.books.names if name != RUN and name not in report.numerics.counters]
    ipc = any(row.ipc is not None for row in report.rows)
    numerics = report.numerics
    heads = ["pid", "tid", "threads", "command", "run s", *counts]
    switches = table.books.choice.when is When.SWITCHES
    heads += ["migrations"] if switches else []
    heads += ["IPC"] if ipc else []
    heads += ["DP FLOPs" if numerics.double_only else "FLOPs"] if numerics.has_flops else []
    heads += ["bytes"] if numerics.has_bytes else []
    heads += ["~J"] if table.joules else []
    lines = [[*heads, "CPUs"]]
    for row in report.rows:
        mark = ">" if row.incomplete else ""
        estimated = not row.estimated.isdisjoint(numerics.counted)
        line = ["" if row.pid is None else str(row.pid), "" if row.tid is None else str(row.tid), str(row.threads),
                row.name, f"{row.run_seconds:.6f}", *(_count(row, name, mark) for name in counts)]
        if switches:
            line.append(str(row.migrations))
        if ipc:
            line.append("" if row.ipc is None else f"{row.ipc:.2f}")
        if numerics.has_flops:
            line.append(_number(numerics.flops(row.counts), estimated))
        if numerics.has_bytes:
            line.append(_number(numerics.bytes(row.counts), estimated))
        if table.joules:
            joules = table.joules.get(row.key)
            line.append("" if joules is None else f"{joules:.3g}")
        lines.append([*line, cpu_ranges(row.cpus)])
    widths = [max(len(line[number]) for line in lines) for number in range(len(lines[0]))]
    left = lines[0].index("command")
    return ["  ".join(word.ljust(width) if number in (left, len(widths) - 1) else word.rjust(width)
                      for number, (word, width) in enumerate(zip(line, widths, strict=True))).rstrip()
            for line in lines]


def _count(row: TaskRow, name: str, mark: str) -> str:
    return f"{mark or '~' * (name in row.estimated)}{row.counts[name]}" if name in row.counts else _UNKNOWN


def _number(value: float | None, estimated: bool) -> str:
    return _UNKNOWN if value is None else f"{'~' * estimated}{value:.4g}"


def timeline_lines(table: Table, width: int, *, colour: bool) -> list[str]:
    """Where each thread ran over the whole time that was watched.

    A place shows the CPU where the thread ran longest: on a terminal filled with the CPU's colour where it ran at least
    half of the time, written in it where less; a point where it did not run, and a line while it stays where numbers
    have several digits.
    """
    timeline = table.books.timeline
    rows = [row for row in table.report.rows if row.tid is not None]
    names = max([len(_name(row)) for row in rows], default=0)
    cell = place_width(max([cpu for row in rows for cpu in row.cpus], default=0))
    places = max(1, (width - names - 2) // cell)
    if not timeline.end:
        return ["# no thread ran yet"]
    seconds = (timeline.end - timeline.start) / 1e9
    head = (f"# where each thread ran: {seconds:.3f} s from left to right, {seconds / places * 1e3:.3g} ms a place; "
            f"the CPU by number, {f'{STAYS} while it stays, ' * (cell > 1)}{IDLE} where it did not run")
    lines = [head]
    for row in rows:
        line = timeline.line(row.serials, timeline.start, timeline.end + 1, places)
        lines.append(f"{_name(row):<{names}}  " + "".join(
            _place(one, text, colour=colour) for one, text in zip(line, place_texts(line, cell), strict=True)))
    return lines


def _name(row: TaskRow) -> str:
    return f"{row.tid} {row.name}"


def _place(stretch: Stretch | None, text: str, *, colour: bool) -> str:
    if stretch is None or not colour:
        return text
    shade = LANE_COLOURS[stretch.cpu % len(LANE_COLOURS)]
    return f"\x1b[{shade}{';7' if stretch.share >= _FULL else ''}m{text}\x1b[0m"  # 7: filled


def _of_all_sets(books: Books, values: Sequence[int]) -> dict[str, int]:
    """By name; without what only one of several sets counts, for that was counted for a part of the time."""
    return {name: value for name, value in zip(books.names, values, strict=True) if name in books.always}


def _si(counts: Mapping[str, int | None]) -> dict[str, float | None]:
    return {("run_seconds" if name == RUN else name): value / 1e9 if name == RUN and value is not None else value
            for name, value in counts.items()}


def as_json(table: Table) -> dict[str, object]:
    """The same in SI units; of the interval, but for what stands below `since_start`.

    `sum` is that of the rows, and with `not_in_rows` and `after_last_samples` it is `final_read`; what `estimated`
    lists is brought to all instructions once for the sum and once for each row, so that these add up about.
    """
    report, books = table.report, table.books
    now = table.so_far()
    whole = books.totals()
    totals = whole if table.earlier.totals is None else whole.since(table.earlier.totals)
    return {
        **({"machine": table.label} if table.label else {}),
        **({"application": report.application.name} if report.application.name else {}),
        "interval": table.number,
        "seconds": report.seconds,
        "mode": books.choice.mode.name,
        "sampled": books.choice.when.name,
        "sets": books.turns,
        "tasks": [_task(table, row) for row in report.rows],
        "sum": _si(totals.brought_to({name: value for name, value in report.sums.items() if name in books.always})),
        "not_in_rows": {what: _si(counts) for what, counts in report.apart.items()},
        "estimated": sorted(set(books.names) - books.always),
        # raw: of the run time that each set saw
        **({"set_counts": [{"sum": _si(one), "final_read": None if read is None else _si(read)}
                           for one, read in zip(totals.sets, books.reads, strict=True)]} if books.turns > 1 else {}),
        "after_last_samples": None if books.read is None else _si(_of_all_sets(books, books.tail)),
        "final_read": None if books.read is None else _si(_of_all_sets(books, books.read)),
        "lost": totals.lost,
        "throttled": totals.throttled,
        "damaged": report.damaged - table.earlier.damaged,
        "since_start": {"seconds": now.seconds, "sum": _si(whole.everything), "lost": whole.lost,
                        "throttled": whole.throttled, "damaged": report.damaged},
        "notes": notes(table),
    }


def _task(table: Table, row: TaskRow) -> dict[str, object]:
    numerics = table.report.numerics
    made = {"flops": numerics.flops(row.counts), "bytes": numerics.bytes(row.counts)}
    estimated = set(row.estimated)
    if not row.estimated.isdisjoint(numerics.counted):
        estimated |= {name for name, value in made.items() if value is not None}
    counts = {**row.counts, **dict.fromkeys(row.unseen)}
    unknown = dict.fromkeys(sorted(row.unseen), NO_TURN)
    if not row.unseen.isdisjoint(numerics.counted):
        unknown |= {name: NO_TURN for name, has in (("flops", numerics.has_flops), ("bytes", numerics.has_bytes))
                    if has and made[name] is None}
    return {"pid": row.pid, "tid": row.tid, "name": row.name, "threads": row.threads, "cpus": list(row.cpus),
            "incomplete": row.incomplete, "estimated": sorted(estimated), "ipc": row.ipc,
            "migrations": row.migrations if table.books.choice.when is When.SWITCHES else None,
            **made, "joules_estimate": table.joules.get(row.key), **_si(counts),
            **({"unknown": unknown} if unknown else {})}
