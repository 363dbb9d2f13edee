"""Read the totals of /proc/interrupts or /proc/softirqs, whose rows have a column for each CPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from turbotui.machine.host import Host, HostError
from turbotui.quantities.signals import Raw, SignalId
from turbotui.sources.bases import NothingToClose
from turbotui.sources.irq_rows import RowTotals

_NO_LABELS: Mapping[SignalId, tuple[str, ...]] = {}


class IrqRowReader(NothingToClose):
    """Reads one of the two files; a CPU without a column (offline) reads None.

    Totals begin at the sums of the rows when first read and never wrap from then on; they are not comparable with
    another reader's totals once a row has wrapped.

    Args:
        path: of the file.
        order: every signal of CPUs, in output order.
        classifier: returns, for the file's text when first read, what tells the signals to which a row belongs, by its
            label and the rest of its line.
        whole: labels of rows that count for the whole machine, by signal; they follow the signals of CPUs.
    """

    def __init__(self, host: Host, path: str, order: Sequence[SignalId],
                 classifier: Callable[[str], Callable[[str, str], tuple[SignalId, ...]]],
                 whole: Mapping[SignalId, tuple[str, ...]] = _NO_LABELS) -> None:
        self._host = host
        self._path = path
        self._order = order
        self._classifier = classifier
        self._classify: Callable[[str, str], tuple[SignalId, ...]] | None = None
        self._labels = whole
        self._cpus: tuple[int, ...] = ()
        self._per_cpu: tuple[SignalId, ...] = ()
        self._whole: tuple[SignalId, ...] = ()
        self._table = RowTotals((), self._wanted_groups)

    def start(self, cpus: Sequence[int], wanted: frozenset[SignalId]) -> IrqRowReader:
        """Return these signals for these CPUs from the first reading on."""
        self.follow(cpus)
        self.choose(wanted)
        return self

    @property
    def signals(self) -> tuple[SignalId, ...]:
        """The wanted signals of CPUs, then those of the machine."""
        return (*self._per_cpu, *self._whole)

    @property
    def unsure(self) -> Mapping[SignalId, frozenset[int]]:
        """CPUs whose last total lacks what a restarted cell had counted."""
        restarted = {signal: self._table.restarted(signal) for signal in self._per_cpu}
        return {signal: positions for signal, positions in restarted.items() if positions}

    def choose(self, wanted: frozenset[SignalId]) -> bool:
        """Return these signals from now on; earlier totals continue."""
        self._per_cpu = tuple(signal for signal in self._order if signal in wanted)
        self._whole = tuple(signal for signal in self._labels if signal in wanted)
        self._table.classify_anew()
        return True

    def follow(self, cpus: Sequence[int]) -> None:
        """Return these CPUs from now on; totals continue."""
        self._cpus = tuple(cpus)
        self._table.follow(cpus)

    def read(self) -> Sequence[Sequence[Raw]]:
        """The totals of each CPU and the counts of the machine; all None if the file cannot be read, or not whole."""
        nothing: list[Raw] = [None] * len(self._cpus)
        unknown = [*(nothing for _ in self._per_cpu), *((None,) for _ in self._whole)]
        for _again in range(2):
            try:
                text = self._host.read_text(self._path)
            except HostError:
                return unknown
            if self._classify is None:
                self._classify = self._classifier(text)
            self._table.update(text)
            if not self._table.torn:
                break
        else:
            return unknown
        result: list[Sequence[Raw]] = []
        for signal in self._per_cpu:
            totals = self._table.totals(signal)
            result.append(nothing if totals is None else totals)
        result.extend((whole_count(self._table, self._labels[signal]),) for signal in self._whole)
        return result

    def _wanted_groups(self, label: str, text: str) -> tuple[SignalId, ...]:
        signals = () if self._classify is None else self._classify(label, text)
        return tuple(signal for signal in signals if signal in self._per_cpu)


def whole_count(table: RowTotals, labels: Sequence[str]) -> int | None:
    """The whole machine's count in the first existing one of some rows; None if there is none."""
    return next((count for label in labels if (count := table.first_number(label)) is not None), None)
