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


@dataclass(frozen=True)  # no slots: see quantities.columns.Column
class TableView(Generic[C, K]):
    """The settings of one table.

    Attributes:
        columns: the shown columns in print order; identity columns are always drawn first.
        sort: None for the table's own order.
        reverse: whether the greatest comes first (in the table's own order, the last).
        levels: of the tree, coarse to fine; one level is a flat table.
        filter: decides which rows are shown.
        top: rows fixed at the top.
        tags: rows pinned below those.
        sums: rows that sum the tags, if there are any.
        folded: groups whose parts are hidden.
        follow: what the cursor follows.
        targets: the columns that HOTTEST, BUSIEST and SLOWEST use, if available.
        sparks: columns with a sparkline beside them, and its width.
        tops: value of a full block for each sparkline; a column without one scales to its peak.
        mark: the moment with which numbers are compared; None to show values.
        arrangement: order and widths of columns, if the user changed them.
    """

    columns: tuple[C, ...] = ()
    sort: C | None = None
    reverse: bool = False
    levels: tuple[Scope, ...] = (Scope.CPU,)
    filter: Filter[C] = field(default_factory=Filter)
    top: tuple[K, ...] = ()
    tags: tuple[K, ...] = ()
    sums: tuple[K, ...] = ()
    folded: frozenset[K] = frozenset()
    follow: Follow = Follow.ROW
    targets: Mapping[Follow, C] = field(default_factory=dict)
    sparks: Mapping[ColumnId, int] = field(default_factory=dict)
    tops: Mapping[ColumnId, float] = field(default_factory=dict)
    mark: Content[C, K] | None = None
    arrangement: ColumnArrangement = USUAL

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
