"""Each column of turbostat, from its first source and from the next: the readings and the expected value.

The truths are computed by hand. Every interval is 2 s. The client has a base clock of 2400 MHz and a TSC of 2412 MHz,
so that a share of the TSC differs from one of the base clock.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from catalogbench import Given, Measured, energy_pmu, file_counters, gauges, measure, pmu, registers, texts

from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.topology import CpuPlace
from turbotui.quantities.columns import Value

REFERENCE = Path(__file__).parents[3] / "../shared/reference/turbostat-columns.json"
FLAGS = frozenset({"tsc", "aperfmperf", "dtherm", "pts"})


def intel(model: int) -> CpuModel:
    return CpuModel(architecture="x86_64", vendor="GenuineIntel", family=6, model=model, flags=FLAGS)


CLIENT = intel(0x5E)  # Skylake: C3 C6 C7, PC2 to PC10, RAPL of every domain, 0x658 to 0x65B
SERVER = intel(0x8F)  # Sapphire Rapids: a C1 counter, PC2 PC6, psys of 1 J
FOREST = intel(0xAF)  # Sierra Forest: module C6
CLEARWATER = intel(0xDD)
METEOR = intel(0xAA)
HASWELL = intel(0x3C)  # no tsc_tweak
ROME = CpuModel(architecture="x86_64", vendor="AuthenticAMD", family=0x17, model=0x31,
                flags=frozenset({"tsc", "aperfmperf", "rapl"}))  # fmt: skip

MHZ = 1e6
BASE, TSC = 2400 * MHZ, 2412 * MHZ
CLOCKS = gauges({0xCE: 24 << 8}) | Given(
    files={"/dev/cpu/0/cpuid": "", "/dev/cpu/1/cpuid": ""},
    # 24 MHz x 201 / 2 = 2412 MHz
    leaves={0: (0x20, 0, 0, 0), 1: (0, 0x2A000000, 0, 0), 0xB: (1, 2, 0x100, 0x12A), 0x15: (2, 201, 24_000_000, 0)},
)
PERF_MSR = pmu("msr", 10, {"tsc": (0, TSC), "aperf": (1, 900 * MHZ), "mperf": (2, 600 * MHZ), "smi": (4, 3.0)})
MSR_CYCLES = registers({0x10: TSC, 0xE8: 900 * MHZ, 0xE7: 600 * MHZ}) | registers({0x34: 3.0}, 0xFFFF_FFFE, 32)
PERF_CORE = pmu(
    "cstate_core", 20,
    {f"c{state}-residency": (number, BASE * share) for number, (state, share) in
     enumerate(((1, 0.05), (3, 0.10), (6, 0.20), (7, 0.30)))},
    {"cpumask": "0-1\n"},
)  # fmt: skip
MSR_CORE = registers({0x660: BASE * 0.05, 0x3FC: BASE * 0.10, 0x3FD: BASE * 0.20, 0x3FE: BASE * 0.30})
PACKAGE_SHARES = {2: 0.02, 3: 0.03, 6: 0.06, 7: 0.07, 8: 0.08, 9: 0.09, 10: 0.10}
PERF_PACKAGE = pmu(
    "cstate_pkg", 21,
    {f"c{state}-residency": (number, BASE * share) for number, (state, share) in enumerate(PACKAGE_SHARES.items())},
    {"cpumask": "0\n"},
)  # fmt: skip
PACKAGE_ADDRESSES = {2: 0x60D, 3: 0x3F8, 6: 0x3F9, 7: 0x3FA, 8: 0x630, 9: 0x631, 10: 0x632}
MSR_PACKAGE = gauges({0xE2: 8}) | registers(
    {address: BASE * PACKAGE_SHARES[state] for state, address in PACKAGE_ADDRESSES.items()}
)
UNITS = gauges({0x606: 0x000A0E03, 0x614: 0x168})  # 0.125 W, 2^-14 J, 2^-10 s, TDP 45 W
WATTS = {"energy-cores": (1, 20.0), "energy-pkg": (2, 30.0), "energy-ram": (3, 4.0), "energy-gpu": (4, 5.0),
         "energy-psys": (5, 60.0)}  # fmt: skip
PERF_POWER = energy_pmu("power", 22, WATTS, "0")
COUNTS_A_JOULE = 2.0**14
# Just below 2^32, so that every counter wraps in the interval.
MSR_POWER = UNITS | registers(
    {address: watts * COUNTS_A_JOULE for address, watts in
     ((0x639, 20.0), (0x611, 30.0), (0x619, 4.0), (0x641, 5.0), (0x64D, 60.0))}, 2**32 - 5, 32,
)  # fmt: skip
THERMAL = gauges({0x1A2: 0x00640000, 0x19C: 0x88200800, 0x1B1: 0x88280800})  # tj_max 100, 32 and 40 below
HWMON = texts({
    "/sys/class/hwmon/hwmon0/name": "coretemp\n",
    "/sys/class/hwmon/hwmon0/temp1_label": "Package id 0\n", "/sys/class/hwmon/hwmon0/temp1_input": "60000\n",
    "/sys/class/hwmon/hwmon0/temp2_label": "Core 0\n", "/sys/class/hwmon/hwmon0/temp2_input": "68000\n",
    "/sys/class/hwmon/hwmon0/temp3_label": "Core 1\n", "/sys/class/hwmon/hwmon0/temp3_input": "51000\n",
})  # fmt: skip
CPU = "/sys/devices/system/cpu/cpu{}"


def on_each(files: dict[str, float]) -> Given:
    return file_counters({CPU.format(cpu) + "/" + name: rate for cpu in (0, 1) for name, rate in files.items()})


IDLE = on_each({
    "cpuidle/state0/usage": 1.0, "cpuidle/state0/time": 1e4, "cpuidle/state0/below": 7.0, "cpuidle/state0/above": 0.0,
    "cpuidle/state1/usage": 5.0, "cpuidle/state1/time": 4e5, "cpuidle/state1/below": 0.0, "cpuidle/state1/above": 2.0,
}) | texts({f"{CPU.format(cpu)}/cpuidle/state{state}/name": name
            for cpu in (0, 1) for state, name in enumerate(("POLL\n", "C1_ACPI\n"))})  # fmt: skip
POWERCAP = "/sys/class/powercap/intel-rapl:0"
ZONES = texts({
    f"{zone}/{file}": text for zone, word in
    ((POWERCAP, "package-0"), (f"{POWERCAP}:0", "core"), (f"{POWERCAP}:1", "dram"), (f"{POWERCAP}:2", "uncore"),
     ("/sys/class/powercap/intel-rapl:1", "psys"))
    for file, text in (("name", f"{word}\n"), ("max_energy_range_uj", "262143328850\n"), ("enabled", "1\n"))
}) | file_counters({
    f"{POWERCAP}/energy_uj": 30e6, f"{POWERCAP}:0/energy_uj": 20e6, f"{POWERCAP}:1/energy_uj": 4e6,
    f"{POWERCAP}:2/energy_uj": 5e6, "/sys/class/powercap/intel-rapl:1/energy_uj": 60e6,
})  # fmt: skip
GRAPHICS = "/sys/class/drm/card0"
XE = file_counters({f"{GRAPHICS}/device/tile0/gt{gt}/gtidle/idle_residency_ms": rate for gt, rate in
                    ((0, 750.0), (1, 250.0))}) | texts({
    f"{GRAPHICS}/device/tile0/gt0/gtidle/name": "gt0-rc\n",
    f"{GRAPHICS}/device/tile0/gt0/freq0/cur_freq": "1300\n", f"{GRAPHICS}/device/tile0/gt0/freq0/act_freq": "1250\n",
    f"{GRAPHICS}/device/tile0/gt1/freq0/cur_freq": "900\n", f"{GRAPHICS}/device/tile0/gt1/freq0/act_freq": "850\n",
})  # fmt: skip
I915 = file_counters({f"{GRAPHICS}/gt/gt{gt}/rc6_residency_ms": rate for gt, rate in
                      ((0, 750.0), (1, 250.0))}) | texts({
    f"{GRAPHICS}/gt/gt0/rps_cur_freq_mhz": "1300\n", f"{GRAPHICS}/gt/gt0/rps_act_freq_mhz": "1250\n",
    f"{GRAPHICS}/gt/gt1/rps_cur_freq_mhz": "900\n", f"{GRAPHICS}/gt/gt1/rps_act_freq_mhz": "850\n",
})  # fmt: skip
OLD_I915 = file_counters({f"{GRAPHICS}/power/rc6_residency_ms": 750.0}) | texts(
    {f"{GRAPHICS}/gt_cur_freq_mhz": "1300\n", f"{GRAPHICS}/gt_act_freq_mhz": "1250\n"}
)
UNCORE = "/sys/devices/system/cpu/intel_uncore_frequency"
LPI = "/sys/devices/system/cpu/cpuidle/low_power_idle_{}_residency_us"
PERF_HARDWARE = Given(counters={(0, 0): 1000 * MHZ, (0, 1): 1800 * MHZ, (0, 2): 50 * MHZ, (0, 3): 5 * MHZ})
INTERRUPTS = ("           CPU0       CPU1\n  0:        {}         10   IO-APIC   2-edge  timer\n"
              "NMI:          {}          7   Non-maskable interrupts\nLOC:        {}        500   Local timer\n"
              "ERR:          9\nMIS:          0\n")  # fmt: skip


def telemetry(guid: int, offset: int, rate: float) -> Given:
    def region(value: int) -> str:
        data = bytearray(32768)
        data[offset : offset + 8] = value.to_bytes(8, "little")
        return data.decode("latin-1")

    base = "/sys/class/intel_pmt/telem3"
    return Given(
        files={f"{base}/guid": f"{guid:#x}\n", f"{base}/size": "32768\n", f"{base}/telem": region(77)},
        later_files={f"{base}/telem": region(77 + round(rate * 2))},
    )


@dataclass(frozen=True)
class Case:
    """One column from one source."""

    column: str
    source: str
    given: Given
    truth: Value
    model: CpuModel = CLIENT


CASES = (
    # TSC, MPERF, APERF and the SMI count are what is read of a CPU here, 1 us each.
    Case("usec", "clock-start", CLOCKS | Given(cost_ns=1000) | MSR_CYCLES, 4.0),
    Case("Time_Of_Day_Seconds", "clock-end", Given(), 3.0),
    Case("APIC", "apic", CLOCKS, 0x2A),
    Case("APIC", "apic", texts({"/proc/cpuinfo": "processor: 0\napicid: 300\ninitial apicid: 300\n"}), 300 & 0xFF),
    Case("X2APIC", "apic", CLOCKS, 0x12A),
    Case("X2APIC", "apic", texts({"/proc/cpuinfo": "processor: 0\napicid: 300\ninitial apicid: 300\n"}), 300),
    Case("Avg_MHz", "perf-msr", CLOCKS | PERF_MSR, 900.0),
    Case("Avg_MHz", "msr", CLOCKS | MSR_CYCLES, 900.0),
    Case("Busy%", "perf-msr", CLOCKS | PERF_MSR, 25.0),
    Case("Busy%", "msr", CLOCKS | MSR_CYCLES, 25.0),
    Case("Bzy_MHz", "perf-msr", CLOCKS | PERF_MSR, 3600.0),
    Case("Bzy_MHz", "msr", CLOCKS | MSR_CYCLES, 3600.0),
    Case("TSC_MHz", "perf-msr", PERF_MSR, 2412.0),
    Case("TSC_MHz", "msr", MSR_CYCLES, 2412.0),
    Case("IPC", "perf-hardware", PERF_HARDWARE | MSR_CYCLES, 2.0),
    Case("IPC", "perf-hardware", PERF_HARDWARE, 1.8),  # by the core PMU's own cycles where APERF is not to be had
    Case("IRQ", "proc-interrupts", Given({"/proc/interrupts": INTERRUPTS.format(100, 5, 1000)},
                                         {"/proc/interrupts": INTERRUPTS.format(110, 6, 1400)}), 411),
    Case("NMI", "proc-interrupts", Given({"/proc/interrupts": INTERRUPTS.format(100, 5, 1000)},
                                         {"/proc/interrupts": INTERRUPTS.format(110, 6, 1400)}), 1),
    Case("SMI", "perf-msr", PERF_MSR, 6),
    Case("SMI", "msr", MSR_CYCLES, 6),
    Case("LLCMRPS", "perf-hardware", PERF_HARDWARE, 50.0),
    Case("LLC%hit", "perf-hardware", PERF_HARDWARE, 90.0),
    Case("L2MRPS", "perf-l2", pmu("cpu", 4, {"refs": (0xFF24, 80 * MHZ), "hits": (0xDF24, 60 * MHZ)}), 80.0, SERVER),
    Case("L2%hit", "perf-l2", pmu("cpu", 4, {"refs": (0xFF24, 80 * MHZ), "hits": (0xDF24, 60 * MHZ)}), 75.0, SERVER),
    Case("L2MRPS", "perf-hardware", PERF_HARDWARE, 50.0, ROME),
    Case("L2%hit", "perf-hardware", PERF_HARDWARE, 90.0, ROME),
    Case("C1ACPI", "cpuidle", IDLE, 10),
    Case("C1ACPI-", "cpuidle", IDLE, 4),
    Case("POLL+", "cpuidle", IDLE, 14),
    Case("C1ACPI%", "cpuidle", IDLE, 40.0),
    Case("CPU%c1e", "pmt", telemetry(0x14421519, 20936, 200 * MHZ), 25.0, CLEARWATER),
    # 2412 MHz is all that a server without tsc_tweak counts by, so 5 % of 2400 is less of it.
    Case("CPU%c1", "perf-cstate", PERF_CORE | PERF_MSR, 5.0 * 2400 / 2412, SERVER),
    Case("CPU%c1", "msr", MSR_CORE | MSR_CYCLES, 5.0 * 2400 / 2412, SERVER),
    Case("CPU%c1", "msr", CLOCKS | MSR_CYCLES | MSR_CORE, 100.0 - 25.0 - 10.0 - 20.0 - 30.0),  # derived: no counter
    *(
        Case(f"CPU%c{state}", source, CLOCKS | PERF_MSR | given, share)
        for state, share in ((3, 10.0), (6, 20.0), (7, 30.0))
        for source, given in (("perf-cstate", PERF_CORE), ("msr", MSR_CORE))
    ),
    Case("Mod%c6", "perf-cstate", PERF_MSR | pmu("cstate_module", 23, {"c6-residency": (0, TSC * 0.4)},
                                                 {"cpumask": "0-1\n"}), 40.0, FOREST),
    Case("Mod%c6", "msr", MSR_CYCLES | registers({0x664: TSC * 0.4}), 40.0, FOREST),
    Case("CoreTmp", "msr", THERMAL, 68),
    Case("CoreTmp", "hwmon", HWMON, 68),
    Case("CoreThr", "thermal-throttle", on_each({"thermal_throttle/core_throttle_count": 4.0}), 8),
    Case("CorWatt (per core)", "perf-power", energy_pmu("power_core", 24, {"energy-core": (1, 6.5)}, "0-1"), 6.5, ROME),
    Case("CorWatt (per core)", "msr", gauges({0xC0010299: 0x000A1003, 0xC001029B: 99}) | registers(
        {0xC001029A: 6.5 * 2**16}, 2**32 - 9, 32), 6.5, ROME),
    Case("Cor_J (per core)", "perf-power", energy_pmu("power_core", 24, {"energy-core": (1, 6.5)}, "0-1"), 13.0, ROME),
    Case("Cor_J (per core)", "amd-energy", texts({
        "/sys/class/hwmon/hwmon1/name": "amd_energy\n",
        **{f"/sys/class/hwmon/hwmon1/energy{n}_label": f"Ecore00{n - 1}\n" for n in (1, 2)},
    }) | file_counters({f"/sys/class/hwmon/hwmon1/energy{n}_input": 6.5e6 for n in (1, 2)}), 13.0, ROME),
    Case("PkgTmp", "msr", THERMAL, 60),
    Case("PkgTmp", "hwmon", HWMON, 60),
    *(
        Case(column, "graphics", given, truth)
        for given, shown in ((XE, 6), (I915, 6), (OLD_I915, 3))
        for column, truth in (
            ("GFX%rc6", 75.0), ("GFXMHz", 1300.0), ("GFXAMHz", 1250.0),
            ("SAM%mc6", 25.0), ("SAMMHz", 900.0), ("SAMAMHz", 850.0),
        )[:shown]
    ),
    *(
        Case(column, "msr", CLOCKS | PERF_MSR | registers({address: BASE * share}), share * 100)
        for column, address, share in
        (("Totl%C0", 0x658, 1.9), ("Any%C0", 0x659, 0.8), ("GFX%C0", 0x65A, 0.3), ("CPUGFX%", 0x65B, 0.2))
    ),
    *(
        Case(f"Pkg%pc{state}" if state < 10 else "Pk%pc10", source, CLOCKS | PERF_MSR | given, share * 100)
        for state, share in PACKAGE_SHARES.items()
        for source, given in (("perf-cstate", PERF_PACKAGE), ("msr", MSR_PACKAGE))
    ),
    Case("CPU%LPI", "low-power-idle", file_counters({LPI.format("cpu"): 3e5}), 30.0),
    Case("SYS%LPI", "low-power-idle", file_counters({LPI.format("system"): 2e5}), 20.0),
    Case("SYS%LPI", "low-power-idle", file_counters({"/sys/kernel/debug/pmc_core/slp_s0_residency_usec": 2e5}), 20.0),
    *(
        Case(f"{name}{unit}", source, given, watts * (2.0 if unit == "_J" else 1.0))
        for name, watts in (("Pkg", 30.0), ("Cor", 20.0), ("GFX", 5.0), ("RAM", 4.0), ("Sys", 60.0))
        for unit in ("Watt", "_J")
        for source, given in (("perf-power", PERF_POWER), ("msr", MSR_POWER), ("powercap", ZONES))
    ),
    Case("PKG_%", "msr", UNITS | gauges({0x611: 5}) | registers({0x613: 0.25 * 1024}, 2**32 - 3, 32), 25.0),
    Case("RAM_%", "msr", UNITS | gauges({0x611: 5}) | registers({0x61B: 0.125 * 1024}, 2**32 - 3, 32), 12.5),
    Case("UncMHz", "uncore-frequency", texts({f"{UNCORE}/package_00_die_00/current_freq_khz": "2100000\n"}), 2100.0),
    Case("UMHz1.0", "uncore-frequency", texts({
        f"{UNCORE}/uncore00/package_id": "0\n", f"{UNCORE}/uncore00/domain_id": "1\n",
        f"{UNCORE}/uncore00/fabric_cluster_id": "0\n", f"{UNCORE}/uncore00/current_freq_khz": "1700000\n",
    }), 1700.0, SERVER),
    Case("Die%c6", "pmt", CLOCKS | telemetry(0x1A067102, 120, 6e6), 25.0, METEOR),
)  # fmt: skip


def shown(measured: Measured, column: str) -> Value:
    """The cell of the first CPU's row; of the summary where a column has no other."""
    name = column.removesuffix(" (per core)")
    return measured.cell(name) if measured.column(name).whole_only else measured.cpu(name)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.column} by {case.source}")
def test_a_column_from_a_source(case: Case) -> None:
    measured = measure(case.model, case.given)
    name = case.column.removesuffix(" (per core)")
    assert measured.provider(name) == case.source
    assert shown(measured, case.column) == pytest.approx(case.truth, rel=1e-6)


def test_identity_columns_are_the_ids_of_sysfs() -> None:
    places = [CpuPlace(0, 0, 0, 3, 1, 8, 5), CpuPlace(9, 2, 1, 4, 0, 9, 6)]
    measured = measure(CLIENT, Given(), places)
    for column, first, second in (
        ("Package", 0, 2), ("Die", 0, 1), ("L3", 3, 4), ("Node", 1, 0), ("Module", 8, 9), ("Core", 5, 6), ("CPU", 0, 9),
    ):  # fmt: skip
        assert (measured.cpu(column, 0), measured.cpu(column, 9)) == (first, second)
        assert measured.cell(column) is None


IDENTITY = {"Package", "Die", "L3", "Node", "Module", "Core", "CPU"}
FAMILIES = {
    "<state>- <state> <state>+ (cpuidle counts)": "C1ACPI",
    "<state>% (pct_idle)": "C1ACPI%",
    "UMHz<domain>.<cluster>": "UMHz1.0",
}


def test_no_row_of_turbostat_is_left_out() -> None:
    if not REFERENCE.exists():
        pytest.skip(f"{REFERENCE} is not beside this checkout")
    rows = [entry["name"] for entry in json.loads(REFERENCE.read_text(encoding="utf-8"))["columns"]]
    covered = {case.column for case in CASES} | IDENTITY
    assert len(rows) == 70
    assert [name for name in rows if FAMILIES.get(name, name) not in covered] == []
