"""Uncore clocks in sysfs, as the intel_uncore_frequency drivers show them.

Files: kernel Documentation/admin-guide/pm/intel_uncore_frequency_scaling.rst. Older parts have one clock a die, in
package_PP_die_DD; parts with TPMI have one for each fabric cluster, in uncoreNN, which names its package, power domain
and cluster in files. There the old directories stay, without a current clock.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host
from turbotui.machine.kernel_build import no_driver
from turbotui.machine.machine import Machine
from turbotui.machine.small_files import names_in, numbered_in
from turbotui.machine.topology import Topology
from turbotui.quantities.plain_numbers import integer
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.located_files import LocatedFiles, LocatedSignal, LocatedSignals, pattern_of
from turbotui.sources.source import Probe
from turbotui.sources.sysfs_files import number, read_number

DIRECTORY = "/sys/devices/system/cpu/intel_uncore_frequency"
_DOCUMENT = "kernel Documentation/admin-guide/pm/intel_uncore_frequency_scaling.rst"
_CURRENT = "current_freq_khz"
_DIE = r"package_([0-9]{1,9})_die_([0-9]{1,9})"
_WHOLE = "uncore.cur"


@dataclass(frozen=True, slots=True)
class _Cluster:
    """A fabric cluster's directory and the ids in its files."""

    name: str
    package: int
    domain: int
    cluster: int

    @property
    def signal(self) -> SignalId:
        return f"uncore.{self.domain}.{self.cluster}.cur"


class UncoreFrequency(LocatedFiles):
    """The `Source` of the uncore's clocks."""

    id = "uncore-frequency"

    def probe(self, machine: Machine) -> Probe:
        """Find the files, and read the files of each signal; a clock that is 0 in all of them is unavailable."""
        probe = super().probe(machine)
        answers = {name: _believed(machine, answer, self.paths(machine, name)) if isinstance(answer, Signal) else answer
                   for name, answer in probe.signals.items()}
        return Probe(answers, probe.note, probe.doubtful)

    def _find(self, machine: Machine) -> LocatedSignals:
        host = machine.host
        if not (names := names_in(host, DIRECTORY)):
            return LocatedSignals({_WHOLE: _absent(machine)})
        if clusters := _clusters(host):
            return _by_cluster(machine.topology, clusters)
        return LocatedSignals({_WHOLE: _by_die(machine, names)})


def _clock(data: bytes) -> int | None:
    """Return a clock in kHz; None for 0, which the driver prints if it cannot read the register.

    uncore_read_freq() of drivers/platform/x86/intel/uncore-frequency leaves the frequency 0 then; an uncore whose clock
    stands still could not be asked.
    """
    return number(data) or None


def _believed(machine: Machine, signal: Signal, paths: Sequence[str]) -> Signal | Unavailable:
    """Return the signal, unless each of its files says 0."""
    readings = {path: read_number(machine.host, path) for path in paths}
    if not readings or any(value != 0 for value in readings.values()):
        return signal
    return Unavailable(
        Reason.NO_HARDWARE, f"{next(iter(readings))}: reads 0, so the driver cannot read the register behind it")


def _clusters(host: Host) -> list[_Cluster]:
    """Return the clusters with their ids, in the order of their directories' numbers."""
    clusters = []
    for directory in numbered_in(host, DIRECTORY, "uncore"):
        ids = [read_number(host, f"{directory}/{file}") for file in ("package_id", "domain_id", "fabric_cluster_id")]
        package, domain, cluster = ids
        if package is not None and domain is not None and cluster is not None:
            clusters.append(_Cluster(directory.rpartition("/")[2], package, domain, cluster))
    return clusters


def _by_cluster(topology: Topology, clusters: Sequence[_Cluster]) -> LocatedSignals:
    signals: dict[SignalId, LocatedSignal | Unavailable] = {_WHOLE: Unavailable(Reason.NO_HARDWARE,
        f"{DIRECTORY}: this uncore has a clock for each fabric cluster (uncoreNN)")}
    doubles = []
    paths: dict[SignalId, dict[int, str]] = {}
    for cluster in clusters:
        of_package = paths.setdefault(cluster.signal, {})
        if cluster.package in of_package:
            doubles.append(cluster.name)
        else:
            of_package[cluster.package] = f"{DIRECTORY}/{cluster.name}/{_CURRENT}"
    for name, by_package in sorted(paths.items(), key=lambda item: _ids(item[0])):
        origin = pattern_of(by_package.values())
        signals[name] = LocatedSignal.at(_signal(name, Scope.PACKAGE, origin), _in_package(topology, by_package),
                                         _clock)
    note = f"{', '.join(doubles)}: the same ids as another directory, not read" if doubles else ""
    return LocatedSignals(signals, note)


def _ids(name: SignalId) -> tuple[int, int]:
    _, domain, cluster, _ = name.split(".")
    return integer(domain), integer(cluster)


def _in_package(topology: Topology, paths: Mapping[int, str]) -> Callable[[int], str | None]:
    return lambda cpu: paths.get(topology.places[cpu].package)


def _by_die(machine: Machine, names: Sequence[str]) -> LocatedSignal | Unavailable:
    topology = machine.topology
    paths = {(integer(match[1]), integer(match[2])): f"{DIRECTORY}/{name}/{_CURRENT}" for name in names
             if (match := re.fullmatch(_DIE, name)) and machine.host.exists(f"{DIRECTORY}/{name}/{_CURRENT}")}
    if not paths:
        return Unavailable(Reason.NO_DRIVER, f"{DIRECTORY}: no directory has a {_CURRENT}", "use Linux 5.14")
    several = len(topology.instances(Scope.DIE)) > len(topology.instances(Scope.PACKAGE))

    def path(cpu: int) -> str | None:
        place = topology.places[cpu]
        # A machine that does not number its dies has one, which the driver calls 0.
        return paths.get((place.package, max(place.die, 0)))

    origin = pattern_of(paths.values())
    return LocatedSignal.at(_signal(_WHOLE, Scope.DIE if several else Scope.PACKAGE, origin), path, _clock)


def _signal(name: SignalId, scope: Scope, origin: str) -> Signal:
    return Signal(name, scope, Unit.HERTZ, Behavior.GAUGE, Reduce.MEAN, origin=origin, document=_DOCUMENT, scale=1e3)


def _absent(machine: Machine) -> Unavailable:
    detail = f"{DIRECTORY} is not there"
    if machine.model.x86_guest:
        return Unavailable(Reason.VIRTUALISED, f"{detail}: guests are not shown the uncore")
    if machine.model.vendor != "GenuineIntel":
        return Unavailable(Reason.NO_HARDWARE, f"{detail}: the driver knows Intel's uncore only")
    return no_driver(machine.host, "intel_uncore_frequency", "INTEL_UNCORE_FREQ_CONTROL", detail,
                     remedy="modprobe intel_uncore_frequency, or intel_uncore_frequency_tpmi on newer servers")
