"""Sums of floats that reach a cell are rounded alike by every Python: `sum` is compensated from 3.12 on."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from turbotui.quantities.signals import Reduce
from turbotui.quantities.traced import Number, Traced, added
from turbotui.sampling.arithmetic import REDUCERS, risen_rate

PACKAGE = Path(__file__).parents[2] / "turbotui"
WHOLE_NUMBERS = {
    "sampling/assembly.py": "ns",
    "sampling/conservation.py": "ns",
    "sampling/event_completion.py": "a count",
    "sampling/history.py": "a count",
    "sampling/interval.py": "raw counts",
    "sampling/plan.py": "descriptors",
    "sampling/rows.py": "raw counts that are whole",
    "sampling/sampler.py": "a count",
    "quantities/histograms.py": "counts of waits",
    "quantities/moments.py": "seconds that a user types",
}
"""Modules of columns and intervals that add whole numbers, and which."""


def test_columns_and_intervals_add_floats_by_fsum_or_in_order() -> None:
    result = set()
    for path in sorted([*(PACKAGE / "quantities").rglob("*.py"), *(PACKAGE / "sampling").rglob("*.py")]):
        calls = [node.func for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
        if any(isinstance(call, ast.Name) and call.id == "sum" for call in calls):
            result.add(str(path.relative_to(PACKAGE)))
    assert result == WHOLE_NUMBERS.keys()


def test_a_sum_is_rounded_once_whatever_the_order() -> None:
    items = [0.1] * 10 + [1e16, 1.0, -1e16]
    assert REDUCERS[Reduce.SUM](items) == 2.0
    assert REDUCERS[Reduce.MEAN]([0.1] * 10) == 0.1
    assert risen_rate([1] * 10, [10.0] * 10, None) == 1.0


def test_a_sum_of_traced_numbers_keeps_its_arithmetic() -> None:
    result = added([Traced(1.0, Number(1.0)), Traced(2.0, Number(2.0))])
    assert isinstance(result, Traced)
    assert result == pytest.approx(3.0)
