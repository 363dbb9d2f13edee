"""The highest memory bandwidth of families of processors, by the vendors' data sheets.

Each row of the tables in `data` has the largest memory configuration of any processor of the family, which is an upper
limit and not what a particular machine has. Families whose vendors do not build whole chips (Arm's cores) have none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import InternalError
from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.host import Host
from turbotui.machine.platforms import processor_of
from turbotui.machine.processors import Processor
from turbotui.quantities.plain_numbers import integer

_BYTES: Final = 8  # a channel of 64 bits, also for LPDDR
_SHEETS: Final[Mapping[str, str]] = {
    "GenuineIntel": "Intel product specifications (ark.intel.com), memory specifications of the family",
    "AuthenticAMD": "AMD product specifications of the family",
}


@dataclass(frozen=True, slots=True)
class FamilyMemory:
    """The largest memory configuration of a family of processors."""

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
    return FamilyMemory(f"{count} channels of {modules}", count, rate, count * _BYTES * rate * 1e6, source)
