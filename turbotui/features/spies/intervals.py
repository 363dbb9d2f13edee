"""Intervals of spies with a count for every event: multiplexed sets are joined by the reference event.

An interval is complete once every event was also counted after it, so that rates can be interpolated. That takes as
many further intervals as there are multiplexed sets.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.cpulist import format_cpulist
from turbotui.machine.topology import Topology
from turbotui.quantities.columns import Column, Value
from turbotui.quantities.joined_sets import Joined, SetInterval, join_rotation
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import SignalId
from turbotui.quantities.spies import SpyPlan, Target
from turbotui.quantities.spy_signals import SETS, SpySignals
from turbotui.quantities.tables import Cell, RowTable
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.frame import Frame
from turbotui.sampling.own_cost import OwnCost
from turbotui.sources.spy_sets import cpus_of


@dataclass(frozen=True, slots=True)
class SpiedInterval:
    """One interval of one CPU."""

    seq: int  # the number of the frame that ended it
    cpu: int
    seconds: float  # the time between the two readings, on the CPU itself
    # the counts of every known event; those in `estimated` were not counted in this interval
    counts: Mapping[str, float]
    estimated: frozenset[str]


SPIED: Final = "spied_intervals"
"""The name of the table of intervals."""
_FIRST: Final[tuple[Column[SpiedInterval], ...]] = (
    Column("seq", "", 0, (), lambda interval: interval.seq, help="number of the interval, from 1", identity=True),
    Column("cpu", "", 0, (), lambda interval: interval.cpu, help="the spy's CPU", identity=True),
    Column("length", "s", 9, (), lambda interval: round(interval.seconds, 9),
           help="time between the two readings, taken on the CPU itself"),
)
_NO_TURN: Final = Unavailable(Reason.NEVER_RAN,
                              "nothing counted the event in this interval, and no rate of another one can stand for it")


def spied_table(plan: SpyPlan, capabilities: Capabilities,
                intervals: Sequence[SpiedInterval]) -> RowTable[SpiedInterval]:
    """Make a table with a row for each interval of each CPU, and a column for each event of the plan."""

    def judge(column: Column[SpiedInterval], interval: SpiedInterval, value: Value) -> Cell:
        if value is not None:
            return Cell(value, estimated=column.id in interval.estimated)
        (count,) = column.needs
        known = capabilities.signals.get(count)
        why = capabilities.why_missing(count) if known is None else known.absent.get(interval.cpu, _NO_TURN)
        return Cell(None, why)

    counts = (_counts(name, plan.reference, multiplexed=SpySignals(name).beside in capabilities.signals)
              for name in plan.events)
    return RowTable(SPIED, "interval", (*_FIRST, *counts), intervals, judge)


def _counts(name: str, reference: str, *, multiplexed: bool) -> Column[SpiedInterval]:
    joined = (f"; in intervals of another set Δ{reference} x {name} / {reference}, on a line between the intervals "
              "that counted it" if multiplexed else "")
    return Column(name, "", 0, (SpySignals(name).count,), lambda interval: interval.counts.get(name),
                  formula=f"Δ{name}{joined}", help=f"{name} of each CPU's spy", width=10)


def joining_note(plan: SpyPlan, known: Container[SignalId]) -> str:
    """Return a sentence if multiplexed sets cannot be joined; "" if they can, or if there is one set."""
    multiplexed = any(len(spy.sets) > 1 for spy in plan.spies)
    if not multiplexed or SpySignals(plan.reference).count in known:
        return ""
    return (f"{plan.reference} joins the multiplexed sets and cannot be counted here: each event is known in the "
            "intervals of its own set only; name another reference, such as task-clock")


def no_cpus_note(on: Target, topology: Topology) -> str:
    """Return a sentence if an entry names no CPU that is measured here; "" if it names one."""
    if cpus_of(on, topology):
        return ""
    return f"{on.text}: no such CPU is measured here, only {format_cpulist(topology.cpus)}"


def cost_words(cost: OwnCost, calls: float | None) -> str:
    """Describe the cost of one sample: reads, opened counters, wake-ups and interrupts.

    Args:
        cost: the cost of the last interval.
        calls: function-call interrupts on the watched CPUs in the interval, whoever sent them; None if unknown.
    """
    words = [f"{round(cost.reads, 1):g} group reads", f"{round(cost.opened, 1):g} counters opened"]
    if cost.wakeups is not None:
        words.append(f"{round(cost.wakeups, 1):g} wake-ups")
    if cost.cpu_us is not None and cost.cpu_percent is not None:
        words.append(f"{cost.cpu_us:.0f} us of CPU time ({cost.cpu_percent:.2f} % of one CPU)")
    words.append(f"reads took {cost.sample_ms:.2f} ms from first to last")
    if calls is not None:
        words.append(f"{calls:.0f} function-call interrupts on these CPUs, of everybody")
    return ", ".join(words)


class Joiner:
    """Joins frames to complete intervals, in order, as soon as possible; another plan needs another joiner."""

    def __init__(self, plan: SpyPlan) -> None:
        self._plan = plan
        self._past: dict[int, list[tuple[int, SetInterval]]] = {}
        self._given: dict[int, int] = {}

    def add(self, frame: Frame) -> list[SpiedInterval]:
        """Take one frame, and return the intervals that are complete now."""
        intervals: list[SpiedInterval] = []
        if frame.older is None or SETS not in frame.capabilities.signals:
            return intervals
        sets = frame.levels(SETS)
        for position, instance in enumerate(frame.topology.instances(Scope.CPU)):
            if not (count := sets[position]):
                continue
            if (interval := self._interval(frame, position)) is None:
                continue
            cpu = instance.cpus[0]
            self._past.setdefault(cpu, []).append((frame.seq, interval))
            intervals += self._known(cpu, lag=int(count) - 1)
        return intervals

    def rest(self) -> list[SpiedInterval]:
        """Return the last intervals, which hold the last rates, because no frame follows."""
        return [interval for cpu in sorted(self._past) for interval in self._known(cpu, lag=0)]

    def _interval(self, frame: Frame, position: int) -> SetInterval | None:
        counts: dict[str, float] = {}
        seconds: float | None = None
        for name in self._plan.events:
            ids = SpySignals(name)
            if ids.count not in frame.capabilities.signals:
                continue
            seconds = frame.spans(ids.count)[position] or seconds
            if (delta := frame.deltas(ids.count)[position]) is not None:
                counts[name] = delta
        return None if seconds is None else SetInterval(seconds, counts.get(self._plan.reference, 0.0), counts)

    def _known(self, cpu: int, lag: int) -> Iterable[SpiedInterval]:
        past = self._past[cpu]
        given = self._given.get(cpu, 0)
        joined: tuple[Joined, ...] = join_rotation([interval for _seq, interval in past])
        ready = max(given, len(past) - lag)
        intervals = [SpiedInterval(seq, cpu, interval.seconds, interval.counts, interval.estimated)
                     for (seq, _interval), interval in list(zip(past, joined, strict=True))[given:ready]]
        # counts older than one rotation are not needed for interpolation any more
        spare = max(0, ready - lag - 1)
        del past[:spare]
        self._given[cpu] = ready - spare
        return intervals
