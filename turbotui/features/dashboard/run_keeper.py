"""Keeps what the dashboard shows in the user's folder of runs, for `turbotui replay` without a file."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Self

from turbotui.errors import TurbotuiError
from turbotui.machine.host import HostKind
from turbotui.sampling.bus import EveryItem
from turbotui.threads import NamedThread
from turbotui.untrusted import one_line

if TYPE_CHECKING:  # loaded by the thread that writes, after the first screen
    from turbotui.machine.machine import Machine
    from turbotui.recording.recorder import FrameRecorder
    from turbotui.recording.rows import IntervalRows
    from turbotui.sampling.frame import Frame

_PATIENCE: Final = 2.0
"""Seconds before the recording is opened, in which the screens are loaded; what comes meanwhile waits. A run that ends
before is kept only if it was that of a command."""
_LAST_WRITES: Final = 5.0
"""Seconds that the end of the program waits for the disk: one that hangs keeps nobody in the dashboard."""
_TOGETHER: Final = 5.0
"""Seconds of readings that are written together, by one wake-up: what is lost if the program is killed."""
_QUEUE: Final = 64
"""Frames and rows that wait to be written; of half as many none waits longer for the others. Beyond it they are lost,
and frames counted in the recording."""


class RunKeeper:
    """Records a run of the dashboard, on a thread of its own: neither the first screen nor a tick waits for the disk.

    Nothing is read for it: the recording holds what was read for the screens.

    Args:
        command: the words of the command beside the dashboard; () for none.

    Attributes:
        failure: why the run is not kept, or no longer; "" while it is.
        path: of the recording; "" before it is open.
    """

    def __init__(self, command: Sequence[str] = ()) -> None:
        self.failure = ""
        self.path = ""
        self._command = tuple(command)
        self._items: EveryItem[Callable[[FrameRecorder], None]] = EveryItem(_QUEUE)
        self._thread: NamedThread | None = None
        self._closing = False
        self._due = threading.Event()  # before its time: the queue is half full, or closed
        self._seq = -1
        self._lost = 0

    def begin(self, machine: Machine) -> bool:
        """Keep what comes from now on, unless the machine is simulated or recorded: nothing happens there."""
        if machine.host.kind is not HostKind.REAL:
            return False
        self._thread = NamedThread(target=self._write, args=(machine,), name="kept run", daemon=True)
        self._thread.start()
        return True

    def take(self, frame: Frame) -> None:
        """Keep a frame; called on the sampler's thread, again for the newest one when the screens exist."""
        if self._thread is None or frame.seq <= self._seq:
            return
        self._seq = frame.seq
        before, lost = self._lost, self._items.lost
        kept = frame.anew()  # without what the screens compute of it meanwhile

        def write(recorder: FrameRecorder) -> None:
            if lost > before:
                recorder.lost(lost - before)
            recorder.take(kept)

        self._put(write)
        self._lost = lost

    def rows(self, rows: IntervalRows) -> None:
        """Keep rows of another table for an interval whose frame was taken; called on any thread."""
        self._put(lambda recorder: recorder.rows(rows))

    def mark(self, text: str) -> None:
        """Keep a mark at the newest moment; called on any thread."""
        self._put(lambda recorder: recorder.mark(text))

    def _put(self, item: Callable[[FrameRecorder], None]) -> None:
        if self._thread is not None:
            self._items.put(item)
            if self._items.waiting * 2 >= _QUEUE:
                self._due.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        """Write what waits, end the recording, and say why if the run was not kept."""
        self._closing = True
        self._items.close()
        self._due.set()
        if self._thread is not None:
            self._thread.join(_LAST_WRITES)
            if self._thread.is_alive():
                self.failure = f"the disk takes longer than {_LAST_WRITES:g} s"
            self._thread = None
        if self.failure:
            print(f"turbotui: this run is not kept for turbotui replay: {one_line(self.failure)}", file=sys.stderr)

    def _write(self, machine: Machine) -> None:
        self._due.wait(_PATIENCE)
        if self._closing and not self._command:
            return
        from turbotui.commands.recording import open_recorder  # noqa: PLC0415 - as above
        from turbotui.recording.kept_runs import RETENTION, new_run  # noqa: PLC0415 - as above

        recorder: FrameRecorder | None = None
        try:
            run = new_run(os.environ)
            recorder = open_recorder(run.path, machine, RETENTION, self._command)
            self.path = run.path
            while not self._items.over:
                while (write := self._items.take(0.0)) is not None:
                    write(recorder)
                if not self._closing:
                    self._due.wait(_TOGETHER)
                    self._due.clear()
        except OSError as error:
            self.failure = error.strerror or str(error)
        except TurbotuiError as error:
            self.failure = str(error)
        finally:
            self._items = EveryItem(0)  # what still comes is let go
            if recorder is not None:
                try:
                    recorder.close()
                except TurbotuiError as error:
                    self.failure = self.failure or str(error)
