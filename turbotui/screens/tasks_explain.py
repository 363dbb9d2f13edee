"""e on the tasks screen: every number of one row, how it was sampled, and what cannot be had and why."""

from __future__ import annotations

from collections.abc import Callable

from turbotui.screens.text_window import TextWindow


class ExplainTask(TextWindow):
    """Explains a row.

    Args:
        tell: gives the title and the lines for a width.
    """

    def __init__(self, tell: Callable[[int], tuple[str, list[str]]]) -> None:
        super().__init__()
        self._tell = tell

    def told(self, width: int) -> tuple[str, list[str]]:
        """What the row's numbers are now."""
        return self._tell(width)
