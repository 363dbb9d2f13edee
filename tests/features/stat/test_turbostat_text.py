"""turbostat's text byte by byte, compared with golden files written from the specification."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from statscripts import PAIR, SERVER, Script, signal

from turbotui.machine.host import HostKind
from turbotui.quantities.added import parse_added
from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.catalog.added import added_column
from turbotui.quantities.columns import Category, CounterColumn
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Raw, Reduce, SignalId
from turbotui.sampling.frame import Frame
from turbotui.tables.frame_formats import make_frame_format
from turbotui.tables.layout import Layout

GOLDEN = Path(__file__).parents[2] / "golden" / "stat"

GUEST_SIGNALS = (
    signal("tsc", Scope.CPU, Reduce.MEAN),
    signal("mperf", Scope.CPU, Reduce.MEAN),
    signal("irq.total", Scope.CPU, Reduce.SUM),
    signal("irq.nmi", Scope.CPU, Reduce.SUM),
    signal("cpuidle.0.time", Scope.CPU, Reduce.MEAN, 1e-6),
    signal("cpuidle.1.time", Scope.CPU, Reduce.MEAN, 1e-6),
    signal("cpuidle.0.name", Scope.SYSTEM, Reduce.SAME, behavior=Behavior.CONSTANT, constant="POLL"),
    signal("cpuidle.1.name", Scope.SYSTEM, Reduce.SAME, behavior=Behavior.CONSTANT, constant="haltpoll idle"),
)
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
SERVER_COLUMNS = ("Package", "Core", "CPU", "Busy%", "CPU%c1", "CPU%c6", "CoreTmp", "PkgWatt", "SysWatt")
TICKS: Mapping[SignalId, Sequence[Raw]] = {"tsc": [1_000_000_000] * 2}


def printed(layout: Layout, frames: Iterable[Frame]) -> bytes:
    text = make_frame_format("text", layout)
    return "".join(f"{line}\n" for frame in frames for line in text.lines(frame)).encode()


def columns_of(script: Script, *names: str) -> tuple[CounterColumn, ...]:
    return catalog_for(script.signals).select(names)


def golden(name: str) -> bytes:
    return (GOLDEN / f"{name}.txt").read_bytes()


def test_the_guest_of_the_specification() -> None:
    script = Script(PAIR, GUEST_SIGNALS)
    frame = script.frame({
        "tsc": [2_595_600_000 * 5, 2_595_700_000 * 5], "irq.total": [10, 29], "irq.nmi": [0, 0],
        "cpuidle.0.time": [0, 0], "cpuidle.1.time": [4_962_000, 4_834_000],
    }, seconds=5)
    columns = columns_of(script, "Core", "CPU", "TSC_MHz", "IRQ", "NMI", "POLL%", "haltpoll idle%")
    assert printed(Layout(columns), [frame]) == golden("guest")


@pytest.mark.parametrize(("name", "rows"), [("server", Scope.CPU), ("server_cores", Scope.CORE),
                                            ("server_packages", Scope.PACKAGE)])
def test_a_server_with_short_rows_whole_and_filtered(name: str, rows: Scope) -> None:
    script = Script(SERVER, SERVER_SIGNALS)
    layout = Layout(columns_of(script, *SERVER_COLUMNS), rows=rows)
    assert printed(layout, [script.frame(SERVER_GAINS)]) == golden(name)


def test_counts_are_eight_wide_from_the_first_sum_above_9999999_on() -> None:
    script = Script(PAIR, GUEST_SIGNALS)
    frames = [script.frame({**TICKS, "irq.total": total, "irq.nmi": nmi})
              for total, nmi in (([5_000_000, 4_999_999], [1, 2]), ([5_000_000, 5_000_000], [1, 2]), ([1, 1], [0, 0]))]
    layout = Layout(columns_of(script, "CPU", "IRQ", "NMI", "TSC_MHz"))
    # IRQ stands before TSC_MHz in no turbostat; the order of columns is the layout's
    by_id = {column.id: column for column in layout.columns}
    layout = replace(layout, columns=tuple(by_id[name] for name in ("CPU", "IRQ", "NMI", "TSC_MHz")))
    assert printed(layout, frames) == golden("wide")


@pytest.mark.parametrize(("name", "every"), [("summary", None), ("summary_every_2", 2)])
def test_the_header_of_a_summary_comes_once_or_every_n_lines(name: str, every: int | None) -> None:
    script = Script(PAIR, GUEST_SIGNALS)
    frames = [script.frame({"irq.total": [count, 0]}) for count in range(1, 6)]
    layout = Layout(columns_of(script, "IRQ"), summary_only=True, header_every=every)
    assert printed(layout, frames) == golden(name)


def test_header_iterations_mean_nothing_where_there_are_rows() -> None:
    script = Script(PAIR, GUEST_SIGNALS)
    frames = [script.frame({"irq.total": [1, 0]}) for _ in range(3)]
    lines = printed(Layout(columns_of(script, "CPU", "IRQ"), header_every=2), frames).splitlines()
    assert lines.count(b"CPU\tIRQ") == 3


def _clock(name: str, decimals: int, values: Mapping[int, float], whole: float) -> CounterColumn:
    return CounterColumn(name, "", decimals, (),
                         lambda row: whole if row.place(Scope.CPU) is None else values[row.place(Scope.CPU) or 0],
                         "a clock", "Help.", "none", category=Category.OTHER, scope=Scope.CPU)


@pytest.mark.parametrize(("name", "alone"), [("clocks", False), ("clocks_alone", True)])
def test_clocks_have_widths_and_a_hard_tab(name: str, alone: bool) -> None:
    script = Script(PAIR, GUEST_SIGNALS)
    usec = _clock("usec", 0, {0: 41, 1: 123}, 123)
    day = _clock("Time_Of_Day_Seconds", 6, {0: 1_700_000_002.25, 1: 1_700_000_002.5}, 1_700_000_002.5)
    columns = (usec,) if alone else (usec, day, *columns_of(script, "CPU"))
    assert printed(Layout(columns), [script.frame({"irq.total": [0, 0]})]) == golden(name)


def test_raw_words_are_digits_under_a_padded_name() -> None:
    wide, narrow = parse_added("msr0x10,raw"), parse_added("msr0x34,u32,raw")
    script = Script(PAIR, (*GUEST_SIGNALS, signal(wide.signal, Scope.CPU, Reduce.SAME, behavior=Behavior.GAUGE),
                           signal(narrow.signal, Scope.CPU, Reduce.SAME, behavior=Behavior.GAUGE)))
    frame = script.frame({**TICKS, wide.signal: ["00000000deadbeef", "fedcba9876543210"],
                          narrow.signal: ["0000000a", "0000000a"]})
    columns = (*columns_of(script, "CPU", "TSC_MHz"), added_column(wide), added_column(narrow))
    assert printed(Layout(columns), [frame]) == golden("raw")


def test_a_percentage_that_cannot_be_is_nan_and_what_was_not_read_a_dash() -> None:
    script = Script(PAIR, GUEST_SIGNALS)
    frame = script.frame({**TICKS, "mperf": [2_000_000_000, None]})
    assert printed(Layout(columns_of(script, "CPU", "Busy%", "TSC_MHz")), [frame]) == golden("nan")


def test_without_columns_an_interval_is_an_empty_line() -> None:
    script = Script(PAIR, GUEST_SIGNALS)
    assert printed(Layout(()), [script.frame({}), script.frame({})]) == b"\n\n"


def test_every_block_of_a_simulated_machine_says_so() -> None:
    script = Script(PAIR, GUEST_SIGNALS)
    layout = Layout(columns_of(script, "CPU"), machine="guest", kind=HostKind.SIMULATED)
    lines = printed(layout, [script.frame({}), script.frame({})]).decode().splitlines()
    assert [line for line in lines if line.startswith("#")] == [
        "# SIMULATED machine guest: no number below was measured"] * 2
    assert lines[0].startswith("#")
    assert lines[5].startswith("#")
