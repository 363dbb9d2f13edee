"""The doctor: every source and every signal on this machine, usable or not, why, and the exact remedy."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.feature_list import refusals
from turbotui.machine.cpulist import format_cpulist
from turbotui.machine.host import CAP_PERFMON, CAP_SYS_ADMIN, CAP_SYS_RAWIO, NAMESPACES, PERF_PARANOID, HostKind
from turbotui.machine.machine import Machine
from turbotui.machine.tasks.sight import task_sight
from turbotui.quantities.scope import Scope
from turbotui.quantities.sentences import several
from turbotui.quantities.signals import Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.capabilities import Capabilities
from turbotui.sources.second_source import SecondSource, second_id
from turbotui.sources.source import Probe, Source

_SHOWN_MASKS: Final = 5


class State(Enum):
    """The state of a source, by how many of its signals work."""

    READY = "ready"
    PARTIAL = "partial"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class SignalReport:
    """One signal of one source."""

    id: str
    usable: bool  # whether this source can read it here
    chosen: bool  # whether it is read from this source (another source may take precedence)
    origin: str = ""  # what is read, if usable
    reason: str = ""
    detail: str = ""  # why not, if not usable
    remedy: str = ""  # what to do about it; empty if nothing can be done
    compared: bool = False  # whether it is also read from this source, to be compared with the chosen one


@dataclass(frozen=True, slots=True)
class SourceReport:
    """A source, which is a line of the doctor's table."""

    id: str
    title: str
    state: State
    gives: str
    detail: str  # the reason that most of its missing signals share, or its note
    remedy: str  # what to do about that reason
    signals: tuple[SignalReport, ...]
    in_short: tuple[str, ...] = ()  # the detail without the places that were looked at, ever shorter


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The whole report."""

    simulated: str
    facts: tuple[tuple[str, str], ...]  # (what, value) lines about the machine and the process's rights
    notes: tuple[str, ...]  # sentences about facts that the machine did not tell
    sources: tuple[SourceReport, ...]


def diagnose(machine: Machine, capabilities: Capabilities) -> Diagnosis:
    """Make a report of what probing found, without reading anything more."""
    notes = [*machine.topology.notes]
    if machine.platform.note:
        notes.append(machine.platform.note)
    notes += [f"{name} is not believed: {why.detail}" for name, why in capabilities.disbelieved.items()]
    notes += refusals()
    notes += [f"{name} is {text}" for name, text in capabilities.remarks.items() if name in capabilities.signals]
    return Diagnosis(
        simulated="" if machine.host.kind is HostKind.REAL else machine.host.kind.value,
        facts=_facts(machine, capabilities),
        notes=tuple(notes),
        sources=tuple(_source(source, capabilities.probes[source.id], capabilities) for source in capabilities.sources
                      if not isinstance(source, SecondSource)),
    )


def _source(source: Source, probe: Probe, capabilities: Capabilities) -> SourceReport:
    signals = tuple(_signal(name, signal, chosen=capabilities.provider.get(name) is source,
                            compared=second_id(name, source) in capabilities.beside.get(name, ())) for name,
                    signal in probe.signals.items())
    usable = [signal for signal in signals if signal.usable]
    missing = [signal for signal in signals if not signal.usable]
    state = State.ABSENT if not usable else State.READY if not missing else State.PARTIAL
    detail, *in_short = _summary(usable, missing, probe.note)
    return SourceReport(id=source.id, title=source.title, state=state, gives=source.gives, detail=detail,
                        remedy=_decisive(missing)[0].remedy if missing else "", signals=signals,
                        in_short=tuple(in_short))


def _signal(name: str, unavailable: Signal | Unavailable, *, chosen: bool, compared: bool) -> SignalReport:
    if isinstance(unavailable, Signal):
        return SignalReport(name, usable=True, chosen=chosen, origin=unavailable.origin, compared=compared)
    return SignalReport(name, usable=False, chosen=False, reason=unavailable.reason.value, detail=unavailable.detail,
                        remedy=unavailable.remedy)


def _summary(usable: Sequence[SignalReport], missing: Sequence[SignalReport], note: str) -> tuple[str, ...]:
    """Describe in one line what is missing and why, preferring a reason with a remedy; then the same in fewer words."""
    if not missing:
        return note, *_shorter(note), ""  # whole in the report: a note explains nothing that is missing
    decisive = _decisive(missing)
    reason, cause, names = decisive[0].reason, _cause(decisive[0]), [signal.id for signal in decisive]
    lacking = ""
    if usable or (len(decisive) < len(missing) and reason == Reason.NOT_PERMITTED.value):
        more = f" and {len(names) - 4} more" if len(names) > 4 else ""
        lacking = f"without {', '.join(names[:4])}{more}: "
    long = "; ".join(filter(None, (f"{lacking}{reason}: {decisive[0].detail}", note)))
    counted = f"{len(missing)} of {len(usable) + len(missing)} missing: " if usable else ""  # a cause alone is of all
    return (long, f"{lacking}{reason}: {cause}", f"{lacking or f'{reason}: '}{cause}", f"{counted}{cause}",
            *(f"{counted}{form}" for form in _shorter(cause)), *_shorter(cause))


def _shorter(cause: str) -> Iterator[str]:
    """Leave out of a cause what follows a semicolon, then what parentheses hold, then what a colon ends."""
    yield (clause := cause.partition("; ")[0])
    yield (bare := re.sub(r" \([^)]*\)", "", clause))
    yield bare.rpartition(": ")[2]


def _decisive(missing: Sequence[SignalReport]) -> Sequence[SignalReport]:
    """Return the missing signals whose reason stands for all: permission first, else one with a remedy.

    A source whose counters lack permission does not lack the hardware, even if some of its counters do.
    """
    refused = [signal for signal in missing if signal.reason == Reason.NOT_PERMITTED.value and signal.remedy]
    curable = refused or [signal for signal in missing if signal.remedy] or list(missing)
    often = Counter((signal.reason, _cause(signal)) for signal in curable).most_common(1)[0][0]
    return [signal for signal in curable if (signal.reason, _cause(signal)) == often]


def _cause(signal: SignalReport) -> str:
    """Return the part of a reason's detail that is common to all counters of a refusal, without their names."""
    return signal.detail.partition(": ")[2] or signal.detail


def _facts(machine: Machine, capabilities: Capabilities) -> tuple[tuple[str, str], ...]:
    topology, model, rights = machine.topology, machine.model, machine.privileges
    packages = len(topology.instances(Scope.PACKAGE))
    cores = len(topology.instances(Scope.CORE))
    granted = [name for name, number in (("CAP_PERFMON", CAP_PERFMON), ("CAP_SYS_RAWIO", CAP_SYS_RAWIO),
                                         ("CAP_SYS_ADMIN", CAP_SYS_ADMIN)) if rights.has(number)]
    unknown = "unknown: hidden" if machine.view.mask(PERF_PARANOID) else "unknown (no perf in this kernel?)"
    paranoid = unknown if rights.perf_paranoid is None else str(rights.perf_paranoid)
    usable = len(capabilities.signals) - sum(map(len, capabilities.beside.values()))
    platform = machine.platform
    known = f"{platform.symbol or model.vendor} ({platform.features.name})" if platform.known else "not in the table"
    return (
        ("machine", machine.host.name),
        ("processor", f"{model.name or model.architecture}, {_identity(machine)}"),
        ("platform", known),
        ("virtual machine", "yes: what the hypervisor hides cannot be had here" if model.hypervisor else
         "unknown: /proc/cpuinfo is hidden" if machine.view.mask("/proc/cpuinfo") is not None else "no"),
        ("CPUs", f"{len(topology.cpus)} measured, {several(cores, 'core')}, {several(packages, 'package')}"
                 + (f", offline {format_cpulist(topology.offline)}" if topology.offline else "")),
        ("rights", f"uid {rights.uid}, {', '.join(granted) if granted else 'no capability that counts here'}"),
        *_confinement(machine),
        ("perf_event_paranoid", paranoid),
        ("file descriptors", "unknown: a sandbox forbids to ask (prlimit64)" if rights.descriptors is None else
         f"{rights.descriptors[0]} (hard limit {rights.descriptors[1]})"),
        ("signals", f"{usable} usable, {len(capabilities.missing)} not"),
    )


def _confinement(machine: Machine) -> Iterator[tuple[str, str]]:
    """Name what a container, a service or a sandbox takes from this process; nothing for a plain process."""
    rights, view = machine.privileges, machine.view
    spaces = [kind for kind in NAMESPACES if rights.contained(kind)]
    if spaces:
        outside = "" if rights.outer_uid is None or "user" not in spaces else f"; user 0 is {rights.outer_uid} outside"
        yield "namespaces", f"its own for {', '.join(spaces)}: numbers and rights there are not the machine's{outside}"
    if rights.seccomp:
        privileges = ", and no programs that gain rights (no_new_privs)" if rights.no_new_privs else ""
        yield "sandbox", f"a seccomp filter decides which system calls are allowed{privileges}"
    if view.masks:
        hidden = [point or "files of /proc" for point in view.masks]
        more = f" and {len(hidden) - _SHOWN_MASKS} more" if len(hidden) > _SHOWN_MASKS else ""
        yield "hidden", ", ".join(hidden[:_SHOWN_MASKS]) + more
    if (unseen := task_sight(machine.host).why) is not None:
        yield "processes", f"{unseen.detail}; {unseen.remedy}"


def _identity(machine: Machine) -> str:
    """Describe vendor, family, model, stepping in the kernel's decimal and the documents' hexadecimal form."""
    model = machine.model
    if model.family is None or model.model is None:
        return model.vendor or model.architecture or "unknown vendor"
    return f"{model.vendor} family {model.family:#x} model {model.model:#x} stepping {model.stepping}"
