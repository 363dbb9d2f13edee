"""What belongs together by a key: the CPUs of a core, the rows of a process, the time of a CPU in all rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Protocol, TypeVar

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")
_N = TypeVar("_N", int, float)


class _Sum(Protocol):
    def add(self, other: Any, /) -> object:
        """Add another one to this one."""


_S = TypeVar("_S", bound=_Sum)


def lists_by_key(pairs: Iterable[tuple[_K, _V]]) -> dict[_K, list[_V]]:
    """The values of each key, in the order of the pairs."""
    lists: dict[_K, list[_V]] = {}
    for key, value in pairs:
        lists.setdefault(key, []).append(value)
    return lists


def sets_by_key(pairs: Iterable[tuple[_K, _V]]) -> dict[_K, set[_V]]:
    """The different values of each key."""
    return {key: set(values) for key, values in lists_by_key(pairs).items()}


def sums_by_key(pairs: Iterable[tuple[_K, _N]]) -> dict[_K, _N]:
    """The sum of each key's numbers, added in the order of the pairs."""
    sums: dict[_K, _N] = {}
    for key, number in pairs:
        sums[key] = sums[key] + number if key in sums else number
    return sums


def total_of(total: _S, parts: Iterable[_S]) -> _S:
    """Add the counts of threads, CPUs or intervals to the first ones, and return those."""
    for part in parts:
        total.add(part)
    return total
