"""A command's regions for screens: current, of a past moment, or from a recording."""

from __future__ import annotations

from turbotui.app.sessions import PlayedSession
from turbotui.app.watch import Watch
from turbotui.dataclass import dataclass
from turbotui.features.tasks.region_counting import MarkedCommand
from turbotui.features.tasks.region_totals import RegionRecord, RegionTotals, regions_of
from turbotui.sampling.frame import Frame
from turbotui.sampling.kept_intervals import KeptIntervals


@dataclass(frozen=True, slots=True)
class PastRegions:
    """The regions at the end of one interval."""

    time_ns: int  # when it ended, in ns since 1970
    seq: int  # its number
    totals: RegionTotals

    @property
    def size(self) -> int:
        """Rows, and one for the rest."""
        return 1 + len(self.totals.regions)


class RegionLook:
    """The regions at the moment that the screen shows; none without a program, or a recording, that marks them."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._played = watch.session if isinstance(watch.session, PlayedSession) else None
        self._command = watch.marked if isinstance(watch.marked, MarkedCommand) else None
        self._kept: KeptIntervals[PastRegions] = KeptIntervals()

    def take(self, frame: Frame) -> None:
        """Keep the regions at the end of a new frame, and record them while a recording runs."""
        counting = None if self._command is None else self._command.regions
        if counting is None:
            return
        totals = counting.totals()
        self._kept.keep(PastRegions(frame.newer.wall_ns, frame.seq, totals))
        if self._watch.recorder is not None and totals.regions:
            self._watch.recorder.rows(RegionRecord(*frame.clocks, totals))

    def of(self, frame: Frame | None) -> RegionTotals | None:
        """The regions at the end of a frame; None if unknown. Raises DamagedError if what was recorded are none."""
        if frame is None or frame.older is None:
            return None
        if self._played is not None:
            return regions_of(self._played.rows, frame)
        found = self._kept.at(frame.older.wall_ns, frame.newer.wall_ns)
        return None if found is None else found.totals
