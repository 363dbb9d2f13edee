"""A user's choices for a table: columns, order, grouping, filter, tags, folds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from typing import Generic

from turbotui.dataclass import dataclass
from turbotui.quantities.columns import ColumnId
from turbotui.quantities.filters import Filter
from turbotui.quantities.scope import RowId, Scope
from turbotui.quantities.tables import C, K
from turbotui.widgets.arrangement import USUAL, ColumnArrangement
from turbotui.widgets.content import Content


class Follow(Enum):
    """What the cursor follows when rows move, by the word shown to people."""

    ROW = "its CPU"
    LINE = "off"
    HOTTEST = "hottest"
    BUSIEST = "busiest"
    SLOWEST = "slowest"


TAGS_ROW = RowId(Scope.SYSTEM, (-1,))
"""The row that sums the tagged rows; it is no instance of the topology."""


@dataclass(frozen=True)  # no slots: CPython issue 90562
class TableView(Generic[C, K]):
    """The settings of one table."""

    columns: tuple[C, ...] = ()  # the shown columns in print order; identity columns are always drawn first
    sort: C | None = None  # None for the table's own order
    reverse: bool = False  # whether the greatest comes first (in the table's own order, the last)
    levels: tuple[Scope, ...] = (Scope.CPU,)  # of the tree, coarse to fine; one level is a flat table
    filter: Filter[C] = field(default_factory=Filter)  # decides which rows are shown
    top: tuple[K, ...] = ()  # rows fixed at the top
    tags: tuple[K, ...] = ()  # rows pinned below those
    sums: tuple[K, ...] = ()  # rows that sum the tags, if there are any
    folded: frozenset[K] = frozenset()  # groups whose parts are hidden
    follow: Follow = Follow.ROW  # what the cursor follows
    # the columns that HOTTEST, BUSIEST and SLOWEST use, if available
    targets: Mapping[Follow, C] = field(default_factory=dict)
    sparks: Mapping[ColumnId, int] = field(default_factory=dict)  # columns with a sparkline beside them, and its width
    # value of a full block for each sparkline; a column without one scales to its peak
    tops: Mapping[ColumnId, float] = field(default_factory=dict)
    mark: Content[C, K] | None = None  # the moment with which numbers are compared; None to show values
    arrangement: ColumnArrangement = USUAL  # order and widths of columns, if the user changed them

    @property
    def pinned(self) -> tuple[K, ...]:
        """Rows that do not scroll: those at the top, the tagged ones and their sum."""
        return (*self.top, *self.tags, *self.sums) if self.tags else self.top

    @property
    def needed(self) -> tuple[C, ...]:
        """Every column that this view has to read, each once."""
        wanted = [*self.columns, *self.filter.columns]
        if self.sort is not None:
            wanted.append(self.sort)
        target = self.targets.get(self.follow)
        if target is not None:
            wanted.append(target)
        return tuple({column.id: column for column in wanted}.values())
