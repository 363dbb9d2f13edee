"""Frames that wait for one reader. The sampler never waits for a reader: past a bound frames are lost and counted."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.machine import Machine
from turbotui.quantities.signals import SignalId
from turbotui.recording.machine_facts import header_of
from turbotui.recording.stream_writer import Gap, StreamWriter
from turbotui.recording.tiers import FULL, SnapshotEncoder
from turbotui.recording.watching import Changes
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.frame import Frame
from turbotui.sampling.snapshot import Snapshot

MOST_WAITING: Final = 8
"""Frames: of 256 CPUs with 43 counters they are 6 MB, shared by all readers that are as slow."""

_Places = Mapping[SignalId, frozenset[int]]


@dataclass(frozen=True, slots=True)
class Unsent:
    """A snapshot that is to be sent.

    Attributes:
        capabilities: of its frame.
        lost: frames before it that had no room.
    """

    snapshot: Snapshot
    capabilities: Capabilities
    lost: int = 0


class Backlog:
    """A queue of one reader, filled on the sampler's thread.

    Which counters began anew in a frame that is lost is said of the next one that is not: the reader's difference
    reaches back over both.
    """

    def __init__(self, most: int = MOST_WAITING) -> None:
        self._most = most
        self._change = threading.Condition()
        self._waiting: deque[Unsent] = deque()
        self._left_out: list[Snapshot] = []
        self._lost = 0
        self._closed = False

    def put(self, frame: Frame) -> None:
        """Take a frame; never blocks."""
        snapshot = frame.newer
        with self._change:
            if len(self._waiting) >= self._most:
                self._lost += 1
                self._left_out = [_joined(self._left_out, snapshot)]
                return
            lost, self._lost = self._lost, 0
            if self._left_out:
                snapshot, self._left_out = _joined(self._left_out, snapshot), []
            self._waiting.append(Unsent(snapshot, frame.capabilities, lost))
            self._change.notify()

    def close(self) -> None:
        """No more will come; never blocks."""
        with self._change:
            self._closed = True
            self._change.notify_all()

    def take(self) -> Unsent | None:
        """The next one, None where there is none."""
        with self._change:
            return self._waiting.popleft() if self._waiting else None

    def wait(self) -> Unsent | None:
        """The next one as soon as there is one; None once the queue is closed and empty."""
        with self._change:
            while not self._waiting and not self._closed:
                self._change.wait()
            return self._waiting.popleft() if self._waiting else None


def _joined(before: list[Snapshot], snapshot: Snapshot) -> Snapshot:
    """A snapshot that says of counters that began anew what those before it said, too."""
    fresh, unsure = snapshot.fresh, snapshot.unsure
    for one in before:
        if one.topology is snapshot.topology:
            fresh, unsure = _union(one.fresh, fresh, snapshot), _union(one.unsure, unsure, snapshot)
    return replace(snapshot, fresh=fresh, unsure=unsure)


def _union(before: _Places, now: _Places, snapshot: Snapshot) -> _Places:
    found = dict(now)
    for name, places in before.items():
        if name in snapshot.values:
            found[name] = places | found.get(name, frozenset())
    return found


class Outgoing:
    """Encodes snapshots for one reader: 2 ms each for 256 CPUs with 43 counters.

    Args:
        write: takes the bytes of whole records; what it raises ends the journal.
        machine: whose snapshots are sent.
    """

    def __init__(self, write: Callable[[bytes], None], machine: Machine) -> None:
        self._encoder = SnapshotEncoder(FULL)
        self._stream = StreamWriter(write, header_of(machine), FULL)
        self._changes = Changes()

    def send(self, unsent: Unsent) -> None:
        """Send a snapshot, before it what happened since the one before, and how many were lost."""
        snapshot = unsent.snapshot
        for change in self._changes.take(snapshot):
            if isinstance(change, Gap):
                self._stream.gap(change)
            else:
                self._stream.event(change)
        if unsent.lost:
            self._stream.gap(Gap(snapshot.wall_ns, snapshot.started_ns, "lost", frames=unsent.lost))
        encoded = self._encoder.encode(snapshot, unsent.capabilities)
        if encoded is not None:
            self._stream.tick(encoded)

    def end(self) -> None:
        """Say that the collector ends, and was not killed."""
        self._stream.end()
