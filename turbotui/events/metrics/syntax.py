"""The grammar of metric expressions in a vendor's tables, which is perf's (kernel tools/perf/util/expr.l, expr.y).

It is not Python's, so it has a parser of its own: `&` binds weaker than `<`, `if` stands only in parentheses or at the
end, a name may begin with a digit, hold : . ? @ and, behind a backslash, - , =. What is parsed are steps of the same
stack machine as formulas (`quantities.grammar.Step`); `folding` and `resolving` make such a formula of them.

Precedence, weakest first: if else, |, ^, &, < >, + -, * / %, the sign of one operand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.events.metrics.errors import MetricSyntaxError
from turbotui.quantities.grammar import Step

LITERAL: Final = "literal"
"""A fact of the machine: "#num_cores", "#smt_on"."""
ASKED: Final = frozenset({"source_count", "aggr_nr", "has_event", "strcmp_cpuid_str"})
"""Functions that take a name and return a fact about it instead of its value."""
NAMES: Final = frozenset({"name", "source_count", "aggr_nr"})
"""Steps that refer to an event or to another metric."""
LEAVES: Final = frozenset({"number", "name", "unknown", LITERAL, *ASKED})
"""Steps without operands."""
_FUNCTIONS: Final = frozenset({"min", "max", "d_ratio"})
"""Operators with two operands."""
_WORDS: Final = frozenset({"if", "else"})
_STRENGTH: Mapping[str, int] = MappingProxyType(
    {"|": 1, "^": 2, "&": 3, "<": 4, ">": 4, "+": 5, "-": 5, "*": 6, "/": 6, "%": 6, "negative": 7})
_DEEPEST: Final = 50
"""The deepest allowed nesting of parentheses: the tables need 12."""
_LONGEST: Final = 100_000
_TOKEN: Final = re.compile(
    # in this order where two are equally long: a number, then a name; `=` needs no backslash, for it is nothing else
    r"(?:(?P<literal>\#[0-9a-zA-Z_.\-]+)"
    r"|(?P<number>(?:[0-9]+\.?[0-9]*|[0-9]*\.[0-9]+)(?:e-?[0-9]+)?)(?![0-9a-zA-Z_.:@?\\=])"
    r"|(?P<name>(?:\\[-,=]|[0-9a-zA-Z_.:@?=])+)|(?P<sign>[|^&<>\-+*/%(),]))")
_BLANKS: Final = re.compile(r"\s*")
_ESCAPED: Final = re.compile(r"\\(.)")


@dataclass(frozen=True, slots=True)
class MetricExpression:
    """A parsed expression."""

    text: str  # the expression as the table has it
    # of a stack machine. Beside the operators there are "number", "name", `LITERAL` and what is `ASKED`.
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    word: str
    position: int


def parse_metric(text: str, runtime: int = 0) -> MetricExpression:
    """Parse an expression.

    Args:
        runtime: the number that each `?` in a name stands for.

    Raises:
        MetricSyntaxError: it does not follow the grammar.
    """
    if len(text) > _LONGEST:
        raise MetricSyntaxError(text, 0, f"it has {len(text)} characters, more than {_LONGEST}")
    parser = _Parser(text, _tokens(text, runtime))
    parser.choice(0)
    parser.finish()
    return MetricExpression(text, tuple(parser.steps))


def _tokens(text: str, runtime: int) -> list[_Token]:
    tokens: list[_Token] = []
    end = _after_blanks(text, 0)
    while end < len(text):
        if (match := _TOKEN.match(text, end)) is None:
            raise MetricSyntaxError(text, end, f"{text[end]!r} begins no number, name or operator")
        kind = match.lastgroup or ""
        word = match[kind]
        if kind == "name":
            kind = "word" if word in _WORDS or word in _FUNCTIONS or word in ASKED or word == "NaN" else "name"
            word = _ESCAPED.sub(r"\1", word).replace("?", str(runtime))
        tokens.append(_Token(kind, word, end))
        end = _after_blanks(text, match.end())
    tokens.append(_Token("end", "", len(text)))
    return tokens


def _after_blanks(text: str, start: int) -> int:
    match = _BLANKS.match(text, start)
    return start if match is None else match.end()


class _Parser:
    def __init__(self, text: str, tokens: list[_Token]) -> None:
        self._text = text
        self._tokens = tokens
        self._at = 0
        self.steps: list[Step] = []

    def choice(self, depth: int) -> None:
        if depth > _DEEPEST:
            raise self._wrong("it is nested too deep")
        choices = 0
        self._operators(depth)
        while self._take("if"):
            self._operators(depth)
            if not self._take("else"):
                raise self._wrong("else is missing")
            self._operators(depth)
            choices += 1
        self.steps += [Step("if", count=3)] * choices  # A if B else C if D else E is A if B else (C if D else E)

    def finish(self) -> None:
        if self._tokens[self._at].kind != "end":
            raise self._wrong(f"{self._tokens[self._at].word!r} is not expected")

    def _operators(self, depth: int) -> None:
        waiting: list[str] = []
        while True:
            while self._take("-"):
                waiting.append("negative")
            self._operand(depth)
            sign = self._tokens[self._at]
            strength = _STRENGTH.get(sign.word, 0) if sign.kind == "sign" else 0
            while waiting and _STRENGTH[waiting[-1]] >= max(strength, 1):
                kind = waiting.pop()
                self.steps.append(Step(kind, count=1 if kind == "negative" else 2))
            if not strength:
                return
            waiting.append(sign.word)
            self._at += 1

    def _operand(self, depth: int) -> None:
        token = self._tokens[self._at]
        self._at += 1
        if token.kind == "number":
            self.steps.append(Step("number", number=self._number(token)))
        elif token.kind in {"name", LITERAL}:
            self.steps.append(Step(token.kind, name=token.word))
        elif token.kind == "sign" and token.word == "(":
            self.choice(depth + 1)
            self._need(")")
        elif token.kind == "word" and token.word == "NaN":
            self.steps.append(Step("unknown"))
        elif token.kind == "word" and token.word in _FUNCTIONS:
            self._function(token.word, depth + 1)
        elif token.kind == "word" and token.word in ASKED:
            self._asked(token.word)
        else:
            self._at -= 1
            raise self._wrong("a number, a name or a parenthesis is missing")

    def _number(self, token: _Token) -> float:
        value = float(token.word)
        if value == float("inf"):
            raise MetricSyntaxError(self._text, token.position, f"{token.word} is too large for a number")
        return value

    def _function(self, name: str, depth: int) -> None:
        if depth > _DEEPEST:
            raise self._wrong("it is nested too deep")
        self._need("(")
        self._operators(depth)
        self._need(",")
        self._operators(depth)
        self._need(")")
        self.steps.append(Step(name))

    def _asked(self, kind: str) -> None:
        self._need("(")
        token = self._tokens[self._at]
        if token.kind != "name":
            raise self._wrong("a name is missing")
        self._at += 1
        self._need(")")
        self.steps.append(Step(kind, name=token.word))

    def _take(self, word: str) -> bool:
        token = self._tokens[self._at]
        matches = token.kind in {"sign", "word"} and token.word == word
        self._at += matches
        return matches

    def _need(self, word: str) -> None:
        if not self._take(word):
            raise self._wrong(f"{word!r} is missing")

    def _wrong(self, what: str) -> MetricSyntaxError:
        return MetricSyntaxError(self._text, self._tokens[self._at].position, what)
