"""A processor's turbo clocks for one active core, and for all of them (Intel SDM vol. 4)."""

from __future__ import annotations

from turbotui.machine.calibration import Constant, KnownConstant, read_msr
from turbotui.machine.machine import Machine
from turbotui.machine.perf_errors import Circumstances
from turbotui.machine.platform_features import TurboLayout
from turbotui.quantities.scope import Scope
from turbotui.quantities.unavailable import Reason, Unavailable

_RATIOS, _RATIOS_1, _RATIOS_2 = 0x1AD, 0x1AE, 0x1AF
_FURTHER = ((TurboLayout.LIMIT1, _RATIOS_1, 8), (TurboLayout.LIMIT2, _RATIOS_2, 2))
_BYTES = 8


def turbo_hz(machine: Machine, facts: Circumstances) -> tuple[Constant, Constant]:
    """Read the highest clock with one active core, and with all of a package, from MSR 0x1AD to 0x1AF.

    On hybrids they are those of the P cores (the others' are in MSR 0x650). A ratio of 0 is no limit
    (docs/specs/turbostat.md 3.5).

    Returns:
        Hz for one core and for all, each with its registers, or why it is unknown.
    """
    features = machine.platform.features
    bus = None if features.bclk is None else features.bclk.value
    if machine.model.vendor != "GenuineIntel" or TurboLayout.BASE not in features.turbo or bus is None:
        reason = Reason.VIRTUALISED if facts.hypervisor else Reason.NO_HARDWARE
        why = Unavailable(reason, "no known register has the turbo clocks (by number of active cores)")
        return why, why
    word = read_msr(machine, _RATIOS, facts)
    if isinstance(word, Unavailable):
        return word, word
    counted = TurboLayout.CORECOUNT in features.turbo
    buckets = _grouped(machine, word, facts) if counted else _single(machine, word, facts)
    if isinstance(buckets, Unavailable):
        return buckets, buckets
    if not buckets:
        why = Unavailable(Reason.NO_HARDWARE, f"MSR {_RATIOS:#x}: all turbo ratios read 0")
        return why, why
    cores = _cores(machine)
    first = min(buckets)
    last = min((count for count in buckets if count >= cores), default=max(buckets))
    origins = f"MSR {_RATIOS:#x} and MSR {_RATIOS_1:#x}" if counted else f"MSR {_RATIOS:#x}"
    return (KnownConstant(buckets[first] * bus * 1e6, f"{origins}: up to {first} active cores"),
            KnownConstant(buckets[last] * bus * 1e6, f"{origins}: up to {last} active cores, of {cores}"))


def _grouped(machine: Machine, word: int, facts: Circumstances) -> dict[int, int] | Unavailable:
    """Return the ratio by number of active cores, if MSR 0x1AE has the numbers."""
    counts = read_msr(machine, _RATIOS_1, facts)
    if isinstance(counts, Unavailable):
        return counts
    pairs = ((counts >> 8 * index & 0xFF, word >> 8 * index & 0xFF) for index in range(_BYTES))
    return {count: ratio for count, ratio in pairs if count and ratio}


def _single(machine: Machine, word: int, facts: Circumstances) -> dict[int, int]:
    """Return the ratio by number of active cores, one byte for each number."""
    ratios = {index + 1: word >> 8 * index & 0xFF for index in range(_BYTES)}
    first = _BYTES + 1
    for layout, address, used in _FURTHER:
        more = read_msr(machine, address, facts) if layout in machine.platform.features.turbo else 0
        if not isinstance(more, Unavailable):
            ratios |= {first + index: more >> 8 * index & 0xFF for index in range(used)}
        first += used
    return {count: ratio for count, ratio in ratios.items() if ratio}


def _cores(machine: Machine) -> int:
    """Return the number of the first package's cores that share its turbo ratios: those of the strongest type."""
    topology = machine.topology
    package = topology.instances(Scope.PACKAGE)[0]
    kinds = topology.core_types
    cores = {topology.row(Scope.CORE, cpu) for cpu in package.cpus if not kinds
             or topology.places[cpu].core_type == kinds[0]}
    return len(cores)
