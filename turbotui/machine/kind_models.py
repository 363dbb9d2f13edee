"""Processor models and architectures that were only ever made with one kind of core."""

from __future__ import annotations

from typing import Final

from turbotui.machine.cpumodel import AMD_VENDORS, CpuModel
from turbotui.machine.platforms import processor_of

_P6, _LAKEFIELD = 6, 0x8A
_OPEN: Final = frozenset({18, 19})
"""Intel families that new models join; of family 6, numbers below Lakefield's are closed, as are older families."""

_FIRST_ZEN: Final = 0x17
_ARCHITECTURES: Final = frozenset({"s390x", "ppc64", "loongarch64"})


def one_kind(model: CpuModel) -> str:
    """The model or architecture that has one kind of core, in words; "" where it may have several, or is not known."""
    if model.architecture in _ARCHITECTURES:
        return f"the architecture ({model.architecture})"
    if model.family is None or model.model is None:
        return ""
    numbers = f"the model (family {model.family:#x} model {model.model:#x})"
    processor = processor_of(model)
    if processor is not None and processor.kinds:
        one = f"the model ({processor.symbol})" if processor.symbol else numbers
        return one if processor.kinds == "one" else ""
    if model.vendor == "GenuineIntel":
        return "" if model.family in _OPEN or (model.family == _P6 and model.model >= _LAKEFIELD) else numbers
    return numbers if model.vendor in AMD_VENDORS and model.family < _FIRST_ZEN else ""
