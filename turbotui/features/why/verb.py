"""`turbotui why`: causes of slowness, worst first, with duration, tasks behind them, and remedies."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from typing import Final

from turbotui.app.settings import read_settings
from turbotui.commands.arguments import add_machine_arguments, whole
from turbotui.commands.elsewhere import add_host_arguments, check_host_arguments
from turbotui.commands.formats import add_format_arguments, print_tables
from turbotui.commands.intervals import at_least_one
from turbotui.commands.long_work import LongWork, long_work
from turbotui.commands.recorded import add_replay_argument, open_replay, report_missing
from turbotui.commands.sessions import label, open_host, parse_interval
from turbotui.diagnosis.findings import Finding
from turbotui.diagnosis.rules import NoFinding
from turbotui.diagnosis.verdict import Verdict
from turbotui.errors import UsageError
from turbotui.features.why.engine import WhyReport, read_recording, watch_machine
from turbotui.machine.host import Host
from turbotui.machine.machine import read_machine
from turbotui.quantities.columns import Column
from turbotui.quantities.presentation import Presentation
from turbotui.quantities.tables import RowTable
from turbotui.tables.envelope import Envelope
from turbotui.tables.formats import TEXT

FINDINGS: Final = "findings"


def _where(finding: Finding) -> str:
    row = finding.observed.row
    return "machine" if not row.key else f"{row.scope.value} {'.'.join(map(str, row.key))}"


COLUMNS: Final[tuple[Column[Finding], ...]] = (
    Column("cause", "", -1, (), lambda finding: finding.rule.id, help="the cause in a word", identity=True, priority=0),
    Column("lost", "%", 1, (), lambda finding: 100.0 * finding.observed.lost, priority=0,
           help="share of the work that the cause takes: of what tasks would have got done without it"),
    Column("sure", "", -1, (), lambda finding: finding.observed.sure.value, help="certain, likely or possible"),
    Column("sentence", "", -1, (), lambda finding: finding.sentence, help="what is so, with the number", priority=0),
    Column("held", "s", 1, (), lambda finding: finding.seconds,
           help="for how long it has been so without a break; 0 where it is over"),
    Column("share", "%", 0, (), lambda finding: 100.0 * finding.share,
           help="share of the time watched in which it was so"),
    Column("watched", "s", 1, (), lambda finding: finding.window, help="the time watched"),
    Column("where", "", -1, (), _where, help="the part of the machine; the whole machine, or one CPU"),
    Column("who", "", -1, (), lambda finding: "; ".join(finding.who) or None,
           help="tasks and groups that have to do with it, most of it first"),
    Column("remedy", "", -1, (), lambda finding: finding.remedy, help="what a person can do about it"),
    Column("screen", "", -1, (), lambda finding: finding.rule.screen,
           help="key of the dashboard's screen that leads on"),
)


def finding_table(findings: Sequence[Finding]) -> RowTable[Finding]:
    """A row for each finding, the worst first."""
    return RowTable(FINDINGS, "finding", COLUMNS, tuple(findings))


def verdict_lines(verdict: Verdict) -> Iterator[str]:
    """A verdict for people: each finding with tasks, cost, remedy and screen, then what was not judged."""
    if not verdict.findings:
        yield verdict.quiet
    for finding in verdict.findings:
        yield f"{finding.sentence} ({finding.since})"
        if finding.who:
            yield f"    who   {', '.join(finding.who)}"
        yield f"    cost  {finding.cost}"
        yield f"    do    {finding.remedy}"
        yield f"    look  turbotui, screen {finding.rule.screen}"
    yield from verdict.reasons


FOUND = 7
"""The exit status if there is a finding."""
UNSURE = 6
"""The exit status without findings if what was not read may hide one."""
_INTERVALS = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = (
        'The first line is the verdict. Command lines after "do" are for you to run; turbotui runs none of them. '
        f"Exit status: 0 no bottleneck found, {FOUND} a finding, {UNSURE} nothing found and something that matters at "
        "this load could not be read, 1 a recording cannot be read, 2 wrong command line, 3 the machine cannot be read."
    )
    add_machine_arguments(parser)
    add_replay_argument(parser)
    add_host_arguments(parser)
    parser.add_argument("--from", metavar="TIME", dest="begin", default="",
                        help="with --replay: the start (14:03, -5m); by default the last intervals")
    parser.add_argument("--to", metavar="TIME", dest="end", default="", help="with --replay: the end")
    parser.add_argument("-n", "--intervals", metavar="N", type=whole, default=_INTERVALS,
                        help=f"how many intervals to watch (default {_INTERVALS})")
    parser.add_argument("-i", "--interval", metavar="SECONDS", default="1",
                        help="length of each in seconds (default 1)")
    add_format_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Watch, and print the findings; returns `FOUND` with findings, else 0 or `UNSURE`."""
    at_least_one(arguments.intervals)
    seconds = parse_interval(arguments.interval)
    # formats for scripts do not depend on settings
    present = (Presentation(read_settings(os.environ).units.get("temperature", "C")).of if arguments.format == TEXT
               else None)
    check_host_arguments(arguments)
    if (arguments.begin or arguments.end) and not arguments.replay:
        raise UsageError("--from and --to are times of a recording: give --replay FILE too")
    if arguments.replay or arguments.host:
        with open_replay(arguments, intervals=arguments.intervals, seconds=seconds, tables="waits") as journal:
            try:
                with long_work("reading the recording") as work:
                    report = read_recording(journal, arguments.intervals, arguments.begin, arguments.end,
                                            present=present, passed=work.frames)
                return _tell(arguments, journal.machine.host, report, work)
            finally:
                report_missing(journal)
    machine = read_machine(open_host(arguments))
    with long_work("watching") as work:
        report = watch_machine(machine, arguments.intervals, seconds, present, work.frames)
    return _tell(arguments, machine.host, report, work)


def _tell(arguments: argparse.Namespace, host: Host, report: WhyReport, work: LongWork) -> int:
    verdict, stopped = report.verdict, (work.stopped,) if work.stopped else ()
    facts = {"verdict": verdict.sentence, **{
        word: ", ".join(unjudged.rule.id for unjudged in verdict.unjudged if unjudged.answer is answer)
        for word, answer in (("blind", NoFinding.BLIND), ("late", NoFinding.LATE))}}
    envelope = Envelope(host.name, host.kind, report.wall_ns, report.seconds, facts=facts,
                        notes=(*stopped, *verdict.reasons))
    print_tables(arguments, envelope, (finding_table(verdict.findings),), lambda: _text(host, verdict, stopped))
    if work.number:
        return work.status
    if verdict.findings:
        return FOUND
    return 0 if verdict.sure else UNSURE


def _text(host: Host, verdict: Verdict, stopped: Sequence[str]) -> Iterator[str]:
    if label(host):
        yield f"# {label(host)}: nothing below was {host.kind.measured}"
    yield from (f"# {text}" for text in stopped)
    yield from verdict_lines(verdict)
