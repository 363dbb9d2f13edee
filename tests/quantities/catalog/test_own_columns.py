"""Columns that turbostat does not have: power limits, reasons, hints, nJ an instruction; E cores' idle time."""

from __future__ import annotations

import pytest
from catalogbench import Given, Row, energy_pmu, file_counters, gauges, measure, own_registers, pmu, registers, texts
from hypothesis import given
from hypothesis import strategies as st

from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.topology import CpuPlace
from turbotui.quantities.catalog import limits
from turbotui.quantities.scope import RowId, Scope
from turbotui.sampling.tagged import tagged_cell

MHZ = 1e6
FLAGS = frozenset({"tsc", "aperfmperf", "dtherm", "pts", "epb", "hwp_epp"})
TWO_PACKAGES = [CpuPlace(0, 0, 0, 0, 0, 0, 0), CpuPlace(1, 1, 0, 1, 1, 1, 0)]
UNITS = gauges({0x606: 0x000A0E03})
ZONE = "/sys/class/powercap/intel-rapl:0"


def intel(model: int) -> CpuModel:
    return CpuModel(architecture="x86_64", vendor="GenuineIntel", family=6, model=model, flags=FLAGS)


SKYLAKE, HASWELL, ALDER_LAKE = intel(0x5E), intel(0x3C), intel(0x97)
POWERCAP = texts({
    f"{ZONE}/name": "package-0\n", f"{ZONE}/max_energy_range_uj": "262143328850\n", f"{ZONE}/energy_uj": "5\n",
    **{f"{ZONE}/constraint_{n}_name": f"{word}\n" for n, word in enumerate(("long_term", "short_term", "peak_power"))},
    **{f"{ZONE}/constraint_{n}_power_limit_uw": f"{watts}000000\n" for n, watts in enumerate((28, 64, 140))},
})  # fmt: skip
LIMIT_REGISTERS = UNITS | gauges({0x610: 0x42820800218208, 0x601: 0x390})


def test_limits_by_powercap_first_then_by_register() -> None:
    first = measure(SKYLAKE, LIMIT_REGISTERS | POWERCAP)
    assert [first.cell(name) for name in ("PL1", "PL2", "PL4")] == pytest.approx([28.0, 64.0, 140.0])
    second = measure(SKYLAKE, LIMIT_REGISTERS)
    assert [second.cell(name) for name in ("PL1", "PL2", "PL4")] == [65.0, 65.0, 114.0]
    assert second.provider("PL1") == "msr-settings"


@pytest.mark.parametrize(("watts", "share"), [(32.5, 50.0), (130.0, 200.0)])
def test_use_of_the_limit(watts: float, share: float) -> None:
    """Turbo takes more than the sustained limit for a while: that is no reading to be doubted."""
    measured = measure(SKYLAKE, LIMIT_REGISTERS | energy_pmu("power", 22, {"energy-pkg": (2, watts)}, "0"))
    assert measured.cell("PL1%") == pytest.approx(share)


def test_hints_by_file_first_then_by_register() -> None:
    values = gauges({0x1B0: 6, 0x774: 0x80000000})
    by_register = measure(SKYLAKE, values)
    assert (by_register.cpu("EPB"), by_register.cpu("EPP")) == (6, 128)
    directory = "/sys/devices/system/cpu/cpu{}"
    files = {f"{directory.format(cpu)}/power/energy_perf_bias": "15\n" for cpu in (0, 1)}
    for cpu in (0, 1):
        files[f"{directory.format(cpu)}/cpufreq/scaling_driver"] = "intel_pstate\n"
        files[f"{directory.format(cpu)}/cpufreq/energy_performance_preference"] = "balance_power\n"
    by_file = measure(SKYLAKE, values | texts(files))
    assert (by_file.cpu("EPB"), by_file.cpu("EPP")) == (15, "balance_power")


def test_a_hint_that_differs_has_no_summary() -> None:
    measured = measure(SKYLAKE, Given(own_registers={(0, 0x1B0): 6, (1, 0x1B0): 0}))
    assert [measured.cpu("EPB", cpu) for cpu in (0, 1)] == [6, 0]
    assert measured.cell("EPB") is None


def test_reasons_in_words_and_the_summary_is_their_union() -> None:
    own = Given(own_registers={
        (0, 0x1B1): 0x00000400, (1, 0x1B1): 0x00000001,
        (0, 0x690): 0x0C000C00, (1, 0x690): 0x00010001,
        (0, 0x6B0): 0, (1, 0x6B0): 1 << 9, (0, 0x6B1): 0, (1, 0x6B1): 0,
    })  # fmt: skip
    measured = measure(HASWELL, own, TWO_PACKAGES)
    assert measured.cpu("Throttle", 0) == "PowerLimit PL1 PL2"
    assert measured.cpu("Throttle", 1) == "Thermal PROCHOT GFX:GFXPwr"
    assert measured.cell("Throttle") == "Thermal PowerLimit PL1 PL2 PROCHOT GFX:GFXPwr"
    assert measured.cpu("ThrLog", 0) == "PL1 PL2"
    assert measured.cpu("ThrLog", 1) == "PROCHOT"


def test_a_haswell_server_at_its_multi_core_turbo_is_not_held_by_a_power_limit() -> None:
    measured = measure(intel(0x3F), gauges({0x1B1: 0, 0x690: 0xC500C500, 0x6B1: 0}))
    assert measured.cell("Throttle") == "Amps MultiCoreTurbo BelowTurbo BelowRequest"
    assert measured.cell("ThrLog") == "Amps MultiCoreTurbo BelowTurbo BelowRequest"


def test_newer_clients_have_other_words() -> None:
    measured = measure(SKYLAKE, gauges({0x1B1: 0, 0x64F: 1 << 7 | 1 << 5, 0x6B1: 1 << 10}))
    assert measured.cell("Throttle") == "AvgThermal VR-TDC Ring:PL1"


def test_nothing_held_back_is_reported_and_is_not_unknown() -> None:
    assert measure(SKYLAKE, gauges({0x1B1: 0x88200000})).cell("Throttle") == "none"
    assert "Throttle" in measure(SKYLAKE, Given()).catalog.by_id
    assert measure(SKYLAKE, Given()).cell("Throttle") is None


def test_a_core_s_reasons_and_its_log() -> None:
    own = Given(own_registers={(0, 0x19C): 0x88000000 | 1 << 2 | 1 << 11, (1, 0x19C): 0x88000000})
    measured = measure(SKYLAKE, own)
    assert [measured.cpu("CoreLimit", cpu) for cpu in (0, 1)] == ["PROCHOT", "none"]
    assert [measured.cpu("CoreLog", cpu) for cpu in (0, 1)] == ["PowerLimit", "none"]


@given(st.integers(0, 2**32 - 1))
def test_every_set_bit_with_a_word_is_reported_once(bits: int) -> None:
    row = Row(values={"reasons.core": float(bits)})
    state, log = (column.compute(row) for column in limits.CORE_COLUMNS)
    words = {0: "Thermal", 2: "PROCHOT", 4: "Critical", 10: "PowerLimit", 12: "CurrentLimit", 14: "CrossDomain"}
    assert isinstance(state, str)
    assert isinstance(log, str)
    for text, shift in ((state, 0), (log, 1)):
        output = text.split()
        assert len(output) == len(set(output))
        assert set(output) == ({word for bit, word in words.items() if bits >> (bit + shift) & 1} or {"none"})


def test_energy_for_each_instruction_counts_those_of_all_cpus() -> None:
    counted = Given(counters={(0, 0): 1000 * MHZ, (0, 1): 2000 * MHZ})
    measured = measure(SKYLAKE, counted | energy_pmu("power", 22, {"energy-pkg": (2, 30.0)}, "0"))
    # 30 W for 2 CPUs of 2e9 instructions a second each
    assert measured.cell("nJ/ins", RowId(Scope.PACKAGE, (0,))) == pytest.approx(7.5)
    assert measured.cell("nJ/ins") == pytest.approx(7.5)


def test_idle_shares_of_an_e_core_add_up_to_the_whole() -> None:
    """C6 of the E core counts its C7 too: 25 + 5 + 70 (of which 30 in C7)."""
    places = [CpuPlace(0, 0, 0, 0, 0, 0, 0, "P"), CpuPlace(1, 0, 0, 0, 0, 1, 4, "E")]
    rate = 2000 * MHZ
    shares = {0x10: 1.0, 0xE7: 0.25, 0xE8: 0.25, 0x660: 0.05, 0x3FE: 0.30}
    common = registers({address: rate * share for address, share in shares.items()})
    own = Given(own_registers={(0, 0x3FD): 0, (1, 0x3FD): 0},
                later_own={(0, 0x3FD): round(2 * rate * 0.40), (1, 0x3FD): round(2 * rate * 0.70)})  # fmt: skip
    measured = measure(ALDER_LAKE, common | own, places)
    columns = ("Busy%", "CPU%c1", "CPU%c6", "CPU%c7")
    for cpu in (0, 1):
        assert [measured.cpu(name, cpu) for name in columns] == pytest.approx([25.0, 5.0, 40.0, 30.0])
    assert [measured.cell(name) for name in columns] == pytest.approx([25.0, 5.0, 40.0, 30.0])


def test_clusters_are_selected_by_the_old_name() -> None:
    base = "/sys/devices/system/cpu/intel_uncore_frequency/uncore0"
    ids = {"package_id": 0, "domain_id": 2, "fabric_cluster_id": 1, "current_freq_khz": 1}
    measured = measure(SKYLAKE, texts({f"{base}0/{name}": f"{value}\n" for name, value in ids.items()}))
    assert [column.id for column in measured.catalog.select(["UncMHz"])] == ["UMHz2.1"]
    assert "UncMHz" not in measured.catalog.by_id


def test_low_power_idle_that_went_back_is_unknown() -> None:
    name = "/sys/devices/system/cpu/cpuidle/low_power_idle_cpu_residency_us"
    assert measure(SKYLAKE, Given({name: "500\n"}, {name: "10\n"})).cell("CPU%LPI") is None


def test_l2_of_a_group_that_always_ran_is_not_estimated() -> None:
    events = pmu("cpu", 4, {"refs": (0xFF24, 80 * MHZ), "hits": (0xDF24, 60 * MHZ)})
    measured = measure(intel(0x8F), events)
    assert measured.cpu("L2MRPS") == pytest.approx(80.0)
    assert not measured.frame.estimated(measured.column("L2MRPS"), RowId(Scope.CPU, (0,)))


def test_total_core_c0_may_exceed_one_hundred() -> None:
    cycles = registers({0x10: 2000 * MHZ, 0x658: 2000 * MHZ * 3.5})
    measured = measure(SKYLAKE, cycles)
    assert measured.cell("Totl%C0") == pytest.approx(350.0)


def test_shared_graphics_are_one_on_every_package() -> None:
    idle = file_counters({"/sys/class/drm/card0/gt/gt0/rc6_residency_ms": 500.0})
    measured = measure(SKYLAKE, idle, TWO_PACKAGES)
    assert [measured.cpu("GFX%rc6", cpu) for cpu in (0, 1)] == pytest.approx([50.0, 50.0])
    assert measured.cell("GFX%rc6") == pytest.approx(50.0)


def test_energy_for_each_instruction_is_unknown_if_some_cpus_cannot_count() -> None:
    places = [CpuPlace(0, 0, 0, 0, 0, 0, 0, "P"), CpuPlace(1, 0, 0, 0, 0, 1, 4, "E")]
    base = "/sys/bus/event_source/devices"
    kinds = texts({f"{base}/cpu_core/type": "4\n", f"{base}/cpu_core/cpus": "0\n",
                   f"{base}/cpu_atom/type": "10\n", f"{base}/cpu_atom/cpus": "1\n"})  # fmt: skip
    counted = Given(counters={(0, 4 << 32): 1e9, (0, 4 << 32 | 1): 2e9})
    measured = measure(ALDER_LAKE, kinds | counted | energy_pmu("power", 22, {"energy-pkg": (2, 30.0)}, "0"), places)
    assert measured.cpu("IPC", 0) == pytest.approx(2.0)
    assert measured.cell("nJ/ins") is None


def test_the_summary_of_usec_spans_all_cpus() -> None:
    slow = registers({0x10: 2000 * MHZ}) | Given(cost_ns=1000)
    measured = measure(SKYLAKE, slow)
    assert [measured.cpu("usec", cpu) for cpu in (0, 1)] == pytest.approx([1.0, 1.0])
    assert measured.cell("usec") == pytest.approx(2.0)


def test_summary_of_a_derived_c1_where_cores_have_unequal_numbers_of_measured_cpus() -> None:
    """Issue 11: rows of 36.00, 42.90 and 33.00 had a summary of 44.30."""
    skylake_x = CpuModel(architecture="x86_64", vendor="GenuineIntel", family=6, model=0x55,
                         flags=frozenset({"tsc", "aperfmperf"}))
    # CPUs 0 and 1 are one core, CPU 2 is the half of another one that is measured
    places = [CpuPlace(0, 0, 0, 0, 0, 0, 0), CpuPlace(1, 0, 0, 0, 0, 0, 0), CpuPlace(2, 0, 0, 0, 0, 1, 1)]
    clock = 2000 * MHZ
    busy, deep = {0: 0.20, 1: 0.131, 2: 0.60}, {0: 0.44, 1: 0.44, 2: 0.07}
    own = {**{(cpu, 0xE7): share * clock for cpu, share in busy.items()},
           **{(cpu, 0x3FD): share * clock for cpu, share in deep.items()}}
    given = registers({0x10: clock}) | gauges({0xE2: 7}) | own_registers(own)
    measured = measure(skylake_x, given, places)
    rows = [measured.cpu("CPU%c1", cpu) for cpu in (0, 1, 2)]
    assert rows == pytest.approx([36.0, 42.9, 33.0], abs=0.01)
    assert measured.cell("CPU%c1") == pytest.approx(37.3, abs=0.01)
    package = RowId(Scope.PACKAGE, (0,))
    assert measured.cell("CPU%c1", package) == pytest.approx(37.3, abs=0.01)
    assert measured.cell("CPU%c1", RowId(Scope.CORE, (0, 0, 0))) == pytest.approx(39.45, abs=0.01)
    assert tagged_cell(measured.frame, measured.column("CPU%c1"), (1, 2)) == pytest.approx(37.95, abs=0.01)
