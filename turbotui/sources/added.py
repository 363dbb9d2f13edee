"""Counters added by hand: a register, a file or a perf event, one source each, so that adding one disturbs no other."""

from __future__ import annotations

import difflib
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from turbotui.events.encoded import EncodedEvent
from turbotui.events.errors import GroupError, UnknownPmuError
from turbotui.events.leaders import leader_first
from turbotui.events.perf_encoder import PerfEncoder
from turbotui.machine.calibration import crystal_hz, read_msr
from turbotui.machine.cpulist import format_cpulist
from turbotui.machine.given_files import PATIENCE, GivenFileError, within
from turbotui.machine.host import Host, HostError, msr_device
from turbotui.machine.machine import Machine
from turbotui.machine.perf_errors import Circumstances, circumstances
from turbotui.machine.pmus import EventError, list_pmus
from turbotui.machine.registers import decode
from turbotui.quantities.added import AddedCounter, EventAt, FileAt, RegisterAt, Shape, TelemetryAt, Ticks
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.bases import AddedSource
from turbotui.sources.event_bundles import counted
from turbotui.sources.perf_group import GroupEvent, Times
from turbotui.sources.perf_source import Findings, Offer, OfferGroup, PerfSource, mask_readers, try_offers
from turbotui.sources.pmt import CLASS, find_regions
from turbotui.sources.source import Probe, Reader, Source, raise_if_gone
from turbotui.sources.sysfs_files import FileReader, ValueFile, read_value, signed_number
from turbotui.sources.unreadable import unreadable

_CORE_CLOCK_HZ = 800e6  # tcore_clock (docs/specs/turbostat.md 9.2)


class AddedTelemetry(AddedSource):
    """Bits of PMT regions named by a user, each belonging to one CPU, core or package."""

    gives = "a PMT counter added by hand"

    def __init__(self, counter: AddedCounter) -> None:
        super().__init__(counter)
        self._by_instance: Mapping[int, TelemetryAt] = counter.by_instance or {}

    def probe(self, machine: Machine) -> Probe:
        """Find each region and read each counter once."""
        return Probe({self._counter.signal: self._probe_counter(machine)})

    def _probe_counter(self, machine: Machine) -> Signal | Unavailable:
        for place in self._by_instance.values():
            if (answer := self._try(machine.host, place)) is not None:
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
        if (region := find_region(host, place)) is None:
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
        place = self._by_instance.get(machine.topology.places[cpu].label(self._counter.scope))
        return _TelemetryReader(machine.host, place, self._counter)


class _TelemetryReader:
    def __init__(self, host: Host, place: TelemetryAt | None, counter: AddedCounter) -> None:
        self._host = host
        self._place = place
        self._raw = counter.shape is Shape.RAW
        self.signals: tuple[SignalId, ...] = (counter.signal,)
        region = None if place is None else find_region(host, place)
        self._descriptor = -1 if region is None else host.open_file(f"{region}/telem")

    def read(self) -> Sequence[Raw]:
        """The bits or their digits; None if no region belongs to this instance."""
        if self._place is None or self._descriptor < 0:
            return (None,)
        try:
            value = _read(self._host, self._descriptor, self._place)
        except struct.error:  # the region shrank
            return (None,)
        digits = 8 if self._place.msb - self._place.lsb < 32 else 16  # docs/specs/turbostat.md 9.2
        return (f"{value:0{digits}x}",) if self._raw else (value,)

    def close(self) -> None:
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
    folders = [region.directory for region in find_regions(host) if region.guid == place.guid]
    return folders[place.sequence] if place.sequence < len(folders) else None


_ALIAS_LENGTH = 5  # number of similar events that a message lists


def added_source(counter: AddedCounter) -> Source:
    """The source that reads one added counter."""
    place = counter.place
    if isinstance(place, RegisterAt):
        return AddedRegister(counter, place)
    if isinstance(place, FileAt):
        return AddedFile(counter, place)
    if isinstance(place, TelemetryAt):
        return AddedTelemetry(counter)
    return AddedEvent(counter, place)


def _signal(counter: AddedCounter) -> Signal:
    """The signal of a counter, whose raw values are integers, or texts if it is shown raw."""
    raw = counter.shape is Shape.RAW
    return Signal(
        id=counter.signal,
        scope=counter.scope,
        unit=Unit.TEXT if raw else Unit.COUNT,
        behavior=Behavior.GAUGE if raw or counter.shape is Shape.AVERAGE else Behavior.COUNTER,
        reduce=Reduce.SAME if raw else Reduce.MEAN,  # docs/specs/turbostat.md 1.6
        origin=str(counter.place),
        document="added by hand",
        width_bits=counter.width,
    )


def hexadecimal(value: int | None, width: int) -> str | None:
    """A raw word as turbostat prints it: hexadecimal without 0x, 8 digits for 32 bits and 16 for 64."""
    return None if value is None else f"{value & ((1 << width) - 1):0{width // 4}x}"


class _RegisterReader:
    def __init__(self, host: Host, cpu: int, address: int, counter: AddedCounter) -> None:
        self._host = host
        self._address = address
        self._raw = counter.shape is Shape.RAW
        self._width = counter.width
        self.signals: tuple[SignalId, ...] = (counter.signal,)
        try:
            self._descriptor = host.open_file(msr_device(cpu))
        except HostError as error:
            raise_if_gone(error)
            raise

    def read(self) -> Sequence[Raw]:
        try:
            word = decode(self._host.read_at(self._descriptor, 8, self._address))
        except HostError as error:
            raise_if_gone(error)
            raise
        return (hexadecimal(word, self._width),) if self._raw else (word,)

    def close(self) -> None:
        self._host.close(self._descriptor)


class AddedRegister(AddedSource):
    """A model-specific register named by a user."""

    gives = "a register added by hand"

    def __init__(self, counter: AddedCounter, place: RegisterAt) -> None:
        super().__init__(counter)
        self._place = place

    def probe(self, machine: Machine) -> Probe:
        """Read the register once, on the first measured CPU."""
        number = read_msr(machine, self._place.address, circumstances(machine))
        return Probe({self._counter.signal: number if isinstance(number, Unavailable) else _signal(self._counter)})

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> Reader:  # noqa: ARG002 - it has one signal
        return _RegisterReader(machine.host, cpu, self._place.address, self._counter)


class AddedFile(AddedSource):
    """A file with one decimal integer named by a user; the same file is read for every row of its scope."""

    gives = "a file added by hand"

    def __init__(self, counter: AddedCounter, place: FileAt) -> None:
        super().__init__(counter)
        self._path = place.path

    def probe(self, machine: Machine) -> Probe:
        """Read the counter once, within a time limit."""
        signal = self._counter.signal
        try:
            data = within(PATIENCE, lambda: read_value(machine.host, self._path))
        except HostError as error:
            return Probe({signal: unreadable(error)})
        except GivenFileError as error:
            return Probe({signal: Unavailable(Reason.FAILED, f"{self._path}: {error.why}")})
        if signed_number(data) is None:
            return Probe({signal: Unavailable(Reason.FAILED, f"{self._path} does not hold one decimal integer")})
        return Probe({signal: _signal(self._counter)})

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> Reader:  # noqa: ARG002 - it has one signal
        decode_text: Callable[[bytes], Raw] = signed_number
        if self._counter.shape is Shape.RAW:
            width = self._counter.width
            decode_text = lambda data: hexadecimal(signed_number(data), width)  # noqa: E731 - two readings of one file
        files = (ValueFile(self._counter.signal, (self._path,), decode_text),)
        return FileReader(machine.host, cpu, files, inside_cpu=False)


class AddedEvent(PerfSource):
    """A perf event named by a user, with every term of its PMU's format.

    It is opened alone on one CPU of each row of its scope: the CPU in the PMU's cpumask, otherwise the first.
    """

    gives = "a perf event added by hand"

    def __init__(self, counter: AddedCounter, place: EventAt) -> None:
        super().__init__()
        self.id = f"added-{counter.key}"
        self.title = f"{place} (added)"
        self.definition = self._counter = counter
        self._place = place

    def _find(self, machine: Machine) -> Findings:
        counter, signal = self._counter, self._counter.signal
        facts = circumstances(machine)
        times = Times.of(signal)
        try:
            encoded = self._encoded(machine)
        except UnknownPmuError:
            return Findings((), {signal: self._absent(machine, facts)})
        except EventError as error:
            return Findings((), {signal: Unavailable(Reason.FAILED, f"{self._place}: {str(error).rstrip('.')}")})
        if any(event.snapshot for event in encoded) and counter.shape is not Shape.RAW:
            level = Unavailable(Reason.FAILED, f"{self._place}: its value is a level, not a count", "add it as raw")
            return Findings((), {signal: level})
        groups: list[OfferGroup] = []
        refusals: list[Unavailable] = []
        scales: set[float] = set()
        readers: tuple[int, ...] = ()
        absent: dict[int, Unavailable] = {}
        for each in encoded:
            on = frozenset(each.cpus) or None
            if each.uncore:
                # only rows of the PMU's own CPUs have a value: it refuses others
                every = mask_readers(machine, each.cpus, counter.scope)
                readers = tuple(cpu for cpu in every if not each.covers or cpu in each.covers)
                on = frozenset(readers)
                absent = {cpu: self._elsewhere(each) for cpu in every if cpu not in on}
                if not readers:
                    refusals.append(Unavailable(Reason.OFFLINE, f"{self._place}: none of its CPUs is measured"))
            offers = tuple(Offer(GroupEvent(signal if event is each else f"{signal}.leader", event.attr,
                                            str(self._place)),
                                 on) for event in leader_first((each,)))
            usable, refused = try_offers(machine, offers[:1], facts)
            refusals += refused.values()
            if usable:
                groups.append(OfferGroup(offers, times))
                scales.add(each.scale)
        if not groups:
            return Findings((), {signal: refusals[0] if refusals else self._absent(machine, facts)})
        if len(scales) > 1:
            return Findings((), {signal: Unavailable(Reason.FAILED, f"{self._place}: its PMUs have different scales")})
        scale = scales.pop()
        raw = counter.shape is Shape.RAW
        described = replace(_signal(counter), unit=Unit.COUNT, scale=scale, width_bits=64, readers=readers,
                            reduce=Reduce.MEAN, behavior=Behavior.GAUGE if raw else Behavior.COUNTER,
                            enabled="" if raw else times.enabled, running="" if raw else times.running, absent=absent)
        clocks = times.signals("the added event", counter.scope, readers=readers)
        return Findings(tuple(groups), {signal: described, **clocks})

    def _encoded(self, machine: Machine) -> list[EncodedEvent]:
        """Encode the event for each PMU that counts it; with several types of core, for the measured ones.

        Raises:
            EventError: it cannot be encoded, or it names several uncore PMUs, whose counts this column would not sum.
        """
        written = f"{self._place.device}/{self._place.event}" + ("" if "/" in self._place.event else "/")
        events = counted(PerfEncoder(machine.host).encode(written))
        uncore = [event.pmu for event in events if event.uncore]
        if len(uncore) > 1:
            raise GroupError(f"The name stands for {len(uncore)} PMUs: add one of them, such as {uncore[0]}.")
        measured = frozenset(machine.topology.cpus)
        return [event for event in events if event.uncore or not event.cpus or measured.intersection(event.cpus)]

    def _elsewhere(self, event: EncodedEvent) -> Unavailable:
        return Unavailable(
            Reason.NO_HARDWARE,
            f"{self._place}: the PMU {event.pmu} counts for CPUs {format_cpulist(event.covers)} only")

    def _absent(self, machine: Machine, facts: Circumstances) -> Unavailable:
        near = difflib.get_close_matches(self._place.device, list_pmus(machine.host), n=_ALIAS_LENGTH)
        return Unavailable(Reason.VIRTUALISED if facts.hypervisor else Reason.NO_HARDWARE,
                           f"{self._place}: the kernel has no PMU {self._place.device} here",
                           f"did you mean {', '.join(near)}?" if near else "")
