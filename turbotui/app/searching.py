"""`/` and `n`: find named things while typing, on screens of every kind."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Sequence

from turbotui.app.base import WatchScreen
from turbotui.app.watch import Watch


class SearchScreen(WatchScreen):
    """A screen with rows, CPUs, panels or lines that can be found by name."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._query = ""

    @abstractmethod
    def find(self, text: str, *, after: bool = False) -> bool:
        """Go to the first match from the cursor on (with `after`: behind it), wrapping around; false for none."""

    @abstractmethod
    def way_back(self) -> Callable[[], None]:
        """Return a function that puts the cursor back to its current place."""

    def action_search(self) -> None:
        """Search while the user types; Enter keeps the place, Esc goes back."""
        from turbotui.app.prompt import Prompt  # noqa: PLC0415 - the first screen loads what it draws

        back = self.way_back()

        def typed(text: str) -> str:
            self._query = text
            return "" if not text or self.find(text) else f"Nothing matches {text}"

        def done(text: str | None) -> None:
            if text is None:
                back()

        self.app.push_screen(Prompt("find", "", typed), done)

    def action_search_next(self) -> None:
        """Go to the next match of the last search."""
        if not self._query:
            self.notice("Nothing was searched yet: / finds as you type")
        elif not self.find(self._query, after=True):
            self.notice(f"Nothing matches {self._query}")


def next_match(names: Sequence[str], text: str, start: int) -> int | None:
    """The first place from a start whose name contains a text in any case, wrapping around; None if there is none.

    Args:
        names: of the places, in their order.
        text: a number matches only itself: 7 does not match "cpu 17".
        start: index of the place to begin with.
    """
    wanted = text.strip().lower()
    pattern = re.compile(rf"(?<!\d){wanted}(?!\d)" if wanted.isdecimal() else re.escape(wanted))
    places = range(len(names))
    start = start % len(names) if names else 0
    return next((at for at in (*places[start:], *places[:start]) if pattern.search(names[at].lower())), None)
