"""Intel PMT counters added by hand (docs/specs/turbostat.md 9); the built-in ones are in `sources.pmt`."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from turbotui.machine.calibration import crystal_hz
from turbotui.machine.host import Host, HostError
from turbotui.machine.machine import Machine
from turbotui.machine.perf_errors import circumstances
from turbotui.quantities.added import AddedCounter, Shape, TelemetryAt, Ticks
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.kinds import AddedSource
from turbotui.sources.pmt import CLASS, find_regions
from turbotui.sources.source import Probe, Reader
from turbotui.sources.unreadable import unreadable

_CORE_CLOCK_HZ = 800e6  # tcore_clock (docs/specs/turbostat.md 9.2)


class AddedTelemetry(AddedSource):
    """Bits of PMT regions that a person named, each belonging to one CPU, core or package."""

    gives = "a PMT counter added by hand"

    def __init__(self, counter: AddedCounter) -> None:
        super().__init__(counter)
        self._by_instance: Mapping[int, TelemetryAt] = counter.by_instance or {}

    def probe(self, machine: Machine) -> Probe:
        """Find each region and read each counter once."""
        return Probe({self._counter.signal: self._probe_counter(machine)})

    def _probe_counter(self, machine: Machine) -> Signal | Unavailable:
        for place in self._by_instance.values():
            answer = self._try(machine.host, place)
            if answer is not None:
                return answer
        counter = self._counter
        scale = 1.0
        if counter.ticks is Ticks.CRYSTAL:
            crystal = crystal_hz(machine, circumstances(machine))
            if isinstance(crystal, Unavailable):
                return crystal
            scale = 1.0 / crystal.value
        elif counter.ticks is Ticks.CORE_CLOCK:
            scale = 1.0 / _CORE_CLOCK_HZ
        raw, clock = counter.shape is Shape.RAW, counter.ticks is not Ticks.CYCLES
        place = next(iter(self._by_instance.values()))
        return Signal(
            id=counter.signal,
            scope=counter.scope,
            unit=Unit.TEXT if raw else Unit.SECOND if clock else Unit.COUNT,
            behavior=Behavior.GAUGE if raw else Behavior.COUNTER,  # so is "average" (docs/specs/turbostat.md 9.2)
            reduce=Reduce.SAME if raw else Reduce.MEAN,
            origin=str(place),
            document="kernel Documentation/ABI/testing/sysfs-class-intel_pmt",
            width_bits=place.msb - place.lsb + 1,
            scale=scale,
        )

    def _try(self, host: Host, place: TelemetryAt) -> Unavailable | None:
        region = find_region(host, place)
        if region is None:
            return Unavailable(Reason.NO_HARDWARE, f"{place}: there is no such region below {CLASS}")
        try:
            descriptor = host.open_file(f"{region}/telem")
        except HostError as error:
            return unreadable(error, "run as root")
        try:
            _read(host, descriptor, place)
        except HostError as error:
            return unreadable(error)
        except struct.error:
            return Unavailable(Reason.FAILED, f"{place}: the region {region} ends before that offset")
        finally:
            host.close(descriptor)
        return None

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> Reader:  # noqa: ARG002 - it has one signal
        """Open the region of the instance that this CPU reads for; an instance without one reads None.

        Raises:
            HostError: the region does not open any more.
        """
        place = self._by_instance.get(machine.topology.places[cpu].label(self._counter.scope))
        return _TelemetryReader(machine.host, place, self._counter)


class _TelemetryReader:
    """One word of one region."""

    def __init__(self, host: Host, place: TelemetryAt | None, counter: AddedCounter) -> None:
        self._host = host
        self._place = place
        self._raw = counter.shape is Shape.RAW
        self.signals: tuple[SignalId, ...] = (counter.signal,)
        region = None if place is None else find_region(host, place)
        self._descriptor = -1 if region is None else host.open_file(f"{region}/telem")

    def read(self) -> Sequence[Raw]:
        """The bits, or their digits; None where no region belongs to this instance."""
        if self._place is None or self._descriptor < 0:
            return (None,)
        try:
            value = _read(self._host, self._descriptor, self._place)
        except struct.error:  # the region shrank
            return (None,)
        digits = 8 if self._place.msb - self._place.lsb < 32 else 16  # docs/specs/turbostat.md 9.2
        return (f"{value:0{digits}x}",) if self._raw else (value,)

    def close(self) -> None:
        """Close the region."""
        if self._descriptor >= 0:
            self._host.close(self._descriptor)


def _read(host: Host, descriptor: int, place: TelemetryAt) -> int:
    """The bits of the word, in 64-bit arithmetic."""
    (word,) = struct.unpack("<Q", host.read_at(descriptor, 8, place.offset))
    value: int = word >> place.lsb & ((1 << (place.msb - place.lsb + 1)) - 1)
    return value


def find_region(host: Host, place: TelemetryAt) -> str | None:
    """The directory of a counter's region; None if there is none."""
    if place.path:
        return place.path if host.exists(f"{place.path}/telem") else None
    found = [region.directory for region in find_regions(host) if region.guid == place.guid]
    return found[place.sequence] if place.sequence < len(found) else None
