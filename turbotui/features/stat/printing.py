"""Prints the frames of `turbotui stat`, of this machine, another one, or a recording."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from turbotui.features.stat.columns import choose
from turbotui.features.stat.options import Rows, StatOptions
from turbotui.features.stat.streams import Streams, warn
from turbotui.machine.host import Host
from turbotui.machine.topology import Topology
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.catalog import Catalog
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.scope import SYSTEM_ROW, Scope
from turbotui.quantities.unavailable import Reason
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.frame import Frame
from turbotui.sampling.selection import why_absent
from turbotui.tables.formats import JSON
from turbotui.tables.frame_formats import make_frame_format
from turbotui.tables.layout import Layout

if TYPE_CHECKING:
    from turbotui.tables.extremes import Extremes

_ROWS: Final = {Rows.ALL: Scope.CPU, Rows.CORES: Scope.CORE, Rows.PACKAGES: Scope.PACKAGE}
_SEVERAL: Final = 2


def is_absent(column: CounterColumn, capabilities: Capabilities, topology: Topology) -> bool:
    """Tell whether a column is not available; turbostat's Node exists only if a package has several nodes.

    docs/specs/turbostat.md 2.3, row 6.
    """
    together = column.id == "Node" and topology.nodes_together < _SEVERAL
    return together or why_absent(column, capabilities, topology) is not None


def chosen_layout(options: StatOptions, catalog: Catalog, host: Host, absent: Callable[[CounterColumn], bool],
                  warning: str) -> Layout:
    """Return the layout of the columns that the options choose; `warning` has {} for the names of unavailable ones.

    Raises:
        StatError: there is no such column.
    """
    choice = choose(catalog, options, absent)
    if choice.absent:
        warn(warning.format(", ".join(choice.absent)))
    return Layout(columns=choice.columns, rows=_ROWS[options.rows], summary_only=options.summary_only,
                  header_every=options.header_every, machine=host.name, kind=host.kind)


class FramePrinter:
    """Writes frames in the format of the options, and at the end the extremes if requested."""

    def __init__(self, options: StatOptions, streams: Streams, layout: Layout, intervals: int | None) -> None:
        self._streams = streams
        self._format = make_frame_format(options.format, layout, intervals)
        self._extremes = _extremes(layout) if options.extremes else None
        self._layout = layout
        self._printed: set[tuple[Reason, tuple[str, ...]]] = set()
        self._tells = options.format != JSON  # which has every reason itself

    def take(self, frame: Frame) -> None:
        """Print one interval."""
        self._streams.rows(self._format.lines(frame))
        if self._tells:
            lost = lists_by_key((why, column.id) for column in self._layout.columns
                                if (why := frame.lacking(column, SYSTEM_ROW)) is not None)
            for why, names in lost.items():
                cause = why.reason, tuple(names)
                if cause not in self._printed:
                    self._printed.add(cause)
                    warn(f"{', '.join(names)} of the whole machine: {why.sentence()}")
        if self._extremes is not None:
            self._extremes.take(frame)

    def end(self) -> None:
        """Print what follows the last interval."""
        self._streams.rows(self._format.end())
        if self._extremes is not None:
            self._streams.rows(self._extremes.lines())


def _extremes(layout: Layout) -> Extremes:
    from turbotui.tables.extremes import Extremes  # noqa: PLC0415 - few ask for them

    return Extremes(layout)
