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


def arithmetic_data(operation: Operation, precision: Precision, size: int) -> bytes:
    """Multiplier, addend and starting value 1, each over a register of `size` bytes, then room for the result."""
    letter = "d" if precision is Precision.DOUBLE else "f"
    lanes = size // precision.value
    values = [_MULTIPLIERS[operation]] * lanes + [ADDEND] * lanes + [1.0] * lanes + [0.0] * lanes
    return struct.pack(f"<{len(values)}{letter}", *values)
