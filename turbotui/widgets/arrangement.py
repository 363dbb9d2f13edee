"""Columns of a table as a person wants them: order, widths, which are shown. Nothing here knows Textual.

Names of columns that a table does not have stay in their place: another machine, or another moment, may have them.
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
    """A person's order and widths of the columns of one table.

    Attributes:
        order: names from left to right; columns that are not named stand behind those before them in the usual order.
        widths: characters of a value, by name; the others have their natural width.
        show, hide: names of columns that are shown, or not, other than usual; those of CPUs are no matter of one
            table, and kept elsewhere.
    """

    order: tuple[ColumnId, ...] = ()
    widths: Mapping[ColumnId, int] = field(default_factory=dict)
    show: tuple[ColumnId, ...] = ()
    hide: tuple[ColumnId, ...] = ()

    def is_shown(self, name: ColumnId, *, usually: bool) -> bool:
        """Whether a column stands in the table."""
        return name in self.show or (usually and name not in self.hide)

    def shown(self, name: ColumnId, *, shown: bool) -> ColumnArrangement:
        """A column shown, or hidden."""
        show, hide = (tuple(one for one in names if one != name) for names in (self.show, self.hide))
        return replace(self, show=(*show, name) if shown else show, hide=hide if shown else (*hide, name))

    def in_place(self) -> ColumnArrangement:
        """The same columns in their usual order and with their natural widths."""
        return replace(self, order=(), widths={})

    def ordered(self, columns: Mapping[ColumnId, T]) -> list[T]:
        """Columns, which come in their usual order, as they shall stand."""
        if not self.order:
            return list(columns.values())
        return [columns[name] for name in joined([name for name in self.order if name in columns], columns)]

    def moved(self, shown: Sequence[ColumnId], name: ColumnId, to: ColumnId) -> ColumnArrangement:
        """A column in the place of another one, which makes room on the side that the column comes from.

        Args:
            shown: the columns of the table as they stand now.
            name: of the column that moves.
            to: of the one whose place it takes.
        """
        if name == to or name not in shown or to not in shown:
            return self
        order = [one for one in shown if one != name]
        order.insert(shown.index(to), name)
        return replace(self, order=tuple(joined(order, self.order)))

    def sized(self, name: ColumnId, width: int | None) -> ColumnArrangement:
        """A column with another width; None for its natural one."""
        widths = {one: wide for one, wide in self.widths.items() if one != name}
        if width is not None:
            widths[name] = max(NARROWEST, min(WIDEST, width))
        return replace(self, widths=widths)


def widths(value: object) -> Mapping[ColumnId, int]:
    """Widths by name, from a file that a person wrote.

    Raises:
        WrongKindError: it is no table of them.
    """
    if not isinstance(value, Mapping):
        raise WrongKindError('a table, as {CPU = 4, "Busy%" = 8}')
    if any(type(wide) is not int or not NARROWEST <= wide <= WIDEST for wide in value.values()):
        raise WrongKindError(f"a table of whole numbers of characters from {NARROWEST} to {WIDEST}")
    return {str(name): wide for name, wide in value.items()}


USUAL: Final = ColumnArrangement()
"""Of a table that nobody changed."""


def joined(first: Sequence[ColumnId], others: Iterable[ColumnId]) -> list[ColumnId]:
    """Names in the order of the first list; one of the others alone stands behind the one before it there."""
    found, known = list(first), set(first)
    before: ColumnId | None = None
    for name in others:
        if name not in known:
            known.add(name)
            found.insert(0 if before is None else found.index(before) + 1, name)
        before = name
    return found
