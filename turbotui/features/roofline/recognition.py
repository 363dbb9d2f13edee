"""Finds a processor's design limits: the `sheet` of its row."""

from __future__ import annotations

from typing import Final

from turbotui.machine.cpumodel import AMD_VENDORS, CpuModel
from turbotui.machine.platforms import processor_of

_TILES: Final = "amx_tile"


def core_name(model: CpuModel, kind: str | None = None) -> str:
    """Return the microarchitecture of a processor's cores in `spec_sheets`; "" if they are in no table.

    Args:
        model: the processor's model.
        kind: the core type on machines with several, "P", "E" or "LP"; None for the only type.
    """
    processor = processor_of(model)
    if processor is None:
        return ""
    if model.vendor == "GenuineIntel":
        if _TILES in model.flags and not processor.amx:
            return ""  # a virtual machine may have another model's number without its instructions
        return {"E": processor.sheet_e, "LP": processor.sheet_lp}.get(kind or "", processor.sheet)
    if kind is not None and model.vendor not in AMD_VENDORS:  # AMD's dense cores have the same pipes as the others
        return ""  # capacity classes: the first CPU's model does not tell the other cores' models
    return processor.sheet
