"""Names of wide and combining characters shift nothing: in tables, trees and timelines of tasks, on the overview."""

from __future__ import annotations

from collections.abc import Hashable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from turbotui.features.overview.task_lines import task_lines
from turbotui.features.overview.top_tasks import TopTask
from turbotui.features.tasks.applications import Application
from turbotui.features.tasks.columns import TASK_COLUMNS, TaskColumn
from turbotui.features.tasks.live import Lane, SnapshotRequest, TaskSnapshot
from turbotui.features.tasks.process_tree import Ancestry
from turbotui.features.tasks.report import Report
from turbotui.features.tasks.screen_rows import LANE_LEFT, PastTasks, TreePainter, content_of, lane_segments, tree_slots
from turbotui.features.tasks.tables import Grouping, TaskRow
from turbotui.features.tasks.thread_totals import RUN
from turbotui.features.tasks.timeline import Stretch
from turbotui.machine.topology import CpuPlace, topology_of
from turbotui.sampling.energy import Energy
from turbotui.untrusted import one_line
from turbotui.widgets.cells import slot_for
from turbotui.widgets.content import Line
from turbotui.widgets.painter import TextSegment
from turbotui.widgets.row_content import RowPainter
from turbotui.widgets.slots import row_slots
from turbotui.widgets.table_view import TableView

NAMES = ("plain", "漢字漢字漢字漢", "e\u0301" * 15, "ｱｲｳ", "👍 ok", "", "ab漢", "漢" * 40,
         *map(one_line, ("👩\u200d💻", "z\u200bz", "\udcff\udcfe", "\u202eabc")))
ONE = topology_of([CpuPlace(0, package=0, die=0, l3=0, node=0, module=0, core=0)])


def row(pid: int, name: str) -> TaskRow:
    return TaskRow(pid, pid, name, 1, (0,), 0, {RUN: 5 * 10**8, "switches": 1}, 1, {0: 5 * 10**8}, 10**9, False)


def cells(segments: tuple[TextSegment, ...] | list[TextSegment]) -> int:
    return sum(cell_len(text) for text, _ in segments)


@pytest.mark.parametrize("width", [40, 80, 132])
def test_columns_of_the_table_and_the_tree_stand_below_each_other(width: int) -> None:
    rows = tuple(row(number, name) for number, name in enumerate(NAMES, 1))
    report = Report(Application("all", everything=True), rows=rows, seconds=1.0, names=(RUN, "switches"))
    snapshot = TaskSnapshot(SnapshotRequest(Grouping.THREAD, tree=True), (report,), ancestry=Ancestry({2: 1, 3: 2}, {}))
    content = content_of(PastTasks(snapshot, Energy({}, {}), 1), ONE)
    shown = tuple(column for column in TASK_COLUMNS if column.id in ("PID", "Command", "User", "CPU%"))
    view: TableView[TaskColumn, Hashable] = TableView(shown)
    fixed, moving = row_slots(view, width)
    flat = RowPainter(view, fixed, moving, width)
    indented = TreePainter(view, *tree_slots(view, width), width)
    for painter in (flat, indented):
        result = [cells(painter.ids(content, Line(key, depth=depth))) for depth in (0, 3) for key in content.rows]
        assert len(set(result)) == 1
        assert result[0] == painter.label_width
    name = next(column for column in TASK_COLUMNS if column.id == "Command")
    slot = slot_for(name)
    assert {cell_len(text) for text, _ in flat.column(content, list(content.rows), slot)} == {slot.width + 1}


@given(st.sampled_from(NAMES) | st.text(max_size=20).map(one_line))
def test_lanes_begin_at_one_place(name: str) -> None:
    lane = Lane(row(7, name), (Stretch(0, 1.0, False), None, Stretch(1, 0.2, False)), 0, 0.4)
    head, *_ = lane_segments(lane, 1)
    assert cell_len(head[0]) == LANE_LEFT


@given(st.sampled_from(NAMES) | st.text(max_size=20).map(one_line), st.integers(60, 200))
def test_lines_of_processes_on_the_overview_have_the_width_of_the_screen(name: str, width: int) -> None:
    task = TopTask(7, name, "R", 1, 0, 50.0, 10**6, 1.0, f"--of {name}")
    for line in task_lines([task], width, 2, unseen=f"tasks that cannot be seen: {name}"):
        assert sum(cell_len(span.text) for span in line) == width
