"""What a command line wants of the groups' table: which columns, which rows, in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.features.groups.columns import COLUMNS, GROUP, PATH, GroupColumn, needed
from turbotui.features.groups.files import Quantity
from turbotui.features.groups.model import Group, GroupRow
from turbotui.quantities.columns import Value
from turbotui.quantities.filters import Filter, FilterError, parse_filter
from turbotui.quantities.tables import RowTable

_BUSIEST: Final = "CPU%"


@dataclass(frozen=True, slots=True)
class GroupChoice:
    """Columns and rows of the table of control groups.

    Attributes:
        columns: of the table.
        passing: which rows it has.
        by: whose greatest come first; None for the order of the tree.
        top: how many rows at most; None for all.
        wanted: what has to be known of each group.
    """

    columns: tuple[GroupColumn, ...]
    passing: Filter[GroupColumn]
    by: GroupColumn | None
    top: int | None
    wanted: frozenset[Quantity]

    @property
    def is_tree(self) -> bool:
        """Whether the rows stand as the tree has them."""
        return self.by is None and not self.passing.text

    def may_pass(self, group: Group) -> bool:
        """Whether a group can have a row, as far as its words tell."""
        return self.passing.may_pass(_words(group))

    def of(self, table: RowTable[GroupRow]) -> RowTable[GroupRow]:
        """The table with these rows, in this order."""
        rows = list(table.rows)
        if self.passing.text:
            rows = [row for row in rows if self.passing.passes(_words(row.group), partial(_value, row))]
        by = self.by
        if by is not None:
            rows.sort(key=lambda row: _falling(by.compute(row)))
        return replace(table, rows=tuple(rows[: self.top]))


def group_choice(*, show: str, sort: str, filter_text: str, top: int | None, added: Sequence[GroupColumn] = (),
                 machine_format: bool = False) -> GroupChoice:
    """What a command line means.

    Args:
        show: names of columns, "all", or "".
        sort: the name of a column, or "".
        filter_text: as a person types it.
        top: how many rows.
        added: columns of events, which are shown in any case.
        machine_format: whether every column is shown where nobody chose some.

    Raises:
        UsageError: there is no such column, or the filter is none.
    """
    known = (*COLUMNS, *added)

    def named(name: str) -> GroupColumn | None:
        return next((column for column in known if column.id.lower() == name.lower()), None)

    def column_of(name: str) -> GroupColumn:
        found = named(name.strip())
        if found is None:
            raise UsageError(f"there is no column {name.strip()!r} of groups; there are "
                             f"{', '.join(column.id for column in known)}")
        return found

    if show == "all" or (not show and machine_format):
        columns = known
    elif not show:
        columns = tuple(column for column in known if column.default)
    else:
        chosen = [column_of(name) for name in show.split(",") if name.strip()]
        columns = tuple(dict.fromkeys((*((PATH, GROUP) if machine_format else (GROUP,)), *chosen, *added)))
    by = sort or (_BUSIEST if top else "")
    sorting = column_of(by) if by else None
    try:
        passing = parse_filter(filter_text, named)
    except FilterError as error:
        raise UsageError(f"--filter: {error}") from error
    wanted = needed((*columns, *passing.columns, *(() if sorting is None else (sorting,))))
    return GroupChoice(columns, passing, sorting, top, wanted)


def _words(group: Group) -> str:
    return f"{group.path} {group.name}".lower()


def _value(row: GroupRow, column: GroupColumn) -> Value:
    return column.compute(row)


def _falling(value: Value) -> tuple[bool, float, str]:
    """The order of a column from the top down: what is unknown last."""
    if isinstance(value, int | float):
        return (False, -value, "")
    return (value is None, 0.0, str(value))
