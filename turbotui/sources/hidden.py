"""Which sources are hidden from this process, by masks over their files and links that lead nowhere.

Container runtimes and services hide files of /proc and /sys (`turbotui.machine.view`). A source finds nothing then, as
on a machine without the driver or the hardware, and its advice would be to load what is loaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from turbotui.machine.machine import Machine
from turbotui.machine.small_files import names_in
from turbotui.machine.view import SHOW_FILE
from turbotui.quantities.signals import Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.source import Probe

_CPU: Final = "/sys/devices/system/cpu/cpu{cpu}"
_CPUINFO: Final = "/proc/cpuinfo"  # without it nothing is known of the processor, and so of what it cannot have
_HWMON: Final = "/sys/class/hwmon/hwmon*"
_PMUS: Final = "/sys/bus/event_source/devices/*"
_CPUIDLE: Final = "/sys/devices/system/cpu/cpuidle"
_PLATFORM: Final = "/sys/devices/platform"
PLACES: Final[Mapping[str, tuple[str, ...]]] = {
    # Source -> its files: of each CPU where {cpu} stands, and links where the last part ends with *
    **dict.fromkeys(("clock-end", "clock-start", "perf-software"), ()),
    **dict.fromkeys(("apic", "msr", "msr-settings", "platform-constants", "rdtsc"), (_CPUINFO,)),
    **dict.fromkeys(("perf-cstate", "perf-hardware", "perf-l2", "perf-licence", "perf-msr", "perf-power",
                     "perf-roofline"), (_PMUS, _CPUINFO)),
    **dict.fromkeys(("amd-energy", "hwmon-fans", "hwmon-graphics", "hwmon-power"), (_HWMON, _CPUINFO)),
    **dict.fromkeys(("hsmp", "hwmon"), (_HWMON, _PLATFORM, _CPUINFO)),
    **{f"proc-{name}": (f"/proc/{name}",) for name in (
        "interrupts", "loadavg", "meminfo", "pressure", "schedstat", "softirqs", "stat", "vmstat")},
    "accel": ("/sys/class/accel/accel*", _CPUINFO),
    "core-clock": (_CPUINFO, "/proc/stat"),
    "cpufreq": (f"{_CPU}/cpufreq", "/sys/devices/system/cpu/cpufreq", _CPUINFO),
    "cpuidle": (f"{_CPU}/cpuidle", _CPUIDLE, _CPUINFO),
    "energy-bias": (f"{_CPU}/power", _CPUINFO),
    "graphics": ("/sys/class/drm/card*", _CPUINFO),
    "hsmp-metrics": (_PLATFORM, _CPUINFO),
    "low-power-idle": (_CPUIDLE, _CPUINFO),
    "nvml": ("/proc/driver", "/sys/bus/pci/devices"),
    "own-cgroup": ("/sys/fs/cgroup",),
    "pmt": ("/sys/class/intel_pmt/telem*", _CPUINFO),
    "power-supply": ("/sys/class/power_supply/*", _CPUINFO),
    "powercap": ("/sys/class/powercap/intel-rapl*", "/sys/devices/virtual/powercap", _CPUINFO),
    "thermal-throttle": (f"{_CPU}/thermal_throttle", _CPUINFO),
    "uncore-frequency": ("/sys/devices/system/cpu/intel_uncore_frequency", _CPUINFO),
}
_NOT_FOUND: Final = (Reason.NO_DRIVER, Reason.NO_HARDWARE, Reason.VIRTUALISED, Reason.UNKNOWN_MODEL, Reason.NOT_SET,
                     Reason.FAILED, Reason.RECORDED)
"""What a source takes a hidden file for."""


class HiddenSources:
    """Places that are hidden on a machine; folders of links are looked through once for all sources."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._broken: dict[str, str] = {}

    def unhidden(self, source: str, probe: Probe) -> Probe:
        """The findings of a source, in which what is hidden is not called missing."""
        renumbered = self._machine.view.renumbered
        missing = [name for name, answer in probe.signals.items() if isinstance(answer, Unavailable) and (
            answer.reason in _NOT_FOUND or (renumbered and answer.reason is Reason.NOT_PERMITTED))]
        why = next(self._hidden(source), None) if missing else None
        if why is None:
            return probe
        note = probe.note if any(isinstance(answer, Signal) for answer in probe.signals.values()) else ""
        return replace(probe, signals={**probe.signals, **dict.fromkeys(missing, why)}, note=note)

    def _hidden(self, source: str) -> Iterator[Unavailable]:
        view, cpus = self._machine.view, self._machine.topology.cpus
        for place in PLACES.get(source, ()):
            if view.masks or view.renumbered:
                paths = (place.removesuffix("*").rstrip("/").format(cpu=cpu) for cpu in (
                    cpus if "{cpu}" in place else cpus[:1]))
                if (why := view.hidden(*paths)) is not None:
                    yield why
            if place.endswith("*") and (link := self._broken_link(place)):
                yield Unavailable(
                    Reason.HIDDEN, f"the container hides what {link} points to: the link leads nowhere", SHOW_FILE)

    def _broken_link(self, place: str) -> str:
        """The first link of a folder, by the beginning of its name, that leads nowhere; "" if none does."""
        if place not in self._broken:
            folder, _, word = place.removesuffix("*").rpartition("/")
            names = (name for name in names_in(self._machine.host, folder) if name.startswith(word))
            self._broken[place] = next((path for name in names if not self._machine.host.exists(
                path := f"{folder}/{name}")), "")
        return self._broken[place]
