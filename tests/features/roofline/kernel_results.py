"""What the arithmetic kernels leave in their registers, by the same steps in Python."""

from __future__ import annotations

import struct

import pytest

from turbotui.machine.code.shapes import ADDEND, Operation, arithmetic_data
from turbotui.quantities.precision import Precision


def check(result: bytes, operation: Operation, precision: Precision, steps: int, architecture: str) -> None:
    """The first stream's value in every lane, by the same steps in Python."""
    letter = "d" if precision is Precision.DOUBLE else "f"
    values = struct.unpack(f"<{len(result) // precision.value}{letter}", result)
    multiplier = struct.unpack(f"<{letter}", arithmetic_data(operation, precision, precision.value)[: precision.value])
    expected = 1.0
    for _ in range(steps):
        match operation:
            case Operation.FMA if architecture == "aarch64":
                expected += multiplier[0] * ADDEND
            case Operation.FMA:
                expected = expected * multiplier[0] + ADDEND
            case Operation.ADD | Operation.ADD_MUL:
                expected += ADDEND
            case Operation.MUL:
                expected *= multiplier[0]
    # 1e-6 of the result may be lost to rounding in single precision at each of 100 steps of about 1e-6 or 1e-7
    tolerance = 1e-12 if precision is Precision.DOUBLE else 1e-5
    assert values == pytest.approx([expected] * len(values), rel=tolerance)
    if operation is not Operation.FMA or architecture == "aarch64":
        assert expected > 1.0
