"""Reads the totals of /proc/interrupts or /proc/softirqs, whose rows have a column for each CPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from turbotui.machine.host import Host, HostError
from turbotui.quantities.signals import Raw, SignalId
from turbotui.sources.irq_rows import RowTotals
from turbotui.sources.kinds import KeepsNothingOpen

_NO_LABELS: Mapping[SignalId, tuple[str, ...]] = {}


class IrqRowReader(KeepsNothingOpen):
    """Reads one of the two files; a CPU without a column (offline) gives None.

    Totals begin at the sums of the rows when first read and from then on never wrap; another reader's totals are not
    comparable with them once a row has wrapped.

    Args:
        host: whose file.
        path: of the file.
        order: every signal of CPUs, in the order in which they are given.
        classify: the signals that a row belongs to, by its label and the rest of its line.
        whole: labels of the rows that count for the whole machine, by their signals, given after those of CPUs.
    """

    def __init__(self, host: Host, path: str, order: Sequence[SignalId],
                 classify: Callable[[str, str], tuple[SignalId, ...]],
                 whole: Mapping[SignalId, tuple[str, ...]] = _NO_LABELS) -> None:
        self._host = host
        self._path = path
        self._order = order
        self._classify = classify
        self._labels = whole
        self._cpus: tuple[int, ...] = ()
        self._per_cpu: tuple[SignalId, ...] = ()
        self._whole: tuple[SignalId, ...] = ()
        self._table = RowTotals((), self._wanted_groups)

    def start(self, cpus: Sequence[int], wanted: frozenset[SignalId]) -> IrqRowReader:
        """Give these signals for these CPUs from the first reading on."""
        self.follow(cpus)
        self.choose(wanted)
        return self

    @property
    def signals(self) -> tuple[SignalId, ...]:
        """The wanted signals of CPUs, then those of the machine."""
        return (*self._per_cpu, *self._whole)

    def choose(self, wanted: frozenset[SignalId]) -> bool:
        """Give these signals from now on; totals of those that were given before go on."""
        self._per_cpu = tuple(signal for signal in self._order if signal in wanted)
        self._whole = tuple(signal for signal in self._labels if signal in wanted)
        self._table.classify_anew()
        return True

    def follow(self, cpus: Sequence[int]) -> None:
        """Give these CPUs from now on; totals go on."""
        self._cpus = tuple(cpus)
        self._table.follow(cpus)

    def read(self) -> Sequence[Sequence[Raw]]:
        """The totals of each CPU and the counts of the machine; all None if the file cannot be read."""
        nothing: list[Raw] = [None] * len(self._cpus)
        try:
            text = self._host.read_text(self._path)
        except HostError:
            return [*(nothing for _ in self._per_cpu), *((None,) for _ in self._whole)]
        self._table.update(text)
        result: list[Sequence[Raw]] = []
        for signal in self._per_cpu:
            totals = self._table.totals(signal)
            result.append(nothing if totals is None else totals)
        result.extend((whole_count(self._table, self._labels[signal]),) for signal in self._whole)
        return result

    def _wanted_groups(self, label: str, text: str) -> tuple[SignalId, ...]:
        return tuple(signal for signal in self._classify(label, text) if signal in self._per_cpu)


def whole_count(table: RowTotals, labels: Sequence[str]) -> int | None:
    """The count of the first of some rows that a table has for the whole machine; None where it has none of them."""
    return next((count for label in labels if (count := table.first_number(label)) is not None), None)
