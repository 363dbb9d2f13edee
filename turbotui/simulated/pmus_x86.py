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
        name=name,
        context=Context.SOFTWARE if software else Context.UNCORE,
        resolve=resolve,
        formats=_EVENT_64 if software or name.startswith("cstate") else _EVENT_8,
        events={event: file for event, (_, _, file) in rows.items()},
        readers=None if groups is None else partial(model.first_online, groups),
    )


def msr_pmu(model: Model) -> SimulatedPmu:
    """msr: TSC, APERF, MPERF and, by vendor, PPERF, SMI, IRPERF (linux arch/x86/events/msr.c)."""
    shape = model.shape

    def form(which: b.Form, factor: float = 1.0) -> Make:
        def make(place: SimulatedCpu) -> Value:
            basis = model.cpu[place.cpu]
            return lambda now: basis.value(which, now) * factor

        return make

    def productive(place: SimulatedCpu) -> Value:
        basis = model.cpu[place.cpu]
        which = counts(shape.core_types[place.type])["productive-cycles"]
        return lambda now: basis.value(which, now)

    def retired(place: SimulatedCpu) -> Value:
        basis = model.cpu[place.cpu]
        which = counts(shape.core_types[place.type])["instructions"]
        return lambda now: basis.value(which, now)

    def margin(place: SimulatedCpu) -> Value:
        return lambda now: float(int(shape.power.tj_max - model.core_celsius(place.core, now)))

    rows: dict[str, tuple[int, Make, EventFile]] = {"tsc": (0, lambda _place: lambda now: float(model.tsc(now)),
                                                            EventFile("event=0x00"))}
    if not shape.hypervisor:
        rows["aperf"] = (1, form(APERF), EventFile("event=0x01"))
        rows["mperf"] = (2, form(MPERF_SECONDS, shape.reference_hz), EventFile("event=0x02"))
        if shape.isa is Isa.INTEL:
            rows["pperf"] = (3, productive, EventFile("event=0x03"))
            rows["smi"] = (4, lambda _place: lambda now: float(smi_count(model, now)), EventFile("event=0x04"))
            rows["cpu_thermal_margin"] = (7, margin, EventFile("event=0x07", "1", "C", snapshot=True))
        else:
            rows["irperf"] = (6, retired, EventFile("event=0x06"))
    return _table(model, "msr", rows)


def cstate_pmus(model: Model) -> list[SimulatedPmu]:
    """cstate_core and cstate_pkg (linux arch/x86/events/intel/cstate.c): the residency registers, at their rate."""
    shape = model.shape
    hertz = shape.reference_hz

    def core(index: int) -> Make:
        def make(place: SimulatedCpu) -> Value:
            basis = model.core[place.core]
            small = shape.core_types[place.type].name in ("E", "LP")
            if index == b.CORE_C6 and small:  # the E-cores' register includes C7
                return lambda now: (basis.at(b.CORE_C6, now) + basis.at(b.CORE_C7, now)) * hertz
            return lambda now: basis.at(index, now) * hertz

        return make

    def package(index: int) -> Make:
        def make(place: SimulatedCpu) -> Value:
            basis = model.package[place.package]
            return lambda now: basis.at(index, now) * hertz

        return make

    def c1(place: SimulatedCpu) -> Value:
        return lambda now: model.cpu[place.cpu].at(b.CPU_C1, now) * hertz

    core_rows: dict[int, tuple[int, Make]] = {1: (0, c1), 3: (1, core(b.CORE_C3)), 6: (2, core(b.CORE_C6))}
    core_rows[7] = (3, core(b.CORE_C7))
    package_rows = {
        2: (0, package(b.PKG_C2)),
        3: (1, package(b.PKG_C3)),
        6: (2, package(b.PKG_C6)),
        7: (3, package(b.PKG_C7)),
        8: (4, package(b.PKG_C8)),
        9: (5, package(b.PKG_C9)),
        10: (6, package(b.PKG_C10)),
    }
    result: list[SimulatedPmu] = []
    for name, table, states in (("cstate_core", core_rows, shape.cstate_core),
                                ("cstate_pkg", package_rows, shape.cstate_package)):
        if states:
            rows = {f"c{n}-residency": (*table[n], EventFile(f"event={table[n][0]:#04x}")) for n in states}
            result.append(_table(model, name, rows))
    if shape.module_register:

        def module(place: SimulatedCpu) -> Value:
            basis = model.module[place.module]
            return lambda now: basis.at(0, now) * hertz

        one_row = {"c6-residency": (0, module, EventFile("event=0x00"))}
        result.append(_table(model, "cstate_module", one_row))
    return result


def power_pmus(model: Model) -> list[SimulatedPmu]:
    """Power (and power_core on AMD): energy since the counter was opened, in 2^-32 J."""
    shape = model.shape

    def energy(pick: Callable[[SimulatedCpu], Basis], index: int) -> Make:
        def make(place: SimulatedCpu) -> Value:
            basis = pick(place)
            return lambda now: basis.at(index, now) * 2.0**32

        return make

    def package(place: SimulatedCpu) -> Basis:
        return model.package[place.package]

    facts = {
        "cores": (1, energy(package, b.PKG_CORES_JOULES)),
        "pkg": (2, energy(package, b.PKG_JOULES)),
        "ram": (3, energy(package, b.PKG_RAM_JOULES)),
        "gpu": (4, energy(package, b.PKG_GPU_JOULES)),
        "psys": (5, energy(lambda _place: model.system, b.SYS_PSYS_JOULES)),
    }
    result: list[SimulatedPmu] = []
    rows = {
        f"energy-{domain}": (config, make, EventFile(f"event={config:#04x}", _JOULE_SCALE, "Joules"))
        for domain, (config, make) in facts.items()
        if domain in shape.domains
    }
    if rows:
        result.append(_table(model, "power", rows))
    if "core" in shape.domains:
        core_energy = (1, energy(lambda place: model.core[place.core], b.CORE_JOULES))
        per_core = {"energy-core": (*core_energy, EventFile("event=0x01", _JOULE_SCALE, "Joules"))}
        result.append(_table(model, "power_core", per_core))
    return result


def memory_pmus(model: Model) -> list[SimulatedPmu]:
    """uncore_imc_free_running_0 of clients: lines read and written."""
    if model.shape.isa is not Isa.INTEL or not model.shape.client:
        return []
    reads, writes = (b.PKG_READ_BYTES, 1.0 / 64.0), (b.PKG_WRITTEN_BYTES, 1.0 / 64.0)
    codes: dict[int, b.Form] = {0x20FF: (reads,), 0x30FF: (writes,), 0x10FF: (reads, writes)}
    files = {
        "data_read": EventFile("event=0xff,umask=0x20", _MEBIBYTE_SCALE, "MiB"),
        "data_write": EventFile("event=0xff,umask=0x30", _MEBIBYTE_SCALE, "MiB"),
        "data_total": EventFile("event=0xff,umask=0x10", _MEBIBYTE_SCALE, "MiB"),
    }

    def resolve(attr: PerfAttr, cpu: int) -> SimulatedCounter | int:
        if (form := codes.get(attr.config)) is None:
            return errno.EINVAL
        basis = model.package[model.layout.places[cpu].package]
        return SimulatedCounter(lambda now: basis.value(form, now), slots=1)

    return [SimulatedPmu("uncore_imc_free_running_0", Context.UNCORE, resolve,
                         {"event": "config:0-7", "umask": "config:8-15"}, files,
                         partial(model.first_online, model.layout.package_cpus))]
