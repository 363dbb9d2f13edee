"""Files below /sys/devices/system/cpu that tell of power: throttling, CPPC, the uncore clock, low-power idle."""

from __future__ import annotations

from turbotui.simulated import basis as b
from turbotui.simulated.events_common import APERF, c0_seconds
from turbotui.simulated.layout import SimulatedCpu
from turbotui.simulated.model import Model
from turbotui.simulated.tree import File, Node, fixed, folder, whole

_PERF_MHZ = 10
"""One step of CPPC's abstract performance scale on the simulated machines."""


def throttle_files(model: Model, place: SimulatedCpu) -> dict[str, Node]:
    """The thermal_throttle folder of one CPU; times in milliseconds.

    Kernel Documentation/ABI/testing/sysfs-devices-system-cpu.
    """
    core, package, cpu = model.core[place.core], model.package[place.package], place.cpu

    def count(one: b.Basis, index: int, factor: float) -> File:
        return whole(lambda now: int(one.at(index, now) * factor), cpu=cpu)

    return {
        "core_throttle_count": count(core, b.CORE_THROTTLES, 1.0),
        "core_throttle_total_time_ms": count(core, b.CORE_THROTTLED, 1e3),
        "core_throttle_max_time_ms": count(core, b.CORE_THROTTLED, 250.0),
        "core_power_limit_count": fixed(0),
        "package_throttle_count": count(package, b.PKG_THROTTLES, 1.0),
        "package_throttle_total_time_ms": count(package, b.PKG_THROTTLED, 1e3),
        "package_throttle_max_time_ms": count(package, b.PKG_THROTTLED, 250.0),
        "package_power_limit_count": fixed(0),
    }


def cppc_files(model: Model, place: SimulatedCpu) -> dict[str, Node]:
    """The acpi_cppc folder of one CPU (kernel Documentation/admin-guide/acpi/cppc_sysfs.rst).

    The reference counter runs at `reference_perf` while the CPU is in C0, the delivered one at the actual frequency.
    """
    shape, one = model.shape, model.cpu[place.cpu]
    kind = shape.core_types[place.type]
    running = c0_seconds(kind)

    def feedback(now: float) -> str:
        reference = int(one.value(running, now) * shape.reference_hz)
        return f"ref:{reference} del:{int(one.value(APERF, now))}\n"

    return {
        "feedback_ctrs": File(feedback, cpu=place.cpu),
        "reference_perf": fixed(shape.reference_hz // 1_000_000 // _PERF_MHZ),
        "highest_perf": fixed(kind.max_mhz // _PERF_MHZ),
        "nominal_perf": fixed(kind.base_mhz // _PERF_MHZ),
        "lowest_nonlinear_perf": fixed(kind.min_mhz // _PERF_MHZ),
        "lowest_perf": fixed(kind.min_mhz // _PERF_MHZ),
        "nominal_freq": fixed(kind.base_mhz),
        "lowest_freq": fixed(kind.min_mhz),
        "wraparound_time": fixed(18446744073709551615),
    }


def uncore_files(model: Model) -> dict[str, Node]:
    """The intel_uncore_frequency folder (kernel Documentation/admin-guide/pm/intel_uncore_frequency_scaling.rst)."""
    shape = model.shape

    def limits(package: int) -> dict[str, Node]:
        one = model.package[package]
        return {
            "current_freq_khz": whole(lambda _now: int(one.rate[b.PKG_UNCORE_CYCLES] / 1000)),
            "min_freq_khz": fixed(800000),
            "max_freq_khz": fixed(2200000),
            "initial_min_freq_khz": fixed(800000),
            "initial_max_freq_khz": fixed(2200000),
        }

    if not shape.fabric_clusters:
        return {f"package_{n:02d}_die_00": folder(limits(n)) for n in range(shape.packages)}
    children: dict[str, Node] = {}
    for package in range(shape.packages):
        for cluster in range(shape.fabric_clusters):
            facts = {"package_id": fixed(package), "domain_id": fixed(cluster), "fabric_cluster_id": fixed(0)}
            children[f"uncore{len(children):02d}"] = folder({**limits(package), **facts})
    return children


def low_power_idle(model: Model) -> dict[str, Node]:
    """Residency of the platform's low-power idle in microseconds (ACPI LPIT, kernel Documentation/ABI cpuidle)."""
    one = model.package[0]
    return {
        "low_power_idle_cpu_residency_us": whole(lambda now: int(one.at(b.PKG_C10, now) * 1e6)),
        "low_power_idle_system_residency_us": whole(lambda now: int(one.at(b.PKG_C10, now) * 0.8e6)),
    }
