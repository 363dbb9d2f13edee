"""The one grammar of what people write, formulas and conditions, read by Python's own parser through a whitelist.

A text is cut into tokens by whoever knows what a name is there. Every operand is put before `ast.parse` as a
placeholder, so that no name, number or text of a person is ever Python; what comes back may hold only the kinds of
nodes that are asked for here, and nothing is ever evaluated but by steps.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import UsageError

FUNCTIONS: Final = ("min", "max")
OPERANDS: Final = frozenset({"number", "name", "word", "text"})
"""Kinds of tokens that are values: a number, a name that is known, and words and texts of conditions."""
_BINARY: Mapping[type[ast.operator], str] = MappingProxyType(
    {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"})
_PYTHON: Mapping[str, str] = MappingProxyType({"=": "=="})


class ExpressionError(UsageError):
    """An expression that cannot be read.

    Attributes:
        position: index of the first character that does not fit.
        what: is wrong there.
    """

    def __init__(self, text: str, position: int, what: str) -> None:
        super().__init__(f"The expression {text!r} is wrong at position {position + 1}: {what}.")
        self.position = position
        self.what = what


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of an expression.

    Attributes:
        kind: "number", "name", "word", "text", "function" or "sign"; `and`, `or` and `not` are signs.
        word: as written, without quotes.
        position: index of its first character.
    """

    kind: str
    word: str
    position: int


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a stack machine: push a number or a name, or replace the last `count` values by a result."""

    kind: str
    number: float = 0.0
    name: str = ""
    count: int = 2


def ends_operand(token: Token) -> bool:
    """Whether a value ends with a token: what comes next is an operator, or another term."""
    return token.kind in OPERANDS or (token.kind, token.word) == ("sign", ")")


def function_or_name(tokens: Sequence[Token]) -> list[Token]:
    """The tokens, with a name before a parenthesis as the function that it is: elsewhere `min` is a name."""
    found = list(tokens)
    for at, (token, after) in enumerate(pairwise(tokens)):
        if token.kind in {"name", "word"} and token.word in FUNCTIONS and (after.kind, after.word) == ("sign", "("):
            found[at] = Token("function", token.word, token.position)
    return found


def syntax_of(text: str, tokens: Sequence[Token]) -> ast.expr:
    """The syntax tree over placeholders; `token_of` finds the token of one.

    Raises:
        ExpressionError: it follows no grammar.
    """
    words = [f"_{at}" if token.kind in OPERANDS else _PYTHON.get(token.word, token.word)
             for at, token in enumerate(tokens)]
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word) + 1)
    try:
        return ast.parse(" ".join(words), mode="eval").body
    except SyntaxError as error:
        offset = error.offset or 0
        at = bisect_right(starts, offset - 1) - 1 if offset else len(tokens)
        raise _wrong(text, tokens, at, str(error.msg)) from error
    except (RecursionError, MemoryError) as error:
        raise ExpressionError(text, 0, "it is too long, or nested too deep") from error


def _wrong(text: str, tokens: Sequence[Token], at: int, said: str) -> ExpressionError:
    if "nested" in said:
        return ExpressionError(text, 0, "it is nested too deep")
    if at >= len(tokens):
        return ExpressionError(text, len(text), "a number, a name or a parenthesis is missing")
    token = tokens[at]
    if "never closed" in said:
        return ExpressionError(text, token.position, f"{token.word!r} is never closed")
    if at and token.kind in OPERANDS and tokens[at - 1].kind in OPERANDS:
        return ExpressionError(text, token.position, "an operator is missing")
    return ExpressionError(text, token.position, f"{token.word!r} is not expected")


def token_of(tokens: Sequence[Token], node: ast.expr) -> Token | None:
    """The token that a placeholder stands for; None where the node is none."""
    return tokens[int(node.id[1:])] if isinstance(node, ast.Name) and node.id not in FUNCTIONS else None


def first_token(tokens: Sequence[Token], node: ast.AST) -> int:
    """Position in the text of the first operand below a node; 0 where there is none."""
    places = [token.position for one in ast.walk(node)
              if isinstance(one, ast.expr) and (token := token_of(tokens, one)) is not None]
    return min(places, default=0)


def arithmetic_steps(text: str, tokens: Sequence[Token], tree: ast.expr) -> tuple[Step, ...]:
    """The steps of a tree that holds nothing but arithmetic over numbers and names.

    Raises:
        ExpressionError: it holds something else.
    """
    steps: list[Step] = []
    todo: list[ast.expr | Step] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, Step):
            steps.append(node)
            continue
        match node:
            case ast.BinOp(left, operator, right) if type(operator) in _BINARY:
                todo += [Step(_BINARY[type(operator)]), right, left]
            case ast.UnaryOp(ast.USub(), operand):
                todo += [Step("negative", count=1), operand]
            case ast.UnaryOp(ast.UAdd(), operand):
                todo.append(operand)
            case ast.Call(ast.Name(function), [_, *_] as given, []) if function in FUNCTIONS and _plain(given):
                todo += [Step(function, count=len(given)), *reversed(given)]
            case _:
                steps.append(_operand(text, tokens, node))
    return tuple(steps)


def _plain(given: Sequence[ast.expr]) -> bool:
    return not any(isinstance(one, ast.Starred) for one in given)


def _operand(text: str, tokens: Sequence[Token], node: ast.expr) -> Step:
    token = token_of(tokens, node)
    if token is None:
        raise ExpressionError(text, first_token(tokens, node), "only + - * /, parentheses, min() and max() may be used")
    if token.kind == "number":
        return Step("number", number=float(token.word))
    if token.kind == "name":
        return Step("name", name=token.word)
    raise ExpressionError(text, token.position, f"no column is called {token.word}")
