"""Charts of the whole machine: those that can be drawn here, their past and limits; without Textual."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.overview.cpu_numbers import cpu_numbers
from turbotui.quantities.catalog import Catalog
from turbotui.quantities.columns import ColumnId, CounterColumn
from turbotui.quantities.scope import SYSTEM_ROW
from turbotui.sampling.frame import Frame
from turbotui.sampling.history import History
from turbotui.widgets.painter import nice_top, scale_top
from turbotui.widgets.panel import Target
from turbotui.widgets.spark import begun

_ROOM_ABOVE: Final = 1.06
"""The ratio of a scale's end to its greatest limit, so that the limit's line is visible."""
_FAR: Final = 2.5
"""The ratio to the highest value above which a limit is left out, as PL4 would leave only a flat curve."""

_STAY: Final = 0.15
_NEAR: Final = 0.5
_LEAST: Final = 2
"""The least number of charts, if there are that many."""
_FLAT: Final = 0.02
"""The share of the scale below which a curve counts as flat at the bottom."""


@dataclass(frozen=True, slots=True)
class ChartSpec:
    """The definition of a chart, by names of columns, of which the first that the machine has is used."""

    word: str  # its title
    columns: tuple[ColumnId, ...]  # columns for the curve
    # words and columns of limit lines; each word is one line, of its first available column
    limits: tuple[tuple[str, tuple[ColumnId, ...]], ...] = ()
    screen: str = "cpus"  # mode of the screen that tells more
    usual: bool = True  # whether the chart is shown whenever available; others only beside or instead of those
    per_cpu: bool = False  # whether the number of CPUs is a limit


CHARTS: Final = (
    ChartSpec("Load", ("Busy%", "Load%")),
    ChartSpec("Clock", ("Bzy_MHz", "CurMHz", "NowMHz"), (("base", ("BaseMHz",)), ("turbo", ("Turbo1", "TopMHz"))),
              "power"),
    ChartSpec("Power", ("PkgWatt", "SysWatt", "CorWatt"), (("PL1", ("PL1",)), ("PL2", ("PL2",)), ("TDP", ("TDP",))),
              "power"),
    ChartSpec("Heat", ("CoreTmp", "CCDTmp", "PkgTmp"), (("tj_max", ("TjMax",)),), "power"),
    ChartSpec("Pressure", ("PSIcpu%",), screen="tasks", usual=False),
    ChartSpec("Run queue", ("RunQ",), screen="tasks", usual=False, per_cpu=True),
    ChartSpec("Steal", ("steal%",), usual=False),
    ChartSpec("Storage waits", ("PSIio%", "iowait%"), screen="tasks", usual=False),
    ChartSpec("Memory waits", ("PSImem%",), screen="tasks", usual=False),
    ChartSpec("Interrupts", ("IRQ/s",), usual=False),
)
"""All charts, in the order of the screen."""


@dataclass(frozen=True, slots=True)
class ChartSource:
    """A chart that this machine has: its columns, found once."""

    spec: ChartSpec  # the definition
    column: CounterColumn  # of the curve
    limits: tuple[tuple[str, CounterColumn], ...]  # word and column of each line

    @property
    def target(self) -> Target:
        """The cell whose past is drawn."""
        return self.column, SYSTEM_ROW


@dataclass(frozen=True, slots=True)
class ChartLimit:
    """A line in a chart."""

    word: str
    value: float


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart: its values, limits and title at this moment."""

    word: str  # its title
    target: Target  # the cell whose past it shows
    value: float | None  # the present value; None if unknown
    past: Sequence[float]  # oldest first, the newest last, NaN for gaps
    top: float  # end of the scale
    limits: tuple[ChartLimit, ...] = ()  # lines, the lowest first
    ceiling: float | None = None  # the value that must not be reached; None if there is none
    signs: str = ""  # of the value's marks

    @property
    def share(self) -> float:
        """The value's share of its ceiling, or of the scale."""
        return 0.0 if self.value is None else self.value / (self.ceiling or self.top)

    @property
    def is_flat(self) -> bool:
        """Whether the whole past lies at the bottom."""
        return max(begun(self.past), default=0.0) <= _FLAT * self.top


def chart_sources(catalog: Catalog, has: Iterable[CounterColumn]) -> tuple[ChartSource, ...]:
    """Find the charts of a machine."""
    there = {column.id for column in has}

    def first(names: Sequence[ColumnId]) -> CounterColumn | None:
        return next((catalog.get(name) for name in names if name in there), None)

    sources: list[ChartSource] = []
    for spec in CHARTS:
        column = first(spec.columns)
        if column is not None:
            lines = ((word, first(names)) for word, names in spec.limits)
            sources.append(ChartSource(spec, column,
                                       tuple((word, limit) for word, limit in lines if limit is not None)))
    return tuple(sources)


def chart_of(source: ChartSource, frame: Frame, history: History, count: int) -> Chart:
    """Make a chart of at most `count` newest intervals."""
    value = _known(frame.cell(source.column, SYSTEM_ROW))
    past = history.series(source.column, SYSTEM_ROW, count)
    peak = max(begun(past), default=value or 0.0)  # a gap within is above nothing, and nothing above it
    limits = [ChartLimit(word, most) for word, column in source.limits
              if (most := _known(frame.cell(column, SYSTEM_ROW))) is not None and most > 0]
    if source.spec.per_cpu:
        limits.append(ChartLimit("CPUs", float(len(frame.topology.cpus))))
    far = _FAR * max(peak, min((limit.value for limit in limits), default=0.0))
    limits = sorted((limit for limit in limits if limit.value <= far), key=attrgetter("value"))
    column = source.column
    if column.scale_max is not None or column.unit == "%":
        top = scale_top(column.scale_max or 100.0, peak)
    elif limits:
        top = max(limits[-1].value * _ROOM_ABOVE, peak)
    else:
        top = nice_top(max(peak, 1.0))
    ceiling = next((limit.value for limit in limits if limit.word in {"PL1", "tj_max", "CPUs"}), None)
    signs = frame.signs(column, SYSTEM_ROW)
    return Chart(source.spec.word, source.target, value, past, top, tuple(limits), ceiling, signs)


def chosen(charts: Sequence[Chart], usual: Sequence[bool], room: int, before: Sequence[str]) -> list[int]:
    """Return the positions of the charts to show if there is room for only some of them.

    The first one (load) is always shown; then the usual chart nearest to its limit; then others in their order,
    those far up their scale first. An empty chart that is not usual is left out, unless fewer than two charts
    remain.

    Args:
        usual: whether each chart is shown whenever available.
        room: the most charts, at least one.
        before: words of the charts that were shown before.
    """
    empty = {at for at, chart in enumerate(charts) if is_empty(chart, usual[at], before)}

    def rank(at: int) -> tuple[bool, bool, float]:
        chart = charts[at]
        # a shown chart stays until another one is clearly nearer: charts that come and go cannot be read
        near = chart.share + (_STAY if chart.word in before else 0.0)
        if usual[at]:
            return False, False, -near if chart.ceiling else -near / 2
        return True, at in empty, at - (len(charts) if near > _NEAR else 0)

    order = sorted(range(1, len(charts)), key=rank)
    room = min(room, max(len(charts) - len(empty - {0}), _LEAST))
    return sorted([0, *order[:max(0, room - 1)]]) if charts else []


def is_empty(chart: Chart, usual: bool, before: Sequence[str]) -> bool:
    """Tell whether a chart is empty: not usual, not shown before, and flat."""
    return not usual and chart.word not in before and chart.is_flat


def _known(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def recorded_columns(catalog: Catalog, has: Collection[CounterColumn]) -> Iterator[CounterColumn]:
    """The columns that every recording holds for this screen."""
    yield from cpu_numbers(has, None, None, None).columns
    for chart in chart_sources(catalog, has):
        yield from (chart.column, *(limit for _, limit in chart.limits))
