"""Numbers of many rows as one: a column's own arithmetic, run on them once, computes it for every row.

A formula decides by what it reads: nothing if a counter stood still, no share above 110 %. On numbers of many rows a
decision stands as long as it is the same for all of them, which on a machine that is whole it nearly always is;
where it is not, the formula is left, and run on one row after the other. So both ways give the same numbers, bit for
bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import add, eq, ge, gt, le, lt, mul, ne, sub, truediv
from typing import NoReturn, TypeAlias

_Binary: TypeAlias = Callable[[float, float], float]


class RowsDifferError(Exception):
    """A formula cannot be run on all rows at once: they take different ways in it, or it asks for what is of one."""


class BulkNumbers:
    """A number of each of many rows. Its operators work row by row; its comparisons and its truth are of all rows.

    Nothing else can be done with it: what would need one number raises, and the formula is run row by row.

    Args:
        items: one for each row; all are known.
    """

    __slots__ = ("items",)
    __hash__ = None  # type: ignore[assignment]  # a key would be one number

    def __init__(self, items: Sequence[float]) -> None:
        self.items = items

    def _joined(self, operation: _Binary, other: object) -> BulkNumbers:
        if isinstance(other, BulkNumbers):
            return BulkNumbers(list(map(operation, self.items, other.items)))
        if isinstance(other, int | float):
            return BulkNumbers([operation(item, other) for item in self.items])
        raise RowsDifferError

    def _decided(self, relation: Callable[[float, float], bool], other: object) -> bool:
        if isinstance(other, BulkNumbers):
            answers = list(map(relation, self.items, other.items))
        elif isinstance(other, int | float):
            answers = [relation(item, other) for item in self.items]
        else:
            raise RowsDifferError
        return _one(answers)

    def __add__(self, other: object) -> BulkNumbers:
        return self._joined(add, other)

    def __sub__(self, other: object) -> BulkNumbers:
        return self._joined(sub, other)

    def __mul__(self, other: object) -> BulkNumbers:
        if isinstance(other, int | float):
            return BulkNumbers([item * other for item in self.items])
        return self._joined(mul, other)

    def __truediv__(self, other: object) -> BulkNumbers:
        if isinstance(other, int | float):
            return BulkNumbers([item / other for item in self.items])
        return self._joined(truediv, other)

    def __radd__(self, other: object) -> BulkNumbers:
        if not isinstance(other, int | float) or other == 0:
            raise RowsDifferError  # sum(), which from Python 3.12 on rounds otherwise than adding one by one
        return BulkNumbers([other + item for item in self.items])

    def __rsub__(self, other: object) -> BulkNumbers:
        return self._reversed(sub, other)

    def __rmul__(self, other: object) -> BulkNumbers:
        return self * other

    def __rtruediv__(self, other: object) -> BulkNumbers:
        return self._reversed(truediv, other)

    def _reversed(self, operation: _Binary, other: object) -> BulkNumbers:
        if not isinstance(other, int | float):
            raise RowsDifferError
        return BulkNumbers([operation(other, item) for item in self.items])

    def __neg__(self) -> BulkNumbers:
        return BulkNumbers([-item for item in self.items])

    def __round__(self) -> BulkNumbers:
        return BulkNumbers(list(map(round, self.items)))

    def at_least(self, least: float) -> BulkNumbers:
        """The greater of a bound and each number."""
        return BulkNumbers([max(least, item) for item in self.items])

    def __bool__(self) -> bool:
        if all(self.items):
            return True
        if any(self.items):
            raise RowsDifferError
        return False

    def __eq__(self, other: object) -> bool:
        return self._decided(eq, other)

    def __ne__(self, other: object) -> bool:
        return self._decided(ne, other)

    def __lt__(self, other: object) -> bool:
        return self._decided(lt, other)

    def __le__(self, other: object) -> bool:
        return self._decided(le, other)

    def __gt__(self, other: object) -> bool:
        return self._decided(gt, other)

    def __ge__(self, other: object) -> bool:
        return self._decided(ge, other)

    def _refuse(self, *_asked: object) -> NoReturn:
        raise RowsDifferError

    __float__ = __int__ = __index__ = __str__ = __format__ = _refuse


def _one(answers: Sequence[bool]) -> bool:
    """The answer that all rows share."""
    if all(answers):
        return True
    if any(answers):
        raise RowsDifferError
    return False
