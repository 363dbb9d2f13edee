"""The used share of the memory's bandwidth, by its controllers, for the diagnosis's rule; read on request."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from turbotui.diagnosis.rules import MemoryShare, MemoryTotal
from turbotui.features.roofline.dram import dram_of
from turbotui.features.roofline.traffic import MemoryTraffic
from turbotui.machine.machine import Machine
from turbotui.quantities.definition import Definition
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.frame import Frame
from turbotui.sources.source import Source


class MemoryWatch:
    """The memory controllers of a machine, and the theoretical peak; creation reads files and opens no counters.

    Args:
        definitions: the definitions that a recording counted beside its catalog; None for a live machine.
    """

    def __init__(self, machine: Machine, definitions: Iterable[Definition] | None = None) -> None:
        self._traffic = MemoryTraffic(machine, definitions)
        self._dram = dram_of(machine)

    @property
    def counts(self) -> bool:
        """Whether there are controllers with known traffic."""
        return bool(self._traffic.document)

    def sources(self) -> Sequence[Source]:
        """The sources to read in addition to the columns'."""
        return self._traffic.sources()

    def signals(self) -> frozenset[SignalId]:
        """The signals of these sources."""
        return self._traffic.signals()

    def share(self, frame: Frame) -> MemoryShare | Unavailable:
        """Return the used share of the peak for the package whose memory is used most, or why it is unknown."""
        if not (shares := self._traffic.read(frame)):
            return self._traffic.why_none or self._unread(frame)
        if self._dram.rate is None:
            return Unavailable(Reason.NO_HARDWARE, self._dram.note)
        row = max(shares, key=lambda row: shares[row])
        return MemoryShare(row, shares[row], self._dram.rate / len(frame.rows(Scope.PACKAGE)), self._dram.at_most)

    def total(self, frame: Frame) -> MemoryTotal | None:
        """Return the traffic of all packages; None if one of them is unknown."""
        shares = self._traffic.read(frame)
        whole = shares.keys() == set(frame.rows(Scope.PACKAGE))
        return self.beside(math.fsum(shares.values()), None) if whole else None

    def beside(self, rate: float, local: float | None) -> MemoryTotal:
        """Traffic that was counted elsewhere, beside the peak."""
        return MemoryTotal(rate, self._dram.rate, self._dram.at_most, local)

    def _unread(self, frame: Frame) -> Unavailable:
        name = next((name for name in self.signals() if name not in frame.capabilities.signals), None)
        if name is not None:
            return frame.capabilities.why_missing(name)
        return Unavailable(Reason.LATE, "the memory controllers' counts are not known in this interval")
