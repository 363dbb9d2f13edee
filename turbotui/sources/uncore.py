"""One uncore PMU as a source: a signal for each event of each of its units, read only while it is shown.

A unit's signals are of the whole machine's scope and name the one CPU that reads them: uncore units are no level of
the topology, and there may be a hundred in a package.

Its counters are opened in as few groups as the kernel schedules, and each group is read by one read(2). They are few,
and other programs may hold some: whether a group fits shows only when it is opened (perf_event_open(2), EINVAL). Events
that belong together are put into a group together or not at all.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from turbotui.counting.counters import TOO_MANY, Counters, CountTarget, LostCounterError
from turbotui.dataclass import dataclass
from turbotui.events.encoded import EncodedEvent
from turbotui.events.perf_encoder import PerfEncoder
from turbotui.events.uncore.corrections import corrected_scale
from turbotui.events.uncore.discovery import UncoreUnit, mask_now, reader_of
from turbotui.machine.host import Host, HostError, HostKind, PerfAttr
from turbotui.machine.machine import Machine
from turbotui.machine.perf_errors import circumstances
from turbotui.machine.pmus import EventError
from turbotui.quantities.definition import CountedUnits
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.uncore.names import BYTES, CLOCKS, filter_of
from turbotui.quantities.units import Unit as Measure
from turbotui.sources.bases import PerCpuSource
from turbotui.sources.perf_group import GroupEvent, Times, probe_events
from turbotui.sources.source import GONE, CpuGone, Probe, raise_if_gone

_DOCUMENT = "perf_event_open(2); kernel Documentation/ABI/testing/sysfs-bus-event_source-devices"
_UNCHECKED = {"amd_umc": 4, "amd_l3": 6, "amd_df": 4}
"""Kinds whose driver lets any group be opened, and then never counts one that is too large: the fewest counters that
such a PMU has (arch/x86/events/amd/uncore.c)."""


@dataclass(frozen=True, slots=True)
class UncoreRequest:
    """A request to count events of one PMU."""

    units: tuple[UncoreUnit, ...]  # all of the PMU
    bundles: tuple[tuple[str, ...], ...]  # events by name or terms; those of one bundle are counted in the same time
    settings: tuple[tuple[str, int], ...] = ()  # values of filter fields, for every event alike
    number: int = 0  # told apart from earlier orders of the same PMU

    @property
    def pmu(self) -> str:
        """The PMU's name."""
        return self.units[0].pmu.name

    def written(self, event: str) -> str:
        """Return an event with the filters, as perf writes it; a clock event has no filters."""
        settings = () if event in CLOCKS else self.settings
        terms = ",".join((event, *(f"{name}={value:#x}" for name, value in settings)))
        return f"{self.pmu}/{terms}/"

    def signal(self, unit: UncoreUnit, bundle: int, event: str) -> SignalId:
        """Return the id of the signal of one event of one unit, one object for all who ask: there may be thousands."""
        return sys.intern(f"uncore.{unit.key}.{self.number}.{bundle}.{event}")

    def times(self, unit: UncoreUnit, bundle: int) -> Times:
        """Return the ids of the signals with a bundle's enabled and running times."""
        stem = f"uncore.{unit.key}.{self.number}.{bundle}"
        return Times(sys.intern(f"{stem}:enabled"), sys.intern(f"{stem}:running"))

    def signals(self) -> frozenset[SignalId]:
        """Return the ids of all signals that are read for the request."""
        signals: set[SignalId] = set()
        for unit in self.units:
            for bundle, events in enumerate(self.bundles):
                times = self.times(unit, bundle)
                signals |= {times.enabled, times.running, *(self.signal(unit, bundle, event) for event in events)}
        return frozenset(signals)


class UncoreSource(PerCpuSource):
    """The events of one request."""

    gives = "what an uncore PMU counts, while the uncore screen shows it"
    counts_from_open = True

    def __init__(self, order: UncoreRequest) -> None:
        self.order = order
        self.id = f"uncore-{order.pmu}-{order.number}"
        self.title = f"perf {order.pmu}"
        self._open_on: dict[int, list[UncoreUnit]] = {}
        self._encoded: dict[str, EncodedEvent] = {}
        self._scales: dict[str, float] = {}

    @property
    def definition(self) -> CountedUnits:
        order = self.order
        return CountedUnits(order.pmu, order.number, tuple(unit.key for unit in order.units), order.bundles,
                            order.settings)

    def probe(self, machine: Machine) -> Probe:
        """Encode every event, find the CPU that reads each unit now, and open each event once on the first unit."""
        order, signals = self.order, dict[SignalId, Signal | Unavailable]()
        refused = self._encode(machine)
        mask = mask_now(machine.host, order.pmu)
        self._open_on = {}
        for unit in order.units:
            cpu = reader_of(machine, unit, mask)
            if cpu is None:
                away = Unavailable(
                    Reason.OFFLINE, f"perf {order.pmu}: its CPU {unit.cpu} is not measured, and no other one near it is"
                )
                signals |= dict.fromkeys(self._of(unit), away)
                continue
            if not self._open_on:
                refused |= self._try(machine, cpu)
            self._open_on.setdefault(cpu, []).append(unit)
            for bundle, events in enumerate(order.bundles):
                bad = next((refused[event] for event in events if event in refused), None)
                signals |= self._describe(unit, cpu, bundle, bad)
        return Probe(signals)

    def _encode(self, machine: Machine) -> dict[str, Unavailable]:
        """Encode all events, and return why some cannot be encoded."""
        encoder = PerfEncoder(machine.host)
        refused: dict[str, Unavailable] = {}
        self._encoded = {}
        for event in dict.fromkeys(event for events in self.order.bundles for event in events):
            written = self.order.written(event)
            try:
                (encoded,) = encoder.encode(written)
                self._encoded[event] = encoded
                self._scales[event] = corrected_scale(self.order.pmu, encoded.unit, encoded.scale, machine.model)
            except EventError as error:
                refused[event] = Unavailable(Reason.FAILED, f"perf {written}: {str(error).rstrip('.')}")
        return refused

    def _try(self, machine: Machine, cpu: int) -> dict[str, Unavailable]:
        """Open each event once on one unit, and return why some cannot be opened.

        Not where filters are set: the counters that they take the place of may still hold others.
        """
        if machine.host.kind is HostKind.RECORDED:
            none = Unavailable(Reason.NOT_READ, f"perf {self.order.pmu}: a recording has files, but no counters")
            return dict.fromkeys(self._encoded, none)
        if self.order.settings:
            return {}
        facts = circumstances(machine)
        events = [GroupEvent(event, encoded.attr, f"perf {encoded.fstr}") for event, encoded in self._encoded.items()]
        reasons = probe_events(machine.host, events, cpu, facts)
        return {event: why for event, why in reasons.items() if why is not None}

    def _of(self, unit: UncoreUnit) -> list[SignalId]:
        return [name for bundle, events in enumerate(self.order.bundles)
                for name in (self.order.times(unit, bundle).enabled, self.order.times(unit, bundle).running,
                             *(self.order.signal(unit, bundle, event) for event in events))]

    def _describe(self, unit: UncoreUnit, cpu: int, bundle: int,
                  why: Unavailable | None) -> Mapping[SignalId, Signal | Unavailable]:
        times = self.order.times(unit, bundle)
        events = self.order.bundles[bundle]
        names = (times.enabled, times.running, *(self.order.signal(unit, bundle, event) for event in events))
        if why is not None:
            return dict.fromkeys(names, why)
        described: dict[SignalId, Signal | Unavailable] = dict(times.signals(
            f"{self.order.pmu}'s counters on cpu {cpu}", Scope.SYSTEM, reduce=Reduce.SUM, document=_DOCUMENT,
            readers=(cpu,)))
        for event in events:
            encoded = self._encoded[event]
            size = BYTES.get(encoded.unit)
            name = self.order.signal(unit, bundle, event)
            described[name] = Signal(name, Scope.SYSTEM, Measure.COUNT if size is None else Measure.BYTE,
                                     Behavior.COUNTER,
                Reduce.SUM, f"perf {encoded.fstr} on cpu {cpu}", _DOCUMENT, scale=self._scales[event] * (size or 1),
                readers=(cpu,), enabled=times.enabled, running=times.running)
        return described

    def descriptors(self, wanted: frozenset[SignalId], readers: int) -> int:
        """Return the number of events of each unit with a wanted signal; an event in two groups counts once."""
        each = len({event for events in self.order.bundles for event in events})
        return readers * sum(each for unit in self.order.units if not wanted.isdisjoint(self._of(unit)))

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> UncoreReader:
        """Open the units that this CPU reads, each bundle in one group."""
        units = self._open_on.get(cpu, ())
        limit = _UNCHECKED.get(self.order.units[0].kind)
        return UncoreReader(machine.host, cpu, [self._bundles(unit, wanted) for unit in units], limit)

    def _bundles(self, unit: UncoreUnit, wanted: frozenset[SignalId]) -> Sequence[ConcurrentEvents]:
        """Return a unit's bundles, the largest first, because it is most likely to need an empty group."""
        order = self.order
        bundles = [
            ConcurrentEvents(
                {order.signal(unit, bundle, event): self._encoded[event].attr for event in events},
                order.times(unit, bundle),
                next((setting for event in events if (setting := filter_of(event))), ()),
            )
            for bundle, events in enumerate(order.bundles)
            if all(order.signal(unit, bundle, event) in wanted for event in events)
        ]
        return sorted(bundles, key=lambda bundle: -len(bundle.signals))


_WHAT = "(its counters may be held, or filtered otherwise, by another program)"


@dataclass(frozen=True, slots=True)
class ConcurrentEvents:
    """Events that are counted in the same time."""

    signals: Mapping[SignalId, PerfAttr]  # what each event gives
    times: Times  # signals of how long they were to count and did, ns
    # what they set a register to that all counters of the unit share; () where they leave it alone
    filter: tuple[str, ...] = ()


@dataclass(slots=True)
class _Group:
    """A group that is being opened: its counters, and what they count in the order of a read."""

    counters: Counters
    attrs: list[PerfAttr] = field(default_factory=list)
    held: list[ConcurrentEvents] = field(default_factory=list)

    def has_room(self, bundle: ConcurrentEvents, limit: int | None) -> bool:
        """Tell whether a bundle may be tried in this group: the filters must be equal, and the events few enough."""
        if any(events.filter != bundle.filter for events in self.held):
            return False
        return limit is None or not self.attrs or len({*self.attrs, *bundle.signals.values()}) <= limit

    def take(self, bundle: ConcurrentEvents) -> HostError | None:
        """Open the events of a bundle that the group does not have yet; if one is refused, close all of them."""
        fresh = [attr for attr in dict.fromkeys(bundle.signals.values()) if attr not in self.attrs]
        try:
            for attr in fresh:
                self.counters.add(attr)
        except HostError as error:
            self.counters.keep(len(self.attrs))
            return error
        self.attrs += fresh
        self.held.append(bundle)
        return None


class UncoreReader:
    """Open counters of units on one CPU.

    Args:
        units: what to count of each unit, those that need most first.
        limit: the most events of a group, where the kernel does not check it.

    Raises:
        CpuGone: the CPU is offline.
        HostError: nothing of it opens.
    """

    def __init__(self, host: Host, cpu: int, units: Iterable[Sequence[ConcurrentEvents]],
                 limit: int | None = None) -> None:
        self._host = host
        self._limit = limit
        self._cpu = cpu
        self._groups: list[_Group] = []
        refused: list[HostError] = []
        absent: list[SignalId] = []
        try:
            for bundles in units:
                absent += self._open(bundles, refused)
        except CpuGone:
            self.close()
            raise
        if refused and not self._groups:
            raise HostError(refused[0].errno or errno.EINVAL, f"{refused[0].what} {_WHAT}")
        self._places: list[tuple[int, int] | None] = []
        names: list[SignalId] = []
        for number, group in enumerate(self._groups):
            word = {attr: at for at, attr in enumerate(group.attrs, 2)}
            for bundle in group.held:
                at = {bundle.times.enabled: 0, bundle.times.running: 1}
                at |= {signal: word[attr] for signal, attr in bundle.signals.items()}
                names += at
                self._places += [(number, place) for place in at.values()]
        self.signals: tuple[SignalId, ...] = (*names, *absent)
        self._places += [None] * len(absent)

    def _open(self, bundles: Sequence[ConcurrentEvents], refused: list[HostError]) -> list[SignalId]:
        """Open the bundles of one unit, and return the signals of those that cannot be opened."""
        groups: list[_Group] = []
        absent: list[SignalId] = []
        for bundle in bundles:
            empty = _Group(Counters(self._host, CountTarget(cpu=self._cpu)))
            for group in (*(other for other in groups if other.has_room(bundle, self._limit)), empty):
                error = group.take(bundle)
                if error is not None and error.errno in GONE:
                    self._groups += groups
                    raise CpuGone(str(error)) from error
                if error is None or error.errno not in TOO_MANY:
                    break
            if error is not None:
                refused.append(error)
                absent += [*bundle.signals, bundle.times.enabled, bundle.times.running]
            elif group not in groups:
                groups.append(group)
        self._groups += groups
        return absent

    def read(self) -> Sequence[Raw]:
        """Return one running count for each of `signals`, ns for times; None for counters that are not open.

        Raises CpuGone if a group's CPU or its PMU is away.
        """
        try:
            words = [group.counters.totals() for group in self._groups]
        except LostCounterError as error:
            raise CpuGone("the counter group was taken apart") from error
        except HostError as error:
            raise_if_gone(error)
            raise
        return [None if place is None else words[place[0]][place[1]] for place in self._places]

    def close(self) -> None:
        """Close every descriptor, leaders last."""
        for group in self._groups:
            group.counters.close()
        self._groups = []
