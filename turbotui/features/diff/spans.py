"""Opens recordings and spans as users name them, and finds the common interval of two."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator
from itertools import islice
from typing import Final

from turbotui import recording
from turbotui.dataclass import dataclass
from turbotui.errors import TurbotuiError, UsageError
from turbotui.quantities.moments import NS, parse_span
from turbotui.recording.journal import Journal
from turbotui.sampling.frame import Frame
from turbotui.untrusted import original

_LOOKED_AT: Final = 5  # intervals at the beginning of a span from which its interval is taken
_ALIKE: Final = 0.05  # relative difference below which intervals are equal
_MULTIPLES: Final = 20


@dataclass(frozen=True, slots=True)
class RecordedSpan:
    """A span of a recording."""

    name: str  # the span as the user wrote it
    journal: Journal  # the recording, open
    # begin_ns, end_ns: in ns since 1970
    begin_ns: int
    end_ns: int

    def frames(self, every: float) -> Iterator[Frame]:
        """Yield the frames whose intervals lie within the span, joined to `every` seconds (0: as recorded)."""
        frames = self.journal.frames(self.begin_ns, self.end_ns, every, within=True)
        return (frame for frame in frames if frame.older is not None)

    def interval(self) -> float:
        """Return the seconds of the span's longest usual interval. Raises TurbotuiError if the span has no interval."""
        first = [seconds for frame in islice(self.frames(0.0), _LOOKED_AT) if (seconds := frame.seconds)]
        if not first:
            raise TurbotuiError(f"{self.name} has no interval in that time: choose a longer one")
        tiers = (span.seconds for span in self.journal.covered()
                 if span.first_ns < self.end_ns and span.last_ns > self.begin_ns)
        return max(statistics.median(first), *tiers)

    def overlaps(self, other: RecordedSpan) -> bool:
        """Tell whether two spans have readings in common."""
        return (self.journal.paths[0] == other.journal.paths[0] and self.begin_ns < other.end_ns
                and other.begin_ns < self.end_ns)

    @property
    def seconds(self) -> float:
        """The seconds from the span's first to its last reading."""
        journal = self.journal
        return max(0, min(self.end_ns, journal.last_ns) - max(self.begin_ns, journal.first_ns)) / NS


def open_span(text: str) -> RecordedSpan:
    """Open a span that the user names: FILE or FILE@FROM..TO.

    Raises:
        UsageError: the times are invalid.
        RecordingError: the file is no recording, or cannot be read.
    """
    path, begin, end = _parted(text)
    journal = recording.read_machine(path)
    try:
        return RecordedSpan(text, journal, *parse_span(begin, end, journal.first_ns, journal.last_ns))
    except BaseException:
        journal.close()
        raise


def _parted(text: str) -> tuple[str, str, str]:
    """Split a text into path and times; an existing file of the whole name takes precedence."""
    path, at, times = text.rpartition("@")
    if not at or os.path.lexists(original(text)):
        return text, "", ""
    begin, dots, end = times.partition("..")
    if not dots:
        raise UsageError(f'"{text}" is no file, and no span of one: write FILE@FROM..TO, as run.ttj@14:03..14:08')
    return path, begin.strip(), end.strip()


def common_interval(spans: tuple[RecordedSpan, RecordedSpan], every: float) -> tuple[float, float, float]:
    """Return the interval that both spans can be read with, and what to request of each: 0 for as recorded."""
    own = (spans[0].interval(), spans[1].interval())
    base = max(every, *own)
    seconds = next((base * times for times in range(1, _MULTIPLES)
                    if all(_whole(base * times / length) for length in own)), base)
    first, second = (0.0 if abs(seconds / length - 1.0) < _ALIKE else seconds for length in own)
    return seconds, first, second


def _whole(times: float) -> bool:
    return abs(times - round(times)) < _ALIKE * times
