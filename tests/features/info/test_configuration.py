"""The configuration header: worked values (docs/specs/turbostat.md 13), corrected defects, omitted lines."""

from __future__ import annotations

import gzip
import json
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from statscripts import PAIR, SERVER, FilesHost, intel, machine_of

from turbotui.features.info.model import configuration
from turbotui.features.info.power import limit_seconds, units_of
from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.machine import Machine, read_machine
from turbotui.simulated import SHAPES, simulated_host

REAL = Path(__file__).parents[3] / ".." / "shared" / "machines" / "registers"
SKYLAKE = intel(0x5E, "ida", "hwp", "hwp_notify", "hwp_act_window", "hwp_epp", "hwp_pkg_req", "epb")

# docs/specs/turbostat.md 13
WORKED = {
    0x606: 0x000A0E03, 0x614: 0x168, 0x610: 0x42820800218208, 0x618: 0x5400DE00000000, 0xCE: 0x80839F1011F00,
    0x1AD: 0x2728292A, 0x1A2: 0x00640000, 0x1B1: 0x88200800, 0xE2: 0x1E008008, 0x770: 1, 0x771: 0x01101F53,
    0x1FC: 0x002C005D, 0x1A0: 0x00850089, 0x60A: 0x884E, 0x60B: 0x8876, 0x60C: 0x8894, 0x633: 0x88FA, 0x634: 0x894C,
    0x635: 0x8BF2,
}  # fmt: skip


def registers(words: dict[int, int], *cpus: int) -> dict[tuple[int, int], int]:
    return {(cpu, address): word for cpu in cpus or (0,) for address, word in words.items()}


def lines(machine: Machine, *, detailed: bool = False) -> list[str]:
    return [line.text for section in configuration(machine, detailed=detailed) for line in section.lines]


def of(words: dict[int, int], model: CpuModel = SKYLAKE, **more: object) -> list[str]:
    return lines(machine_of(FilesHost(registers=registers(words), **more), model, PAIR))  # type: ignore[arg-type]


def test_the_worked_decodes() -> None:
    result = of(WORKED, leaves={(0, 0): (0x16, 0, 0, 0), (0x15, 0): (2, 258, 0, 0), (6, 0): (0xFC3, 0, 8, 0)})
    for line in (
        "cpu0: MSR_RAPL_POWER_UNIT: 0x000a0e03 (0.125000 Watts, 0.000061 Joules, 0.000977 sec.)",
        "RAPL: 5825 sec. Joule Counter Range, at 45 Watts",
        "cpu0: MSR_PKG_POWER_INFO: 0x00000168 (45 W TDP, RAPL 0 - 0 W, 0.000000 sec.)",
        "cpu0: MSR_PKG_POWER_LIMIT: 0x42820800218208 (UNlocked)",
        "cpu0: PKG Limit #1: ENabled (65.000 Watts, 64.000000 sec, clamp ENabled)",
        "cpu0: PKG Limit #2: ENabled (65.000 Watts, 0.002441* sec, clamp DISabled)",
        "cpu0: MSR_DRAM_POWER_LIMIT: 0x5400de00000000 (UNlocked)",
        "cpu0: DRAM Limit: DISabled (0.000 Watts, 0.000977 sec, clamp DISabled)",
        "cpu0: MSR_PLATFORM_INFO: 0x80839f1011f00",
        "8 * 100.0 = 800.0 MHz max efficiency frequency",
        "31 * 100.0 = 3100.0 MHz base frequency",
        "cpu0: MSR_TURBO_RATIO_LIMIT: 0x2728292a",
        "39 * 100.0 = 3900.0 MHz max turbo 4 active cores",
        "40 * 100.0 = 4000.0 MHz max turbo 3 active cores",
        "41 * 100.0 = 4100.0 MHz max turbo 2 active cores",
        "42 * 100.0 = 4200.0 MHz max turbo 1 active cores",
        "cpu0: MSR_IA32_TEMPERATURE_TARGET: 0x00640000 (100 C) (100 default - 0 offset)",
        "cpu0: MSR_IA32_PACKAGE_THERM_STATUS: 0x88200800 (68 C)",
        ("cpu0: MSR_PKG_CST_CONFIG_CONTROL: 0x1e008008 (UNdemote-C3, UNdemote-C1, demote-C3, demote-C1, locked, "
         "pkg-cstate-limit=8 (unlimited))"),
        "cpu0: MSR_HWP_CAPABILITIES: 0x01101f53 (high 83 guar 31 eff 16 low 1)",
        "cpu0: MSR_IA32_POWER_CTL: 0x002c005d (C1E auto-promotion: DISabled)",
        "cpu0: MSR_IA32_MISC_ENABLE: 0x00850089 (TCC EIST MWAIT PREFETCH TURBO)",
        "cpu0: MSR_PKGC3_IRTL: 0x0000884e (valid, 79872 ns)",
        "cpu0: MSR_PKGC6_IRTL: 0x00008876 (valid, 120832 ns)",
        "cpu0: MSR_PKGC7_IRTL: 0x00008894 (valid, 151552 ns)",
        "cpu0: MSR_PKGC8_IRTL: 0x000088fa (valid, 256000 ns)",
        "cpu0: MSR_PKGC9_IRTL: 0x0000894c (valid, 339968 ns)",
        "cpu0: MSR_PKGC10_IRTL: 0x00008bf2 (valid, 1034240 ns)",
        "CPUID(0x15): eax_crystal: 2 ebx_tsc: 258 ecx_crystal_hz: 0",
        "TSC: 3096 MHz (24000000 Hz * 258 / 2 / 1000000)",
    ):
        assert line in result
    assert [line for line in result if "5 active cores" in line] == []  # a ratio of 0 is left out


def test_the_order_is_turbostats() -> None:
    result = of({**WORKED, 0x1A4: 0}, files={"/proc/cmdline": "root=/dev/sda1 quiet\n"})
    order = ("turbotui version", "Kernel command line: root=/dev/sda1 quiet", "CPUID(1): family", "CPUID(1): SSE3",
             "CPUID(1): No-SSE3", "CPUID(6)", "MSR_IA32_MISC_ENABLE", "MSR_PLATFORM_INFO", "MSR_TURBO_RATIO_LIMIT",
             "NSFOD", "MSR_PM_ENABLE", "MSR_IA32_POWER_CTL", "MSR_PKG_CST_CONFIG_CONTROL", "cpuidle not loaded",
             "MSR_PKGC3_IRTL", "RAPL:", "MSR_RAPL_POWER_UNIT", "MSR_PKG_POWER_INFO", "MSR_PKG_POWER_LIMIT",
             "MSR_DRAM_POWER_LIMIT", "MSR_IA32_TEMPERATURE_TARGET", "MSR_IA32_PACKAGE_THERM_STATUS",
             "MSR_MISC_FEATURE_CONTROL")
    places = [next((at for at, line in enumerate(result) if word in line), -1) for word in order]
    known = [place for place in places if place >= 0]
    assert len(known) == len(order) - 1  # either SSE3 or No-SSE3
    assert known == sorted(known)


@pytest.mark.parametrize(("unit", "nanoseconds"), enumerate((1, 32, 1024, 32768, 1_048_576, 33_554_432)))
def test_latency_limits_have_three_bits_of_unit(unit: int, nanoseconds: int) -> None:
    """DEFECT upstream: the unit is masked with 3 instead of 7."""
    result = of({0x60A: unit << 10 | 5})
    assert f"cpu0: MSR_PKGC3_IRTL: 0x{unit << 10 | 5:08x} (NOTvalid, {5 * nanoseconds} ns)" in result


@pytest.mark.parametrize(
    ("bit", "words"),
    enumerate(("No-L2-Prefetch L2-Prefetch-pair L1-Prefetch L1-IP-Prefetch",
               "L2-Prefetch No-L2-Prefetch-pair L1-Prefetch L1-IP-Prefetch",
               "L2-Prefetch L2-Prefetch-pair No-L1-Prefetch L1-IP-Prefetch",
               "L2-Prefetch L2-Prefetch-pair L1-Prefetch No-L1-IP-Prefetch")))
def test_each_bit_of_the_prefetch_register_is_one_prefetcher(bit: int, words: str) -> None:
    """DEFECT upstream: bit numbers are used as masks."""
    assert f"cpu0: MSR_MISC_FEATURE_CONTROL: 0x0000000{1 << bit:x} ({words})" in of({0x1A4: 1 << bit})


def test_the_activity_window_has_ten_bits() -> None:
    """DEFECT upstream: masked with 0xFF3."""
    word = 0x2AD << 32 | 1 << 42 | 0x80 << 24 | 30 << 16 | 20 << 8 | 10
    assert (f"cpu0: MSR_HWP_REQUEST: 0x{word:08x} (min 10 max 20 des 30 epp 0x80 window 0x2ad pkg 0x1)"
            in of({0x770: 1, 0x774: word}))


def test_a_hypervisors_name_changes_nothing_else() -> None:
    """DEFECT upstream: its leaf maximum takes the place of the extended one, and RAPL and X2APIC are lost."""
    name = struct.unpack("<3I", b"KVMKVMKVM\0\0\0")
    model = CpuModel(architecture="x86_64", vendor="AuthenticAMD", family=0x19, model=1, stepping=1, hypervisor=True,
                     flags=frozenset({"rapl", "hypervisor"}))
    result = of({0xC0010299: 0xA1003}, model, leaves={
        (0, 0): (0x10, *struct.unpack("<3I", b"AuthcAMDenti")), (0x4000_0000, 0): (0x4000_0001, *name),
        (0x8000_0000, 0): (0x8000_0028, 0, 0, 0)})
    assert "Hypervisor: KVMKVMKVM" in result
    assert "CPUID(0): AuthenticAMD 0x10 CPUID levels" in result
    assert "CPUID(0x80000000): max_extended_levels: 0x80000028" in result
    assert "cpu0: MSR_RAPL_PWR_UNIT: 0x000a1003 (0.125000 Watts, 0.000015 Joules, 0.000977 sec.)" in result


def test_leaves_above_the_highest_are_not_believed() -> None:
    result = of({}, leaves={(0, 0): (0x14, 0, 0, 0), (0x15, 0): (2, 258, 0, 0), (0x16, 0): (3000, 4000, 100, 0)})
    assert not [line for line in result if line.startswith(("CPUID(0x15)", "CPUID(0x16)", "TSC:"))]


def test_a_register_that_fails_costs_its_line_only() -> None:
    whole = of(WORKED)
    for address in WORKED:
        rest = of({key: word for key, word in WORKED.items() if key != address})
        assert rest != whole
        assert len(rest) >= len(whole) - 9  # the unit register takes the limits in watts with it
        assert "cpuidle not loaded" in rest


def test_a_machine_of_nothing_has_a_header() -> None:
    result = lines(machine_of(FilesHost(), CpuModel(), PAIR))
    assert result[0].startswith("turbotui version")
    assert "cpuidle not loaded" in result


def test_tcc_is_told_guessed_or_read() -> None:
    machine = machine_of(FilesHost(registers=registers({0x1A2: 0x05690000, 0xCE: 1 << 30, 0x1B1: 0x88200000})), SKYLAKE,
                         PAIR)
    result = lines(machine)
    assert "cpu0: MSR_IA32_TEMPERATURE_TARGET: 0x05690000 (100 C) (105 default - 5 offset)" in result
    assert "cpu0: MSR_IA32_PACKAGE_THERM_STATUS: 0x88200000 (73 C)" in result
    text = lines(replace(machine, tcc=90))
    assert "cpu0: Using cmdline TCC Target (90 C)" in text
    assert "cpu0: MSR_IA32_PACKAGE_THERM_STATUS: 0x88200000 (58 C)" in text
    warning = "cpu0: Guessing tjMax 100 C, Please use -T to specify"
    assert warning not in of({})  # nothing counts down from it
    blind = machine_of(FilesHost(registers=registers({0x19C: 0x8840_0000})), SKYLAKE, PAIR)
    guessed = [line for section in configuration(blind) for line in section.lines if line.text == warning]
    assert guessed[0].always


def test_thresholds_of_cores_come_with_debug_only() -> None:
    words = registers({0x1A2: 0x640000, 0x19C: 0x8840_0000, 0x19B: 0x0A05_00}, *SERVER.cpus)
    machine = machine_of(FilesHost(registers=words), SKYLAKE, SERVER)
    assert not [line for line in lines(machine) if "IA32_THERM" in line]
    result = [line for line in lines(machine, detailed=True) if "IA32_THERM" in line]
    assert result[0] == "cpu0: MSR_IA32_THERM_STATUS: 0x88400000 (36 C +/- 1)"
    assert result[1] == "cpu0: MSR_IA32_THERM_INTERRUPT: 0x000a0500 (90 C, 95 C)"
    assert len(result) == 2 * 3


def test_places_of_cpus_come_with_debug_only() -> None:
    machine = machine_of(FilesHost(), SKYLAKE, SERVER)
    assert not [line for line in lines(machine) if line.startswith("cpu 5 ")]
    assert "cpu 5 pkg 0 die 0 l3 0 node 0 module -1 core 26 ht_id 0 siblings 1,5" in lines(machine, detailed=True)


def test_files_of_the_kernel() -> None:
    cpu = "/sys/devices/system/cpu"
    cap = "/sys/class/powercap"
    result = of({}, files={
        f"{cpu}/cpu0/cpufreq/scaling_driver": "intel_pstate\n", f"{cpu}/cpu0/cpufreq/scaling_governor": "powersave\n",
        f"{cpu}/intel_pstate/no_turbo": "0\n", f"{cpu}/cpufreq/boost": "1\n",
        f"{cpu}/cpu0/power/energy_perf_bias": "7\n",
        f"{cpu}/cpuidle/current_driver": "intel_idle\n", f"{cpu}/cpuidle/current_governor_ro": "menu\n",
        f"{cpu}/cpu0/cpuidle/state0/name": "C1_ACPI\n", f"{cpu}/cpu0/cpuidle/state0/desc": "ACPI FFH\n",
        "/dev/cpu_dma_latency": struct.pack("<i", 2_000_000_000),
        **{f"{cpu}/intel_uncore_frequency/package_01_die_02/{file}": text for file, text in (
            ("min_freq_khz", "800000"), ("max_freq_khz", "2400000"), ("initial_min_freq_khz", "700000"),
            ("initial_max_freq_khz", "2500000"), ("current_freq_khz", "1234567"))},
        f"{cap}/intel-rapl:0/name": "package-0\n", f"{cap}/intel-rapl:0/enabled": "1\n",
        f"{cap}/intel-rapl:0/constraint_0_power_limit_uw": "45000000\n",
        f"{cap}/intel-rapl:0/constraint_0_time_window_us": "27983872\n",
        f"{cap}/intel-rapl:0/constraint_0_max_power_uw": "45000000\n",
        f"{cap}/intel-rapl:0/constraint_1_power_limit_uw": "60500000\n",
        f"{cap}/intel-rapl:0/constraint_1_time_window_us": "2440\n",
        f"{cap}/intel-rapl:0/constraint_1_max_power_uw": "0\n",
        f"{cap}/intel-rapl:0:0/name": "core\n", f"{cap}/intel-rapl:0:0/enabled": "0\n",
    })
    for line in (
        "cpu0: cpufreq driver: intel_pstate", "cpu0: cpufreq governor: powersave", "cpufreq boost: 1",
        "cpufreq intel_pstate no_turbo: 0", "cpu0: EPB: 7 (custom)", "current_driver: intel_idle",
        "current_governor_ro: menu", "cpu0: C1ACPI: ACPI FFH", "/dev/cpu_dma_latency: 2000000000 usec (default)",
        "Uncore Frequency package1 die2: 800 - 2400 MHz (700 - 2500 MHz) 1234 MHz",
        "intel-rapl:0: package-0 28.0s:45W,max:45W 2.4ms:60W", "intel-rapl:0/intel-rapl:0:0: core disabled",
    ):
        assert line in result


@pytest.mark.parametrize("bit", [0, 1 << 8])
def test_lines_of_hwp_agree_with_the_line_of_cpuid(bit: int) -> None:
    """The kernel's flags may say something else: CPUID decides where it can be asked."""
    words, leaves = {0x770: 1, 0x773: 1}, {(0, 0): (0x16, 0, 0, 0), (6, 0): (0x80 | bit, 0, 0, 0)}
    for flags in ((), ("hwp_notify",)):
        result = of(words, intel(0x5E, "hwp", *flags), leaves=leaves)
        (text,) = (line for line in result if line.startswith("CPUID(6)"))
        assert ("No-HWPnotify" in text) is not bool(bit)
        assert any("MSR_HWP_INTERRUPT" in line for line in result) is bool(bit)
    without = of(words, intel(0x5E, "hwp"))
    assert "No-HWPnotify" in " ".join(without)
    assert not any("MSR_HWP_INTERRUPT" in line for line in without)


def test_reasons_for_limits_are_named() -> None:
    result = of({0x690: 1 << 1 | 1 << 10 | 1 << 16 | 1 << 25, 0x6B1: 0}, intel(0x3C))
    assert ("cpu0: MSR_CORE_PERF_LIMIT_REASONS, 0x02010402 (Active: ThermStatus, PkgPwrL1, ) "
            "(Logged: PROCHOT, CorePwr, )") in result
    # DEFECT of turbostat: it names a server's bits as a client's, and so calls its multi-core turbo limit PkgPwrL1.
    server = of({0x690: 0xC500C500, 0x6B1: 0}, intel(0x3F))
    assert ("cpu0: MSR_CORE_PERF_LIMIT_REASONS, 0xc500c500 (Active: Amps, MultiCoreTurbo, BelowMaxTurbo, "
            "BelowRequest, ) (Logged: Amps, MultiCoreTurbo, BelowMaxTurbo, BelowRequest, )") in server
    assert "cpu0: MSR_RING_PERF_LIMIT_REASONS, 0x00000000 (Active: ) (Logged: )" in result


def test_turbo_layouts() -> None:
    leaves = {(0, 0): (0x16, 0, 0, 0), (6, 0): (2, 0, 0, 0)}
    server = of({0x1AD: 0x1E1F20, 0x1AE: 0x38301C}, intel(0x8F), leaves=leaves)
    assert "cpu0: MSR_TURBO_RATIO_LIMIT: 0x001e1f20" in server
    assert "cpu0: MSR_TURBO_RATIO_LIMIT1: 0x0038301c" in server
    assert "30 * 100.0 = 3000.0 MHz max turbo 56 active cores" in server
    assert "32 * 100.0 = 3200.0 MHz max turbo 28 active cores" in server
    haswell = of({0x1AF: 0x1A1B, 0x1AE: 0x1C, 0x1AD: 0x24}, intel(0x3F), leaves=leaves)
    assert [line for line in haswell if "max turbo" in line] == [
        "26 * 100.0 = 2600.0 MHz max turbo 18 active cores", "27 * 100.0 = 2700.0 MHz max turbo 17 active cores",
        "28 * 100.0 = 2800.0 MHz max turbo 9 active cores", "36 * 100.0 = 3600.0 MHz max turbo 1 active cores"]
    # two cores at 15, six more one lower, then the same for ever
    knights = of({0x1AD: 2 << 1 | 15 << 8 | (6 | 1 << 5) << 16}, intel(0x57), leaves=leaves)
    assert [line for line in knights if "max turbo" in line] == [
        "14 * 100.0 = 1400.0 MHz max turbo 8 active cores", "15 * 100.0 = 1500.0 MHz max turbo 2 active cores"]
    slow = of({0xCD: 1, 0x66A: 0x110C05, 0x66C: 0x0B0C0D0E}, intel(0x37), leaves=leaves)
    assert "5 * 100.0 = 500.0 MHz minimum operating frequency" in slow
    assert "17 * 100.0 = 1700.0 MHz base frequency" in slow
    assert "11 * 100.0 = 1100.0 MHz max turbo 4 active cores" in slow
    assert "SLM BCLK: 100.0 Mhz" in slow


def test_units_and_windows() -> None:
    assert units_of(0x000A0E03).joule == 6.103515625e-05
    assert units_of(0x00000E03).second == 0.0009765625  # 0 means 10
    assert units_of(0x00000505, microjoules=True).joule == pytest.approx(32e-6)
    assert limit_seconds(0b0111110, 2.0**-10) == 1.25 * 2.0**30 * 2.0**-10


@pytest.mark.parametrize("name", SHAPES)
def test_every_simulated_machine_has_a_header_with_sources(name: str) -> None:
    sections = configuration(read_machine(simulated_host(name)), detailed=True)
    assert sections[0].title == "program"
    for section in sections:
        for line in section.lines:
            assert line.text
            assert line.origin


@pytest.mark.skipif(not REAL.exists(), reason="registers of real machines are not beside this checkout")
@pytest.mark.parametrize(
    ("name", "model", "expected"),
    [
        ("GenuineIntel00806F8_SapphireRapids_05", intel(0x8F), ("CPUID(0): GenuineIntel 0x20 CPUID levels",)),
        ("GenuineIntel0090675_AlderLake_02", intel(0x97), ("CPUID(0): GenuineIntel 0x20 CPUID levels",)),
        ("GenuineIntel00606A6_ICX_CPUID3", intel(0x6A), ("CPUID(0): GenuineIntel 0x1b CPUID levels",)),
    ],
)
def test_real_registers_decode(name: str, model: CpuModel, expected: tuple[str, ...]) -> None:
    first = json.loads(gzip.decompress((REAL / f"{name}.json.gz").read_bytes()))["0"]
    words = {int(address, 16): next((s for s in samples if s is not None), None)
             for address, samples in first["msr"].items()}
    leaves = {(int(key.split(".")[0], 16), int(key.split(".")[1], 16)): tuple(values)
              for key, values in first["cpuid"].items()}
    host = FilesHost(registers=registers({key: word for key, word in words.items() if word is not None}),
                     leaves=leaves)
    result = lines(machine_of(host, model, PAIR), detailed=True)
    for line in expected:
        assert line in result
    base = next(line for line in result if line.endswith("base frequency"))
    assert 10 <= int(base.split()[0]) <= 50
    turbo = first["cpuid"]["6.0"][0] >> 1 & 1
    assert any("active cores" in line for line in result) == bool(turbo)
    if 0x1A2 in words and words[0x1A2] is not None:
        target = next(line for line in result if "TEMPERATURE_TARGET" in line)
        assert 80 <= words[0x1A2] >> 16 & 0xFF <= 115
        assert f"0x{words[0x1A2]:08x}" in target
