"""Identity columns: where a row is in the machine. Ids are those of sysfs."""

from __future__ import annotations

from collections.abc import Callable

from turbotui.quantities.columns import Category, CounterColumn, Inputs, Value
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import SignalId

_DOCUMENT = "kernel Documentation/admin-guide/cputopology.rst"


def _place(scope: Scope) -> Callable[[Inputs], Value]:
    return lambda row: row.place(scope)


def _identity(title: str, scope: Scope, path: str, help_text: str, *, hexadecimal: bool = False) -> CounterColumn:
    return CounterColumn(
        id=title,
        category=Category.TOPOLOGY,
        identity=True,
        groups=("topology",),
        scope=Scope.CPU,
        unit="",
        decimals=0,
        needs=(),
        compute=_place(scope),
        formula=path,
        help=help_text,
        document=_DOCUMENT,
        width=4,
        priority=3,
        hexadecimal=hexadecimal,
    )


def _apic(title: str, signal: SignalId, help_text: str, formula: str) -> CounterColumn:
    return CounterColumn(
        id=title,
        category=Category.TOPOLOGY,
        identity=True,
        scope=Scope.CPU,
        unit="",
        decimals=0,
        needs=(signal,),
        compute=_id(signal),
        formula=f"{formula}, or /proc/cpuinfo",
        help=help_text,
        document="Intel SDM vol. 2, CPUID; AMD APM vol. 3, CPUID",
        width=5,
        priority=9,
        default=False,
        hexadecimal=True,
    )


def _id(signal: SignalId) -> Callable[[Inputs], Value]:
    def compute(row: Inputs) -> Value:
        value = row.value(signal)
        return None if value is None else round(value)

    return compute


COLUMNS = (
    _identity("Package", Scope.PACKAGE, "topology/physical_package_id", "Package (socket) the CPU is in."),
    _identity("Die", Scope.DIE, "topology/die_id", "Die within the package; some AMD parts number dies machine-wide."),
    _identity("L3", Scope.L3, "cache/index3/id", "Last-level cache the CPU shares."),
    _identity("Node", Scope.NODE, "/sys/devices/system/node", "NUMA node whose memory is nearest."),
    _identity("Module", Scope.MODULE, "topology/cluster_id", "Cores that share a mid-level cache.", hexadecimal=True),
    _identity("Core", Scope.CORE, "topology/core_id", "Core id within its package; ids may have gaps.",
              hexadecimal=True),
    CounterColumn(
        id="CPU",
        category=Category.TOPOLOGY,
        identity=True,
        groups=("topology",),
        scope=Scope.CPU,
        unit="",
        decimals=0,
        needs=(),
        compute=_place(Scope.CPU),
        formula="number in /proc/stat",
        help="Linux logical CPU number.",
        document=_DOCUMENT,
        width=4,
        priority=0,
    ),
    _apic("APIC", "apic", "Initial APIC id of the CPU, 8 bits wide.", "CPUID 0x1 EBX[31:24]"),
    _apic("X2APIC", "x2apic", "APIC id of the CPU, 32 bits wide (x2APIC).", "CPUID 0xB EDX; AMD: CPUID 0x8000001E EAX"),
    CounterColumn(
        id="Type",
        category=Category.TOPOLOGY,
        identity=True,
        groups=(),
        scope=Scope.CPU,
        unit="",
        decimals=-1,
        needs=(),
        compute=lambda row: row.core_type(),
        formula="the strongest of core PMUs, CPUID, model, MIDR_EL1, cpu_capacity, caches, acpi_cppc, cpufreq",
        help="Kind of core: P performance, E efficiency, LP low-power island; on Arm big, mid and little. "
        "`turbotui info` says by which evidence.",
        document="kernel Documentation/admin-guide/perf (hybrid PMUs), cputopology.rst",
        width=4,
        priority=2,
        extra=True,
    ),
)
