"""Capabilities: which signals this machine offers, from which source, and why the others are missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from turbotui.dataclass import dataclass
from turbotui.machine.machine import Machine
from turbotui.quantities.signals import Behavior, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.offers import COMPARED, believed, disbelieved, remarks
from turbotui.sources.beside import Beside, beside_id
from turbotui.sources.source import Probe, Source


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Findings of every source, and the source chosen for each signal (the first usable one in source order).

    Attributes:
        sources: in order of preference.
        probes: source id -> what it found.
        signals: usable signals, as the chosen source describes them.
        provider: signal id -> the chosen source.
        missing: signals that no source can give -> the reason of the first source that knows them.
        disbelieved: of the missing ones, those that a source offers and the findings of the others contradict.
        beside: signals that are compared -> what the other sources that can give them are read for.
        remarks: what has to be known of signals that count something else here than their name says.
    """

    sources: tuple[Source, ...]
    probes: Mapping[str, Probe]
    signals: Mapping[SignalId, Signal]
    provider: Mapping[SignalId, Source]
    missing: Mapping[SignalId, Unavailable]
    disbelieved: Mapping[SignalId, Unavailable] = field(default_factory=dict)
    remarks: Mapping[SignalId, str] = field(default_factory=dict)
    beside: Mapping[SignalId, tuple[SignalId, ...]] = field(default_factory=dict)

    def why_missing(self, signal: SignalId) -> Unavailable:
        """The reason why a signal cannot be had here."""
        known = self.missing.get(signal)
        if known is not None:
            return known
        return Unavailable(Reason.NO_HARDWARE, f"no source on this machine offers {signal}")

    def constants(self) -> Mapping[SignalId, Signal]:
        """Signals whose value is known already."""
        return {name: signal for name, signal in self.signals.items() if signal.behavior is Behavior.CONSTANT}

    def counted_otherwise(self, before: Capabilities) -> frozenset[SignalId]:
        """The signals whose raw words are of another counter than before, so that no difference reaches across."""
        return frozenset(
            name for name, signal in self.signals.items()
            if (old := before.signals.get(name)) is not None and (
                self.provider[name].id != before.provider[name].id or _word(signal) != _word(old))
        )

    def without(self, dropped: Mapping[SignalId, Unavailable]) -> Capabilities:
        """A copy without some signals, for a reason found after probing (descriptors, a failed open)."""
        return replace(
            self,
            signals={name: signal for name, signal in self.signals.items() if name not in dropped},
            provider={name: source for name, source in self.provider.items() if name not in dropped},
            missing={**self.missing, **dropped},
        )

    def plus(self, machine: Machine, source: Source) -> Capabilities:
        """A copy with one more source, probed now, whose signals replace those of the same id.

        A source that is there already is probed anew: what it gave before and gives no more is forgotten.
        """
        known = tuple(other for other in self.sources if other.id == source.id)
        return self.exchange(machine, known, (source,))

    def exchange(self, machine: Machine, gone: Sequence[Source], come: Sequence[Source]) -> Capabilities:
        """A copy without some sources and their signals, and with others, probed now.

        What those others give takes the place of what was there.
        """
        away = {source.id for source in gone}
        signals, provider, missing = dict(self.signals), dict(self.provider), dict(self.missing)
        probes = dict(self.probes)
        for source in gone:
            probe = probes.pop(source.id, None)
            for name in () if probe is None else probe.signals:
                if name not in provider or provider[name].id == source.id:
                    for known in (signals, provider, missing):
                        known.pop(name, None)
        for source in come:
            probe = probes[source.id] = source.probe(machine)
            for name, found in probe.signals.items():
                for known in (signals, provider, missing):
                    known.pop(name, None)
                if isinstance(found, Signal):
                    signals[name], provider[name] = found, source
                else:
                    missing[name] = found
        away |= {source.id for source in come}
        others = tuple(other for other in self.sources if other.id not in away)
        return replace(self, sources=(*others, *come), probes=probes, signals=signals, provider=provider,
                       missing=missing)


def _word(signal: Signal) -> tuple[object, ...]:
    """Everything that says what a raw word of a signal means."""
    return signal.scope, signal.behavior, signal.width_bits, signal.low_bit, signal.scale


def probe_sources(machine: Machine, sources: Sequence[Source]) -> Capabilities:
    """Probe every source, in order of preference. Never raises for absence."""
    sources = [source for source in sources if not isinstance(source, Beside)]
    found_by = {source.id: source.probe(machine) for source in sources}
    refused = disbelieved(machine, found_by)
    probes = believed(found_by, refused)
    signals: dict[SignalId, Signal] = {}
    provider: dict[SignalId, Source] = {}
    missing: dict[SignalId, Unavailable] = {}
    for source in sources:
        for name, found in probes[source.id].signals.items():
            if name in signals:
                continue
            if isinstance(found, Signal):
                signals[name] = found
                provider[name] = source
                missing.pop(name, None)
            else:
                missing[name] = _better(missing.get(name), found)
    capabilities = Capabilities(tuple(sources), probes, signals, provider, missing, refused, remarks(machine))
    return _with_compared(machine, capabilities)


def _with_compared(machine: Machine, found: Capabilities) -> Capabilities:
    """Add the second sources of signals that are compared with each other."""
    signals, provider, probes = dict(found.signals), dict(found.provider), dict(found.probes)
    beside: dict[SignalId, tuple[SignalId, ...]] = {}
    sources: list[Source] = []
    for source in found.sources:
        known = found.probes[source.id].signals
        others = {name: other for name in COMPARED if isinstance(other := known.get(name), Signal)
                  and found.provider[name] is not source}
        if not others or source.shared:
            continue
        second = Beside(source, others)
        sources.append(second)
        probes[second.id] = second.probe(machine)
        for name in others:
            alias = beside_id(name, source)
            beside[name] = (*beside.get(name, ()), alias)
            provider[alias] = second
        signals |= {alias: one for alias, one in probes[second.id].signals.items() if isinstance(one, Signal)}
    return replace(found, sources=(*found.sources, *sources), probes=probes, signals=signals, provider=provider,
                   beside=beside)


def _better(first: Unavailable | None, second: Unavailable) -> Unavailable:
    """Of two reasons for one signal, the one a person can act on; else the first.

    In a guest whose hypervisor hides the hardware no remedy of a later source helps: the driver that it asks for would
    find nothing either.
    """
    if first is None:
        return second
    if first.reason is Reason.VIRTUALISED:
        return first
    return second if second.remedy and not first.remedy else first
