"""A stock x86-64 kernel over registers of known value: `turbotui stat` shows these values.

The emulator's CPUs take turns on the real ones, so that two readings of one tick can lie milliseconds apart: every
ratio must be of one window all the same. A CPU that loses its turn between a register and the TSC shows that, as on any
virtual machine; so most cells must be exact, and none far away.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest
from comparisons import Comparisons
from x86guest import GUEST, GuestRegister, loading

import turbotui

sys.path.insert(0, str(Path(__file__).parents[1] / "bed"))
import newest_turbostat

_ONE: Final = 1 << 32
_BASE_MHZ: Final = 2300
_TSC_HZ: Final = _BASE_MHZ * 1e6
"""Nominal: QEMU's TSC is the host's. Rates are of its cycles, and checked against the TSC that was shown."""
_WATTS, _RAM_WATTS = 100.0, 10.0
_BUSY, _MORE_BUSY, _TURBO = 0.25, 0.05, 1.5
_C6, _PC2, _PC6 = 0.3, 0.1, 0.05
_REGISTERS: Final = (
    # addresses and layouts: Intel SDM vol. 4; the DRAM unit of servers is 2^-16 J (linux rapl.c)
    GuestRegister(0x10, rate=_ONE),
    GuestRegister(0x34, 5),
    GuestRegister(0xCE, _BASE_MHZ // 100 << 8),
    GuestRegister(0xE2, 0x8007),
    GuestRegister(0xE7, rate=int(_BUSY * _ONE), per_cpu=int(_MORE_BUSY * _ONE)),
    GuestRegister(0xE8, rate=int(_BUSY * _TURBO * _ONE), per_cpu=int(_MORE_BUSY * _TURBO * _ONE)),
    GuestRegister(0x19C, 0x8832_0000),  # 50 degrees below 100
    GuestRegister(0x1A2, 100 << 16),
    GuestRegister(0x1B1, 0x8828_0000),  # 40 degrees below 100
    GuestRegister(0x3F9, 7, rate=int(_PC6 * _ONE)),
    GuestRegister(0x3FD, 7, rate=int(_C6 * _ONE)),
    GuestRegister(0x606, 0x000A_0E03),
    GuestRegister(0x60D, 7, rate=int(_PC2 * _ONE)),
    GuestRegister(0x610, 0x0007_8200_001D_80E0),
    GuestRegister(0x611, rate=int(_ONE * _WATTS * 2**14 / _TSC_HZ)),
    GuestRegister(0x614, 0x010D_0070_00E0),
    GuestRegister(0x619, rate=int(_ONE * _RAM_WATTS * 2**16 / _TSC_HZ)),
    GuestRegister(0x620, 0x0816),
    GuestRegister(0x621, 18),
)
_FEATURES: Final = (3 * 32 + 28, 14 * 32 + 0, 14 * 32 + 6)
"""APERFMPERF, DTHERM, PTS (linux arch/x86/include/asm/cpufeatures.h)."""
_STEADY: Final = frozenset({"TSC_MHz", "CPU%c6", "Pkg%pc2", "Pkg%pc6", "PkgWatt", "RAMWatt", "UncMHz"})
"""Columns of turbostat in the guest that do the same all the time; the emulator's CPUID has no APERF and no sensors."""
_FIRST_PACKAGE: Final = frozenset({"Pkg%pc2", "Pkg%pc6"})
"""turbostat opens these for one of the two packages, whose only cores have one id (DIFFERENCES.md)."""
_NEAR: Final = 0.01
_COLUMNS: Final = (
    "Busy%", "Bzy_MHz", "CPU%c1", "CPU%c6", "Pkg%pc2", "Pkg%pc6", "PkgWatt", "RAMWatt", "CoreTmp", "PkgTmp",
)  # fmt: skip
_SOURCES: Final[Mapping[str, Mapping[str, str]]] = {
    "without perf": dict.fromkeys(_COLUMNS, "msr"),
    "without MSR": {**dict.fromkeys(("CPU%c6", "Pkg%pc2", "Pkg%pc6"), "perf-cstate"),
                    **dict.fromkeys(("PkgWatt", "RAMWatt"), "perf-power"),
                    **dict.fromkeys(("CoreTmp", "PkgTmp"), "hwmon")},
}  # fmt: skip
"""What is left to read each column from."""
_JSON: Final = "turbotui stat -q -i 1 --format json"
_COMMANDS: Final = {
    "loading": loading(_REGISTERS, _FEATURES),
    "drivers": "ls /sys/class/powercap /sys/bus/event_source/devices /dev/cpu/0; cat /sys/class/hwmon/*/name",
    "every source": f"{_JSON} -n 3",
    "without perf": f"{_JSON} -n 2 -P",
    "without MSR": f"{_JSON} -n 2 -M",
    "turbostat": "/bin/busybox chmod +x /ld-linux-x86-64.so.2; "
                 "/ld-linux-x86-64.so.2 --library-path / /turbostat -q -i 1 -n 3 2>/dev/null",
    "core clock": "turbotui doctor 2>&1 | /bin/busybox grep 'chains of'",
    "tasks": "turbotui tasks --json -- /bin/busybox sh -c "
             "'for i in 1 2 3; do /bin/busybox sha256sum /usr/bin/python3.11 >/dev/null; done' 2>/dev/null",
    # until the power is known twice, or an emulator that is stopped again and again has been late in 30 intervals
    "a CPU goes": f"{_JSON} -n 32 -S | {{ read -r report; echo 0 > /sys/devices/system/cpu/cpu2/online; "
                  'echo "$report"; read -r report; echo "$report"; known=; '
                  'while [ "$known" != 11 ] && read -r report; do echo "$report"; '
                  'case $report in *\'"PkgWatt":null\'*) ;; *) known=1$known ;; esac; done; }; '
                  "echo 1 > /sys/devices/system/cpu/cpu2/online",
}  # fmt: skip

Values = Mapping[str, float]


def _has_turbostat() -> bool:
    return newest_turbostat.PROGRAM.exists()


@pytest.fixture(scope="module")
def answers() -> dict[str, str]:
    why = GUEST.why_not()
    if why:
        pytest.skip(why)
    files = (newest_turbostat.PROGRAM, *newest_turbostat.LIBRARIES.iterdir()) if _has_turbostat() else ()
    result = GUEST.run(Path(turbotui.__file__).parent, _COMMANDS.values(), files)
    return dict(zip(_COMMANDS, result, strict=True))


def reports(text: str) -> list[dict[str, list[dict[str, object]]]]:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def cpus(report: Mapping[str, list[dict[str, object]]]) -> dict[int, Values]:
    """The values of each CPU whose reader had the CPU that the emulator gave it, and in time."""
    result: dict[int, Values] = {}
    for row in report["rows"]:
        whys = row.get("why") or {}
        assert isinstance(whys, dict)
        if row["row"] == "cpu" and not any(why.startswith(("interrupted", "late")) for why in whys.values()):
            assert isinstance(row["cpu"], int)
            assert isinstance(row["values"], dict)
            result[row["cpu"]] = row["values"]
    return result


def whole(report: Mapping[str, list[dict[str, object]]]) -> Values:
    (values,) = (row["values"] for row in report["rows"] if row["row"] == "system")
    assert isinstance(values, dict)
    return values


def test_the_stock_drivers_are_there(answers: dict[str, str]) -> None:
    assert answers["loading"].strip() == ""
    for name in ("intel-rapl:1:0", "cstate_core", "power", "msr", "coretemp"):
        assert name in answers["drivers"]


def test_an_emulated_processor_tells_no_clock(answers: dict[str, str]) -> None:
    assert "an emulator runs them: multiplications take " in answers["core clock"]


@dataclass
class Cells:
    """Cells beside what the registers hold, as relative errors."""

    comparisons: Comparisons
    sources: Mapping[str, str] = field(default_factory=dict)
    method: str = "guest"
    errors: list[float] = field(default_factory=list)

    def compare(self, column: str, shown: float, true: float) -> None:
        """Note the error of a cell; one within 1 % agrees."""
        error = abs(shown - true) / abs(true) if true else abs(shown)
        self.errors.append(error)
        if error < _NEAR:
            for subject in (f"column {column}", *(f"source {name}" for name in [self.sources.get(column)] if name)):
                self.comparisons.agreed(self.method, subject)
        else:
            self.comparisons.missed(self.method)

    def judge(self) -> None:
        near = [error for error in self.errors if error < 0.02]
        assert len(near) >= 0.75 * len(self.errors) > 0, sorted(self.errors)
        assert max(self.errors) < 0.25


@pytest.mark.parametrize("sources", ["every source", "without perf"])
def test_every_cpu_shows_what_its_registers_hold(
    answers: dict[str, str], sources: str, comparisons: Comparisons
) -> None:
    cells = Cells(comparisons, _SOURCES.get(sources, {}))
    for report in reports(answers[sources]):
        rows = cpus(report)
        for cpu, values in rows.items():
            busy = 100 * (_BUSY + _MORE_BUSY * cpu)
            cells.compare("Busy%", values["Busy%"], busy)
            cells.compare("Bzy_MHz", values["Bzy_MHz"], _BASE_MHZ * _TURBO)
            cells.compare("CPU%c1", values["CPU%c1"] + 100, 200 - 100 * _C6 - busy)
            assert values["SMI"] == 0
    assert len(cells.errors) >= 3 * 4, "of nearly every CPU in every interval"
    cells.judge()


@pytest.mark.parametrize("sources", ["every source", "without perf", "without MSR"])
def test_cores_and_packages_show_what_their_registers_hold(
    answers: dict[str, str], sources: str, comparisons: Comparisons
) -> None:
    cells = Cells(comparisons, _SOURCES.get(sources, {}))
    for report in reports(answers[sources]):
        rows = cpus(report)
        for first in rows.keys() & {0, 2}:
            values = rows[first]
            clock = values["TSC_MHz"] * 1e6 / _TSC_HZ
            cells.compare("CPU%c6", values["CPU%c6"], 100 * _C6)
            cells.compare("PkgWatt", values["PkgWatt"], _WATTS * clock)
            cells.compare("RAMWatt", values["RAMWatt"], _RAM_WATTS * clock)
            cells.compare("Pkg%pc2", values["Pkg%pc2"], 100 * _PC2)
            cells.compare("Pkg%pc6", values["Pkg%pc6"], 100 * _PC6)
            cells.compare("CoreTmp", values["CoreTmp"], 50)
            cells.compare("PkgTmp", values["PkgTmp"], 60)
            assert (values["CoreTmp"], values["PkgTmp"]) == (50, 60)
    cells.judge()


def test_the_machine_is_its_packages_and_the_mean_of_its_cpus(
    answers: dict[str, str], comparisons: Comparisons
) -> None:
    cells = Cells(comparisons)
    for report in reports(answers["every source"]):
        values = whole(report)
        cells.compare("Busy%", values["Busy%"], 100 * (_BUSY + 1.5 * _MORE_BUSY))
        cells.compare("PkgWatt", values["PkgWatt"], 2 * _WATTS * values["TSC_MHz"] * 1e6 / _TSC_HZ)
        cells.compare("CPU%c6", values["CPU%c6"], 100 * _C6)
    cells.judge()


def test_turbostat_shows_the_same(answers: dict[str, str], comparisons: Comparisons) -> None:
    """The median of three intervals of each program; they run one after the other, on registers that do not change."""
    if not _has_turbostat():
        pytest.skip("turbostat is not installed (python tests/bed/newest_turbostat.py)")
    theirs: dict[tuple[str, str], list[float]] = {}
    titles: list[str] = []
    for line in answers["turbostat"].splitlines():
        words = line.split("\t")
        if "CPU" in words:
            titles = words
        elif titles:
            row = dict(zip(titles, words, strict=False))
            for title in _STEADY & row.keys():
                theirs.setdefault((row["CPU"], title), []).append(float(row[title]))
    ours: dict[tuple[str, str], list[float]] = {}
    for report in reports(answers["every source"]):
        for cpu, values in [*((str(cpu), values) for cpu, values in cpus(report).items()), ("-", whole(report))]:
            for title in _STEADY & values.keys():
                if values[title] is not None:
                    ours.setdefault((cpu, title), []).append(values[title])
    assert {title for _cpu, title in theirs} >= _STEADY, answers["turbostat"]
    cells = Cells(comparisons, method="guest-turbostat")
    for (cpu, title), shown in theirs.items():
        if (cpu, title) in ours and (cpu == "0" or title not in _FIRST_PACKAGE):
            cells.compare(title, statistics.median(ours[cpu, title]), statistics.median(shown))
    assert len(cells.errors) >= 12, "of nearly every CPU that has them, and the summary"
    cells.judge()


def test_a_cpu_that_goes_takes_no_energy_with_it(answers: dict[str, str]) -> None:
    """CPU 2 read its package's energy: the sum is unknown for an interval, and another CPU reads on."""
    shown = [whole(report) for report in reports(answers["a CPU goes"])]
    watts = [values["PkgWatt"] for values in shown]
    clocks = [values["TSC_MHz"] * 1e6 / _TSC_HZ for values in shown]
    assert len(watts) >= 4
    assert all(value is None or value == pytest.approx(2 * _WATTS * clock, rel=0.05)
               for value, clock in zip(watts, clocks, strict=True))
    assert any(value is not None for value in watts[2:]), "an emulated CPU may be late, but not always"


def test_children_of_a_command_have_rows_on_an_older_kernel(answers: dict[str, str]) -> None:
    """Linux 6.1 cannot hand sampling sets on to children (perf_event_open(2), inherit with PERF_SAMPLE_READ)."""
    report = json.loads(next(line for line in answers["tasks"].splitlines() if line.startswith("{")))
    children = {row["pid"] for row in report["rows"]}
    assert len(children) >= 4, report["rows"]
