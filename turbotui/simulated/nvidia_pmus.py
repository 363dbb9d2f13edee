"""The uncore PMUs of NVIDIA's Arm servers: instances, filters and refusals (docs/specs/nvidia.md 1 to 3, 6)."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping

from turbotui.machine.cpulist import format_cpulist
from turbotui.machine.host import PerfAttr
from turbotui.simulated.basis import Form, scaled
from turbotui.simulated.model import Model
from turbotui.simulated.nvidia_tables import CYCLES, TEGRA241, TEGRA410, NvidiaPmuKind
from turbotui.simulated.pmu import Context, EventFile, SimulatedCounter, SimulatedPmu
from turbotui.simulated.shapes import MachineShape

_KINDS: Mapping[str, tuple[NvidiaPmuKind, ...]] = {"": (), "t410": TEGRA410, "grace": TEGRA241}
_COMPLEX_SHARE = (0.4, 0.2, 0.15, 0.1, 0.1, 0.05)
"""How the PCI Express traffic of a socket spreads over its root complexes."""
_BDF_ENABLE = 1 << 24
_PORT_MASK = 0xFF
_ADDRESS_ENABLE = 1 << 11


def _instances(shape: MachineShape) -> list[tuple[NvidiaPmuKind, int, int, str]]:
    """(kind, socket, root complex, device name) of every PMU."""
    found: list[tuple[NvidiaPmuKind, int, int, str]] = []
    for socket in range(shape.packages):
        for kind in _KINDS[shape.nvidia]:
            found.extend(
                (kind, socket, number, kind.name.format(socket=socket, complex=number))
                for number in range(max(1, kind.complexes))
            )
    return found


def nvidia_names(shape: MachineShape) -> list[str]:
    """Device names, in no useful order: type numbers follow it."""
    return [name for _, _, _, name in _instances(shape)]


def _words(attr: PerfAttr) -> tuple[int, int, int]:
    return (attr.config, attr.config1, attr.config2)


def _passing(kind: NvidiaPmuKind, attr: PerfAttr) -> float | int:
    """The share of the traffic that passes the filters, or an errno. No bit of a filter set means all of them."""
    words = _words(attr)
    if kind.complexes and kind.width == 33:  # PCIE: a source is a set of ports or one device, not both
        if attr.config1 & _BDF_ENABLE:
            if attr.config1 & _PORT_MASK:
                return errno.EINVAL
            return 0.5 * _share(kind.parts[1], words)
        if attr.config1 >> 8 and not attr.config1 & _PORT_MASK:
            return 0.0  # a device without its enable bit selects no port
    passing = 1.0
    for part in kind.parts:
        passing *= _share(part, words)
    if kind.width == 3 and attr.config & _ADDRESS_ENABLE:
        passing *= 0.25
    return passing


def _share(part: tuple[int, int, tuple[float, ...]], words: tuple[int, int, int]) -> float:
    word, first, shares = part
    mask = words[word] >> first & ((1 << len(shares)) - 1)
    if not mask:
        return sum(shares)
    return sum(share for bit, share in enumerate(shares) if mask >> bit & 1)


def _resolver(
    model: Model, kind: NvidiaPmuKind, socket: int, number: int
) -> Callable[[PerfAttr, int], SimulatedCounter | int]:
    one = model.package[socket]
    by_code = dict(kind.events.values())
    clocks = {code for name, (code, _) in kind.events.items() if name in ("cycles", "bus_cycles")}
    volume = _COMPLEX_SHARE[number] if kind.complexes else 1.0

    def resolve(attr: PerfAttr, _cpu: int) -> SimulatedCounter | int:
        code = attr.config & ((1 << kind.width) - 1)
        form = by_code.get(code, kind.unlisted)
        if form is None:
            return errno.ENOENT if kind.width in (2, 4) else errno.EINVAL
        passing = _passing(kind, attr)
        if isinstance(passing, int):
            return passing
        counted: Form = form if code in clocks else scaled(form, passing * volume)
        return SimulatedCounter(lambda now: one.value(counted, now), slots=1, fixed="cycles" if code == CYCLES else "")

    return resolve


def nvidia_pmus(model: Model, types: Mapping[str, int]) -> list[SimulatedPmu]:
    """Every uncore PMU of the machine; none on other machines."""
    result: list[SimulatedPmu] = []
    for kind, socket, number, name in _instances(model.shape):
        cpus = model.layout.package_cpus[socket]

        def active(cpus: tuple[int, ...] = cpus) -> list[int]:
            return [cpu for cpu in cpus if model.online[cpu]][:1]

        result.append(
            SimulatedPmu(
                name=name,
                type=types[name],
                context=Context.UNCORE,
                resolve=_resolver(model, kind, socket, number),
                formats=kind.formats,
                events={event: EventFile(f"event={code:#x}") for event, (code, _) in kind.events.items()},
                readers=active,
                cpus=frozenset(cpus),
                counters=kind.counters,
                files={
                    "identifier": kind.identifier,
                    "associated_cpus": format_cpulist(cpus),
                    **({"peer": kind.peer} if kind.peer else {}),
                },
            )
        )
    return result
