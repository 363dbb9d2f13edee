"""/sys/devices/system/cpu of simulated machines: CPUs, topology, idle states and frequencies."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from turbotui.machine.cpulist import format_cpulist
from turbotui.simulated import basis as b
from turbotui.simulated.events_common import APERF, c0_seconds
from turbotui.simulated.kernel_counts import idle_usage
from turbotui.simulated.layout import SimulatedCpu, cpu_mask
from turbotui.simulated.model import Model
from turbotui.simulated.shapes import CoreType, IdleState, Isa
from turbotui.simulated.tree import File, Folder, FolderCache, Node, fixed, fixed_files, fixed_texts, folder, whole

_PERF_MHZ = 10
"""One step of CPPC's abstract performance scale on the simulated machines."""


def throttle_files(model: Model, place: SimulatedCpu) -> dict[str, Node]:
    """The thermal_throttle folder of one CPU; times in milliseconds.

    Kernel Documentation/ABI/testing/sysfs-devices-system-cpu.
    """
    core, package, cpu = model.core[place.core], model.package[place.package], place.cpu

    def count(basis: b.Basis, index: int, factor: float) -> File:
        return whole(lambda now: int(basis.at(index, now) * factor), cpu=cpu)

    return {
        "core_throttle_count": count(core, b.CORE_THROTTLES, 1.0),
        "core_throttle_total_time_ms": count(core, b.CORE_THROTTLED, 1e3),
        "core_throttle_max_time_ms": count(core, b.CORE_THROTTLED, 250.0),
        "package_throttle_count": count(package, b.PKG_THROTTLES, 1.0),
        "package_throttle_total_time_ms": count(package, b.PKG_THROTTLED, 1e3),
        "package_throttle_max_time_ms": count(package, b.PKG_THROTTLED, 250.0),
        **fixed_files("throttling"),
    }


def cppc_files(model: Model, place: SimulatedCpu) -> dict[str, Node]:
    """The acpi_cppc folder of one CPU (kernel Documentation/admin-guide/acpi/cppc_sysfs.rst).

    The reference counter runs at `reference_perf` while the CPU is in C0, the delivered one at the actual frequency.
    """
    shape, basis = model.shape, model.cpu[place.cpu]
    kind = shape.core_types[place.type]
    running = c0_seconds(kind)

    def feedback(now: float) -> str:
        return f"ref:{int(basis.value(running, now) * shape.reference_hz)} del:{int(basis.value(APERF, now))}\n"

    return {
        "feedback_ctrs": File(feedback, cpu=place.cpu),
        **fixed_texts(
            reference_perf=shape.reference_hz // 1_000_000 // _PERF_MHZ, highest_perf=kind.max_mhz // _PERF_MHZ,
            nominal_perf=kind.base_mhz // _PERF_MHZ, lowest_nonlinear_perf=kind.min_mhz // _PERF_MHZ,
            lowest_perf=kind.min_mhz // _PERF_MHZ, nominal_freq=kind.base_mhz, lowest_freq=kind.min_mhz,
            wraparound_time=18446744073709551615),
    }


def uncore_files(model: Model) -> dict[str, Node]:
    """The intel_uncore_frequency folder (kernel Documentation/admin-guide/pm/intel_uncore_frequency_scaling.rst)."""
    shape = model.shape

    def limits(package: int) -> dict[str, Node]:
        basis = model.package[package]
        return {"current_freq_khz": whole(lambda _now: int(basis.rate[b.PKG_UNCORE_CYCLES] / 1000)),
                **fixed_files("uncore-clocks")}

    if not shape.fabric_clusters:
        return {f"package_{n:02d}_die_00": folder(limits(n)) for n in range(shape.packages)}
    children: dict[str, Node] = {}
    for package in range(shape.packages):
        for cluster in range(shape.fabric_clusters):
            facts = fixed_texts(package_id=package, domain_id=cluster, fabric_cluster_id=0)
            children[f"uncore{len(children):02d}"] = folder({**limits(package), **facts})
    return children


def low_power_idle(model: Model) -> dict[str, Node]:
    """Residency of the platform's low-power idle in microseconds (ACPI LPIT, kernel Documentation/ABI cpuidle)."""
    basis = model.package[0]
    return {"low_power_idle_cpu_residency_us": whole(lambda now: int(basis.at(b.PKG_C10, now) * 1e6)),
            "low_power_idle_system_residency_us": whole(lambda now: int(basis.at(b.PKG_C10, now) * 0.8e6))}


_REMEMBERED = 8  # directories of CPUs and of policies that are kept, because programs read CPU by CPU


class CpuFiles:
    """The folders below /sys/devices/system/cpu."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._shape = model.shape
        self._plugs = 0
        self._texts: dict[tuple[bool, tuple[int, ...]], str] = {}
        self.root = Folder(self._system)

    def _system(self) -> dict[str, Node]:
        model, shape = self._model, self._shape
        total = len(model.layout.places)
        everyone = fixed(format_cpulist(range(total)))
        visits = FolderCache(_REMEMBERED)
        children: dict[str, Node] = {f"cpu{cpu}": visits.folder(partial(self._cpu, cpu)) for cpu in range(total)}
        children["present"] = children["possible"] = everyone
        children["online"] = File(lambda _now: f"{format_cpulist(self._up(range(total)))}\n")
        children["offline"] = File(
            lambda _now: f"{format_cpulist(cpu for cpu in range(total) if not model.online[cpu])}\n"
        )
        children |= fixed_files("cpus")
        children["smt"] = folder(fixed_texts(
            active=int(any(kind.threads > 1 for kind in shape.core_types)), control="on"))
        children["cpuidle"] = folder((low_power_idle(model) if shape.client else {}) | fixed_texts(
            current_driver=shape.idle_driver, current_governor=shape.idle_governor,
            current_governor_ro=shape.idle_governor, available_governors="ladder menu teo haltpoll"))
        if shape.driver:
            firsts = [cpus[0] for cpus in model.layout.core_cpus] if shape.isa is Isa.ARM else range(total)
            policies: dict[str, Node] = {f"policy{cpu}": visits.folder(partial(self._cpufreq, cpu)) for cpu in firsts}
            if shape.isa is not Isa.INTEL:
                policies["boost"] = fixed(1)
            children["cpufreq"] = folder(policies)
        if shape.driver == "intel_pstate":
            children["intel_pstate"] = folder(fixed_files("intel-pstate"))
        if shape.driver == "amd-pstate-epp":
            children["amd_pstate"] = folder(fixed_texts(status="active", prefcore="enabled"))
        if shape.isa is Isa.INTEL:
            children["intel_uncore_frequency"] = Folder(lambda: uncore_files(model))
        return children

    def _up(self, cpus: Iterable[int]) -> list[int]:
        return [cpu for cpu in cpus if self._model.online[cpu]]

    def _cpu(self, cpu: int) -> dict[str, Node]:
        model, shape = self._model, self._shape
        place = model.layout.places[cpu]
        online = model.online
        children: dict[str, Node] = {"uevent": fixed(f"DRIVER=processor\nOF_NAME=cpu{cpu}"),
            "power": folder(fixed_texts(control="auto", runtime_status="unsupported"))}
        if cpu:  # CPU 0 cannot be unplugged (kernel Documentation/core-api/cpu_hotplug.rst)
            children["online"] = File(lambda _now: f"{int(online[cpu])}\n")
        if not online[cpu]:
            return children
        kind = shape.core_types[place.type]
        children["topology"] = Folder(lambda: self._topology(place))
        children["cache"] = Folder(lambda: self._caches(place, kind))
        if kind.idle:
            children["cpuidle"] = Folder(lambda: {
                f"state{n}": Folder(partial(self._idle, cpu, kind, n, state)) for n, state in enumerate(kind.idle)})
        children[f"node{place.node}"] = folder({"cpulist": self._list(self._model.layout.node_cpus[place.node])})
        if shape.driver:
            children["cpufreq"] = Folder(lambda: self._cpufreq(cpu))
        if shape.isa is Isa.ARM:
            children["cpu_capacity"] = fixed(kind.capacity)
            midr = f"0x{shape.family << 24 | 0xF0000 | shape.model << 4:016x}"
            children["regs"] = folder({"identification": folder({"midr_el1": fixed(midr)})})
        if shape.driver in ("cppc_cpufreq", "amd-pstate-epp"):
            children["acpi_cppc"] = Folder(lambda: cppc_files(model, place))
        if shape.isa is Isa.INTEL:
            children["thermal_throttle"] = Folder(lambda: throttle_files(model, place))
            children["power"] = folder(fixed_texts(control="auto", energy_perf_bias=6))
        if shape.hybrid:
            children["cpu_capacity"] = fixed(kind.capacity)
        if shape.driver == "intel_pstate" and cpu == 0:
            children["microcode"] = folder({"version": fixed(f"0x{shape.microcode:x}")})
        return children

    def _text(self, cpus: tuple[int, ...], mask: bool) -> str:
        """Format the online ones of some CPUs as list or mask; cached until a CPU comes or goes."""
        if self._plugs != self._model.plugs:
            self._plugs = self._model.plugs
            self._texts.clear()
        text = self._texts.get((mask, cpus))
        if text is None:
            up = self._up(cpus)
            text = f"{cpu_mask(up, len(self._model.online)) if mask else format_cpulist(up)}\n"
            self._texts[mask, cpus] = text
        return text

    def _list(self, cpus: Iterable[int]) -> File:
        known = tuple(cpus)
        return File(lambda _now: self._text(known, mask=False))

    def _mask(self, cpus: Iterable[int]) -> File:
        known = tuple(cpus)
        return File(lambda _now: self._text(known, mask=True))

    def _both(self, name: str, cpus: Iterable[int]) -> dict[str, Node]:
        """The files of a set of CPUs: as a mask, and as a list."""
        return {name: self._mask(cpus), f"{name}_list": self._list(cpus)}

    def _topology(self, place: SimulatedCpu) -> dict[str, Node]:
        """Kernel Documentation/ABI/stable/sysfs-devices-system-cpu."""
        layout, shape = self._model.layout, self._shape
        siblings = layout.core_cpus[place.core]
        package = layout.package_cpus[place.package]
        module = [cpu for core in layout.module_cores[place.module] for cpu in layout.core_cpus[core]]
        children: dict[str, Node] = {
            **fixed_texts(physical_package_id=place.package, core_id=place.core_id, cluster_id=self._cluster_id(place)),
            **self._both("core_cpus", siblings),
            **self._both("thread_siblings", siblings),
            **self._both("core_siblings", package),
            **self._both("package_cpus", package),
            **self._both("cluster_cpus", module if place.shared_module else siblings),
        }
        if shape.isa is not Isa.ARM:  # only architectures that define them show dies (drivers/base/topology.c)
            # AMD numbers dies through the machine, Intel within the package.
            children["die_id"] = fixed(place.package if shape.isa is Isa.AMD else 0)
            children.update(self._both("die_cpus", package))
        return children

    def _cluster_id(self, place: SimulatedCpu) -> int:
        if self._shape.isa is Isa.AMD:
            return 65535  # no cluster: BAD_APICID as 16 bits
        if self._shape.isa is Isa.ARM:
            return place.core - self._model.layout.package_cores[place.package][0]
        first = self._model.layout.core_cpus[self._model.layout.module_cores[place.module][0]][0]
        return self._model.layout.places[first].apic

    def _caches(self, place: SimulatedCpu, kind: CoreType) -> dict[str, Node]:
        layout, shape = self._model.layout, self._shape
        siblings = layout.core_cpus[place.core]
        module = [cpu for core in layout.module_cores[place.module] for cpu in layout.core_cpus[core]]
        rows: list[tuple[int, str, int, Iterable[int], int]] = [
            (1, "Data", kind.l1d, siblings, place.core),
            (1, "Instruction", kind.l1i, siblings, place.core),
            (2, "Unified", kind.l2, module if place.shared_module else siblings, place.module),
        ]
        if place.l3 >= 0 and shape.l3_kib:
            rows.append((3, "Unified", shape.l3_kib, layout.l3_cpus[place.l3], place.l3))
        return {
            f"index{index}": folder({
                **fixed_texts(level=level, type=what, size=f"{size}K", id=identity, coherency_line_size=64,
                              ways_of_associativity=16 if level == 3 else 8),
                "shared_cpu_map": self._mask(cpus), "shared_cpu_list": self._list(cpus)})
            for index, (level, what, size, cpus, identity) in enumerate(rows)
        }

    def _idle(self, cpu: int, kind: CoreType, number: int, state: IdleState) -> dict[str, Node]:
        """Kernel Documentation/ABI/testing/sysfs-devices-system-cpu, cpuidle; time in microseconds."""
        basis = self._model.cpu[cpu]
        usage = idle_usage(kind, number)
        depth = number + b.CPU_IDLE

        def entered(share: float) -> Callable[[float], int]:
            return lambda now: int(basis.value(usage, now) * share)

        return {
            **fixed_texts(name=state.name, desc=state.description, latency=state.latency_us,
                          residency=state.residency_us),
            **fixed_files("idle-state"),
            "usage": whole(entered(1.0), cpu=cpu),
            "time": whole(lambda now: int(basis.at(depth, now) * 1e6), cpu=cpu),
            "above": whole(entered(state.above), cpu=cpu),
            "below": whole(entered(state.below), cpu=cpu),
            "rejected": whole(entered(0.002 if state.depth > 1 else 0.0), cpu=cpu),
        }

    def _cpufreq(self, cpu: int) -> dict[str, Node]:
        model, shape = self._model, self._shape
        place = model.layout.places[cpu]
        if not model.online[cpu]:
            return {}
        kind = shape.core_types[place.type]
        related = model.layout.core_cpus[place.core] if shape.isa is Isa.ARM else (cpu,)
        core, listed = place.core, " ".join(map(str, related))
        children = fixed_texts(
            scaling_driver=shape.driver, scaling_governor=shape.governor, scaling_available_governors=shape.governors,
            scaling_min_freq=kind.min_mhz * 1000, scaling_setspeed="<unsupported>",
            scaling_max_freq=round(kind.max_mhz * (shape.cap if shape.cap_told else 1.0)) * 1000,
            cpuinfo_min_freq=kind.min_mhz * 1000, cpuinfo_max_freq=kind.max_mhz * 1000, cpuinfo_transition_latency=0,
            affected_cpus=listed, related_cpus=listed)
        children["scaling_cur_freq"] = whole(lambda _now: int(model.mhz[core] * 1000), cpu=cpu)
        if shape.driver == "intel_pstate":
            children["base_frequency"] = fixed(kind.base_mhz * 1000)
        if shape.isa is Isa.ARM or shape.driver == "amd-pstate-epp":
            children["cpuinfo_cur_freq"] = whole(lambda _now: int(model.mhz[core] * 1000), mode=0o400, cpu=cpu)
        if shape.driver == "amd-pstate-epp":
            children |= fixed_texts(
                amd_pstate_max_freq=kind.max_mhz * 1000, amd_pstate_lowest_nonlinear_freq=kind.min_mhz * 1000)
        if shape.epp:
            children |= fixed_texts(
                energy_performance_preference=shape.epp, energy_performance_available_preferences=
                "default performance balance_performance balance_power power")
        return children
