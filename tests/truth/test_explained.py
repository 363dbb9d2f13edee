"""On every simulated machine, the formula that Explain writes, evaluated from its text, gives the cell."""

from __future__ import annotations

import functools
import re

import pytest
from explained import Numbers, same, some_rows, value_of
from sampled_machine import Watched

from turbotui.quantities.added import parse_added
from turbotui.quantities.catalog.added import added_column
from turbotui.quantities.columns import Category, CounterColumn
from turbotui.quantities.formula_text import unrounded
from turbotui.quantities.scope import SYSTEM_ROW, Scope
from turbotui.quantities.signals import Behavior
from turbotui.quantities.traced import evaluated, written
from turbotui.sampling.evidence import cell_arithmetic, evidence
from turbotui.sampling.frame import Frame
from turbotui.simulated import SHAPES
from turbotui.sources.added import added_source
from turbotui.tables.frame_evidence import substituted
from turbotui.widgets.explanation import explanation
from turbotui.widgets.frame_rows import FrameContent

MANY = ("CPU%c1", "IdleExit%", "NowErr%", "NowSpread%")
"""Columns whose coarser rows are computed CPU by CPU."""
every_machine = pytest.mark.parametrize("shape", list(SHAPES))


@functools.cache
def seen(shape: str) -> tuple[Watched, Frame]:
    watched = Watched(shape)
    return watched, watched.frames(0.7, 2)[-1]


def check(frame: Frame, column: CounterColumn) -> int:
    """Check the cells of a column, and return how many were evaluated."""
    checked = 0
    for row in some_rows(frame):
        value = cell_arithmetic(frame, column, row)
        if value.cell is None or isinstance(value.cell, str):
            assert value.term is None
            continue
        if value.term is None and (column.formula or column.id in MANY) and row.scope is not Scope.CPU:
            continue  # made of many rows, and told in words
        assert value.term is not None, f"{column.id} of {row}: the arithmetic is lost"
        text = substituted(value, evidence(frame, column, frame.home(column, row) or row))
        if text:
            assert same(column, value.cell, value_of(text)), (column.id, row, text, value.cell)
        else:
            assert [*value.numbers.values()] == [evaluated(unrounded(value.term), value.numbers.__getitem__)]
            assert same(column, value.cell, next(iter(value.numbers.values())))
        checked += 1
    return checked


def is_place(column: CounterColumn) -> bool:
    return column.category is Category.TOPOLOGY and not column.needs


@every_machine
def test_the_line_of_numbers_comes_to_the_cell(shape: str) -> None:
    watched, frame = seen(shape)
    for column in watched.columns:
        if is_place(column):
            continue
        known = frame.cell(column, SYSTEM_ROW)
        assert check(frame, column) or column.decimals < 0 or known is None, column.id


@every_machine
def test_the_formula_holds_for_other_numbers_too(shape: str) -> None:
    """Not only this interval's: with every reading changed, the column computes what its written formula says."""
    watched, frame = seen(shape)
    compared = 0
    for column in watched.columns:
        for row in some_rows(frame):
            arithmetic = cell_arithmetic(frame, column, row)
            if arithmetic.term is None:
                continue
            shaken = {reading: number * (1 - 0.003 * place) for place, (reading, number) in
                      enumerate(arithmetic.numbers.items(), 1)}
            cell = column.compute(Numbers({(item.signal, item.kind): number for item, number in shaken.items()}))
            if cell is None:  # above 110 %, or what turbostat calls no sensible value
                continue
            assert isinstance(cell, float | int)
            assert evaluated(arithmetic.term, shaken.__getitem__) == pytest.approx(cell, rel=1e-12), (column.id, row)
            compared += 1
    assert compared > 100


@every_machine
def test_the_raw_words_come_to_the_reading(shape: str) -> None:
    watched, frame = seen(shape)
    compared = 0
    for column in watched.columns:
        for row in some_rows(frame):
            for item in evidence(frame, column, row):
                for part in item.parts:
                    if part.term is None:
                        assert part.value in {None, part.newer}
                        continue
                    assert part.value == pytest.approx(evaluated(part.term, lambda _: 0.0), rel=1e-12)
                    assert value_of(written(part.term, lambda _: "")) == pytest.approx(part.value, rel=1e-9, abs=1e-6)
                    compared += 1
    assert compared > 100


@every_machine
def test_every_cell_can_be_explained(shape: str) -> None:
    watched, frame = seen(shape)
    for column in watched.catalog.columns:
        for row in (frame.rows(column.scope)[0], SYSTEM_ROW):
            lines = explanation(FrameContent(frame), column, row, width=68)
            cell = frame.cell(column, row)
            if cell is None:
                assert any(line.startswith("unknown: ") for line in lines), column.id
            text = " ".join(" ".join(lines).split())
            assert not re.search(r"\d\.\d*(9{6}|0{6})\d* count", text), "the noise of floats"
            for name in column.needs if cell is not None else ():
                assert f"by {frame.capabilities.provider[name].title}" in text, (column.id, name)
            assert not [line for line in lines if len(line) > 68 and " " in line.strip()], column.id


ADDED = (
    "msr0x10,cpu,u64,delta,cycles,TSCS", "msr0xe8,percent,ACT", "msr0x611,package,u32,delta,NRG",
    "msr0x19c,core,raw,THERM", "perf/msr/mperf,cpu,delta,MP", "perf/msr/mperf,percent,MPP",
    "/sys/devices/system/cpu/cpu0/cpuidle/state1/time,usec,percent,S1", "msr0x1a2,average,TGT",
)


def test_added_counters_are_explained_by_the_same_rule() -> None:
    watched = Watched("sapphire-2s")
    added = [parse_added(text) for text in ADDED]
    for counter in added:
        watched.capabilities = watched.capabilities.plus(watched.machine, added_source(counter))
    watched.columns = tuple(added_column(counter) for counter in added)
    frame = watched.frames(0.7, 2)[-1]
    for column, text in zip(watched.columns, ADDED, strict=True):
        lines = "\n".join(explanation(FrameContent(frame), column, frame.rows(column.scope)[0]))
        assert column.id in lines
        if "raw" in text:
            assert "0x19c" in lines
            assert str(frame.cell(column, frame.rows(column.scope)[0])) in lines
        else:
            assert check(frame, column), text


def test_a_summary_tells_how_many_instances_it_is_made_of() -> None:
    watched = Watched("sapphire-2s")
    frame = watched.frames(0.7, 2)[-1]
    watts, heat, busy = (watched.catalog.by_id[name] for name in ("PkgWatt", "CoreTmp", "Busy%"))
    assert "the sum of 2 x package" in "\n".join(explanation(FrameContent(frame), watts, SYSTEM_ROW))
    assert "the greatest of 8 x core" in "\n".join(explanation(FrameContent(frame), heat, SYSTEM_ROW))
    assert "the mean of 16 x cpu" in "\n".join(explanation(FrameContent(frame), busy, SYSTEM_ROW))
    sums = substituted(cell_arithmetic(frame, watts, SYSTEM_ROW), evidence(frame, watts, SYSTEM_ROW))
    assert sums.count("/") == 2, "each package's energy stands over its own time"


def test_bits_of_a_register_are_identified_by_name() -> None:
    watched, frame = seen("laptop-old")
    column = watched.catalog.by_id["Throttle"]
    row = frame.rows(column.scope)[0]
    cell = frame.cell(column, row)
    assert isinstance(cell, str)
    text = "\n".join(explanation(FrameContent(frame), column, row))
    for word in cell.split():
        assert word == "none" or f" {word}" in text
    for item in evidence(frame, column, row):
        raw = item.parts[0].newer
        if item.signal.behavior is Behavior.GAUGE and isinstance(raw, int):
            assert f"{raw:#x}" in text
