"""Arithmetic over signals and events, as people write derived columns: "instructions / cycles".

Grammar: sum := product (('+' | '-') product)*; product := factor (('*' | '/') factor)*; factor := ('+' | '-') factor |
number | name | ('min' | 'max') '(' sum (',' sum)* ')' | '(' sum ')'. A name is a word with dots, or anything between
single quotes, which is how names that hold '/' or '-' are written: 'cpu/event=0x3c/', 'cache-misses'.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from turbotui.errors import UsageError

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_][\w.]*)|'(?P<quoted>[^']+)'"
    r"|(?P<sign>[-+*/(),]))",
    re.ASCII,
)
_FUNCTIONS = ("min", "max")
_DEEPEST = 64  # parentheses and signs in each other; deeper ones would exhaust Python's stack

Dimension: TypeAlias = Mapping[str, int]
"""Unit symbols with their exponents: {"B": 1, "s": -1}; empty for a plain number."""


class ExpressionError(UsageError):
    """An expression that cannot be read.

    Attributes:
        position: index of the first character that does not fit.
    """

    def __init__(self, text: str, position: int, what: str) -> None:
        super().__init__(f"The expression {text!r} is wrong at position {position + 1}: {what}.")
        self.position = position


class UnitError(UsageError):
    """An expression that adds or compares quantities of different units."""


@dataclass(frozen=True, slots=True)
class _Step:
    """One step of a stack machine: push a number or a name, or replace the last `count` values by a result."""

    kind: str
    number: float = 0.0
    name: str = ""
    count: int = 2


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression.

    Attributes:
        text: as written.
        names: every name in it, each once, in the order of the text.
    """

    text: str
    names: tuple[str, ...]
    steps: tuple[_Step, ...]

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
    """Read an expression.

    Raises:
        ExpressionError: it does not follow the grammar; the message names the position.
    """
    parser = _Parser(text)
    parser.sum(0)
    if parser.kind != "end":
        raise parser.wrong("an operator is missing" if parser.kind != "sign" else f"{parser.word!r} is not expected")
    names = dict.fromkeys(step.name for step in parser.steps if step.kind == "name")
    return Expression(text, tuple(names), tuple(parser.steps))


class _Parser:
    """A recursive descent that writes steps for a stack, so that long chains need no recursion to evaluate."""

    def __init__(self, text: str) -> None:
        self.steps: list[_Step] = []
        self.kind = ""
        self.word = ""
        self._text = text
        self._start = 0
        self._end = 0
        self._next()

    def wrong(self, what: str) -> ExpressionError:
        return ExpressionError(self._text, self._start, what)

    def _next(self) -> None:
        rest = self._text[self._end :]
        self._start = self._end + len(rest) - len(rest.lstrip())
        match = _TOKEN.match(self._text, self._end)
        if match is not None:
            self.kind = match.lastgroup or ""
            self.word = match[self.kind]
            self._end = match.end()
        elif not rest.strip():
            self.kind, self.word = "end", ""
        else:
            raise self.wrong(f"{self._text[self._start]!r} begins no number, name or operator")

    def _take(self, sign: str) -> None:
        if self.kind != "sign" or self.word != sign:
            raise self.wrong(f"{sign!r} is missing")
        self._next()

    def sum(self, depth: int) -> None:
        self._chain("+-", depth)

    def _chain(self, signs: str, depth: int) -> None:
        self._operand(signs, depth)
        while self.kind == "sign" and self.word in signs:
            sign = self.word
            self._next()
            self._operand(signs, depth)
            self.steps.append(_Step(sign))

    def _operand(self, signs: str, depth: int) -> None:
        if signs == "+-":
            self._chain("*/", depth)
        else:
            self._factor(depth)

    def _factor(self, depth: int) -> None:
        if depth > _DEEPEST:
            raise self.wrong(f"it is nested more than {_DEEPEST} deep")
        kind, word = self.kind, self.word
        if kind == "end" or (kind == "sign" and word not in "+-("):
            raise self.wrong("a number, a name or a parenthesis is missing")
        self._next()
        if kind == "number":
            self.steps.append(_Step("number", number=float(word)))
        elif kind == "sign" and word == "(":
            self.sum(depth + 1)
            self._take(")")
        elif kind == "sign":
            self._factor(depth + 1)
            if word == "-":
                self.steps.append(_Step("negative", count=1))
        elif kind == "name" and word in _FUNCTIONS and self.kind == "sign" and self.word == "(":
            self._call(word, depth)
        else:
            self.steps.append(_Step("name", name=word))

    def _call(self, function: str, depth: int) -> None:
        self._next()
        self.sum(depth + 1)
        count = 1
        while self.kind == "sign" and self.word == ",":
            self._next()
            self.sum(depth + 1)
            count += 1
        self._take(")")
        self.steps.append(_Step(function, count=count))
