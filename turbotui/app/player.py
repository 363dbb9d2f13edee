"""Play a recording: the shown moment advances by itself at a speed. Nothing here knows Textual."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from turbotui.app.past import TimeCursor
from turbotui.quantities.moments import NS

SPEEDS: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
"""Possible speeds, in seconds of the recording per second."""
_LEAST: Final = 0.05
"""Minimum seconds between two shown moments; moments in between are left out."""
_IDLE: Final = 0.5
"""Seconds between two looks at the end of a recording, which may still grow."""


class Player:
    """Moves a cursor through a recording.

    Args:
        speed: seconds of the recording that pass in a second.
        command: the command line of the recorded run; "" for none.

    Attributes:
        playing: whether the moment advances by itself.
    """

    def __init__(self, cursor: TimeCursor, speed: float = 1.0, command: str = "") -> None:
        self.cursor = cursor
        self.command = command
        self.speed = min(max(speed, SPEEDS[0]), SPEEDS[-1])
        self.playing = False
        self._head: float | None = None

    @property
    def state(self) -> str:
        """Words of the time bar: "▶ 2x", "■"."""
        return f"▶ {self.speed:g}x" if self.playing else "■ RECORDED"

    def step_speed(self, by: int) -> float:
        """The next higher or lower speed."""
        if by > 0:
            self.speed = next((speed for speed in SPEEDS if speed > self.speed * 1.001), SPEEDS[-1])
        else:
            self.speed = next((speed for speed in reversed(SPEEDS) if speed < self.speed * 0.999), SPEEDS[0])
        return self.speed

    def moved(self) -> None:
        """Continue from where the cursor was moved by hand."""
        self._head = None

    def wait(self) -> float:
        """Seconds until the next moment is due."""
        times, at = self.cursor.timeline.times, self.cursor.at
        after = bisect_right(times, at) if at is not None else len(times)
        if after >= len(times):
            return _IDLE
        head = times[after - 1] if self._head is None else self._head
        return max(_LEAST, (times[after] - head) / NS / self.speed)

    def advance(self, seconds: float) -> bool:
        """Move by the seconds that passed since the last call; true if another moment has to be shown."""
        if (at := self.cursor.at) is None:
            return False
        times = self.cursor.timeline.times
        head = (at if self._head is None else self._head) + seconds * self.speed * NS
        self._head = min(head, float(times[-1]))  # at the end of a growing recording, waiting time is not made up for
        return self.cursor.jump(round(self._head))
