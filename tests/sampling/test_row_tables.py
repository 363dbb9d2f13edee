"""Cells of a kind's columns: marks of multiplexed and missed counters, reasons, parts, and what evidence says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from turbotui.machine.machine import Machine
from turbotui.quantities.row_kinds import Form, Quantity, RowKind
from turbotui.quantities.signals import Behavior, Reduce
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sampling.row_differences import RowDifferences
from turbotui.sampling.row_tables import KindDefinition, KindRow, RowColumn, kind_notes, omitted_rows, row_table
from turbotui.sampling.row_workers import RowReader
from turbotui.sampling.rows import Columns, Row, RowTick
from turbotui.widgets.kind_rows import KindMoment

SECOND = 1_000_000_000


class Source:
    kind = RowKind("jobs", "jobs", nested=True, most=8)
    quantities: Sequence[Quantity] = (
        Quantity("cycles", "jobs", Unit.CYCLE, Behavior.COUNTER, Reduce.SUM, "perf cycles of {row}", "SDM",
                 enabled="on", running="ran"),
        Quantity("on", "jobs", Unit.SECOND, Behavior.COUNTER, Reduce.SUM, "perf", scale=1e-9),
        Quantity("ran", "jobs", Unit.SECOND, Behavior.COUNTER, Reduce.SUM, "perf", scale=1e-9),
        Quantity("heat", "jobs", Unit.CELSIUS, Behavior.GAUGE, Reduce.MAX, "/proc/heat", lacks="unseen"),
        Quantity("unseen", "jobs", Unit.TEXT, Behavior.GAUGE, Reduce.SAME, "/proc/heat", form=Form.TEXT),
    )

    def open(self, machine: Machine) -> RowReader | Unavailable:
        raise AssertionError(machine)


def _per_second(row: KindRow) -> float | None:
    rate = row.rate("cycles")
    return None if rate is None else rate / 1e9


RATE = RowColumn("GHz", "GHz", 2, ("cycles",), _per_second)
HEAT = RowColumn("Heat", "°C", 0, ("heat",), lambda row: row.value("heat"))
SHARE = RowColumn("Share", "%", 0, (), lambda _row: None, doubt=lambda row: f"{row.row.key} has no share")
DEFINITION = KindDefinition(Source(), (RATE, HEAT, SHARE), sort="GHz")


def ticks() -> tuple[RowTick, RowTick]:
    """Job `a`, its part `b`, whose counter ran for half of the time, and `c`, which has none."""
    columns = Columns(Source.kind, Source.quantities)
    result = []
    for second in (1, 2):
        columns.begin(0, second * SECOND)
        if second == 1:
            slots = [columns.birth(Row(key, parent=parent)) for key, parent in (("a", ""), ("b", "a"), ("c", ""))]
        a, b, c = (slot for slot in slots if slot is not None)
        for slot, share in ((a, 1), (b, 2)):
            columns.put(slot, "cycles", second * 3 * SECOND // share)
            columns.put(slot, "on", second * SECOND)
            columns.put(slot, "ran", second * SECOND // share)
        columns.put(c, "cycles", Unavailable(Reason.NOT_PERMITTED, "no"))
        columns.put(a, "heat", 40 + second)
        columns.read_at((a, b, c), second * SECOND)
        result.append(columns.tick())
    return result[0], result[1]


def test_what_was_scaled_is_marked_and_what_is_missing_has_its_reason() -> None:
    older, newer = ticks()
    table = row_table(DEFINITION, RowDifferences(older, newer), parts=True)
    assert [row.row.key for row in table.rows] == ["a", "b", "c"]
    a, b, c = table.rows
    assert (table.cell(RATE, a).value, table.cell(RATE, a).signs) == (3, "")
    assert (table.cell(RATE, b).value, table.cell(RATE, b).estimated) == (3, True)
    assert (why := table.cell(RATE, c).why) is not None
    assert why.reason is Reason.NOT_PERMITTED
    assert (why := table.cell(SHARE, c).why) is not None
    assert why.detail == "c has no share"
    assert [part.row.key for part in a.parts] == ["b"]
    assert [row.row.key for row in row_table(DEFINITION, RowDifferences(older, newer)).rows] == ["a", "c"]


def test_of_a_kind_that_was_missed_gauges_are_old_and_counters_unknown() -> None:
    _older, newer = ticks()
    late = Unavailable(Reason.LATE, "late")
    table = row_table(DEFINITION, RowDifferences(newer, newer, late))
    assert table.cell(HEAT, table.rows[0]).old
    assert table.cell(HEAT, table.rows[0]).value == 42
    assert table.cell(RATE, table.rows[0]).why == late


def test_evidence_has_the_arithmetic_both_readings_and_where_they_come_from() -> None:
    older, newer = ticks()
    table = row_table(DEFINITION, RowDifferences(older, newer))
    evidence = table.evidence(RATE, table.rows[0])
    assert evidence.arithmetic == ("= Δcycles / interval / 1e9", "= 3,000,000,000 / 1 / 1e9")
    assert evidence.readings == (("cycles 3,000,000,000 → 6,000,000,000 in 1.000 s", "  perf cycles of a", "  SDM"),)
    evidence = table.evidence(RATE, table.rows[1])
    assert evidence.readings[0][-1] == "  not permitted: no"


def test_a_recording_of_an_older_version_lacks_a_quantity_and_says_so() -> None:
    """Its rows have the quantities that it was written with, one of them of another kind than today."""
    ticks_there = []
    for tick in ticks():
        quantities = {"heat": tick.quantities["heat"], "on": replace(
            tick.quantities["on"], behavior=Behavior.GAUGE, form=Form.TEXT, scale=1.0)}
        values = {"heat": tick.values["heat"], "on": ("x",) * tick.roster.capacity}
        ticks_there.append(replace(tick, quantities=quantities, values=values, absent={}))
    older, newer = ticks_there
    table = row_table(DEFINITION, RowDifferences(older, newer))
    row = table.rows[0]
    assert (why := table.cell(RATE, row).why) is not None
    assert why.reason is Reason.NOT_READ
    assert table.cell(HEAT, row).value == 42
    assert table.evidence(RATE, row).readings == ()
    assert (row.delta("on"), row.rate("on"), row.total("on"), row.elapsed("cycles")) == (None, None, None, None)
    assert row.differences.raw_before("on", row.slot) is None


def test_rows_that_are_left_out_are_counted_in_a_sentence() -> None:
    columns = Columns(Source.kind, Source.quantities)
    columns.begin(0, SECOND)
    for number in range(11):
        columns.birth(Row(str(number)))
    left_out = "there are 3 more jobs than the 8 that are read"
    assert omitted_rows(RowDifferences(None, columns.tick())) == left_out
    columns.note("jobs of today")
    differences = RowDifferences(None, columns.tick())
    assert kind_notes(DEFINITION, differences, {0, 1}) == ("jobs of today", left_out), "they are not of CPUs"
    of_cpus = replace(DEFINITION, of_cpus=True)
    assert kind_notes(of_cpus, differences, None) == ("jobs of today", left_out)
    assert kind_notes(of_cpus, differences, {0, 1}) == ("of CPUs 0-1 only", "jobs of today", left_out)


def test_the_least_that_a_value_can_be_is_marked_with_what_it_lacks() -> None:
    columns = Columns(Source.kind, Source.quantities)
    columns.begin(0, SECOND)
    for key, unseen in (("a", ""), ("b", "one sensor is asleep")):
        slot = columns.birth(Row(key))
        assert slot is not None
        columns.put(slot, "heat", 40)
        columns.put(slot, "unseen", unseen)
    differences = RowDifferences(None, columns.tick())
    table = row_table(DEFINITION, differences)
    whole, least = (table.cell(HEAT, row) for row in table.rows)
    assert (whole.value, whole.partial, whole.why) == (40, False, None)
    assert (least.value, least.partial, least.bare) == (40, True, None)
    assert least.why is not None
    assert least.why.detail == "one sensor is asleep"
    moment = KindMoment(DEFINITION, differences)
    assert [moment.bare(HEAT, row.identity) for row in table.rows] == [40, None], "a chart has no place for the mark"
    assert moment.bare(HEAT, ("z", 0)) is None
