"""The x86 PMUs other than the core's: msr, cstate_core, cstate_pkg, power, memory controllers."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from functools import partial

from turbotui.machine.host import PerfAttr
from turbotui.simulated import basis as b
from turbotui.simulated.basis import Basis
from turbotui.simulated.events_common import APERF, MPERF_SECONDS, counts
from turbotui.simulated.layout import SimulatedCpu
from turbotui.simulated.model import Model
from turbotui.simulated.pmu import Context, EventFile, SimulatedCounter, SimulatedPmu, Value
from turbotui.simulated.registers import smi_count
from turbotui.simulated.shapes import Isa

_EVENT_64 = {"event": "config:0-63"}
_EVENT_8 = {"event": "config:0-7"}
_JOULE_SCALE = "2.3283064365386962890625e-10"
"""2^-32: the power PMU counts in these parts of a joule (linux arch/x86/events/rapl.c)."""
_MEBIBYTE_SCALE = "6.103515625e-5"
"""64 / 2^20: memory controllers count cache lines (linux arch/x86/events/intel/uncore_snbep.c)."""

Make = Callable[[SimulatedCpu], Value]
"""Makes the count of an event on a CPU."""
_PACKAGE_STATES = {2: b.PKG_C2, 3: b.PKG_C3, 6: b.PKG_C6, 7: b.PKG_C7, 8: b.PKG_C8, 9: b.PKG_C9, 10: b.PKG_C10}
"""Integrals of the states of packages, in the order of their events."""


def _counted(basis_of: Callable[[SimulatedCpu], Basis], form_of: Callable[[SimulatedCpu], b.Form],
             factor: float = 1.0) -> Make:
    """Count a form over the integrals of an instance around each CPU, times a factor."""

    def make(place: SimulatedCpu) -> Value:
        basis, form = basis_of(place), form_of(place)
        return lambda now: basis.value(form, now) * factor

    return make


def _of(index: int) -> Callable[[SimulatedCpu], b.Form]:
    return lambda _place: ((index, 1.0),)


def module_cpus(model: Model) -> tuple[tuple[int, ...], ...]:
    """Return the CPUs by module."""
    layout = model.layout
    return tuple(tuple(cpu for core in cores for cpu in layout.core_cpus[core]) for cores in layout.module_cores)


def _table(model: Model, name: str, rows: Mapping[str, tuple[int, Make, EventFile]]) -> SimulatedPmu:
    """Make a PMU whose configs are a short table."""
    by_config = {config: make for config, make, _ in rows.values()}
    snapshots = {config for config, _, file in rows.values() if file.snapshot}
    software = name == "msr"

    def resolve(attr: PerfAttr, cpu: int) -> SimulatedCounter | int:
        if (make := by_config.get(attr.config)) is None:
            return errno.EINVAL
        return SimulatedCounter(make(model.layout.places[cpu]), absolute=attr.config in snapshots)

    layout = model.layout
    groups = module_cpus(model) if name == "cstate_module" else {"cstate_core": layout.core_cpus,
        "power_core": layout.core_cpus, "cstate_pkg": layout.package_cpus, "power": layout.package_cpus}.get(name)
    return SimulatedPmu(
        name, Context.SOFTWARE if software else Context.UNCORE, resolve,
        _EVENT_64 if software or name.startswith("cstate") else _EVENT_8,
        {event: file for event, (_, _, file) in rows.items()},
        None if groups is None else partial(model.first_online, groups))


def msr_pmu(model: Model) -> SimulatedPmu:
    """msr: TSC, APERF, MPERF and, by vendor, PPERF, SMI, IRPERF (linux arch/x86/events/msr.c)."""
    shape = model.shape

    def of_cpu(form_of: Callable[[SimulatedCpu], b.Form], factor: float = 1.0) -> Make:
        return _counted(lambda place: model.cpu[place.cpu], form_of, factor)

    def of_type(word: str) -> Make:
        return of_cpu(lambda place: counts(shape.core_types[place.type])[word])

    def margin(place: SimulatedCpu) -> Value:
        return lambda now: float(int(shape.power.tj_max - model.core_celsius(place.core, now)))

    rows: dict[str, tuple[int, Make, EventFile]] = {"tsc": (0, lambda _place: lambda now: float(model.tsc(now)),
                                                            EventFile("event=0x00"))}
    if not shape.hypervisor:
        rows["aperf"] = (1, of_cpu(lambda _place: APERF), EventFile("event=0x01"))
        rows["mperf"] = (2, of_cpu(lambda _place: MPERF_SECONDS, shape.reference_hz), EventFile("event=0x02"))
        if shape.isa is Isa.INTEL:
            rows["pperf"] = (3, of_type("productive-cycles"), EventFile("event=0x03"))
            rows["smi"] = (4, lambda _place: lambda now: float(smi_count(model, now)), EventFile("event=0x04"))
            rows["cpu_thermal_margin"] = (7, margin, EventFile("event=0x07", "1", "C", snapshot=True))
        else:
            rows["irperf"] = (6, of_type("instructions"), EventFile("event=0x06"))
    return _table(model, "msr", rows)


def cstate_pmus(model: Model) -> list[SimulatedPmu]:
    """cstate_core and cstate_pkg (linux arch/x86/events/intel/cstate.c): the residency registers, at their rate."""
    shape = model.shape
    hertz = shape.reference_hz

    def of_core(index: int) -> Make:
        return _counted(lambda place: model.core[place.core], _of(index), hertz)

    def c6(place: SimulatedCpu) -> b.Form:
        small = shape.core_types[place.type].name in ("E", "LP")  # whose register includes C7
        return ((b.CORE_C6, 1.0), (b.CORE_C7, 1.0)) if small else ((b.CORE_C6, 1.0),)

    core_rows = {1: (0, _counted(lambda place: model.cpu[place.cpu], _of(b.CPU_C1), hertz)), 3: (1, of_core(b.CORE_C3)),
                 6: (2, _counted(lambda place: model.core[place.core], c6, hertz)), 7: (3, of_core(b.CORE_C7))}
    package_rows = {state: (event, _counted(lambda place: model.package[place.package], _of(index), hertz))
                    for event, (state, index) in enumerate(_PACKAGE_STATES.items())}
    result: list[SimulatedPmu] = []
    for name, table, states in (("cstate_core", core_rows, shape.cstate_core),
                                ("cstate_pkg", package_rows, shape.cstate_package)):
        if states:
            rows = {f"c{n}-residency": (*table[n], EventFile(f"event={table[n][0]:#04x}")) for n in states}
            result.append(_table(model, name, rows))
    if shape.module_register:
        module = _counted(lambda place: model.module[place.module], _of(0), hertz)
        result.append(_table(model, "cstate_module", {"c6-residency": (0, module, EventFile("event=0x00"))}))
    return result


def power_pmus(model: Model) -> list[SimulatedPmu]:
    """Power (and power_core on AMD): energy since the counter was opened, in 2^-32 J."""
    shape = model.shape

    def energy(basis_of: Callable[[SimulatedCpu], Basis], index: int, event: int) -> tuple[int, Make, EventFile]:
        return event, _counted(basis_of, _of(index), 2.0**32), EventFile(f"event={event:#04x}", _JOULE_SCALE, "Joules")

    def package(place: SimulatedCpu) -> Basis:
        return model.package[place.package]

    indexes = {"cores": b.PKG_CORES_JOULES, "pkg": b.PKG_JOULES, "ram": b.PKG_RAM_JOULES, "gpu": b.PKG_GPU_JOULES}
    domains = {domain: energy(package, index, event) for event, (domain, index) in enumerate(indexes.items(), 1)}
    domains["psys"] = energy(lambda _place: model.system, b.SYS_PSYS_JOULES, 5)
    result: list[SimulatedPmu] = []
    if rows := {f"energy-{domain}": row for domain, row in domains.items() if domain in shape.domains}:
        result.append(_table(model, "power", rows))
    if "core" in shape.domains:
        of_core = energy(lambda place: model.core[place.core], b.CORE_JOULES, 1)
        result.append(_table(model, "power_core", {"energy-core": of_core}))
    return result


def memory_pmus(model: Model) -> list[SimulatedPmu]:
    """uncore_imc_free_running_0 of clients: lines read and written."""
    if model.shape.isa is not Isa.INTEL or not model.shape.client:
        return []
    reads, writes = (b.PKG_READ_BYTES, 1.0 / 64.0), (b.PKG_WRITTEN_BYTES, 1.0 / 64.0)
    codes: dict[int, b.Form] = {0x20FF: (reads,), 0x30FF: (writes,), 0x10FF: (reads, writes)}
    files = {f"data_{way}": EventFile(f"event=0xff,umask={mask:#x}", _MEBIBYTE_SCALE, "MiB")
             for way, mask in (("read", 0x20), ("write", 0x30), ("total", 0x10))}

    def resolve(attr: PerfAttr, cpu: int) -> SimulatedCounter | int:
        if (form := codes.get(attr.config)) is None:
            return errno.EINVAL
        basis = model.package[model.layout.places[cpu].package]
        return SimulatedCounter(lambda now: basis.value(form, now), slots=1)

    return [SimulatedPmu("uncore_imc_free_running_0", Context.UNCORE, resolve,
                         {"event": "config:0-7", "umask": "config:8-15"}, files,
                         partial(model.first_online, model.layout.package_cpus))]
