"""Rules about CPU time taken by the hypervisor or by interrupts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from turbotui.diagnosis.rules import (
    NEVER,
    Certainty,
    JudgedFrame,
    NoFinding,
    Observed,
    RankedBy,
    SlownessRule,
    name_of,
    opening,
)
from turbotui.quantities.catalog.core_clock import ERROR, MOMENT
from turbotui.quantities.columns import ColumnId
from turbotui.quantities.scope import RowId
from turbotui.quantities.sentences import several
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.irq_rows import cpu_key

_STEAL: Final = 2.0  # percent of the time
_STEAL_LOST: Final = 0.03
_COUNTED: Final[tuple[ColumnId, ...]] = ("Bzy_MHz", "CurMHz")
_STORM: Final = 10_000.0  # interrupts a second on one CPU: at 1 to 5 us each, 1 to 5 % of it
_INTERRUPT_SECONDS: Final = 2e-6  # seconds of an interrupt with its handler, and of the cache misses that it causes
_IRQ_EVERYWHERE: Final = 8.0  # percent of the time of all CPUs
_FEW_CPUS: Final = 64
_SOURCES: Final = "interrupts"  # the kind of rows of /proc/interrupts
_NOTABLE: Final = 0.25  # of a CPU's interrupts, from which a device is named
_IRQ_ONE_CPU: Final = 30.0  # percent of one CPU's

_KINDS: Final[Mapping[ColumnId, str]] = {
    "Timer/s": "timer interrupts", "Dev/s": "interrupts of devices", "Resch/s": "rescheduling interrupts",
    "Call/s": "function calls from other CPUs", "TLB/s": "TLB shootdowns", "Therm/s": "thermal interrupts",
    "IPI/s": "interrupts from other CPUs", "Work/s": "IRQ work interrupts", "NMI/s": "non-maskable interrupts",
    "PMI/s": "performance monitoring interrupts", "Virt/s": "interrupts of virtualisation",
    "OthIRQ/s": "other interrupts",
}
_SOFT_KINDS: Final[Mapping[ColumnId, str]] = {
    "NetRx/s": "network receive", "NetTx/s": "network send", "Block/s": "block devices",
    "Sched/s": "balancing of tasks", "RCU/s": "RCU",
}


def _steal(moment: JudgedFrame) -> Observed | NoFinding:
    steal, load = moment.number("steal%"), moment.number("Load%")
    if steal is None or load is None:
        return NoFinding.UNKNOWN
    lost = steal / load if load else 0.0
    if steal < _STEAL or lost < _STEAL_LOST or not moment.lasts(steal, len(moment.frame.topology.cpus)):
        return NoFinding.CLEAR
    return Observed(lost, f"The hypervisor gives {100 * lost:.0f} % of the CPU time that this machine wants to others: "
                          f"{steal:.1f} % steal", Certainty.CERTAIN)


def _host_clock(moment: JudgedFrame) -> Observed | NoFinding:
    if any(map(moment.can, _COUNTED)):
        return NoFinding.CLEAR  # rules of the clock judge what is counted
    if not moment.clocks:
        why = None if moment.numbers(MOMENT) else moment.why(MOMENT)
        return NoFinding.CLEAR if why is None or why.reason is Reason.ASLEEP else NoFinding.UNKNOWN
    falls = {row: fall for row, fall in moment.clocks.items() if fall is not None}
    if not falls:
        return NoFinding.CLEAR
    lost = math.fsum(1.0 - fall.now / fall.before for fall in falls.values()) / len(moment.clocks)
    row = max(falls, key=lambda row: 1.0 - falls[row].now / falls[row].before)
    fall, more = falls[row], len(falls) - 1
    others = f"; {more} more {'CPU is' if more == 1 else 'CPUs are'} slower too" if more else ""
    virtual = moment.frame.capabilities.why_missing("aperf").reason is Reason.VIRTUALISED
    words = ("The host lowered the clock of virtual {} from {} to {} GHz{}" if virtual
             else "The clock of {} fell from {} to {} GHz{}")
    return Observed(lost, words.format(name_of(moment, row), f"{fall.before / 1e3:.2f}", f"{fall.now / 1e3:.2f}",
                                       others), Certainty.LIKELY, row)


def _most(moment: JudgedFrame, kinds: Mapping[ColumnId, str], row: RowId) -> str:
    """The most frequent kind of interrupt in a row, with its rate; "" if none is known."""
    rates = [(rate, words, name) for name, words in kinds.items()
             if (rate := moment.number(name, row=row)) is not None]
    rate, words, name = max(rates, default=(0.0, "", ""))
    return f"most are {words} ({rate:,.0f}/s{_rows_of(moment, name)})" if rate else ""


def _rows_of(moment: JudgedFrame, name: ColumnId) -> str:
    """The rows of the file that a column adds up, if the origin of its signal names all of them."""
    column = moment.catalog.get(name)
    signal = None if column is None else moment.frame.capabilities.signals.get(column.needs[0])
    rows = "" if signal is None else signal.origin.partition(", row ")[2].partition(":")[0]
    return "" if not rows or rows.endswith("...") else f"; row {rows}"


def _source(moment: JudgedFrame, row: RowId, total: float) -> str:
    """The device that interrupts a CPU most, with its interrupt and rate; "" if no rows were read, or it is few."""
    differences = moment.frame.kind(_SOURCES)
    if isinstance(differences, Unavailable):
        return ""
    rows, rates, (cpu,) = differences.newer.roster.rows, differences.rates("count"), row.key
    most, label = max(((rates[slot] or 0.0, part.parent) for slot, part in rows.items()
                       if part.parent.isdecimal() and part.key == cpu_key(part.parent, cpu)), default=(0.0, ""))
    if most < _NOTABLE * total:
        return ""
    device = differences.text("device", differences.newer.roster.slots[label, 0])
    return f"interrupt {label} ({device or 'no driver handles it'}) alone {most:,.0f}/s"


def _hottest(numbers: Mapping[RowId, float]) -> tuple[RowId, float]:
    row = max(numbers, key=lambda row: numbers[row])
    return row, numbers[row]


def _of_work(moment: JudgedFrame, shares: Mapping[RowId, float]) -> float:
    """The share of the work that interrupts take, where each CPU loses a share of its time to them.

    A task is held up by what is taken while it runs: a CPU that works a tenth of its time, and spends a twentieth in
    interrupts, gets its work done a twentieth later.
    """
    busy = moment.busy
    weights = {row: busy.get(row, 0.0) for row in shares}
    if not (total := math.fsum(weights.values())):
        return min(1.0, math.fsum(shares.values()) / len(shares))
    return math.fsum(weights[row] * min(1.0, share) for row, share in shares.items()) / total


def _interrupts(moment: JudgedFrame) -> Observed | NoFinding:
    if not (rates := moment.numbers("IRQ/s")):
        return NoFinding.UNKNOWN
    row, rate = _hottest(rates)
    if rate < _STORM:
        return NoFinding.CLEAR
    total = math.fsum(rates.values())
    lost = _of_work(moment, {row: here * _INTERRUPT_SECONDS for row, here in rates.items()})
    whole = "the machine" if len(rates) >= moment.online else several(len(rates), "measured CPU")
    sentence = f"{opening(name_of(moment, row))} takes {rate:,.0f} interrupts a second, {whole} {total:,.0f}"
    parts = filter(None, (sentence, _most(moment, _KINDS, row), _source(moment, row, rate)))
    return Observed(max(lost, 0.02), "; ".join(parts), Certainty.LIKELY, row)


def _softirqs(moment: JudgedFrame) -> Observed | NoFinding:
    everywhere, load = moment.number("irq%"), moment.load
    if everywhere is None or load is None:
        return NoFinding.UNKNOWN
    if everywhere < _IRQ_EVERYWHERE and len(moment.frame.topology.cpus) > _FEW_CPUS:
        return NoFinding.CLEAR  # one of many CPUs is too little of the work to check each of them at every tick
    if not (single := moment.numbers("irq%")):
        return NoFinding.UNKNOWN
    row, percent = _hottest(single)
    much = everywhere >= _IRQ_EVERYWHERE and moment.lasts(everywhere, len(single))
    if not much and (percent < _IRQ_ONE_CPU or not moment.lasts(percent, 1)):
        return NoFinding.CLEAR
    lost = _of_work(moment, {row: share / 100.0 for row, share in single.items()})
    most = _most(moment, _SOFT_KINDS, row)
    sentence = (f"Interrupts and soft interrupts take {everywhere:.1f} % of the CPUs' time, {percent:.0f} % of "
                f"{name_of(moment, row)}")
    return Observed(min(1.0, lost), f"{sentence}; {most}" if most else sentence, Certainty.CERTAIN, row)


STEAL: Final = SlownessRule(
    "steal", "CPU time taken by the hypervisor", (("steal%",), ("Load%",)), _steal, "CPU times", "1",
    "The machine below shares its CPUs with other guests: ask its operator, or move to a larger or less crowded one. "
    "turbotui stat --show CPU,Load%,steal% shows each CPU",
)
HOST_CLOCK: Final = SlownessRule(
    "host-clock", "a clock that the host lowered", ((*_COUNTED, MOMENT), ("Busy%", "Load%")), _host_clock,
    "clock at moments", "1",
    "Nothing in this machine raises it: other guests' load, heat or a power limit of the host lower it. Its operator "
    "can tell; turbotui stat --moments --show CPU,NowMHz,NowSpread% shows each CPU",
    wants=(ERROR,), decides_from=NEVER,
)
INTERRUPTS: Final = SlownessRule(
    "interrupts", "a storm of interrupts", (("IRQ/s",),), _interrupts, "interrupts", "1",
    "turbotui interrupts names the line, its device and its CPUs; of timers, strace -c -f -p PID shows who arms them",
    RankedBy.WAKES,
    wants=tuple(_KINDS), kinds=(_SOURCES,),
)
SOFTIRQS: Final = SlownessRule(
    "softirqs", "time in interrupts and soft interrupts", (("irq%",), ("Load%", "Busy%")), _softirqs, "CPU times", "1",
    "Spread the queues of the device over more CPUs: ethtool -l DEVICE; turbotui interrupts shows where each may go",
    RankedBy.CPU,
    wants=tuple(_SOFT_KINDS),
)
