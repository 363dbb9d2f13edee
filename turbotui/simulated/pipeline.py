"""The slots of a simulated core by category: forms over a CPU's integrals that add up to all slots.

A core has `width` slots a cycle. Retired operations, discarded operations and slots that the front end does not fill
are counted directly; all others are back-end slots, so that level 1 adds up to the whole. Deeper categories divide the
category above. The shares are plausible for each kind of work, not measured on a machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from turbotui.simulated.basis import CPU_CYCLES, CPU_POLL_CYCLES, CPU_WORK, Form, form_of, scaled, sum_of
from turbotui.simulated.shapes import CoreType
from turbotui.simulated.workloads import Workload

_OPERATIONS: Final = 1.1  # retired, for each instruction
_REFILL: Final = 12.0  # cycles whose slots a mispredicted branch costs
_MISPREDICTED: Final = 0.9  # of the bad speculation; the rest are machine clears
_FLUSHED: Final = 0.4  # of the bad speculation: operations that were issued; the rest is recovery
_HEAVY: Final = 0.12  # of what retires: instructions of several operations
_MICROCODE: Final = 0.03  # of what retires
_LATENCY: Final = 0.65  # of the front end's slots: cycles in which it gave nothing
_DIVIDER: Final = 0.1  # of the core-bound slots
_BANDWIDTH: Final = 0.6  # of the cycles that DRAM takes: requests queue
_SERIAL: Final = 0.05  # of the core-bound slots
_PORTS: Final = (0.2, 0.4, 0.3, 0.1)  # cycles of busy ports in which none, one, two, more of them are used
_FETCH: Final[Mapping[str, float]] = {"icache": 0.45, "itlb": 0.1, "resteers": 0.3, "switches": 0.15}
"""The causes for which the front end delivers nothing."""
_CYCLES: Final = {"l1": 0.15, "l2": 14.0, "l3": 60.0, "dram": 220.0, "store": 0.25}
"""Cycles of waiting for a load by the level that answers, and for a store in the store buffer."""


def pipeline_counts(kind: CoreType, width: int, *, contended: bool) -> Mapping[str, Form]:
    """Return the slots and stalled cycles of a CPU by category.

    Args:
        contended: whether slots that the sibling had are a category of their own (AMD), and not the back end's.

    Returns:
        Forms by name: "slots" is all of them; the others are parts.
    """
    level_one = _level_one(kind, width, contended=contended)
    memory = _of_work(kind, CPU_WORK if contended else CPU_CYCLES, lambda work: work.back_stall)
    below, places = _below(level_one, width, memory), _memory(kind, contended=contended)
    return {**level_one, **below, **places, **_own(kind, width, {**level_one, **below, **places})}


def _of_work(kind: CoreType, first: int, rate: Callable[[Workload], float]) -> Form:
    return form_of({first + number: rate(work) for number, work in enumerate(kind.works)})


def _less(whole: Form, *parts: Form) -> Form:
    return sum_of(whole, *(scaled(part, -1.0) for part in parts))


def _level_one(kind: CoreType, width: int, *, contended: bool) -> Mapping[str, Form]:
    first = CPU_WORK if contended else CPU_CYCLES
    cycles, worked = (_of_work(kind, at, lambda _work: 1.0) for at in (CPU_CYCLES, first))
    slots = scaled(sum_of(cycles, ((CPU_POLL_CYCLES, 1.0),)), width)
    sibling = scaled(_less(cycles, worked), width)
    retiring = _of_work(kind, CPU_WORK, lambda work: work.ipc * kind.ipc * _OPERATIONS)
    bad = _of_work(kind, CPU_WORK, lambda work: work.branch_misses * work.ipc * kind.ipc * _REFILL * width)
    front = _of_work(kind, first, lambda work: work.front_stall * width)
    return {"slots": slots, "slots-sibling": sibling, "slots-retiring": retiring, "slots-bad": bad,
            "slots-front": front, "slots-back": _less(slots, sibling, retiring, bad, front)}


def _below(above: Mapping[str, Form], width: int, memory: Form) -> Mapping[str, Form]:
    """Return levels 2 to 4, as slots and as cycles, except the levels of memory that accesses wait for."""
    retiring, bad, front, back = (above[f"slots-{name}"] for name in ("retiring", "bad", "front", "back"))
    latency, core = scaled(front, _LATENCY), _less(back, scaled(memory, width))
    cycle = 1.0 / width
    ports = scaled(core, (1.0 - _DIVIDER) * cycle)
    return {
        "slots-stalled": sum_of(front, back),
        "slots-dispatched": sum_of(retiring, bad),
        "slots-issued": sum_of(retiring, scaled(bad, _FLUSHED)),
        "slots-heavy": scaled(retiring, _HEAVY),
        "slots-microcode": scaled(retiring, _MICROCODE),
        "slots-mispredicted": scaled(bad, _MISPREDICTED),
        "slots-clears": scaled(bad, 1.0 - _MISPREDICTED),
        "slots-latency": latency,
        "slots-bandwidth": scaled(front, 1.0 - _LATENCY),
        "slots-memory": scaled(memory, width),
        "slots-core": core,
        "recovery-cycles": scaled(bad, (1.0 - _FLUSHED) * cycle),
        "latency-cycles": scaled(latency, cycle),
        "front-memory-cycles": scaled(latency, (_FETCH["icache"] + _FETCH["itlb"]) * cycle),
        "front-core-cycles": scaled(latency, (_FETCH["resteers"] + _FETCH["switches"]) * cycle),
        "back-cycles": scaled(back, cycle),
        "core-cycles": scaled(core, cycle),
        "divider-cycles": scaled(core, _DIVIDER * cycle),
        **{f"port-{number}-cycles": scaled(ports, share) for number, share in enumerate(_PORTS)},
        "serial-cycles": scaled(core, _SERIAL * cycle),
        **{f"{name}-cycles": scaled(latency, share * cycle) for name, share in _FETCH.items()},
        **{f"slots-{name}": scaled(latency, share) for name, share in _FETCH.items()},
    }


def _memory(kind: CoreType, *, contended: bool) -> Mapping[str, Form]:
    """Return the cycles that loads and stores wait, by the level of memory that answers."""
    first = CPU_WORK if contended else CPU_CYCLES

    def waited(*places: str) -> Form:
        return _of_work(kind, first, lambda work: work.back_stall * sum(waiting(work)[place] for place in places))

    return {
        **{f"{place}-cycles": waited(place) for place in _CYCLES},
        "memory-cycles": waited(*_CYCLES),
        "load-cycles": waited("l1", "l2", "l3", "dram"),
        "near-cycles": waited("l1", "l2"),
        "beyond-l1-cycles": waited("l2", "l3", "dram"),
        "beyond-l2-cycles": waited("l3", "dram"),
        "bandwidth-cycles": scaled(waited("dram"), _BANDWIDTH),
    }


def _own(kind: CoreType, width: int, above: Mapping[str, Form]) -> Mapping[str, Form]:
    """Return the events peculiar to one vendor, such that the vendor's formulas give the same categories."""
    misses = _of_work(kind, CPU_WORK, lambda work: work.branch_misses * work.ipc * kind.ipc)
    instructions = _of_work(kind, CPU_WORK, lambda work: work.ipc * kind.ipc)
    flushed = scaled(misses, width)
    front, back = sum_of(above["slots-front"], flushed), sum_of(above["slots-back"], scaled(flushed, 3.0))
    stalled = sum_of(above["load-cycles"], above["port-0-cycles"])
    return {
        "clears": scaled(misses, (1.0 - _MISPREDICTED) / _MISPREDICTED),
        "fused": _less(sum_of(above["slots-heavy"], instructions), above["slots-retiring"]),
        "stalled-cycles": stalled,
        "port-1-rest-cycles": _less(above["back-cycles"], stalled, above["store-cycles"]),
        # Neoverse counts four cycles of each mispredicted branch as stalls: one of the front end, three of the back end
        "operations-neoverse": _less(sum_of(above["slots-retiring"], above["slots-bad"]), scaled(flushed, 4.0)),
        "stalled-front-neoverse": front,
        "stalled-back-neoverse": back,
        "stalled-neoverse": sum_of(front, back),
    }


def waiting(work: Workload) -> Mapping[str, float]:
    """Return each memory level's share in the cycles that a kind of work waits for memory; they add up to 1."""
    cycles = {"l1": work.loads * _CYCLES["l1"], "l2": max(0.0, work.l2_references - work.l2_misses) * _CYCLES["l2"],
              "l3": max(0.0, work.llc_references - work.llc_misses) * _CYCLES["l3"],
              "dram": work.llc_misses * _CYCLES["dram"], "store": work.stores * _CYCLES["store"]}
    total = sum(cycles.values())
    return {place: value / total for place, value in cycles.items()}


