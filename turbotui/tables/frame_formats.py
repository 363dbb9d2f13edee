"""Formats of the CPU table: turbostat's own layout, or any format for tables, each loaded on use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from turbotui.tables.formats import TEXT, make_format

if TYPE_CHECKING:  # text is the most frequent format, and needs no table
    from turbotui.sampling.frame import Frame
    from turbotui.tables.layout import Layout


class FrameFormat(Protocol):
    """A way to write frames, which may keep state from one frame to the next."""

    def lines(self, frame: Frame) -> Iterator[str]:
        """The lines of one interval, without line ends."""

    def end(self) -> Iterator[str]:
        """The lines after the last interval."""


def make_frame_format(name: str, layout: Layout, intervals: int | None = 1) -> FrameFormat:
    """Make a format for the frames of one run: turbostat's own layout for `TEXT`, else that of every table.

    Raises:
        UsageError: there is no such format.
    """
    if name == TEXT:
        from turbotui.tables.turbostat_text import TurbostatText  # noqa: PLC0415 - only where it is used

        return TurbostatText(layout)
    from turbotui.tables.frame_table import TableOfFrames  # noqa: PLC0415 - only where it is used

    return TableOfFrames(layout, make_format(name, intervals))
