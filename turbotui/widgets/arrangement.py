"""A user's arrangement of a table's columns: order, widths, which are shown. Nothing here knows Textual.

Names of columns that a table does not have are kept, because another machine or another moment may have them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Final, TypeVar

from turbotui.dataclass import dataclass
from turbotui.quantities.columns import ColumnId
from turbotui.quantities.rows import WrongKindError

NARROWEST: Final = 3
WIDEST: Final = 200

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ColumnArrangement:
    """A user's order and widths of the columns of one table."""

    # names from left to right; a column that is not named follows its usual left neighbour
    order: tuple[ColumnId, ...] = ()
    # characters of a value, by name; the others have their natural width
    widths: Mapping[ColumnId, int] = field(default_factory=dict)
    # show, hide: names of columns that are shown or hidden against the default; columns of CPUs belong to no single
    # table and are kept elsewhere
    show: tuple[ColumnId, ...] = ()
    hide: tuple[ColumnId, ...] = ()

    def is_shown(self, name: ColumnId, *, usually: bool) -> bool:
        """Whether the table shows a column."""
        return name in self.show or (usually and name not in self.hide)

    def shown(self, name: ColumnId, *, shown: bool) -> ColumnArrangement:
        """The arrangement with a column shown or hidden."""
        show, hide = (tuple(kept_name for kept_name in names if kept_name != name) for names in (self.show, self.hide))
        return replace(self, show=(*show, name) if shown else show, hide=hide if shown else (*hide, name))

    def in_place(self) -> ColumnArrangement:
        """Return the arrangement with the usual order and natural widths."""
        return replace(self, order=(), widths={})

    def ordered(self, columns: Mapping[ColumnId, T]) -> list[T]:
        """Sort columns, which come in their usual order, as the user arranged them."""
        if not self.order:
            return list(columns.values())
        return [columns[name] for name in joined([name for name in self.order if name in columns], columns)]

    def moved(self, shown: Sequence[ColumnId], name: ColumnId, to: ColumnId) -> ColumnArrangement:
        """Move a column to another one's place; the columns in between shift towards the old place."""
        if name == to or name not in shown or to not in shown:
            return self
        order = [other for other in shown if other != name]
        order.insert(shown.index(to), name)
        return replace(self, order=tuple(joined(order, self.order)))

    def sized(self, name: ColumnId, width: int | None) -> ColumnArrangement:
        """The arrangement with another width for a column; None for its natural width."""
        widths = {other: wide for other, wide in self.widths.items() if other != name}
        if width is not None:
            widths[name] = max(NARROWEST, min(WIDEST, width))
        return replace(self, widths=widths)


def widths(value: object) -> Mapping[ColumnId, int]:
    """Read widths by name from a user's file. Raises WrongKindError if the value is not such a table."""
    if not isinstance(value, Mapping):
        raise WrongKindError('a table, as {CPU = 4, "Busy%" = 8}')
    if any(type(wide) is not int or not NARROWEST <= wide <= WIDEST for wide in value.values()):
        raise WrongKindError(f"a table of whole numbers of characters from {NARROWEST} to {WIDEST}")
    return {str(name): wide for name, wide in value.items()}


USUAL: Final = ColumnArrangement()
"""The arrangement of a table that nobody changed."""


def joined(first: Sequence[ColumnId], others: Iterable[ColumnId]) -> list[ColumnId]:
    """Merge lists of names in the first list's order; a name of another list alone follows its neighbour there."""
    ids, known = list(first), set(first)
    before: ColumnId | None = None
    for name in others:
        if name not in known:
            known.add(name)
            ids.insert(0 if before is None else ids.index(before) + 1, name)
        before = name
    return ids
