"""What Esc undoes: the states of a view that the user entered, the newest first. Nothing here knows Textual."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from turbotui.dataclass import dataclass

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class ViewState:
    """One state that is on: a filter, a moment of the past, a comparison, tags, a screen that Enter opened."""

    place: str  # number of the screen that has it; "" for all screens
    id: Hashable  # equal for as long as it is the same state: another filter is another one
    undo: Callable[[], None]
    ended: str = ""  # the sentence after it is undone; "" where that is plain to see


@dataclass(frozen=True, slots=True)
class ViewChoice(Generic[V]):
    """One thing that a view always has in some way: an order, a kind of rows, columns."""

    place: str  # number of the screen that has it; "" for all screens
    name: Hashable
    value: V
    restore: Callable[[V], None]
    ended: str  # the sentence after it is as it was


class StateOrder:
    """The order in which states began. They are not reported: whoever asks tells which ones are on."""

    def __init__(self) -> None:
        self._order: dict[tuple[str, Hashable], None] = {}
        self._usual: dict[tuple[str, Hashable], Any] = {}

    def changed(self, choices: Iterable[ViewChoice[Any]]) -> Iterator[ViewState]:
        """The states of choices that are not as they were when they were first looked at."""
        for choice in choices:
            usual = self._usual.setdefault((choice.place, choice.name), choice.value)
            if choice.value != usual:
                yield ViewState(choice.place, (choice.name, choice.value), partial(choice.restore, usual), choice.ended)

    def settle(self) -> None:
        """Make what is chosen at the next look the usual view, to which Esc returns."""
        self._usual.clear()

    def look(self, place: str, states: Iterable[ViewState]) -> Sequence[ViewState]:
        """Remember states that began since the last look, and forget those that ended.

        Args:
            place: number of the screen that is shown; states of other screens are left as they are.
            states: of that screen and of all screens; those that began together are in the order of their beginning.

        Returns:
            The states, the newest last.
        """
        there = {(state.place, state.id): state for state in states}
        self._order = {key: None for key in (*self._order, *there) if key in there or key[0] not in {"", place}}
        return [there[key] for key in self._order if key in there]
