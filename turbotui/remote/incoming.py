"""Turn the bytes of a collector into frames."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.recording.framing import Missing, RecordParser
from turbotui.recording.machine_facts import Header
from turbotui.recording.recorded_host import KeptAnswers
from turbotui.recording.stream_reader import RecordedTick, StreamReader
from turbotui.recording.stream_writer import Event, Gap
from turbotui.sampling.frame import Frame
from turbotui.sampling.late_values import FrameMaker

_MOST_GAP: Final = 3600
"""Maximum number of ticks for a gap between two connections; no history is longer."""


@dataclass(frozen=True, slots=True)
class Received:
    """A received frame."""

    frame: Frame  # the first frame of a connection, and the first after missing records, has no interval
    header: Header  # of its session


Arrival: TypeAlias = Received | Gap | Event | Missing | KeptAnswers


class Incoming:
    """Makes frames of the bytes of successive connections.

    Numbers of ticks continue across connections, skipping as many as passed in between, so that histories have a gap
    where nothing was received.
    """

    def __init__(self) -> None:
        self._seq = -1
        self._wall_ns = 0
        self._seconds = 1.0
        self.begin()

    def begin(self) -> None:
        """Start a new connection."""
        self._parser = RecordParser()
        self._reader = StreamReader()
        self._maker = FrameMaker()
        self._shift: int | None = None
        self._session = ""

    @property
    def begun(self) -> bool:
        """Whether this connection has sent a header."""
        return self._reader.header is not None

    @property
    def ended(self) -> bool:
        """Whether the collector said that it ends."""
        return self._reader.ended

    def take(self, data: bytes) -> Iterator[Arrival]:
        """The frames that these bytes complete.

        Raises:
            RecordingError: the bytes are of a later version of the format.
        """
        for record in self._parser.feed(data):
            for item in self._reader.take(record):
                if isinstance(item, Missing):
                    self._maker = FrameMaker()  # a counter may have been restarted in the missing records
                yield self._received(item) if isinstance(item, RecordedTick) else item

    def _received(self, tick: RecordedTick) -> Received:
        snapshot = tick.snapshot
        if tick.header.session != self._session:
            self._session, self._maker, self._shift = tick.header.session, FrameMaker(), None
        if self._shift is None:
            ticks = round((snapshot.wall_ns - self._wall_ns) / 1e9 / self._seconds)
            next_seq = 0 if self._seq < 0 else self._seq + min(_MOST_GAP, max(1, ticks))
            self._shift = next_seq - snapshot.seq
        if self._shift:
            snapshot = replace(snapshot, seq=snapshot.seq + self._shift)
        self._seq, self._wall_ns = snapshot.seq, snapshot.wall_ns
        frame = self._maker.frame(snapshot, tick.capabilities)
        self._seconds = frame.seconds or self._seconds
        return Received(frame, tick.header)
