"""Machines made of files, read by the real host below a sysroot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from turbotui.machine.linux import LinuxHost

# formats of docs/specs/perf.md 10
INTEL = {
    "event": "config:0-7", "umask": "config:8-15", "edge": "config:18", "pc": "config:19", "any": "config:21",
    "inv": "config:23", "cmask": "config:24-31", "in_tx": "config:32", "in_tx_cp": "config:33",
    "ldlat": "config1:0-15", "frontend": "config1:0-23", "offcore_rsp": "config1:0-63",
}  # fmt: skip
AMD = {
    "event": "config:0-7,32-35", "umask": "config:8-15", "edge": "config:18", "inv": "config:23",
    "cmask": "config:24-31",
}  # fmt: skip
ARM = {
    "event": "config:0-15", "long": "config1:0", "rdpmc": "config1:1", "threshold_count": "config1:2",
    "threshold_compare": "config1:3-4", "threshold": "config1:5-16",
}  # fmt: skip


def tree(root: Path, files: Mapping[str, str]) -> LinuxHost:
    """A host over files, paths without the leading slash; each ends in a newline as the kernel's do."""
    (root / "sys").mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n", encoding="utf-8")
    return LinuxHost(str(root))


def pmu(
    name: str, kind: int, formats: Mapping[str, str], events: Mapping[str, str] | None = None, **files: str
) -> dict[str, str]:
    """The files of one PMU; a double underscore in a keyword is a slash."""
    base = f"sys/bus/event_source/devices/{name}"
    return {
        f"{base}/type": str(kind),
        **{f"{base}/format/{term}": text for term, text in formats.items()},
        **{f"{base}/events/{event}": text for event, text in (events or {}).items()},
        **{f"{base}/{file.replace('__', '/')}": text for file, text in files.items()},
    }


def xeon(root: Path) -> LinuxHost:
    """One core PMU, memory controllers, RAPL, tracepoints."""
    tracing = "sys/kernel/tracing/events"
    imc = {"event": "config:0-7", "umask": "config:8-15"}
    reads = {
        "cas_count_read": "event=0x04,umask=0x03", "cas_count_read.unit": "MiB",
        "cas_count_read.scale": "6.103515625e-5", "clockticks": "event=0x0",
    }  # fmt: skip
    events = {
        "cpu-cycles": "event=0x3c", "mem-loads": "event=0xcd,umask=0x1,ldlat=3", "open": "event=0x1,umask=?",
        "SHOUT": "event=0x9", "edgy": "event=0x1,edge", "instructions": "event=0xc0",
    }  # fmt: skip
    energy = {
        "energy-pkg": "event=0x02", "energy-pkg.unit": "Joules", "energy-pkg.scale": "2.3283064365386962890625e-10",
        "energy-pkg.per-pkg": "1", "energy-ram": "event=0x03", "energy-ram.unit": "Joules",
        "energy-ram.scale": "2.3283064365386962890625e-10", "level": "event=0x7", "level.snapshot": "1",
        "broken": "event=0x8", "broken.scale": "about two", "stray": "event=0x8,nothing=1",
    }  # fmt: skip
    files = {
        **pmu("cpu", 4, INTEL, events, caps__max_precise="3"),
        **pmu("power", 15, {"event": "config:0-7"}, energy, cpumask="0,18"),
        **pmu("uncore_imc_0", 20, imc, reads, cpumask="0"),
        **pmu("uncore_imc_1", 21, imc, reads, cpumask="0"),
        **pmu("uncore_cha_a1f", 30, imc, cpumask="0"),
        **pmu("uncore_cha_b2e", 31, imc, cpumask="0", alias="uncore_type_0_1"),
        **pmu("wide", 40, {"low": "config3:0-3", "high": "config4:60-63", "split": "config2:0,4,8-9"}),
        **pmu("software", 1, {}), **pmu("tracepoint", 2, {}), **pmu("breakpoint", 5, {}),
        f"{tracing}/sched/sched_switch/id": "314",
        f"{tracing}/sched/sched_wakeup/id": "315",
        f"{tracing}/irq/irq_handler_entry/id": "77",
        f"{tracing}/enable": "0",
    }  # fmt: skip
    return tree(root, files)


def hybrid(root: Path) -> LinuxHost:
    """Two kinds of core."""
    cycles = {"cpu-cycles": "event=0x3c"}
    slots = {**cycles, "slots": "event=0x00,umask=0x4"}
    return tree(root, {
        **pmu("cpu_core", 4, INTEL, slots, cpus="0-7"), **pmu("cpu_atom", 10, INTEL, cycles, cpus="8-11"),
        **pmu("software", 1, {}),
    })  # fmt: skip
