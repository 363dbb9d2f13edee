"""Every formula, compared with a number calculated by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowinputs import Row

from turbotui.quantities.catalog import STATIC_COLUMNS, formulas, idle
from turbotui.quantities.columns import Column, CounterColumn
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal
from turbotui.quantities.units import Unit
from turbotui.tables.text import number_text
from turbotui.widgets.cells import cell_text
from turbotui.widgets.painter import fast_numbers


def column(name: str, *, needing: str = "") -> CounterColumn:
    """The column of that id; of two, the one that needs `needing`."""
    return next(item for item in STATIC_COLUMNS if item.id == name and (not needing or needing in item.needs))


def value(name: str, row: Row, *, needing: str = "") -> float:
    cell = column(name, needing=needing).compute(row)
    assert isinstance(cell, float | int)
    return cell


@given(part=st.floats(-1e12, 1e12), whole=st.floats(-1e12, 1e12))
def test_percent_is_known_only_where_it_makes_sense(part: float, whole: float) -> None:
    result = formulas.percent(part, whole)
    if result is None:
        assert whole <= 0 or part < 0 or 100 * part / whole > 110
    else:
        assert 0 <= result <= 110
        assert result == pytest.approx(100 * part / whole)


def test_percent_of_the_unknown_is_unknown() -> None:
    assert formulas.percent(None, 1.0) is None
    assert formulas.percent(1.0, None) is None
    assert formulas.percent(110.0, 100.0) == 110.0
    assert formulas.percent(110.2, 100.0) is None


def test_pressure_is_never_more_than_all_of_the_time() -> None:
    for waited, shown in ((0.25, 25.0), (1.013, 100.0)):  # a reader that waited between clock and file
        assert value("PSIcpu%", Row({"psi.cpu.some": waited})) == shown


def test_busy_mhz_is_base_clock_times_active_over_reference_cycles() -> None:
    row = Row({"aperf": 3_497_120_004, "mperf": 1_999_610_220, "tsc": 2e9}, values={"base_hz": 2e9})
    assert value("Bzy_MHz", row) == pytest.approx(3497.80, abs=0.005)


def test_busy_mhz_takes_the_tsc_where_the_base_clock_is_zero() -> None:
    row = Row({"aperf": 3e9, "mperf": 1.5e9, "tsc": 4.8e9}, seconds=2.0, values={"base_hz": 0.0})
    assert value("Bzy_MHz", row) == pytest.approx(2400 * 2)
    tweaked = Row({"aperf": 3e9, "mperf": 1.5e9, "tsc": 4.8e9}, 2.0, {"base_hz": 0.0, "tsc_tweak": 0.5})
    assert value("Bzy_MHz", tweaked) == pytest.approx(1200 * 2)
    assert column("Bzy_MHz").compute(Row({"aperf": 3e9, "mperf": 1.5e9})) is None
    assert column("Bzy_MHz").compute(Row({"aperf": 3e9, "mperf": 0.0}, values={"base_hz": 2e9})) is None


def test_average_and_tsc_clock_divide_by_the_time_that_passed() -> None:
    row = Row({"aperf": 1.25e9, "tsc": 12.98e9}, seconds=5.0)
    assert value("Avg_MHz", row) == 250.0
    assert value("TSC_MHz", row) == 2596.0


def test_busy_share_is_of_the_tsc_scaled_to_the_base_clock() -> None:
    assert value("Busy%", Row({"mperf": 0.5e9, "tsc": 2e9})) == 25.0
    assert value("Busy%", Row({"mperf": 0.5e9, "tsc": 2e9}, values={"tsc_tweak": 1.25})) == 20.0


def test_instructions_per_cycle() -> None:
    assert value("IPC", Row({"instructions": 3e9, "aperf": 2e9}), needing="aperf") == 1.5
    assert value("IPC", Row({"instructions": 3e9, "cycles": 4e9}), needing="cycles") == 0.75
    assert column("IPC", needing="aperf").compute(Row({"instructions": 3e9, "aperf": 0.0})) is None


def test_cache_columns() -> None:
    row = Row({"cache.references": 40e6, "cache.misses": 10e6}, seconds=2.0)
    assert value("LLCMRPS", row) == 20.0
    assert value("LLC%hit", row) == 75.0
    assert column("LLC%hit").compute(Row({"cache.references": 10.0, "cache.misses": 11.0})) is None


@pytest.mark.parametrize(
    ("name", "signal"),
    [("CPU%c1", "cstate.core.c1"), ("CPU%c6", "cstate.core.c6"), ("Mod%c6", "cstate.module.c6"),
     ("Pkg%pc2", "cstate.pkg.c2"), ("Pk%pc10", "cstate.pkg.c10")],
)
def test_residencies_are_shares_of_the_reference_clock(name: str, signal: str) -> None:
    assert value(name, Row({signal: 1.2e9, "tsc": 2e9}), needing=signal) == 60.0
    assert value(name, Row({signal: 1.2e9, "tsc": 2e9}, values={"tsc_tweak": 1.5}), needing=signal) == 40.0


def test_c1_is_what_no_other_state_took() -> None:
    parts: dict[str, float | None] = {"tsc": 2e9, "mperf": 0.5e9, "cstate.core.c6": 0.7e9, "cstate.core.c7": 0.1e9}
    assert value("CPU%c1", Row(parts), needing="mperf") == pytest.approx(35.0)
    assert value("CPU%c1", Row({**parts, "cstate.core.c3": 0.3e9}), needing="mperf") == pytest.approx(20.0)
    assert value("CPU%c1", Row({**parts, "mperf": 1.9e9}), needing="mperf") == 0.0, "never below zero"


def test_c1_is_unknown_while_a_state_it_is_derived_from_is() -> None:
    assert column("CPU%c1", needing="mperf").compute(Row({"tsc": 2e9, "mperf": 0.5e9})) is None


@pytest.mark.parametrize(
    ("watts", "joules", "signal"),
    [("PkgWatt", "Pkg_J", "energy.pkg"), ("CorWatt", "Cor_J", "energy.cores"), ("CorWatt", "Cor_J", "energy.core"),
     ("GFXWatt", "GFX_J", "energy.gpu"), ("RAMWatt", "RAM_J", "energy.ram"), ("SysWatt", "Sys_J", "energy.psys")],
)
def test_energy_is_joules_and_power_joules_a_second(watts: str, joules: str, signal: str) -> None:
    row = Row({signal: 90.0}, seconds=2.0)
    assert value(watts, row, needing=signal) == 45.0
    assert value(joules, row, needing=signal) == 90.0


def test_power_limits() -> None:
    row = Row({"energy.pkg": 90.0}, 2.0, {"limit.pkg.pl1": 180.0, "limit.pkg.pl2": 250.0})
    assert (value("PL1", row), value("PL2", row), value("PL1%", row)) == (180.0, 250.0, 25.0)


# user 20 (5 of it guest), nice 10 (2 of it niced guest), system 15, idle 30, iowait 5, irq 4, softirq 6, steal 10: 100
STAT = Row({f"stat.{name}": seconds for name, seconds in (
    ("user", 0.20), ("nice", 0.10), ("system", 0.15), ("idle", 0.30), ("iowait", 0.05), ("irq", 0.04),
    ("softirq", 0.06), ("steal", 0.10), ("guest", 0.05), ("guest_nice", 0.02), ("whole", 1.0), ("booked", 1.0))})


@pytest.mark.parametrize(
    ("name", "percent"),
    [("Load%", 65.0), ("user%", 23.0), ("sys%", 15.0), ("irq%", 10.0), ("iowait%", 5.0), ("steal%", 10.0),
     ("guest%", 7.0)],
)
def test_shares_of_the_kernels_time_count_guests_once(name: str, percent: float) -> None:
    assert value(name, STAT) == pytest.approx(percent)


def test_a_share_of_which_a_part_was_lost_is_unknown() -> None:
    lost = Row(STAT.deltas | {"stat.softirq": None})
    for name in ("Load%", "irq%", "softirq%"):
        assert column(name).compute(lost) is None
    assert value("user%", lost) == pytest.approx(23.0)


def test_time_that_nobody_booked_is_in_no_share_and_has_its_own() -> None:
    half = Row(STAT.deltas | {"stat.whole": 2.0})
    assert value("Load%", half) == pytest.approx(32.5)
    assert value("unbooked%", half) == pytest.approx(50.0)
    assert value("unbooked%", STAT) == 0.0


def test_shares_of_the_kernels_time_on_an_old_kernel_without_the_later_columns() -> None:
    row = Row({"stat.user": 0.5, "stat.nice": 0.0, "stat.system": 0.25, "stat.idle": 0.2, "stat.iowait": 0.05,
               "stat.whole": 1.0})
    assert value("Load%", row) == pytest.approx(75.0)
    assert value("user%", row) == pytest.approx(50.0)


@pytest.mark.parametrize(
    ("name", "signal", "counted", "expected"),
    [("IRQ", "irq.total", 1234.0, 1234), ("NMI", "irq.nmi", 2.0, 2), ("SMI", "smi", 1.0, 1),
     ("IRQ/s", "irq.total", 1234.0, 617.0), ("TLB/s", "irq.tlb", 10.0, 5.0), ("SoftIRQ/s", "softirq.total", 50.0, 25.0),
     ("CSW/s", "switches", 4000.0, 2000.0), ("Migr/s", "migrations", 8.0, 4.0), ("Fault/s", "faults", 2.0, 1.0),
     ("CoreThr", "throttle.core.count", 3.0, 3), ("PkgThr", "throttle.pkg.count", 5.0, 5),
     ("CoreThr%", "throttle.core.time", 0.5, 25.0)],
)
def test_counts_are_counts_and_rates_are_a_second(name: str, signal: str, counted: float, expected: float) -> None:
    assert value(name, Row({signal: counted}, seconds=2.0)) == expected


@pytest.mark.parametrize("name", ["IRQ", "NMI", "SMI"])
def test_counts_print_as_whole_numbers(name: str) -> None:
    cell = column(name).compute(Row(anything=7.0))
    assert cell == 7
    assert isinstance(cell, int)


def test_gauges() -> None:
    row = Row(values={"temp.core": 67.6, "temp.pkg": 70.2, "temp.ccd": 55.5, "cpufreq.cur": 3.2e9, "cpufreq.min": 8e8,
                      "cpufreq.max": 5.2e9}, texts={"cpufreq.governor": "schedutil"})
    result = [value(name, row) for name in ("CoreTmp", "PkgTmp", "CCDTmp", "CurMHz", "MinMHz", "MaxMHz")]
    assert result == [68, 70, 56, 3200.0, 800.0, 5200.0]
    assert column("Governor").compute(row) == "schedutil"
    assert column("Driver").compute(row) is None


def test_requested_idle_states_are_shares_and_counts_of_each_state() -> None:
    names = {"cpuidle.0.name": "POLL", "cpuidle.1.name": "C1", "cpuidle.2.name": "C6"}
    signals = {name: Signal(name, Scope.SYSTEM, Unit.TEXT, Behavior.CONSTANT, Reduce.SAME, "", constant=text)
               for name, text in names.items()}
    columns = {cpuidle_column.id: cpuidle_column for cpuidle_column in idle.cpuidle_columns(signals)}
    assert [name for name in columns if not name.endswith("!")] == [
        "POLL", "POLL+", "C1-", "C1", "C1+", "C6-", "C6", "POLL%", "C1%", "C6%", "IdleExit%"]
    row = Row({"cpuidle.1.time": 0.5, "cpuidle.1.usage": 40.0, "cpuidle.1.below": 3.0, "cpuidle.1.above": 2.0}, 2.0)
    assert [columns[name].compute(row) for name in ("C1%", "C1", "C1+", "C1-", "C6%")] == [25.0, 40, 3, 2, None]


def test_leaving_idle_states_takes_no_longer_than_they_last() -> None:
    names = {f"cpuidle.{state}.name": Signal(f"cpuidle.{state}.name", Scope.SYSTEM, Unit.TEXT, Behavior.CONSTANT,
                                             Reduce.SAME, "", constant=text) for state, text in enumerate(("C1", "C6"))}
    leaving = next(cpuidle_column for cpuidle_column in idle.cpuidle_columns(names) if cpuidle_column.id == "IdleExit%")
    latencies: dict[str, float | None] = {"cpuidle.0.latency": 1e-6, "cpuidle.1.latency": 100e-6}
    entered = {"cpuidle.0.usage": 1000.0, "cpuidle.1.usage": 20_000.0, "cpuidle.0.time": 0.5}
    assert leaving.compute(Row({**entered, "cpuidle.1.time": 0.3}, values=latencies)) == pytest.approx(0.1 + 30.0)
    assert leaving.compute(Row({**entered, "cpuidle.1.time": None}, values=latencies)) == 100.0  # 200 % by the latency
    assert leaving.compute(Row({**entered, "cpuidle.1.usage": None}, values=latencies)) is None  # not read


def test_idle_states_of_one_name_are_distinguished() -> None:
    signals = {f"cpuidle.{state}.name": Signal(f"cpuidle.{state}.name", Scope.SYSTEM, Unit.TEXT, Behavior.CONSTANT,
                                               Reduce.SAME, "", constant="C3") for state in (0, 1)}
    shares = [cpuidle_column.id for cpuidle_column in idle.cpuidle_columns(signals) if cpuidle_column.id.endswith("%")]
    assert shares == ["C3.0%", "C3.1%", "IdleExit%"]


@pytest.mark.parametrize(("value", "text"), [
    (0.000412, "0.00041"), (0.0041, "0.0041"), (0.0123, "0.012"), (0.5, "0.500"), (2.25, "2.250"), (0.0, "0.000"),
    (-0.0041, "-0.0041"), (0.000010, "0.000010"),
    (8.03e-7, "8.0e-7"), (-4e-9, "-4.0e-9"), (9.99e-11, "1.0e-10"),
])
def test_small_quotients_have_significant_digits_in_cells_sentences_and_formats(value: float, text: str) -> None:
    quotient = Column[float]("a_per_b", "", 3, (), lambda row: row, width=8, most_decimals=6)
    assert quotient.amount(value) == text
    assert cell_text(quotient, value, 8).strip() == text
    assert number_text(quotient, value) == text
    assert fast_numbers(quotient, [value], 8) == [None], "left to cell_text"
