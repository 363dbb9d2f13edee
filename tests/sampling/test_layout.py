"""Values land in the same places whether a tick is of a kind seen before or not."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from turbotui.quantities.signals import Raw, SignalId
from turbotui.sampling.answers import Readings
from turbotui.sampling.layout import Layouts, Places

CPUS = 12
SOURCES = {"a": ("x", "y"), "b": ("z",), "c": ("core", "x2")}
COLUMNS: dict[SignalId, int] = {"x": CPUS, "y": CPUS, "z": CPUS, "core": CPUS // 2, "x2": CPUS}
CLOCKS = {"a": 0, "b": 1, "c": 2}


def place(source: str, cpu: int, names: tuple[SignalId, ...]) -> Places:
    """Every signal of a CPU has the CPU's place; that of a core is read by its first CPU only."""
    values = tuple((index, name, cpu // 2 if name == "core" else cpu) for index, name in enumerate(names)
                   if name != "core" or cpu % 2 == 0)
    return values, ((CLOCKS[source], cpu),) if values else ()


def by_hand(readings: Readings) -> tuple[dict[SignalId, list[Raw]], list[list[int]]]:
    """The columns and stamps, one value after the other."""
    values: dict[SignalId, list[Raw]] = {name: [None] * size for name, size in COLUMNS.items()}
    clocks = [[0] * CPUS for _ in CLOCKS]
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
    found: list[Readings] = []
    for kind in draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=8)):
        readings = Readings()
        for cpu, source in kind:
            names = SOURCES[source]
            began = draw(st.integers(1, 1000))
            readings.add((cpu, source), names, began, began + 2, [draw(st.integers(0, 99)) for _ in names])
        found.append(readings)
    return found


@settings(deadline=None)  # the machine may be busy
@given(ticks())
def test_values_and_stamps_are_where_one_by_one_would_put_them(seen: list[Readings]) -> None:
    layouts = Layouts(place)
    for readings in seen:
        values: dict[SignalId, list[Raw]] = {name: [None] * size for name, size in COLUMNS.items()}
        clocks = [[0] * CPUS for _ in CLOCKS]
        layouts.put(readings, values, clocks)
        assert (values, clocks) == by_hand(readings)


def test_readings_that_failed_are_left_out() -> None:
    readings = Readings()
    readings.add((0, "a"), SOURCES["a"], 10, 20, [1, 2])
    readings.add((1, "a"), SOURCES["a"], 20, 30, None)
    assert readings.known().cpus == [0]
    assert [head for head, *_ in readings.each()] == [(0, "a")]
    assert not readings.alike(readings.known())
