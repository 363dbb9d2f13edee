"""Reads many rings piece by piece in order of time, in memory that does not grow with the rings.

A ring of some megabytes is ten times as large when decoded. So rings are decoded in pieces; while a ring has more
records, other rings' records are only returned up to the time that this ring has reached.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.perf_blocks import Decoder
from turbotui.machine.perf_records import Record
from turbotui.machine.perf_ring import Ring

_TOGETHER: Final = 1 << 19  # bytes of all rings that are decoded at a time, which become ten times as many as records
_LARGEST: Final = 1 << 17  # bytes of one ring among few
_LEAST: Final = 1 << 13  # bytes of one ring among very many, longer than any record
_TIME: Final = attrgetter("time")


@dataclass(frozen=True, slots=True)
class RingRecords:
    """Records of one ring, in the order of their writing; `cpu` is the ring's, -1 for a thread's own."""

    cpu: int
    records: tuple[Record, ...]


class Draining:
    """Records that a ring holds now; later ones are left for the next call.

    Args:
        cpu: the ring's, -1 for a thread's own.
    """

    __slots__ = ("_cpu", "_decoder", "_left", "_records", "_ring", "size")

    def __init__(self, ring: Ring, decoder: Decoder, cpu: int) -> None:
        self._ring = ring
        self._decoder = decoder
        self._cpu = cpu
        self._records: list[Record] = []
        self._left = decoder.backlog = ring.waiting
        self.size = self._left
        """Bytes that there are at first."""

    def parse(self, piece: int) -> int | None:
        """Decode a piece; return the time of its last record if the ring has more, else None."""
        while self._left and not self._records:
            data = self._ring.look(min(self._left, piece))
            self._records, used = self._decoder.part(data, more=len(data) < self._left)
            used = used or self._left  # not even one record: the end of the content is the next certain beginning
            self._ring.give_back(used)
            self._left -= used
        return self._records[-1].time if self._left else None

    def until(self, time: int | None) -> RingRecords | None:
        """Return the decoded records up to a time; None if there are none."""
        if not self._records:
            return None
        if time is None or self._records[-1].time <= time:
            records, self._records = self._records, []
        else:
            place = bisect_right(self._records, time, key=_TIME)
            records, self._records = self._records[:place], self._records[place:]
        return RingRecords(self._cpu, tuple(records)) if records else None


def in_order(rings: Sequence[Draining]) -> Iterator[list[RingRecords]]:
    """Yield the rings' present records in batches.

    No record is older than those of earlier batches, except in rings that the kernel itself fills out of order.
    """
    full = [ring for ring in rings if ring.size]
    piece = max(_LEAST, min(_LARGEST, _TOGETHER // max(1, len(full))))
    while full:
        first = min((time for time in [drain.parse(piece) for drain in full] if time is not None), default=None)
        batch = [taken for drain in full if (taken := drain.until(first)) is not None]
        if batch:
            yield batch
        if first is None:
            return
