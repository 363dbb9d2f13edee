"""The recorder: writes what a session reads to a file, with gaps and events between the ticks."""

from __future__ import annotations

import contextlib
import errno
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from turbotui.machine.machine import Machine
from turbotui.machine.own_files import open_recording
from turbotui.recording.framing import RecordingError
from turbotui.recording.journal_file import JournalFile
from turbotui.recording.kept_files import kept_facts
from turbotui.recording.machine_facts import Header, header_of
from turbotui.recording.recorded_host import KeptAnswers
from turbotui.recording.rows import IntervalRows, rows_payload
from turbotui.recording.said import packed
from turbotui.recording.stream_writer import Event, Gap, StreamWriter
from turbotui.recording.tiers import FULL, SnapshotEncoder, Tier
from turbotui.recording.watching import Changes
from turbotui.sampling.frame import Frame
from turbotui.sampling.snapshot import Snapshot

SYNC_SECONDS: Final = 10.0
"""What was written survives this program in any case, and a loss of power after this time at the latest."""

_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class RecordingFile:
    """One file that this process alone appends to.

    Args:
        path: made where it is not there.
        sync_seconds: between two calls of fdatasync(2), on a thread of their own; 0: none but at the end.

    Attributes:
        size: bytes so far.
        failed: something could not be written; what is there is whole.

    Raises:
        RecordingError: it cannot be opened, or another process records to it.
    """

    def __init__(self, path: str, sync_seconds: float = SYNC_SECONDS) -> None:
        self.path = path
        self.failed = False
        try:
            self._descriptor = open_recording(path)
        except BlockingIOError as error:
            raise RecordingError(f"{path} is being recorded to by another process") from error
        except OSError as error:
            raise RecordingError(f"{path} cannot be recorded to: {error.strerror}") from error
        self.size = os.fstat(self._descriptor).st_size
        self._synced = self.size
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        if sync_seconds:
            self._thread = threading.Thread(target=self._sync_now_and_then, args=(sync_seconds,), name="fdatasync",
                                            daemon=True)
            self._thread.start()

    @property
    def descriptor(self) -> int:
        """Descriptor of the open file."""
        return self._descriptor

    def write(self, data: bytes) -> None:
        """Append whole records. What was written before stays as it is, whatever goes wrong.

        Raises:
            RecordingError: the disk is full, or the file cannot be written; nothing of the records is there.
        """
        try:
            done = os.write(self._descriptor, data)
            while done < len(data):
                done += os.write(self._descriptor, data[done:])
        except OSError as error:
            self.failed = True
            with contextlib.suppress(OSError):  # then a torn record stands at the end, which readers know
                os.ftruncate(self._descriptor, self.size)
            why = "the disk is full" if error.errno in _FULL else error.strerror
            raise RecordingError(f"the recording to {self.path} ends here: {why}") from error
        self.size += len(data)

    def close(self) -> None:
        """Bring everything to the disk and give the lock back."""
        if self._descriptor < 0:
            return
        self._closing.set()
        if self._thread is not None:
            self._thread.join()
        self._sync()
        os.close(self._descriptor)
        self._descriptor = -1

    def _sync_now_and_then(self, seconds: float) -> None:
        while not self._closing.wait(seconds):
            self._sync()

    def _sync(self) -> None:
        size = self.size
        if size != self._synced:
            with contextlib.suppress(OSError):  # a disk that fails says so to write(2) too
                os.fdatasync(self._descriptor)
            self._synced = size


class FrameRecorder(Protocol):
    """Where frames go: `Recorder` or `RotatingRecorder`."""

    @property
    def size(self) -> int:
        """Bytes written so far."""

    def take(self, frame: Frame) -> None:
        """Record a frame."""

    def rows(self, rows: IntervalRows) -> None:
        """Record the rows of another table, of an interval whose tick was taken; any thread may call it."""

    def lost(self, frames: int) -> None:
        """Record that so many frames never came."""

    def mark(self, text: str) -> None:
        """Record the mark that a person sets at this moment."""

    def close(self) -> None:
        """Write everything to the disk and close the file."""


class Recorder:
    """Records frames to a file; a recording that is there already is continued as a new session.

    Args:
        path: of the file.
        machine: whose frames are recorded.
        kept: what `info` of the recording is to know of the machine's files.
        tier: which ticks are recorded, and how exactly.
        header: of the session that it continues in another file; None: it begins one.
        command: during which is recorded; () for none.
        sync_seconds: see `RecordingFile`.
        suspended_ns: see `Changes`.

    Attributes:
        tier: see above.
        header: of the session.
        first_ns: wall clock of the first tick that was written; None before there is one.

    Raises:
        RecordingError: the file cannot be written, is written by another process, or is no recording.
    """

    def __init__(self, path: str, machine: Machine, *, kept: KeptAnswers | None = None, tier: Tier = FULL,
                 header: Header | None = None, sync_seconds: float = SYNC_SECONDS,
                 suspended_ns: Callable[[], int] | None = None, command: Sequence[str] = ()) -> None:
        self.tier = tier
        self.header = header or header_of(machine, command)
        self.first_ns: int | None = None
        self._file = RecordingFile(path, sync_seconds)
        try:
            last_index, noted = _tail(path, self.header) if self._file.size else (0, ())
            self._stream = StreamWriter(self._file.write, self.header, tier, offset=self._file.size,
                                        last_index=last_index, noted=noted)
            if kept is not None:
                self._stream.files(packed(kept_facts(kept)))
        except BaseException:
            self._file.close()
            raise
        self._encoder = SnapshotEncoder(tier)
        self._changes = Changes(suspended_ns)
        self._last: Snapshot | None = None
        self._writing = threading.Lock()
        self._closed = False
        self._newest_ns = 0
        self._pending: dict[int, IntervalRows] = {}

    @property
    def path(self) -> str:
        """Path of the file."""
        return self._file.path

    @property
    def size(self) -> int:
        """Bytes of the file so far."""
        return self._file.size

    def take(self, frame: Frame) -> None:
        """Record the newer snapshot of a frame; frames come in their order.

        Raises:
            RecordingError: the disk is full; what was recorded so far can be read.
        """
        with self._writing:
            self._take(frame)

    def _take(self, frame: Frame) -> None:
        snapshot = self._last = frame.newer
        for found in self._changes.take(snapshot):
            if isinstance(found, Gap):
                self._stream.gap(found)
            else:
                self._stream.event(found)
        encoded = self._encoder.encode(snapshot, frame.capabilities)
        if encoded is not None:
            self._stream.tick(encoded)
            self.first_ns = encoded.snapshot.wall_ns if self.first_ns is None else self.first_ns
            self._newest_ns = encoded.snapshot.wall_ns

    def rows(self, rows: IntervalRows) -> None:
        """See `FrameRecorder.rows`. A tier has the rows of all intervals between two of its ticks in one record.

        Raises:
            RecordingError: as `take`.
        """
        with self._writing:
            if self._closed or self._file.failed or self.first_ns is None or rows.wall_ns <= self.first_ns:
                return  # of an interval before the file's first, or behind its last
            pending = self._pending.pop(rows.stream, None)
            if pending is not None and pending.wall_ns < self._newest_ns < rows.wall_ns:
                self._stream.rows(rows.stream, rows_payload(pending))  # those at the tick itself never came
                pending = None
            joined = rows if pending is None else pending.plus(rows)
            if not self.tier.seconds or rows.wall_ns == self._newest_ns:
                self._stream.rows(rows.stream, rows_payload(joined))
            else:
                self._pending[rows.stream] = joined

    def lost(self, frames: int) -> None:
        """Note that frames before the next one never came here: somebody was too slow.

        Raises:
            RecordingError: as `take`.
        """
        with self._writing:
            if self._last is None:
                return
            self._stream.gap(Gap(self._last.wall_ns, self._last.started_ns, "lost", frames=frames))

    def mark(self, text: str) -> None:
        """Note what a person says of this moment.

        Raises:
            RecordingError: as `take`.
        """
        last = self._last
        wall, started = (time.time_ns(), 0) if last is None else (last.wall_ns, last.started_ns)
        with self._writing:
            self._stream.event(Event(wall, started, "mark", text))

    def close(self) -> None:
        """End the recording; what was recorded is on the disk."""
        with self._writing:
            try:
                if not self._file.failed and not self._closed:
                    self._stream.end()
            finally:
                self._closed = True
                self._file.close()


def refuse_other_machine(file: JournalFile, header: Header) -> None:
    """Refuse to go on with a recording of another machine: whoever reads it is told of one, that of its beginning.

    Raises:
        RecordingError: it is of another machine, or of a later version.
    """
    before = file.header()
    if before is not None and before.machine_words() != header.machine_words():
        raise RecordingError(f"{file.path} holds a recording of {before.machine_words()}, and this is"
                             f" {header.machine_words()}: name another file")


def _tail(path: str, header: Header) -> tuple[int, tuple[int, ...]]:
    """The last index of a recording that is to be continued, and what was noted behind it.

    Raises:
        RecordingError: it is no recording, or of another machine.
    """
    try:
        file = JournalFile(path)
    except RecordingError as error:
        raise RecordingError(f"{path} is there, and is no recording of turbotui: name another file") from error
    try:
        refuse_other_machine(file, header)
        return file.tail()
    finally:
        file.close()
