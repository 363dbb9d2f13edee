"""What every output format is told: which columns and rows to print, and what machine the numbers are of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol, runtime_checkable

from turbotui.quantities.columns import Category, CounterColumn
from turbotui.quantities.scope import RowId, Scope
from turbotui.sampling.frame import Frame


@dataclass(frozen=True, slots=True)
class Layout:
    """Columns and rows of an output.

    Attributes:
        columns: in print order.
        rows: level of the rows below the summary: CPU for every one, CORE and PACKAGE for the first CPU of each.
        summary_only: no rows below the summary.
        header_every: with `summary_only`, repeat the header before every n-th line; None: never again.
        machine: its name.
        kind: "" for the real machine, else the word that goes with every number: "SIMULATED".
        said: what the numbers of a table are, where that is not in its titles: stands in its first line.
        marks: comma-separated values end with the names of the estimated columns of each row.
    """

    columns: tuple[CounterColumn, ...]
    rows: Scope = Scope.CPU
    summary_only: bool = False
    header_every: int | None = None
    machine: str = ""
    kind: str = ""
    said: str = ""
    marks: bool = False

    @property
    def measures(self) -> tuple[CounterColumn, ...]:
        """The columns that are not places in the topology."""
        return tuple(column for column in self.columns if column.category is not Category.TOPOLOGY)

    def row_ids(self, frame: Frame) -> Iterator[RowId]:
        """The rows below the summary, in topology order."""
        if self.summary_only:
            return
        if self.rows is Scope.CPU:
            yield from frame.rows(Scope.CPU)
            return
        chosen = {instance.cpus[0] for instance in frame.topology.instances(self.rows)}
        for instance in frame.topology.instances(Scope.CPU):
            if instance.cpus[0] in chosen:
                yield instance.row


class Format(Protocol):
    """One way to write frames. It may keep state from one frame to the next."""

    def lines(self, frame: Frame) -> Iterator[str]:
        """One interval, as lines without their ends."""


@runtime_checkable
class Ending(Protocol):
    """A format whose text has an end of its own."""

    def end(self) -> Iterator[str]:
        """The lines after the last interval."""


FormatMaker = Callable[[Layout], Format]
"""Makes a format for one run."""


def timestamp(wall_ns: int) -> str:
    """A moment in UTC, to the millisecond, as ISO 8601 has it."""
    moment = datetime.fromtimestamp(wall_ns / 1e9, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


PLACES = (Scope.PACKAGE, Scope.DIE, Scope.NODE, Scope.L3, Scope.MODULE, Scope.CORE, Scope.CPU)
"""Levels that name a CPU's place, coarse to fine."""


def place_of(frame: Frame, row: RowId) -> dict[str, int]:
    """The ids that sysfs gives the levels around a row, as far as the machine tells them."""
    instance = frame.topology.instance(row)
    if instance is None or not instance.cpus or row.scope is Scope.SYSTEM:
        return {}
    place = frame.topology.places[instance.cpus[0]]
    labels = ((scope, place.label(scope)) for scope in PLACES if scope.rank >= row.scope.rank)
    return {scope.value: label for scope, label in labels if label >= 0}
