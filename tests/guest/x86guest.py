"""A stock Debian x86-64 kernel under QEMU, with its real drivers over registers of known value.

`python tests/guest/x86guest.py` makes the guest (170 MB of Debian packages; gcc and make build one kernel module); the
tests then run, and skip with a reason before. QEMU's own registers of power and idle states read 0: `known_msrs.c` is a
module for the guest that answers the kernel's readings of registers, so that msr, powercap, perf and coretemp show what
a test has chosen. The topology is QEMU's: two packages of one core with two threads.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from debianguest import DebianGuest

_HERE: Final = Path(__file__).parent
DRIVERS: Final = (
    "arch/x86/kernel/msr", "drivers/powercap/intel_rapl_common", "drivers/powercap/intel_rapl_msr",
    "drivers/hwmon/coretemp", "arch/x86/events/rapl", "arch/x86/events/intel/intel-cstate",
    "drivers/platform/x86/intel/uncore-frequency/intel-uncore-frequency-common",
    "drivers/platform/x86/intel/uncore-frequency/intel-uncore-frequency",
)
"""Modules of the stock kernel, in the order in which they are loaded."""


@dataclass(frozen=True, slots=True)
class GuestRegister:
    """The value of one register: base + (rate + per_cpu * CPU) * TSC / 2^32."""

    address: int
    base: int = 0
    rate: int = 0
    per_cpu: int = 0


def loading(registers: tuple[GuestRegister, ...], features: tuple[int, ...]) -> str:
    """The shell command that gives registers their values and then loads the drivers.

    Args:
        registers: all that are known; the others are QEMU's.
        features: bits of CPU features that QEMU does not report (linux arch/x86/include/asm/cpufeatures.h).
    """
    lists: dict[str, list[str] | list[int]] = {
        "msr": [f"{register.address:#x}" for register in registers], "base": [register.base for register in registers],
        "rate": [register.rate for register in registers], "per_cpu": [register.per_cpu for register in registers],
        "feature": [*features],
    }  # fmt: skip
    words = " ".join(f"{name}={','.join(str(value) for value in values)}" for name, values in lists.items())
    names = " ".join(driver.rpartition("/")[2] for driver in DRIVERS)
    return (f"/bin/busybox insmod /modules/known_msrs.ko {words} && "
            f"for name in {names}; do /bin/busybox insmod /modules/$name.ko || echo $name; done")


def _modules(unpacked: Path, root: Path) -> None:
    """Build our module against the kernel's headers, and take the drivers out of its package."""
    folder = root / "modules"
    folder.mkdir()
    (headers,) = (unpacked / "usr/src").glob("linux-headers-*-amd64")
    makefile = headers / "Makefile"
    makefile.write_text(makefile.read_text().replace("/usr/src", str(unpacked / "usr/src")))
    work = unpacked / "module"
    work.mkdir()
    shutil.copyfile(_HERE / "known_msrs.c", work / "known_msrs.c")
    (work / "Makefile").write_text("obj-m := known_msrs.o\n")
    subprocess.run(["make", "-s", "-C", str(headers), f"M={work}", "CC=gcc", "modules"], check=True)  # noqa: S603, S607 - ours
    shutil.copyfile(work / "known_msrs.ko", folder / "known_msrs.ko")
    (kernel,) = (unpacked / "lib/modules").glob("*/kernel")
    for driver in DRIVERS:
        shutil.copyfile(kernel / f"{driver}.ko", folder / f"{driver.rpartition('/')[2]}.ko")


GUEST: Final = DebianGuest(
    architecture="amd64",
    emulator=("qemu-system-x86_64", "qemu-system-x86"),
    kernel="linux-image-amd64",
    machine=("-M", "q35", "-cpu", "Skylake-Server,-hypervisor", "-smp", "4,sockets=2,cores=1,threads=2", "-m", "1024",
             "-accel", "tcg,thread=multi"),
    console="ttyS0",
    recipe="tests/guest/x86guest.py",
    words="no_timer_check",  # an emulator that waits for a CPU of a busy host loses ticks, and the kernel gives up
    builds_module=True,
    finish=_modules,
)  # fmt: skip

if __name__ == "__main__":
    GUEST.build()
    sys.stdout.write(f"made {GUEST.cache}\n")
