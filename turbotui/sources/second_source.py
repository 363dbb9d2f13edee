"""A source read beside the preferred one for signals that both provide, so that the two can be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from turbotui.machine.machine import Machine
from turbotui.quantities.signals import Raw, Signal, SignalId
from turbotui.sources.bases import PerCpuSource
from turbotui.sources.source import Probe, Reader, Source


def second_id(name: SignalId, source: Source) -> SignalId:
    """The id of a signal as read from a second source: "energy.pkg@powercap"."""
    return f"{name}@{source.id}"


class SecondSource(PerCpuSource):
    """A source under another name, for some of its signals, by their own names."""

    def __init__(self, source: Source, signals: Mapping[SignalId, Signal]) -> None:
        self.source = source
        self.id = f"{source.id}-beside"
        self.title = source.title
        self.gives = "what another source gives too, to be compared with it"
        self.counts_from_open = source.counts_from_open
        self._own = {second_id(name, source): name for name in signals}
        self._signals = {alias: replace(signals[name], id=alias) for alias, name in self._own.items()}

    def probe(self, machine: Machine) -> Probe:  # noqa: ARG002 - the source was probed when this was made of it
        """The compared signals of the source's earlier probe; nothing is probed again."""
        return Probe(self._signals)

    def descriptors(self, wanted: frozenset[SignalId], readers: int) -> int:
        """Descriptors of the source itself."""
        return self.source.descriptors(self._names(wanted), readers)

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> Reader:
        return _Renamed(self.source.open(machine, cpu, self._names(wanted)), self.source)

    def _names(self, wanted: frozenset[SignalId]) -> frozenset[SignalId]:
        return frozenset(self._own[alias] for alias in wanted)


class _Renamed:
    """A reader whose signals have the names of compared signals."""

    def __init__(self, reader: Reader, source: Source) -> None:
        self._reader = reader
        self.signals = tuple(second_id(name, source) for name in reader.signals)

    def read(self) -> Sequence[Raw]:
        return self._reader.read()

    def close(self) -> None:
        self._reader.close()
