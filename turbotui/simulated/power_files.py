"""powercap, hwmon, NUMA nodes, graphics: the small subtrees of /sys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from turbotui.machine.cpulist import format_cpulist
from turbotui.simulated import basis as b
from turbotui.simulated.meter_files import meter_chips, socket_meters
from turbotui.simulated.model import Model
from turbotui.simulated.registers import energy_unit
from turbotui.simulated.shapes import Isa
from turbotui.simulated.tree import File, Folder, Node, fixed, fixed_texts, folder, whole


def powercap(model: Model) -> Mapping[str, Node]:
    """/sys/class/powercap (kernel Documentation/power/powercap/powercap.rst); AMD's zones are named intel-rapl too."""
    shape, power = model.shape, model.shape.power
    if "pkg" not in shape.domains:
        return {}
    zones: dict[str, Node] = {}
    controller = fixed_texts(enabled=1, uevent="")

    def constraint(number: int, name: str, watts: float, window_us: int) -> dict[str, Node]:
        facts = {"name": name, "power_limit_uw": round(watts * 1e6), "time_window_us": window_us,
                 "max_power_uw": round(watts * 1e6)}
        return {f"constraint_{number}_{word}": fixed(fact) for word, fact in facts.items()}

    def zone(name: str, unit: float, joules: Callable[[float], float], more: Mapping[str, Node]) -> Folder:
        # the driver multiplies counts of the dram register by 15.3 uJ where they are of 2^-16 J (intel_rapl_common.c)
        rounded = 15.3e-6 if name == "dram" and shape.ram_unit == 2.0**-16 else unit
        top = int(rounded * (2**32 - 1) * 1e6) if rounded != unit else int(unit * 2**32 * 1e6)
        return folder({
            **fixed_texts(name=name, enabled=1, max_energy_range_uj=top),
            # 0400 since the power side channel of 2020 (CVE-2020-8694)
            "energy_uj": whole(lambda now: int(joules(now) / unit * rounded * 1e6) % top, mode=0o400),
            **more,
        })

    def reader(package: int, index: int) -> Callable[[float], float]:
        basis = model.package[package]
        return lambda now: basis.at(index, now)

    def first_core(core: int) -> Callable[[float], float]:
        basis = model.core[core]
        return lambda now: basis.at(b.CORE_JOULES, now)

    limits: dict[str, Node] = {}
    if shape.isa is Isa.INTEL:
        limits = {**constraint(0, "long_term", power.tdp, int(power.tau * 1e6)),
                  **constraint(1, "short_term", power.pl2, 2440)}
    for package in range(shape.packages):
        inner: dict[str, Node] = {}
        parts = (
            ("cores", "core", b.PKG_CORES_JOULES, energy_unit(shape)),
            ("gpu", "uncore", b.PKG_GPU_JOULES, energy_unit(shape)),
            ("ram", "dram", b.PKG_RAM_JOULES, energy_unit(shape, "ram")),
        )
        for domain, name, index, unit in parts:
            if domain in shape.domains:
                child = f"intel-rapl:{package}:{len(inner)}"
                inner[child] = zone(name, unit, reader(package, index), constraint(0, "long_term", 0.0, 976))
        if "core" in shape.domains:
            # AMD's zone "core" is the register of the package's first core alone (intel_rapl_msr.c, rapl_msr_priv_amd)
            lead = next(place.core for place in model.layout.places if place.package == package)
            inner[f"intel-rapl:{package}:0"] = zone("core", energy_unit(shape), first_core(lead), {})
        outer = zone(f"package-{package}", energy_unit(shape), reader(package, b.PKG_JOULES), {**limits, **inner})
        zones[f"intel-rapl:{package}"] = controller[f"intel-rapl:{package}"] = outer
        zones.update(inner)
    if "psys" in shape.domains:
        name = f"intel-rapl:{shape.packages}"
        zones[name] = controller[name] = zone("psys", energy_unit(shape, "psys"),
                                              lambda now: model.system.at(b.SYS_PSYS_JOULES, now), {})
    zones["intel-rapl"] = folder(controller)
    return zones


def hwmon(model: Model) -> Mapping[str, Node]:
    """/sys/class/hwmon (kernel Documentation/hwmon/{coretemp,k10temp,acpi_power_meter}.rst)."""
    shape = model.shape
    if shape.hypervisor:
        return {}
    chips: dict[str, Node] = {"hwmon0": folder(fixed_texts(name="nvme", temp1_input=38850))}
    for package in range(shape.packages):
        if shape.isa is Isa.INTEL:
            chips[f"hwmon{package + 1}"] = Folder(lambda package=package: _coretemp(model, package))  # type: ignore[misc]
        elif shape.isa is Isa.AMD:
            chips[f"hwmon{package + 1}"] = Folder(lambda package=package: _k10temp(model, package))  # type: ignore[misc]
        else:
            for meter in socket_meters(model, package):
                chips[f"hwmon{len(chips)}"] = meter
    for chip in meter_chips(model):
        chips[f"hwmon{len(chips)}"] = chip
    return chips


def _milli(celsius: Callable[[float], float]) -> File:
    return whole(lambda now: int(celsius(now)) * 1000)


def _coretemp(model: Model, package: int) -> dict[str, Node]:
    """Make a coretemp chip: temp1 is the package, index core_id + 2 a core, so hybrids are not in core order."""
    limit = model.shape.power.tj_max * 1000
    children: dict[str, Node] = {
        **fixed_texts(name="coretemp", temp1_label=f"Package id {package}", temp1_max=limit - 10000, temp1_crit=limit,
                      temp1_crit_alarm=0),
        "device": folder(fixed_texts(uevent="DRIVER=coretemp")),
        "temp1_input": _milli(lambda now: model.package_celsius(package, now)),
    }
    cores = model.layout.package_cores[package]
    for position, core in enumerate(cores):
        core_id = model.layout.places[model.layout.core_cpus[core][0]].core_id
        # Kernels since 6.7 hand indexes out in the order CPUs come up: not the order of the core numbers.
        index = 2 + (position * 5 + 3) % len(cores) if len(cores) % 5 else 2 + len(cores) - 1 - position
        children[f"temp{index}_label"] = fixed(f"Core {core_id}")
        children[f"temp{index}_input"] = _milli(lambda now, core=core: model.core_celsius(core, now))  # type: ignore[misc]
        children[f"temp{index}_max"] = fixed(limit - 10000)
        children[f"temp{index}_crit"] = fixed(limit)
    return children


def _k10temp(model: Model, package: int) -> dict[str, Node]:
    """Make a k10temp chip: Tctl is the hottest point, TccdN the hottest core of one core die."""
    children: dict[str, Node] = {
        "name": fixed("k10temp"),
        # Device 18h is the first package's northbridge, 19h the second's (AMD PPR, "Device 18h Function 3").
        "device": folder({
            "uevent": fixed(f"DRIVER=k10temp\nPCI_SLOT_NAME=0000:00:{0x18 + package:02x}.3"),
            "local_cpulist": fixed(format_cpulist(model.layout.package_cpus[package])),
        }),
        "temp1_label": fixed("Tctl"),
        "temp1_input": whole(lambda now: int(model.package_celsius(package, now) * 8) * 125),
    }
    places = model.layout.places
    slices = sorted({places[cpu].l3 for cpu in model.layout.package_cpus[package]})
    for number, l3 in enumerate(slices):
        cores = sorted({places[cpu].core for cpu in model.layout.l3_cpus[l3]})

        def hottest(now: float, cores: list[int] = cores) -> int:
            return int(max(model.core_celsius(core, now) for core in cores) * 8) * 125

        children[f"temp{number + 3}_label"] = fixed(f"Tccd{number + 1}")
        children[f"temp{number + 3}_input"] = whole(hottest)
    return children


PAGES: Final = 2e-7
"""Pages that tasks are given for each byte that their package reads from memory."""
AWAY: Final = {"numa_miss": 0.02, "other_node": 0.2}
"""Shares of the pages of a node, on machines with several, by the names of numastat."""
MIGRATED: Final = 0.05
"""Share of the pages that automatic NUMA balancing moves, on such machines."""


def pages(model: Model, node: int, now: float) -> float:
    """Return the pages that a node gave away."""
    layout = model.layout
    package = layout.places[layout.node_cpus[node][0]].package
    inside = sum(layout.places[cpus[0]].package == package for cpus in layout.node_cpus)
    return PAGES * model.package[package].at(b.PKG_READ_BYTES, now) / inside


def numastat(model: Model, node: int) -> Callable[[float], str]:
    """Numastat of a node: what it gave instead of its neighbour is what that neighbour lacked."""
    count = len(model.layout.node_cpus)

    def text(now: float) -> str:
        here, there = int(pages(model, node, now)), pages(model, (node + 1) % count, now)
        away = {name: int(share * here) if count > 1 else 0 for name, share in AWAY.items()}
        foreign = int(AWAY["numa_miss"] * int(there)) if count > 1 else 0
        values = {"numa_hit": here - away["numa_miss"], "numa_miss": away["numa_miss"], "numa_foreign": foreign,
                  "interleave_hit": 0, "local_node": here - away["other_node"], "other_node": away["other_node"]}
        return "".join(f"{name} {value}\n" for name, value in values.items())

    return text


def nodes(model: Model) -> Mapping[str, Node]:
    """/sys/devices/system/node (kernel Documentation/ABI/stable/sysfs-devices-node)."""
    layout, shape = model.layout, model.shape
    count = len(layout.node_cpus)
    everyone = format_cpulist(range(count))
    children: dict[str, Node] = {name: fixed(everyone) for name in ("online", "possible", "has_cpu", "has_memory")}
    kib = (shape.memory_gib << 20) // count
    for node, cpus in enumerate(layout.node_cpus):

        def local(_now: float, cpus: tuple[int, ...] = cpus) -> str:
            return f"{format_cpulist(cpu for cpu in cpus if model.online[cpu])}\n"

        # a memory that is a cache of another one's (kernel admin-guide/mm/numaperf.rst)
        cache = {"memory_side_cache": folder({"index1": folder(fixed_texts(line_size=64, size=64 << 30))})}
        children[f"node{node}"] = folder({
            **(cache if shape.tiers in ("2lm", "hbm") else {}),
            "cpulist": File(local),
            "distance": fixed(" ".join("10" if other == node else "21" for other in range(count))),
            "numastat": File(numastat(model, node)),
            "vmstat": fixed("nr_free_pages 9\npgpromote_success 0\npgpromote_candidate 0\npgdemote_kswapd 0\n"
                            "pgdemote_direct 0\npgdemote_khugepaged 0\npgdemote_proactive 0"),
            "meminfo": fixed(f"Node {node} MemTotal:       {kib} kB\nNode {node} MemFree:        {kib // 2} kB"),
        })
    return children


def graphics(model: Model) -> Mapping[str, Node]:
    """/sys/class/drm of a machine with built-in graphics, in the layout of i915 (docs/specs/turbostat.md 2.4)."""
    if not model.shape.power.gpu:
        return {}
    basis = model.package[0]

    def megahertz(_now: float) -> int:
        return 300 + round(basis.rate[b.PKG_GPU_BUSY] * 39) * 50

    def gt(factor: float) -> Folder:
        return folder({
            "rc6_residency_ms": whole(lambda now: int(basis.at(b.PKG_GPU_RC6, now) * 1000 * factor)),
            "rps_cur_freq_mhz": whole(megahertz),
            "rps_act_freq_mhz": whole(lambda now: megahertz(now) if basis.rate[b.PKG_GPU_BUSY] > 0.06 else 0),
            **fixed_texts(rps_min_freq_mhz=300, rps_max_freq_mhz=2250),
        })

    return {"card0": folder({"gt": folder({"gt0": gt(1.0), "gt1": gt(0.995)})})}
