"""C6 residency without the C7 that E cores count into it: the difference of two counters of one reader."""

from __future__ import annotations

from collections.abc import Sequence

from turbotui.quantities.signals import Raw, SignalId
from turbotui.sources.perf_source import PerfReader

C6: SignalId = "cstate.core.c6"
C7: SignalId = "cstate.core.c7"


class WithoutDeeper:
    """A perf reader that returns C6 less C7 for C6. Both are in one group, so they are of the same instant.

    Args:
        reader: with C7 among its signals if C6 is.
        wanted: what to return.
    """

    def __init__(self, reader: PerfReader, wanted: frozenset[SignalId]) -> None:
        self._reader = reader
        self._arrange(wanted)

    def read(self) -> Sequence[Raw]:
        """Read, and subtract C7 from C6; None for C6 if either is unknown.

        Raises:
            CpuGone: the CPU went offline.
        """
        values = list(self._reader.read())
        if self._pair is not None:
            shallow, deep = self._pair
            first, second = values[shallow], values[deep]
            values[shallow] = first - second if isinstance(first, int) and isinstance(second, int) else None
        return [values[place] for place in self._places]

    def choose(self, wanted: frozenset[SignalId]) -> bool:
        """Change what `read` returns; False, and nothing changes, if one of `wanted` is not open here."""
        if not self._reader.choose(with_deeper(wanted)):
            return False
        self._arrange(wanted)
        return True

    def close(self) -> None:
        """Close every descriptor."""
        self._reader.close()

    def _arrange(self, wanted: frozenset[SignalId]) -> None:
        names = self._reader.signals
        self._places = tuple(place for place, name in enumerate(names) if name in wanted)
        self.signals = tuple(names[place] for place in self._places)
        self._pair = (names.index(C6), names.index(C7)) if C6 in wanted else None


def with_deeper(wanted: frozenset[SignalId]) -> frozenset[SignalId]:
    """The signals to read for `wanted`: C7 too if C6 is among them."""
    return wanted | {C7} if C6 in wanted else wanted
