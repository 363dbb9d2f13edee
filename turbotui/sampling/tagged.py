"""The sum row of tagged CPUs: the usual formulas over a set of CPUs that is no instance of the topology."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from turbotui.quantities.columns import CounterColumn, Inputs, Value
from turbotui.quantities.scope import SYSTEM_ROW, Scope
from turbotui.quantities.signals import Signal
from turbotui.sampling.frame import Frame
from turbotui.sampling.row_inputs import RowInputs


class TaggedInputs(RowInputs):
    """`columns.Inputs` over any set of CPUs.

    A signal coarser than a CPU counts every core or package with a CPU of the set once: two siblings share one core's
        energy.
    """

    __slots__ = ("_chosen",)

    def __init__(self, frame: Frame, column: CounterColumn, cpus: Iterable[int]) -> None:
        super().__init__(frame, SYSTEM_ROW, frame.left_out(column))
        known = frame.topology.places
        self._chosen = tuple(cpu for cpu in cpus if cpu in known)

    def positions(self, signal: Signal) -> Sequence[int] | None:
        """The instances of a scope that have a CPU of the set."""
        if signal.scope is Scope.SYSTEM:
            return None
        topology = self._frame.topology
        return sorted({topology.index(signal.scope, cpu) for cpu in self._chosen})


    def each(self, scope: Scope) -> Iterable[Inputs]:
        """The instances of a scope that have a CPU of the set."""
        topology = self._frame.topology
        rows = dict.fromkeys(topology.row(scope, cpu) for cpu in self._chosen)
        return tuple(self._frame.inputs(row) for row in rows)


def tagged_cell(frame: Frame, column: CounterColumn, cpus: Iterable[int]) -> Value:
    """A column's value over a set of CPUs; None if unknown, and for columns of the whole machine."""
    if column.whole_only or any(name not in frame.capabilities.signals for name in column.needs):
        return None
    return column.compute(TaggedInputs(frame, column, cpus))


def tagged_partial(frame: Frame, column: CounterColumn, cpus: Iterable[int]) -> bool:
    """`Frame.partial` of `tagged_cell`."""
    gaps = frame.gaps_behind(column)
    return bool(gaps) and any(map(TaggedInputs(frame, column, cpus).incomplete, gaps))
