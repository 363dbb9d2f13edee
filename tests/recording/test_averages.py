"""The mean interval of many: amounts, rates, ratios and levels, and what began anew in between."""

from __future__ import annotations

import math
import statistics

import pytest
from every_row import of_every
from made_frames import frames, frames_of, snapshot, topology_of_cpus
from watched_machines import frames_of_machine

from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.scope import SYSTEM_ROW, Scope
from turbotui.recording.averages import averaged

TOPOLOGY = topology_of_cpus(range(4))


def test_increases_are_parts_of_the_whole_and_levels_are_means() -> None:
    _first, *result = frames(8, TOPOLOGY)
    mean = averaged(result)
    assert mean.seconds == pytest.approx(1.0)
    assert mean.deltas("work") == pytest.approx([1000 + cpu for cpu in TOPOLOGY.cpus])
    assert mean.rates("work") == pytest.approx([1000 + cpu for cpu in TOPOLOGY.cpus])
    heats = [frame.levels("heat") for frame in result]
    assert len({tuple(levels) for levels in heats}) > 1
    assert mean.levels("heat") == pytest.approx([
        statistics.fmean(level for level in levels if level is not None) for levels in zip(*heats, strict=True)])


def test_a_counter_that_began_anew_in_between_has_no_increase() -> None:
    ticks = [snapshot(number, TOPOLOGY, fresh={"work": frozenset({2})} if number == 3 else None) for number in range(6)]
    mean = averaged(frames_of(ticks)[1:])
    assert [delta is None for delta in mean.deltas("work")] == [False, False, True, False]


def test_frames_before_a_change_of_cpus_are_left_out() -> None:
    fewer = topology_of_cpus(range(2))
    result = frames_of([*(snapshot(number, fewer) for number in range(3)),
                        *(snapshot(number, TOPOLOGY) for number in range(3, 7))])
    mean = averaged(result[1:])
    assert mean.older is not None
    assert mean.older.seq == 3
    assert averaged(result[4:5]) is result[4]


@pytest.mark.parametrize("shape", ["laptop-old", "guest"])
def test_signals_that_are_made_of_others_have_the_times_of_those(shape: str) -> None:
    _machine, (_first, *result) = frames_of_machine(shape, 5, small=True)
    mean, signals = averaged(result), result[-1].capabilities.signals
    made = [name for name, signal in signals.items() if signal.read_as != name]
    assert made
    for name in (*made, *(signals[name].read_as for name in made)):
        spans = mean.spans(name)
        assert spans == pytest.approx([1.0] * len(spans)), name
        assert mean.spans_at(name, (0,)) == spans[:1]


@of_every(("laptop-old", "guest", "genoa-1s", "grace-2s"))
def test_every_column_of_a_machine_lies_between_its_intervals(shape: str) -> None:
    _machine, (_first, *result) = frames_of_machine(shape, 5, small=True)
    mean = averaged(result)
    for column in catalog_for(result[-1].capabilities.signals).columns:
        if column.decimals < 0 or column.hexadecimal or column.identity or column.bits or not mean.can(column):
            continue
        for row in (SYSTEM_ROW, *result[-1].rows(Scope.CPU)[:2]):
            cells = [frame.cell(column, row) for frame in result]
            numbers = [cell for cell in cells if isinstance(cell, int | float)]
            value = mean.cell(column, row)
            if len(numbers) < len(cells) or column.id in {"usec", "Time_Of_Day_Seconds"}:
                continue
            assert isinstance(value, int | float), (column.id, row, mean.why(column, row))
            slack = 1e-6 * max(1.0, *map(abs, numbers)) + 0.02 * (max(numbers) - min(numbers))
            assert min(numbers) - slack <= value <= max(numbers) + slack, (column.id, row, value, numbers)
            assert math.isfinite(value)
