"""Totals of a kind's rows in a scrape: they never decrease, and are of rows that live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from made_rows import KIND, QUANTITIES, frames_with_rows, row_ticks
from smallmachines import small_host

from turbotui.features.export.live.row_metrics import RowMetrics
from turbotui.machine.machine import Machine, read_machine
from turbotui.quantities.row_kinds import Quantity
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.row_tables import KindDefinition, RowColumn
from turbotui.sampling.row_workers import RowReader
from turbotui.simulated import ManualClock


class Jobs:
    kind = KIND
    quantities: Sequence[Quantity] = tuple(QUANTITIES.values())

    def open(self, machine: Machine) -> RowReader | Unavailable:
        raise AssertionError(machine)


DEFINITION = KindDefinition(Jobs(), (
    RowColumn("Job", "", -1, (), lambda row: row.row.name, identity=True),
    RowColumn("Work", "", 0, ("work",), lambda row: row.delta("work"))), sort="Work")


def values(metrics: RowMetrics, name: str = "turbotui_job_work") -> dict[str, float]:
    exposed_metrics, _left = metrics.read()
    (metric,) = [exposed_metric for exposed_metric in exposed_metrics if exposed_metric.name == name]
    return {f"{labels['job']} {labels['key']}": value for labels, value in metric.samples}


def test_totals_are_sums_of_increases_of_the_rows_that_live() -> None:
    topology = read_machine(small_host("laptop", ManualClock())).topology
    frames = frames_with_rows(list(row_ticks(8, Random(3), known=True)), topology)
    metrics, before = RowMetrics(DEFINITION, 1000), dict[str, float]()
    for frame in frames:
        metrics.feed(frame)
        rows = frame.newer.rows["jobs"]
        now = values(metrics)
        if frame.older is None:
            assert now == {}
            continue
        assert {key.rpartition(" ")[2] for key in now} == {
            row.key for slot, row in rows.roster.rows.items() if slot not in rows.died}
        born = {f"{rows.roster.rows[slot].name} {rows.roster.rows[slot].key}" for slot in rows.born}
        assert all(value >= before[key] for key, value in now.items() if key in before and key not in born)
        before = now
    assert any(before.values())


def test_the_rows_with_the_most_are_chosen_and_the_others_counted() -> None:
    topology = read_machine(small_host("laptop", ManualClock())).topology
    metrics = RowMetrics(DEFINITION, 3)
    for frame in frames_with_rows(list(row_ticks(4, Random(5), known=True)), topology):
        metrics.feed(frame)
    every = RowMetrics(DEFINITION, 1000)
    for frame in frames_with_rows(list(row_ticks(4, Random(5), known=True)), topology):
        every.feed(frame)
    assert sorted(values(metrics).values()) == sorted(values(every).values())[-3:]
    assert metrics.read()[1] == {"jobs": len(values(every)) - 3}


def test_gauges_are_the_newest_readings_and_nothing_once_the_reader_is_late() -> None:
    topology = read_machine(small_host("laptop", ManualClock())).topology
    metrics, seen = RowMetrics(DEFINITION, 1000), 0
    frames = list(frames_with_rows(list(row_ticks(8, Random(3), known=True)), topology))
    for frame in frames:
        metrics.feed(frame)
        rows = frame.newer.rows["jobs"]
        if frame.older is not None:
            heat = {row.key: rows.values["heat"][slot] for slot, row in rows.roster.rows.items()
                    if slot not in rows.died and slot not in rows.absent.get("heat", {})
                    and isinstance(degrees := rows.values["heat"][slot], float)
                    and -60 <= degrees <= 200}  # as sensors can measure it
            now = values(metrics, "turbotui_job_heat_celsius")
            result = {key.rpartition(" ")[2]: value for key, value in now.items()}
            assert result == heat
            seen += len(result)
    assert seen
    metrics.feed(frames[0])  # an interval without a difference
    assert values(metrics, "turbotui_job_heat_celsius") == {}
    assert values(metrics)
    metrics.feed(frames[0])
    assert values(metrics)
    metrics.feed(frames[0])
    assert values(metrics) == {}, "standing still they would be 0 a second"


def test_the_least_that_a_counter_can_be_is_no_total() -> None:
    topology = read_machine(small_host("laptop", ManualClock())).topology
    ticks = [replace(tick, quantities={**tick.quantities, "work": replace(tick.quantities["work"], lacks="words")})
             for tick in row_ticks(3, Random(3), known=True, replaced=0)]
    metrics = RowMetrics(DEFINITION, 1000)
    for frame in frames_with_rows(ticks, topology):
        metrics.feed(frame)
    rows = ticks[-1].roster.rows
    whole = {row.key for slot, row in rows.items() if not ticks[-1].values["words"][slot]}
    assert 0 < len(whole) < len(rows)
    assert {key.rpartition(" ")[2] for key in values(metrics)} == whole
