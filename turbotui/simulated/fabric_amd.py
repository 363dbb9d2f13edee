"""What the data fabric of a simulated AMD server counts: a share of each package's traffic at each of its instances.

Codes: perf's amdzen4 and amdzen5/data-fabric.json. A tenth of what a package's memory gives and takes, and of what its
devices do, is for the other package, and goes over its links.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.simulated import basis as b
from turbotui.simulated.basis import Form
from turbotui.simulated.model import Model

REMOTE: Final = 0.1
"""The share of memory traffic and of DMA that is another package's, where there is one."""
LINKS_WIRED: Final = 4
"""Links that join two packages; the others stand still."""

_STEP: Final = 0x40  # from the code of an instance to that of the next one
_LOCAL, _REMOTE_BITS, _BOTH = 0x7, 0xB, 0xF  # umask bits 8 to 11
_OUTWARD_ON_LINKS: Final = 0xF3E
_INWARD_ON_LINKS: Final = 0xF3F


@dataclass(frozen=True, slots=True)
class _Instances:
    """Equal instances of a part of the fabric.

    Attributes:
        first: the code of the first one.
        count: how many.
        read, written: what the two umasks of a beat count, over the package's integrals.
        bytes_read, bytes_written: of one beat.
    """

    first: int
    count: int
    read: Form
    written: Form
    bytes_read: float = 64.0
    bytes_written: float = 64.0

    def index(self, code: int) -> int | None:
        """The number of the instance that a code means."""
        at, rest = divmod(code - self.first, _STEP)
        return at if not rest and 0 <= at < self.count else None


@dataclass(frozen=True, slots=True)
class _Fabric:
    """The fabric of one generation."""

    parts: tuple[_Instances, ...]
    links: int
    links_first: int
    inward: bool


_MEMORY: Final = (((b.PKG_READ_BYTES, 1.0),), ((b.PKG_WRITTEN_BYTES, 1.0),))
_IO: Final = (((b.PKG_IO_READ_BYTES, 1.0),), ((b.PKG_IO_WRITTEN_BYTES, 1.0),))


def _halves(count: int) -> tuple[_Instances, ...]:
    """Interfaces of the cores, of which every other one has the next code."""
    read, written = (tuple((index, weight / 2) for index, weight in form) for form in _MEMORY)
    return tuple(_Instances(first, count, read, written, bytes_read=32.0) for first in (0x41E, 0x41F))


_FABRICS: Final = {
    25: _Fabric((_Instances(0x1F, 12, *_MEMORY), _Instances(0x81F, 4, *_IO), *_halves(8)), 8, 0xB5F, inward=False),
    26: _Fabric((_Instances(0x1F, 12, *_MEMORY), _Instances(0x81F, 8, *_IO), *_halves(8)), 6, 0xD5F, inward=True),
}


def fabric_count(model: Model, package: int, code: int, umask: int) -> Callable[[float], float] | None:
    """What an event counts on a package; None where the generation has no such event."""
    fabric = _FABRICS.get(model.shape.family)
    if fabric is None:
        return None
    link, rest = divmod(code - fabric.links_first, _STEP)
    if not rest and 0 <= link < fabric.links and (umask == _OUTWARD_ON_LINKS or
                                                  (fabric.inward and umask == _INWARD_ON_LINKS)):
        share = 1.0 / LINKS_WIRED / 64.0 if link < LINKS_WIRED else 0.0
        sides = crossing(model, package, outward=umask == _OUTWARD_ON_LINKS)
        return lambda now: share * sides(now)
    for part in fabric.parts:
        if part.index(code) is not None:
            return _counted_at(model, package, part, umask)
    return None


def crossing(model: Model, package: int, *, outward: bool) -> Callable[[float], float]:
    """Bytes that went over all links of a package: what memory gives to others, and what is written to theirs."""
    others = [at for at in range(model.shape.packages) if at != package]
    gives = [package] if outward else others
    writes = others if outward else [package]
    scale = REMOTE / max(1, len(others)) if others else 0.0

    def value(now: float) -> float:
        given = sum(model.package[at].at(b.PKG_READ_BYTES, now) for at in gives)
        written = sum(model.package[at].at(b.PKG_WRITTEN_BYTES, now) for at in writes)
        return scale * (given + written)

    return value


def _counted_at(model: Model, package: int, part: _Instances, umask: int) -> Callable[[float], float] | None:
    remote = REMOTE if model.shape.packages > 1 else 0.0
    share = {_LOCAL: 1.0 - remote, _REMOTE_BITS: remote, _BOTH: 1.0}.get(umask >> 8)
    direction = {0xFE: (part.read, part.bytes_read), 0xFF: (part.written, part.bytes_written)}.get(umask & 0xFF)
    if share is None or direction is None:
        return None
    form, size = direction
    one, factor = model.package[package], share / size / part.count
    return lambda now: factor * one.value(form, now)
