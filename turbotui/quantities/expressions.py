"""Arithmetic over signals and events, as users write derived columns: "instructions / cycles".

The grammar is the part of Python's that `quantities.grammar` accepts: + - * / %, signs, parentheses, min() and max(),
d_ratio(A, B) which is 0 where B is, comparisons (1 if true, otherwise 0) with `and`, `or` and `not`, and `A if B else
C`. A name is a word with dots, or any text in single quotes, which names with '/' or '-' need: 'cpu/event=0x3c/',
'cache-misses'. Conditions over such expressions are in `quantities.filters`.

The result of an unknown value is unknown, unless the known values decide alone: 0 and anything, 1 or anything, the
    branch of a choice that is not taken, and the dividend of d_ratio() with divisor 0.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.quantities.grammar import (
    FUNCTIONS,
    RATIO,
    ExpressionError,
    Step,
    Token,
    arithmetic_steps,
    function_or_name,
    run_steps,
    syntax_of,
)

_LEXEME = (
    r"(?a)\s*(?:(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_][\w.]*)|'(?P<quoted>[^']+)'"
    r"|(?P<sign>[<>=!]=|[-+*/%(),<>]))"
)
WORDS: Final = frozenset({"if", "else", "and", "or", "not"})
"""A text that is a name only in quotes."""
_DIVIDE: Final = ("/", RATIO)

Dimension: TypeAlias = Mapping[str, int]
"""Unit symbols with their exponents: {"B": 1, "s": -1}; empty for a plain number."""


_Operand: TypeAlias = "tuple[float | None, str, str]"
"""A value, what it is called, and why it is unknown."""


class UnitError(UsageError):
    """An expression that adds or compares quantities of different units."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression."""

    text: str  # as written
    names: tuple[str, ...]  # every name in it, each once, in the order of the text
    steps: tuple[Step, ...]

    def evaluate(self, values: Mapping[str, float | None]) -> float | None:
        """The value; None where a name that matters is unknown, a divisor is zero, or the result exceeds a float."""
        def leaf(step: Step) -> float | None:
            return step.number if step.kind == "number" else values.get(step.name)  # a traced number keeps its origin

        result = run_steps(self.steps, leaf, result_of)
        return None if result is None or not math.isfinite(result) else result

    def fault(self, values: Mapping[str, float | None], title: str = "") -> str:
        """The reason why `evaluate` has no value, as a clause; "" where no divisor is zero.

        Args:
            values: of each name.
            title: what the clause calls the expression; "" for its text.
        """
        def leaf(step: Step) -> _Operand:
            if step.kind == "number":
                return step.number, f"{step.number:g}", ""
            return values.get(step.name), step.name, ""

        def joined(kind: str, operands: Sequence[_Operand]) -> _Operand:
            value = result_of(kind, [operand[0] for operand in operands])
            return value, "", "" if value is not None else _why_unknown(kind, operands)

        quotient, _name, why = run_steps(self.steps, leaf, joined)
        if quotient is not None and not math.isfinite(quotient):
            why = "it is too large for a number"
        return f"{title or self.text}: {why}" if why else ""

    def divides_by(self, names: Collection[str]) -> bool:
        """Whether one of these names occurs in a divisor."""
        divisors: list[bool] = []

        def joined(kind: str, operands: Sequence[bool]) -> bool:
            if kind in _DIVIDE:
                divisors.append(operands[1])
            return any(operands)

        run_steps(self.steps, lambda step: step.name in names, joined)
        return any(divisors)

    def dimension(self, units: Mapping[str, Dimension]) -> Dimension:
        """The unit of the value.

        Args:
            units: of each name; a missing name is a plain number.

        Raises:
            UnitError: it adds, subtracts or compares different units.
        """
        return run_steps(self.steps, lambda step: units.get(step.name, {}), self._joined)

    def _joined(self, kind: str, operands: list[Dimension]) -> Dimension:
        if kind in {"and", "or", "not"}:
            return {}
        if kind == "if":
            del operands[1]
            # A plain number is compatible with any unit.
            operands = [operand for operand in operands if operand] or operands[:1]
        first = operands[0]
        if kind in {"*", *_DIVIDE}:
            sign = 1 if kind == "*" else -1
            both = {unit: first.get(unit, 0) + sign * operands[1].get(unit, 0) for unit in {**first, **operands[1]}}
            return {unit: power for unit, power in both.items() if power}
        for other in operands[1:]:
            if dict(other) != dict(first):
                raise UnitError(f"The expression {self.text!r} joins {unit_text(first)} and {unit_text(other)}.")
        return {} if kind in _COMPARISONS else first


_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = MappingProxyType(
    {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne})

_ARITHMETIC: Mapping[str, Callable[[float, float], float]] = MappingProxyType(
    {"+": operator.add, "-": operator.sub, "*": operator.mul})


def result_of(kind: str, operands: Sequence[float | None]) -> float | None:
    """The value of one step of an expression; None where it is unknown."""
    if kind == "if":
        value, condition, otherwise = operands
        return None if condition is None else otherwise if condition == 0.0 else value
    known = [operand for operand in operands if operand is not None]
    if kind == RATIO and operands[1] is not None and operands[1] == 0.0:
        return 0.0
    if kind in {"and", "or"}:
        decides = kind == "or"
        if any((value != 0.0) is decides for value in known):
            return float(decides)
        return None if len(known) < len(operands) else float(not decides)
    return None if len(known) < len(operands) else _result(kind, known)


def _result(kind: str, operands: Sequence[float]) -> float | None:
    if kind in {"min", "max"}:
        return min(operands) if kind == "min" else max(operands)
    first, second = operands[0], operands[-1]
    if (compared := _COMPARISONS.get(kind)) is not None:
        return float(compared(first, second))
    if (joined := _ARITHMETIC.get(kind)) is not None:
        return joined(first, second)
    if kind in {"negative", "not"}:
        return -first if kind == "negative" else float(first == 0.0)
    if kind == "%":
        return _remainder(first, second)
    return None if second == 0.0 else first / second


def _remainder(first: float, second: float) -> float | None:
    """The remainder of a division of whole numbers, with the sign of the dividend, as in C."""
    if not (math.isfinite(first) and math.isfinite(second)) or not int(second):
        return None
    return math.fmod(int(first), int(second))


def _why_unknown(kind: str, operands: Sequence[_Operand]) -> str:
    """Why the value of a step is unknown; "" if the reason is an unknown name."""
    if kind == "if":
        value, condition, otherwise = operands
        chosen = condition if condition[0] is None else otherwise if condition[0] == 0.0 else value
        return chosen[2]
    unknown = [operand for operand in operands if operand[0] is None]
    if unknown:
        return next((why for _value, _name, why in unknown if why), "")
    return f"{operands[-1][1] or 'a divisor'} is 0 in this interval"


def unit_text(dimension: Dimension) -> str:
    """A unit as people write it: "B/s", "1/s"; "1" for a plain number."""
    above = [unit if power == 1 else f"{unit}^{power}" for unit, power in sorted(dimension.items()) if power > 0]
    below = [unit if power == -1 else f"{unit}^{-power}" for unit, power in sorted(dimension.items()) if power < 0]
    return "·".join(above or ["1"]) + "".join(f"/{unit}" for unit in below)


def parse_expression(text: str) -> Expression:
    """Parse an expression.

    Raises:
        ExpressionError: the text does not follow the grammar; the message names the position.
    """
    tokens = _tokens(text)
    steps = arithmetic_steps(text, tokens, syntax_of(text, tokens), choices=True)
    return Expression(text, tuple(dict.fromkeys(step.name for step in steps if step.kind == "name")), steps)


def _tokens(text: str) -> list[Token]:
    tokens: list[Token] = []
    lexeme = re.compile(_LEXEME)
    end = 0
    while text[end:].strip():
        start = end + len(text[end:]) - len(text[end:].lstrip())
        if (match := lexeme.match(text, end)) is None:
            raise ExpressionError(text, start, f"{text[start]!r} begins no number, name or operator")
        kind = match.lastgroup or ""
        if kind == "name" and match[kind] in WORDS:
            kind = "sign"
        tokens.append(Token("name" if kind == "quoted" else kind, match[match.lastgroup or ""], start))
        end = match.end()
    return function_or_name(tokens, (*FUNCTIONS, RATIO))
