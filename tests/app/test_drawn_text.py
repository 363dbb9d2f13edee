"""Drawn text without Textual: numbers, sparklines, filters, geometry, order."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_machine import FakeSession, build_topology

from turbotui.machine.topology import CpuPlace, topology_of
from turbotui.quantities.columns import Category, CounterColumn, Thresholds
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope, cpu_row
from turbotui.sampling.history import History, HistoryRing
from turbotui.sampling.tagged import tagged_cell
from turbotui.widgets.cells import Slot, StyleRole, alarm, cell_text, number, slot_for
from turbotui.widgets.explanation import past_lines
from turbotui.widgets.frame_rows import FrameContent
from turbotui.widgets.geometry import arrange, offset_showing
from turbotui.widgets.painter import nice_top
from turbotui.widgets.rows import levels_of, tree_lines
from turbotui.widgets.spark import spark
from turbotui.widgets.summary import short_model
from turbotui.widgets.table_view import ordered

finite = st.floats(min_value=-1e12, max_value=1e12, allow_nan=False)


def column(name: str = "Busy%", *, category: Category = Category.FREQUENCY, decimals: int = 2, width: int = 6,
           priority: int = 5, thresholds: Thresholds | None = None) -> CounterColumn:
    return CounterColumn(name, "%", decimals, (), lambda _inputs: None, "f", "Help.", "doc", category=category,
                         scope=Scope.CPU, width=width, priority=priority, thresholds=thresholds)


@given(finite, st.integers(0, 3), st.integers(5, 12))
def test_a_number_never_outgrows_its_column(value: float, decimals: int, width: int) -> None:
    assert len(number(value, decimals, width)) <= width


def test_a_number_keeps_its_decimals_while_it_fits() -> None:
    assert number(7.0, 2, 6) == "7.00"
    assert number(123456.0, 2, 6) == "123456"
    assert number(12_345_678.0, 0, 6) == "12346k"


def test_unknown_is_a_dash_and_zero_is_zero() -> None:
    assert cell_text(column(), None, 6) == "     —"
    assert cell_text(column(), 0.0, 6) == "  0.00"


def test_thresholds_work_both_ways() -> None:
    high = column(thresholds=Thresholds(85, 95))
    low = column(thresholds=Thresholds(20, 10, low=True))
    assert [alarm(high, value) for value in (84.9, 85, 95)] == [None, StyleRole.AMBER, StyleRole.RED]
    assert [alarm(low, value) for value in (21, 20, 10)] == [None, StyleRole.AMBER, StyleRole.RED]
    assert alarm(high, None) is None


@given(st.lists(st.one_of(st.just(math.nan), st.floats(0, 200)), max_size=80), st.integers(1, 30), st.integers(0, 500))
def test_a_spark_has_its_width_whatever_comes(values: list[float], width: int, seq: int) -> None:
    assert len(spark(values, 100.0, width, seq)) == width


def test_a_spark_has_a_fixed_scale() -> None:
    assert spark([0, 50, 100], 100, 3) == "▁▅█"
    assert spark([50, 50, 50], 100, 3) == "▅▅▅"
    assert spark([math.nan, 100], 100, 2) == " █"


def test_complete_bars_of_a_spark_do_not_change() -> None:
    past = [float(at % 50) for at in range(100)]
    pictures = [spark(past[: seq + 1][-60:], 50, 10, seq) for seq in range(60, 66)]
    assert len({picture[1:9] for picture in pictures[:5]}) == 1


@given(st.lists(st.one_of(st.none(), st.floats(0, 1e6, width=32)), min_size=1, max_size=50), st.integers(1, 20))
def test_a_ring_holds_the_last_values_and_the_extremes_of_all(values: list[float | None], length: int) -> None:
    ring = HistoryRing(length)
    for value in values:
        ring.push(value)
    tail = list(ring.values())[-min(length, len(values)) :]
    assert len(ring.values()) == length
    for kept, given_value in zip(tail, values[-length:], strict=True):
        assert math.isnan(kept) if given_value is None else kept == given_value
    known = [value for value in values if value is not None]
    assert ring.count == len(known)
    if known:
        assert (ring.low, ring.high) == (min(known), max(known))
        assert ring.mean == pytest.approx(sum(known) / len(known))
    else:
        assert ring.mean is None


def test_one_interval_is_one() -> None:
    ring = HistoryRing(3)
    ring.push(1.0)
    assert past_lines(column("a"), ring, None, 1)[0].startswith("  over 1 interval: min ")
    ring.push(2.0)
    assert past_lines(column("a"), ring, None, 2)[0].startswith("  over 2 intervals: min ")


def test_a_ring_that_is_lengthened_keeps_its_values_in_order() -> None:
    ring = HistoryRing(3)
    for value in (1.0, 2.0, 3.0, 4.0):
        ring.push(value)
    ring.lengthen(5)
    ring.push(5.0)
    assert list(ring.values())[-4:] == [2.0, 3.0, 4.0, 5.0]


def test_intervals_that_were_not_kept_are_gaps() -> None:
    session = FakeSession()
    busy = session.catalog.get("Busy%")
    assert busy is not None
    history = History()
    frames = [session.frame() for _ in range(6)]
    history.push(frames[1], (busy,), (SYSTEM_ROW,))
    history.push(frames[5], (busy,), (SYSTEM_ROW,))
    ring = history.ring("Busy%", SYSTEM_ROW)
    assert ring is not None
    last = list(ring.values())[-5:]
    assert [math.isnan(value) for value in last] == [False, True, True, True, False]


def test_a_reset_leaves_the_picture_its_scale() -> None:
    session = FakeSession()
    busy = session.catalog.get("Busy%")
    assert busy is not None
    history = History()
    for frame in [session.frame() for _ in range(6)]:
        history.push(frame, (busy,), frame.rows(Scope.CPU))
    peak = history.peak("Busy%", Scope.CPU)
    assert peak
    history.reset()
    assert history.peak("Busy%", Scope.CPU) == pytest.approx(peak, rel=1e-6)
    assert history.peak("Busy%", Scope.CORE) is None


slots = st.lists(
    st.builds(
        lambda width, priority, category: slot_for(column("X", width=width, priority=priority, category=category)),
        st.integers(2, 12), st.integers(0, 9), st.sampled_from([Category.FREQUENCY, Category.IDLE, Category.POWER]),
    ),
    min_size=1, max_size=25,
)


@given(slots, st.integers(30, 200), st.integers(0, 30))
def test_drawn_columns_fit_and_do_not_overlap(given_slots: list[Slot], width: int, offset: int) -> None:
    geometry = arrange(given_slots, 10, width, min(offset, len(given_slots)))
    at = 10
    for slot, start in zip(geometry.slots, geometry.starts, strict=True):
        assert start >= at
        at = start + slot.outer
    assert at <= width
    assert geometry.more_right or offset or len(geometry.slots) == len(given_slots)


@given(slots, st.integers(30, 200), st.data())
def test_any_column_can_be_scrolled_to(given_slots: list[Slot], width: int, data: st.DataObject) -> None:
    wanted = data.draw(st.integers(0, len(given_slots) - 1))
    offset = offset_showing(given_slots, 10, width, data.draw(st.integers(0, len(given_slots))), wanted)
    assert wanted in arrange(given_slots, 10, width, offset).indices


def test_what_has_no_room_leaves_by_priority() -> None:
    wide = [slot_for(column(f"c{priority}", width=10, priority=priority)) for priority in (5, 0, 9, 1)]
    geometry = arrange(wide, 5, 40)
    assert [slot.column.id for slot in geometry.slots] == ["c5", "c0", "c1"]
    assert geometry.more_right


def test_unknown_sorts_last_both_ways_and_equals_keep_their_order() -> None:
    session = FakeSession(signals=["tsc", "mperf", "aperf"])
    session.script.hole = frozenset({("mperf", session.topology.index(Scope.CPU, 3))})
    busy = session.catalog.get("Busy%")
    assert busy is not None
    frames = [session.frame() for _ in range(3)]
    rows = frames[-1].rows(Scope.CPU)
    for reverse in (False, True):
        assert ordered(FrameContent(frames[-1]), rows, busy, reverse=reverse)[-1] == cpu_row(3)
    constant = session.catalog.get("TSC_MHz")
    assert constant is not None
    assert list(ordered(FrameContent(frames[-1]), rows, constant, reverse=True)) == list(rows)


def test_levels_that_divide_nothing_are_left_out() -> None:
    assert levels_of(build_topology(2, 4, 2)) == (Scope.PACKAGE, Scope.CORE, Scope.CPU)
    assert levels_of(build_topology(2, 4, 1)) == (Scope.PACKAGE, Scope.CPU)


def test_a_module_of_one_core_and_a_core_of_one_cpu_take_one_line() -> None:
    topology = topology_of(
        [CpuPlace(cpu=cpu, package=0, die=0, l3=0, node=0, module=module, core=core)
         for cpu, (module, core) in enumerate([(0, 0), (0, 0), (2, 1), (2, 2), (4, 3)])]
    )
    levels = levels_of(topology)
    assert levels == (Scope.PACKAGE, Scope.MODULE, Scope.CORE, Scope.CPU)
    lines = tree_lines(topology, levels, lambda rows: rows)
    assert [(line.row.scope.value, line.depth) for line in lines] == [
        ("package", 0), ("core", 1), ("cpu", 2), ("cpu", 2), ("module", 1), ("cpu", 2), ("cpu", 2), ("cpu", 1),
    ]


def test_a_folded_group_hides_its_parts_and_a_filter_hides_empty_groups() -> None:
    topology = build_topology(2, 2, 2)
    levels = levels_of(topology)
    package = RowId(Scope.PACKAGE, (0,))
    lines = tree_lines(topology, levels, lambda rows: rows, folded=frozenset({package}))
    assert lines[0].row == package
    assert lines[0].open is False
    assert lines[1].row == RowId(Scope.PACKAGE, (1,))
    kept = tree_lines(topology, levels, lambda rows: rows, keep=frozenset({cpu_row(0)}))
    assert [line.row.scope for line in kept] == [Scope.PACKAGE, Scope.CORE, Scope.CPU]


def test_the_sum_of_tagged_rows_counts_a_shared_counter_once() -> None:
    session = FakeSession()
    frames = [session.frame() for _ in range(3)]
    watts, busy = session.catalog.get("PkgWatt"), session.catalog.get("Busy%")
    assert watts is not None
    assert busy is not None
    package = frames[-1].cell(watts, RowId(Scope.PACKAGE, (0,)))
    assert tagged_cell(frames[-1], watts, [0, 1]) == package
    assert tagged_cell(frames[-1], busy, frames[-1].topology.cpus) == frames[-1].cell(busy, SYSTEM_ROW)
    # TSCs are all alike here, so the mean of two CPUs' shares is the share of both.
    both = [frames[-1].cell(busy, cpu_row(cpu)) for cpu in (0, 3)]
    mean = sum(float(value) for value in both if value is not None) / 2
    assert tagged_cell(frames[-1], busy, [0, 3]) == pytest.approx(mean)


@given(st.floats(0.001, 1e9))
def test_a_scale_is_not_below_its_peak_and_not_far_above(peak: float) -> None:
    assert peak <= nice_top(peak) * (1 + 1e-6)
    assert nice_top(peak) <= peak * 1.51


def test_model_names_lose_their_noise() -> None:
    assert short_model("Intel(R) Xeon(R) Platinum 8480+") == "Intel Xeon Platinum 8480+"
    assert short_model("AMD EPYC 9755 128-Core Processor") == "AMD EPYC 9755"
    assert short_model("Intel(R) Core(TM) i7-6700K CPU @ 4.00GHz") == "Intel Core i7-6700K"
