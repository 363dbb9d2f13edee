"""A recording that a key starts and stops while the dashboard runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from turbotui.diagnosis.recorded_looks import PacedLooks
from turbotui.machine.machine import Machine
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.moments import age
from turbotui.recording.framing import RecordingError
from turbotui.recording.recorder import FrameRecorder
from turbotui.recording.rows import IntervalRows
from turbotui.sampling.frame import Frame
from turbotui.threads import NamedThread


class LiveRecorder:
    """Writes frames to a file as they come.

    Args:
        path: of the file.
        recorder: writes to it.
        columns: the columns to read as long as it records, whatever is shown.
        looks: the machine at whose tasks and groups to look for the diagnosis of the recording; None not to look.

    Attributes:
        failure: why it ended by itself; "" while it continues. Screens continue without it.
    """

    def __init__(self, path: str, recorder: FrameRecorder, columns: Sequence[CounterColumn] = (), *,
                 looks: Machine | None = None) -> None:
        self.failure = ""
        self.columns = columns
        self._recorder: FrameRecorder | None = recorder
        self._path = path
        self._since = time.monotonic()
        self._writing = threading.Lock()
        self._newest: Frame | None = None
        self._came = threading.Event()  # a frame, or the end
        if looks is not None:
            NamedThread(target=self._look, args=(looks,), name="looks", daemon=True).start()

    def take(self, frame: Frame) -> None:
        """Write a frame; called on the sampler's thread."""
        self._do(lambda recorder: recorder.take(frame))
        self._newest = frame
        self._came.set()

    def _look(self, machine: Machine) -> None:
        """Look at tasks and groups at the ends of intervals, as often as it costs little."""
        looks = PacedLooks(machine.host)
        while self._recorder is not None:
            self._came.wait()
            self._came.clear()
            frame = self._newest
            record = None if frame is None else looks.record(frame)
            if record is not None:
                self.rows(record)

    def rows(self, rows: IntervalRows) -> None:
        """Write rows of another table for an interval whose frame was written; called on any thread."""
        self._do(lambda recorder: recorder.rows(rows))

    def mark(self, text: str) -> None:
        """Store the user's note about the newest moment."""
        self._do(lambda recorder: recorder.mark(text))

    def _do(self, what: Callable[[FrameRecorder], None]) -> None:
        with self._writing:
            if self._recorder is None:
                return
            try:
                what(self._recorder)
            except RecordingError as error:
                self.failure = str(error)
                self._end()

    def _end(self) -> None:
        recorder, self._recorder = self._recorder, None
        self._came.set()
        if recorder is not None:
            try:
                recorder.close()
            except RecordingError as error:
                self.failure = self.failure or str(error)

    def stop(self) -> str:
        """End the recording; returns a sentence about its content."""
        with self._writing:
            size = 0 if self._recorder is None else self._recorder.size
            self._end()
        if self.failure:
            return f"Recording ended: {self.failure}"
        return f"Recorded {age(time.monotonic() - self._since)} in {self._path}, {size / 2**20:.1f} MiB"

    @property
    def flag(self) -> str:
        """Words on the recording for the status line: a failure, or its size; "" without a recording."""
        recorder = self._recorder
        if self.failure:
            return "NOT RECORDING"
        return "" if recorder is None else f"● REC {recorder.size / 2**20:.1f} MiB"


def default_path(machine: Machine, now: float) -> str:
    """A name for a recording in the current folder, from the machine's name and the time."""
    name = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in machine.host.name)
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
    return str(Path(f"{name or 'machine'}-{stamp}.ttj"))
