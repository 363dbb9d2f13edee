"""Which spec sheet belongs to a processor: the `sheet` of its row."""

from __future__ import annotations

from typing import Final

from turbotui.machine.cpumodel import AMD_VENDORS, CpuModel
from turbotui.machine.platforms import processor_of

_TILES: Final = "amx_tile"


def core_name(model: CpuModel, kind: str | None = None) -> str:
    """The microarchitecture of a processor's cores in `spec_sheets`; "" if they are in no table.

    Args:
        model: of the processor.
        kind: of the cores on machines with several: "P", "E", "LP"; None: the only kind.
    """
    processor = processor_of(model)
    if processor is None:
        return ""
    if model.vendor == "GenuineIntel":
        if _TILES in model.flags and not processor.amx:
            return ""  # a virtual machine that is given another model's number, but not its instructions
        return {"E": processor.sheet_e, "LP": processor.sheet_lp}.get(kind or "", processor.sheet)
    if kind is not None and model.vendor not in AMD_VENDORS:  # AMD's dense cores have the others' pipes
        return ""  # capacity classes: which core is which is not in the first CPU's model
    return processor.sheet
