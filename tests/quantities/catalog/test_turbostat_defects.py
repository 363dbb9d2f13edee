"""Defects of turbostat that turbotui does not have, one test for each, named after the defect (see DIFFERENCES.md)."""

from __future__ import annotations

import errno

import pytest
from catalogbench import Given, energy_pmu, file_counters, gauges, measure, pmu, registers, texts

from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.topology import CpuPlace
from turbotui.quantities.scope import RowId, Scope
from turbotui.quantities.unavailable import Reason

MHZ = 1e6
FLAGS = frozenset({"tsc", "aperfmperf", "dtherm", "pts"})
UNCORE = "/sys/devices/system/cpu/intel_uncore_frequency"
CPU = "/sys/devices/system/cpu/cpu{}"
TWO_PACKAGES = [CpuPlace(0, 0, 0, 0, 0, 0, 0), CpuPlace(1, 1, 0, 1, 1, 1, 0)]
TWO_DIES = [CpuPlace(0, 0, 0, 0, 0, 0, 0), CpuPlace(1, 0, 1, 1, 0, 1, 1)]
CYCLES = registers({0x10: 2000 * MHZ, 0xE8: 900 * MHZ, 0xE7: 600 * MHZ})


def intel(model: int, *, hypervisor: bool = False) -> CpuModel:
    return CpuModel(
        architecture="x86_64", vendor="GenuineIntel", family=6, model=model, flags=FLAGS, hypervisor=hypervisor
    )


def amd(*, hypervisor: bool = False) -> CpuModel:
    flags = frozenset({"tsc", "aperfmperf", "rapl", "topoext"})
    return CpuModel(
        architecture="x86_64", vendor="AuthenticAMD", family=0x19, model=1, flags=flags, hypervisor=hypervisor
    )


SKYLAKE, HASWELL, KNIGHTS_LANDING, CLEARWATER = (intel(model) for model in (0x5E, 0x3C, 0x57, 0xDD))


def test_defect_summary_of_the_uncore_clock_is_the_last_package() -> None:
    clocks = {f"{UNCORE}/package_{package:02d}_die_00/current_freq_khz": f"{khz}\n"
              for package, khz in ((0, 2_000_000), (1, 1_000_000))}  # fmt: skip
    measured = measure(SKYLAKE, texts(clocks), TWO_PACKAGES)
    assert [measured.cpu("UncMHz", cpu) for cpu in (0, 1)] == [2000.0, 1000.0]
    assert measured.cell("UncMHz") == 1500.0


def test_defect_uncore_clock_of_the_first_die_only() -> None:
    clocks = {f"{UNCORE}/package_00_die_{die:02d}/current_freq_khz": f"{khz}\n"
              for die, khz in ((0, 2_000_000), (1, 1_000_000))}  # fmt: skip
    assert measure(SKYLAKE, texts(clocks), TWO_DIES).cell("UncMHz", RowId(Scope.PACKAGE, (0,))) == 1500.0


def test_defect_core_throttle_summary_is_the_maximum() -> None:
    name = "thermal_throttle/core_throttle_count"
    given = file_counters({f"{CPU.format(0)}/{name}": 4.0, f"{CPU.format(1)}/{name}": 1.0})
    measured = measure(SKYLAKE, given)
    assert [measured.cpu("CoreThr", cpu) for cpu in (0, 1)] == [8, 2]
    assert measured.cell("CoreThr") == 10


def test_defect_multi_die_packages_lose_energy_by_perf() -> None:
    measured = measure(SKYLAKE, energy_pmu("power", 22, {"energy-pkg": (2, 30.0)}, "0-1"), TWO_DIES)
    assert measured.cell("PkgWatt", RowId(Scope.PACKAGE, (0,))) == pytest.approx(60.0)
    assert measured.cell("PkgWatt") == pytest.approx(60.0)


def test_defect_multi_die_packages_lose_energy_by_register() -> None:
    given = gauges({0x606: 0xA0E03}) | registers({0x611: 30.0 * 2**14}, bits=32)
    assert measure(SKYLAKE, given, TWO_DIES).cell("PkgWatt") == pytest.approx(60.0)


def test_defect_zero_base_frequency_makes_busy_mhz_zero() -> None:
    cpuid = Given(files={"/dev/cpu/0/cpuid": ""}, leaves={0: (0x16, 0, 0, 0), 0x16: (0, 0, 0, 0)})
    measured = measure(HASWELL, CYCLES | cpuid)
    assert measured.cpu("Bzy_MHz") == pytest.approx(3000.0)  # 2000 MHz x 900 / 600


def test_defect_unknown_tsc_clock_makes_tsc_tweak_infinite() -> None:
    cpuid = Given(files={"/dev/cpu/0/cpuid": ""}, leaves={0: (0x16, 0, 0, 0), 0x15: (0, 0, 0, 0)})
    measured = measure(SKYLAKE, CYCLES | cpuid | gauges({0xCE: 20 << 8}))
    assert measured.cpu("Busy%") == pytest.approx(30.0)  # of the TSC as it is, with the reason why not better
    assert "tsc_tweak" in measured.capabilities.missing
    assert measured.cpu("Bzy_MHz") == pytest.approx(3000.0)


def test_defect_xeon_phi_cycles_are_not_multiplied() -> None:
    slow = registers({0x10: 1300 * MHZ, 0xE8: 1000 * MHZ / 1024, 0xE7: 650 * MHZ / 1024})
    measured = measure(KNIGHTS_LANDING, slow | gauges({0xCE: 13 << 8}))
    assert measured.cpu("Avg_MHz") == pytest.approx(1000.0, rel=1e-6)
    assert measured.cpu("Busy%") == pytest.approx(50.0, rel=1e-6)


def test_defect_shallowest_and_deepest_idle_state_have_counts_that_mean_nothing() -> None:
    names = dict(enumerate(("POLL", "C1", "C6")))
    files = {f"{CPU.format(cpu)}/cpuidle/state{state}/{file}": 1.0 for cpu in (0, 1) for state in names
             for file in ("usage", "time", "above", "below")}  # fmt: skip
    given = file_counters(files) | texts(
        {f"{CPU.format(cpu)}/cpuidle/state{state}/name": name for cpu in (0, 1) for state, name in names.items()}
    )
    result = [name for name in measure(SKYLAKE, given).catalog.by_id if name.rstrip("+-") in names.values()]
    assert result == ["POLL", "POLL+", "C1-", "C1", "C1+", "C6-", "C6"]


def test_defect_interrupt_sums_beyond_31_bits() -> None:
    rows = "           CPU0       CPU1\nLOC: {} {} Local timer\nRES: {} 1 Rescheduling\nERR: 5\nMIS: 0\n"
    start = 2**31 - 10
    given = Given(
        {"/proc/interrupts": rows.format(start, start, 2**31)},
        {"/proc/interrupts": rows.format(start + 100, start + 7, 2**31 + 1)},
    )
    measured = measure(SKYLAKE, given)
    assert [measured.cpu("IRQ", cpu) for cpu in (0, 1)] == [101, 7]
    assert measured.cell("IRQ") == 108


def test_defect_error_row_is_booked_on_a_cpu_and_swallows_the_next_line() -> None:
    rows = "           CPU0       CPU1\nERR: {}\nLOC: {} 1 Local timer\n"
    given = Given({"/proc/interrupts": rows.format(0, 100)}, {"/proc/interrupts": rows.format(50, 103)})
    assert measure(SKYLAKE, given).cpu("IRQ") == 3


def test_defect_smi_of_zero_where_it_cannot_be_read() -> None:
    measured = measure(SKYLAKE, CYCLES)  # 0x34 gives EIO
    assert measured.cpu("Avg_MHz") == pytest.approx(900.0)
    assert measured.cpu("SMI") is None
    assert measured.frame.why(measured.column("SMI"), RowId(Scope.CPU, (0,))) is not None


def test_defect_one_core_event_that_fails_turns_all_of_perf_off() -> None:
    given = energy_pmu("power", 22, {"energy-pkg": (2, 30.0)}, "0") | Given(counters={(0, 1): -errno.ENOENT})
    measured = measure(SKYLAKE, given)
    assert measured.cell("IPC") is None
    assert measured.cell("PkgWatt") == pytest.approx(30.0)


@pytest.mark.parametrize("address", [0xCE, 0xE2, 0x1A2, 0x606, 0x611, 0x34])
def test_defect_one_unreadable_register_ends_the_program(address: int) -> None:
    everything = CYCLES | gauges({0xCE: 20 << 8, 0xE2: 8, 0x1A2: 0x640000, 0x606: 0xA0E03, 0x611: 5, 0x34: 1})
    measured = measure(SKYLAKE, everything | gauges({address: -errno.EIO}))
    assert measured.cpu("Avg_MHz") == pytest.approx(900.0)


def test_defect_guest_without_nehalem_registers_ends_the_program() -> None:
    measured = measure(intel(0x8F, hypervisor=True), registers({0x10: 2000 * MHZ}))
    assert measured.cpu("TSC_MHz") == pytest.approx(2000.0)


def test_defect_unknown_model_is_refused() -> None:
    measured = measure(intel(0x01), CYCLES | energy_pmu("power", 22, {"energy-pkg": (2, 30.0)}, "0"))
    assert measured.cpu("Bzy_MHz") == pytest.approx(3000.0)
    assert measured.cell("PkgWatt") == pytest.approx(30.0)


def test_defect_joule_columns_are_in_no_category() -> None:
    words = [column.id for column in measure(SKYLAKE, Given()).catalog.select(["power"])]
    assert {"Pkg_J", "Cor_J", "GFX_J", "RAM_J", "Sys_J"} <= set(words)


def test_defect_joules_of_amd_packages_are_never_there() -> None:
    units = gauges({0xC0010299: 0x000A1003, 0xC001029A: 7})
    measured = measure(amd(), units | registers({0xC001029B: 90.0 * 2**16}, 2**32 - 9, 32))
    assert measured.cell("Pkg_J") == pytest.approx(180.0)


def test_defect_amd_package_energy_is_that_of_the_last_core_read() -> None:
    units = gauges({0xC0010299: 0x000A1003, 0xC001029A: 7})
    own = Given(own_registers={(0, 0xC001029B): 100, (1, 0xC001029B): 100},
                later_own={(0, 0xC001029B): 100 + 80 * 2**16, (1, 0xC001029B): 100 + 20 * 2**16})  # fmt: skip
    measured = measure(amd(), units | own, TWO_PACKAGES)
    assert [measured.cpu("PkgWatt", cpu) for cpu in (0, 1)] == pytest.approx([40.0, 10.0])
    assert measured.cell("PkgWatt") == pytest.approx(50.0)


def test_defect_hypervisor_s_name_hides_amd_energy_and_x2apic() -> None:
    cpuid = Given(
        files={"/dev/cpu/0/cpuid": "", "/dev/cpu/1/cpuid": ""},
        leaves={0x40000000: (0x40000010, 0, 0, 0), 0x80000000: (0x80000020, 0, 0, 0), 0x8000001E: (0x107, 0, 0, 0)},
    )
    units = gauges({0xC0010299: 0x000A1003, 0xC001029A: 7})
    measured = measure(amd(hypervisor=True), units | cpuid | registers({0xC001029B: 90.0 * 2**16}, bits=32))
    assert measured.cell("PkgWatt") == pytest.approx(90.0)
    assert measured.cpu("X2APIC") == 0x107


def test_defect_amd_core_energy_needs_registers() -> None:
    measured = measure(amd(), energy_pmu("power_core", 24, {"energy-core": (1, 6.5)}, "0-1"))
    assert [measured.cpu("CorWatt", cpu) for cpu in (0, 1)] == pytest.approx([6.5, 6.5])
    assert measured.cell("CorWatt") == pytest.approx(13.0)


def test_defect_temperature_that_is_not_valid_is_printed() -> None:
    given = gauges({0x1A2: 0x640000}) | Given(own_registers={(0, 0x19C): 0x00200800, (1, 0x19C): 0x88300800})
    measured = measure(SKYLAKE, given)
    assert measured.cpu("CoreTmp", 0) is None
    assert measured.cpu("CoreTmp", 1) == 52
    assert measured.cell("CoreTmp") == 52


def test_defect_module_residency_is_not_read_by_perf() -> None:
    states = pmu("cstate_module", 23, {"c6-residency": (0, 500 * MHZ)}, {"cpumask": "0-1\n"})
    measured = measure(intel(0xAF), states | registers({0x10: 2000 * MHZ}))
    assert measured.cpu("Mod%c6") == pytest.approx(25.0)
    assert measured.provider("Mod%c6") == "perf-cstate"


def test_defect_graphics_sleep_is_100_times_too_large() -> None:
    given = file_counters({"/sys/class/drm/card0/gt/gt0/rc6_residency_ms": 400.0})
    assert measure(SKYLAKE, given).cell("GFX%rc6") == pytest.approx(40.0)


def test_defect_graphics_sleep_that_went_back_is_not_a_number() -> None:
    name = "/sys/class/drm/card0/gt/gt0/rc6_residency_ms"
    measured = measure(SKYLAKE, Given({name: "500\n"}, {name: "10\n"}))
    assert measured.cell("GFX%rc6") is None
    why = measured.frame.why(measured.column("GFX%rc6"), RowId(Scope.SYSTEM, ()))
    assert why is not None
    assert why.reason is Reason.WENT_BACK


def test_defect_telemetry_share_moves_in_whole_seconds_and_sums_pile_up() -> None:
    """Five modules: turbostat clears the sums of three CPUs only, and divides ticks by the clock as integers."""

    def region(ticks: list[int]) -> str:
        data = bytearray(32768)
        for module, value in enumerate(ticks):
            data[20936 + 24 * module : 20936 + 24 * module + 8] = value.to_bytes(8, "little")
        return data.decode("latin-1")

    base = "/sys/class/intel_pmt/telem0"
    ticks = [160_000_000 * module for module in range(5)]  # 0, 0.2, 0.4, 0.6 and 0.8 s of 2 s
    given = Given(
        {f"{base}/guid": "0x14421519\n", f"{base}/size": "32768\n", f"{base}/telem": region([0] * 5)},
        {f"{base}/telem": region(ticks)},
    )
    places = [CpuPlace(cpu, 0, 0, 0, 0, cpu // 4, cpu) for cpu in range(20)]
    measured = measure(CLEARWATER, given, places)
    assert [measured.cpu("CPU%c1e", 4 * module) for module in range(5)] == pytest.approx([0.0, 10.0, 20.0, 30.0, 40.0])
    assert measured.cell("CPU%c1e") == pytest.approx(20.0)
