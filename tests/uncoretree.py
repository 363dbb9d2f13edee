"""Machines whose uncore PMUs are files, read by the real host below a sysroot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import Machine, read_machine

INTEL_INFO = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Xeon\n"
OLYMPUS_INFO = "processor\t: 0\nCPU implementer\t: 0x4e\nCPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: 0x010\n"
GRACE_INFO = OLYMPUS_INFO.replace("0x4e", "0x41").replace("0x010", "0xd4f")
DEVICES = "sys/bus/event_source/devices"


def machine(root: Path, pmus: Mapping[str, Mapping[str, str]], info: str, packages: Sequence[Sequence[int]]) -> Machine:
    """CPUs by package, and PMUs with their files by name; a file ends in a newline as the kernel's do."""
    last = max(cpu for cpus in packages for cpu in cpus)
    files = {f"sys/devices/system/cpu/{name}": f"0-{last}" for name in ("online", "possible", "present")}
    files["proc/cpuinfo"] = info
    for package, cpus in enumerate(packages):
        for cpu in cpus:
            base = f"sys/devices/system/cpu/cpu{cpu}/topology"
            files |= {f"{base}/physical_package_id": str(package), f"{base}/die_id": "0", f"{base}/core_id": str(cpu)}
    for number, (name, content) in enumerate(pmus.items()):
        files[f"{DEVICES}/{name}/type"] = str(20 + number)
        files |= {f"{DEVICES}/{name}/{path}": text for path, text in content.items()}
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n", encoding="utf-8")
    return read_machine(LinuxHost(str(root)))


EIGHT = {"format/event": "config:0-7", "format/umask": "config:8-15"}
CORESIGHT = {"format/event": "config:0-32", "events/cycles": "event=0x100000000"}
