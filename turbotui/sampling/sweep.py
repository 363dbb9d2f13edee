"""One column for all rows of a level at once: what sorting and history need of a thousand CPUs every interval.

The same numbers as row by row, from lists that are put in row order once instead of being looked up for each cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from turbotui.machine.topology import Instance
from turbotui.quantities.columns import Inputs
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import SignalId
from turbotui.sampling.arithmetic import Numbers

if TYPE_CHECKING:
    from turbotui.sampling.frame import Frame


class Sweep:
    """`columns.Inputs` that stands on one row of a level after the other.

    Attributes:
        at: position of the row it stands on.
    """

    __slots__ = ("_deltas", "_frame", "_rates", "_rows", "_scope", "_values", "at")

    def __init__(self, frame: Frame, scope: Scope) -> None:
        self.at = 0
        self._frame = frame
        self._scope = scope
        self._rows: Sequence[Instance] = frame.topology.instances(scope)
        self._deltas: dict[SignalId, Numbers] = {}
        self._rates: dict[SignalId, Numbers] = {}
        self._values: dict[SignalId, Numbers] = {}

    def delta(self, signal: SignalId) -> float | None:
        """See `columns.Inputs.delta`."""
        known = self._deltas.get(signal)
        if known is None:
            known = self._deltas[signal] = self._spread(signal, self._frame.deltas, self._row_delta)
        return known[self.at]

    def rate(self, signal: SignalId) -> float | None:
        """See `columns.Inputs.rate`."""
        known = self._rates.get(signal)
        if known is None:
            known = self._rates[signal] = self._spread(signal, self._frame.rates, self._row_rate)
        return known[self.at]

    def value(self, signal: SignalId) -> float | None:
        """See `columns.Inputs.value`."""
        known = self._values.get(signal)
        if known is None:
            known = self._values[signal] = self._spread(signal, self._frame.levels, self._row_value)
        return known[self.at]

    def total(self, signal: SignalId) -> float | None:
        """See `columns.Inputs.total`."""
        return self._frame.inputs(self._rows[self.at].row).total(signal)

    def text(self, signal: SignalId) -> str | None:
        """See `columns.Inputs.text`."""
        return self._frame.inputs(self._rows[self.at].row).text(signal)

    def elapsed(self, signal: SignalId) -> float | None:
        """See `columns.Inputs.elapsed`."""
        return self._frame.inputs(self._rows[self.at].row).elapsed(signal)

    def place(self, scope: Scope) -> int | None:
        """See `columns.Inputs.place`."""
        return self._frame.inputs(self._rows[self.at].row).place(scope)

    def each(self, scope: Scope) -> Iterable[Inputs]:
        """See `columns.Inputs.each`."""
        if self._scope.rank <= scope.rank:
            return (self,)
        return self._frame.inputs(self._rows[self.at].row).each(scope)

    def core_type(self) -> str | None:
        """See `columns.Inputs.core_type`."""
        return self._frame.inputs(self._rows[self.at].row).core_type()

    def _spread(self, name: SignalId, numbers: Callable[[SignalId], Numbers],
                reduced: Callable[[Instance, SignalId], float | None]) -> Numbers:
        """The values of a signal in row order: its own order, that of the instances around the rows, or reduced."""
        signal = self._frame.census.signals.get(name)
        if signal is None:
            return [None] * len(self._rows)
        if signal.scope is self._scope:
            return numbers(name)
        if signal.scope.rank > self._scope.rank:
            items, index, scope = numbers(name), self._frame.topology.index, signal.scope
            return [items[index(scope, row.cpus[0])] for row in self._rows]
        return [reduced(row, name) for row in self._rows]

    def _row_delta(self, row: Instance, name: SignalId) -> float | None:
        return self._frame.inputs(row.row).delta(name)

    def _row_rate(self, row: Instance, name: SignalId) -> float | None:
        return self._frame.inputs(row.row).rate(name)

    def _row_value(self, row: Instance, name: SignalId) -> float | None:
        return self._frame.inputs(row.row).value(name)
