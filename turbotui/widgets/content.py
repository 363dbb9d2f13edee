"""A table at one moment, in the form that a table widget draws. Nothing here knows Textual."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from turbotui.dataclass import dataclass
from turbotui.quantities.columns import Value
from turbotui.quantities.tables import AnyTable, C, Cell, CellEvidence, K
from turbotui.quantities.unavailable import Unavailable


@dataclass(frozen=True, slots=True)
class Line(Generic[K]):
    """One line of a table."""

    row: K  # whose values it shows
    depth: int = 0  # indentation in a tree
    open: bool | None = None  # whether a group is unfolded; None for a row without children
    parent: K | None = None  # the group that contains the row


class Content(ABC, Generic[C, K]):
    """A table at one moment; a row has a key that stays the same from one moment to the next."""

    @property
    @abstractmethod
    def seq(self) -> int:
        """Number of the moment."""

    @property
    @abstractmethod
    def rows(self) -> Sequence[K]:
        """Every row, in the table's own order."""

    @abstractmethod
    def values(self, column: C, rows: Sequence[K]) -> Sequence[Value]:
        """The values of a column in many rows; None if unknown."""

    @abstractmethod
    def value(self, column: C, row: K) -> Value:
        """One value; None if unknown or if the row does not exist."""

    @abstractmethod
    def why(self, column: C, row: K) -> Unavailable | None:
        """Why a value is unknown."""

    @abstractmethod
    def cell(self, column: C, row: K) -> Cell:
        """One value with its marks and its reason."""

    @abstractmethod
    def evidence(self, column: C, row: K) -> CellEvidence:
        """The evidence of a cell; empty if the row does not exist."""

    @abstractmethod
    def words(self, row: K) -> str:
        """Lower-case text in which search and filter look."""

    @abstractmethod
    def title(self, row: K) -> str:
        """The row's own name, for people."""

    @abstractmethod
    def name(self, column: C, row: K) -> str:
        """The name of a cell's row, for people."""

    @abstractmethod
    def table(self, columns: Sequence[C], rows: Sequence[K]) -> AnyTable:
        """These columns and rows in the form that formats take."""


F = TypeVar("F", bound=Content[Any, Any])
"""The kind of content of a widget."""
