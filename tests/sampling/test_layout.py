"""Values are stored in the same places whether or not the kind of tick was seen before."""

from __future__ import annotations

from array import array

from hypothesis import given, settings
from hypothesis import strategies as st

from turbotui.quantities.signals import Raw, SignalId
from turbotui.sampling.answers import Readings
from turbotui.sampling.arithmetic import PACKED
from turbotui.sampling.layout import Layouts, Places, TickColumns

CPUS = 12
SOURCES = {"a": ("x", "y"), "b": ("z",), "c": ("core", "x2")}
CLOCKS = {"a": 0, "b": 1, "c": 2}
MANY = 3 * PACKED
"""CPUs of which groups of readings are turned round as arrays."""


def empty(cpus: int = CPUS) -> TickColumns:
    """The columns of a tick before anything is in them."""
    return TickColumns({"x": cpus, "y": cpus, "z": cpus, "core": cpus // 2, "x2": cpus}, [cpus] * len(CLOCKS))


def place(source: str, cpu: int, names: tuple[SignalId, ...]) -> Places:
    """Every signal of a CPU has the CPU's place; that of a core is read by its first CPU only."""
    values = tuple((index, name, cpu // 2 if name == "core" else cpu) for index, name in enumerate(names)
                   if name != "core" or cpu % 2 == 0)
    return values, ((CLOCKS[source], cpu),) if values else ()


def filled(columns: TickColumns) -> tuple[dict[SignalId, list[Raw]], list[list[int]]]:
    """The columns and stamps as they are compared; of what was not read nothing is known."""
    values = {name: list(columns.values.get(name, [None] * size)) for name, size in columns.sizes.items()}
    return values, [list(clock) for clock in columns.clocks]


def by_hand(readings: Readings, cpus: int = CPUS) -> tuple[dict[SignalId, list[Raw]], list[list[int]]]:
    """The columns and stamps, one value after the other."""
    values, clocks = filled(empty(cpus))
    for (cpu, source), names, began, ended, raw in readings.each():
        places, moments = place(source, cpu, names)
        for index, name, position in places:
            values[name][position] = raw[index]
        for clock, position in moments:
            clocks[clock][position] = (began + ended) // 2
    return values, clocks


@st.composite
def ticks(draw: st.DrawFn) -> list[Readings]:
    """Ticks of a few kinds, some of them again and again, with other values each time."""
    heads = [(cpu, source) for cpu in range(CPUS) for source in SOURCES]
    kinds = draw(st.lists(st.lists(st.sampled_from(heads), unique=True), min_size=1, max_size=3))
    result: list[Readings] = []
    for kind in draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=8)):
        readings = Readings()
        for cpu, source in kind:
            names = SOURCES[source]
            began = draw(st.integers(1, 1000))
            readings.add((cpu, source), names, began, began + 2, [draw(st.integers(0, 99)) for _ in names])
        result.append(readings)
    return result


@settings(deadline=None)  # the machine may be busy
@given(ticks())
def test_values_and_stamps_are_where_one_by_one_would_put_them(seen: list[Readings]) -> None:
    layouts = Layouts(place)
    for readings in seen:
        columns = empty()
        layouts.put(readings, columns)
        assert filled(columns) == by_hand(readings)


@settings(deadline=None, max_examples=25)
@given(st.data())
def test_so_they_are_of_many_cpus(data: st.DataObject) -> None:
    """Columns are arrays, or lists where a CPU is missing or a value does not fit into a word."""
    layouts, heads = Layouts(place), [(cpu, source) for cpu in range(MANY) for source in SOURCES]
    away = data.draw(st.sets(st.sampled_from(heads), max_size=3))
    order = data.draw(st.permutations(range(0, MANY, 16)))
    heads = [(first + cpu, source) for first in order for cpu in range(16) for source in SOURCES
             if (first + cpu, source) not in away]
    for tick in range(3):
        odd = data.draw(st.dictionaries(st.sampled_from(heads), st.sampled_from([None, -1, 1 << 64]), max_size=2))
        readings = Readings()
        for number, (cpu, source) in enumerate(heads):
            raw: list[Raw] = [1000 * tick + 7 * number + at for at, _ in enumerate(SOURCES[source])]
            if (cpu, source) in odd:
                raw[-1] = odd[cpu, source]
            readings.add((cpu, source), SOURCES[source], number, number + 2 * tick, raw)
        columns = empty(MANY)
        assert layouts.put(readings, columns) is (tick > 0)
        assert filled(columns) == by_hand(readings, MANY)
        if tick and not away and not odd:
            assert all(isinstance(column, array) for column in columns.values.values())


def test_readings_that_failed_are_left_out() -> None:
    readings = Readings()
    readings.add((0, "a"), SOURCES["a"], 10, 20, [1, 2])
    readings.add((1, "a"), SOURCES["a"], 20, 30, None)
    assert readings.known().cpus == [0]
    assert [head for head, *_ in readings.each()] == [(0, "a")]
    assert not readings.alike(readings.known())
