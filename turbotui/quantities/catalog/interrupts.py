"""Interrupt columns: counts of the interval, as turbostat prints them, and rates."""

from __future__ import annotations

from turbotui.quantities.catalog.formulas import count_of, rate_of
from turbotui.quantities.columns import Category, CounterColumn
from turbotui.quantities.scope import Scope

_DOCUMENT = "kernel Documentation/filesystems/proc.rst, /proc/interrupts"
_SOFT_DOCUMENT = "kernel Documentation/filesystems/proc.rst, /proc/softirqs"


def _counted(title: str, signal: str, help_text: str, formula: str, *, document: str = _DOCUMENT,
             priority: int = 8) -> CounterColumn:
    return CounterColumn(id=title, category=Category.INTERRUPT, groups=("other",), scope=Scope.CPU, unit="", decimals=0,
        needs=(signal,), compute=count_of(signal), formula=formula, help=help_text, document=document, width=7,
        priority=priority)


def _per_second(title: str, signal: str, help_text: str, document: str = _DOCUMENT) -> CounterColumn:
    return CounterColumn(id=title, category=Category.INTERRUPT, scope=Scope.CPU, unit="/s", decimals=0, needs=(signal,),
        compute=rate_of(signal), help=help_text, document=document, width=7, priority=8, default=False, extra=True)


COLUMNS = (
    _counted("IRQ", "irq.total", "Interrupts of every kind taken in the interval (a count, not a rate).",
             "sum of all rows of /proc/interrupts, Δ", priority=2),
    _counted("NMI", "irq.nmi", "Non-maskable interrupts in the interval.", "row NMI of /proc/interrupts, Δ"),
    _counted("SMI", "smi", "System management interrupts in the interval: time stolen by firmware.",
             "", document="Intel SDM vol. 4, MSR_SMI_COUNT (0x34)"),
    _per_second("IRQ/s", "irq.total", "Interrupts of every kind per second."),
    _per_second("Timer/s", "irq.loc", "Interrupts of the CPU's timer per second; Hyper-V's and Xen's are timers too."),
    _per_second("Dev/s", "irq.device", "Interrupts of devices per second."),
    _per_second("Resch/s", "irq.res", "Rescheduling interrupts per second: another CPU asked this one to schedule."),
    _per_second("Call/s", "irq.cal", "Function-call interrupts per second: another CPU made this one run a function."),
    _per_second("TLB/s", "irq.tlb",
                "TLB shootdowns per second: another CPU changed memory mappings that this one had cached."),
    _per_second("IPI/s", "irq.ipi", "Interrupts from other CPUs per second whose purpose is not counted: POWER, s390."),
    _per_second("Work/s", "irq.work", "IRQ work interrupts per second: kernel work that a CPU put off for itself."),
    _per_second("NMI/s", "irq.nmi", "Non-maskable interrupts per second."),
    _per_second("PMI/s", "irq.pmi", "Performance monitoring interrupts per second; on x86 most are NMIs too."),
    _per_second("Virt/s", "irq.virt", "Interrupts per second by the hypervisor (guest) or for guests (host)."),
    _per_second("OthIRQ/s", "irq.other", "Interrupts per second of every kind that has no column."),
    _per_second("Therm/s", "irq.trm", "Thermal event interrupts per second."),
    _per_second("SoftIRQ/s", "softirq.total", "Soft interrupts of every kind per second.", _SOFT_DOCUMENT),
    _per_second("NetRx/s", "softirq.net_rx", "Network receive soft interrupts per second.", _SOFT_DOCUMENT),
    _per_second("NetTx/s", "softirq.net_tx", "Network transmit soft interrupts per second.", _SOFT_DOCUMENT),
    _per_second("Block/s", "softirq.block", "Block-device soft interrupts per second.", _SOFT_DOCUMENT),
    _per_second("Sched/s", "softirq.sched", "Scheduler balancing soft interrupts per second.", _SOFT_DOCUMENT),
    _per_second("RCU/s", "softirq.rcu",
                "RCU soft interrupts per second: the kernel frees what no CPU reads any more.", _SOFT_DOCUMENT),
)
