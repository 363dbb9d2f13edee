"""The filter expression: words and comparisons, all of which must hold. Nothing here knows Textual.

    Busy%>50  Type=E  Package=1  cpu17

A word without a comparison is looked for in the ids and the type of a row. An unknown value passes no comparison.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from turbotui.quantities.columns import Value

_TERM = re.compile(r"^(?P<name>.+?)(?P<sign>>=|<=|!=|=|>|<)(?P<value>.*)$")
_SIGNS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "!=": operator.ne,
    "=": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}


class Rounded(Protocol):
    """A column, as far as comparing goes."""

    @property
    def decimals(self) -> int:
        """Of what a person reads; -1 for texts."""


C = TypeVar("C", bound=Rounded)


class FilterError(ValueError):
    """One sentence about a filter that cannot be understood."""


@dataclass(frozen=True, slots=True)
class Comparison(Generic[C]):
    """`column sign value`; `value` is a text where it is no number."""

    column: C
    sign: str
    value: float | str

    def holds(self, cell: Value) -> bool:
        """Whether a cell passes."""
        if cell is None:
            return False
        if isinstance(cell, str) or isinstance(self.value, str):
            same = str(cell).lower() == str(self.value).lower()
            return same if self.sign == "=" else not same if self.sign == "!=" else False
        if self.sign in {"=", "!="}:
            # What a person reads is rounded to the column's decimals, and so is what they compare with.
            cell = round(cell, max(0, self.column.decimals))
        return _SIGNS[self.sign](cell, self.value)


@dataclass(frozen=True, slots=True)
class Filter(Generic[C]):
    """A parsed expression; empty: everything passes."""

    text: str = ""
    words: tuple[str, ...] = ()
    comparisons: tuple[Comparison[C], ...] = ()

    @property
    def columns(self) -> tuple[C, ...]:
        """Columns that have to be read for it."""
        return tuple(comparison.column for comparison in self.comparisons)

    def passes(self, words: str, cell: Callable[[C], Value]) -> bool:
        """Whether a row passes, given its words (lower case) and its cells."""
        return all(word in words for word in self.words) and all(
            comparison.holds(cell(comparison.column)) for comparison in self.comparisons
        )


def parse_filter(text: str, find: Callable[[str], C | None]) -> Filter[C]:
    """Parse an expression.

    Args:
        text: terms separated by spaces.
        find: the column of a name as a person types it, None if there is none.

    Raises:
        FilterError: an unknown column, or a comparison without a value.
    """
    words: list[str] = []
    comparisons: list[Comparison[C]] = []
    for term in text.split():
        match = _TERM.match(term)
        if match is None:
            words.append(term.lower())
            continue
        name, sign, value = match["name"], match["sign"], match["value"]
        column = find(name)
        if column is None:
            raise FilterError(f"no column is called {name}")
        if not value:
            raise FilterError(f"{name}{sign} needs a value")
        try:
            wanted: float | str = float(value)
        except ValueError:
            wanted = value
            if sign not in {"=", "!="}:
                raise FilterError(f"{name}{sign} needs a number, not {value}") from None
        comparisons.append(Comparison(column, sign, wanted))
    return Filter(text.strip(), tuple(words), tuple(comparisons))
