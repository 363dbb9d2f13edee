"""Facts about processors by model number, from the rows of `data/intel.toml`, `amd.toml` and `arm.toml`.

A row is read when its processor is encountered. It names rows of other tables by their headers.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.quantities.facts import FactFile
from turbotui.quantities.plain_numbers import hexadecimal
from turbotui.quantities.rows import WrongKindError, text

INTEL: Final = FactFile("machine/data/intel.toml")
AMD: Final = FactFile("machine/data/amd.toml")
ARM: Final = FactFile("machine/data/arm.toml")


@dataclass(frozen=True, slots=True)
class Processor:
    """One row: an Intel model, a range of AMD's models, or an Arm core."""

    key: str  # "GenuineIntel-6-8F", "AuthenticAMD-25-10-1F" (first and last model), "0x41-0xd4f"
    symbol: str = ""  # the kernel's symbol without "INTEL_" (arch/x86/include/asm/intel-family.h)
    name: str = ""  # microarchitectures of the cores, or the core's own name; may be empty
    features: str = ""  # name of its feature set
    l2: tuple[str, ...] = ()  # names of L2 events by core PMU: cpu_core (or cpu), cpu_atom, cpu_lowpower
    kinds: str = ""  # "one" or "several" kinds of core; "" if not known
    memory: str = ""  # largest configuration of a package, "8 x DDR5-4800"; "" if not known
    memory_rate: float = 0.0  # bytes per second of a package, where only that is known; `memory_text` says it to people
    memory_text: str = ""
    memory_document: str = ""
    memory_file: str = ""  # is there only where the cores are in the chip that the rate is of
    # metrics, metrics_e, metrics_lp: how floating-point operations are counted, on E and LP cores
    metrics: str = ""
    metrics_e: str = ""
    metrics_lp: str = ""
    # sheet, sheet_e, sheet_lp: design limits of the cores, likewise
    sheet: str = ""
    sheet_e: str = ""
    sheet_lp: str = ""
    amx: bool = False  # whether the cores have matrix tiles
    complexes: int = 0  # core complexes in each of AMD's core dies; 0: it is not made of such, or it is not known
    licences: bool = False  # whether the cores count their power licences (CORE_POWER.LVL0_TURBO_LICENSE to LVL2)


@functools.cache
def intel_processor(family: int, model: int) -> Processor | None:
    """The row of an Intel model."""
    return _processor(INTEL, f"GenuineIntel-{family}-{model:02X}")


@functools.cache
def amd_processor(vendor: str, family: int, model: int) -> Processor | None:
    """The row of the models of AMD or Hygon that one is among."""
    start = f"{vendor}-{family}-"
    for key in AMD.names():
        if key.startswith(start):
            first, _, last = key.removeprefix(start).partition("-")
            if hexadecimal(first) <= model <= hexadecimal(last):
                return _processor(AMD, key)
    return None


def arm_core(implementer: int, part: int) -> Processor | None:
    """The row of an Arm core by MIDR_EL1[31:24] and [15:4]."""
    return _processor(ARM, f"0x{implementer:02x}-0x{part:03x}")


def arm_implementer(implementer: int) -> str:
    """The vendor of a core by MIDR_EL1[31:24]; the number where no vendor is known by it."""
    processor = _processor(ARM, f"0x{implementer:02x}")
    return f"implementer {implementer:#04x}" if processor is None else processor.name


def processors(file: FactFile) -> Mapping[str, Processor]:
    """Every row of a file, by key."""
    return {key: _row(file, key, values) for key, values in file.tables()}


def _processor(file: FactFile, key: str) -> Processor | None:
    values = file.find(key)
    return None if values is None else _row(file, key, values)


def _row(file: FactFile, key: str, values: dict[str, object]) -> Processor:
    return file.row(Processor, key, {"key": key, **values}, kinds=_kinds)


def _kinds(value: object) -> str:
    if value not in ("one", "several"):
        raise WrongKindError('"one" or "several"')
    return text(value)
