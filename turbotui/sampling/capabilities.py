"""Capabilities: which signals this machine offers, from which source, and why the others are missing.

A source sees only its own files and registers. Here all findings are seen together: a table of rules takes back signals
that one source offers and others contradict, with the reason that doctor, the picker and JSON then show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import TypeAlias

from turbotui.dataclass import dataclass
from turbotui.installed_features import failure_of
from turbotui.machine.machine import Machine
from turbotui.quantities.bounds import Bounds
from turbotui.quantities.definition import Definition
from turbotui.quantities.signals import Behavior, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.hidden import HiddenSources
from turbotui.sources.second_source import SecondSource, second_id
from turbotui.sources.source import Defined, Probe, Source

_PSYS: SignalId = "energy.psys"

COMPARED: tuple[SignalId, ...] = ("energy.pkg", "energy.cores", "energy.gpu", "energy.ram", "energy.psys")
"""Signals that are read from every source that has them, because drivers disagree about the extent and unit of a
domain. They are few: one of each for a package."""

Rule: TypeAlias = Callable[[Machine, Mapping[str, Probe]], Mapping[SignalId, Unavailable]]
"""Returns the signals that are not to be believed, with reasons, from a machine and the findings by source."""


def _platform_energy_alone(machine: Machine, probes: Mapping[str, Probe]) -> Mapping[SignalId, Unavailable]:
    """Platform energy in a guest without other energy: the kernel never tried it, and the hypervisor has none.

    The kernel leaves out an energy event whose register reads 0, except psys (arch/x86/events/rapl.c, rapl_msrs and the
    flag no_check).
    """
    offered = [signal for probe in probes.values() for signal in probe.signals.values()
               if isinstance(signal, Signal) and signal.id.startswith("energy.")]
    alone = offered and all(signal.id == _PSYS for signal in offered)
    if not alone or not machine.model.hypervisor:
        return {}
    return {_PSYS: Unavailable(
        Reason.VIRTUALISED,
        f"{offered[0].origin}: the only energy that this guest is offered, and the one that the kernel offers without"
        " having looked whether it counts (rapl.c); no hypervisor passes it on alone")}


RULES: tuple[Rule, ...] = (_platform_energy_alone,)


def disbelieved(machine: Machine, probes: Mapping[str, Probe]) -> dict[SignalId, Unavailable]:
    """The signals that a source offers and a rule does not believe."""
    return {name: why for rule in RULES for name, why in rule(machine, probes).items()}


def believed(probes: Mapping[str, Probe], refused: Mapping[SignalId, Unavailable]) -> dict[str, Probe]:
    """The findings of all sources without the signals that are not believed."""
    return {source: _without(probe, refused) for source, probe in probes.items()}


def _without(probe: Probe, refused: Mapping[SignalId, Unavailable]) -> Probe:
    refusals = {name: why for name, why in refused.items() if isinstance(probe.signals.get(name), Signal)}
    return replace(probe, signals={**probe.signals, **refusals}) if refusals else probe


def remarks(machine: Machine) -> Mapping[SignalId, str]:
    """Remarks on signals that count something else on this machine than their name says."""
    return {name: text for name, (applies, text) in _REMARKS.items() if applies(machine)}


_REMARKS: Mapping[SignalId, tuple[Callable[[Machine], bool], str]] = {
    # KVM answers MSR_SMI_COUNT with the SMIs that it gave the virtual CPU (arch/x86/kvm/x86.c, kvm_get_msr_common)
    "smi": (
        lambda machine: machine.model.hypervisor,
        "of the guest: what the hypervisor delivers to its virtual CPUs; SMIs of the machine below do not show here",
    ),
}


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The findings of every source, and the source chosen for each signal (the first usable one in source order)."""

    sources: tuple[Source, ...]  # in order of preference
    probes: Mapping[str, Probe]  # source id -> what it found
    signals: Mapping[SignalId, Signal]  # usable signals, as the chosen source describes them
    provider: Mapping[SignalId, Source]  # signal id -> the chosen source
    # signals that no source can provide -> the reason of the first source that knows them
    missing: Mapping[SignalId, Unavailable]
    # the missing signals that a source offers and the findings of others contradict
    disbelieved: Mapping[SignalId, Unavailable] = field(default_factory=dict)
    # remarks on signals that count something else here than their name says
    remarks: Mapping[SignalId, str] = field(default_factory=dict)
    # compared signals -> what the other sources of the signal are read for
    beside: Mapping[SignalId, tuple[SignalId, ...]] = field(default_factory=dict)
    # what signals lie within on this machine, kept when first asked for (`possible`): a summary row of two CPUs takes
    # 0.48 ms instead of 0.54
    bounds: dict[SignalId, Bounds] = field(default_factory=dict, init=False, repr=False, compare=False)
    # times of cpuidle's states, looked for among all signals once and not in each interval
    idle_times: tuple[SignalId, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Look for idle times."""
        object.__setattr__(self, "idle_times", tuple(
            name for name in self.signals if name.startswith("cpuidle.") and name.endswith(".time")))

    def why_missing(self, signal: SignalId) -> Unavailable:
        """Why a signal is not available here."""
        if (known := self.missing.get(signal)) is not None:
            return known
        return Unavailable(Reason.NO_HARDWARE, "nothing on this machine counts or reports it")

    def tells_as(self, other: Capabilities) -> bool:
        """Whether readings mean the same by another object, as after a visit to a screen that reads more sources."""
        return (
            self.signals == other.signals and self.missing == other.missing and self.disbelieved == other.disbelieved
            and self.remarks == other.remarks and self.beside == other.beside
            and list(map(_requested, self.sources)) == list(map(_requested, other.sources))
            and all(other.provider[name].id == source.id for name, source in self.provider.items())
        )

    def constants(self) -> Mapping[SignalId, Signal]:
        """Signals whose value is already known."""
        return {name: signal for name, signal in self.signals.items() if signal.behavior is Behavior.CONSTANT}

    def counted_otherwise(self, before: Capabilities) -> frozenset[SignalId]:
        """Signals whose raw words now come from another counter, so that no difference spans the change."""
        return frozenset(name for name, signal in self.signals.items() if (old := before.signals.get(name)) is not None
                         and (self.provider[name].id != before.provider[name].id or _word(signal) != _word(old)))

    def without(self, dropped: Mapping[SignalId, Unavailable]) -> Capabilities:
        """A copy without some signals, for a reason found after probing (descriptors, a failed open)."""
        return replace(self, signals={name: signal for name, signal in self.signals.items() if name not in dropped},
                       provider={name: source for name, source in self.provider.items() if name not in dropped},
                       missing={**self.missing, **dropped})

    def plus(self, machine: Machine, source: Source) -> Capabilities:
        """A copy with one more source, probed now, whose signals replace those of the same id.

        A source that is already present is probed again: signals that it no longer offers are forgotten.
        """
        known = tuple(other for other in self.sources if other.id == source.id)
        return self.exchange(machine, known, (source,))

    def exchange(self, machine: Machine, gone: Sequence[Source], come: Sequence[Source]) -> Capabilities:
        """A copy without some sources and their signals, and with others that are probed now.

        The new sources' signals replace those of the same id.
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
            probe = probes[source.id] = HiddenSources(machine).unhidden(source.id, _probe(source, machine))
            for name, signal in probe.signals.items():
                for known in (signals, provider, missing):
                    known.pop(name, None)
                if isinstance(signal, Signal):
                    signals[name], provider[name] = signal, source
                else:
                    missing[name] = signal
        away |= {source.id for source in come}
        others = tuple(other for other in self.sources if other.id not in away)
        return replace(self, sources=(*others, *come), probes=probes, signals=signals, provider=provider,
                       missing=missing)


def _requested(source: Source) -> tuple[str, Definition | None]:
    return source.id, source.definition if isinstance(source, Defined) else None


def _word(signal: Signal) -> tuple[object, ...]:
    """Everything that determines the meaning of a signal's raw word."""
    return signal.scope, signal.behavior, signal.size, signal.low_bit, signal.scale


def _probe(source: Source, machine: Machine) -> Probe:
    try:
        return source.probe(machine)
    except Exception as error:  # noqa: BLE001 - raised again where it is turbotui's own
        return Probe({}, failure_of(error, type(source).__module__))


def probe_sources(machine: Machine, sources: Sequence[Source]) -> Capabilities:
    """Probe every source in order of preference; absence never raises."""
    sources = [source for source in sources if not isinstance(source, SecondSource)]
    hidden = HiddenSources(machine)
    found_by = {source.id: hidden.unhidden(source.id, _probe(source, machine)) for source in sources}
    refused = disbelieved(machine, found_by)
    probes = believed(found_by, refused)
    signals: dict[SignalId, Signal] = {}
    provider: dict[SignalId, Source] = {}
    missing: dict[SignalId, Unavailable] = {}
    ranked = [(source, name, signal) for source in sources for name, signal in probes[source.id].signals.items()]
    if any(probe.doubtful for probe in probes.values()):
        ranked.sort(key=lambda offer: offer[1] in probes[offer[0].id].doubtful)
    for source, name, signal in ranked:
        if name in signals:
            continue
        if isinstance(signal, Signal):
            signals[name] = signal
            provider[name] = source
            missing.pop(name, None)
        else:
            missing[name] = _better(missing.get(name), signal)
    capabilities = Capabilities(tuple(sources), probes, signals, provider, missing, refused, remarks(machine))
    return _with_compared(machine, capabilities)


def _with_compared(machine: Machine, capabilities: Capabilities) -> Capabilities:
    """Add the second sources of signals that are compared with each other."""
    signals, provider, probes = dict(capabilities.signals), dict(capabilities.provider), dict(capabilities.probes)
    beside: dict[SignalId, tuple[SignalId, ...]] = {}
    sources: list[Source] = []
    for source in capabilities.sources:
        known = capabilities.probes[source.id].signals
        others = {name: other for name in COMPARED if isinstance(other := known.get(name), Signal)
                  and capabilities.provider[name] is not source}
        if not others or source.shared:
            continue
        second = SecondSource(source, others)
        sources.append(second)
        probes[second.id] = second.probe(machine)
        for name in others:
            alias = second_id(name, source)
            beside[name] = (*beside.get(name, ()), alias)
            provider[alias] = second
        signals |= {alias: signal for alias, signal in probes[second.id].signals.items() if isinstance(signal, Signal)}
    return replace(capabilities, sources=(*capabilities.sources, *sources), probes=probes, signals=signals,
                   provider=provider,
                   beside=beside)


def _better(first: Unavailable | None, second: Unavailable) -> Unavailable:
    """The reason for a missing signal that a user can act on, or else the first reason.

    In a guest whose hypervisor hides the hardware, the remedy of a later source does not help: the driver that it asks
        for would find nothing either.
    """
    if first is None:
        return second
    if first.reason is Reason.VIRTUALISED:
        return first
    return second if second.remedy and not first.remedy else first
