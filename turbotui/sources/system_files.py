"""The base of sources whose files in /proc hold a few numbers of the whole machine.

A source names its facts, one for each number, and how the text of its files becomes numbers by name.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host, HostError
from turbotui.machine.machine import Machine
from turbotui.machine.small_files import text_of
from turbotui.quantities.plain_numbers import numbers_by_name
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.bases import NothingToClose, SharedSource
from turbotui.sources.source import Probe, SharedReader
from turbotui.sources.unreadable import may_pass, proc_unreadable

Parse: TypeAlias = Callable[[str], Mapping[str, int]]
"""Makes the numbers of a file's text, by their names; what is none is left out."""

_MORE = r"\w*"
"""In patterns: any end of a name."""
_NAMED = re.compile(r"^([^\s:]+):?[ \t]+(\d+)", re.MULTILINE)


def named_numbers(text: str) -> Mapping[str, int]:
    """Parse lines of a name and a number: "pswpin 12", "MemTotal: 8052316 kB"."""
    return numbers_by_name(_NAMED.findall(text))


@dataclass(frozen=True, slots=True)
class SystemFact:
    """One number of the whole machine, and its place in a file."""

    signal: SignalId
    path: str  # of its file
    pattern: str  # of its names in the file, matched whole; several are added up
    unit: Unit  # of the signal
    behavior: Behavior  # of the signal
    document: str  # where its meaning is written down
    scale: float = 1.0  # from the file's unit
    since: str = ""  # the Linux release that brought it, or what else it needs, as a remedy

    def value(self, numbers: Mapping[str, int]) -> int | None:
        """Return the number among those of the file; None if none has its name."""
        if self.pattern in numbers:
            return numbers[self.pattern]
        matches = [number for name, number in numbers.items() if re.fullmatch(self.pattern, name)]
        return sum(matches) if matches else None

    def offered(self) -> Signal:
        """Return the signal of a machine that has the number."""
        names = self.pattern.replace(_MORE, "*")
        return Signal(self.signal, Scope.SYSTEM, self.unit, self.behavior, Reduce.SUM,
                      origin=f"{self.path} {names}", document=self.document, scale=self.scale)


class SystemFiles(SharedSource, ABC):
    """Base of sources whose numbers belong to the whole machine, and are all read at every tick."""

    counts_from_open = False  # the kernel's own totals since boot
    facts: ClassVar[tuple[SystemFact, ...]]

    @staticmethod
    @abstractmethod
    def parse(text: str) -> Mapping[str, int]:
        """Parse the numbers of one of the source's files by name."""

    def why_unreadable(self, error: HostError, path: str, machine: Machine) -> Unavailable:  # noqa: ARG002 - for others
        """Return why a file cannot be read."""
        return proc_unreadable(error, machine.host)

    def probe(self, machine: Machine) -> Probe:
        """Read each file once, and find the numbers that this kernel provides."""
        signals: dict[SignalId, Signal | Unavailable] = {}
        doubtful: set[SignalId] = set()
        for path in dict.fromkeys(fact.path for fact in self.facts):
            facts = [fact for fact in self.facts if fact.path == path]
            try:
                numbers = self.parse(machine.host.read_text(path))
            except HostError as error:
                if may_pass(error, machine.host):
                    signals |= {fact.signal: fact.offered() for fact in facts}
                    doubtful.update(fact.signal for fact in facts)
                    continue
                signals |= dict.fromkeys((fact.signal for fact in facts), self.why_unreadable(error, path, machine))
                continue
            for fact in facts:
                signals[fact.signal] = fact.offered() if fact.value(numbers) is not None else Unavailable(
                    Reason.NO_DRIVER, f"{path}: this kernel has no {fact.pattern}", fact.since)
        return Probe(signals, doubtful=frozenset(doubtful))

    def open_shared(self, machine: Machine, wanted: frozenset[SignalId]) -> SharedReader:
        """Open the files of the wanted numbers."""
        return SystemFilesReader(machine.host, [fact for fact in self.facts if fact.signal in wanted], self.parse)


class SystemFilesReader(NothingToClose):
    """Reads each file once for all wanted numbers in it; unreadable numbers are None."""

    def __init__(self, host: Host, facts: Sequence[SystemFact], parse: Parse) -> None:
        self._host = host
        self._facts = tuple(facts)
        self._paths = tuple(dict.fromkeys(fact.path for fact in facts))
        self._parse = parse

    @property
    def signals(self) -> tuple[SignalId, ...]:
        """The wanted signals in the order of the facts."""
        return tuple(fact.signal for fact in self._facts)

    def read(self) -> Sequence[Sequence[Raw]]:
        """Return one value of each signal, for the machine."""
        numbers = {path: self._parse(text_of(self._host, path)) for path in self._paths}
        return [(fact.value(numbers[fact.path]),) for fact in self._facts]
