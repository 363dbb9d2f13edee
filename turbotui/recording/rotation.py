"""Recordings of bounded time and size: every tick of the last half hour, fewer of older times, then none.

All resolutions are written from the beginning, each to files of its own, so that thinning the past only removes files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.machine import Machine
from turbotui.machine.own_files import remove_recording, rename_recording
from turbotui.recording.event_detection import Changes
from turbotui.recording.framing import RecordingError, TornFileError
from turbotui.recording.journal_file import JournalFile
from turbotui.recording.machine_facts import Header, header_of
from turbotui.recording.parts import part_path, part_time_ns, parts_of, paths_of
from turbotui.recording.recorded_host import KeptAnswers
from turbotui.recording.recorder import SYNC_SECONDS, Recorder, refuse_other_machine
from turbotui.recording.rows import IntervalRows
from turbotui.recording.tiers import FULL, MINUTE, TEN_SECONDS, Tier
from turbotui.sampling.frame import Frame

FULL_SECONDS: Final = 1_800.0
TEN_SECONDS_FOR: Final = 28_800.0
"""The seconds for which every tick, and one in 10 s, is kept; a day of 256 CPUs takes 130 MB (docs/costs.md)."""

_PARTS: Final = 12  # parts of a tier's time; at most one part more than needed exists


@dataclass(frozen=True, slots=True)
class Retention:
    """Limits of what a recording keeps."""

    seconds: float = float("inf")  # the longest time for which anything is kept
    # the time for which every tick is kept; then one in 10 s for eight hours, then one in 60 s
    full_seconds: float = FULL_SECONDS
    # the most bytes of all files; the oldest part of the finest resolution is removed first. 0: no limit
    most_bytes: int = 0
    sync_seconds: float = SYNC_SECONDS  # as of `RecordingFile`

    def tiers(self) -> Iterator[tuple[Tier, float]]:
        """Return the tiers to write, and for how many seconds each is kept."""
        yield FULL, min(self.full_seconds, self.seconds)
        if self.full_seconds < min(TEN_SECONDS_FOR, self.seconds):
            yield TEN_SECONDS, min(TEN_SECONDS_FOR, self.seconds)
        if self.seconds > max(TEN_SECONDS_FOR, self.full_seconds):
            yield MINUTE, self.seconds


class RotatingRecorder:
    """Records frames to FILE and its parts (`parts`), and removes parts that are too old or exceed the size.

    Args:
        path: the path of FILE; an existing FILE becomes a part.

    Raises:
        RecordingError: as `Recorder`.
    """

    def __init__(self, path: str, machine: Machine, retention: Retention, *, kept: KeptAnswers | None = None,
                 command: Sequence[str] = ()) -> None:
        self.path = path
        self._machine = machine
        self._retention = retention
        self._kept = kept
        self._seconds = {tier.name: seconds for tier, seconds in retention.tiers()}
        self._header = header_of(machine, command, identity_of(path))
        _put_aside(path, self._header)
        self._changes = Changes()
        self._recorders = {FULL.name: self._open(path, FULL)}
        self._begun = False  # tiers of lower resolution: their names have the time of the first tick
        self.failures: dict[str, str] = {}

    @property
    def size(self) -> int:
        """The bytes of all files."""
        parts = (part for names in parts_of(self.path).values() for part in names)
        return sum(_size(part) for part in (self.path, *parts))

    def take(self, frame: Frame) -> None:
        """Record a frame, as `Recorder.take`.

        Raises:
            RecordingError: the disk is full, or a part cannot be created.
        """
        if not self._begun:
            self._begun = True
            for tier, _seconds in self._retention.tiers():
                if tier is not FULL:
                    try:
                        self._recorders[tier.name] = self._open(part_path(self.path, tier, frame.newer.wall_ns), tier)
                    except RecordingError as error:
                        self._give_up(tier.name, error)
        self._each(lambda recorder: self._take(recorder, frame))

    def _take(self, recorder: Recorder, frame: Frame) -> None:
        wall, begun, name = frame.newer.wall_ns, recorder.first_ns, recorder.tier.name
        seconds = self._seconds[name] / _PARTS
        most = self._retention.most_bytes / (2 * _PARTS) if recorder.tier is FULL else 0
        apart = 0 if begun is None else abs(wall - begun)  # a clock that was set back by more begins a part, too
        if apart >= seconds * 1e9 or (begun is not None and most and recorder.size > most):
            self._rotate(recorder, wall)
        self._recorders[name].take(frame)
        self.failures |= self._recorders[name].failures

    def _each(self, action: Callable[[Recorder], object]) -> None:
        """A tier of lower resolution that fails is given up, and the others go on.

        Raises:
            RecordingError: the full resolution cannot be written.
        """
        for name, recorder in list(self._recorders.items()):
            try:
                action(recorder)
            except RecordingError as error:
                if recorder.tier is FULL:
                    raise
                self._give_up(name, error)

    def _give_up(self, name: str, error: RecordingError) -> None:
        self.failures[f"more readings of one in {name}"] = str(error)
        if (recorder := self._recorders.pop(name, None)) is not None:
            recorder.close()

    def rows(self, rows: IntervalRows) -> None:
        """As `Recorder.rows`."""
        self._each(lambda recorder: recorder.rows(rows))

    def lost(self, frames: int) -> None:
        """As `Recorder.lost`."""
        self._each(lambda recorder: recorder.lost(frames))

    def mark(self, text: str) -> None:
        """As `Recorder.mark`."""
        self._each(lambda recorder: recorder.mark(text))

    def close(self) -> None:
        """As `Recorder.close`."""
        self._each(Recorder.close)

    def _open(self, path: str, tier: Tier) -> Recorder:
        return Recorder(path, self._machine, kept=self._kept, tier=tier, header=self._header,
                        sync_seconds=self._retention.sync_seconds, changes=self._changes)

    def _rotate(self, recorder: Recorder, wall_ns: int) -> None:
        """Begin the next file of a tier, and remove parts that are no longer to be kept."""
        recorder.close()
        tier = recorder.tier
        if tier is FULL:
            _put_aside(self.path, recorder.header)
            path = self.path
        else:
            path = part_path(self.path, tier, wall_ns)
        self._recorders[tier.name] = self._open(path, tier)
        self._remove_old(wall_ns)
        self._remove_surplus()

    def _remove_old(self, wall_ns: int) -> None:
        for name, parts in parts_of(self.path).items():
            oldest = wall_ns - self._seconds.get(name, 0.0) * 1e9
            current = self._recorders.get(name)
            ends = [part_time_ns(part) for part in parts[1:]]
            if name == FULL.name:
                ends.append(wall_ns)
            for part, end in zip(parts, ends, strict=False):
                if end <= oldest and (current is None or part != current.path):
                    _remove(part)

    def _remove_surplus(self) -> None:
        most = self._retention.most_bytes
        open_now = {recorder.path for recorder in self._recorders.values()}
        for part in [name for parts in parts_of(self.path).values() for name in parts if name not in open_now]:
            if not most or self.size <= most:
                return
            _remove(part)


def identity_of(path: str) -> str:
    """Return the identity of the recording at a path, by the first of its files that has a header; "" for none."""
    for name in paths_of(path):
        try:
            file = JournalFile(name)
        except RecordingError:
            continue
        try:
            header = file.header()
        finally:
            file.close()
        if header is not None:
            return header.identity
    return ""


def _put_aside(path: str, header: Header) -> None:
    """Rename an existing file to a part.

    Raises:
        RecordingError: the file is no recording, is of another machine, or cannot be renamed.
    """
    if not _size(path):
        return
    try:
        file = JournalFile(path)
    except TornFileError:
        return  # a kill left it: the session begins behind what is there
    try:
        refuse_other_machine(file, header)
        index = file.index()
    finally:
        file.close()
    wall = index[0].wall_ns if index else 0
    try:
        rename_recording(path, part_path(path, FULL, wall))
    except OSError as error:
        raise RecordingError(f"{path} cannot be put aside: {error.strerror}") from error


def _remove(path: str) -> None:
    try:
        remove_recording(path)
    except OSError as error:
        raise RecordingError(f"{path} is too old to be kept, and cannot be removed: {error.strerror}") from error


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
