"""Refusals of sessions with fixed columns, those of a recording or of other machines."""

from __future__ import annotations

from abc import ABC, abstractmethod

from turbotui.errors import UsageError
from turbotui.quantities.columns import ColumnId, CounterColumn


class FixedColumns(ABC):
    """A session to whose columns nothing can be added by hand."""

    @property
    @abstractmethod
    def why_fixed(self) -> str:
        """Why nothing can be added, to go on with behind what was asked for."""

    def add_all(self, text: str) -> tuple[CounterColumn, ...]:
        """Refuse to count anything more.

        Raises:
            UsageError: always.
        """
        raise UsageError(f"{text}: {self.why_fixed}")

    def by_hand(self) -> tuple[tuple[ColumnId, str], ...]:
        """No column was added."""
        return ()

    def typed(self) -> tuple[str, ...]:
        """No text was added."""
        return ()

    def remove(self, name: ColumnId) -> None:
        """Do nothing: no column was added."""
        del name
