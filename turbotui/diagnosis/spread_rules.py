"""Rules on how the work is spread: one CPU, one cache or node saturated while others idle, slow cores before fast."""

from __future__ import annotations

import math
from collections.abc import Sequence
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
from turbotui.quantities.scope import RowId, Scope

_SATURATED: Final = 96.0  # percent busy; the rest is interrupts and the clock's resolution
_OTHERS: Final = 60.0  # mean percent busy of the other CPUs; above, the whole machine is short of CPUs
_FEW: Final = 8  # one in this many CPUs saturated; more are a group, or distributed work
_LOST: Final = 0.1  # share of the wanted CPU time that tasks wait for, from which an uneven spread costs them time
_FULL: Final = 90.0  # mean percent busy of a group of CPUs
_SPARE: Final = 40.0  # the same of the other groups together
_IDLE_FAST: Final = 25.0  # mean percent busy of the fast cores
_WORKING_SLOW: Final = 60.0  # percent busy of slow cores that have something to do
_WAITS: Final = ("RunDelay%", "PSIcpu%")
"""The columns by which tasks are seen to wait for a CPU."""


def _single(moment: JudgedFrame) -> Observed | NoFinding:
    if not (busy := moment.busy):
        return NoFinding.UNKNOWN
    if len(busy) < 2:
        return NoFinding.CLEAR
    full = [row for row, percent in busy.items() if percent >= _SATURATED]
    rest = [percent for percent in busy.values() if percent < _SATURATED]
    others = math.fsum(rest) / len(rest) if rest else 100.0
    busiest = moment.seen.busiest
    named = busiest if busiest is not None and busiest[1] >= _SATURATED / 100 else None
    if (not full and named is None) or len(full) > max(1, len(busy) // _FEW) or others > _OTHERS:
        return NoFinding.CLEAR
    rest_words = f"while {_rest(len(full), len(rest))} {others:.0f} % busy"
    if named is not None:
        text = f"One thread, {named[0]}, uses {100 * named[1]:.0f} % of a CPU: it can be no faster than one CPU"
        row = full[0] if full else max(busy, key=busy.__getitem__)
        return _spread(moment, f"{text}, {rest_words}", Certainty.CERTAIN, row)
    if len(full) == 1:
        text = (f"{opening(name_of(moment, full[0]))} is {busy[full[0]]:.0f} % busy {rest_words}: one thread, or work "
                "bound to it")
    else:
        text = f"{len(full)} CPUs are saturated {rest_words}: as many threads, or work bound to them"
    return _spread(moment, text, Certainty.LIKELY, full[0])


def _spread(moment: JudgedFrame, text: str, sure: Certainty, row: RowId, slower: float = 0.0) -> Observed:
    """What is seen of an uneven spread: a loss where tasks wait for the full CPUs or are slowed, else news.

    Args:
        slower: share of the work that is lost by slower cores, if a thread is seen to lose it.
    """
    queued, working = moment.queued or 0.0, max(1.0, math.fsum(moment.busy.values()) / 100.0)
    lost = queued / (queued + working)
    if lost >= _LOST:
        by_pressure = moment.number("RunDelay%") is None  # of the time in which one waits or several do
        text += (f"; a task waits for a CPU {100 * queued:.0f} % of the time" if by_pressure
                 else f"; {queued:,.1f} tasks wait for a CPU on average")
        text += f"; {moment.seen.tail}" if moment.seen.tail else ""
    else:
        lost = 0.0
    return Observed(max(slower, lost), text, sure, row, news=not slower and not lost)


def _rest(full: int, rest: int) -> str:
    """The CPUs that are not saturated; a migrating thread saturates none."""
    if not full:
        return f"the {rest} CPUs together are"
    return "the other CPU is" if rest == 1 else f"the other {rest} are"


def _groups(moment: JudgedFrame) -> Observed | NoFinding:
    if not (busy := moment.busy):
        return NoFinding.UNKNOWN
    topology = moment.frame.topology
    rows = moment.frame.rows(Scope.CPU)
    for scope in (Scope.PACKAGE, Scope.NODE, Scope.L3):
        members = [(row, [busy[rows[at]] for at in topology.parts(row, Scope.CPU) if rows[at] in busy])
                   for row in moment.frame.rows(scope)]
        members = [(row, cpus) for row, cpus in members if cpus]
        lopsided = _lopsided(members)
        if lopsided is not None:
            row, mean, others = lopsided
            count = len(members) - 1
            rest = f"the other {scope.value} is" if count == 1 else f"the other {count} of its kind are"
            text = f"{opening(name_of(moment, row))} is full, {mean:.0f} % busy, while {rest} {others:.0f} % busy"
            return _spread(moment, text, Certainty.LIKELY, row)
    return NoFinding.CLEAR


def _lopsided(groups: Sequence[tuple[RowId, Sequence[float]]]) -> tuple[RowId, float, float] | None:
    """The fullest group of CPUs, its mean and the others' mean; None if no group stands out."""
    if len(groups) < 2:
        return None
    row, cpus = max(groups, key=lambda group: math.fsum(group[1]) / len(group[1]))
    rest = [percent for other, parts in groups if other != row for percent in parts]
    mean, others = math.fsum(cpus) / len(cpus), math.fsum(rest) / len(rest)
    if len(cpus) < 2 or mean < _FULL or others > _SPARE:
        return None
    return row, mean, others


def _slow_cores(moment: JudgedFrame) -> Observed | NoFinding:
    if len(moment.frame.topology.core_types) < 2:
        return NoFinding.CLEAR
    busy, types = moment.busy, moment.texts("Type")
    if not busy or not types:
        return NoFinding.UNKNOWN
    fast = [percent for row, percent in busy.items() if types.get(row) in ("P", "big")]
    slow = {row: percent for row, percent in busy.items() if types.get(row) in ("E", "LP", "little")}
    working = [percent for percent in slow.values() if percent >= _WORKING_SLOW]
    if not fast or not working or math.fsum(fast) / len(fast) > _IDLE_FAST:
        return NoFinding.CLEAR
    tops = moment.numbers("TopMHz")
    best = max((tops[row] for row in busy if types.get(row) in ("P", "big") and row in tops), default=None)
    here = max((tops[row] for row in slow if row in tops), default=None)
    busiest = moment.seen.busiest
    # a thread that leaves a core no time would run faster on another one; work with pauses may lie there on purpose
    slowed = max(slow.values()) >= _SATURATED and busiest is not None and busiest[1] >= _SATURATED / 100
    slower = 0.0 if not slowed else 0.3 if best is None or here is None else max(0.1, 1.0 - here / best)
    clocks = "" if best is None or here is None else f" ({here:,.0f} of {best:,.0f} MHz at most)"
    text = (f"{len(working)} efficiency core{'s' * (len(working) != 1)} work{'s' * (len(working) == 1)}{clocks} while "
            f"the performance cores are {math.fsum(fast) / len(fast):.0f} % busy")
    if moment.seen.placement:
        text += f"; {moment.seen.placement}"
    share = math.fsum(working) / max(math.fsum(busy.values()), 1.0)
    return _spread(moment, text, Certainty.LIKELY, max(slow, key=lambda row: slow[row]), slower * share)


ONE_CPU: Final = SlownessRule(
    "one-cpu", "one saturated CPU or thread", (("Busy%", "Load%"),), _single, "CPU times", "7",
    "top -H shows the thread; taskset -pc PID shows whether it is bound. One thread gets faster by a higher clock only",
    RankedBy.THREAD, _WAITS,
)
ONE_GROUP: Final = SlownessRule(
    "one-group", "one package, node or cache is full while others idle", (("Busy%", "Load%"),), _groups, "CPU times",
    "2", "taskset -pc PID, numactl --show and the group's cpuset say what binds the work: numactl --interleave=all "
    "COMMAND or a wider cpuset spreads it", RankedBy.CPU, _WAITS,
)
SLOW_CORES: Final = SlownessRule(
    "slow-cores", "efficiency cores chosen while performance cores idle", (("Busy%", "Load%"), ("Type",)), _slow_cores,
    "kinds of cores", "1", "taskset -pc PID shows whether it is bound there; sysctl kernel.sched_itmt_enabled and "
    "cpupower frequency-info show the preference; uclamp.min or a lower nice value asks for faster cores", RankedBy.CPU,
    wants=("TopMHz", *_WAITS), decides_from=NEVER,
)
