"""Corrections of metric expressions that are wrong in the vendors' tables on every processor."""

from __future__ import annotations

import re
from typing import Final

_ENERGY: Final = r"power@energy\-"
_UNIT: Final = re.compile(r"(?<![\w.\\])(?:61|15\.6)(?![\w.])")
_MICROJOULES: Final = repr(2.0**-32 * 1e6)
ENERGY: Final = ("Its table takes a count of RAPL for 61 or 15.6 uJ, the register's unit; the kernel counts 2^-32 J "
                 "(arch/x86/events/rapl.c), which is taken here, so it is W. perf stat prints 262,144 times as much, "
                 "or 65,536 times for 15.6 uJ.")


def corrected_expression(text: str) -> str:
    """Return the corrected expression.

    Intel's tables multiply the kernel's counts of energy by the unit of the register behind them: 61 uJ, 15.6 uJ of
    DRAM (tma_info_system_power). The kernel gives them in 2^-32 J on every processor.
    """
    return _UNIT.sub(_MICROJOULES, text) if _ENERGY in text else text


def note_of(text: str) -> str:
    """Return a remark on the expression for readers of the metric, or ""."""
    return ENERGY if corrected_expression(text) != text else ""
