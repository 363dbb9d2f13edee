"""Filters of rows: words and comparisons of columns, joined by and, or, not and parentheses.

    Busy%>50 Type=E    Package=1 or cpu17    PkgWatt-CorWatt > 20    not Governor=performance    50<Busy%<90

Adjacent terms must all hold. A word without a comparison, or any text in single quotes, is looked for in the ids and
names of a row. The right side of = or != is a number or a text, never a column. An unknown value passes no comparison.
The arithmetic is that of `quantities.expressions`.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

from turbotui.dataclass import dataclass
from turbotui.quantities.columns import Value
from turbotui.quantities.expressions import Expression
from turbotui.quantities.grammar import (
    OPERANDS,
    ExpressionError,
    Token,
    arithmetic_steps,
    ends_operand,
    function_or_name,
    syntax_of,
    token_of,
)
from turbotui.quantities.plain_numbers import decimal

_SIGNS: Mapping[str, Callable[[float, float], bool]] = MappingProxyType({
    ">=": operator.ge, "<=": operator.le, "!=": operator.ne, "=": operator.eq, ">": operator.gt, "<": operator.lt,
})
_PYTHON: Mapping[type[ast.cmpop], str] = MappingProxyType({
    ast.GtE: ">=", ast.LtE: "<=", ast.NotEq: "!=", ast.Eq: "=", ast.Gt: ">", ast.Lt: "<",
})
_EQUAL: Final = ("=", "!=")
_JOINS: Final = ("and", "or", "not")
_PIECE: Final = re.compile(
    r"(?P<sign>>=|<=|!=|==|[<>=(),])|'(?P<quoted>[^']+)'|(?P<run>[^\s<>=!(),']+|[!'])")
_ARITHMETIC: Final = re.compile(r"[-+*/]")


class Rounded(Protocol):
    """A column as far as comparisons are concerned."""

    @property
    def decimals(self) -> int:
        """Decimals of the compared column; -1 for texts."""


C = TypeVar("C", bound=Rounded)


class FilterError(ValueError):
    """Why a filter cannot be understood, in one sentence."""


@dataclass(frozen=True, slots=True)
class FilterRow(Generic[C]):
    """The values of a row for a filter."""

    words: str  # its ids and names in lower case
    # the value of a column in the row; None if only the words are available and comparisons have no result
    cell: Callable[[C], Value] | None


@dataclass(frozen=True, slots=True)
class Word:
    """A condition that a row's words contain this word."""

    word: str

    def holds(self, row: FilterRow[C]) -> bool | None:
        """Whether the row passes."""
        return self.word in row.words


@dataclass(frozen=True, slots=True)
class Comparison(Generic[C]):
    """A comparison `left sign right` of columns or arithmetic over columns and numbers; the right side may be a text.

    Attributes:
        sign: of `_SIGNS`.
        columns: of the names in them.
    """

    left: Expression
    sign: str
    right: Expression | str
    columns: Mapping[str, C]

    def holds(self, row: FilterRow[C]) -> bool | None:
        """Whether the row passes; None if that is unknown."""
        if row.cell is None:
            return None
        values = {name: row.cell(column) for name, column in self.columns.items()}
        if any(value is None for value in values.values()):
            return False
        texts = [value for value in values.values() if isinstance(value, str)]
        if texts or isinstance(self.right, str):
            return self._same_text(values)
        numbers = {name: float(value) for name, value in values.items() if not isinstance(value, (str, type(None)))}
        left, right = self.left.evaluate(numbers), self.right.evaluate(numbers)
        if left is None or right is None:
            return False
        if self.sign in _EQUAL and self.left.text in self.columns:
            # people read values rounded to the column's decimals, so rounded values are compared
            left = round(left, max(0, self.columns[self.left.text].decimals))
        return _SIGNS[self.sign](left, right)

    def _same_text(self, values: Mapping[str, Value]) -> bool:
        """Compare texts for equality, ignoring case; no other comparison of texts is true."""
        left = values.get(self.left.text)
        right = self.right if isinstance(self.right, str) else values.get(self.right.text, self.right.text)
        if left is None or self.sign not in _EQUAL:
            return False
        return (str(left).lower() == str(right).lower()) is (self.sign == "=")


@dataclass(frozen=True, slots=True)
class JoinedConditions(Generic[C]):
    """Conditions of which all (`every`) or one must hold; with `turned`, the negation."""

    parts: tuple[Condition[C], ...]
    every: bool = True
    turned: bool = False

    def holds(self, row: FilterRow[C]) -> bool | None:
        """Whether the row passes; None if that is unknown."""
        return self.joined([part.holds(row) for part in self.parts])

    def joined(self, answers: Sequence[bool | None]) -> bool | None:
        """The answer for a row of which each part is true, false or unknown (None)."""
        decided = not self.every  # one part can decide the result
        answer = decided if decided in answers else None if None in answers else self.every
        return None if answer is None else answer is not self.turned


Condition: TypeAlias = "Word | Comparison[C] | JoinedConditions[C]"


@dataclass(frozen=True, slots=True)
class Filter(Generic[C]):
    """A parsed filter; an empty filter passes every row."""

    text: str = ""  # as written
    columns: tuple[C, ...] = ()  # the columns that have to be read
    condition: Condition[C] = field(default_factory=lambda: JoinedConditions(()))  # what must hold

    def passes(self, words: str, cell: Callable[[C], Value]) -> bool:
        """Whether a row passes, given its words (lower case) and its cells."""
        return self.condition.holds(FilterRow(words, cell)) is True

    def may_pass(self, words: str) -> bool:
        """Whether the words of a row alone leave it possible that the row passes."""
        return self.condition.holds(FilterRow(words, None)) is not False


def parse_filter(text: str, find: Callable[[str], C | None]) -> Filter[C]:
    """Parse a filter.

    Raises:
        FilterError: a column is unknown, or a comparison has no value.
    """
    if not (tokens := _joined(function_or_name(_Tokens(text, find).tokens))):
        return Filter(text.strip())
    try:
        reader = _Reader(text, tokens, find)
        condition = reader.condition(syntax_of(text, tokens))
    except ExpressionError as error:
        raise FilterError(error.what) from error
    except RecursionError as error:
        raise FilterError("it is nested too deep") from error
    return Filter(text.strip(), tuple(reader.columns.values()), condition)


class _Tokens(Generic[C]):
    """Splits a filter into tokens; a name is the longest text that `find` knows."""

    def __init__(self, text: str, find: Callable[[str], C | None]) -> None:
        self._text = text
        self._find = find
        self._at = 0
        self._end = -1  # the end of the last token
        self.tokens: list[Token] = []
        while match := _PIECE.search(text, self._at):
            if match["sign"]:
                self._take("sign", "=" if match["sign"] == "==" else match["sign"], match.end())
            elif match["quoted"]:
                known = self._after_equal() or find(match["quoted"]) is None
                self._take("text" if known else "name", match["quoted"], match.end())
            else:
                self._at = match.start()
                self._run(match["run"])

    def _take(self, kind: str, word: str, end: int) -> None:
        self.tokens.append(Token(kind, word, self._at))
        self._at = self._end = end

    def _after_equal(self) -> bool:
        return bool(self.tokens) and self.tokens[-1].kind == "sign" and self.tokens[-1].word in _EQUAL

    def _run(self, run: str) -> None:
        """A piece without blanks, as one token."""
        end = self._at + len(run)
        operand = self._at == self._end and ends_operand(self.tokens[-1])
        if self._after_equal():
            self._take("number" if _is_number(run) else "text", run, end)
        elif run.lower() in _JOINS:
            self._take("sign", run.lower(), end)
        elif run in "+-*/" or (operand and run[0] in "+-*/"):
            self._take("sign", run[0], self._at + 1)
        elif _is_number(run):
            self._take("number", run, end)
        elif self._find(run) is not None:
            self._take("name", run, end)
        else:
            self._part(run, end)

    def _part(self, run: str, end: int) -> None:
        """The longest known name or number before an arithmetic sign; otherwise the whole piece is a word."""
        for match in reversed(list(_ARITHMETIC.finditer(run))):
            if (part := run[: match.start()]) and (_is_number(part) or self._find(part) is not None):
                self._take("number" if _is_number(part) else "name", part, self._at + len(part))
                return
        self._take("word", run, end)


def _is_number(text: str) -> bool:
    try:
        decimal(text)
    except ValueError:
        return False
    return text[-1] in "0123456789."  # neither inf nor nan


def _joined(tokens: Sequence[Token]) -> list[Token]:
    """The tokens with `and` inserted between adjacent terms."""
    joined: list[Token] = []
    for token in tokens:
        begins = token.kind in OPERANDS or token.kind == "function" or token.word in ("(", "not")
        if begins and joined and ends_operand(joined[-1]):
            joined.append(Token("sign", "and", token.position))
        joined.append(token)
    return joined


class _Reader(Generic[C]):
    def __init__(self, text: str, tokens: Sequence[Token], find: Callable[[str], C | None]) -> None:
        self._text = text
        self._tokens = tokens
        self._find = find
        self.columns: dict[str, C] = {}

    def condition(self, node: ast.expr) -> Condition[C]:
        if isinstance(node, ast.BoolOp):
            return JoinedConditions(tuple(self.condition(part) for part in node.values),
                                    every=isinstance(node.op, ast.And))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return JoinedConditions((self.condition(node.operand),), turned=True)
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            return JoinedConditions(tuple(self._comparison(sides[at], sides[at + 1], _PYTHON.get(type(sign), ""))
                                          for at, sign in enumerate(node.ops)))
        if (token := token_of(self._tokens, node)) is None:
            raise FilterError("a comparison is missing, such as > 0")
        return Word(token.word.lower())  # a word of a row may also be the name of a column

    def _comparison(self, left: ast.expr, right: ast.expr, sign: str) -> Comparison[C]:
        if not sign:
            raise FilterError(f"only {' '.join(_SIGNS)} compare")
        if (token := token_of(self._tokens, right)) is not None and token.kind in {"text", "word"}:
            if sign not in _EQUAL:
                raise FilterError(f"{sign} needs a number, not {token.word}")
            made: Expression | str = token.word
        else:
            made = self._side(right)
        first = self._side(left)
        names = [*first.names, *(made.names if isinstance(made, Expression) else ())]
        return Comparison(first, sign, made, {name: self.columns[name] for name in names})

    def _side(self, node: ast.expr) -> Expression:
        steps = arithmetic_steps(self._text, self._tokens, node)
        names = tuple(dict.fromkeys(step.name for step in steps if step.kind == "name"))
        for name in names:
            if (column := self._find(name)) is None:
                raise FilterError(f"no column is called {name}")
            self.columns[name] = column
        token = token_of(self._tokens, node)
        return Expression("" if token is None else token.word, names, steps)
