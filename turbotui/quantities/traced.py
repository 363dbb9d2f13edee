"""Numbers that remember their arithmetic: a column's formula, run on them, yields its own text.

The formula that people read, the formula with an interval's numbers and the computation are therefore the same code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import reduce
from operator import add, mul, sub, truediv
from typing import Final, Self, TypeAlias, cast

from turbotui.dataclass import dataclass
from turbotui.quantities.bulk import BulkNumbers
from turbotui.quantities.signals import SignalId


class ReadingKind(Enum):
    """A question that a column can ask of a signal (`columns.Inputs`)."""

    DELTA = "increase"
    TOTAL = "increase over all instances"
    RATE = "increase per second"
    TOTAL_RATE = "increase per second over all instances"
    VALUE = "value"
    ELAPSED = "seconds between the readings"


@dataclass(frozen=True, slots=True)
class TracedReading:
    """A number that was read."""

    signal: SignalId
    kind: ReadingKind
    label: str  # its text in a formula: "Δaperf", "mean Δaperf", "interval"


@dataclass(frozen=True, slots=True)
class Number:
    """A number in the formula itself, or a raw word; integers stay integers at any length."""

    value: float


@dataclass(frozen=True, slots=True)
class TracedOperation:
    """An operator or function over terms; the sign is "+", "-", "*", "/" or the name of a function."""

    sign: str
    parts: tuple[Term, ...]


Term: TypeAlias = "TracedReading | Number | TracedOperation"

_STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2}
_ATOM = 3


def written(term: Term, reading: Callable[[TracedReading], str]) -> str:
    """A term as text, with as few parentheses as possible; `reading` gives the label or number of a reading."""
    if isinstance(term, TracedReading):
        return reading(term)
    if isinstance(term, Number):
        return number_text(term.value)
    if term.sign not in _STRENGTH:
        return f"{term.sign}({', '.join(written(part, reading) for part in term.parts)})"
    left, right = term.parts
    strength = _STRENGTH[term.sign]
    before, after = written(left, reading), written(right, reading)
    if _strength(left) < strength:
        before = f"({before})"
    # a - (b - c) and a / (b x c): the right operand of - and / keeps its parentheses
    if _strength(right) < strength or (_strength(right) == strength and term.sign in "-/"):
        after = f"({after})"
    return f"{before} {'x' if term.sign == '*' else term.sign} {after}"


def _strength(term: Term) -> int:
    return _STRENGTH.get(term.sign, _ATOM) if isinstance(term, TracedOperation) else _ATOM


def number_text(value: float) -> str:
    """A number with the digits that a calculation needs: 3,497,120,004; 1.00021345612; 1e6."""
    if isinstance(value, int) or (value == int(value) and abs(value) < 1e18):
        whole = int(value)
        power = len(str(abs(whole))) - 1
        # powers of ten from a thousand on are units, not readings
        return f"1e{power}" if power >= 3 and whole == 10**power else f"{whole:,}"
    if abs(value) >= 1e6:
        return f"{value:,}"  # clocks: the difference of two clocks needs every digit
    if abs(value) >= 1e-4:
        return f"{value:,.{11 - math.floor(math.log10(abs(value)))}f}".rstrip("0").rstrip(".")
    return f"{value:.12g}".replace("e-0", "e-")


_BY_SIGN: Final[Mapping[str, Callable[[float, float], float]]] = {"+": add, "-": sub, "*": mul, "/": truediv}


def evaluated(term: Term, reading: Callable[[TracedReading], float]) -> float:
    """The value of a term over the given readings. Raises ZeroDivisionError if a divisor is zero."""
    if isinstance(term, TracedReading):
        return reading(term)
    if isinstance(term, Number):
        return term.value
    parts = [evaluated(part, reading) for part in term.parts]
    if term.sign in _BY_SIGN:
        return _BY_SIGN[term.sign](*parts)
    if term.sign in ("max", "min"):
        return max(parts) if term.sign == "max" else min(parts)
    return float(math.trunc(parts[0]) if term.sign == "trunc" else round(parts[0]))


def readings_of(term: Term) -> tuple[TracedReading, ...]:
    """Every reading in a term, each once, from left to right."""
    if isinstance(term, TracedReading):
        return (term,)
    if isinstance(term, Number):
        return ()
    return tuple(dict.fromkeys(reading for part in term.parts for reading in readings_of(part)))


class Traced(float):
    """A float that knows its term; arithmetic on such floats gives floats that know theirs."""

    __slots__ = ("term",)
    term: Term

    def __new__(cls, value: float, term: Term) -> Self:
        """Make a value with its term."""
        made = super().__new__(cls, value)
        made.term = term
        return made

    def __add__(self, other: float) -> Traced:
        return _joined("+", self, other, float(self) + float(other))

    def __radd__(self, other: float) -> Traced:
        # sum() starts with a zero that is not part of the formula
        return self if other == 0 and not isinstance(other, Traced) else _joined("+", other, self, other + float(self))

    def __sub__(self, other: float) -> Traced:
        return _joined("-", self, other, float(self) - float(other))

    def __rsub__(self, other: float) -> Traced:
        return _joined("-", other, self, float(other) - float(self))

    def __mul__(self, other: float) -> Traced:
        return _joined("*", self, other, float(self) * float(other))

    def __rmul__(self, other: float) -> Traced:
        return _joined("*", other, self, float(other) * float(self))

    def __truediv__(self, other: float) -> Traced:
        return _joined("/", self, other, float(self) / float(other))

    def __rtruediv__(self, other: float) -> Traced:
        return _joined("/", other, self, float(other) / float(self))

    def __neg__(self) -> Traced:
        return _joined("-", 0.0, self, -float(self))

    def __round__(self, ndigits: object = None) -> Traced:  # type: ignore[override]  # a whole number that knows its term
        if ndigits is not None:
            return Traced(round(float(self), int(str(ndigits))), self.term)
        return Traced(round(float(self)), TracedOperation("round", (self.term,)))

    def __trunc__(self) -> Traced:  # type: ignore[override]  # as above
        return Traced(math.trunc(float(self)), TracedOperation("trunc", (self.term,)))


def _joined(sign: str, left: float, right: float, value: float) -> Traced:
    if sign in "*/" and not isinstance(right, Traced) and right == 1.0 and isinstance(left, Traced):
        return left  # a share of one second already has its unit
    return Traced(value, TracedOperation(sign, (term_of(left), term_of(right))))


def term_of(value: float) -> Term:
    """The term from which a traced number was computed; a plain number is its own term."""
    return value.term if isinstance(value, Traced) else Number(float(value))


def added(values: Iterable[float]) -> float:
    """The sum from left to right, with its arithmetic; `sum` rounds otherwise from Python 3.12 on, and only floats."""
    return reduce(add, values, 0.0)


def at_least(least: float, value: float) -> float:
    """`max` of a bound and a value that, unlike Python's, keeps the arithmetic of a traced value."""
    if isinstance(value, Traced):
        return Traced(max(least, float(value)), TracedOperation("max", (Number(least), value.term)))
    many: object = value
    return cast("float", many.at_least(least)) if isinstance(many, BulkNumbers) else max(least, value)


def smaller(first: float, other: float) -> float:
    """`min` of two values that, unlike Python's, keeps the arithmetic of traced values; not for bulk numbers."""
    if isinstance(first, Traced) or isinstance(other, Traced):
        return Traced(min(float(first), float(other)), TracedOperation("min", (term_of(first), term_of(other))))
    return min(first, other)
