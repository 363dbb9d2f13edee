"""Rows that did not run while an event set was active: their cells are marked, and Explain gives the reason."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace

from test_simulated_tasks import passes, watching
from watchedtasks import written

from turbotui.features.tasks.applications import Application
from turbotui.features.tasks.columns import NOT_SCHEDULED, TASK_COLUMNS, TaskInputs
from turbotui.features.tasks.live import SnapshotRequest, TaskSnapshot
from turbotui.features.tasks.report import Apart, Report
from turbotui.features.tasks.screen_text import task_evidence
from turbotui.features.tasks.tables import Grouping, TaskRow
from turbotui.features.tasks.text import TaskInterval, as_text, notes
from turbotui.quantities.tables import arithmetic_lines
from turbotui.sampling.energy import Energy
from turbotui.simulated import simulated_host
from turbotui.widgets.explanation import evidence_lines

FLOPS = Application("all", everything=True, events="flops")


def unseen(row: TaskRow, *names: str) -> TaskRow:
    return replace(row, counts={name: count for name, count in row.counts.items() if name not in names})


@functools.cache
def both() -> tuple[TaskInterval, Report]:
    """A table whose second row did not run while loads, and whose third while vectors of doubles were counted."""
    with watching("turin-2s", FLOPS) as (host, applications, application):
        passes(host, applications, 100, 0.05)
        report = applications.report(application, Grouping.COMMAND)
        first, second, third = report.rows[:3]
        rows = (first, unseen(second, "loads"), unseen(third, "packed double"))
        report = replace(report, rows=rows)
        return TaskInterval(report, application.aggregate, 1, {}, Energy({}, {}), Grouping.COMMAND,
                            simulated_host("turin-2s")), report


def cells(lines: list[str], number: int) -> Mapping[str, str]:
    head = next(at for at, line in enumerate(lines) if "Command" in line)
    titles, line = lines[head], lines[head + number]
    return {title: line[: titles.index(title) + len(title)].split()[-1] for title in ("GFLOP/s", "GB/s")}


def test_a_row_that_was_not_seen_by_a_set_has_a_mark_where_its_number_would_be_and_a_note() -> None:
    table, _ = both()
    lines = as_text(table)
    assert all(text.endswith("~") for text in cells(lines, 1).values())
    assert cells(lines, 2)["GB/s"] == "-"
    assert cells(lines, 2)["GFLOP/s"].endswith("~")
    assert cells(lines, 3) == {"GFLOP/s": "-", "GB/s": "-"}
    assert sum(NOT_SCHEDULED in line for line in lines) == 1


def test_where_every_row_was_seen_nothing_is_reported_of_it() -> None:
    table, report = both()
    table = replace(table, report=replace(report, rows=report.rows[:1]))
    assert not any(NOT_SCHEDULED in note for note in notes(table))


def test_json_has_null_and_a_reason() -> None:
    shown, _ = both()
    first, second, third = written(shown.envelope, shown.tables)["tasks"]
    assert "why" not in first, first["why"]
    assert {"loads", "Bytes", "GB/s"} == second["why"].keys()
    assert all(NOT_SCHEDULED in reason for reason in second["why"].values())
    assert second["FLOP"] > 0
    assert "FLOP" in second["estimated"]
    assert "Bytes" not in second["estimated"]
    assert third["why"].keys() == {"packed double", "FLOP", "GFLOP/s", "Bytes", "GB/s"}


def test_explain_says_why_a_cell_is_unknown_and_which_events_are_multiplexed() -> None:
    _, report = both()
    snapshot = TaskSnapshot(SnapshotRequest(), (replace(report, application=replace(FLOPS, name="all")),))
    words = [" ".join(evidence_lines(task_evidence(
        snapshot, None, TaskInputs(replace(row, application="all"), report.seconds, report.numerics)), 300))
        for row in report.rows]
    assert [text.count(NOT_SCHEDULED) for text in words] == [0, 1, 2]
    for text in words:
        always, multiplexed = text.split("counted for all of ")[1].split("the others in 4 multiplexed sets")
        assert "instructions" in always
        assert "loads" not in always
        assert "loads" in multiplexed
        assert "together in one group" not in text


def test_the_arithmetic_of_every_column_of_tasks_can_be_written_down() -> None:
    _, report = both()
    inputs = TaskInputs(report.rows[0], report.seconds, report.numerics, 3.5)
    text = {column.id: arithmetic_lines(column, inputs) for column in TASK_COLUMNS}
    counts = inputs.row.counts
    assert text["IPC"] == ("= instructions / cycles", f"= {counts['instructions']:,} / {counts['cycles']:,}")
    assert text["~Watt"][0] == "= joules / seconds"
    assert text["GFLOP/s"][0].endswith(" / seconds / 1e9")
    assert not text["Command"]


def test_explain_says_what_the_rows_add_up_to_and_what_is_in_no_row() -> None:
    _, report = both()
    idle = Apart({"run": 1_500_000_000, "switches": 7}, {})
    report = replace(report, apart={"idle": idle, "others": Apart({"run": 0}, {})})
    first, *_, last = task_evidence(TaskSnapshot(SnapshotRequest(), (report,)), None, None).remarks
    assert first.startswith("each CPU is counted")
    assert last.startswith(f"all: sum of the rows: run {sum(row.run_seconds for row in report.rows):.6f} s, switches ")
    assert last.endswith("; in no row: idle run 1.500000 s, switches 7")


def test_the_reasons_of_missing_columns_come_before_the_numbers_of_the_row() -> None:
    _, report = both()
    snapshot = TaskSnapshot(SnapshotRequest(), (replace(report, names=("run",)),))
    lines = [first for first, *_ in task_evidence(snapshot, None, TaskInputs(report.rows[0], report.seconds)).readings]
    assert any(line.startswith("no IPC, GIPS, GHz, Miss/s: ") for line in lines)
    reasons = [line.startswith("no ") for line in lines]
    assert reasons == sorted(reasons, reverse=True)
    assert not reasons[-1]
