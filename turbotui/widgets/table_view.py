"""What a person has chosen to see in a table: columns, order, grouping, filter, tags, folds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from turbotui.quantities.columns import ColumnId, CounterColumn
from turbotui.quantities.filters import Filter
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope
from turbotui.sampling.frame import Frame


class Follow(Enum):
    """Where the cursor goes when rows change places. The value is the word shown to people."""

    ROW = "its CPU"
    LINE = "off"
    HOTTEST = "hottest"
    BUSIEST = "busiest"
    SLOWEST = "slowest"


TAGS_ROW = RowId(Scope.SYSTEM, (-1,))
"""The sum of the tagged rows; no instance of any topology."""


@dataclass(frozen=True, slots=True)
class TableView:
    """One table's settings.

    Attributes:
        columns: shown, in print order; identity columns are drawn first whatever their place.
        sort: None for topology order.
        reverse: greatest first (for topology order: last first).
        levels: of the tree, coarse to fine; one level is a flat table.
        filter: which CPUs are shown.
        tags: pinned rows with a sum of their own.
        folded: groups whose parts are hidden.
        follow: what the cursor follows.
        targets: the column that HOTTEST, BUSIEST and SLOWEST look at, where there is one.
        sparks: columns with a picture of their history beside them, and its width.
        tops: value of a full block per spark column; a column without one scales to its peak.
        mark: the frame that numbers are compared with; None: values are shown.
    """

    columns: tuple[CounterColumn, ...] = ()
    sort: CounterColumn | None = None
    reverse: bool = False
    levels: tuple[Scope, ...] = (Scope.CPU,)
    filter: Filter[CounterColumn] = field(default_factory=Filter)
    tags: tuple[RowId, ...] = ()
    folded: frozenset[RowId] = frozenset()
    follow: Follow = Follow.ROW
    targets: Mapping[Follow, CounterColumn] = field(default_factory=dict)
    sparks: Mapping[ColumnId, int] = field(default_factory=dict)
    tops: Mapping[ColumnId, float] = field(default_factory=dict)
    mark: Frame | None = None

    @property
    def pinned(self) -> tuple[RowId, ...]:
        """Rows that stay on top: the whole machine, the tagged ones and their sum."""
        return (SYSTEM_ROW, *self.tags, TAGS_ROW) if self.tags else (SYSTEM_ROW,)

    @property
    def needed(self) -> tuple[CounterColumn, ...]:
        """Every column that has to be read for this view, each once."""
        wanted = [*self.columns, *self.filter.columns]
        if self.sort is not None:
            wanted.append(self.sort)
        target = self.targets.get(self.follow)
        if target is not None:
            wanted.append(target)
        return tuple({column.id: column for column in wanted}.values())
