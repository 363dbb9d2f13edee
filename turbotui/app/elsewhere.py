"""What / says of a text that a screen does not have: which other screen has it, or why none has."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence

from turbotui.app.sessions import WatchedSession
from turbotui.dataclass import dataclass
from turbotui.feature import ScreenSpec, part

_LEAST = 3
"""Characters of a text that may stand within a word."""


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """A sentence about a text that a screen does not have, and what Enter does about it."""

    about: str  # "IPC is not here"
    rest: str = ""  # the reason
    key: str = ""  # what Enter does: "why"; "" for nothing
    go: Callable[[], None] | None = None  # does it

    @property
    def sentence(self) -> str:
        """The sentence alone."""
        return f"{self.about}: {self.rest}" if self.rest else self.about

    @property
    def offer(self) -> str:
        """The sentence with what Enter does before the reason, which may be cut."""
        about = f"{self.about} (Enter: {self.key})" if self.key else self.about
        return f"{about}: {self.rest}" if self.rest else about


class OtherScreens:
    """The names by which other screens can be found."""

    def __init__(self, session: WatchedSession, screens: Sequence[ScreenSpec], number: str) -> None:
        self._session = session
        self._screens = [spec for spec in screens if spec.number != number]

    def named(self, screen: str) -> bool:
        """Whether there is another screen of that id."""
        return any(spec.id == screen for spec in self._screens)

    def find(self, text: str) -> Sequence[tuple[str, ScreenSpec]]:
        """The names that fit a text, the best first, each with a screen that has it."""
        wanted = text.strip().lower()
        ranked = [(rank, at) for at, (name, _) in enumerate(self._names) if (rank := _rank(name, wanted)) is not None]
        return [self._names[at] for _, at in sorted(ranked)] if wanted else ()

    @functools.cached_property
    def _names(self) -> Sequence[tuple[str, ScreenSpec]]:
        return [(name, spec) for spec in self._screens for name in self._names_of(spec)]

    def _names_of(self, spec: ScreenSpec) -> Iterator[str]:
        yield spec.word
        if spec.rows:
            definition = part(spec.rows)
            yield from (column.id for column in definition.columns)  # type: ignore[attr-defined] # see `ScreenSpec`
        if spec.finds:
            names: Callable[[WatchedSession], Sequence[str]] = part(spec.finds)  # type: ignore[assignment] # as above
            yield from names(self._session)


def _rank(name: str, wanted: str) -> int | None:
    """Return how well a name fits a text that is searched, 0 for best; None if it does not."""
    held = name.lower()
    title, _, _ = held.partition(": ")
    words = held.replace("-", " ").replace("_", " ").split()
    fits = (title == wanted, title.startswith(wanted), any(word.startswith(wanted) for word in words),
            len(wanted) >= _LEAST and wanted in held)
    return next((rank for rank, fit in enumerate(fits) if fit), None)
