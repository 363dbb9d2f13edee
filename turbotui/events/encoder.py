"""turbotui's own engine: encodes perf's event strings (perf-list(1)) by sysfs for perf_event_open(2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from turbotui.errors import nearest
from turbotui.events.breakpoints import breakpoint_of
from turbotui.events.counter_reload import reloaded
from turbotui.events.devices import Devices
from turbotui.events.encoded import EncodedEvent, on_units
from turbotui.events.errors import (
    ModifierError,
    UnknownEventError,
    UnknownPmuError,
    UnknownTermError,
)
from turbotui.events.grouping import regroup
from turbotui.events.leaders import required_leader
from turbotui.events.modifiers import Modifiers, parse_modifiers
from turbotui.events.names import (
    HARDWARE,
    HARDWARE_NAMES,
    HW_CACHE,
    NANOSECOND_CLOCKS,
    RAW,
    SOFTWARE,
    SOFTWARE_NAMES,
    TRACEPOINT,
    cache_names,
    generic_event,
    in_any_case,
)
from turbotui.events.options import Settings, read_number, set_option
from turbotui.events.patterns import alike, is_pattern
from turbotui.events.perfs_own import check_counted
from turbotui.events.syntax import EventTerm, Written, WrittenGroup, is_modifiers, parse
from turbotui.events.terms import check_config, check_once, settings_of
from turbotui.events.tracepoints import Tracepoints
from turbotui.events.uncore.filters import check_together
from turbotui.machine.host import Host, PerfAttr
from turbotui.machine.pmus import EventError, Pmu

_RAW = re.compile(r"r([0-9a-fA-F]{1,16})", re.ASCII)
_Item = TypeVar("_Item")
_TYPE_SHIFT = 32  # PERF_PMU_TYPE_SHIFT: a generic event carries a core PMU's type (uapi linux/perf_event.h)
_TYPE_BITS = 32


class EventEncoder:
    """Encodes any number of strings for one machine, whose PMUs are read once.

    Args:
        rings: letters of "ukh" that are counted where a string says nothing; None for all. They touch only events of
            cores and of the kernel: an uncore PMU knows no rings and refuses the bits.
        devices: the machine's PMUs, where more is known of their events than sysfs says.
    """

    def __init__(self, host: Host, rings: str | None = None, devices: Devices | None = None) -> None:
        self.devices = Devices.of(host) if devices is None else devices
        self.tracepoints = Tracepoints(host)
        self._rings = None if rings is None else frozenset(rings)

    def encode(self, text: str) -> tuple[EncodedEvent, ...]:
        """The counters that a string names, in its order.

        Raises:
            EventError: one of the classes of `turbotui.events.errors`, for the first fault.
        """
        events: list[EncodedEvent] = []
        groups = 0
        for item in parse(text):
            if isinstance(item, WrittenGroup):
                alone = [written for member in item.members for written in self._alike(member)]
                members = [self._event(member, item.modifiers) for member in alone]
                grouped = reloaded(item.text, regroup(item, members, groups), self.devices)
                for name in dict.fromkeys(event.pmu for event in grouped):
                    if (pmu := self.devices.exactly(name)) is not None and pmu.cpumask:
                        check_together(pmu, [event.attr for event in grouped if event.pmu == name])
                groups += len({event.group for event in grouped})
                events += grouped
            else:
                events += reloaded(item.text, self._each(self._alike(item), lambda written: self._event(written, ""),
                                                         some=is_pattern(item.head)), self.devices)
        return tuple(events)

    def _alike(self, written: Written) -> list[Written]:
        return alike(written, self.devices, self.tracepoints)

    def _event(self, written: Written, group: str) -> list[EncodedEvent]:
        if written.kind == "memory":
            return self._breakpoint(written, group)
        if written.kind == "numeric":
            return self._numeric(written, group)
        written = self._respelled(written)
        raw = _RAW.fullmatch(written.head)
        generic = generic_event(written.head)
        if raw is not None or generic is not None:
            if raw is None and self._is_pmus(written):
                return self._of_pmus(written, group)
            modifiers = self._modifiers(written, group)
            settings = self._options(written)
            if raw is not None:
                return self._raw(written, int(raw[1], 16), settings, modifiers)
            assert generic is not None  # noqa: S101 - the condition above says so; mypy cannot see it
            return self._generic(written, *generic, settings, modifiers)
        check_counted(written, self.devices)
        return self._of_pmus(written, group) if written.terms is not None else self._named(written, group)

    def _respelled(self, written: Written) -> Written:
        """Return the event by its generic name, for software/NAME/ and for a name in capitals that no PMU has."""
        if written.head == "software" and written.terms:
            pmu = self.devices.exactly("software")
            named = [term for term in written.terms if term.value is None and in_any_case(term.name) in SOFTWARE_NAMES]
            if len(named) == 1 and (pmu is None or not pmu.events):
                others = tuple(term for term in written.terms if term is not named[0])
                return replace(written, head=in_any_case(named[0].name), terms=others)
        spelled = in_any_case(written.head)
        tracepoint = written.tail is not None and not is_modifiers(written.tail)
        if not spelled or spelled == written.head or tracepoint or self.devices.holding(written.head):
            return written
        return written if self.devices.matching(written.head) else replace(written, head=spelled)

    def _modifiers(self, written: Written, group: str) -> Modifiers:
        letters = written.modifiers
        if written.tail is not None and written.kind == "name":
            if letters:
                raise ModifierError(f"{written.text} has two colons; the modifiers stand after one.")
            letters = written.tail
        return parse_modifiers(letters, group)

    def _options(self, written: Written) -> Settings:
        """Read the terms of an event that belongs to no PMU: only the terms that every event accepts."""
        settings = Settings(event=written.head)
        check_once(written.terms or ())
        for term in written.terms or ():
            if not set_option(settings, term):
                raise UnknownTermError(f"The event {written.head} takes no term {term.name!r}; a PMU's events do.")
        check_config(settings)
        return settings

    def _of_pmus(self, written: Written, group: str) -> list[EncodedEvent]:
        pmus = self.devices.matching(written.head)
        terms = written.terms or ()
        if not pmus:
            pmus = self.devices.holding(written.head)
            terms = (EventTerm(written.head, None, written.position), *terms)
        if not pmus:
            raise UnknownPmuError(f"This machine has no PMU {written.head!r}",
                                  lambda: nearest(written.head, self.devices.names))
        return self._on_pmus(written, pmus, terms, parse_modifiers(written.modifiers, group))

    def _on_pmus(self, written: Written, pmus: Sequence[Pmu], terms: Sequence[EventTerm],
                 modifiers: Modifiers) -> list[EncodedEvent]:
        """Encode an event for each PMU that can count it, in their order; PMUs that are alike are encoded once."""
        kinds = self.devices.alike(pmus, terms)
        events = self._each(kinds, lambda units: self._of_units(written, units, terms, modifiers))
        if len(kinds) in (1, len(pmus)):
            return events
        order = {pmu.name: place for place, pmu in enumerate(pmus)}
        return sorted(events, key=lambda event: order[event.pmu])

    def _is_pmus(self, written: Written) -> bool:
        """Tell whether the terms of a generic name are fields of a PMU that has the event (cpu-cycles/cmask=1/)."""
        names = {term.name for term in written.terms or ()}
        return any(not names.isdisjoint(pmu.formats) for pmu in self.devices.holding(written.head)) if names else False

    def _each(self, items: Sequence[_Item], encode: Callable[[_Item], list[EncodedEvent]], *,
              some: bool = True) -> list[EncodedEvent]:
        """Encode for every item that can count the event; raise the first refusal if none can, or if all have to."""
        events: list[EncodedEvent] = []
        refused: EventError | None = None
        for item in items:
            try:
                events += encode(item)
            except EventError as error:
                if not some:
                    raise
                refused = refused or error
        if not events and refused is not None:
            raise refused
        return events

    def _of_pmu(self, written: Written, pmu: Pmu, terms: Sequence[EventTerm], modifiers: Modifiers) -> EncodedEvent:
        cores = self.devices.core()
        core = pmu in cores
        settings = settings_of(pmu, terms, core=core, extended=core and len(cores) > 1)
        return self._finish(written, pmu, settings, modifiers, f"{pmu.name}/{','.join(settings.shown)}/")

    def _of_units(self, written: Written, units: Sequence[Pmu], terms: Sequence[EventTerm],
                  modifiers: Modifiers) -> list[EncodedEvent]:
        """Encode an event once for all PMUs that have the same formats and events."""
        first = self._of_pmu(written, units[0], terms, modifiers)
        if modifiers.most_precise or first.needs_leader is not None or any(term.name == "cpu" for term in terms):
            return [first, *(self._of_pmu(written, pmu, terms, modifiers) for pmu in units[1:])]
        return [first, *on_units(first, [(pmu, self.devices.covered(pmu)) for pmu in units[1:]])]

    def _finish(self, written: Written, pmu: Pmu | None, settings: Settings, modifiers: Modifiers,
                shown: str) -> EncodedEvent:
        """Make the attribute of an event from its terms and modifiers."""
        if (kind := settings.kind) is None:
            kind = RAW if pmu is None else pmu.type
        flags = settings.flags | modifiers.flags(lambda: self.devices.max_precise(pmu), leader=True,
                                                 default_rings=self._rings if pmu is None or not pmu.cpumask else None)
        word, *others = settings.words
        attr = PerfAttr(
            kind, word, config1=others[0], config2=others[1], config3=others[2], config4=others[3], flags=flags,
            sample_period=settings.fields.get("sample_period", 0),
            branch_sample_type=settings.fields.get("branch_sample_type", 0),
            sample_max_stack=settings.fields.get("sample_max_stack", 0),
            aux_sample_size=settings.fields.get("aux_sample_size", 0),
        )
        return EncodedEvent(
            string=written.text,
            fstr=_with_letters(shown, written, slashes=shown.endswith("/")),
            pmu="" if pmu is None else pmu.name,
            attr=attr,
            engine="tables" if settings.table else "own",
            table=settings.table,
            description=settings.description,
            name=settings.name or written.text,
            unit=settings.unit,
            scale=settings.scale,
            snapshot=settings.snapshot,
            per_package=settings.per_package,
            cpus=self._chosen_cpus(settings) or (() if pmu is None else pmu.cpumask or pmu.cpus),
            covers=self.devices.covered(pmu) if pmu is not None and pmu.cpumask else (),
            uncore=pmu is not None and bool(pmu.cpumask),
            weak=modifiers.weak,
            sample_read=modifiers.sample_read,
            bpf=modifiers.bpf,
            retire_latency=modifiers.retire_latency,
            options=tuple(settings.options),
            needs_leader=required_leader(pmu, attr),
        )

    def _chosen_cpus(self, settings: Settings) -> tuple[int, ...]:
        """Return the CPUs that the term `cpu=` names; empty without that term.

        Raises:
            UnknownPmuError: the term names a PMU that this machine lacks.
        """
        if not settings.cpus_of:
            return settings.cpus
        if (pmu := self.devices.exactly(settings.cpus_of)) is None:
            raise UnknownPmuError(f"This machine has no PMU {settings.cpus_of!r}, whose CPUs cpu= asks for",
                                  lambda: nearest(settings.cpus_of, self.devices.names))
        return pmu.cpumask or pmu.cpus

    def _generic(self, written: Written, kind: int, config: int, settings: Settings,
                 modifiers: Modifiers) -> list[EncodedEvent]:
        settings.kind = kind
        settings.words[0] |= config
        if kind == SOFTWARE:
            if config in NANOSECOND_CLOCKS:
                settings.unit = "ns"
            return [self._finish(written, Pmu("software", SOFTWARE), settings, modifiers, written.head)]
        cores = self.devices.core()
        if len(cores) <= 1:
            return [self._finish(written, cores[0] if cores else None, settings, modifiers, written.head)]
        events = []
        for pmu in cores:
            own = replace(settings, words=[settings.words[0] | pmu.type << _TYPE_SHIFT, *settings.words[1:]])
            events.append(self._finish(written, pmu, own, modifiers, f"{pmu.name}/{written.head}/"))
        return events

    def _raw(self, written: Written, config: int, settings: Settings, modifiers: Modifiers) -> list[EncodedEvent]:
        cores = self.devices.core()
        settings.words[0] |= config
        if len(cores) <= 1:
            settings.kind = RAW
            return [self._finish(written, cores[0] if cores else None, settings, modifiers, written.head)]
        return [
            self._finish(written, pmu, settings, modifiers, f"{pmu.name}/config={config:#x}/") for pmu in cores
        ]

    def _numeric(self, written: Written, group: str) -> list[EncodedEvent]:
        kind = read_number(written.head, "the type", _TYPE_BITS)
        settings = self._options(replace(written, head=f"{written.head}:{written.tail}"))
        settings.kind = kind
        settings.words[0] |= read_number(written.tail or "", "the config")
        pmu = self.devices.of_type(kind)
        if pmu is None and kind == SOFTWARE:
            pmu = Pmu("software", SOFTWARE)
        if pmu is None and kind not in (HARDWARE, HW_CACHE, RAW, TRACEPOINT):
            raise UnknownPmuError(f"This machine has no PMU of type {kind}; see /sys/bus/event_source/devices.")
        modifiers = parse_modifiers(written.modifiers, group)
        return [self._finish(written, pmu, settings, modifiers, f"{kind}:{settings.words[0]:#x}")]

    def _breakpoint(self, written: Written, group: str) -> list[EncodedEvent]:
        point = breakpoint_of(written.head)
        settings = self._options(written)
        modifiers = parse_modifiers(point.modifiers or written.modifiers, group)
        flags = modifiers.flags(lambda: 0, leader=True, default_rings=self._rings)
        return [
            EncodedEvent(
                string=written.text,
                fstr=point.shown + (f":{letters}" if (letters := point.modifiers or written.modifiers) else ""),
                pmu="breakpoint",
                attr=replace(point.attr, flags=flags | settings.flags,
                             sample_period=settings.fields.get("sample_period", 0)),
                name=settings.name or written.text,
                options=tuple(settings.options),
                weak=modifiers.weak,
                sample_read=modifiers.sample_read,
                bpf=modifiers.bpf,
                retire_latency=modifiers.retire_latency,
            )
        ]

    def _named(self, written: Written, group: str) -> list[EncodedEvent]:
        """Encode a PMU's event that is written by its name alone, or a tracepoint."""
        pmus = self.devices.holding(written.head)
        tail = written.tail
        if pmus:
            modifiers = self._modifiers(written, group)
            return self._on_pmus(written, pmus, (EventTerm(written.head, None, written.position),), modifiers)
        if tail is None or is_modifiers(tail):
            raise UnknownEventError(f"This machine has no event {written.head!r}", lambda: self._hint(written.head))
        dotted = f"{written.head}.{tail}"
        if self.devices.holding(dotted):
            raise UnknownEventError(f"{written.text} is libpfm's spelling of an event that the vendor's tables call "
                                    f"{dotted}: write that.")
        modifiers = parse_modifiers(written.modifiers, group)
        tracepoint = Pmu("tracepoint", TRACEPOINT)
        events = []
        for system, name, number in self.tracepoints.find(written.head, tail):
            settings = Settings(kind=TRACEPOINT)
            settings.words[0] = number
            shown = f"{system}:{name}"
            events.append(replace(self._finish(written, tracepoint, settings, modifiers, shown), name=shown))
        return events

    def _hint(self, word: str) -> str:
        """What helps whoever wrote a word that is no event here, as the end of a sentence."""
        if "=" in word:
            core = next((pmu.name for pmu in self.devices.core()), "cpu")
            return f"; terms stand between the slashes of their PMU, as {core}/{word}/"
        if word in self.devices.names:
            return f"; it is a PMU, whose events are written {word}/EVENT/"
        if lacking := self.devices.lacking(word):
            return f"; its vendor's tables have it for the PMU {lacking}, which the kernel does not offer here"
        return nearest(word, (*HARDWARE_NAMES, *SOFTWARE_NAMES, *cache_names(), *self.devices.event_names()))


def _with_letters(shown: str, written: Written, *, slashes: bool) -> str:
    letters = written.modifiers or (written.tail if written.kind == "name" and is_modifiers(written.tail or "") else "")
    if not letters:
        return shown
    return f"{shown}{letters}" if slashes else f"{shown}:{letters}"


def encode_event(host: Host, text: str) -> tuple[EncodedEvent, ...]:
    """Encode the counters that one string names on a machine; for many strings make one `EventEncoder`.

    Raises:
        EventError: one of the classes of `turbotui.events.errors`.
    """
    return EventEncoder(host).encode(text)
