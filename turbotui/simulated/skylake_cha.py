"""Requests that CHAs of simulated Skylake and Cascade Lake servers count, selected by a filter register.

An event selects the requester and whether the last-level cache had the line; a register of the whole CHA selects the
opcodes, the package of the memory, and coherence (kernel arch/x86/events/intel/uncore_snbep.c; Intel perfmon, events of
SKX; Intel PCM, pcm-pcie.h). Events are matched against the requests, as in hardware, and not found by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.host import PerfAttr
from turbotui.simulated import intel_traffic as flow
from turbotui.simulated.intel_traffic import LINE, Flows, Parts, times

_INSERTS, _OCCUPANCY = 0x35, 0x36
_CORES, _DEVICES, _HIT, _MISS = 0x01, 0x04, 0x10, 0x20
"""Bits of the umask."""
_REMOTE, _LOCAL, _EVERY_OPCODE, _NOT_NEAR, _UNCACHED = 1 << 0, 1 << 1, 1 << 3, 1 << 5, 1 << 30
_OPCODE_SHIFTS: Final = (9, 19)
_OPCODE: Final = 0x3FF
"""Bits of the filter register; config1 has it above 32."""
_HIT_CYCLES: Final = 40.0
"""Cycles for which a request stays that hits the last-level cache."""
RFO, CRD, DRD, PRD, WIL, RDCUR, ITOM = 0x200, 0x201, 0x202, 0x207, 0x20F, 0x21E, 0x248
"""Opcodes."""



@dataclass(frozen=True, slots=True)
class _Request:
    """Requests of one kind: requester and hit or miss, opcode, and the cycles for which each stays."""

    mask: int
    opcode: int
    place: int
    uncached: bool
    lines: Parts
    cycles: float


def filter_of(attr: PerfAttr) -> int:
    """Return the value that an event sets the filter register to; 0 if it does not use the register."""
    return attr.config1 >> 32 if attr.config & 0xFF in (_INSERTS, _OCCUPANCY) else 0


def count(flows: Flows, share: float, attr: PerfAttr) -> Parts | None:
    """Return the count of an event's requests at a CHA with a share of all requests; None for other events."""
    event, mask, setting = attr.config & 0xFF, attr.config >> 8 & 0xFF, filter_of(attr)
    if event not in (_INSERTS, _OCCUPANCY):
        return None
    return tuple(part for request in _requests(flows) if _passes(request, mask, setting)
                 for part in times(request.lines, share * (request.cycles if event == _OCCUPANCY else 1.0)))


def _passes(request: _Request, mask: int, setting: int) -> bool:
    opcodes = {setting >> shift & _OPCODE for shift in _OPCODE_SHIFTS}
    return (request.mask & mask == request.mask and bool(setting & request.place) and bool(setting & _NOT_NEAR)
            and bool(setting & _UNCACHED) == request.uncached
            and (bool(setting & _EVERY_OPCODE) or request.opcode in opcodes))


def _requests(flows: Flows) -> Iterator[_Request]:
    hits = 1 / flow.LLC_MISSES - 1
    for lines, place, cycles in ((times(flows.own_reads, 1 / LINE), _LOCAL, flow.LOCAL_CYCLES),
                                 (times(flows.remote_reads, 1 / LINE), _REMOTE, flow.REMOTE_CYCLES)):
        for opcode, part in ((DRD, flow.DEMAND + flow.PREFETCH), (RFO, 1 - flow.DEMAND - flow.PREFETCH)):
            yield _Request(_CORES | _MISS, opcode, place, uncached=False, lines=times(lines, part), cycles=cycles)
            yield _Request(_CORES | _HIT, opcode, place, uncached=False, lines=times(lines, part * hits),
                           cycles=_HIT_CYCLES)
    read, written = times(flows.io_read, 1 / LINE), times(flows.io_written, 1 / LINE)
    for opcode, lines, missed in ((RDCUR, read, flow.READ_MISSES),
                                  (ITOM, times(written, flow.WHOLE_LINES), flow.WRITE_MISSES),
                                  (RFO, times(written, 1 - flow.WHOLE_LINES), flow.WRITE_MISSES)):
        yield _Request(_DEVICES | _MISS, opcode, _LOCAL, uncached=False, lines=times(lines, missed),
                       cycles=flow.LOCAL_CYCLES)
        yield _Request(_DEVICES | _HIT, opcode, _LOCAL, uncached=False, lines=times(lines, 1 - missed),
                       cycles=_HIT_CYCLES)
    for opcode, parts in ((PRD, times(flows.io_read, flow.MMIO_READ / flow.MMIO_BYTES)),
                          (WIL, times(flows.io_written, flow.MMIO_WRITTEN / flow.MMIO_BYTES))):
        yield _Request(_CORES | _MISS, opcode, _LOCAL, uncached=True, lines=parts, cycles=flow.LOCAL_CYCLES)
