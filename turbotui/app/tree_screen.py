"""A screen whose rows may form a tree: ← and → fold and unfold the current row, * all of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import Generic

from turbotui.app.row_table import RowTableScreen
from turbotui.quantities.columns import R


class TreeScreen(RowTableScreen[R], Generic[R]):
    """A `RowTableScreen` with the keys of a tree; the content says which rows are open, and their parents.

    Attributes:
        treeless: the sentence for `*` if rows form no tree.
    """

    treeless = "Rows stand in no tree: t changes that"

    @property
    @abstractmethod
    def outer_rows(self) -> frozenset[Hashable] | None:
        """The rows that `*` folds; None if rows form no tree."""

    def action_sideways(self, by: int) -> None:
        """Fold or unfold the current row while no column is chosen; otherwise go to the next column."""
        line = self._table.line
        if line is None or self._table.is_column_chosen:
            super().action_sideways(by)
        elif by > 0 and line.open is False:
            self._fold(line.row, fold=False)
        elif by < 0 and line.open:
            self._fold(line.row, fold=True)
        elif by < 0 and line.parent is not None:
            self._table.select(line.parent)
        else:
            super().action_sideways(by)

    def action_fold_all(self) -> None:
        """Fold every row with children, or unfold all if some are folded."""
        outer = self.outer_rows
        if outer is None:
            self.notice(self.treeless)
        else:
            self._change(folded=frozenset() if self._table.view.folded else outer)
