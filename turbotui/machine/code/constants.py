"""The three registers' worth of data that an arithmetic kernel starts from."""

from __future__ import annotations

import struct

from turbotui.machine.code.shapes import Operation
from turbotui.quantities.precision import Precision

_MULTIPLIERS = {
    # x <- x * a + b has its fixed point near 1; x <- x * a alone grows by e^10 in a long round: neither reaches
    # denormal numbers or infinity, where some cores are slower.
    Operation.FMA: 0.999999,
    Operation.ADD: 1.0,
    Operation.MUL: 1.0000001,
    Operation.ADD_MUL: 1.0000001,
}
ADDEND = 1e-6  # with 0.999999 the fixed point of x * a + b is 1
_HALF = {
    # Halves have 11 bits: nearer to 1 there is only 1 itself, and 1e-6 is denormal. Sums stay where a step is too
    # small.
    Operation.FMA: (0.5, 0.5),
    Operation.ADD: (1.0, 2.0**-10),
    Operation.MUL: (1.0, 1.0),
    Operation.ADD_MUL: (1.0, 2.0**-10),
}


def arithmetic_data(operation: Operation, precision: Precision, size: int) -> bytes:
    """Multiplier, addend and starting value 1, each over a register of `size` bytes, then room for the result."""
    letter = {Precision.DOUBLE: "d", Precision.SINGLE: "f", Precision.HALF: "e"}[precision]
    lanes = size // precision.value
    multiplier, addend = _MULTIPLIERS[operation], ADDEND
    if precision is Precision.HALF:
        multiplier, addend = _HALF[operation]
    values = [multiplier] * lanes + [addend] * lanes + [1.0] * lanes + [0.0] * lanes
    return struct.pack(f"<{len(values)}{letter}", *values)


def tile_data() -> bytes:
    """What a matrix kernel starts from: the configuration of all tiles, two tiles, and room for the result, 1 KiB each.

    The configuration is palette 1 with 16 rows of 64 bytes (Intel SDM vol. 1, 18.3); the tiles hold bfloat16 of 2^-7
    and 1, so that a sum in single precision stays exact until 2^17 steps.
    """
    configuration = struct.pack("<BB14x16H16B", 1, 0, *[64] * 8, *[0] * 8, *[16] * 8, *[0] * 8)
    left, right = struct.pack("<H", 0x3C00), struct.pack("<H", 0x3F80)
    return configuration.ljust(1024, b"\0") + left * 512 + right * 512 + bytes(1024)
