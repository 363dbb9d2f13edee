"""A past that is a list of frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from turbotui.app.past import PastEvent
from turbotui.sampling.frame import Frame


@dataclass
class FramesTimeline:
    """Frames as they came until now; the first has no interval."""

    frames: Sequence[Frame]
    events: Sequence[PastEvent] = ()

    @property
    def times(self) -> Sequence[int]:
        return [frame.newer.wall_ns for frame in self.frames if frame.older is not None]

    def look_again(self) -> None:
        """Do nothing: no moments are added."""

    def frame(self, time_ns: int) -> Frame | None:
        return next((frame for frame in self.frames if frame.newer.wall_ns == time_ns), None)
