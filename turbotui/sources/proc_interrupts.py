"""/proc/interrupts: interrupts taken by each CPU, in all and by kind.

Format: proc(5), kernel Documentation/filesystems/proc.rst; machine/data/interrupts.toml has the rows of each
architecture. The total is the sum of every row that has a column for each CPU, NMI and LOC included. ERR and MIS count
for the whole machine and are never part of it. Some interrupts are in two rows and so twice in the total, as in every
tool that adds up rows: on x86 a TLB shootdown also comes as a function call (arch/x86/mm/tlb.c), and a guest of Xen has
each event in HYP as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.host import HostError
from turbotui.machine.machine import Machine
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.facts import FactFile
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.bases import SharedSource
from turbotui.sources.irq_reader import IrqRowReader, whole_count
from turbotui.sources.irq_rows import RowTotals, table_rows, trailing_text
from turbotui.sources.source import Probe, SharedReader
from turbotui.sources.unreadable import proc_unreadable

PATH = "/proc/interrupts"
INTERRUPTS: Final = FactFile("machine/data/interrupts.toml")
_DOCUMENT = "proc(5); kernel Documentation/filesystems/proc.rst"

_TOTAL = "irq.total"
_DEVICE = "device"
_OTHER = "other"
_NUMBERED = "#"
_MOST_LABELS = 6  # that an origin names
_MOST_ROWS = 8192  # whose kind is kept

# The signal of each kind of row, and its words.
_KINDS: Final[Mapping[str, tuple[SignalId, str]]] = {
    "nmi": ("irq.nmi", "non-maskable interrupts"),
    "timer": ("irq.loc", "timer interrupts"),
    "resched": ("irq.res", "rescheduling interrupts"),
    "call": ("irq.cal", "function call interrupts"),
    "tlb": ("irq.tlb", "TLB shootdowns"),
    "ipi": ("irq.ipi", "other interrupts from CPUs"),
    "work": ("irq.work", "IRQ work interrupts"),
    "pmi": ("irq.pmi", "performance monitoring interrupts"),
    "thermal": ("irq.trm", "thermal event interrupts"),
    "virt": ("irq.virt", "interrupts of virtualisation"),
    _OTHER: ("irq.other", "other interrupts"),
    _DEVICE: ("irq.device", "device interrupts"),
}
_ORDER: tuple[SignalId, ...] = (_TOTAL, *(signal for signal, _ in _KINDS.values()))

# Rows of the whole machine and their labels: x86 ERR and MIS, Arm Err, PowerPC and Sparc BAD.
_WHOLE: tuple[tuple[SignalId, str, tuple[str, ...]], ...] = (
    ("irq.err", "errors", ("ERR", "Err", "BAD")),
    ("irq.mis", "misrouted IO-APIC interrupts", ("MIS",)),
)
WHOLE_LABELS = frozenset(label for _, _, labels in _WHOLE for label in labels)


@dataclass(frozen=True, slots=True)
class InterruptRow:
    """A row of `INTERRUPTS`, which explains the keys."""

    kind: str
    document: str
    labels: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    chip: str = ""
    beside: str = ""
    part: bool = False

    @property
    def signals(self) -> tuple[SignalId, ...]:
        """The signals in which the row is counted."""
        kind = (_KINDS[self.kind][0],) if self.kind in _KINDS else ()
        return kind if self.part else (_TOTAL, *kind)


@cache
def interrupt_rows() -> tuple[InterruptRow, ...]:
    """Read the table of rows."""
    return tuple(INTERRUPTS.row(InterruptRow, name, values) for name, values in INTERRUPTS.tables())


def classifier(table: str) -> Callable[[str, str], tuple[SignalId, ...]]:
    """How rows of this /proc/interrupts are classified: the signals of each; () for one that counts the whole machine.

    Args:
        table: the file's text. What a row means can depend on the rows beside it.
    """
    rows = [row for row in interrupt_rows() if row.beside in table]
    matches = [(row, tuple(f" {_action(action)}" for action in row.actions)) for row in rows]

    @lru_cache(_MOST_ROWS)
    def candidates(label: str) -> list[tuple[InterruptRow, tuple[str, ...]]]:
        return [match for match in matches if not match[0].labels or label in match[0].labels]

    @lru_cache(_MOST_ROWS)
    def classify(label: str, text: str) -> tuple[SignalId, ...]:
        if label in WHOLE_LABELS:
            return ()
        numbered, action = label.isdecimal(), _action(f" {text}")
        for row, endings in candidates(_NUMBERED if numbered else label):
            if text.startswith(row.chip) and (not endings or action.endswith(endings)):
                return row.signals
        return _TOTAL, _KINDS[_DEVICE if numbered else _OTHER][0]

    return classify


def _action(text: str) -> str:
    """A name without the number at its end, which counts CPUs, nodes or timers: timer0, IPI-1."""
    return text.rstrip("0123456789").removesuffix("-")


class ProcInterrupts(SharedSource):
    """The `Source` of /proc/interrupts."""

    id = "proc-interrupts"

    def probe(self, machine: Machine) -> Probe:
        """Read the table once, and find the rows that this machine prints."""
        per_cpu = {_TOTAL: "interrupts", **dict(_KINDS.values())}
        try:
            text = machine.host.read_text(PATH)
        except HostError as error:
            why = proc_unreadable(error, machine.host)
            return Probe(dict.fromkeys((*per_cpu, *(signal for signal, _, _ in _WHOLE)), why))
        classify = classifier(text)
        table = RowTotals(machine.topology.cpus, classify)
        table.update(text)
        labels_of = _labels(text, classify)
        signals: dict[SignalId, Signal | Unavailable] = {}
        for signal, words in per_cpu.items():
            if table.totals(signal) is None:
                signals[signal] = Unavailable(Reason.NO_HARDWARE, f"{PATH}: there is no row of {words}")
            else:
                signals[signal] = Signal(signal, Scope.CPU, Unit.COUNT, Behavior.COUNTER, Reduce.SUM,
                    origin=f"{PATH} column CPU{{cpu}}{labels_of.get(signal, '')}: {words}", document=_DOCUMENT)
        for signal, words, labels in _WHOLE:
            if whole_count(table, labels) is None:
                signals[signal] = Unavailable(Reason.NO_HARDWARE, f"{PATH}: there is no row of {words}")
            else:
                signals[signal] = Signal(
                    signal, Scope.SYSTEM, Unit.COUNT, Behavior.COUNTER, Reduce.SUM,
                    origin=f"{PATH} {'/'.join(labels)}", document=_DOCUMENT,
                    width_bits=32,  # atomic_t irq_err_count, irq_mis_count (arch/x86/kernel/apic)
                )
        return Probe(signals)

    def open_shared(self, machine: Machine, wanted: frozenset[SignalId]) -> SharedReader:
        """Read the wanted signals for the CPUs of the machine's topology."""
        return IrqRowReader(machine.host, PATH, _ORDER, classifier,
                            {signal: labels for signal, _, labels in _WHOLE}).start(machine.topology.cpus, wanted)


def _labels(text: str, classify: Callable[[str, str], tuple[SignalId, ...]]) -> dict[SignalId, str]:
    """Labels of the rows behind each signal, for its origin; none for the sum of all rows."""
    rows = lists_by_key((signal, label) for label, rest in table_rows(text)[1] if label.isalnum()
                        for signal in classify(label, trailing_text(rest)))
    return {signal: f", row {', '.join(labels[:_MOST_LABELS])}{' ...' if len(labels) > _MOST_LABELS else ''}"
            for signal, labels in rows.items() if signal != _TOTAL}
