"""The screen shown in place of one that failed."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from textual import events
from textual.widget import Widget

from turbotui.app.base import WatchScreen
from turbotui.app.watch import Watch
from turbotui.quantities.columns import CounterColumn
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.segment_lines import SegmentLines


class FailedScreen(WatchScreen):
    """Says what failed, and that everything else continues.

    Args:
        sentence: what failed, and where the report is.
        for_good: whether it has failed before, or cannot be made at all.
    """

    DEFAULT_CSS = "FailedScreen #failed { height: 1fr; }"

    def __init__(self, watch: Watch, number: str, word: str, sentence: str, *, for_good: bool) -> None:
        super().__init__(watch)
        self.number = number
        self.word = word
        self._sentence = sentence
        self._advice = (f"{word} stays closed" if for_good else f"{number} shows this screen anew")

    def body(self) -> Iterable[Widget]:
        """Lay out the sentences about the failure."""
        yield SegmentLines(id="failed")

    @property
    def wanted(self) -> Sequence[CounterColumn]:
        """No columns beside those of the summary."""
        return ()

    def on_resize(self, event: events.Resize) -> None:
        """Wrap the sentences about the failure for the new width."""
        super().on_resize(event)
        self._say()

    def on_screen_resume(self) -> None:
        """Show the sentences about the failure."""
        super().on_screen_resume()
        self._say()

    def _say(self) -> None:
        if not self.composed:
            return
        width = max(20, self.size.width - 2)
        words = (f"▲ {self._sentence}.", "", "Measuring goes on, and so do the other screens.", f"{self._advice}.")
        lines = [line for text in words for line in textwrap.wrap(text, width) or [""]]
        self.query_one("#failed", SegmentLines).show([[(f" {line}", StyleRole.PLAIN)] for line in lines])

    def readout(self) -> str:
        """What the screen's key does now."""
        return self._advice
