"""Missing idle states and thermal events: the kernel's build and boot options explain them."""

from __future__ import annotations

import pytest
from prochost import machine_of

from turbotui.machine.cpumodel import CpuModel
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.cpuidle import Cpuidle
from turbotui.sources.source import Source
from turbotui.sources.thermal_throttle import ThermalThrottle

INTEL = CpuModel(architecture="x86_64", vendor="GenuineIntel", family=6, model=0x55)
RELEASE = {"/proc/sys/kernel/osrelease": "6.12.0\n"}
CONFIG = "/boot/config-6.12.0"


@pytest.mark.parametrize(
    ("source", "files", "reason", "detail", "remedy"),
    [
        (Cpuidle(), {"/proc/cmdline": "quiet idle=poll\n"}, Reason.NO_DRIVER, "with idle=poll", "without idle=poll"),
        (Cpuidle(), {"/proc/cmdline": "cpuidle.off=1\n"}, Reason.NO_DRIVER, "cpuidle.off=1", "boot without"),
        (Cpuidle(), {"/proc/cmdline": "quiet\n"}, Reason.NO_DRIVER, "no driver found", "firmware"),
        (Cpuidle(), {CONFIG: "CONFIG_X=y\n"}, Reason.NO_DRIVER, "CONFIG_CPU_IDLE is not set", "CONFIG_CPU_IDLE=y"),
        (ThermalThrottle(), {CONFIG: "CONFIG_X86_THERMAL_VECTOR=y\n"}, Reason.NO_HARDWARE, "although", "dmesg"),
        (ThermalThrottle(), {CONFIG: "CONFIG_X=y\n"}, Reason.NO_DRIVER, "is not set", "CONFIG_X86_THERMAL_VECTOR=y"),
        (ThermalThrottle(), {CONFIG: "CONFIG_X86_THERMAL_VECTOR=y\n", "/proc/cmdline": "mce=off\n"},
         Reason.NO_DRIVER, "booted with mce=off", "boot without mce=off"),
        (ThermalThrottle(), {}, Reason.NO_DRIVER, "or the firmware", "dmesg"),
    ],
)  # fmt: skip
def test_what_the_kernel_says_of_itself(
    source: Source, files: dict[str, str], reason: Reason, detail: str, remedy: str
) -> None:
    _, machine = machine_of(RELEASE | files, model=INTEL)
    for signal in source.probe(machine).signals.values():
        assert isinstance(signal, Unavailable)
        assert signal.reason is reason
        assert detail in signal.detail
        assert remedy in signal.remedy
