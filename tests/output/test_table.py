"""Tables for people: units below titles that do not say them."""

from __future__ import annotations

from turbotui.machine.host import HostKind
from turbotui.output.envelope import Envelope
from turbotui.output.table import TableText
from turbotui.quantities.catalog import STATIC_COLUMNS
from turbotui.quantities.columns import Column
from turbotui.quantities.tables import RowTable

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
