"""Base of sources whose signals are single-value files, found once and read on the nearest CPU."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

from turbotui.dataclass import dataclass
from turbotui.machine.host import HostError
from turbotui.machine.machine import Machine
from turbotui.quantities.signals import Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.bases import CachedSearch, PerCpuSource
from turbotui.sources.source import Probe, Reader
from turbotui.sources.sysfs_files import Decode, FileReader, ValueFile, number
from turbotui.sources.unreadable import unreadable


@dataclass(frozen=True, slots=True)
class LocatedSignal:
    """A signal and the place where it is read.

    Attributes:
        signal: its facts.
        path: the file that a reading CPU opens; None if its part of the machine has none.
        decode: converts the bytes of the file.
    """

    signal: Signal
    path: Callable[[int], str | None]
    decode: Decode = number


@dataclass(frozen=True, slots=True)
class LocatedSignals:
    """The result of a probe: a file or a reason for every signal, and a line for the doctor."""

    found: Mapping[SignalId, LocatedSignal | Unavailable]
    note: str = ""

    @property
    def located(self) -> Mapping[SignalId, LocatedSignal]:
        """The signals that were found."""
        return {name: found for name, found in self.found.items() if isinstance(found, LocatedSignal)}


class LocatedFiles(PerCpuSource, ABC):
    """A source over single files; what was found is kept for the machine it was found on."""

    def __init__(self) -> None:
        self._sightings = CachedSearch(self._find)

    @abstractmethod
    def _find(self, machine: Machine) -> LocatedSignals:
        """Look for the files, without reading counters."""

    def probe(self, machine: Machine) -> Probe:
        """Find the files and read each signal's first one once."""
        seen = self._sightings.look(machine)
        return Probe({name: _tried(machine, found) for name, found in seen.found.items()}, seen.note)

    def descriptors(self, wanted: frozenset[SignalId], readers: int) -> int:
        """One for each wanted signal on each reading CPU."""
        seen = self._sightings.last
        return 0 if seen is None else readers * sum(name in wanted for name in seen.located)

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> Reader:
        """Open the wanted files that belong to one CPU; a missing file reads None.

        Raises:
            CpuGone: the CPU is offline.
            HostError: EMFILE or ENFILE.
        """
        files = []
        for name, located in self._sightings.on(machine).located.items():
            if name in wanted:
                path = located.path(cpu)
                files.append(ValueFile(name, () if path is None else (path,), located.decode))
        return FileReader(machine.host, cpu, files, inside_cpu=False)

    def paths(self, machine: Machine, name: SignalId) -> tuple[str, ...]:
        """The files of a signal, one for each instance that has one."""
        seen = self._sightings.last
        if seen is None or name not in seen.located:
            return ()
        found = seen.located[name]
        instances = machine.topology.instances(found.signal.scope)
        return tuple(path for one in instances if (path := found.path(one.cpus[0])) is not None)


def everywhere(path: str) -> Callable[[int], str | None]:
    """A path function that gives every CPU the same file."""
    return lambda _cpu: path


def _tried(machine: Machine, found: LocatedSignal | Unavailable) -> Signal | Unavailable:
    """The signal if one of its files can be read now, otherwise why the first one cannot."""
    if isinstance(found, Unavailable):
        return found
    refused: HostError | None = None
    for instance in machine.topology.instances(found.signal.scope):
        path = found.path(instance.cpus[0])
        if path is None:
            continue
        try:
            machine.host.read_text(path)
        except HostError as error:
            refused = refused or error
            continue
        return found.signal
    if refused is None:
        return Unavailable(Reason.OFFLINE, f"{found.signal.origin}: belongs to nothing that is measured")
    return unreadable(refused, "run as root" if refused.name in ("EACCES", "EPERM") else "")
