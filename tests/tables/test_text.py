"""turbostat's layout of rows (docs/specs/turbostat.md 1.3): TABs, short rows, hexadecimal core ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turbotui.machine.topology import CpuPlace, Topology, topology_of
from turbotui.quantities.catalog import Catalog, catalog_for
from turbotui.quantities.columns import Category, CounterColumn, Value
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal, SignalId
from turbotui.quantities.units import Unit
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.frame import Frame
from turbotui.sampling.snapshot import Snapshot
from turbotui.sources.msr import Msr
from turbotui.tables.layout import Layout
from turbotui.tables.text import format_cell, format_cells
from turbotui.tables.turbostat_text import TurbostatText

SECOND = 1_000_000_000


def signal(name: SignalId, scope: Scope, reduce: Reduce, scale: float = 1.0, *,
           behavior: Behavior = Behavior.COUNTER, constant: Raw = None) -> Signal:
    return Signal(name, scope, Unit.COUNT, behavior, reduce, name, scale=scale, constant=constant)


def frame_of(topology: Topology, signals: Sequence[Signal], gains: Mapping[SignalId, Sequence[Raw]],
             seconds: int = 1) -> tuple[Frame, Catalog]:
    """Return a frame of one interval with these increases of counters and final values of gauges."""
    by_id = {item.id: item for item in signals}
    counters = [name for name in gains if by_id[name].behavior is Behavior.COUNTER]
    stamps = {name: [SECOND] * len(row) for name, row in gains.items()}
    later = {name: [SECOND * (1 + seconds)] * len(row) for name, row in gains.items()}
    older = Snapshot(0, 0, 1, topology, {name: [0] * len(gains[name]) for name in counters}, stamps)
    newer = Snapshot(1, 0, 1 + seconds * SECOND, topology, gains, later)
    return Frame(older, newer, Capabilities((), {}, by_id, dict.fromkeys(by_id, Msr()), {})), catalog_for(by_id)


def frame_lines(frame: Frame, columns: Sequence[CounterColumn], *, summary_only: bool = False) -> list[str]:
    return list(TurbostatText(Layout(tuple(columns), summary_only=summary_only)).lines(frame))


GUEST_SIGNALS = (
    signal("tsc", Scope.CPU, Reduce.MEAN),
    signal("irq.total", Scope.CPU, Reduce.SUM),
    signal("irq.nmi", Scope.CPU, Reduce.SUM),
    signal("cpuidle.0.time", Scope.CPU, Reduce.MEAN, 1e-6),
    signal("cpuidle.1.time", Scope.CPU, Reduce.MEAN, 1e-6),
    signal("cpuidle.0.name", Scope.SYSTEM, Reduce.SAME, behavior=Behavior.CONSTANT, constant="POLL"),
    signal("cpuidle.1.name", Scope.SYSTEM, Reduce.SAME, behavior=Behavior.CONSTANT, constant="haltpoll idle"),
)


def test_the_guest_of_the_specification() -> None:
    topology = topology_of([CpuPlace(cpu, 0, 0, 0, 0, -1, cpu) for cpu in (0, 1)])
    frame, catalog = frame_of(topology, GUEST_SIGNALS, {
        "tsc": [2_595_600_000 * 5, 2_595_700_000 * 5], "irq.total": [10, 29], "irq.nmi": [0, 0],
        "cpuidle.0.time": [0, 0], "cpuidle.1.time": [4_962_000, 4_834_000],
    }, seconds=5)
    columns = catalog.select(["Core", "CPU", "TSC_MHz", "IRQ", "NMI", "POLL%", "haltpoll idle%"])
    assert frame_lines(frame, columns) == [
        "Core\tCPU\tTSC_MHz\tIRQ\tNMI\tPOLL%\thaltpoll idle%",
        "-\t-\t2596\t39\t0\t0.00\t97.96",
        "0x0\t0\t2596\t10\t0\t0.00\t99.24",
        "0x1\t1\t2596\t29\t0\t0.00\t96.68",
    ]


SERVER_SIGNALS = (
    signal("tsc", Scope.CPU, Reduce.MEAN),
    signal("mperf", Scope.CPU, Reduce.MEAN),
    signal("cstate.core.c6", Scope.CORE, Reduce.MEAN),
    signal("temp.core", Scope.CORE, Reduce.MAX, behavior=Behavior.GAUGE),
    signal("energy.pkg", Scope.PACKAGE, Reduce.SUM, 0.5),
    signal("energy.psys", Scope.SYSTEM, Reduce.SUM),
)
SERVER_GAINS: dict[SignalId, Sequence[Raw]] = {
    "tsc": [2_000_000_000] * 6, "mperf": [200_000_000, 400_000_000, 0, 1_000_000_000, 2_000_000_000, 0],
    "cstate.core.c6": [500_000_000, 1_000_000_000, 0], "temp.core": [40, 41, 70], "energy.pkg": [100, 301],
    "energy.psys": [400],
}
# two packages; core ids 0x0 and 0x1a in package 0, 0x0 again in package 1; siblings are 4 apart
SERVER = topology_of(
    CpuPlace(cpu, package, 0, package, package, -1, core)
    for cpu, package, core in ((0, 0, 0), (4, 0, 0), (1, 0, 26), (5, 0, 26), (2, 1, 0), (6, 1, 0)))
SERVER_COLUMNS = ["Package", "Core", "CPU", "Busy%", "CPU%c1", "CPU%c6", "CoreTmp", "PkgWatt", "SysWatt"]


def test_values_of_a_core_and_a_package_stand_once_and_rows_end_where_their_data_ends() -> None:
    frame, catalog = frame_of(SERVER, SERVER_SIGNALS, SERVER_GAINS)
    assert SERVER.cpus == (0, 4, 1, 5, 2, 6)
    assert frame_lines(frame, catalog.select(SERVER_COLUMNS)) == [
        "Package\tCore\tCPU\tBusy%\tCPU%c1\tCPU%c6\tCoreTmp\tPkgWatt\tSysWatt",
        "-\t-\t-\t30.00\t45.00\t25.00\t70\t200.50\t400.00",
        "0\t0x0\t0\t10.00\t65.00\t25.00\t40\t50.00",
        "0\t0x0\t4\t20.00\t55.00",
        "0\t0x1a\t1\t0.00\t50.00\t50.00\t41",
        "0\t0x1a\t5\t50.00\t0.00",
        "1\t0x0\t2\t100.00\t0.00\t0.00\t70\t150.50",
        "1\t0x0\t6\t0.00\t100.00",
    ]


def test_a_summary_is_a_header_and_one_line() -> None:
    frame, catalog = frame_of(SERVER, SERVER_SIGNALS, SERVER_GAINS)
    assert frame_lines(frame, catalog.select(["Busy%", "PkgWatt"]), summary_only=True) == [
        "Busy%\tPkgWatt", "30.00\t200.50"]


def test_the_unknown_is_a_dash_and_not_a_zero() -> None:
    gains = {**SERVER_GAINS, "mperf": [None, *SERVER_GAINS["mperf"][1:]], "energy.pkg": [None, 301]}
    frame, catalog = frame_of(SERVER, SERVER_SIGNALS, gains)
    lines = frame_lines(frame, catalog.select(["CPU", "Busy%", "PkgWatt"]))
    assert lines[2] == "0\t-\t-"
    assert lines[3] == "4\t20.00"
    assert lines[1] == "-\t-\t-"


def test_a_row_without_the_value_of_its_first_column_begins_with_a_tab() -> None:
    frame, catalog = frame_of(SERVER, SERVER_SIGNALS, SERVER_GAINS)
    lines = frame_lines(frame, (catalog.by_id["PkgWatt"], catalog.by_id["Busy%"]))
    assert lines[2:4] == ["50.00\t10.00", "\t20.00"]


def test_without_columns_an_interval_is_one_empty_line() -> None:
    frame, _catalog = frame_of(SERVER, SERVER_SIGNALS, SERVER_GAINS)
    assert frame_lines(frame, ()) == [""]


def _column(decimals: int, *, hexadecimal: bool = False) -> CounterColumn:
    return CounterColumn("x", "", decimals, (), lambda _row: None, "x", "Help.", "none",
                         category=Category.OTHER, scope=Scope.CPU, hexadecimal=hexadecimal)


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [(_column(2), 1.005, "1.00"), (_column(2), 3, "3.00"), (_column(0), 2595.5001, "2596"), (_column(-1), "P", "P"),
     (_column(0), None, "-"), (_column(0), 0, "0"), (_column(0, hexadecimal=True), 26, "0x1a"),
     (_column(0), 12345678901, "12345678901")],
)
def test_cells_have_the_decimals_of_their_column(column: CounterColumn, value: float | str | None, text: str) -> None:
    assert format_cell(column, value, hexadecimal=True) == text


_FLOATS = st.floats(-1e15, 1e15)
_VALUES = st.none() | _FLOATS | st.integers(-10**9, 10**18) | st.text(max_size=4)


@given(decimals=st.integers(-1, 4), most=st.sampled_from([0, 6]),
       values=st.lists(_VALUES) | st.lists(_FLOATS) | st.lists(st.integers(0, 10**9)))
def test_the_cells_of_a_column_are_each_as_alone(decimals: int, most: int, values: list[Value]) -> None:
    column = replace(_column(decimals), most_decimals=most)
    assert format_cells(column, values) == [format_cell(column, value) for value in values]


def test_the_cells_of_a_hexadecimal_column_are_hexadecimal() -> None:
    assert format_cells(_column(0, hexadecimal=True), [26, 255], hexadecimal=True) == ["0x1a", "0xff"]


def test_rows_of_all_cpus_are_the_topologys_own() -> None:
    """Other tuples of the same rows would be looked up once more for every frame."""
    frame, _catalog = frame_of(SERVER, SERVER_SIGNALS, SERVER_GAINS)
    assert Layout(()).row_ids(frame) is frame.topology.rows(Scope.CPU)
