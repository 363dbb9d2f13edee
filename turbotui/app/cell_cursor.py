"""Screens without a table whose cursor is on one cell of the newest frame: what `y`, `e` and `g` do with the cell."""

from __future__ import annotations

from abc import abstractmethod

from turbotui.app.base import WatchScreen
from turbotui.widgets.panel import Target


class CellCursorScreen(WatchScreen):
    """A screen whose cursor is on a cell of a frame."""

    @property
    @abstractmethod
    def pointed(self) -> Target | None:
        """Column and row of the cell under the cursor; None if it is on none."""

    def copied(self) -> str:
        from turbotui.app.one_cell import cell_in_words  # noqa: PLC0415 - the first screen loads what it draws

        frame, target = self.watch_state.frame, self.pointed
        return "" if frame is None or target is None else cell_in_words(frame, *target)

    def action_explain(self) -> None:
        """Explain the cell under the cursor."""
        from turbotui.app.graph import Explain  # noqa: PLC0415 - as above
        from turbotui.app.one_cell import FrameCell  # noqa: PLC0415 - as above

        if (target := self.pointed) is not None:
            self.app.push_screen(Explain(FrameCell(self.watch_state, *target)))

    def action_graph(self) -> None:
        """Graph the cell under the cursor."""
        from turbotui.app.graph import Graph  # noqa: PLC0415 - as above
        from turbotui.app.one_cell import FrameCell  # noqa: PLC0415 - as above

        if (target := self.pointed) is not None and target[0].decimals < 0:
            self.notice(f"{target[0].id} is words, not numbers: there is nothing to draw")
        elif target is not None:
            self.app.push_screen(Graph(FrameCell(self.watch_state, *target)))
