"""A person's choices for a table: columns, order, grouping, filter, tags, folds."""

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
    """Where the cursor goes when rows change places. The value is the word shown to people."""

    ROW = "its CPU"
    LINE = "off"
    HOTTEST = "hottest"
    BUSIEST = "busiest"
    SLOWEST = "slowest"


TAGS_ROW = RowId(Scope.SYSTEM, (-1,))
"""The sum of the tagged rows; no instance of any topology."""


@dataclass(frozen=True)  # no slots: see quantities.columns.Column
class TableView(Generic[C, K]):
    """One table's settings.

    Attributes:
        columns: shown, in print order; identity columns are drawn first whatever their place.
        sort: None for the table's own order.
        reverse: greatest first (for the table's order: last first).
        levels: of the tree, coarse to fine; one level is a flat table.
        filter: which rows are shown.
        top: rows that stay on top.
        tags: rows pinned below those.
        sums: rows that stand for all tags together, where there are any.
        folded: groups whose parts are hidden.
        follow: what the cursor follows.
        targets: the column that HOTTEST, BUSIEST and SLOWEST look at, where there is one.
        sparks: columns with a picture of their history beside them, and its width.
        tops: value of a full block per spark column; a column without one scales to its peak.
        mark: the moment that numbers are compared with; None: values are shown.
        arrangement: order and widths of columns where a person changed them.
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
        """Rows that do not scroll: those on top, the tagged ones and their sum."""
        return (*self.top, *self.tags, *self.sums) if self.tags else self.top

    @property
    def needed(self) -> tuple[C, ...]:
        """Every column that has to be read for this view, each once."""
        wanted = [*self.columns, *self.filter.columns]
        if self.sort is not None:
            wanted.append(self.sort)
        target = self.targets.get(self.follow)
        if target is not None:
            wanted.append(target)
        return tuple({column.id: column for column in wanted}.values())
