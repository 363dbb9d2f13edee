"""Identity columns: where a row is in the machine, by the ids of sysfs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from turbotui.quantities.catalog.formulas import whole_of
from turbotui.quantities.columns import Category, CounterColumn, Inputs
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import SignalId

_DOCUMENT = "kernel Documentation/admin-guide/cputopology.rst"


_identity = partial(CounterColumn, category=Category.TOPOLOGY, identity=True, scope=Scope.CPU, unit="")


def _of_one(what: str) -> Callable[[Inputs], str]:
    return lambda _row: f"it is the {what}, not of a row with several, nor of a CPU for which the kernel names none"


def _place(title: str, scope: Scope, path: str, help_text: str, *, priority: int = 3,
           hexadecimal: bool = False) -> CounterColumn:
    return _identity(id=title, groups=("topology",), decimals=0, needs=(), compute=lambda row: row.place(scope),
                     formula=path, help=help_text, document=_DOCUMENT, width=4, priority=priority,
                     hexadecimal=hexadecimal, doubt=_of_one(f"number of one {title}"))


def _apic(title: str, signal: SignalId, help_text: str, formula: str) -> CounterColumn:
    return _identity(id=title, decimals=0, needs=(signal,), compute=whole_of(signal),
                     formula=f"{formula}, or /proc/cpuinfo", help=help_text,
                     document="Intel SDM vol. 2, CPUID; AMD APM vol. 3, CPUID", width=5, priority=9, default=False,
                     hexadecimal=True, doubt=_of_one("id of one CPU"))


COLUMNS = (
    _place("Package", Scope.PACKAGE, "topology/physical_package_id", "Package (socket) the CPU is in."),
    _place("Die", Scope.DIE, "topology/die_id", "Die within the package; some AMD parts number dies machine-wide."),
    _place("L3", Scope.L3, "cache/index3/id", "Last-level cache the CPU shares."),
    _place("Node", Scope.NODE, "/sys/devices/system/node", "NUMA node whose memory is nearest."),
    _place("Module", Scope.MODULE, "topology/cluster_id", "Cores that share a mid-level cache.", hexadecimal=True),
    _place("Core", Scope.CORE, "topology/core_id", "Core id within its package; ids may have gaps.", hexadecimal=True),
    _place("CPU", Scope.CPU, "number in /proc/stat", "Linux logical CPU number.", priority=0),
    _apic("APIC", "apic", "Initial APIC id of the CPU, 8 bits wide.", "CPUID 0x1 EBX[31:24]"),
    _apic("X2APIC", "x2apic", "APIC id of the CPU, 32 bits wide (x2APIC).", "CPUID 0xB EDX; AMD: CPUID 0x8000001E EAX"),
    _identity(
        id="Type", decimals=-1, needs=(), compute=lambda row: row.core_type(),
        formula="the strongest of core PMUs, CPUID, model, MIDR_EL1, cpu_capacity, caches, acpi_cppc, cpufreq",
        help="Kind of core: P performance, E efficiency, LP low-power island; on Arm big, mid and little. "
        "`turbotui info` says by which evidence.",
        document="kernel Documentation/admin-guide/perf (hybrid PMUs), cputopology.rst", width=4, priority=2,
        extra=True, doubt=_of_one("kind of one core"),
    ),
)
