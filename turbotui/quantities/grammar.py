"""The grammar of formulas and conditions, parsed by Python's own parser and restricted by a whitelist.

The caller, who knows which texts are names, splits the text into tokens. Every operand becomes a placeholder before
`ast.parse`, so that no name, number or text of a user is ever Python code. The resulting tree may contain only the node
types listed here, and only steps are ever evaluated.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Final, TypeVar

from turbotui.dataclass import dataclass
from turbotui.errors import UsageError

V = TypeVar("V")
FUNCTIONS: Final = ("min", "max")
RATIO: Final = "d_ratio"
"""The function of formulas that divides two values and is 0 where the divisor is 0, named after perf's."""
OPERANDS: Final = frozenset({"number", "name", "word", "text"})
"""Kinds of tokens that are values: a number, a known name, and the words and texts of conditions."""
_BINARY: Mapping[type[ast.operator], str] = MappingProxyType({ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"})
_PYTHON: Mapping[str, str] = MappingProxyType({"=": "=="})
_COMPARED: Mapping[type[ast.cmpop], str] = MappingProxyType(
    {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="})
_RATIO_PARTS: Final = 2
_MOST_TOKENS: Final = 5_000
"""The most tokens of a formula under every Python: the parser of 3.12 gives up at 6,000, that of 3.14 at 200,000."""
_TOO_LONG: Final = "it is too long, or nested too deep"


class ExpressionError(UsageError):
    """An expression that cannot be parsed.

    Attributes:
        position: index of the first wrong character.
    """

    def __init__(self, text: str, position: int, what: str) -> None:
        super().__init__(f"The expression {text!r} is wrong at position {position + 1}: {what}.")
        self.position = position
        self.what = what


@dataclass(frozen=True, slots=True)
class Token:
    """A token of an expression."""

    kind: str  # "number", "name", "word", "text", "function" or "sign"; `and`, `or` and `not` are signs
    word: str  # as written, without quotes
    position: int  # index of its first character


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a stack machine: push a number or a name, or replace the last `count` values by a result."""

    kind: str
    number: float = 0.0
    name: str = ""
    count: int = 2


def run_steps(steps: Iterable[Step], leaf: Callable[[Step], V], joined: Callable[[str, list[V]], V], *,
              leaves: Container[str] = ("number", "name")) -> V:
    """Run steps on a stack, whatever its values are: numbers, texts, units.

    Args:
        leaf: makes the value of a step that pushes one.
        joined: makes the value of an operation, given its kind, from those of its operands.
        leaves: kinds of the steps that push a value.
    """
    stack: list[V] = []
    for step in steps:
        if step.kind in leaves:
            stack.append(leaf(step))
        else:
            operands = stack[-step.count:]
            del stack[-step.count:]
            stack.append(joined(step.kind, operands))
    return stack[0]


def ends_operand(token: Token) -> bool:
    """Whether a token ends a value, so that an operator or another term follows."""
    return token.kind in OPERANDS or (token.kind, token.word) == ("sign", ")")


def function_or_name(tokens: Sequence[Token], functions: Sequence[str] = FUNCTIONS) -> list[Token]:
    """The tokens with every name before a parenthesis marked as a function; elsewhere `min` is a name."""
    inner = list(tokens)
    for at, (token, after) in enumerate(pairwise(tokens)):
        if token.kind in {"name", "word"} and token.word in functions and (after.kind, after.word) == ("sign", "("):
            inner[at] = Token("function", token.word, token.position)
    return inner


def syntax_of(text: str, tokens: Sequence[Token]) -> ast.expr:
    """Parse tokens to a syntax tree over placeholders; `token_of` finds the token of a placeholder.

    Raises:
        ExpressionError: the tokens follow no grammar.
    """
    if len(tokens) > _MOST_TOKENS:
        raise ExpressionError(text, 0, _TOO_LONG)
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
        raise ExpressionError(text, 0, _TOO_LONG) from error


def _wrong(text: str, tokens: Sequence[Token], at: int, fault: str) -> ExpressionError:
    if "nested" in fault:
        return ExpressionError(text, 0, "it is nested too deep")
    if at >= len(tokens):
        return ExpressionError(text, len(text), "a number, a name or a parenthesis is missing")
    token = tokens[at]
    if "never closed" in fault:
        return ExpressionError(text, token.position, f"{token.word!r} is never closed")
    if at and token.kind in OPERANDS and tokens[at - 1].kind in OPERANDS:
        return ExpressionError(text, token.position, "an operator is missing")
    return ExpressionError(text, token.position, f"{token.word!r} is not expected")


def token_of(tokens: Sequence[Token], node: ast.expr) -> Token | None:
    """The token that a placeholder stands for; None if the node is not a placeholder."""
    known = isinstance(node, ast.Name) and node.id not in FUNCTIONS and node.id != RATIO
    return tokens[int(node.id[1:])] if known and isinstance(node, ast.Name) else None


def first_token(tokens: Sequence[Token], node: ast.AST) -> int:
    """Position in the text of the first operand below a node; 0 without one."""
    places = [token.position for inner in ast.walk(node)
              if isinstance(inner, ast.expr) and (token := token_of(tokens, inner)) is not None]
    return min(places, default=0)


def arithmetic_steps(text: str, tokens: Sequence[Token], tree: ast.expr, *, choices: bool = False) -> tuple[Step, ...]:
    """Compile a tree that contains only arithmetic over numbers and names.

    Args:
        choices: whether comparisons, `and`, `or`, `not`, `if` with `else`, `%` and d_ratio() are allowed.

    Raises:
        ExpressionError: the tree contains something else.
    """
    steps: list[Step] = []
    todo: list[ast.expr | Step] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, Step):
            steps.append(node)
            continue
        called = _called(node)
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            todo += [Step(_BINARY[type(node.op)]), node.right, node.left]
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            todo += [Step("negative", count=1), node.operand]
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd):
            todo.append(node.operand)
        elif called is not None and called[1] and called[0] in FUNCTIONS:
            function, given = called
            todo += [Step(function, count=len(given)), *reversed(given)]
        elif choices and (chosen := _choice(node)) is not None:
            step, operands = chosen
            todo += [step, *reversed(operands)]
        else:
            steps.append(_operand(text, tokens, node, choices=choices))
    return tuple(steps)


def _choice(node: ast.expr) -> tuple[Step, Sequence[ast.expr]] | None:
    """A deciding step with its operands; None for any other node."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return Step("%"), (node.left, node.right)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARED:
        return Step(_COMPARED[type(node.ops[0])]), (node.left, *node.comparators)
    if isinstance(node, ast.BoolOp):
        return Step("and" if isinstance(node.op, ast.And) else "or", count=len(node.values)), node.values
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return Step("not", count=1), (node.operand,)
    if isinstance(node, ast.IfExp):
        return Step("if", count=3), (node.body, node.test, node.orelse)
    if (called := _called(node)) is not None and called[0] == RATIO and len(called[1]) == _RATIO_PARTS:
        return Step(RATIO), called[1]
    return None


def _called(node: ast.expr) -> tuple[str, Sequence[ast.expr]] | None:
    """The name and the values of a call that names no parameters; None for any other node."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords and not any(
            isinstance(argument, ast.Starred) for argument in node.args):
        return node.func.id, node.args
    return None


def _operand(text: str, tokens: Sequence[Token], node: ast.expr, *, choices: bool) -> Step:
    token = token_of(tokens, node)
    if token is None:
        more = "only + - * / %, comparisons, and, or, not, A if B else C, parentheses, min(), max() and d_ratio(A, B)"
        allowed = more if choices else "only + - * /, parentheses, min() and max()"
        raise ExpressionError(text, first_token(tokens, node), f"{allowed} may be used")
    if token.kind == "number":
        return Step("number", number=float(token.word))
    if token.kind == "name":
        return Step("name", name=token.word)
    raise ExpressionError(text, token.position, f"no column is called {token.word}")
