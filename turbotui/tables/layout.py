"""Which columns and rows of the CPU table to print, and the machine that the numbers describe."""

from __future__ import annotations

from collections.abc import Sequence

from turbotui.dataclass import dataclass
from turbotui.machine.host import HostKind
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.scope import RowId, Scope
from turbotui.sampling.frame import Frame


@dataclass(frozen=True, slots=True)
class Layout:
    """Columns and rows of an output."""

    columns: tuple[CounterColumn, ...]  # in print order
    # level of the rows below the summary: CPU for every CPU, CORE and PACKAGE for the first CPU of each
    rows: Scope = Scope.CPU
    summary_only: bool = False  # no rows below the summary
    header_every: int | None = None  # with `summary_only`, repeat the header before every n-th line; None for never
    machine: str = ""  # its name
    kind: HostKind = HostKind.REAL  # REAL, SIMULATED or RECORDED
    meaning: str = ""  # what the numbers of a table mean beyond its titles, shown in its first line

    @property
    def label(self) -> str:
        """The word for a machine other than this one; "" for this one."""
        return "" if self.kind is HostKind.REAL else f"{self.kind.value} machine {self.machine}"

    @property
    def measures(self) -> tuple[CounterColumn, ...]:
        """The columns that are not topology ids."""
        return tuple(column for column in self.columns if not column.identity)

    def row_ids(self, frame: Frame) -> Sequence[RowId]:
        """The rows below the summary, in topology order; of all CPUs the topology's own tuple (`Frame.cells`)."""
        if self.summary_only:
            return ()
        if self.rows is Scope.CPU:
            return frame.rows(Scope.CPU)
        chosen = {instance.cpus[0] for instance in frame.topology.instances(self.rows)}
        return tuple(instance.row for instance in frame.topology.instances(Scope.CPU) if instance.cpus[0] in chosen)


PLACES = (Scope.PACKAGE, Scope.DIE, Scope.NODE, Scope.L3, Scope.MODULE, Scope.CORE, Scope.CPU)
"""Levels that identify a CPU's place, coarse to fine."""


def place_of(frame: Frame, row: RowId) -> dict[str, int]:
    """The sysfs ids of the levels around a row, as far as the machine gives them."""
    instance = frame.topology.instance(row)
    if instance is None or not instance.cpus or row.scope is Scope.SYSTEM:
        return {}
    place = frame.topology.places[instance.cpus[0]]
    labels = ((scope, place.label(scope)) for scope in PLACES if scope.rank >= row.scope.rank)
    return {scope.value: label for scope, label in labels if label >= 0}
