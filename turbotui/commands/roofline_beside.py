"""What is read beside a command that is counted: the packages' energy and the memory's traffic."""

from __future__ import annotations

import contextlib
import queue
from typing import Final

from turbotui.analysis.roofline.traffic import MemoryTraffic
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import Machine
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.scope import SYSTEM_ROW, Scope
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.frame import Frame
from turbotui.sampling.selection import why_absent
from turbotui.sampling.session import Session
from turbotui.sources import SOURCES

_ENERGY: Final = "Pkg_J"
NOT_READ_TWICE: Final = Unavailable(Reason.NOT_READ, "it ended before the packages' energy was read twice")


class Beside:
    """Energy of all packages and the memory's traffic beside a command, where they can be had.

    Attributes:
        joules: of the packages; None where it is not known.
        traffic: bytes per second of all memory; None where nobody counts.
    """

    def __init__(self, machine: Machine, interval: float) -> None:
        self._session = Session(machine, SOURCES, interval, LinuxHost())
        self._memory = MemoryTraffic(machine)
        self._packages = len(machine.topology.instances(Scope.PACKAGE))
        self._moved = self._seconds = 0.0
        self.joules: float | None = None
        self._column, self._absent = energy_of(self._session)
        self._reads = self._column is not None or bool(self._memory.sources())

    @property
    def why(self) -> Unavailable | None:
        """The reason why there is no energy."""
        return None if self.joules is not None else self._absent or NOT_READ_TWICE

    @property
    def traffic(self) -> float | None:
        """Bytes per second of all memory while it was known."""
        return self._moved / self._seconds if self._seconds else None

    def start(self) -> None:
        """Begin."""
        if self._reads:
            first: queue.Queue[bool] = queue.Queue()

            def take(frame: Frame) -> None:
                self._add(frame)
                first.put(True)

            self._session.want([_ENERGY] if self._column is not None else [])
            self._session.read_also(self._memory.sources(), self._memory.signals())
            self._session.start(take)
            with contextlib.suppress(queue.Empty):
                first.get(timeout=5.0)

    def stop(self) -> None:
        """End."""
        if self._reads:
            self._session.stop()

    def _add(self, frame: Frame) -> None:
        if frame.older is None:
            return
        value = None if self._column is None else frame.cell(self._column, SYSTEM_ROW)
        if isinstance(value, int | float):
            self.joules = (self.joules or 0.0) + value
        traffic = self._memory.read(frame)
        if len(traffic) == self._packages:
            self._moved += sum(traffic.values()) * (frame.seconds or 0.0)
            self._seconds += frame.seconds or 0.0


def energy_of(session: Session) -> tuple[CounterColumn | None, Unavailable | None]:
    """The packages' energy; or why it cannot be had."""
    column = session.catalog.get(_ENERGY)
    if column is None:
        return None, Unavailable(Reason.NO_HARDWARE, "there is no counter of the packages' energy")
    absent = why_absent(column, session.census, session.machine.topology)
    return (column, None) if absent is None else (None, absent)
