"""Findings as a table, and as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from turbotui.diagnosis.findings import Finding
from turbotui.diagnosis.verdict import Verdict
from turbotui.quantities.columns import Column
from turbotui.quantities.tables import RowTable

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
