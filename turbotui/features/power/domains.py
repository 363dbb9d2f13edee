"""A package's power by domain, on one scale and over time; without Textual."""

from __future__ import annotations

import math
from collections.abc import Sequence

from turbotui.cell_widths import flush_left, flush_right
from turbotui.dataclass import dataclass
from turbotui.diagnosis.limit_history import LimitVerdict
from turbotui.features.power.composed import rest_target
from turbotui.quantities.catalog import Catalog
from turbotui.quantities.columns import ColumnId, CounterColumn, Value
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope
from turbotui.sampling.frame import Frame
from turbotui.sampling.history import History
from turbotui.widgets.bars import bar
from turbotui.widgets.cells import UNKNOWN, StyleRole
from turbotui.widgets.levels import FrameLevels
from turbotui.widgets.painter import nice_top
from turbotui.widgets.panel import Line, Span, Target
from turbotui.widgets.slots import HISTORY
from turbotui.widgets.spark import spark

WORD = 11
"""Characters of the word before a line's number."""
NUMBER = 10
"""Characters of a number with its unit."""
LEFT = WORD + NUMBER + 2
"""Characters before a bar or a spark."""


@dataclass(frozen=True, slots=True)
class PowerSource:
    """The data of the panels: the newest frame, its columns, and their past."""

    frame: Frame
    catalog: Catalog
    history: History
    levels: FrameLevels

    def share(self, target: Target | None, value: Value) -> float | None:
        """Return a value's share of the possible range in its row; None if unknown."""
        return None if target is None else self.levels.share(self.frame, *target, value)

    def cell(self, name: ColumnId, row: RowId) -> tuple[CounterColumn, Value] | None:
        """Return a column and its value; None if there is no such column."""
        column = self.catalog.get(name)
        return None if column is None else (column, self.frame.cell(column, row))

    def target(self, name: ColumnId, row: RowId) -> Target | None:
        """Return the column and row for the Explain window."""
        column = self.catalog.get(name)
        return None if column is None else (column, row)

    def past(self, name: ColumnId, row: RowId) -> Sequence[float]:
        """Return the last values of a cell, oldest first."""
        column = self.catalog.get(name)
        return () if column is None else self.history.series(column, row, HISTORY)


def amount(value: float | None, unit: str, decimals: int) -> str:
    """Format a number with its unit in a fixed width."""
    text = UNKNOWN if value is None else f"{value:,.{decimals}f}"
    return flush_right(f"{text} {unit}", NUMBER)


def fitted(spans: Sequence[Span], width: int, *, cut: bool = False) -> Line:
    """The first spans that fit the width, and with `cut` the part of the next one that does, with an ellipsis."""
    kept: list[Span] = []
    room = width
    for span in spans:
        if span.cells > room:
            kept += [Span(span.text[: max(0, room - 1)] + "…", span.role, span.target)] if cut else []
            break
        kept.append(span)
        room -= span.cells
    return tuple(kept)


@dataclass(frozen=True, slots=True)
class _Layer:
    word: str
    watts: float | None
    target: Target | None
    past: Sequence[float]


def _layers(source: PowerSource, verdict: LimitVerdict) -> list[_Layer]:
    """Return the parts of a package's power, none counted twice: the package contains cores and graphics."""
    row = verdict.row
    package = verdict.facts.number("PkgWatt")
    if package is None:
        # ACPI's meters: the socket, and rails in it
        sockets = (_layer(source, word, name, SYSTEM_ROW) for word, name in socket_columns(row))
        return [layer for layer in sockets if layer is not None]
    parts = (_layer(source, word, name, row) for word, name in (("cores", "CorWatt"), ("graphics", "GFXWatt")))
    inside = [part for part in parts if part is not None]
    known = [part.watts for part in inside if part.watts is not None]
    # unknown while a part is unknown, which it would otherwise include
    left = max(0.0, package - math.fsum(known)) if len(known) == len(inside) else None
    past = difference(source.past("PkgWatt", row), [part.past for part in inside])
    layers = [*inside, _Layer("rest" if inside else "package", left, _rest(source, row, inside, left), past)]
    memory = _layer(source, "memory", "RAMWatt", row)
    return layers if memory is None else [*layers, memory]


def _rest(source: PowerSource, row: RowId, inside: Sequence[_Layer], left: float | None) -> Target | None:
    """Return the cell of a package's rest; the package's own cell if no part is known."""
    whole = source.target("PkgWatt", row)
    if whole is None or not inside:
        return whole
    parts = tuple(layer.target[0] for layer in inside if layer.target is not None)
    return rest_target(source.frame, row, whole[0], parts, left)


def socket_columns(row: RowId) -> tuple[tuple[str, ColumnId], ...]:
    """Return the columns of a socket's ACPI meters by the word of their lines, in place of RAPL."""
    number = row.key[0]
    return ("socket", f"Socket{number}Watt"), ("CPU rail", f"CPUrail{number}Watt"), ("I/O rail", f"SysIO{number}Watt")


def _layer(source: PowerSource, word: str, name: ColumnId, row: RowId) -> _Layer | None:
    """Return one domain of a package; None if the machine has no such column, or never a number in this row."""
    layer = source.cell(name, row)
    if layer is None or not source.frame.can(layer[0]):
        return None
    column, cell = layer
    past = source.past(name, row)
    watts = float(cell) if isinstance(cell, int | float) else None
    return None if watts is None and all(map(math.isnan, past)) else _Layer(word, watts, (column, row), past)


def difference(whole: Sequence[float], parts: Sequence[Sequence[float]]) -> list[float]:
    """Return a whole less its parts over time, at least 0; NaN while the whole or a part is unknown or not kept.

    Values stand oldest first; parts are aligned at the newest value.
    """
    aligned = [newest(part, len(whole)) for part in parts]
    # Python's max(0.0, nan) is 0.0, so gaps are handled first.
    return [math.nan if math.isnan(left) else max(0.0, left)
            for left in (value - math.fsum(part[at] for part in aligned) for at, value in enumerate(whole))]


def newest(past: Sequence[float], count: int) -> list[float]:
    """Return the last `count` values of a past, oldest first, with NaN for missing older ones."""
    known = list(past[max(0, len(past) - count) :])
    return [math.nan] * (count - len(known)) + known


def domain_lines(source: PowerSource, verdict: LimitVerdict, width: int) -> list[Line]:
    """Draw a line for each domain, all on one scale: number, bar, and past at the right edge."""
    if not (layers := _layers(source, verdict)):
        return []
    facts = verdict.facts
    limit = facts.limit("PL2") or facts.limit("PL1") or facts.limit("TDP")
    peaks = [source.history.peak(name, Scope.PACKAGE) or 0.0 for name in ("PkgWatt", "RAMWatt")]
    kept = [value for layer in layers for value in layer.past if not math.isnan(value)]
    most = max(math.fsum(layer.watts or 0.0 for layer in layers), math.fsum(peaks), *kept)
    top = nice_top(max(most, limit or 0.0))
    room = max(1, width - LEFT)
    past = min(HISTORY, max(1, room - room // 3 - 1))
    return [
        (
            Span(flush_left(layer.word, WORD), StyleRole.TITLE),
            Span(amount(layer.watts, "W", 1), StyleRole.PLAIN, layer.target),
            Span("  "),
            Span(bar(layer.watts, top, room - past - 1), StyleRole.SPARK),
            Span(" "),
            Span(spark(layer.past, top, past, source.frame.seq), StyleRole.SPARK),
        )
        for layer in layers
    ]
