"""The uncore PMUs of NVIDIA's Arm servers: instances, filters and refusals (docs/specs/nvidia.md 1 to 3, 6).

Which PMUs there are, and what their events count, is in `nvidia_pmus.toml`.
"""

from __future__ import annotations

import errno
import functools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.cpulist import format_cpulist
from turbotui.machine.host import PerfAttr
from turbotui.quantities.facts import FactFile
from turbotui.quantities.rows import WrongKindError, each, number, text, whole
from turbotui.simulated.basis import (
    PKG_IO_READ_BYTES,
    PKG_IO_WRITTEN_BYTES,
    PKG_READ_BYTES,
    PKG_SECONDS,
    PKG_WRITTEN_BYTES,
    Form,
    scaled,
    sum_of,
)
from turbotui.simulated.model import Model
from turbotui.simulated.pmu import Context, EventFile, SimulatedCounter, SimulatedPmu

PMUS: Final = FactFile("simulated/nvidia_pmus.toml")
_CYCLES: Final = 0x1_0000_0000
_COUNTED: Final[Mapping[str, Form]] = {
    "read": ((PKG_READ_BYTES, 1.0),),
    "write": ((PKG_WRITTEN_BYTES, 1.0),),
    "read+write": ((PKG_READ_BYTES, 1.0), (PKG_WRITTEN_BYTES, 1.0)),
    "io-read": ((PKG_IO_READ_BYTES, 1.0),),
    "io-write": ((PKG_IO_WRITTEN_BYTES, 1.0),),
    "clock": ((PKG_SECONDS, 1.0),),
    "nothing": (),
}
_OF_SOCKETS: Final = (0.9, 0.1, 0.0, 0.0)
"""The shares of traffic to this socket and to the other one."""
_LINE: Final = 64.0
_LINK_NS: Final = 700.0
"""The time for which a request is outstanding, on PMUs that separate local and remote traffic."""
_COMPLEX_SHARE = (0.4, 0.2, 0.15, 0.1, 0.1, 0.05)
"""The distribution of a socket's PCI Express traffic over its root complexes."""
_BDF_ENABLE = 1 << 24
_PORT_MASK = 0xFF
_ADDRESS_ENABLE = 1 << 11


@dataclass(frozen=True, slots=True)
class NvidiaPmuKind:
    """One kind of PMU: a table of `nvidia_pmus.toml`, which says what its keys are; `events` are (config, form)."""

    name: str
    identifier: str
    hertz: float
    formats: Mapping[str, str]
    events: Mapping[str, tuple[int, Form]]
    parts: tuple[tuple[int, int, tuple[float, ...]], ...] = ()
    counters: int = 8
    width: int = 33
    peer: str = ""
    complexes: int = 0
    unlisted: Form | None = None


@functools.cache
def nvidia_kinds(chip: str) -> tuple[NvidiaPmuKind, ...]:
    """Return a chip's kinds of PMU from the file; none for ""."""
    return tuple(PMUS.row(NvidiaPmuKind, name, values, formats=_formats, parts=_parts,
        unlisted=lambda it: _form(0.0, it), events=functools.partial(_events, number(values.get("hertz"))))
        for name, values in (PMUS.tables() if chip else ()) if name == chip)


def _formats(written: object) -> Mapping[str, str]:
    return {text(name): text(bits) for name, bits in each(_items)(written)}


def _parts(written: object) -> tuple[tuple[int, int, tuple[float, ...]], ...]:
    return tuple((whole(word), whole(first), each(number)(shares)) for word, first, shares in each(_items)(written))


def _items(written: object) -> list[object]:
    if not isinstance(written, list) or not written:
        raise WrongKindError("a list of something")
    return written


def _events(hertz: float, written: object) -> Mapping[str, tuple[int, Form]]:
    made: dict[str, tuple[int, Form]] = {}
    for name, *rest in map(_items, _items(written)):
        if name == "loc-rem":
            made.update(_local_and_remote(hertz, rest))
            continue
        code, counted = whole(rest[0]), _form(hertz, rest[1:])
        if "{}" in text(name):
            made.update({text(name).format(n): (code + n, scaled(counted, share))
                         for n, share in enumerate(_OF_SOCKETS)})
        else:
            made[text(name)] = (code, counted)
    return made


def _form(hertz: float, written: object) -> Form:
    """Return the form of an event: a share of a quantity, in requests of a size, or in cycles outstanding."""
    counted, *rest = _items(written)
    if counted not in _COUNTED:
        raise WrongKindError(f"rows of one of {', '.join(_COUNTED)}")
    share, size, ns = (*map(number, rest), *(1.0, 1.0, 0.0)[len(rest):])
    form = scaled(scaled(_COUNTED[text(counted)], share), 1.0 / size)
    if counted == "clock":
        return scaled(form, hertz)
    return scaled(form, ns * 1e-9 * hertz) if ns else form


def _local_and_remote(hertz: float, written: list[object]) -> Iterator[tuple[str, tuple[int, Form]]]:
    """Return the events common to Grace's PCIe, C2C and CNVLink PMUs: local and remote parts of quantities."""
    *shares, last = written
    reads, writes, remote = _form(hertz, shares[:2]), _form(hertz, shares[2:]), number(last)
    total = sum_of(reads, writes)
    quantities = {"bytes": 1.0, "req": 1.0 / _LINE}
    rows = [(f"{way}_{what}", scaled(form, factor)) for what, factor in quantities.items()
            for way, form in (("rd", reads), ("wr", writes), ("total", total))]
    rows.append(("rd_cum_outs", scaled(scaled(reads, 1.0 / _LINE), _LINK_NS * 1e-9 * hertz)))
    for at, (name, form) in enumerate(rows):
        yield f"{name}_loc", (2 * at, scaled(form, 1.0 - remote))
        yield f"{name}_rem", (2 * at + 1, scaled(form, remote))


def _passing(kind: NvidiaPmuKind, attr: PerfAttr) -> float | int:
    """Return the share of traffic that passes the filters, or an errno; a filter without bits passes everything."""
    words = (attr.config, attr.config1, attr.config2)
    if kind.complexes and kind.width == 33:  # PCIE: a source is a set of ports or one device, not both
        if attr.config1 & _BDF_ENABLE:
            return errno.EINVAL if attr.config1 & _PORT_MASK else 0.5 * _share(kind.parts[1], words)
        if attr.config1 >> 8 and not attr.config1 & _PORT_MASK:
            return 0.0  # a device without its enable bit selects no port
    passing = math.prod((_share(part, words) for part in kind.parts), start=1.0)  # a whole number would be an errno
    return 0.25 * passing if kind.width == 3 and attr.config & _ADDRESS_ENABLE else passing


def _share(part: tuple[int, int, tuple[float, ...]], words: tuple[int, int, int]) -> float:
    word, first, shares = part
    mask = words[word] >> first & ((1 << len(shares)) - 1)
    return sum(share for bit, share in enumerate(shares) if not mask or mask >> bit & 1)


def _resolver(
    model: Model, kind: NvidiaPmuKind, socket: int, number: int
) -> Callable[[PerfAttr, int], SimulatedCounter | int]:
    basis = model.package[socket]
    by_code = dict(kind.events.values())
    clocks = {code for name, (code, _) in kind.events.items() if name in ("cycles", "bus_cycles")}
    volume = _COMPLEX_SHARE[number] if kind.complexes else 1.0

    def resolve(attr: PerfAttr, _cpu: int) -> SimulatedCounter | int:
        code = attr.config & ((1 << kind.width) - 1)
        if (form := by_code.get(code, kind.unlisted)) is None:
            return errno.ENOENT if kind.width in (2, 4) else errno.EINVAL
        passing = _passing(kind, attr)
        if isinstance(passing, int):
            return passing
        counted: Form = form if code in clocks else scaled(form, passing * volume)
        return SimulatedCounter(lambda now: basis.value(counted, now), slots=1,
                                fixed="cycles" if code == _CYCLES else "")

    return resolve


def nvidia_pmus(model: Model) -> list[SimulatedPmu]:
    """Every uncore PMU of the machine; none on other machines."""
    result: list[SimulatedPmu] = []
    for socket, cpus in enumerate(model.layout.package_cpus):
        for kind in nvidia_kinds(model.shape.nvidia):
            events = {event: EventFile(f"event={code:#x}") for event, (code, _) in kind.events.items()}
            files = {"identifier": kind.identifier, "associated_cpus": format_cpulist(cpus),
                     **({"peer": kind.peer} if kind.peer else {})}
            result += [SimulatedPmu(
                kind.name.format(socket=socket, complex=number), Context.UNCORE, _resolver(model, kind, socket, number),
                kind.formats, events, functools.partial(model.first_online, [cpus]), frozenset(cpus),
                counters=kind.counters, files=files) for number in range(max(1, kind.complexes))]
    return result
