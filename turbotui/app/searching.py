"""`/` and `n`: find what is called so as one types, on screens of every kind."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Sequence

from turbotui.app.base import WatchScreen
from turbotui.app.watch import Watch


class SearchScreen(WatchScreen):
    """A screen with rows, CPUs, panels or lines that are found by their names."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._query = ""

    @abstractmethod
    def find(self, text: str, *, after: bool = False) -> bool:
        """Go to what a text is found in, from the cursor on (with `after`: behind it) and around; false for nothing."""

    @abstractmethod
    def way_back(self) -> Callable[[], None]:
        """Give what puts the cursor back where it is now."""

    def action_search(self) -> None:
        """Find as one types; Enter keeps the place, Esc goes back."""
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
    """The first place whose name has a text in any case, from one on and around; None for none.

    Args:
        names: of the places, in their order.
        text: a number stands for itself: 7 is not found in "cpu 17".
        start: the place to begin with.
    """
    wanted = text.strip().lower()
    pattern = re.compile(rf"(?<!\d){wanted}(?!\d)" if wanted.isdecimal() else re.escape(wanted))
    places = range(len(names))
    start = start % len(names) if names else 0
    return next((at for at in (*places[start:], *places[:start]) if pattern.search(names[at].lower())), None)
