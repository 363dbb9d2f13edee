"""The source of one --add of events, which encodes them, finds their rows, tries every counter once, and opens them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, partial

from turbotui.dataclass import dataclass
from turbotui.events.encoded import EncodedEvent
from turbotui.events.errors import TracepointError, UnknownPmuError, UnknownTermError
from turbotui.events.leaders import leader_first
from turbotui.events.libpfm.errors import LibpfmAbsentError, PfmError
from turbotui.events.uncore.corrections import corrected
from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.host import Host, HostError
from turbotui.machine.machine import Machine
from turbotui.machine.perf_errors import Circumstances, circumstances
from turbotui.machine.pmus import EventError
from turbotui.machine.small_files import cpus_in
from turbotui.machine.topology import Topology, read_topology
from turbotui.quantities.added import AddError
from turbotui.quantities.by_key import sums_by_key
from turbotui.quantities.definition import CountedEvents
from turbotui.quantities.event_columns import EventRequest
from turbotui.quantities.event_traits import EventTraits, known_unit
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.bases import PerCpuSource
from turbotui.sources.event_bundles import bundles_of, counting
from turbotui.sources.event_places import Bundle, Family, Filters, Placed, check_together, families, filters_of
from turbotui.sources.event_reader import Count, EventReader, Part, open_part
from turbotui.sources.event_trial import AcceptedEvents, accepted_events
from turbotui.sources.perf_group import GroupEvent, Times
from turbotui.sources.source import Probe, Reader

_ONLINE = "/sys/devices/system/cpu/online"
_NOT_HERE = (UnknownPmuError, UnknownTermError, TracepointError, LibpfmAbsentError, PfmError)
"""Faults of this machine and not of the text: another machine may know the event."""


@dataclass(frozen=True)
class _Arrangement:
    """The result of a probe with its host and topology; one object, so that threads see all or nothing."""

    host: Host
    topology: Topology
    families: tuple[Family, ...] = ()  # as far as they can be opened
    # id of a bundle -> the events that are opened as a group, leader first. They are the same wherever the bundle is
    # opened, and shared by a thousand CPUs.
    groups: Mapping[int, tuple[tuple[GroupEvent, ...], ...]] = field(default_factory=dict)

    @cached_property
    def descriptors(self) -> int:
        sizes = {bundle: sum(map(len, groups)) for bundle, groups in self.groups.items()}
        rows = sums_by_key((cpu, sizes[id(part.bundle)]) for family in self.families
                           for cpu, placed in family.rows.items() for part in placed)
        return max(rows.values(), default=0)

    def holds(self, machine: Machine) -> bool:
        return self.host is machine.host and self.topology is machine.topology


class EventSource(PerCpuSource):
    """The events of one request.

    Args:
        coarse: whether formulas combine its counts with a signal of a whole package or more.
        refused: why they are not counted at all, if that was found before.
    """

    gives = "events added by hand"
    counts_from_open = True

    def __init__(self, request: EventRequest, *, coarse: bool = False, refused: Unavailable | None = None) -> None:
        self.id = f"added-events {request.text}"
        self.title = f"{request.text} (added)"
        self.request = request
        self.traits: Mapping[str, EventTraits] = {}
        self.filters: Filters = {}
        self._coarse = coarse
        self._refused = refused
        self._arrangement: _Arrangement | None = None
        self._model = CpuModel()

    @property
    def definition(self) -> CountedEvents:
        return CountedEvents(self.request, self.traits)

    def check(self, machine: Machine, beside: Sequence[Filters]) -> None:
        """Encode the events once, to find mistakes in the text.

        Args:
            beside: the filters of events that are counted at the same time.

        Raises:
            AddError: the events are malformed, no machine of this kind has them, or filters exclude each other.
        """
        try:
            self.filters = filters_of(machine.host, bundles_of(machine, self.request))
            check_together((*beside, self.filters))
        except _NOT_HERE:
            return
        except EventError as error:
            hint = ""
            if "-" in self.request.text and any(column.formula is not None for column in self.request.columns):
                hint = " A name that holds - stands in quotes in a formula: 'cache-misses' / instructions."
            raise AddError(str(error) + hint) from error

    def probe(self, machine: Machine) -> Probe:
        """Encode every event, and open and close each counter once, on one CPU of each PMU."""
        names = [self.request.signal(event) for event in self.request.events]
        self._arrangement, self._model = _Arrangement(machine.host, machine.topology), machine.model
        if self._refused is not None:
            return Probe(dict.fromkeys(names, self._refused))
        facts = circumstances(machine)
        try:
            bundles = bundles_of(machine, self.request)
        except (EventError, LibpfmAbsentError, PfmError) as error:
            return Probe(dict.fromkeys(names, self._unknown(error, facts)))
        known = families(machine.topology, bundles, _whole(machine, bundles))
        self.traits = {event: self._traits(family, event) for family in known for event in family.events}
        if (mixed := self._whole_only(machine)) is not None:
            return Probe(dict.fromkeys(names, mixed))
        signals: dict[SignalId, Signal | Unavailable] = {}
        usable: list[Family] = []
        groups: dict[int, tuple[tuple[GroupEvent, ...], ...]] = {}
        for family in known:
            tried = self._try(machine, family, facts, groups)
            usable.append(tried)
            for event in family.events:
                whys = {**tried.absent, **tried.refused.get(event, {})}
                if tried.rows.keys() - whys.keys():
                    signals |= self._signals(tried, event, whys)
                else:  # no row of the family has the event
                    reasons = (*tried.refused.get(event, {}).values(), *tried.absent.values())
                    signals[self.request.signal(event)] = reasons[0]
        self._arrangement = _Arrangement(machine.host, machine.topology, tuple(usable), groups)
        for event in self.request.events:
            if event not in self.traits:
                why = Unavailable(Reason.OFFLINE, f"{event}: none of the CPUs that count it is watched")
                signals[self.request.signal(event)] = why
        return Probe(signals)

    def descriptors(self, wanted: frozenset[SignalId], readers: int) -> int:
        """Descriptors of the wanted signals: on each reader as many as the row with most counters needs."""
        return readers * self._arrangement.descriptors if wanted and self._arrangement is not None else 0

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> Reader:  # noqa: ARG002 - all are opened
        parts = self.parts(machine, cpu)
        counts: list[Count] = []
        for family in () if self._arrangement is None else self._arrangement.families:
            if family.rows.get(cpu, ()):
                for event in family.events:
                    if cpu in family.refused.get(event, ()):
                        continue
                    name = self.request.signal(event)
                    counts.append(Count(name, None if self.traits[event].level else Times.of(name)))
        return EventReader(machine.host, parts, counts)

    def parts(self, machine: Machine, cpu: int) -> list[Part]:
        """The groups of counters of the row that this CPU reads, in the form that opened."""
        if self._arrangement is None or not self._arrangement.holds(machine):
            self.probe(machine)
        known = self._arrangement if self._arrangement is not None else _Arrangement(machine.host, machine.topology)
        return [Part(part.cpu, group) for family in known.families for part in family.rows.get(cpu, ())
                for group in known.groups[id(part.bundle)]]

    def _group(self, bundle: Bundle, texts: Sequence[str]) -> tuple[GroupEvent, ...]:
        """Some of a bundle's events as one group, with the leader that they need."""
        members = dict(bundle.members)
        names = {id(event): self.request.signal(text) for text, event in bundle.members}
        return tuple(GroupEvent(names.get(id(event), f"{self.id} leader"), counting(event), event.fstr)
                     for event in leader_first([members[text] for text in texts]))

    def _try(self, machine: Machine, family: Family, facts: Circumstances,
             groups: dict[int, tuple[tuple[GroupEvent, ...], ...]]) -> Family:
        """Open each bundle of a family once; returns the family with the rows that have any of its events."""
        tried: dict[int, AcceptedEvents] = {}
        for placed in (part for row in family.rows.values() for part in row):
            if (key := id(placed.bundle)) not in tried:
                tried[key] = accepted = accepted_events(placed.bundle, facts,
                                                        partial(self._refusal, machine.host, placed))
                groups[key] = tuple(self._group(placed.bundle, texts) for texts in accepted.groups)
        absent = dict(family.absent)
        rows: dict[int, tuple[Placed, ...]] = {}
        refused: dict[str, dict[int, Unavailable]] = {}
        for cpu, row in family.rows.items():
            # a sum without the count of one PMU would be too small
            whys = {event: why for part in row for event, why in tried[id(part.bundle)].refused.items()}
            for event, why in whys.items():
                refused.setdefault(event, {})[cpu] = why
            if len(whys) < len(family.events):
                rows[cpu] = row
            else:
                absent[cpu] = whys[family.events[0]]
        return replace(family, rows=rows, absent=absent, refused=refused)

    def _refusal(self, host: Host, placed: Placed, texts: Sequence[str]) -> HostError | None:
        try:
            open_part(host, Part(placed.cpu, self._group(placed.bundle, texts))).close()
        except HostError as error:
            return error
        return None

    def _traits(self, family: Family, event: str) -> EventTraits:
        kernel = next(event_found for text, event_found in _members(family) if text == event)
        if self.request.raw:
            return EventTraits(family.scope, level=kernel.snapshot)
        return EventTraits(family.scope, kernel.unit, kernel.snapshot, kernel.scale != 1.0)

    def _signals(self, family: Family, event: str,
                 absent: Mapping[int, Unavailable]) -> dict[SignalId, Signal | Unavailable]:
        name = self.request.signal(event)
        kernels = [member for text, member in _members(family) if text == event]
        encoded = [corrected(kernel_event, self._model) for kernel_event in kernels]
        if self.request.raw:
            encoded = [replace(scaled, scale=1.0, unit="") for scaled in encoded]
        scales = {(scaled.scale, scaled.unit, scaled.snapshot) for scaled in encoded}
        if len(scales) > 1 or not math.isfinite(encoded[0].scale):
            return {name: Unavailable(Reason.FAILED, f"{event}: its PMUs have different scales or units")}
        first = encoded[0]
        unit = known_unit(first.unit)
        readers = () if family.scope is Scope.CPU else (*family.rows, *family.absent)
        times = Times.of(name)
        pmus = list(dict.fromkeys(scaled.pmu for scaled in encoded if scaled.pmu))
        wrong = not self.request.raw and first.scale != kernels[0].scale
        scale_text = f", of {first.table}" if first.table else ""
        scale_text += f", scale {first.scale:g} (this kernel says {kernels[0].scale:g}, wrongly)" if wrong else ""
        summed = f", the sum of {len(pmus)} PMUs: {', '.join(pmus)}" if len(pmus) > 1 and first.uncore else ""
        signal = Signal(
            id=name,
            scope=family.scope,
            unit=unit.si,
            behavior=Behavior.GAUGE if first.snapshot else Behavior.COUNTER,
            reduce=Reduce.NONE if unit.si is Unit.CELSIUS else Reduce.SUM,  # temperatures have no sum
            origin=f"perf {first.fstr if len(encoded) == 1 else event}{summed}{scale_text}",
            document=first.description or "added by hand; perf_event_open(2)",
            scale=first.scale * unit.factor,
            readers=readers,
            enabled="" if first.snapshot else times.enabled,
            running="" if first.snapshot else times.running,
            absent=absent,
        )
        if first.snapshot:
            return {name: signal}
        return {name: signal, **times.signals(event, family.scope, readers=readers, absent=absent)}

    def _whole_only(self, machine: Machine) -> Unavailable | None:
        """Why counts of some CPUs cannot be combined with those of a whole package; None if they can."""
        mixed = (self._mixed({self.traits[name].scope for name in column.names if name in self.traits})
                 for column in self.request.columns if column.formula is not None)
        if not any(mixed):
            return None
        if not (left_out := cpus_in(machine.host, _ONLINE).difference(machine.topology.cpus)):
            return None
        return Unavailable(
            Reason.OUT_OF_RANGE,
            f"{self.request.text}: it divides what a whole package counts and what its CPUs count, and "
            f"{len(left_out)} CPUs are not watched",
            "watch every CPU (without --cpu)")

    def _mixed(self, scopes: Collection[Scope]) -> bool:
        """Whether a formula combines counts of CPUs with those of something coarser."""
        finer = any(scope is Scope.CPU for scope in scopes)
        return finer and (self._coarse or any(scope is not Scope.CPU for scope in scopes))

    def _unknown(self, error: Exception, facts: Circumstances) -> Unavailable:
        reason = Reason.FAILED
        if isinstance(error, _NOT_HERE):
            reason = Reason.VIRTUALISED if facts.hypervisor else Reason.NO_HARDWARE
        return Unavailable(reason, str(error).rstrip("."))


def _whole(machine: Machine, bundles: Sequence[Bundle]) -> Topology | None:
    """Return the topology of all CPUs if an uncore PMU names an unwatched one; None if it is not needed."""
    named = {cpu for bundle in bundles if bundle.first.uncore for cpu in bundle.first.cpus}
    return None if named <= machine.topology.places.keys() else read_topology(machine.host, None)


def _members(family: Family) -> list[tuple[str, EncodedEvent]]:
    return [member for bundle in family.bundles for member in bundle.members]
