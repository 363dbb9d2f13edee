"""Whose numbers a sample of switches has: the kernel gives it those of whichever program's event comes first.

All events that count context switches on a CPU share one struct perf_sample_data, and what the first of them filled in
(thread, time, identifier) is not filled in again for the next: do_perf_sw_event() does not reset data->sample_flags, as
perf_tp_event() has done since Linux 6.4 (kernel/events/core.c; seen on 6.18). So with turbotui or perf in a container
and turbotui on the machine, one of them gets the other's numbers: here a task is called 0, as the idle task is, or has
the number of a task of the container; there tasks outside appear. The counts are always the event's own.

The identifier gives such a sample away. Records of switches are filled in for each event, so on whole CPUs the record
that follows a sample says whose it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import compress
from operator import ne
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.perf_records import NOBODY

SETTLED: Final = 0
"""The identifier given to a sample whose thread a record of its switch has named; events count theirs from 1."""
_ENOUGH: Final = 16  # samples with the right thread, and none with another, until an event's numbers are taken for ours


@dataclass(slots=True)
class SampleNumbers:
    """Tells samples with the numbers of this pid namespace from those with another's."""

    own: Mapping[int, int]  # what the identifiers of the reader's own events stand for; grows
    now: int = (1 << 64) - 1  # until when samples may have been taken, in ns on the perf clock
    foreign: int = 0  # samples with another event's identifier, those of trusted events left out
    doubted: bool = False  # whether a sample since the last look had an identifier or a thread that was not its own
    _trusted: set[int] = field(default_factory=lambda: {SETTLED})
    _agreed: dict[int, int] = field(default_factory=dict)

    def strange(self, events: set[int]) -> set[int]:
        """Which of these identifiers are of events whose numbers may be those of another namespace."""
        strange = set() if events <= self.own.keys() else events - self.own.keys() - self._trusted
        self.doubted |= bool(strange)
        return strange

    def compare(self, events: Sequence[int], given: Sequence[int], named: Sequence[int]) -> None:
        """Learn from samples whose threads records of their switches have named whether events have our numbers.

        Args:
            events: the identifiers in the samples.
            given: the process and, in the upper half of the word, the thread that each sample has.
            named: those that its record has.
        """
        others = set(compress(events, map(ne, given, named)))
        for event in set(events):
            if event in others:
                self._agreed[event] = -1  # its own event too, where the other program's samples have no identifier
                self.doubted = True
            elif event not in self.own:
                self.doubted |= event not in self._trusted
                right = sum(1 for other, word in zip(events, named, strict=True)
                            if other == event and word >> 32 not in (0, NOBODY))
                if right and (times := self._agreed.get(event, 0)) >= 0:
                    self._agreed[event] = times + right
                    if times + right >= _ENOUGH:
                        self._trusted.add(event)
