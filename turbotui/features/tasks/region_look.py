"""A command's regions for screens: current, of a past moment, or from a recording."""

from __future__ import annotations

from turbotui.app.past_rows import PastRows
from turbotui.app.watch import Watch
from turbotui.features.tasks.region_counting import MarkedCommand
from turbotui.features.tasks.region_totals import RegionRecord, RegionTotals, regions_of
from turbotui.features.tasks.screen_text import region_line
from turbotui.recording.framing import DamagedError
from turbotui.sampling.frame import Frame
from turbotui.widgets.cells import StyleRole


class RegionLook:
    """The regions at the moment that the screen shows; none without a program, or a recording, that marks them."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._command = watch.marked if isinstance(watch.marked, MarkedCommand) else None
        self._past = PastRows(watch.session, regions_of)

    def take(self, frame: Frame) -> None:
        """Keep the regions at the end of a new frame, and record them while a recording runs."""
        counting = None if self._command is None else self._command.regions
        if counting is None:
            return
        totals = counting.totals()
        self._past.keep(frame.newer.wall_ns, len(totals.regions), totals, frame.seq)
        if self._watch.recorders and totals.regions:
            self._watch.record_rows(RegionRecord(*frame.clocks, totals))

    def of(self, frame: Frame | None) -> RegionTotals | None:
        """The regions at the end of a frame; None if unknown. Raises DamagedError if what was recorded are none."""
        return None if frame is None else self._past.of(frame)

    def lines(self, frame: Frame | None, width: int) -> list[tuple[str, StyleRole]]:
        """The line of the regions at the end of a frame, or what is wrong with those that were recorded."""
        try:
            totals = self.of(frame)
        except DamagedError as error:
            return [(str(error), StyleRole.AMBER)]
        return [] if totals is None or not totals.regions else [(region_line(totals, width - 2), StyleRole.SUMMARY)]
