"""A stock x86-64 kernel over registers of known value: `turbotui stat` shows these values.

The emulator's CPUs take turns on the real ones, so that two readings of one tick can lie milliseconds apart: every
ratio must be of one window all the same. A CPU that loses its turn between a register and the TSC shows that, as on any
virtual machine; so most cells must be exact, and none far away.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest
from x86guest import GUEST, GuestRegister, loading

import turbotui

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
_JSON: Final = "turbotui stat -q -i 1 --format json"
_COMMANDS: Final = {
    "loading": loading(_REGISTERS, _FEATURES),
    "drivers": "ls /sys/class/powercap /sys/bus/event_source/devices /dev/cpu/0; cat /sys/class/hwmon/*/name",
    "every source": f"{_JSON} -n 3",
    "without perf": f"{_JSON} -n 2 -P",
    "without MSR": f"{_JSON} -n 2 -M",
    "tasks": "turbotui tasks --json -- /bin/busybox sh -c "
             "'for i in 1 2 3; do /bin/busybox sha256sum /usr/bin/python3.11 >/dev/null; done' 2>/dev/null",
    "a CPU goes": f"{_JSON} -n 4 -S | {{ read -r report; echo 0 > /sys/devices/system/cpu/cpu2/online; "
                  'echo "$report"; cat; }; echo 1 > /sys/devices/system/cpu/cpu2/online',
}  # fmt: skip

Values = Mapping[str, float]


@pytest.fixture(scope="module")
def answers() -> dict[str, str]:
    why = GUEST.why_not()
    if why:
        pytest.skip(why)
    found = GUEST.run(Path(turbotui.__file__).parent, _COMMANDS.values())
    return dict(zip(_COMMANDS, found, strict=True))


def reports(text: str) -> list[dict[str, list[dict[str, object]]]]:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def cpus(report: Mapping[str, list[dict[str, object]]]) -> dict[int, Values]:
    """The values of each CPU whose reader did not lose the CPU that the emulator gave it."""
    found: dict[int, Values] = {}
    for row in report["rows"]:
        whys = row.get("why") or {}
        assert isinstance(whys, dict)
        if row["row"] == "cpu" and not any(why.startswith("interrupted") for why in whys.values()):
            assert isinstance(row["cpu"], int)
            assert isinstance(row["values"], dict)
            found[row["cpu"]] = row["values"]
    return found


def whole(report: Mapping[str, list[dict[str, object]]]) -> Values:
    (values,) = (row["values"] for row in report["rows"] if row["row"] == "system")
    assert isinstance(values, dict)
    return values


def test_the_stock_drivers_are_there(answers: dict[str, str]) -> None:
    assert answers["loading"].strip() == ""
    for name in ("intel-rapl:1:0", "cstate_core", "power", "msr", "coretemp"):
        assert name in answers["drivers"]


@dataclass
class Cells:
    """Cells beside what the registers hold, as relative errors."""

    errors: list[float] = field(default_factory=list)

    def compare(self, shown: float, true: float) -> None:
        self.errors.append(abs(shown / true - 1))

    def judge(self) -> None:
        near = [error for error in self.errors if error < 0.02]
        assert len(near) >= 0.75 * len(self.errors) > 0, sorted(self.errors)
        assert max(self.errors) < 0.25


@pytest.mark.parametrize("sources", ["every source", "without perf"])
def test_every_cpu_shows_what_its_registers_hold(answers: dict[str, str], sources: str) -> None:
    cells = Cells()
    for report in reports(answers[sources]):
        rows = cpus(report)
        for cpu, values in rows.items():
            busy = 100 * (_BUSY + _MORE_BUSY * cpu)
            cells.compare(values["Busy%"], busy)
            cells.compare(values["Bzy_MHz"], _BASE_MHZ * _TURBO)
            cells.compare(values["CPU%c1"] + 100, 200 - 100 * _C6 - busy)
            assert values["SMI"] == 0
    assert len(cells.errors) >= 3 * 4, "of nearly every CPU in every interval"
    cells.judge()


@pytest.mark.parametrize("sources", ["every source", "without perf", "without MSR"])
def test_cores_and_packages_show_what_their_registers_hold(answers: dict[str, str], sources: str) -> None:
    cells = Cells()
    for report in reports(answers[sources]):
        rows = cpus(report)
        for first in rows.keys() & {0, 2}:
            values = rows[first]
            clock = values["TSC_MHz"] * 1e6 / _TSC_HZ
            cells.compare(values["CPU%c6"], 100 * _C6)
            cells.compare(values["PkgWatt"], _WATTS * clock)
            cells.compare(values["RAMWatt"], _RAM_WATTS * clock)
            cells.compare(values["Pkg%pc2"], 100 * _PC2)
            cells.compare(values["Pkg%pc6"], 100 * _PC6)
            assert (values["CoreTmp"], values["PkgTmp"]) == (50, 60)
    cells.judge()


def test_the_machine_is_its_packages_and_the_mean_of_its_cpus(answers: dict[str, str]) -> None:
    cells = Cells()
    for report in reports(answers["every source"]):
        values = whole(report)
        cells.compare(values["Busy%"], 100 * (_BUSY + 1.5 * _MORE_BUSY))
        cells.compare(values["PkgWatt"], 2 * _WATTS * values["TSC_MHz"] * 1e6 / _TSC_HZ)
        cells.compare(values["CPU%c6"], 100 * _C6)
    cells.judge()


def test_a_cpu_that_goes_takes_no_energy_with_it(answers: dict[str, str]) -> None:
    """CPU 2 read its package's energy: the sum is unknown for an interval, and another CPU reads on."""
    shown = [whole(report) for report in reports(answers["a CPU goes"])]
    watts = [values["PkgWatt"] for values in shown]
    clocks = [values["TSC_MHz"] * 1e6 / _TSC_HZ for values in shown]
    assert len(watts) == 4
    assert all(value is None or value == pytest.approx(2 * _WATTS * clock, rel=0.05)
               for value, clock in zip(watts, clocks, strict=True))
    assert watts[-1] is not None


def test_children_of_a_command_have_rows_on_an_older_kernel(answers: dict[str, str]) -> None:
    """Linux 6.1 cannot hand sampling sets on to children (perf_event_open(2), inherit with PERF_SAMPLE_READ)."""
    report = json.loads(next(line for line in answers["tasks"].splitlines() if line.startswith("{")))
    children = {row["pid"] for row in report["rows"]}
    assert len(children) >= 4, report["rows"]
