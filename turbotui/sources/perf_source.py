"""The base of sources over perf, which finds events, decides which CPUs open them, and opens groups.

Of the grammar of events it imports only the part that every start needs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import ClassVar, Protocol

from turbotui.dataclass import dataclass
from turbotui.events.errors import EventSyntaxError
from turbotui.events.syntax import Written, parse
from turbotui.events.terms import settings_of
from turbotui.machine.host import PerfAttr
from turbotui.machine.machine import Machine
from turbotui.machine.perf_errors import Circumstances, circumstances
from turbotui.machine.pmus import EventError, Pmu, read_pmu
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.bases import CachedSearch, PerCpuSource
from turbotui.sources.perf_group import GroupEvent, PerfGroupReader, Times, probe_events
from turbotui.sources.source import Adjustable, Probe, Reader

_TRIED = 8  # CPUs on which a counter is tried whose PMU another program holds
_HYBRID_PMUS = ("cpu_core", "cpu_atom", "cpu_lowpower")
"""kernel arch/x86/events/intel/core.c; in the order of a processor's L2 events (docs/specs/turbostat.md 3.6)."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A counter that opens here."""

    event: GroupEvent
    readers: frozenset[int] | None = None  # the CPUs that open it; None for all
    doubtful: bool = False  # whether it was refused in a way that may pass

    def on(self, cpu: int) -> bool:
        """Whether a CPU opens the counter."""
        return self.readers is None or cpu in self.readers


@dataclass(frozen=True, slots=True)
class OfferGroup:
    """Counters that are opened as one group, with the signals of the group's times if it can be multiplexed."""

    offers: tuple[Offer, ...]
    times: Times | None = None

    def ids(self) -> frozenset[SignalId]:
        """Every signal that a read of the group holds."""
        ids = {offer.event.signal for offer in self.offers}
        if self.times is not None:
            ids |= {self.times.enabled, self.times.running}
        return frozenset(ids)


@dataclass(frozen=True, slots=True)
class Findings:
    """The result of a probe: the groups to open, and an answer for every signal."""

    groups: tuple[OfferGroup, ...]
    signals: Mapping[SignalId, Signal | Unavailable]
    note: str = ""

    @property
    def doubtful(self) -> frozenset[SignalId]:
        return frozenset(offer.event.signal for group in self.groups for offer in group.offers if offer.doubtful)


class Trials:
    """Findings while counters are tried, one group after the other."""

    def __init__(self, machine: Machine) -> None:
        self.facts = circumstances(machine)
        self.signals: dict[SignalId, Signal | Unavailable] = {}
        self._machine = machine
        self._groups: list[OfferGroup] = []
        self._refused: list[tuple[SignalId, Unavailable]] = []

    def add(self, offers: Iterable[Offer], signal: Callable[[GroupEvent], Signal], times: Times | None = None,
            what: str = "") -> bool:
        """Try counters of one group, of which those that open stay; tells whether there are any.

        Args:
            signal: the signal of one that opens.
            times: of the group, if it can be multiplexed.
            what: the group's name in the origin of its times.
        """
        usable, refused = try_offers(self._machine, offers, self.facts)
        for name, why in refused.items():
            self.signals.setdefault(name, why)
            self._refused.append((name, why))
        self.signals |= {offer.event.signal: signal(offer.event) for offer in usable}
        if usable:
            self._groups.append(OfferGroup(usable, times))
            if times is not None:
                self.signals |= times.signals(f"the perf group {what}")
        return bool(usable)

    def findings(self) -> Findings:
        """The result; the doctor has to say why a kind of core has empty cells beside others."""
        partly = "; ".join(dict.fromkeys(
            why.detail for name, why in self._refused if isinstance(self.signals[name], Signal)))
        return Findings(tuple(self._groups), self.signals, f"not on every kind of core: {partly}" if partly else "")


class PerfReader(Reader, Adjustable, Protocol):
    """A reader whose wanted signals can change without restarting counters."""


class PerfSource(PerCpuSource, ABC):
    """A source over perf; findings are kept for their machine, so that opening needs no search."""

    counts_from_open = True

    def __init__(self) -> None:
        self._findings = CachedSearch(self._find)

    @abstractmethod
    def _find(self, machine: Machine) -> Findings:
        """Look for the events and try each once."""

    def probe(self, machine: Machine) -> Probe:
        """Open and close each counter once, on one CPU that would read it."""
        findings = self._findings.look(machine)
        return Probe(findings.signals, findings.note, findings.doubtful)

    def descriptors(self, wanted: frozenset[SignalId], readers: int) -> int:
        """One for each counter of each group that holds a wanted signal, on each reader."""
        return readers * sum(len(group.offers) for group in self._touched(wanted))

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> PerfReader:
        self._findings.on(machine)
        groups: list[Sequence[GroupEvent]] = []
        times: dict[int, Times] = {}
        for group in self._touched(wanted):
            events = [offer.event for offer in group.offers if offer.on(cpu)]
            if events:
                if group.times is not None:
                    times[len(groups)] = group.times
                groups.append(events)
        return PerfGroupReader(machine.host, cpu, groups, wanted, times)

    def _touched(self, wanted: frozenset[SignalId]) -> list[OfferGroup]:
        groups = () if self._findings.last is None else self._findings.last.groups
        return [group for group in groups if group.ids() & wanted]


class NamedEvents(PerfSource):
    """A source over named events of drivers; the events of a PMU that open are one group."""

    pmus: ClassVar[Mapping[str, Mapping[SignalId, str]]]  # the event of each signal, by PMU

    @abstractmethod
    def _offer(self, machine: Machine, pmu: Pmu, event: GroupEvent) -> tuple[Offer, Signal] | Unavailable:
        """The counter of an event with its signal, or why it is unavailable."""

    def _find(self, machine: Machine) -> Findings:
        trials = Trials(machine)
        offered: dict[SignalId, Signal] = {}
        for name, events in self.pmus.items():
            pmu = read_pmu(machine.host, name)
            if pmu is None:
                trials.signals |= absent_pmu(name, events, trials.facts)
                continue
            offers: list[Offer] = []
            for signal, word in events.items():
                event = named_event(pmu, word, signal, trials.facts)
                offer = event if isinstance(event, Unavailable) else self._offer(machine, pmu, event)
                if isinstance(offer, Unavailable):
                    trials.signals[signal] = offer
                else:
                    offers.append(offer[0])
                    offered[signal] = offer[1]
            trials.add(offers, lambda event: offered[event.signal])
        return trials.findings()


def count_signal(event: GroupEvent, document: str, times: Times | None = None, *, unit: Unit = Unit.COUNT,
                 reduce: Reduce = Reduce.SUM) -> Signal:
    """The signal of a counter that each CPU has; `times` scale it if its group can be multiplexed."""
    return Signal(id=event.signal, scope=Scope.CPU, unit=unit, behavior=Behavior.COUNTER, reduce=reduce,
                  origin=event.title, document=document, enabled="" if times is None else times.enabled,
                  running="" if times is None else times.running)


def absent_pmu(pmu: str, signals: Iterable[SignalId], facts: Circumstances) -> dict[SignalId, Signal | Unavailable]:
    """The answer for every signal of a PMU that the kernel does not have."""
    if facts.hypervisor and facts.x86:
        why = Unavailable(Reason.VIRTUALISED, f"perf {pmu}: this virtual machine is not given that PMU")
    else:
        why = Unavailable(Reason.NO_HARDWARE, f"perf {pmu}: the kernel has no such PMU for this processor")
    return dict.fromkeys(signals, why)


def named_event(pmu: Pmu, event: str, signal: SignalId, facts: Circumstances) -> GroupEvent | Unavailable:
    """A named event of a PMU as a counter, or why it is unavailable."""
    title = f"perf {pmu.name}/{event}/"
    # a driver lists only events that work on the CPU, so a missing name is an answer
    if event not in pmu.events:
        reason = Reason.VIRTUALISED if facts.hypervisor else Reason.NO_HARDWARE
        return Unavailable(reason, f"{title}: the kernel does not offer it here")
    try:
        return GroupEvent(signal, attr_of(pmu, event), title)
    except EventError as error:
        return Unavailable(Reason.FAILED, f"{title}: {error}")


def hybrid_pmus(machine: Machine) -> list[tuple[int, Pmu]]:
    """The core PMUs of a hybrid x86 with measured CPUs, each with its place in the lists of a processor."""
    pmus = ((number, read_pmu(machine.host, name)) for number, name in enumerate(_HYBRID_PMUS))
    measured = frozenset(machine.topology.cpus)
    return [(number, pmu) for number, pmu in pmus if pmu is not None and measured.intersection(pmu.cpus)]


def mask_readers(machine: Machine, cpumask: Sequence[int], scope: Scope) -> tuple[int, ...]:
    """The CPU that opens the counter of each instance of a scope: the one that the PMU's cpumask names."""
    named = frozenset(cpumask)
    return tuple(
        # without the named CPU any other does: the kernel still counts on the right one (arch/x86/events: event->cpu is
        # set from the mask)
        next((cpu for cpu in instance.cpus if cpu in named), instance.cpus[0])
        for instance in machine.topology.instances(scope)
    )


def try_offers(machine: Machine, offers: Iterable[Offer], facts: Circumstances) -> tuple[tuple[Offer, ...],
                                                                                         dict[SignalId, Unavailable]]:
    """Open each counter once on a measured CPU that reads it: those that open, and why the others do not."""
    usable: list[Offer] = []
    refused: dict[SignalId, Unavailable] = {}
    for offer in offers:
        why: Unavailable | None = None
        cpu = -1
        for cpu in islice(filter(offer.on, machine.topology.cpus), _TRIED):
            why = probe_events(machine.host, (offer.event,), cpu, facts)[offer.event.signal]
            # a PMU that another program holds on one CPU may be free on others; held on all, it may be let go
            if why is None or why.reason is not Reason.IN_USE:
                break
        if why is not None and why.reason is not Reason.IN_USE:
            refused[offer.event.signal] = why
        elif cpu >= 0:
            usable.append(offer if why is None else replace(offer, doubtful=True))
    return tuple(usable), refused


def attr_of(pmu: Pmu, terms: str) -> PerfAttr:
    """Return the attribute that counts an event of a PMU, given by its name or by terms as between slashes.

    Raises:
        EventError: one of the classes of `turbotui.events.errors`.
    """
    (written, *more) = parse(f"{pmu.name}/{terms}/")
    if more or not isinstance(written, Written) or not written.terms:
        raise EventSyntaxError(terms, 0, "the terms of one event are expected")
    word, *others = settings_of(pmu, written.terms, core=False, extended=False).words
    config1, config2, config3, config4 = others
    return PerfAttr(pmu.type, word, config1, config2, config3, config4=config4)
