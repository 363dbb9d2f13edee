"""Write the steps of an expression as text in the grammar of `quantities.expressions`, with few parentheses."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from turbotui.quantities.expressions import WORDS
from turbotui.quantities.grammar import Step, run_steps

_CHOICE, _OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _SIGN, _ATOM = range(9)
_STRENGTH: Mapping[str, int] = MappingProxyType({
    "or": _OR, "and": _AND, "<": _COMPARISON, "<=": _COMPARISON, ">": _COMPARISON, ">=": _COMPARISON,
    "==": _COMPARISON, "!=": _COMPARISON, "+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "%": _PRODUCT,
})
"""How strongly an operator binds, as in Python."""
_PLAIN: Final = re.compile(r"[A-Za-z_][\w.]*\Z", re.ASCII)


def text_of(steps: Sequence[Step]) -> str:
    """The text of steps; `parse_expression` turns the text into the same steps."""
    def leaf(step: Step) -> tuple[str, int]:
        return number_text(step.number) if step.kind == "number" else name_text(step.name), _ATOM

    return run_steps(steps, leaf, _joined)[0]


def number_text(value: float) -> str:
    """A number without a decimal point where it is whole: "100", "2.5", "1e-06"."""
    return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else repr(value)


def name_text(name: str) -> str:
    """A name, in quotes where it needs them."""
    return name if _PLAIN.match(name) and name not in WORDS else f"'{name}'"


def _joined(kind: str, operands: Sequence[tuple[str, int]]) -> tuple[str, int]:
    if kind == "negative":
        return f"-{_within(operands[0], _SIGN)}", _SIGN
    if kind == "not":
        return f"not {_within(operands[0], _NOT)}", _NOT
    if kind == "if":
        value, condition, otherwise = operands
        text = f"{_within(value, _OR)} if {_within(condition, _OR)} else {_within(otherwise, _CHOICE)}"
        return text, _CHOICE
    if (strength := _STRENGTH.get(kind)) is None:
        return f"{kind}({', '.join(text for text, _strength in operands)})", _ATOM
    if kind in {"and", "or"}:  # several operands form one step; a step inside another keeps its parentheses
        return f" {kind} ".join(_within(operand, strength + 1) for operand in operands), strength
    left = _within(operands[0], strength + 1 if strength == _COMPARISON else strength)
    return f"{left} {kind} {_within(operands[1], strength + 1)}", strength


def _within(operand: tuple[str, int], least: int) -> str:
    text, strength = operand
    return text if strength >= least else f"({text})"
