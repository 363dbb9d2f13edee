"""Reads the packages' energy and the memory's traffic of the whole machine while a command is counted."""

from __future__ import annotations

import contextlib
import math
import queue

from turbotui.features.roofline.traffic import MemoryTraffic
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import Machine
from turbotui.quantities.scope import Scope
from turbotui.sampling.energy import ENERGY_SOURCES, Energy, EnergyMeter, energy_signals
from turbotui.sampling.frame import Frame
from turbotui.sampling.session import Session
from turbotui.sources import SOURCES

_PATIENCE = 5.0  # seconds for the first reading


class MachineReadings:
    """The energy of all packages and the memory's traffic during a command, if available.

    Args:
        interval: seconds between two readings.
    """

    def __init__(self, machine: Machine, interval: float) -> None:
        sources = tuple(source for source in SOURCES if source.id in ENERGY_SOURCES)
        self._session = Session(machine, sources, interval, LinuxHost())
        self._memory = MemoryTraffic(machine, by_cache=True)
        self._packages = len(machine.topology.instances(Scope.PACKAGE))
        self._moved = self._seconds = 0.0
        self._meter = EnergyMeter(self._session.capabilities)
        self._signals = energy_signals(self._session.capabilities)
        self._reads = bool(self._signals) or bool(self._memory.sources())

    def energy(self) -> Energy:
        """Return the energy since the last call."""
        return self._meter.take()

    @property
    def traffic(self) -> float | None:
        """The bytes per second of all memory while known; None if nothing counts them."""
        return self._moved / self._seconds if self._seconds else None

    @property
    def note(self) -> str:
        return self._memory.note

    def start(self) -> None:
        """Begin; the first reading is complete on return."""
        if self._reads:
            first: queue.Queue[bool] = queue.Queue()

            def take(frame: Frame) -> None:
                self._add(frame)
                first.put(True)

            self._session.want((), self._signals)
            self._session.read_also(self._memory.sources(), self._memory.signals())
            self._session.start(take)
            with contextlib.suppress(queue.Empty):
                first.get(timeout=_PATIENCE)

    def stop(self) -> None:
        """End with a last reading."""
        if self._reads:
            self._session.stop()

    def _add(self, frame: Frame) -> None:
        self._meter.feed(frame)
        if frame.older is None:
            return
        traffic = self._memory.read(frame)
        if len(traffic) == self._packages:
            self._moved += math.fsum(traffic.values()) * (frame.seconds or 0.0)
            self._seconds += frame.seconds or 0.0
