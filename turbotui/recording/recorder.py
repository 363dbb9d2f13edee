"""The recorder: writes what a session reads to a file, with gaps and events between the ticks."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from turbotui.machine.cpulist import format_cpulist
from turbotui.machine.host import HostKind
from turbotui.machine.machine import Machine
from turbotui.recording.file_writer import SYNC_SECONDS, RecordingFile
from turbotui.recording.framing import RecordingError
from turbotui.recording.journal_file import JournalFile
from turbotui.recording.kept_files import kept_facts
from turbotui.recording.machine_facts import header_of
from turbotui.recording.recorded_host import KeptAnswers
from turbotui.recording.said import packed
from turbotui.recording.stream_writer import Event, Gap, StreamWriter
from turbotui.recording.tiers import FULL, SnapshotEncoder
from turbotui.sampling.frame import Frame
from turbotui.sampling.snapshot import Snapshot

_STEP_SECONDS: Final = 0.1  # of the wall clock against the monotonic one: more than an NTP daemon slews in a tick
_SLEW: Final = 0.001  # of the time between two ticks; the kernel slews by 0.05 % at most


class Recorder:
    """Records frames to a file; a recording that is there already is continued as a new session.

    Args:
        path: of the file.
        machine: whose frames are recorded.
        kept: what `info` of the recording is to know of the machine's files.
        sync_seconds: see `RecordingFile`.
        suspended_ns: the time for which this machine has been suspended since it was started; None: by its clocks.

    Raises:
        RecordingError: the file cannot be written, is written by another process, or is no recording.
    """

    def __init__(self, path: str, machine: Machine, *, kept: KeptAnswers | None = None,
                 sync_seconds: float = SYNC_SECONDS, suspended_ns: Callable[[], int] | None = None) -> None:
        self._file = RecordingFile(path, sync_seconds)
        try:
            last_index = _last_index(path) if self._file.size else 0
            self._stream = StreamWriter(self._file.write, header_of(machine), FULL, offset=self._file.size,
                                        last_index=last_index)
            if kept is not None:
                self._stream.files(packed(kept_facts(kept)))
        except BaseException:
            self._file.close()
            raise
        self._encoder = SnapshotEncoder(FULL)
        self._suspended_ns = suspended_ns or (_suspended_ns if machine.host.kind is HostKind.REAL else _never)
        self._suspended = self._suspended_ns()
        self._last: Snapshot | None = None

    @property
    def path(self) -> str:
        """Of the file."""
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
        snapshot = frame.newer
        if self._last is not None:
            for gap in self._gaps(self._last, snapshot):
                self._stream.gap(gap)
            if snapshot.topology is not self._last.topology:
                self._stream.event(_topology_event(self._last, snapshot))
        self._last = snapshot
        encoded = self._encoder.encode(snapshot, frame.capabilities)
        if encoded is not None:
            self._stream.tick(encoded)

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
            self._stream.end()
        finally:
            self._file.close()

    def _gaps(self, before: Snapshot, now: Snapshot) -> list[Gap]:
        wall, started = now.wall_ns, now.started_ns
        found = []
        slept = self._suspended_ns()
        asleep, self._suspended = (slept - self._suspended) / 1e9, slept
        passed = (started - before.started_ns) / 1e9
        if asleep > _STEP_SECONDS:
            found.append(Gap(wall, started, "suspend", asleep))
        step = (wall - before.wall_ns) / 1e9 - passed - max(0.0, asleep)
        if abs(step) > max(_STEP_SECONDS, passed * _SLEW):
            found.append(Gap(wall, started, "clock", step))
        if now.overruns > before.overruns:
            found.append(Gap(wall, started, "missed", passed, now.overruns - before.overruns))
        return found


def _topology_event(before: Snapshot, now: Snapshot) -> Event:
    """Which CPUs came or went."""
    old, new = set(before.topology.cpus), set(now.topology.cpus)
    gone, come = format_cpulist(old - new), format_cpulist(new - old)
    parts = [f"CPUs {gone} went" if gone else "", f"CPUs {come} came" if come else ""]
    return Event(now.wall_ns, now.started_ns, "topology", ", ".join(filter(None, parts)) or "the topology changed")


def _last_index(path: str) -> int:
    """The last index of a recording that is to be continued.

    Raises:
        RecordingError: it is no recording.
    """
    try:
        file = JournalFile(path)
    except RecordingError as error:
        raise RecordingError(f"{path} is there, and is no recording of turbotui: name another file") from error
    try:
        return file.last_index()
    finally:
        file.close()


def _suspended_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def _never() -> int:
    return 0
