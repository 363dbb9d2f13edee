"""Intel Platform Monitoring Technology: counters that firmware keeps in a memory-mapped region.

Files: kernel Documentation/ABI/testing/sysfs-class-intel_pmt. /sys/class/intel_pmt/telemN is one region: guid names its
    layout, size its bytes, and telem is its content. Several regions may share a guid (one per die or tile); they are
    distinguished by the order of N. Intel's telemetry description files define the layouts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence

from turbotui.dataclass import dataclass
from turbotui.machine.calibration import crystal_hz
from turbotui.machine.host import Host, HostError
from turbotui.machine.machine import Machine
from turbotui.machine.perf_errors import circumstances
from turbotui.machine.small_files import numbered_in
from turbotui.machine.topology import Topology
from turbotui.quantities.plain_numbers import hexadecimal
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.bases import CachedSearch, PerCpuSource
from turbotui.sources.source import CpuGone, Probe, Reader
from turbotui.sources.sysfs_files import is_offline, read_line, read_number
from turbotui.sources.unreadable import unreadable

CLASS = "/sys/class/intel_pmt"
_DOCUMENT = "kernel Documentation/ABI/testing/sysfs-class-intel_pmt; Intel PMT XML"
_WORD_BYTES = 8  # counters are 64-bit words; narrower ones are fields of words
_CORE_CLOCK_HZ = 800e6  # the clock that Clearwater Forest's C1E residency counts (docs/specs/turbostat.md 9.3)
_CWF_BASE, _CWF_STEP = 20936, 24  # bytes: the first module's counter, and from one module to the next (as above)
_CWF_MODULES_A_FILE = 12  # as above
_CWF_CPUS_A_MODULE = 4  # as above; modules follow from CPU numbers


@dataclass(frozen=True, slots=True)
class Region:
    """One telemetry region: its directory, layout and size in bytes."""

    directory: str
    guid: int
    size: int

    @property
    def path(self) -> str:
        """The file that is the region."""
        return f"{self.directory}/telem"


@dataclass(frozen=True, slots=True)
class TelemetryOffset:
    """Location of a telemetry counter: the number of its region among those with its guid, and the byte offset."""

    seq: int
    offset: int


@dataclass(frozen=True, slots=True)
class _Counter:
    """A counter that turbotui knows."""

    signal: SignalId
    scope: Scope
    guid: int  # the layout
    hertz: float | None  # the clock that it counts; None for the crystal's
    # the counter of the instance around a CPU; None if that instance has none
    location: Callable[[Topology, int], TelemetryOffset | None]
    what: str  # what it measures, for people


def _die_c6(topology: Topology, cpu: int) -> TelemetryOffset | None:
    return TelemetryOffset(0, 120) if topology.index(Scope.PACKAGE, cpu) == 0 else None  # docs/specs/turbostat.md 9.3


def _module_c1e(_topology: Topology, cpu: int) -> TelemetryOffset:
    seq, place = divmod(cpu // _CWF_CPUS_A_MODULE, _CWF_MODULES_A_FILE)
    return TelemetryOffset(seq, _CWF_BASE + _CWF_STEP * place)


_COUNTERS: tuple[_Counter, ...] = (
    _Counter("pmt.die.c6", Scope.PACKAGE, 0x1A067102, None, _die_c6, "die C6 of Meteor Lake"),
    _Counter("pmt.module.c1e", Scope.CPU, 0x14421519, _CORE_CLOCK_HZ, _module_c1e, "module C1E of Clearwater Forest"),
)


def find_regions(host: Host) -> tuple[Region, ...]:
    """Every telemetry region, in the order of the numbers in their names."""
    regions = []
    for directory in numbered_in(host, CLASS, "telem"):
        guid, size = read_line(host, f"{directory}/guid") or "", read_number(host, f"{directory}/size")
        with contextlib.suppress(ValueError):  # a region without a layout is unreadable for anybody
            regions.append(Region(directory, hexadecimal(guid), max(0, size or 0)))
    return tuple(regions)


class PmtReader:
    """Open words of telemetry regions.

    Raises:
        HostError: EMFILE or ENFILE, or no region opens any more; nothing is left open.
    """

    def __init__(self, host: Host, cpu: int, places: Mapping[SignalId, tuple[str, int] | None]) -> None:
        self._host = host
        self._cpu = cpu
        self.signals = tuple(places)
        self._words: list[tuple[int, int] | None] = []
        try:
            for place in places.values():
                self._words.append(None if place is None else (host.open_file(place[0]), place[1]))
        except HostError:
            self.close()
            raise

    def read(self) -> Sequence[Raw]:
        """One 64-bit word each; None for one that cannot be read."""
        values = [None if word is None else self._word(*word) for word in self._words]
        failed = any(word is not None for word in self._words) and all(value is None for value in values)
        if failed and is_offline(self._host, self._cpu):
            raise CpuGone(f"CPU {self._cpu} went offline")
        return values

    def _word(self, descriptor: int, offset: int) -> int | None:
        try:
            data = self._host.read_at(descriptor, _WORD_BYTES, offset)
        except HostError:
            return None
        return int.from_bytes(data, "little") if len(data) == _WORD_BYTES else None

    def close(self) -> None:
        """Close every file."""
        for word in self._words:
            if word is not None:
                self._host.close(word[0])
        self._words = []


class Pmt(PerCpuSource):
    """The `Source` of the telemetry counters that columns are made of."""

    id = "pmt"

    def __init__(self) -> None:
        self._regions = CachedSearch(lambda machine: find_regions(machine.host))

    def probe(self, machine: Machine) -> Probe:
        """List the regions and read each counter once."""
        regions = self._regions.look(machine)
        note = ", ".join(sorted({f"{region.guid:#x}" for region in regions}))
        answers = {counter.signal: _probed(machine, counter, regions) for counter in _COUNTERS}
        return Probe(answers, f"telemetry layouts here: {note}" if note else "")

    def descriptors(self, wanted: frozenset[SignalId], readers: int) -> int:
        """One for each counter on each reading CPU."""
        return readers * sum(counter.signal in wanted for counter in _COUNTERS)

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> Reader:
        """Open the regions with the counters of one CPU. Raises HostError if a region does not open any more."""
        regions = self._regions.on(machine)
        places = {counter.signal: _place(machine, counter, regions, cpu) for counter in _COUNTERS
                  if counter.signal in wanted}
        return PmtReader(machine.host, cpu, places)


def _place(machine: Machine, counter: _Counter, regions: Sequence[Region], cpu: int) -> tuple[str, int] | None:
    """The file and offset of the counter around a CPU; None if there is none, or if it is beyond the region."""
    location = counter.location(machine.topology, cpu)
    same = [region for region in regions if region.guid == counter.guid]
    if location is None or location.seq >= len(same) or location.offset + _WORD_BYTES > same[location.seq].size:
        return None
    return same[location.seq].path, location.offset


def _probed(machine: Machine, counter: _Counter, regions: Sequence[Region]) -> Signal | Unavailable:
    if not regions:
        return _absent(machine, counter)
    places = (_place(machine, counter, regions, instance.cpus[0])
              for instance in machine.topology.instances(counter.scope))
    if (place := next(filter(None, places), None)) is None:
        return Unavailable(
            Reason.NO_HARDWARE, f"{CLASS}: no region with guid {counter.guid:#x} holds the {counter.what}")
    clock = counter.hertz
    if clock is None:
        crystal = crystal_hz(machine, circumstances(machine))
        if isinstance(crystal, Unavailable):
            return crystal
        clock = crystal.value
    path, offset = place
    try:
        descriptor = machine.host.open_file(path)
    except HostError as error:
        return unreadable(error, "run as root")
    try:
        data = machine.host.read_at(descriptor, _WORD_BYTES, offset)
    except HostError as error:
        return unreadable(error)
    finally:
        machine.host.close(descriptor)
    if len(data) != _WORD_BYTES:
        return Unavailable(Reason.FAILED, f"{path}: ends before byte {offset + _WORD_BYTES}")
    return Signal(
        counter.signal, counter.scope, Unit.SECOND, Behavior.COUNTER, Reduce.MEAN,
        origin=f"{path} at byte {offset}, guid {counter.guid:#x}", document=_DOCUMENT, scale=1.0 / clock,
    )


def _absent(machine: Machine, counter: _Counter) -> Unavailable:
    detail = f"{CLASS}: there is no telemetry region; the {counter.what} would be in one"
    if machine.model.x86_guest:
        return Unavailable(Reason.VIRTUALISED, detail)
    if machine.model.vendor != "GenuineIntel":
        return Unavailable(Reason.NO_HARDWARE, detail)
    return Unavailable(Reason.NO_DRIVER, detail, "modprobe intel_vsec pmt_telemetry, where the processor has it")
