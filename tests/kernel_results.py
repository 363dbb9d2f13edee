"""What the arithmetic kernels leave in their registers, by the same steps in Python."""

from __future__ import annotations

import struct

import pytest

from turbotui.machine.code.shapes import Operation, arithmetic_data
from turbotui.quantities.precision import Precision


def check(result: bytes, operation: Operation, precision: Precision, steps: int, architecture: str) -> None:
    """The first stream's value in every lane, by the same steps in Python."""
    letter = {Precision.DOUBLE: "d", Precision.SINGLE: "f", Precision.HALF: "e"}[precision]
    values = struct.unpack(f"<{len(result) // precision.value}{letter}", result)
    data = arithmetic_data(operation, precision, precision.value)
    multiplier, addend = struct.unpack(f"<{letter}{letter}", data[: 2 * precision.value])
    expected = 1.0
    for _ in range(steps):
        match operation:
            case Operation.FMA if architecture == "aarch64":
                expected += multiplier * addend
            case Operation.FMA:
                expected = expected * multiplier + addend
            case Operation.ADD | Operation.ADD_MUL:
                expected += addend
            case Operation.MUL:
                expected *= multiplier
    # 1e-6 of the result may be lost to rounding in single precision at each of 100 steps of about 1e-6 or 1e-7; the
    # numbers of half precision are chosen so that each step is exact
    tolerance = {Precision.DOUBLE: 1e-12, Precision.SINGLE: 1e-5, Precision.HALF: 0.0}[precision]
    assert values == pytest.approx([expected] * len(values), rel=tolerance, abs=tolerance)
    moves = operation is not Operation.FMA or architecture == "aarch64"
    if moves and not (precision is Precision.HALF and operation is Operation.MUL):
        assert expected > 1.0
