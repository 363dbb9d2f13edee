"""Lines of one moment, drawn once: a key or a look at the tasks changes few of them. Nothing here knows Textual."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable

from turbotui.sampling.frame import Frame
from turbotui.widgets.panel import Line


class KeptLines:
    """Remembers what was drawn of a frame, by what else it depends on."""

    def __init__(self) -> None:
        self._frame: Callable[[], Frame | None] = lambda: None
        self._of: tuple[object, ...] = ()
        self._lines: dict[Hashable, list[Line]] = {}

    def begin(self, frame: Frame, *of: object) -> bool:
        """Forget everything if this is another moment.

        Args:
            frame: what is drawn; it is not kept alive.
            of: what all lines depend on beside it.

        Returns:
            Whether it is.
        """
        if self._frame() is frame and self._of == of:
            return False
        self._frame, self._of = weakref.ref(frame), of
        self._lines.clear()
        return True

    def get(self, key: Hashable, draw: Callable[[], list[Line]]) -> list[Line]:
        """Lines kept by what they depend on, drawn on first use."""
        found = self._lines.get(key)
        if found is None:
            found = self._lines[key] = draw()
        return found
