"""Bandwidth over size: sizes, plateaus, tables and text, refusals."""

from __future__ import annotations

import itertools

import pytest
from forked import run_forked
from hypothesis import given
from hypothesis import strategies as st
from jsontables import tables
from knownmachines import known_machine

from turbotui.errors import MachineError
from turbotui.features.roofline.curve import FIRST, BandwidthCurve, CurvePoint, curve_sizes, find_plateaus
from turbotui.features.roofline.curve_measuring import measure_curves
from turbotui.features.roofline.curve_tables import curve_lines, curve_tables
from turbotui.machine.caches import Cache
from turbotui.machine.code.mapping import Buffer
from turbotui.machine.host import HostKind
from turbotui.simulated import simulated_host
from turbotui.tables.envelope import Envelope
from turbotui.tables.json_lines import JsonLines

_CPUS = frozenset({0})
_CACHES = (Cache(1, 48 << 10, _CPUS), Cache(2, 2 << 20, _CPUS), Cache(3, 32 << 20, _CPUS))


def _points() -> tuple[CurvePoint, ...]:
    """400, 190, 30 and 16 GB/s with a little noise, as caches of those sizes give them."""
    noise = itertools.cycle((1.0, 1.03, 0.98, 1.01))
    return tuple(CurvePoint(size, 1e9 * next(noise) * (
        400 if size <= 48 << 10 else 190 if size <= 1 << 20 else 70 if size <= 2 << 20 else 30 if size <= 32 << 20
        else 16)) for size in curve_sizes(_CACHES, 1, None))


def test_sizes_grow_by_half_octaves_until_they_lie_in_memory() -> None:
    sizes = list(curve_sizes(_CACHES, 1, None))
    assert sizes[0] == FIRST
    assert len(set(sizes)) == len(sizes)
    assert sizes[-1] * 1.42 > 256 << 20 >= sizes[-1]
    assert all(1.2 < larger / smaller < 1.7 for smaller, larger in itertools.pairwise(sizes))
    assert list(curve_sizes(_CACHES, 4, 1 << 30))[-1] <= (1 << 28) / 4


def test_plateaus_are_those_of_the_levels() -> None:
    plateaus = find_plateaus(_points(), _CACHES)
    assert [item.level for item in plateaus] == ["L1", "L2", "L3", "DRAM"]
    for plateau, rate in zip(plateaus, (400, 190, 30, 16), strict=True):
        assert plateau.rate == pytest.approx(rate * 1e9, rel=0.04)
    assert plateaus[0].last <= 48 << 10 < plateaus[1].first


@given(st.lists(st.floats(1.0, 1e12), max_size=40))
def test_plateaus_never_overlap_and_are_flat(rates: list[float]) -> None:
    points = tuple(CurvePoint(4096 * (at + 1), rate) for at, rate in enumerate(rates))
    plateaus = find_plateaus(points, _CACHES)
    for before, after in itertools.pairwise(plateaus):
        assert before.last < after.first
    for plateau in plateaus:
        selected = [point.rate for point in points if plateau.first <= point.bytes <= plateau.last]
        assert len(selected) >= 3
        assert max(selected) <= plateau.rate * 1.1201
        assert min(selected) >= plateau.rate * 0.8799


def test_curves_are_reported_as_tables_and_bars() -> None:
    points = (*_points()[:-1], CurvePoint(1 << 30, 9e9, disturbed=True))
    curve = BandwidthCurve("one", "loads", points, find_plateaus(points, _CACHES), ("a note",))
    envelope = Envelope("made", HostKind.REAL, 0)
    lines = list(curve_lines(envelope, (curve,), 80))
    assert "note: a note" in lines
    assert sum("█" in line for line in lines) == len(points)
    assert any("9.00?" in line for line in lines)
    writer = JsonLines()
    value = [table for item in curve_tables((curve,)) for table in tables("\n".join(writer.lines(envelope, item)))]
    assert [row["values"]["fits"] for row in value[1]["rows"]] == ["L1", "L2", "L3", "DRAM"]
    assert "other work" in str(value[0]["rows"][-1])


def test_another_machine_is_not_swept() -> None:
    with pytest.raises(MachineError, match="cannot be measured"):
        measure_curves(known_machine(simulated_host("laptop-old")), [("one", (0,))])
    done = run_forked("roofs", "--sweep", "--theory")
    assert done.returncode == 2
    assert "leave --theory" in done.stderr


@pytest.mark.real
def test_memory_of_a_node_that_is_not_there_is_refused() -> None:
    with pytest.raises(MachineError, match="no memory of node 1000: mbind"):
        Buffer(1 << 20, 1000)


@pytest.mark.real
def test_memory_of_a_node_that_is_there_can_be_written() -> None:
    try:
        buffer = Buffer(1 << 20, 0)
    except MachineError as error:
        pytest.skip(str(error))
    with buffer:
        buffer.write(b"here")
        assert buffer.read(4) == b"here"
