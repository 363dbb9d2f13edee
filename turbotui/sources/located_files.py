"""Base of sources whose signals are single-value files, found once and read on the nearest CPU."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping

from turbotui.dataclass import dataclass
from turbotui.machine.machine import Machine
from turbotui.quantities.signals import Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.bases import CachedSearch, PerCpuSource
from turbotui.sources.source import Probe, Reader
from turbotui.sources.sysfs_files import Decode, FileReader, ValueFile, number
from turbotui.sources.unreadable import may_pass, refusal_of, unreadable


def pattern_of(paths: Iterable[str]) -> str:
    """Make one path of those of a signal's instances, with `*` where their numbers differ.

    A signal has one `origin`: the path of one instance would blame the wrong file for another's reading.
    """
    each = tuple(dict.fromkeys(paths))
    if len({re.sub(r"\d+", "0", path) for path in each}) > 1:
        return ", ".join(each)
    words = zip(*(re.findall(r"\d+|\D+", path) for path in each), strict=True)
    return "".join(alike[0] if len(set(alike)) == 1 else "*" for alike in words)


@dataclass(frozen=True, slots=True)
class LocatedSignal:
    """A signal and the place where it is read."""

    signal: Signal  # its facts
    file: Callable[[int], ValueFile]  # what a reading CPU opens; without paths if its part of the machine has none
    descriptors: int = 1  # the most that it takes on a CPU

    @classmethod
    def at(cls, signal: Signal, path: Callable[[int], str | None], decode: Decode = number) -> LocatedSignal:
        """A signal of at most one file on each CPU."""

        def file(cpu: int) -> ValueFile:
            file = path(cpu)
            return ValueFile(signal.id, () if file is None else (file,), decode)

        return cls(signal, file)


@dataclass(frozen=True, slots=True)
class LocatedSignals:
    """The result of a probe: a file or a reason for every signal, and a line for the doctor."""

    signals: Mapping[SignalId, LocatedSignal | Unavailable]
    note: str = ""

    @property
    def located(self) -> Mapping[SignalId, LocatedSignal]:
        """The signals that were found."""
        return {name: located for name, located in self.signals.items() if isinstance(located, LocatedSignal)}


class LocatedFiles(PerCpuSource, ABC):
    """A source over single files; what was found is kept for the machine it was found on."""

    def __init__(self) -> None:
        self._sightings = CachedSearch(self._find)

    @abstractmethod
    def _find(self, machine: Machine) -> LocatedSignals:
        """Look for the files, without reading counters."""

    def probe(self, machine: Machine) -> Probe:
        """Find the files, and read those of each signal until one can be read."""
        seen = self._sightings.look(machine)
        answers: dict[SignalId, Signal | Unavailable] = {}
        doubtful: set[SignalId] = set()
        for name, signal in seen.signals.items():
            if isinstance(signal, Unavailable):
                answers[name] = signal
                continue
            answers[name] = signal.signal
            refused = refusal_of(machine.host, _paths(machine, signal))
            if refused is None and next(_paths(machine, signal), None) is None:
                answers[name] = Unavailable(
                    Reason.OFFLINE, f"{signal.signal.origin}: belongs to nothing that is measured")
            elif refused is not None and may_pass(refused, machine.host):
                doubtful.add(name)
            elif refused is not None:
                answers[name] = unreadable(refused, self.remedy(name) if refused.name in ("EACCES", "EPERM") else "")
        return Probe(answers, seen.note, frozenset(doubtful))

    def remedy(self, name: SignalId) -> str:  # noqa: ARG002 - for sources whose signals differ
        """What lets a user read the files of a signal that are kept from others."""
        return "run as root"

    def descriptors(self, wanted: frozenset[SignalId], readers: int) -> int:
        """Descriptors of the wanted signals: their files on each reading CPU."""
        located = {} if self._sightings.last is None else self._sightings.last.located
        return readers * sum(signal.descriptors for name, signal in located.items() if name in wanted)

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> Reader:
        """Open the wanted files that belong to one CPU; a missing file, and a signal without any, read None."""
        files = [located.file(cpu) if isinstance(located, LocatedSignal) else ValueFile(name, ())
                 for name, located in self._sightings.on(machine).signals.items() if name in wanted]
        return FileReader(machine.host, cpu, files, inside_cpu=False)

    def paths(self, machine: Machine, name: SignalId) -> tuple[str, ...]:
        """The files of a signal, one for each instance that has one."""
        seen = self._sightings.last
        if seen is None or name not in seen.located:
            return ()
        return tuple(dict.fromkeys(_paths(machine, seen.located[name])))


def everywhere(path: str) -> Callable[[int], str | None]:
    """A path function that gives every CPU the same file."""
    return lambda _cpu: path


def _paths(machine: Machine, located: LocatedSignal) -> Iterator[str]:
    """The files of each instance that has some."""
    files = (located.file(instance.cpus[0]) for instance in machine.topology.instances(located.signal.scope))
    return (path for file in files for path in file.paths)
