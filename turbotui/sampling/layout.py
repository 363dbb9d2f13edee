"""Layouts: where the values of one tick's readings go, worked out once for as long as the same is read.

A thousand CPUs give some ten thousand readings a tick, of a few values each. Those of the same signals from the same
source are turned round together, from one tuple for each CPU to one column for each signal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableSequence, Sequence
from operator import itemgetter
from typing import Any, TypeAlias, TypeVar

from turbotui.dataclass import dataclass
from turbotui.quantities.signals import Raw, SignalId
from turbotui.sampling.answers import Readings

T = TypeVar("T")

_KEPT = 3  # layouts beside the newest: with and without what is looked at between two ticks, before and after a change

Places: TypeAlias = tuple[tuple[tuple[int, SignalId, int], ...], tuple[tuple[int, int], ...]]
"""(index in the reading, signal, position in its column) of every value, and (clock, position) of every time stamp."""


Place: TypeAlias = Callable[[str, int, tuple[SignalId, ...]], Places]


@dataclass(frozen=True, slots=True)
class _Target:
    """Where the items of a group go in a column: to the positions of a slice, or one by one."""

    places: slice | None
    pairs: tuple[tuple[int, int], ...]

    def put(self, column: MutableSequence[T], items: Sequence[T]) -> None:
        """Put the items of a group into a column."""
        if self.places is not None:
            column[self.places] = items
        else:
            for index, position in self.pairs:
                column[position] = items[index]


def _target(pairs: Sequence[tuple[int, int]], size: int) -> _Target:
    """The target for (index in the group, position) pairs."""
    positions = [position for _index, position in pairs]
    if len(pairs) == size:
        step = positions[1] - positions[0] if size > 1 else 1
        if step > 0 and positions == list(range(positions[0], positions[0] + size * step, step)):
            return _Target(slice(positions[0], positions[-1] + 1, step), ())
    return _Target(None, tuple(pairs))


@dataclass(frozen=True, slots=True)
class _Group:
    """Readings of the same signals from the same source.

    Attributes:
        pick: takes the group's items out of those of all readings.
        columns: index in the reading, signal, and where the values go.
        clocks: clock, and where the time stamps go.
    """

    pick: Callable[[Sequence[Any]], Sequence[Any]]
    columns: tuple[tuple[int, SignalId, _Target], ...]
    clocks: tuple[tuple[int, _Target], ...]


class ReadingLayout:
    """Where everything goes that is read for the same CPUs, sources and signals in the same order.

    Args:
        readings: the first of that kind.
        place: where the values and the time stamp of one reading go.
    """

    def __init__(self, readings: Readings, place: Place) -> None:
        self._kind = readings.kind()
        members: dict[tuple[str, tuple[SignalId, ...]], list[int]] = {}
        for number, (source, names) in enumerate(zip(readings.sources, readings.signals, strict=True)):
            members.setdefault((source, names), []).append(number)
        groups: list[_Group] = []
        for (source, names), numbers in members.items():
            values: dict[tuple[int, SignalId], list[tuple[int, int]]] = {}
            stamps: dict[int, list[tuple[int, int]]] = {}
            for at, number in enumerate(numbers):
                places, moments = place(source, readings.cpus[number], names)
                for index, name, position in places:
                    values.setdefault((index, name), []).append((at, position))
                for clock, position in moments:
                    stamps.setdefault(clock, []).append((at, position))
            size = len(numbers)
            groups.append(_Group(
                _pick(numbers),
                tuple((index, name, _target(pairs, size)) for (index, name), pairs in values.items()),
                tuple((clock, _target(pairs, size)) for clock, pairs in stamps.items()),
            ))
        self._groups = tuple(groups)

    def fits(self, readings: Readings) -> bool:
        """Whether readings are of the kind that this layout is for."""
        return readings.alike(self._kind)

    def put(self, readings: Readings, values: Mapping[SignalId, list[Raw]], clocks: Sequence[list[int]]) -> None:
        """Put the values and time stamps of all readings into their columns; none of them may have failed."""
        middles = [(begin + end) >> 1 for begin, end in zip(readings.started_ns, readings.ended_ns, strict=True)]
        for group in self._groups:
            columns = tuple(zip(*group.pick(readings.raws), strict=True))
            for index, name, target in group.columns:
                target.put(values[name], columns[index])
            moments = group.pick(middles)
            for clock, target in group.clocks:
                target.put(clocks[clock], moments)


class Layouts:
    """The layouts of the kinds of ticks that come again.

    A tick of its own kind (a CPU that was late, a read that failed) is put in place value by value: a layout pays from
    its second use on.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._layouts: list[ReadingLayout] = []
        self._before: Readings | None = None

    def put(self, readings: Readings, values: Mapping[SignalId, list[Raw]], clocks: Sequence[list[int]]) -> bool:
        """Put the values and time stamps of all readings into their columns; none of them may have failed.

        Returns:
            Whether a layout did it.
        """
        found = next((layout for layout in self._layouts if layout.fits(readings)), None)
        if found is None and self._before is not None and readings.alike(self._before):
            found = ReadingLayout(readings, self._place)
            self._layouts = [found, *self._layouts[:_KEPT]]
        if found is not None:
            self._before = None
            found.put(readings, values, clocks)
            return True
        self._before = readings.kind()
        for (cpu, source), names, began, ended, raw in readings.each():
            places, moments = self._place(source, cpu, names)
            for index, name, position in places:
                values[name][position] = raw[index]
            for clock, position in moments:
                clocks[clock][position] = (began + ended) >> 1
        return False


def _pick(numbers: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    if len(numbers) == 1:
        return itemgetter(slice(numbers[0], numbers[0] + 1))
    return itemgetter(*numbers)
