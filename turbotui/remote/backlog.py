"""Frames that wait for one reader; the sampler never waits, so frames beyond a bound are lost and counted."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.machine import Machine
from turbotui.recording.ended_rows import EndedRows
from turbotui.recording.event_detection import Changes
from turbotui.recording.machine_facts import header_of
from turbotui.recording.stream_writer import Gap, StreamWriter
from turbotui.recording.tiers import FULL, SnapshotEncoder
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.frame import Frame
from turbotui.sampling.restarts import Restarts
from turbotui.sampling.snapshot import Snapshot

MOST_WAITING: Final = 8
"""Maximum number of frames: with 256 CPUs and 43 counters they take 6 MB, shared by all equally slow readers."""

_MOST_ENDED: Final = 4096  # rows of a kind that ended while a reader took nothing


@dataclass(frozen=True, slots=True)
class Unsent:
    """A snapshot that waits to be sent."""

    snapshot: Snapshot
    capabilities: Capabilities  # of its frame
    lost: int = 0  # number of earlier frames that found no room


class Backlog:
    """A queue of one reader, filled on the sampler's thread."""

    def __init__(self, most: int = MOST_WAITING) -> None:
        self._most = most
        self._change = threading.Condition()
        self._waiting: deque[Unsent] = deque()
        self._restarts = Restarts()
        self._ended = EndedRows(_MOST_ENDED)
        self._lost = 0
        self._closed = False

    def put(self, frame: Frame) -> None:
        """Add a frame; never blocks."""
        snapshot = frame.newer
        with self._change:
            if len(self._waiting) >= self._most:
                self._lost += 1
                # counters that were restarted in it and rows that ended are reported with the next frame that is sent:
                # the reader's difference spans both
                self._restarts.skip(snapshot)
                self._ended.skip(snapshot)
                return
            lost, self._lost = self._lost, 0
            if lost:
                snapshot, self._restarts = self._restarts.added_to(snapshot), Restarts()
                snapshot = replace(snapshot, rows=self._ended.added_to(snapshot))
            self._waiting.append(Unsent(snapshot, frame.capabilities, lost))
            self._change.notify()

    def close(self) -> None:
        """End the queue; never blocks."""
        with self._change:
            self._closed = True
            self._change.notify_all()

    def take(self) -> Unsent | None:
        """The next snapshot; None if there is none."""
        with self._change:
            return self._waiting.popleft() if self._waiting else None

    def wait(self) -> Unsent | None:
        """The next snapshot as soon as there is one; None once the queue is closed and empty."""
        with self._change:
            while not self._waiting and not self._closed:
                self._change.wait()
            return self._waiting.popleft() if self._waiting else None


class Outgoing:
    """Encodes snapshots for one reader, taking 2 ms each for 256 CPUs with 43 counters.

    Args:
        write: takes the bytes of whole records; its exceptions end the journal.
    """

    def __init__(self, write: Callable[[bytes], None], machine: Machine) -> None:
        self._encoder = SnapshotEncoder(FULL)
        self._stream = StreamWriter(write, header_of(machine), FULL)
        self._changes = Changes()

    def send(self, unsent: Unsent) -> None:
        """Send a snapshot, preceded by the events since the last one and the number of lost ones."""
        snapshot = unsent.snapshot
        for change in self._changes.take(snapshot):
            if isinstance(change, Gap):
                self._stream.gap(change)
            else:
                self._stream.event(change)
        if unsent.lost:
            self._stream.gap(Gap(snapshot.wall_ns, snapshot.started_ns, "lost", frames=unsent.lost))
        if (encoded := self._encoder.encode(snapshot, unsent.capabilities)) is not None:
            self._stream.tick(encoded)

    def end(self) -> None:
        """Tell the reader that the collector ends and was not killed."""
        self._stream.end()
