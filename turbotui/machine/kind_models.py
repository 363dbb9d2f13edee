"""Processor models and architectures that were only ever made with one kind of core. What is not here may be either."""

from __future__ import annotations

from typing import Final

from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.platforms import platform_of

_INTEL_SEVERAL: Final = frozenset({
    "LAKEFIELD", "ALDERLAKE", "ALDERLAKE_L", "RAPTORLAKE", "RAPTORLAKE_P", "RAPTORLAKE_S", "METEORLAKE",
    "METEORLAKE_L", "ARROWLAKE", "ARROWLAKE_H", "ARROWLAKE_U", "LUNARLAKE_M", "PANTHERLAKE_L", "NOVALAKE",
    "NOVALAKE_L", "WILDCATLAKE_L",
})  # fmt: skip
"""Models with P and E cores, though some processors of them have only one (kernel arch/x86/include/asm/intel-family.h).

Every other model in `platform_models` has one kind.
"""

_AMD_ONE: Final[dict[int, tuple[range, ...]]] = {
    0x17: (range(0x100),),  # Zen to Zen 2
    0x18: (range(0x100),),  # Hygon
    0x19: (range(0x70), range(0x74, 0x78), range(0xA0, 0xB0)),  # Zen 3, Zen 4; 70h to 7Fh are mobile, 78h Phoenix 2
    0x1A: (range(0x20), range(0x40, 0x50), range(0x70, 0x78)),  # Turin, Granite Ridge, Strix Halo
}
"""Models of one kind by family. Of 1Ah, 20h to 2Fh and 60h to 6Fh are Strix, Krackan and Gorgon Point: Zen 5 and 5c."""

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
    if model.vendor == "GenuineIntel":
        symbol = platform_of(model).symbol
        if symbol:
            return f"the model ({symbol})" if symbol not in _INTEL_SEVERAL else ""
        if model.family in _OPEN or (model.family == _P6 and model.model >= _LAKEFIELD):
            return ""
        return f"the model (family {model.family:#x} model {model.model:#x})"
    if model.vendor in ("AuthenticAMD", "HygonGenuine"):
        ranges = _AMD_ONE.get(model.family, ())
        if model.family < _FIRST_ZEN or any(model.model in models for models in ranges):
            return f"the model (family {model.family:#x} model {model.model:#x})"
    return ""
