"""Records the readings of a session to a file, with gaps and events between the ticks."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import threading
import time
from collections.abc import Sequence
from typing import Final, Protocol

from turbotui.machine.machine import Machine
from turbotui.machine.own_files import open_recording
from turbotui.recording.event_detection import Changes
from turbotui.recording.framing import RecordingError, TornFileError
from turbotui.recording.journal_file import JournalFile
from turbotui.recording.json_values import packed
from turbotui.recording.kept_files import kept_facts
from turbotui.recording.machine_facts import Header, header_of
from turbotui.recording.recorded_host import KeptAnswers
from turbotui.recording.rows import IntervalRows, rows_payload
from turbotui.recording.stream_writer import Event, Gap, StreamWriter
from turbotui.recording.tiers import FULL, SnapshotEncoder, Tier
from turbotui.sampling.frame import Frame
from turbotui.sampling.snapshot import Snapshot
from turbotui.threads import NamedThread

SYNC_SECONDS: Final = 10.0
"""Seconds after which written records survive a loss of power; they survive the end of this program at once."""

_LOOK_MS: Final = 250
"""Time after which a writer to a pipe checks whether it is to end."""
_NOTHING_BEFORE: Final[tuple[str, int, tuple[int, ...]]] = "", 0, ()
_WORDS: Final = {
    errno.ENOSPC: "the disk is full", errno.EDQUOT: "this user's share of the disk is used up (quota)",
    errno.EFBIG: "it has the size that a file may have here (ulimit -f, or the file system's limit)",
}


class RecordingFile:
    """One file that this process alone appends to.

    Args:
        path: the file's path; a missing file is created.
        sync_seconds: time between calls of fdatasync(2), made by a thread of their own; 0: one call at the end.

    Attributes:
        size: bytes written so far.
        failed: whether a write failed; the records in the file are whole all the same.

    Raises:
        RecordingError: the file cannot be opened, or another process records to it.
    """

    def __init__(self, path: str, sync_seconds: float = SYNC_SECONDS) -> None:
        self.path = path
        self.failed = False
        try:
            self.descriptor = open_recording(path)
        except BlockingIOError as error:
            raise RecordingError(f"{path} is being recorded to by another process") from error
        except OSError as error:
            raise RecordingError(f"{path} cannot be recorded to: {error.strerror}") from error
        self.size = os.fstat(self.descriptor).st_size
        self._synced = self.size
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        if sync_seconds:
            self._thread = NamedThread(target=self._sync_now_and_then, args=(sync_seconds,), name="fdatasync",
                                       daemon=True)
            self._thread.start()

    def write(self, data: bytes) -> None:
        """Append whole records; a failure leaves the earlier content as it was.

        Raises:
            RecordingError: the disk is full, or the file was removed, cut or cannot be written; none of the records was
                added.
        """
        status = os.fstat(self.descriptor)
        if not status.st_nlink or status.st_size < self.size:  # what is written would be lost, or could not be read
            self.failed = True
            gone = "another program cut it" if status.st_nlink else "the file was removed, and what it held is gone"
            raise RecordingError(f"the recording to {self.path} ends here: {gone}")
        try:
            done = os.write(self.descriptor, data)
            while done < len(data):
                done += os.write(self.descriptor, data[done:])
        except OSError as error:
            self.failed = True
            with contextlib.suppress(OSError):  # then a torn record remains at the end, which readers skip
                os.ftruncate(self.descriptor, self.size)
            why = _WORDS.get(error.errno or 0, error.strerror)
            raise RecordingError(f"the recording to {self.path} ends here: {why}") from error
        self.size += len(data)

    def close(self) -> None:
        """Write everything to the disk and release the lock."""
        if self.descriptor < 0:
            return
        self._closing.set()
        if self._thread is not None:
            self._thread.join()
        self._sync()
        os.close(self.descriptor)
        self.descriptor = -1

    def _sync_now_and_then(self, seconds: float) -> None:
        while not self._closing.wait(seconds):
            self._sync()

    def _sync(self) -> None:
        if (size := self.size) != self._synced:
            with contextlib.suppress(OSError):  # write(2) reports a failing disk, too
                os.fdatasync(self.descriptor)
            self._synced = size


class RecordingPipe:
    """A pipe to which this process writes a recording, in place of a `RecordingFile`.

    Args:
        descriptor: of the pipe.

    Attributes:
        path: its name, for people.
        size: bytes written so far.
        failed: whether its reader is gone.
    """

    path = "stdout"

    def __init__(self, descriptor: int) -> None:
        self.size = 0
        self.failed = False
        self._descriptor = descriptor
        self._stopping = False
        self._ready = select.poll()
        self._ready.register(descriptor, select.POLLOUT)

    def stop(self) -> None:
        """Wait no longer for a reader that takes nothing; may be called by a signal handler."""
        self._stopping = True

    def wait_for_reader(self) -> None:
        """Return when the reader is gone, which a write may find out a minute later."""
        reader = select.poll()
        reader.register(self._descriptor, 0)
        reader.poll()

    def write(self, data: bytes) -> None:
        """Write whole records, as fast as the reader accepts them.

        Raises:
            RecordingError: the reader is gone, or takes nothing and the recording is to end.
        """
        rest = memoryview(data)
        try:
            while rest:
                if self._ready.poll(_LOOK_MS):
                    rest = rest[os.write(self._descriptor, rest[:select.PIPE_BUF]):]
                elif self._stopping:
                    raise BrokenPipeError
        except OSError as error:
            self.failed = True
            raise RecordingError(f"the recording to {self.path} ends here: nobody reads it") from error
        self.size += len(data)

    def close(self) -> None:
        """Leave the pipe to the process, whose end closes it."""


class FrameRecorder(Protocol):
    """The interface of `Recorder` and `RotatingRecorder`."""

    # why something is not recorded although the recording goes on, by its name ("more readings ...")
    failures: dict[str, str]

    @property
    def size(self) -> int:
        """Bytes written so far."""

    def take(self, frame: Frame) -> None:
        """Record a frame."""

    def rows(self, rows: IntervalRows) -> None:
        """Record the rows of another table for an interval whose tick was recorded; callable from any thread."""

    def lost(self, frames: int) -> None:
        """Record that this many frames were lost."""

    def mark(self, text: str) -> None:
        """Record a mark that the user sets at this moment."""

    def close(self) -> None:
        """Write everything to the disk and close the file."""


class Recorder:
    """Records frames to a file; an existing recording is continued with a new session.

    Args:
        path: of the file, or the pipe that takes its place.
        kept: the machine's files that `info` of the recording needs.
        header: the header of a session that continues from another file; None begins a session.
        changes: finds the events, for other recordings of the same frames too; None for this one alone.
        command: the words of the command that runs during the recording; () for none.

    Attributes:
        tier: see above.
        header: the session's header.
        first_ns: wall clock of the first written tick; None before that.
        failures: kinds of rows that have no room in a recording.

    Raises:
        RecordingError: the file cannot be written, another process records to it, or it is no recording.
    """

    def __init__(self, path: str | RecordingPipe, machine: Machine, *, kept: KeptAnswers | None = None,
                 tier: Tier = FULL, header: Header | None = None, sync_seconds: float = SYNC_SECONDS,
                 changes: Changes | None = None, command: Sequence[str] = ()) -> None:
        self.tier = tier
        self.first_ns: int | None = None
        self._file: RecordingFile | RecordingPipe
        if isinstance(path, RecordingPipe):
            self._file, before = path, _NOTHING_BEFORE
        else:
            self._file, before = RecordingFile(path, sync_seconds), None
        try:
            identity, last_index, noted = before or _continued(self._file.path, header or header_of(machine))
            self.header = header or header_of(machine, command, identity)
            self._stream = StreamWriter(self._file.write, self.header, tier, offset=self._file.size,
                                        last_index=last_index, noted=noted)
            if kept is not None:
                self._stream.files(packed(kept_facts(kept)))
        except BaseException:
            self._file.close()
            raise
        self._encoder = SnapshotEncoder(tier)
        self.failures = self._encoder.failures
        self._changes = changes or Changes()
        self._last: Snapshot | None = None
        self._writing = threading.Lock()
        self._closed = False
        self._newest_ns = 0
        self._first_started_ns = self._newest_started_ns = 0
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
            RecordingError: the disk is full; everything recorded so far can be read.
        """
        with self._writing:
            self._take(frame)

    def _take(self, frame: Frame) -> None:
        snapshot = self._last = frame.newer
        for change in self._changes.take(snapshot):
            if isinstance(change, Gap):
                self._stream.gap(change)
            else:
                self._stream.event(change)
        if (encoded := self._encoder.encode(snapshot, frame.capabilities)) is not None:
            self._stream.tick(encoded)
            kept = encoded.snapshot
            if self.first_ns is None:
                self.first_ns, self._first_started_ns = kept.wall_ns, kept.started_ns
            self._newest_ns, self._newest_started_ns = kept.wall_ns, kept.started_ns

    def rows(self, rows: IntervalRows) -> None:
        """A tier joins the rows of all intervals between two of its ticks in one record.

        Raises:
            RecordingError: as `take`.
        """
        with self._writing:
            # Which was first, the monotonic clock tells: the wall clock may have been set back.
            if (self._closed or self._file.failed or self.first_ns is None
                    or rows.started_ns <= self._first_started_ns):
                return  # the interval lies before the file's first or behind its last
            pending = self._pending.pop(rows.stream, None)
            if pending is not None and pending.started_ns < self._newest_started_ns < rows.started_ns:
                self._stream.rows(rows.stream, rows_payload(pending))  # the rows of the tick itself never came
                pending = None
            joined = rows if pending is None else pending.plus(rows)
            if not self.tier.seconds or rows.wall_ns == self._newest_ns:
                self._stream.rows(rows.stream, rows_payload(joined))
            else:
                self._pending[rows.stream] = joined

    def lost(self, frames: int) -> None:
        """Record that frames before the next one were lost, because a reader or the recorder was too slow.

        Raises:
            RecordingError: as `take`.
        """
        with self._writing:
            if self._last is None:
                return
            self._stream.gap(Gap(self._last.wall_ns, self._last.started_ns, "lost", frames=frames))

    def mark(self, text: str) -> None:
        """Record the user's mark at this moment.

        Raises:
            RecordingError: as `take`.
        """
        last = self._last
        wall, started = (time.time_ns(), 0) if last is None else (last.wall_ns, last.started_ns)
        with self._writing:
            self._stream.event(Event(wall, started, "mark", text))

    def close(self) -> None:
        """End the recording, and write everything to the disk."""
        with self._writing:
            try:
                if not self._file.failed and not self._closed:
                    self._stream.end()
            finally:
                self._closed = True
                self._file.close()


def refuse_other_machine(file: JournalFile, header: Header) -> Header | None:
    """Refuse to continue another machine's recording, because readers show the first session's machine.

    Returns the header of the recording; None if it is damaged.

    Raises:
        RecordingError: the recording is of another machine, or has a later format.
    """
    before = file.header()
    if before is not None and before.machine_words() != header.machine_words():
        raise RecordingError(f"{file.path} holds a recording of {before.machine_words()}, and this is"
                             f" {header.machine_words()}: name another file")
    return before


def _continued(path: str, header: Header) -> tuple[str, int, tuple[int, ...]]:
    """Return what a session that continues a recording needs of it.

    Returns:
        The identity of the recording, the offset of its last index, and the offsets of gaps and events behind it; "",
        0 and () if the file has no whole record: what a kill left of the first one is skipped by every reader.

    Raises:
        RecordingError: the file is no recording, or is of another machine.
    """
    try:
        file = JournalFile(path)
    except TornFileError:
        return _NOTHING_BEFORE
    except RecordingError as error:
        raise RecordingError(f"{path} is there, and is no recording of turbotui: name another file") from error
    try:
        before = refuse_other_machine(file, header)
        return "" if before is None else before.identity, *file.tail()
    finally:
        file.close()
