"""Metrics about the machine's facts, the sources, and the collector's cost."""

from __future__ import annotations

import resource
from collections.abc import Iterable, Iterator, Mapping

from turbotui import __version__
from turbotui.feature_list import FEATURES, part_called
from turbotui.features.export.live.exposition import ExposedMetric
from turbotui.features.export.live.levels import CPU, LevelPlaces, cpu_places
from turbotui.machine.host import HostKind
from turbotui.machine.machine import Machine
from turbotui.machine.view import kernel_release
from turbotui.quantities.scope import SYSTEM_ROW, Scope
from turbotui.quantities.signals import Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.frame import Frame
from turbotui.sampling.own_cost import OwnCost
from turbotui.sources.second_source import SecondSource


def marks_of(kind: HostKind) -> Mapping[str, str]:
    """Return the labels of every sample of a machine that is not real."""
    return {} if kind is HostKind.REAL else {kind.value.lower(): "true"}


def machine_info(machine: Machine) -> ExposedMetric:
    """Make the info metric of the machine."""
    host, model = machine.host, machine.model
    return ExposedMetric("turbotui_machine", "info", "The machine, and the version of turbotui that reads it", [({
        "model": model.name, "vendor": model.vendor, "kernel": kernel_release(host), "arch": model.architecture,
        "host": host.name, "kind": host.kind.value, "version": __version__}, 1.0)])


def counts(places: LevelPlaces) -> Iterator[ExposedMetric]:
    """Return the numbers of CPUs and packages, measured and not, and each CPU's position if levels include CPUs."""
    for level in places.levels:
        if level is not CPU:
            number, labels = places.cpus(level), places.labels(level)
            yield ExposedMetric(f"turbotui_{level.word}_cpus", "gauge", "Online CPUs that are measured", [
                (level.named(label), float(number.get(key, 0))) for key, label in labels.items()], level)
    packages = len(places.topology.rows(Scope.PACKAGE))
    yield ExposedMetric("turbotui_machine_packages", "gauge", "Packages with a measured CPU", [({}, float(packages))])
    for scope, word in ((Scope.CPU, "cpus"), (Scope.PACKAGE, "packages")):
        left = places.topology.online(scope) - len(places.topology.instances(scope))
        yield ExposedMetric(f"turbotui_machine_unmeasured_{word}", "gauge",
                            f"Online {word} that are not measured (--cpu, taskset, a cpuset)", [({}, float(left))])
    if CPU in places.levels:
        yield ExposedMetric("turbotui_cpu", "info", "Where it is",
                            [(place, 1.0) for place in cpu_places(places.topology)],
                            CPU)


def source_reasons(capabilities: Capabilities, signals: frozenset[SignalId]) -> Mapping[str, str]:
    """Return, for each source of exported signals, the reason why it gives none; "" if it does.

    A reason is a missing driver, permission or descriptor. Signals that the hardware lacks are no fault; a source of
    nothing else is left out.
    """
    reasons: dict[str, str] = {}
    for source in capabilities.sources:
        asked = {} if isinstance(source, SecondSource) else {
            name: offered for name, offered in capabilities.probes[source.id].signals.items() if name in signals}
        usable = [name for name, offered in asked.items() if isinstance(offered, Signal)]
        lost = [(name, why) for name, why in asked.items() if isinstance(why, Unavailable)
                and name not in capabilities.signals and why.reason is not Reason.NO_HARDWARE]
        dropped = [(name, capabilities.missing[name]) for name in usable if name in capabilities.missing]
        for name, why in (*lost, *dropped)[:1]:
            reasons[source.id] = f"{name}: {why.detail}"
        if usable:
            reasons.setdefault(source.id, "")
    return reasons


def sources_up(reasons: Mapping[str, str], frame: Frame | None,
               signals: Iterable[SignalId] = ()) -> Iterator[ExposedMetric]:
    """Return a metric that tells whether each source is up, and one with the reasons.

    A source is not up if its readers failed in the newest frame, or while an exported signal lacks a number on some
    CPU. With the reason as a label, the first metric would begin a new series whenever the words change.
    """
    failed = {} if frame is None else _failures(frame, signals)
    now = {source: failed.get(source) or known for source, known in reasons.items()}
    yield ExposedMetric("turbotui_source_up", "gauge",
                        "Whether a source gives what is exported of it (turbotui doctor)",
                        [({"source": source}, 0.0 if reason else 1.0) for source, reason in now.items()])
    yield ExposedMetric("turbotui_source_reason", "info", "Why a source does not give what is exported of it",
                        [({"source": source, "reason": reason}, 1.0) for source, reason in now.items() if reason])


def _failures(frame: Frame, signals: Iterable[SignalId]) -> dict[str, str]:
    failures: dict[str, str] = {}
    for (source, cpu), text in frame.newer.failures.items():
        if cpu < 0 or cpu in frame.topology.places:
            failures.setdefault(source, text)
    for name in signals if frame.older is not None else ():
        if name not in frame.newer.values or name not in frame.capabilities.signals:
            continue
        if (provider := frame.capabilities.provider[name].id) not in failures:
            why = frame.lacking_part(name, SYSTEM_ROW)
            if why is not None and why.reason is Reason.FAILED:
                failures[provider] = why.detail
    return failures


def known_facts(machine: Machine, environment: Mapping[str, str]) -> Iterator[ExposedMetric]:
    """Return what features know of the machine beside its counters.

    Raises:
        TurbotuiError: a feature cannot read what it knows.
    """
    for reference in filter(None, (feature.facts for feature in FEATURES)):
        for name, text, samples in part_called(reference, tuple, machine, environment):
            yield ExposedMetric(name, "gauge", text, samples)


def collector(frame: Frame | None, cost: OwnCost, seconds: float) -> Iterator[ExposedMetric]:
    """Return the time of the newest snapshot, and the collector's cost, whose totals cover the seconds."""
    used, newer = resource.getrusage(resource.RUSAGE_SELF), None if frame is None else frame.newer
    numbers: tuple[tuple[str, str, str, float | None], ...] = (
        ("sampled_seconds", "counter", "Time that counters are of: divide their rates by its rate", seconds),
        ("collector_cpu_seconds", "counter", "CPU time of the collector (getrusage(2))", used.ru_utime + used.ru_stime),
        ("collector_resident_bytes", "gauge", "Memory of the collector (proc(5), statm)", cost.rss_bytes),
        ("snapshot_timestamp_seconds", "gauge", "When the newest snapshot was taken",
         None if newer is None else newer.wall_ns / 1e9),
        ("collector_late_answers", "counter", "Answers of CPUs that came after their interval",
         None if newer is None else newer.late_total),
        ("snapshot_interval_seconds", "gauge", "Length of the last interval", None if frame is None else frame.seconds),
    )
    yield from (ExposedMetric(f"turbotui_{name}", kind, text, [({}, float(number))])
                for name, kind, text, number in numbers if number is not None)
