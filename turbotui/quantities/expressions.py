"""Arithmetic over signals and events, as people write derived columns: "instructions / cycles".

The grammar is Python's, as far as `quantities.grammar` lets it in: + - * /, signs, parentheses, min() and max(). A name
is a word with dots, or anything between single quotes, which is how names that hold '/' or '-' are written:
'cpu/event=0x3c/', 'cache-misses'. Conditions over such expressions are in `quantities.filters`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from typing import TypeAlias

from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.quantities.grammar import ExpressionError, Step, Token, arithmetic_steps, function_or_name, syntax_of

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_][\w.]*)|'(?P<quoted>[^']+)'"
    r"|(?P<sign>[-+*/(),]))",
    re.ASCII,
)

Dimension: TypeAlias = Mapping[str, int]
"""Unit symbols with their exponents: {"B": 1, "s": -1}; empty for a plain number."""


class UnitError(UsageError):
    """An expression that adds or compares quantities of different units."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression.

    Attributes:
        text: as written.
        names: every name in it, each once, in the order of the text.
    """

    text: str
    names: tuple[str, ...]
    steps: tuple[Step, ...]

    def evaluate(self, values: Mapping[str, float | None]) -> float | None:
        """The value; None where a name is unknown, a divisor is zero, or the result exceeds a float."""
        stack: list[float] = []
        for step in self.steps:
            if step.kind == "number":
                stack.append(step.number)
            elif step.kind == "name":
                value = values.get(step.name)
                if value is None:
                    return None
                stack.append(value)  # as it is: a number may remember where it came from
            else:
                operands = stack[-step.count :]
                del stack[-step.count :]
                if step.kind == "/" and operands[1] == 0.0:
                    return None
                stack.append(_result(step.kind, operands))
        return stack[0] if math.isfinite(stack[0]) else None

    def fault(self, values: Mapping[str, float | None]) -> str:
        """What keeps `evaluate` from a value, as a clause; "" where it is not a divisor of zero.

        Args:
            values: of each name.
        """
        if any(values.get(name) is None for name in self.names):
            return ""
        stack: list[tuple[float, str]] = []
        for step in self.steps:
            if step.kind == "number":
                stack.append((step.number, f"{step.number:g}"))
            elif step.kind == "name":
                stack.append((float(values[step.name] or 0.0), step.name))
            else:
                operands = stack[-step.count :]
                del stack[-step.count :]
                if step.kind == "/" and operands[1][0] == 0.0:
                    return f"{self.text}: {operands[1][1] or 'a divisor'} is 0 in this interval"
                stack.append((_result(step.kind, [value for value, _name in operands]), ""))
        return "" if math.isfinite(stack[0][0]) else f"{self.text} is too large for a number"

    def divides_by(self, names: Collection[str]) -> bool:
        """Whether one of these names has a part in a divisor."""
        stack: list[bool] = []
        for step in self.steps:
            if step.kind in {"number", "name"}:
                stack.append(step.name in names)
                continue
            operands = stack[-step.count :]
            del stack[-step.count :]
            if step.kind == "/" and operands[1]:
                return True
            stack.append(any(operands))
        return False

    def dimension(self, units: Mapping[str, Dimension]) -> Dimension:
        """The unit of the value.

        Args:
            units: of each name; a name that is not there is a plain number.

        Raises:
            UnitError: it adds, subtracts or compares different units.
        """
        stack: list[Dimension] = []
        for step in self.steps:
            if step.kind == "number":
                stack.append({})
            elif step.kind == "name":
                stack.append(units.get(step.name, {}))
            else:
                operands = stack[-step.count :]
                del stack[-step.count :]
                stack.append(self._joined(step.kind, operands))
        return stack[0]

    def _joined(self, kind: str, operands: list[Dimension]) -> Dimension:
        first = operands[0]
        if kind in "*/":
            sign = 1 if kind == "*" else -1
            both = {unit: first.get(unit, 0) + sign * operands[1].get(unit, 0) for unit in {**first, **operands[1]}}
            return {unit: power for unit, power in both.items() if power}
        for other in operands[1:]:
            if dict(other) != dict(first):
                raise UnitError(f"The expression {self.text!r} joins {unit_text(first)} and {unit_text(other)}.")
        return first


def _result(kind: str, operands: list[float]) -> float:
    match kind:
        case "+":
            return operands[0] + operands[1]
        case "-":
            return operands[0] - operands[1]
        case "*":
            return operands[0] * operands[1]
        case "/":
            return operands[0] / operands[1]
        case "negative":
            return -operands[0]
        case "min":
            return min(operands)
        case _:
            return max(operands)


def unit_text(dimension: Dimension) -> str:
    """A unit as people write it: "B/s", "1/s", "1" for a plain number."""
    above = [unit if power == 1 else f"{unit}^{power}" for unit, power in sorted(dimension.items()) if power > 0]
    below = [unit if power == -1 else f"{unit}^{-power}" for unit, power in sorted(dimension.items()) if power < 0]
    return "·".join(above or ["1"]) + "".join(f"/{unit}" for unit in below)


def parse_expression(text: str) -> Expression:
    """Parse an expression.

    Raises:
        ExpressionError: it does not follow the grammar; the message names the position.
    """
    tokens = _tokens(text)
    steps = arithmetic_steps(text, tokens, syntax_of(text, tokens))
    return Expression(text, tuple(dict.fromkeys(step.name for step in steps if step.kind == "name")), steps)


def _tokens(text: str) -> list[Token]:
    found: list[Token] = []
    end = 0
    while text[end:].strip():
        start = end + len(text[end:]) - len(text[end:].lstrip())
        match = _TOKEN.match(text, end)
        if match is None:
            raise ExpressionError(text, start, f"{text[start]!r} begins no number, name or operator")
        kind = match.lastgroup or ""
        found.append(Token("name" if kind == "quoted" else kind, match[kind], start))
        end = match.end()
    return function_or_name(found)
