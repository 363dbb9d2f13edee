"""The theoretical bandwidth of a machine's memory: channels times transfers a second times width.

The number is from what firmware and kernel tell of this machine, else the most that its family of processors supports,
which is marked as an upper limit. If neither is known there is no number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import InternalError
from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.host import Host
from turbotui.machine.machine import Machine
from turbotui.machine.memory import MemoryFacts, Module, channels_named, read_memory
from turbotui.machine.platforms import processor_of
from turbotui.machine.processors import Processor
from turbotui.quantities.plain_numbers import integer
from turbotui.quantities.scope import Scope
from turbotui.quantities.sentences import several

_CHANNEL_BYTES: Final = 8  # a channel of 64 bits, also for LPDDR
_SHEETS: Final[Mapping[str, str]] = {
    "GenuineIntel": "Intel product specifications (ark.intel.com), memory specifications of the family",
    "AuthenticAMD": "AMD product specifications of the family",
}


@dataclass(frozen=True, slots=True)
class FamilyMemory:
    """The largest memory configuration of any processor of a family, which a particular machine need not have.

    Families whose vendors do not build whole chips (Arm's cores) have none.
    """

    words: str  # the words for people: "8 channels of DDR5-4800"
    channels: int  # channels of 64 bits of one package; 0 if the document states only the bandwidth
    mts: int  # million transfers a second
    rate: float  # bytes per second of one package
    source: str  # the document


def family_memory(host: Host, model: CpuModel) -> FamilyMemory | None:
    """Return the largest memory configuration of a processor's family; None if no table has it."""
    if (processor := processor_of(model)) is None:
        return None
    if processor.memory:
        return configured_memory(processor, _SHEETS[model.vendor])
    if not processor.memory_rate or (processor.memory_file and not host.exists(processor.memory_file)):
        return None
    return FamilyMemory(processor.memory_text, 0, 0, processor.memory_rate, processor.memory_document)


def configured_memory(processor: Processor, source: str) -> FamilyMemory:
    """Parse a configuration such as "8 x DDR5-4800"."""
    channels, times, modules = processor.memory.partition(" x ")
    kind, _, mts = modules.rpartition("-")
    if not (times and kind and channels.isdecimal() and mts.isdecimal()):
        raise InternalError(f'{processor.key}: memory is {processor.memory!r}, and has to be like "8 x DDR5-4800"')
    count, rate = integer(channels), integer(mts)
    return FamilyMemory(f"{count} channels of {modules}", count, rate, count * _CHANNEL_BYTES * rate * 1e6, source)


_BYTES = 8  # bytes of a channel of unknown width: 64 bits


@dataclass(frozen=True, slots=True)
class Dram:
    """The theoretical bandwidth of memory."""

    rate: float | None  # bytes per second of the whole machine; None if unknown
    at_most: bool  # whether the rate is only an upper limit
    note: str  # a sentence on its source, or why it is unknown

    def of(self, share: float) -> float | None:
        """Return the bytes per second of a share of the packages."""
        return None if self.rate is None else self.rate * share


def dram_of(machine: Machine) -> Dram:
    """Return the bandwidth of a machine's memory, or why it is unknown."""
    if machine.model.hypervisor:
        return Dram(None, False, "no DRAM roof: a virtual machine does not show its host's memory channels")
    packages = max(1, len(machine.topology.instances(Scope.PACKAGE)))
    return bandwidth(read_memory(machine.host), family_memory(machine.host, machine.model), packages)


def bandwidth(facts: MemoryFacts, family: FamilyMemory | None, packages: int) -> Dram:
    """Compute the bandwidth from a machine's facts, else from the limits of its family, if that is known."""
    speeds = {module.mts for module in facts.modules}
    if facts.modules and None not in speeds and all(module.bits for module in facts.modules):
        return _by_modules(facts, family, packages)
    why = facts.why or "SMBIOS does not say how fast or how wide the modules are"
    if family is None:
        return Dram(None, False, f"no DRAM roof: {why}, and no table here has the memory of this family of processors")
    if facts.channels and family.mts:
        rate = facts.channels * _BYTES * family.mts * 1e6
        return Dram(rate, True, f"DRAM: at most {several(facts.channels, 'channel')} (EDAC) at {family.mts} MT/s, the "
                                f"fastest that the family supports ({family.source}): {why}")
    each = f" on each of {packages} packages" if packages > 1 else ""
    return Dram(family.rate * packages, True, f"DRAM: at most {family.words}{each}, the maximum of the family "
                                              f"({family.source}), not this machine's modules: {why}")


def _by_modules(facts: MemoryFacts, family: FamilyMemory | None, packages: int) -> Dram:
    modules = facts.modules
    channels = channels_named(modules, packages)
    kinds = sorted({(module.mts or 0, module.bits or 0) for module in modules}, reverse=True)
    words = " and ".join(f"{mts} MT/s x {bits} bits" for mts, bits in kinds)
    if channels:
        rate = math.fsum(_channel_rate(group) for group in channels)
        return Dram(rate, False, f"DRAM: {several(len(channels), 'channel')} with {several(len(modules), 'module')} at "
                                 f"{words}, as SMBIOS type 17 says")
    fastest = max(_channel_rate((module,)) for module in modules)
    if facts.channels:
        # Firmware names no channels but the kernel counts them: each counts as fast and wide as the fastest module.
        return Dram(facts.channels * fastest, len({(memory.bits, memory.mts) for memory in modules}) > 1,
                    f"DRAM: {several(facts.channels, 'channel')} (EDAC) at {words} (SMBIOS type 17)")
    rate = math.fsum(_channel_rate((module,)) for module in modules)
    limits = [f"one channel for each of {several(len(modules), 'module')}"]
    if family is not None and family.channels and family.channels * packages * fastest < rate:
        rate = family.channels * packages * fastest
        limits = [f"{several(family.channels * packages, 'channel')}, the most of the family ({family.source})"]
    return Dram(rate, True, f"DRAM: at most {limits[0]} at {words}: SMBIOS type 17 does not name the modules' channels")


def _channel_rate(modules: tuple[Module, ...]) -> float:
    """Return a channel's bytes per second: as wide as its widest module, as fast as its slowest."""
    return max(module.bits or 0 for module in modules) / 8 * min(module.mts or 0 for module in modules) * 1e6
