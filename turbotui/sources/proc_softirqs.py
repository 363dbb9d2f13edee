"""/proc/softirqs: deferred interrupt work run by each CPU, in all and by kind.

Format: kernel Documentation/filesystems/proc.rst; the kinds are enumerated in include/linux/interrupt.h. The table
has a column for every possible CPU, online or not.
"""

from __future__ import annotations

from turbotui.machine.host import HostError
from turbotui.machine.machine import Machine
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.bases import SharedSource
from turbotui.sources.irq_reader import IrqRowReader
from turbotui.sources.irq_rows import RowTotals
from turbotui.sources.source import Probe, SharedReader
from turbotui.sources.unreadable import proc_unreadable

PATH = "/proc/softirqs"
_DOCUMENT = "kernel Documentation/filesystems/proc.rst"
_TOTAL = "softirq.total"

# Rows by label; BLOCK_IOPOLL was renamed to IRQ_POLL in Linux 4.5 (include/linux/interrupt.h).
_LABELS = ("HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU")
_KINDS: dict[str, SignalId] = {**{label: f"softirq.{label.lower()}" for label in _LABELS},
                               "BLOCK_IOPOLL": "softirq.irq_poll"}
_ORDER: tuple[SignalId, ...] = (_TOTAL, *dict.fromkeys(_KINDS.values()))


def classify(label: str, _text: str) -> tuple[SignalId, ...]:
    """Return the signals that a row of /proc/softirqs belongs to; an unknown kind counts in the total only."""
    kind = _KINDS.get(label)
    return (_TOTAL,) if kind is None else (_TOTAL, kind)


class ProcSoftirqs(SharedSource):
    """The `Source` of /proc/softirqs."""

    id = "proc-softirqs"

    def probe(self, machine: Machine) -> Probe:
        """Read the table once, and find the rows that this kernel prints."""
        try:
            text = machine.host.read_text(PATH)
        except HostError as error:
            return Probe(dict.fromkeys(_ORDER, proc_unreadable(error, machine.host)))
        table = RowTotals(machine.topology.cpus, classify)
        table.update(text)
        signals: dict[SignalId, Signal | Unavailable] = {}
        for signal in _ORDER:
            rows = "/".join(label for label, kind in _KINDS.items() if kind == signal) or "all rows"
            if table.totals(signal) is None:
                signals[signal] = Unavailable(Reason.NO_DRIVER, f"{PATH}: this kernel has no row {rows}")
            else:
                signals[signal] = Signal(signal, Scope.CPU, Unit.COUNT, Behavior.COUNTER, Reduce.SUM,
                                         origin=f"{PATH} column CPU{{cpu}}: {rows}", document=_DOCUMENT)
        return Probe(signals)

    def open_shared(self, machine: Machine, wanted: frozenset[SignalId]) -> SharedReader:
        """Read the wanted signals for the CPUs of the machine's topology."""
        return IrqRowReader(machine.host, PATH, _ORDER, lambda _: classify).start(machine.topology.cpus, wanted)
