"""/proc/interrupts: interrupts taken by each CPU, in all and by kind.

Format: proc(5), kernel Documentation/filesystems/proc.rst; rows of x86 in arch/x86/kernel/irq.c, of Arm in
arch/arm64/kernel/smp.c. The total is the sum of every row that has a column for each CPU, NMI and LOC included. ERR and
MIS count for the whole machine and are never part of it. Some interrupts are in two rows and so twice in the total, as
in every tool that adds up rows: on x86 a TLB shootdown also comes as a function call (arch/x86/mm/tlb.c).
"""

from __future__ import annotations

from turbotui.dataclass import dataclass
from turbotui.machine.host import HostError
from turbotui.machine.machine import Machine
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.bases import SharedSource
from turbotui.sources.irq_reader import IrqRowReader, whole_count
from turbotui.sources.irq_rows import RowTotals
from turbotui.sources.source import Probe, SharedReader
from turbotui.sources.unreadable import proc_unreadable

PATH = "/proc/interrupts"
_DOCUMENT = "proc(5); kernel Documentation/filesystems/proc.rst"

_TOTAL = "irq.total"
_DEVICE = "irq.device"


@dataclass(frozen=True, slots=True)
class _Kind:
    """Rows that make one signal: by label (x86), or by how the text behind the counts ends (Arm, RISC-V)."""

    signal: SignalId
    words: str
    labels: tuple[str, ...] = ()
    endings: tuple[str, ...] = ()


_KINDS: tuple[_Kind, ...] = (
    _Kind("irq.nmi", "non-maskable interrupts", ("NMI",)),
    # Arm and RISC-V have the timer on a numbered row, of the device arch_timer (drivers/clocksource/arm_arch_timer.c)
    # or riscv-timer (drivers/clocksource/timer-riscv.c), which is no device's for all its number.
    _Kind("irq.loc", "local timer interrupts", ("LOC",), ("arch_timer", "riscv-timer")),
    _Kind("irq.res", "rescheduling interrupts", ("RES",), ("Rescheduling interrupts",)),
    _Kind("irq.cal", "function call interrupts", ("CAL",), ("Function call interrupts",)),
    _Kind("irq.tlb", "TLB shootdowns", ("TLB",)),
    _Kind("irq.trm", "thermal event interrupts", ("TRM",)),
)

_ORDER: tuple[SignalId, ...] = (_TOTAL, *(kind.signal for kind in _KINDS), _DEVICE)

# Rows of the whole machine and their labels: x86 ERR and MIS, Arm Err, PowerPC and Sparc BAD.
_WHOLE: tuple[tuple[SignalId, str, tuple[str, ...]], ...] = (
    ("irq.err", "errors", ("ERR", "Err", "BAD")),
    ("irq.mis", "misrouted IO-APIC interrupts", ("MIS",)),
)
_WHOLE_LABELS = frozenset(label for _, _, labels in _WHOLE for label in labels)

# s390 prints these sums and then, with the same word in brackets, the parts of each (arch/s390/kernel/irq.c).
_PARTS = ("[EXT]", "[I/O]", "[AIO]")


def classify(label: str, text: str) -> tuple[SignalId, ...]:
    """The signals that a row of /proc/interrupts belongs to; () for a row that counts the whole machine."""
    if label in _WHOLE_LABELS or text.startswith(_PARTS):
        return ()
    kinds = tuple(
        kind.signal
        for kind in _KINDS
        if label in kind.labels or (kind.endings and text.endswith(kind.endings) and label not in kind.labels)
    )
    return (_TOTAL, _DEVICE) if label.isdecimal() and not kinds else (_TOTAL, *kinds)


class ProcInterrupts(SharedSource):
    """The `Source` of /proc/interrupts."""

    id = "proc-interrupts"
    title = "/proc/interrupts"
    gives = "interrupts of each CPU: all, devices, timer, rescheduling, function calls, TLB shootdowns, NMI, thermal"

    def probe(self, machine: Machine) -> Probe:
        """Read the table once, and find the rows that this machine prints."""
        per_cpu = {_TOTAL: "interrupts", _DEVICE: "device interrupts", **{kind.signal: kind.words for kind in _KINDS}}
        try:
            text = machine.host.read_text(PATH)
        except HostError as error:
            why = proc_unreadable(error, machine.host)
            return Probe(dict.fromkeys((*per_cpu, *(signal for signal, _, _ in _WHOLE)), why))
        table = RowTotals(machine.topology.cpus, classify)
        table.update(text)
        signals: dict[SignalId, Signal | Unavailable] = {}
        for signal, words in per_cpu.items():
            if table.totals(signal) is None:
                signals[signal] = Unavailable(Reason.NO_HARDWARE, f"{PATH}: this machine has no row of {words}")
            else:
                signals[signal] = Signal(
                    signal, Scope.CPU, Unit.COUNT, Behavior.COUNTER, Reduce.SUM,
                    origin=f"{PATH} column CPU{{cpu}}: {words}", document=_DOCUMENT,
                )  # fmt: skip
        for signal, words, labels in _WHOLE:
            if whole_count(table, labels) is None:
                signals[signal] = Unavailable(Reason.NO_HARDWARE, f"{PATH}: this machine has no row of {words}")
            else:
                signals[signal] = Signal(
                    signal, Scope.SYSTEM, Unit.COUNT, Behavior.COUNTER, Reduce.SUM,
                    origin=f"{PATH} {'/'.join(labels)}", document=_DOCUMENT,
                    width_bits=32,  # atomic_t irq_err_count, irq_mis_count (arch/x86/kernel/apic)
                )  # fmt: skip
        return Probe(signals)

    def open_shared(self, machine: Machine, wanted: frozenset[SignalId]) -> SharedReader:
        """Read the wanted signals for the CPUs of the machine's topology."""
        return IrqRowReader(machine.host, PATH, _ORDER, classify,
                            {signal: labels for signal, _, labels in _WHOLE}).start(machine.topology.cpus, wanted)
