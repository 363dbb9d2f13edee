"""Refuse to add columns to sessions whose columns are fixed: recordings and other machines."""

from __future__ import annotations

from abc import ABC, abstractmethod

from turbotui.errors import UsageError
from turbotui.quantities.columns import ColumnId, CounterColumn


class FixedColumns(ABC):
    """A session to which no columns can be added."""

    @property
    @abstractmethod
    def why_fixed(self) -> str:
        """Why nothing can be added; follows the name of what was asked for."""

    def add_all(self, text: str) -> tuple[CounterColumn, ...]:
        """Refuse to count anything more.

        Raises:
            UsageError: always.
        """
        raise UsageError(f"{text}: {self.why_fixed}")

    def by_hand(self) -> tuple[tuple[ColumnId, str], ...]:
        """No columns were added."""
        return ()

    def typed(self) -> tuple[str, ...]:
        """No texts were added."""
        return ()

    def remove(self, name: ColumnId) -> None:
        """Do nothing, because no column was added."""
        del name
