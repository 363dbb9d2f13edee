"""The recorder: writes what a session reads to a file, with gaps and events between the ticks."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from turbotui.machine.machine import Machine
from turbotui.recording.file_writer import SYNC_SECONDS, RecordingFile
from turbotui.recording.framing import RecordingError
from turbotui.recording.journal_file import JournalFile
from turbotui.recording.kept_files import kept_facts
from turbotui.recording.machine_facts import Header, header_of
from turbotui.recording.recorded_host import KeptAnswers
from turbotui.recording.said import packed
from turbotui.recording.stream_writer import Event, Gap, StreamWriter
from turbotui.recording.tiers import FULL, SnapshotEncoder, Tier
from turbotui.recording.watching import Changes
from turbotui.sampling.frame import Frame
from turbotui.sampling.snapshot import Snapshot


class FrameRecorder(Protocol):
    """Where frames go: `Recorder` or `RotatingRecorder`."""

    @property
    def size(self) -> int:
        """Bytes so far."""

    def take(self, frame: Frame) -> None:
        """Record one."""

    def lost(self, frames: int) -> None:
        """So many never came."""

    def mark(self, text: str) -> None:
        """A person marks this moment."""

    def close(self) -> None:
        """All is on the disk."""


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
            last_index, noted = _tail(path) if self._file.size else (0, ())
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

    def lost(self, frames: int) -> None:
        """Note that frames before the next one never came here: somebody was too slow.

        Raises:
            RecordingError: as `take`.
        """
        if self._last is not None:
            self._stream.gap(Gap(self._last.wall_ns, self._last.started_ns, "lost", frames=frames))

    def mark(self, text: str) -> None:
        """Note what a person says of this moment.

        Raises:
            RecordingError: as `take`.
        """
        last = self._last
        wall, started = (time.time_ns(), 0) if last is None else (last.wall_ns, last.started_ns)
        self._stream.event(Event(wall, started, "mark", text))

    def close(self) -> None:
        """End the recording; what was recorded is on the disk."""
        try:
            if not self._file.failed:
                self._stream.end()
        finally:
            self._file.close()


def _tail(path: str) -> tuple[int, tuple[int, ...]]:
    """The last index of a recording that is to be continued, and what was noted behind it.

    Raises:
        RecordingError: it is no recording.
    """
    try:
        file = JournalFile(path)
    except RecordingError as error:
        raise RecordingError(f"{path} is there, and is no recording of turbotui: name another file") from error
    try:
        return file.tail()
    finally:
        file.close()
