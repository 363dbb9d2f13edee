"""Layouts: where the values of a tick's readings go, computed once for as long as the same is read.

A thousand CPUs give some ten thousand readings a tick, each with a few values. Readings of the same signals from the
same source are transposed together, from one tuple per CPU to one column per signal: value by value, assembling a tick
of 224 CPUs takes ten times as long, 2.7 for 0.26 ms (November 2026).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, MutableSequence, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, TypeAlias, cast

from turbotui.dataclass import dataclass
from turbotui.quantities.signals import Raw, SignalId
from turbotui.sampling.answers import Readings
from turbotui.sampling.arithmetic import PACKED

_KEPT = 3  # layouts beside the newest: with and without reads between two ticks, before and after a change

Places: TypeAlias = tuple[tuple[tuple[int, SignalId, int], ...], tuple[tuple[int, int], ...]]
"""(index in the reading, signal, position in its column) of every value, and (clock, position) of every time stamp."""


Place: TypeAlias = Callable[[str, int, tuple[SignalId, ...]], Places]


class TickColumns:
    """Columns of one tick while they are being filled.

    Args:
        sizes: of each signal's column.
        clocks: the size of each clock's column.

    Attributes:
        values: of the signals that were read, None for a missing reading; words of many instances are arrays.
        clocks: time stamps; 0 without a reading.
    """

    __slots__ = ("clocks", "sizes", "values")

    def __init__(self, sizes: Mapping[SignalId, int], clocks: Sequence[int]) -> None:
        self.sizes = sizes
        self.values: dict[SignalId, MutableSequence[Raw]] = {}
        self.clocks: list[MutableSequence[int]] = [_zeros(size) if size >= PACKED else [0] * size for size in clocks]

    def any(self, name: SignalId) -> MutableSequence[Raw]:
        """The column of a signal, able to hold values of any kind."""
        column = self.values.get(name)
        if column is None or isinstance(column, array):
            column = self.values[name] = [None] * self.sizes[name] if column is None else list(column)
        return column

    def stamp(self, clock: int, moment: int) -> None:
        """Give every position of a clock one time stamp."""
        size = len(self.clocks[clock])
        self.clocks[clock] = array("Q", [moment]) * size if size >= PACKED else [moment] * size


def _zeros(size: int) -> array[int]:
    return array("Q", bytes(8 * size))


@dataclass(frozen=True, slots=True)
class _Target:
    """Where the items of a group go in a column."""

    whole: bool  # whether the items are the whole column, in its order
    filled: bool  # whether this group and others leave no gap in the column
    stretches: tuple[tuple[slice, slice], ...]  # runs of items, with the place of each

    def put(self, column: MutableSequence[Any], items: Sequence[Any]) -> None:
        for source, place in self.stretches:
            column[place] = items[source]


def _target(pairs: Sequence[tuple[int, int]], size: int, column: int, filled: int) -> _Target:
    """Make the target of (index in the group, position) pairs.

    Args:
        pairs: in the order of the group.
        filled: positions of the column that this group and others fill.
    """
    whole = len(pairs) == size == column and all(index == place for index, place in pairs)
    runs: list[list[tuple[int, int]]] = []
    for pair in pairs:
        if runs and _goes_on(runs[-1], pair):
            runs[-1].append(pair)
        else:
            runs.append([pair])
    return _Target(whole, filled == column, tuple((_slice(run, 0), _slice(run, 1)) for run in runs))


def _goes_on(stretch: Sequence[tuple[int, int]], pair: tuple[int, int]) -> bool:
    """Whether a pair continues a stretch; a short stretch has not fixed its steps yet."""
    last = stretch[-1]
    steps = pair[0] - last[0], pair[1] - last[1]
    if min(steps) <= 0:
        return False
    return len(stretch) == 1 or steps == (last[0] - stretch[-2][0], last[1] - stretch[-2][1])


def _slice(stretch: Sequence[tuple[int, int]], which: int) -> slice:
    first, last = stretch[0][which], stretch[-1][which]
    return slice(first, last + 1, 1 if len(stretch) == 1 else stretch[1][which] - first)


@dataclass(frozen=True, slots=True)
class _Group:
    """Readings of the same signals from the same source, in the order of the first column that they fill."""

    pick: Callable[[Sequence[Any]], Sequence[Any]]  # selects the group's items from those of all readings
    width: int  # number of values of a reading
    columns: tuple[tuple[int, SignalId, _Target], ...]  # index in the reading, signal, and target of the values
    clocks: tuple[tuple[int, _Target], ...]  # clock, and target of the time stamps

    def put(self, readings: Readings, columns: TickColumns) -> None:
        raws, moments = self.pick(readings.raws), self.pick(readings.middles_ns)
        words = _side_by_side(raws, self.width) if len(raws) >= PACKED else None
        values = columns.values
        for index, name, target in self.columns:
            if words is None or not target.filled:
                target.put(columns.any(name), [raw[index] for raw in raws])
            elif target.whole:
                values[name] = cast("MutableSequence[Raw]", words[index::self.width])
            else:
                if name not in values:
                    values[name] = cast("MutableSequence[Raw]", _zeros(columns.sizes[name]))
                of_words = isinstance(values[name], array)
                target.put(values[name], words[index::self.width] if of_words else words[index::self.width].tolist())
        stamps = array("Q", moments)
        for clock, target in self.clocks:
            target.put(columns.clocks[clock], stamps)


def _side_by_side(raws: Sequence[Sequence[Raw]], width: int) -> array[int] | None:
    """Readings that are arrays as one array, reading after reading; None if one is not an array."""
    try:
        joined = b"".join(cast("Sequence[bytes]", raws))  # any buffer is
    except TypeError:
        return None
    return array("Q", joined) if len(joined) == 8 * width * len(raws) else None


class ReadingLayout:
    """The places of everything that is read for the same CPUs, sources and signals in the same order.

    Args:
        readings: the first readings of that kind.
    """

    def __init__(self, readings: Readings, place: Place, columns: TickColumns) -> None:
        self._kind = readings.kind()
        members: dict[tuple[str, tuple[SignalId, ...]], list[tuple[int, Places]]] = {}
        for number, (source, names) in enumerate(zip(readings.sources, readings.signals, strict=True)):
            places = place(source, readings.cpus[number], names)
            members.setdefault((source, names), []).append((number, places))
        filled: dict[SignalId, set[int]] = {}
        for group_places in members.values():
            group_places.sort(key=_first_place)
            for _number, (values, _moments) in group_places:
                for _index, name, position in values:
                    filled.setdefault(name, set()).add(position)
        counts = {name: len(positions) for name, positions in filled.items()}
        target = cache(_target)  # one object for equal ones: nearly all of thousands of uncore counters
        self._groups = tuple(_group(len(names), places, columns, counts, target)
                             for (_source, names), places in members.items())

    def fits(self, readings: Readings) -> bool:
        """Whether this layout fits readings."""
        return readings.alike(self._kind)

    def put(self, readings: Readings, columns: TickColumns) -> None:
        """Put the values and time stamps of all readings into their columns; every read must have succeeded."""
        for group in self._groups:
            group.put(readings, columns)


def _first_place(member: tuple[int, Places]) -> int:
    """The first position of a reading's values; most readings follow each other in this order."""
    values = member[1][0]
    return values[0][2] if values else -1


def _group(width: int, members: Sequence[tuple[int, Places]], columns: TickColumns,
           filled: Mapping[SignalId, int], target: Callable[..., _Target]) -> _Group:
    values: dict[tuple[int, SignalId], list[tuple[int, int]]] = {}
    stamps: dict[int, list[tuple[int, int]]] = {}
    for at, (_number, (places, moments)) in enumerate(members):
        for index, name, position in places:
            values.setdefault((index, name), []).append((at, position))
        for clock, position in moments:
            stamps.setdefault(clock, []).append((at, position))
    size = len(members)
    return _Group(
        _pick([number for number, _places in members]), width,
        tuple((index, name, target(tuple(pairs), size, columns.sizes[name], filled[name]))
              for (index, name), pairs in values.items()),
        tuple((clock, target(tuple(pairs), size, len(columns.clocks[clock]), 0)) for clock, pairs in stamps.items()),
    )


class Layouts:
    """The layouts of the kinds of ticks that recur.

    A tick unlike any other (a late CPU, a failed read) is put in place value by value, because a layout pays only from
    its second use on.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._layouts: list[ReadingLayout] = []
        self._before: Readings | None = None

    def put(self, readings: Readings, columns: TickColumns) -> bool:
        """Put the values and time stamps of all readings into their columns; every read must have succeeded.

        Returns:
            Whether a layout was used.
        """
        fitting_layout = next((layout for layout in self._layouts if layout.fits(readings)), None)
        if fitting_layout is None and self._before is not None and readings.alike(self._before):
            fitting_layout = ReadingLayout(readings, self._place, columns)
            self._layouts = [fitting_layout, *self._layouts[:_KEPT]]
        if fitting_layout is not None:
            self._before = None
            fitting_layout.put(readings, columns)
            return True
        self._before = readings.kind()
        clocks = columns.clocks
        for (cpu, source), names, began, ended, raw in readings.each():
            places, moments = self._place(source, cpu, names)
            for index, name, position in places:
                columns.any(name)[position] = raw[index]
            for clock, position in moments:
                clocks[clock][position] = (began + ended) >> 1
        return False


def _pick(numbers: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    return itemgetter(slice(numbers[0], numbers[0] + 1)) if len(numbers) == 1 else itemgetter(*numbers)
