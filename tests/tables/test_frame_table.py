"""The CPU table computes whole columns, and they say what its cells say one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from watched_machines import frames_of_machine

from turbotui.machine.host import HostKind
from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.tables import CellColumn
from turbotui.sampling.frame import Frame
from turbotui.tables.frame_table import FrameTable
from turbotui.tables.layout import Layout


def without_a_cpu(frame: Frame) -> Frame:
    """The frame with counters of the second CPU missing, as if it had answered late."""
    many = len(frame.topology.cpus)
    newer = replace(frame.newer, late=frozenset({1}), values={
        name: [items[0], None, *items[2:]] if len(items) == many else items
        for name, items in frame.newer.values.items()})
    return Frame(frame.older, newer, frame.capabilities)


def half_counted(frame: Frame) -> Frame:
    """The frame with counters that ran half of the time on the first CPU that has them."""
    assert frame.older is not None
    running = {signal.running for signal in frame.capabilities.signals.values() if signal.running}
    values = dict(frame.newer.values)
    for name in running & values.keys():
        at = next(at for at, item in enumerate(values[name]) if item is not None)
        before, after = frame.older.values[name][at], values[name][at]
        assert isinstance(before, int)
        assert isinstance(after, int)
        values[name] = [*values[name][:at], (before + after) // 2, *values[name][at + 1:]]
    return Frame(frame.older, replace(frame.newer, values=values), frame.capabilities)


@pytest.mark.parametrize("change", [lambda frame: frame, without_a_cpu, half_counted])
@pytest.mark.parametrize("shape", ["sapphire-2s", "laptop", "guest"])
def test_a_column_is_its_cells(shape: str, change: Callable[[Frame], Frame]) -> None:
    _, frames = frames_of_machine(shape, 1, small=True)
    frame = change(frames[-1])
    columns = tuple(catalog_for(frame.capabilities.signals).columns)
    table = FrameTable(frame, Layout(columns, machine=shape, kind=HostKind.SIMULATED))
    alone = FrameTable(frame.anew(), table.layout)
    unmarked = 0
    for column in columns:
        assert table.bare(column, table.rows) == table.cells(column, table.rows).bare, column
        assert table.cells(column, table.rows) == CellColumn.of([alone.cell(column, row) for row in table.rows]), column
        unmarked += frame.is_unmarked(column)
    assert (unmarked == 0) is (change is without_a_cpu)
