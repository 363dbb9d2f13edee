"""Tables for people: units below titles that do not say them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turbotui.machine.host import HostKind
from turbotui.quantities.catalog import STATIC_COLUMNS
from turbotui.quantities.columns import Column
from turbotui.quantities.tables import RowTable
from turbotui.tables.envelope import Envelope
from turbotui.tables.table import TableText

_COLUMNS: tuple[Column[float], ...] = (
    Column("name", "", -1, (), lambda _row: "one", width=4, identity=True),
    Column("start", "s", 2, (), lambda row: row, width=1),
    Column("GB/s", "GB/s", 1, (), lambda row: row, width=1),
    Column("busy", "%", 0, (), lambda row: row, width=1),
)


def test_a_unit_stands_below_a_title_that_does_not_say_it() -> None:
    envelope = Envelope("cn17", HostKind.REAL, 0)
    lines = list(TableText(headed=False).lines(envelope, RowTable("t", "row", _COLUMNS, [2.0])))
    assert lines == ["      start        busy", "name      s  GB/s     %", "one    2.00   2.0     2"]


def test_the_catalog_keeps_turbostat_s_titles_in_one_line() -> None:
    assert all(column.heading == (column.title,) for column in STATIC_COLUMNS)


_MANY = tuple(Column[int](name, "", 0, (), lambda row: row, width=width, priority=priority)
              for name, width, priority in (("a", 6, 2), ("b", 9, 0), ("c", 12, 1), ("d", 3, 1)))


@given(st.integers(min_value=1, max_value=60))
def test_a_table_in_a_narrow_terminal_keeps_its_first_columns_and_names_the_others(room: int) -> None:
    envelope = Envelope("here", HostKind.REAL, 0)
    lines = list(TableText(headed=False, room=room).lines(envelope, RowTable("t", "row", _MANY, [1, 22])))
    shown = lines[0].split()
    left_out = [line for line in lines if line.startswith("# too wide")]
    assert all(len(line) <= max(room, 9) for line in lines if line not in left_out)
    named = left_out[0].split(": ")[1].split(";")[0].split(", ") if left_out else []
    assert sorted([*shown, *named]) == ["a", "b", "c", "d"]
    assert shown == sorted(shown)
    assert "b" in shown
    order = ["b", "c", "d", "a"]
    assert set(shown) == set(order[: len(shown)])


def test_a_pipe_gets_every_column() -> None:
    lines = list(TableText(headed=False).lines(Envelope("here", HostKind.REAL, 0), RowTable("t", "row", _MANY, [1])))
    assert lines[0].split() == ["a", "b", "c", "d"]
