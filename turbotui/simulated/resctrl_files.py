"""/sys/fs/resctrl of simulated servers: groups with known shares of the packages' activity.

As kernel Documentation/filesystems/resctrl.rst has it: Intel with a counter for each group, and on the server of
efficiency cores the telemetry of energy; AMD with counters that are assigned; Arm by MPAM.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from turbotui.simulated import basis as b
from turbotui.simulated.model import Model
from turbotui.simulated.shapes import Isa, MachineShape
from turbotui.simulated.tree import File, Node, fixed, place, whole

LOCAL: Final = 0.8
"""The share of traffic within its node, on machines with several."""
SHARES: Final[tuple[tuple[str, float], ...]] = (
    ("/", 0.4),
    ("/mon_groups/web", 0.1),
    ("/batch", 0.5),
    ("/batch/mon_groups/train", 0.35),
)
"""Groups, and their shares of every package's traffic, cache and cores' energy, with those of their MON groups."""
UNASSIGNED: Final = "/mon_groups/web"
"""The group without a counter, on machines where AMD's bandwidth counters are assigned."""
TELEMETRY: Final = "forest-1s"
"""The machine that counts energy by group."""
_RMIDS: Final = {Isa.INTEL: 256, Isa.AMD: 4096, Isa.ARM: 64}
_COUNTERS: Final = 32
_SILENT: Final = dict(SHARES)[UNASSIGNED]
_ZEN_5: Final = 26
"""The family from which on counters of bandwidth are assigned to groups."""


def has_resctrl(shape: MachineShape) -> bool:
    """Tell whether a machine monitors caches by group, as servers do."""
    return not shape.hypervisor and (shape.packages > 1 or shape.isa is Isa.AMD or _counts_energy(shape))


def _counts_energy(shape: MachineShape) -> bool:
    """Tell whether a machine counts energy by group; a machine with causes has their names behind its own."""
    return shape.name.partition("+")[0] == TELEMETRY


def resctrl_tree(model: Model) -> Mapping[str, Node]:
    """Return the files below /sys/fs/resctrl; none if the machine lacks resctrl."""
    shape = model.shape
    if not has_resctrl(shape):
        return {}
    assigned = shape.isa is Isa.AMD and shape.family >= _ZEN_5
    tree: dict[str, Node] = {}
    put = partial(place, tree)
    put("/info/L3_MON/mon_features", fixed("llc_occupancy\nmbm_total_bytes\nmbm_local_bytes"))
    put("/info/L3_MON/num_rmids", fixed(_RMIDS[shape.isa]))
    put("/info/last_cmd_status", fixed("ok"))
    domains = _domains(model)
    local = LOCAL if len(model.layout.node_cpus) > 1 else 1.0
    if assigned:
        taken = 2 * sum(path != UNASSIGNED for path, _ in SHARES)
        put("/info/L3_MON/mbm_assign_mode", fixed("[mbm_event]\ndefault"))
        put("/info/L3_MON/num_mbm_cntrs", fixed(_each(domains, _COUNTERS)))
        put("/info/L3_MON/available_mbm_cntrs", fixed(_each(domains, _COUNTERS - taken)))
    if _counts_energy(shape):
        put("/info/PERF_PKG_MON/mon_features", fixed("core_energy\nactivity"))
        put("/info/PERF_PKG_MON/num_rmids", fixed(_RMIDS[shape.isa]))
    for path, share in SHARES:
        at = path.rstrip("/")
        for name in ("tasks", "cpus_list", "mode"):
            put(f"{at}/{name}", fixed(""))
        counted = not assigned or path != UNASSIGNED
        for number, (package, part) in enumerate(domains):
            folder = f"{at}/mon_data/mon_L3_{number:02d}"
            put(f"{folder}/llc_occupancy", fixed(int(share * shape.l3_kib * 1024)))
            # the sum of a CTRL_MON group lacks, without a word, a MON group in it that has no counter
            silent = _SILENT if assigned and path == "/" else 0.0
            total = _traffic(model, package, (share - silent) * part)
            put(f"{folder}/mbm_total_bytes", _number(total) if counted else fixed("Unassigned"))
            put(f"{folder}/mbm_local_bytes", _number(_scaled(total, local)) if counted else fixed("Unassigned"))
        for package in range(shape.packages if _counts_energy(shape) else 0):
            folder = f"{at}/mon_data/mon_PERF_PKG_{package:02d}"
            joules = _cores_joules(model, package, share)
            put(f"{folder}/core_energy", _fraction(joules))
            put(f"{folder}/activity", _fraction(_scaled(joules, 0.5)))
    return tree


def _domains(model: Model) -> list[tuple[int, float]]:
    """Return each L3 cache's package and share of the package's traffic."""
    packages = [model.layout.places[cpus[0]].package for cpus in model.layout.l3_cpus] or list(
        range(model.shape.packages))
    return [(package, 1.0 / packages.count(package)) for package in packages]


def _each(domains: list[tuple[int, float]], number: int) -> str:
    return ";".join(f"{at}={number}" for at in range(len(domains)))


def _traffic(model: Model, package: int, share: float) -> Callable[[float], float]:
    basis = model.package[package]
    return lambda now: share * (basis.at(b.PKG_READ_BYTES, now) + basis.at(b.PKG_WRITTEN_BYTES, now))


def _cores_joules(model: Model, package: int, share: float) -> Callable[[float], float]:
    basis = model.package[package]
    return lambda now: share * basis.at(b.PKG_CORES_JOULES, now)


def _scaled(value: Callable[[float], float], factor: float) -> Callable[[float], float]:
    return lambda now: value(now) * factor


def _number(value: Callable[[float], float]) -> File:
    return whole(lambda now: int(value(now)))


def _fraction(value: Callable[[float], float]) -> File:
    return File(lambda now: f"{value(now):.6f}\n")
