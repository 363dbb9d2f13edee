"""What memory controllers of simulated Intel servers count: channels, HBM, persistent memory (Intel perfmon)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from turbotui.simulated import intel_traffic as flow
from turbotui.simulated.intel_generations import Generation, code
from turbotui.simulated.intel_traffic import LINE, Events, Flows, Parts, times
from turbotui.simulated.pmu import EventFile

_MEBIBYTE_SCALE: Final = "6.103515625e-5"
"""64 / 2^20: memory controllers count cache lines."""
_FIRST_HALF: Final = 0.6
"""Share of a channel's first subchannel or pseudochannel; unequal, so that tests notice one taken for both."""
_HALVES: Final = (_FIRST_HALF, 1 - _FIRST_HALF)
_BY_LIMIT: Final = 0.002
_BY_HEAT: Final = 0.001
"""Shares of time in which channels are throttled."""
HBM_CHANNELS: Final = 32
_HBM_HZ: Final = 1.6e9
"""Four stacks of eight channels, at 3.2 GT/s."""


def whole_events(made: Generation) -> Mapping[str, EventFile]:
    """Return the events of a channel that the kernel names."""
    event, read, write = _cas(made)
    return {
        "clockticks": EventFile(f"event={0x00 if made.early else 0x01:#04x},umask=0x00"),
        "cas_count_read": EventFile(f"event={event:#04x},umask={read:#04x}", _MEBIBYTE_SCALE, "MiB"),
        "cas_count_write": EventFile(f"event={event:#04x},umask={write:#04x}", _MEBIBYTE_SCALE, "MiB"),
    }


def _cas(made: Generation) -> tuple[int, int, int]:
    """The code of CAS, and its masks of reads and of writes."""
    if made.filtered:
        return 0x04, 0x03, 0x0C
    return (0x04, 0x0F, 0x30) if made.early else (0x05, 0xCF, 0xF0)


def halves_events() -> Mapping[str, EventFile]:
    """Return the events that the kernel names, if it names those of the two subchannels separately."""
    files = {"clockticks": EventFile("event=0x01,umask=0x00")}
    for number in (0, 1):
        for way, mask in (("read", 0xCF), ("write", 0xF0)):
            terms = f"event={5 + number:#04x},umask={mask:#04x}"
            files[f"cas_count_{way}_sch{number}"] = EventFile(terms, _MEBIBYTE_SCALE, "MiB")
    return files


def memory_counts(made: Generation, flows: Flows, share: float) -> Events:
    """Return the counts of a DRAM channel with a share of the traffic, and of persistent memory on it."""
    read, written = times(flows.read, share / LINE), times(flows.written, share / LINE)
    every, clock = read + written, times(flows.seconds, made.memory_hertz)
    counts: dict[int, Parts] = {}
    if made.early:
        event, reads, writes = _cas(made)
        counts = {code(0x00): clock, code(event, reads): read, code(event, writes): written,
                  code(event, reads | writes): every}
    else:
        counts = {code(0x01): times(clock, 0.5), code(0x01, 0x01): clock}
        halves = ((0x05, _FIRST_HALF), (0x06, 1 - _FIRST_HALF)) if made.halves else ((0x05, 1.0),)
        for event, part in halves:
            counts |= {code(event, 0xCF): times(read, part), code(event, 0xF0): times(written, part),
                       code(event, 0xFF): times(every, part)}
    counts |= {made.activations: times(every, flow.ACTIVATIONS), made.conflicts: times(every, flow.CONFLICTS)}
    counts[code(0x43, 0x01 if made.halves else 0)] = ()  # self-refresh: never here
    throttled = ((0x04, _BY_LIMIT), (0x08, _BY_HEAT)) if made.halves else ((0x03, _BY_LIMIT + _BY_HEAT),)
    counts |= {code(0x46, mask): times(clock, part) for mask, part in throttled}
    return {**counts, **_queues(made, read, written), **({} if made.halves else _persistent(made, read, written))}


def _queues(made: Generation, read: Parts, written: Parts) -> Events:
    """Return the counts of queues; occupancies count the DCLK cycles that each request waits."""
    ways = ((read, flow.READ_QUEUE), (written, flow.WRITE_QUEUE))
    queues: dict[int, Parts] = {}
    if made.halves:  # subchannels, each of two pseudochannels
        for (lines, cycles), first, inserts in zip(ways, (0x80, 0x84), (0x10, 0x22), strict=True):
            for number, part in enumerate(_HALVES):
                queues[code(inserts, 0x30 << 2 * number)] = times(lines, part)
                queues |= {code(first + 2 * number + state): times(lines, part * half * cycles)
                           for state, half in enumerate(_HALVES)}
        return queues
    if made.filtered:  # one queue a channel
        for (lines, cycles), first, inserts in zip(ways, (0x80, 0x81), (0x10, 0x20), strict=True):
            queues |= {code(inserts): lines, code(first): times(lines, cycles)}
        return queues
    for (lines, cycles), first, inserts in zip(ways, (0x80, 0x82), (0x10, 0x20), strict=True):
        queues[code(inserts, 0x03)] = lines
        queues |= {code(first + state): times(lines, half * cycles) for state, half in enumerate(_HALVES)}
    return queues


def hbm_counts(flows: Flows, share: float) -> Events:
    """Return the counts of an HBM channel that caches DRAM: a line is two CAS, and DRAM serves the misses."""
    read, written = (times(way, share / LINE / flow.FAR) for way in (flows.read, flows.written))
    cas = times(read + written, 2.0)
    counts: dict[int, Parts] = {
        code(0x01): times(flows.seconds, _HBM_HZ / 2), code(0x01, 0x01): times(flows.seconds, _HBM_HZ),
        code(0x05, 0xCF): times(read, 2.0), code(0x05, 0xF0): times(written, 2.0), code(0x05, 0xFF): cas,
        code(0x02, 0xFF): times(cas, flow.ACTIVATIONS),
    }
    for lines, cycles, first, inserts in ((read, flow.READ_QUEUE, 0x80, 0x10), (written, flow.WRITE_QUEUE, 0x82, 0x20)):
        counts[code(inserts, 0x03)] = lines
        counts |= {code(first + state): times(lines, part * cycles) for state, part in enumerate(_HALVES)}
    return counts


def _persistent(made: Generation, read: Parts, written: Parts) -> Events:
    """Return the counts of persistent memory beside DRAM, or behind DRAM as a cache that has most lines."""
    part = {"pmem": flow.PERSISTENT, "2lm": flow.FAR}.get(made.tiers, 0.0)
    lines = (times(read, part), times(written, part)) if part else ((), ())
    waits = times(lines[0], flow.PERSISTENT_QUEUE)
    counts: dict[int, Parts] = {code(0xE3): lines[0], code(0xE7): lines[1], code(0xE0, 0x01): waits,
                                code(0xE0, 0x02): ()}
    for mask, share in ((0x01, 1 - flow.FAR), (0x02, flow.FAR / 2), (0x04, flow.FAR / 2)):
        counts[code(0xD3, mask)] = times(read, share) if made.tiers == "2lm" else ()
    return counts
