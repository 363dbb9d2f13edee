"""Design limits of cores by microarchitecture, and spec sheets of whole chips, for theoretical roofs.

Everything here is theory: limits stated in documents, none of them measured. The numbers are in `cores.toml` and
`chips.toml`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import InternalError
from turbotui.quantities.facts import FactFile
from turbotui.quantities.precision import Precision
from turbotui.quantities.rows import WrongKindError, each, text, wholes

CORES: Final = FactFile("features/roofline/cores.toml")
CHIPS: Final = FactFile("features/roofline/chips.toml")
_FORMATS: Final = {"bfloat16": Precision.HALF, "int8": Precision.INT8}


@dataclass(frozen=True, slots=True)
class ProductUnit:
    """A unit that adds products of short numbers in lanes of 32 bits: dot products and matrix products."""

    name: str  # the name of the unit, the extension or the instruction
    bits: int  # the bits of one of its registers
    flops: int  # operations per cycle, multiplications and additions counted separately
    flag: str  # the flag in /proc/cpuinfo
    format: Precision  # the format of the multiplied numbers: HALF, which is bfloat16 here, or INT8


@dataclass(frozen=True, slots=True)
class Core:
    """The design limits of one core."""

    name: str  # microarchitecture
    widths: tuple[tuple[str, int], ...]  # ((name, bits), ...) of vector registers in ascending order, without scalar
    # arithmetic units that work on registers of that many bits, as {bits: (add, mul, fma)} instructions each cycle;
    # scalar under 0. add and mul are those issued together when half of the instructions are either
    units: Mapping[int, tuple[int, int, int]]
    # bytes loaded each cycle by {bits}, scalar doubles under 0; only widths that are documented
    load: Mapping[int, int]
    store: Mapping[int, int]  # bytes stored each cycle, in the same form
    both: Mapping[int, int]  # bytes each cycle of 2 loads : 1 store, in the same form
    document: str
    l2: int | None = None  # bytes each cycle between L1 and L2; None if not documented here
    l3: int | None = None  # bytes each cycle between L2 and L3; None if not documented here
    # bytes each cycle of an L2 that several cores share, all of them together; None for a core's own
    l2_shared: int | None = None
    # the flag in /proc/cpuinfo of half-precision arithmetic by the same units; "" if not documented here
    half: str = ""
    products: tuple[ProductUnit, ...] = ()  # units that add products of short numbers

    @property
    def fused(self) -> bool:
        """Whether there is a fused multiply-add."""
        return any(fma for _, _, fma in self.units.values())


@dataclass(frozen=True, slots=True)
class Chip:
    """A spec sheet."""

    name: str  # the word for --theory
    core: str  # name of a `Core`
    cores: int  # the number of cores on the chip
    hertz: float  # the clock of the paper's or sheet's numbers
    dram: float  # bytes per second of all memory channels
    document: str


@functools.cache
def core_of(name: str) -> Core:
    """Return the design limits of a microarchitecture. Raises InternalError if it is in no table."""
    return CORES.row(Core, name, {"name": name, **_table(CORES, name)}, widths=each(_width), units=_units,
                     load=_by_bits, store=_by_bits, both=_by_bits, products=each(_product))


def chip_of(name: str) -> Chip:
    """Return the spec sheet of a chip. Raises InternalError if it is in no table."""
    return CHIPS.row(Chip, name, {"name": name, **_table(CHIPS, name)})


def _table(file: FactFile, name: str) -> Mapping[str, object]:
    if (table := file.find(name)) is None:
        raise InternalError(f"turbotui/{file.path} has no table {name}")
    return table


def _width(value: object) -> tuple[str, int]:
    if not isinstance(value, list) or len(value) != 2:
        raise WrongKindError("the name of a register and its bits")
    return text(value[0]), wholes(value[1:])[0]


def _product(value: object) -> ProductUnit:
    if not isinstance(value, list) or len(value) != 5:
        raise WrongKindError("the name of a unit, its bits, operations, flag and format")
    bits, flops = wholes(value[1:3])
    return ProductUnit(text(value[0]), bits, flops, text(value[3]), _FORMATS[text(value[4])])


def _units(value: object) -> Mapping[int, tuple[int, int, int]]:
    rows = each(wholes)(value)
    if any(len(row) != 4 for row in rows):
        raise WrongKindError("lists of bits, add, mul and fma")
    return {bits: (add, mul, fma) for bits, add, mul, fma in rows}


def _by_bits(value: object) -> Mapping[int, int]:
    rows = each(wholes)(value)
    if any(len(row) != 2 for row in rows):
        raise WrongKindError("lists of bits and bytes")
    return {row[0]: row[1] for row in rows}
