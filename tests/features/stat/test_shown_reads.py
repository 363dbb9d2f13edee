"""What `stat` opens and reads follows --show: what is not shown is neither opened nor read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from threading import Event
from typing import Final

import pytest
from smallmachines import small_shape

from turbotui.features.stat.opening import open_stat
from turbotui.features.stat.options import parse_options
from turbotui.machine.host import PerfAttr
from turbotui.sampling.frame import Frame
from turbotui.simulated import SHAPES, ManualClock, SimulatedHost

ONLINE: Final = "/sys/devices/system/cpu/online"  # CPUs come and go, whatever is shown
_PMUS: Final = "/sys/bus/event_source/devices"


class NotingHost(SimulatedHost):
    """A server that notes what is opened and read: PMUs, register numbers, and paths without their numbers."""

    def __init__(self) -> None:
        self.clock = ManualClock(5_000_000_000)
        self.opened: set[str] = set()
        self.read: set[str] = set()
        super().__init__(small_shape(SHAPES["sapphire-2s"]), self.clock, 1)
        self._pmus = {int(self.read_text(f"{_PMUS}/{name}/type")): name for name in self.list_dir(_PMUS)}
        self._names: dict[int, str] = {}

    def forget(self) -> None:
        """Note from here on."""
        self.opened.clear()
        self.read.clear()

    def _taken(self, descriptor: int, name: str) -> int:
        self.opened.add(name)
        self._names[descriptor] = name
        return descriptor

    def read_text(self, path: str) -> str:
        self.read.add(_unnumbered(path))
        return super().read_text(path)

    def open_file(self, path: str) -> int:
        return self._taken(super().open_file(path), "registers" if path.endswith("/msr") else _unnumbered(path))

    def perf_event_open(self, attr: PerfAttr, pid: int, cpu: int, group: int) -> int:
        name = self._pmus.get(attr.type, attr.type)
        return self._taken(super().perf_event_open(attr, pid, cpu, group), f"perf {name}")

    def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
        name = self._names[descriptor]
        self.read.add(f"{offset:#x}" if name == "registers" else name)
        return super().read_at(descriptor, size, offset)

    def read_counter(self, descriptor: int, size: int) -> bytes:
        self.read.add(self._names[descriptor])
        return super().read_counter(descriptor, size)


def _unnumbered(path: str) -> str:
    return re.sub(r"(cpu|package_|die_|intel-rapl:|hwmon)\d+", r"\1N", path)


def watched(words: Sequence[str]) -> tuple[set[str], set[str]]:
    """What is opened from the start of sampling on, and what is read for the second interval."""
    host = NotingHost()
    session = open_stat(parse_options([*words, "--interval", "3600"]), host).session
    host.forget()
    opened: set[str] = set()
    ended = Event()

    def take(frame: Frame) -> None:
        if frame.seq == 1:
            opened.update(host.opened)
            host.forget()
        host.clock.advance(1.0)
        session.end_interval()

    session.start(take, intervals=2, on_end=ended.set)
    assert ended.wait(120.0)
    session.stop()
    assert session.failure is None
    return opened - {ONLINE}, host.read - {ONLINE}


@pytest.mark.parametrize(("shown", "opened", "read"), [
    ("CPU,Package", set(), set()),
    ("CPU,Busy%,Bzy_MHz", {"perf msr"}, {"perf msr"}),
    ("IRQ", set(), {"/proc/interrupts"}),
    ("C6%", {"/sys/devices/system/cpu/cpuN/cpuidle/state3/time"}, {"/sys/devices/system/cpu/cpuN/cpuidle/state3/time"}),
    ("CoreTmp", {"registers"}, {"0x19c"}),
    # energy is held against its second sources, which tell a counter that is wrong
    ("PkgWatt", {"perf power", "registers", "/sys/class/powercap/intel-rapl:N/energy_uj"},
     {"perf power", "0x611", "/sys/class/powercap/intel-rapl:N/energy_uj"}),
])
def test_what_is_not_shown_is_neither_opened_nor_read(shown: str, opened: set[str], read: set[str]) -> None:
    assert watched(("--show", shown)) == (opened, read)


def test_default_columns_read_all_their_sources() -> None:
    idle = {f"/sys/devices/system/cpu/cpuN/cpuidle/state{number}/time" for number in range(4)}
    files = {"/sys/class/powercap/intel-rapl:N/energy_uj", "/sys/class/powercap/intel-rapl:N:0/energy_uj",
             "/sys/devices/system/cpu/cpuN/thermal_throttle/core_throttle_count",
             "/sys/devices/system/cpu/intel_uncore_frequency/package_N_die_N/current_freq_khz"}
    counters = {f"perf {pmu}" for pmu in (0, "cpu", "cstate_core", "cstate_pkg", "msr", "power")}
    registers = {"0x19c", "0x1b1", "0x611", "0x613", "0x619", "0x61b", "0x64d"}
    kept = idle | files | counters
    assert watched(()) == (kept | {"registers"}, kept | registers | {"/proc/interrupts"})
