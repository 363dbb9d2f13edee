"""Tables of comparisons: with separate numbers for scripts, and with each column's decimals for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from turbotui.features.diff.comparing import SIGNIFICANT, ComparedColumn, Spread
from turbotui.features.diff.limits import LimitResult
from turbotui.features.diff.series import Side, SpanFacts
from turbotui.quantities.columns import Column, Value
from turbotui.quantities.moments import local_time
from turbotui.quantities.scope import Scope
from turbotui.quantities.tables import AnyTable, Cell, RowTable
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.tables.envelope import timestamp
from turbotui.tables.text import UNKNOWN

TABLES: Final = ("diff", "limits")
"""The names of the tables, that of comma-separated values first."""

DRIFTS: Final = "drifts"
"""The text in place of p if a side has too few independent values."""

_LETTERS: Final = ("A", "B")
_NO_VALUES: Final = Unavailable(Reason.NOT_READ, "there are no values of it")
_NOT_RELATIVE: Final = Unavailable(Reason.OUT_OF_RANGE, "the median of A is 0")


def _level(row: ComparedColumn) -> str:
    return "machine" if row.row.scope is Scope.SYSTEM else row.row.scope.value


def _instance(row: ComparedColumn) -> str:
    return ".".join(map(str, row.row.key))


def _of_side(side: int) -> tuple[Column[ComparedColumn], ...]:
    letter = _LETTERS[side]

    def column(word: str, decimals: int, value: Callable[[Spread], Value], text: str) -> Column[ComparedColumn]:
        def compute(row: ComparedColumn) -> Value:
            spread = row.spreads[side]
            return None if spread is None else value(spread)

        return Column(f"{letter}{word}", "", decimals, (), compute, help=f"{text} in {letter}")

    return (
        column("", 3, lambda spread: spread.median, "median"),
        column(" IQR", 3, lambda spread: spread.range, "interquartile range: width of the middle half"),
        column(" values", 0, lambda spread: spread.count, "how many intervals have a value"),
        column(" independent", 1, lambda spread: spread.independent, "as how many independent values they count"),
    )


DIFF_COLUMNS: Final[tuple[Column[ComparedColumn], ...]] = (
    Column("column", "", -1, (), lambda row: row.column.id, help="name of the compared column", identity=True),
    Column("level", "", -1, (), _level, help="machine, package, core, cpu ...", identity=True),
    Column("instance", "", -1, (), _instance, help="instance of the level", identity=True),
    Column("unit", "", -1, (), lambda row: row.column.unit, help="unit of medians, ranges and difference"),
    *_of_side(0),
    *_of_side(1),
    Column("difference", "", 3, (), lambda row: row.difference, formula="B - A", help="difference of the medians"),
    Column("change", "%", 2, (), lambda row: row.percent, formula="100 * (B - A) / |A|",
           help="the difference in per cent of A's median"),
    Column("effect", "", 3, (), lambda row: row.effect, formula="Cliff's delta",
           help="share of pairs in which B is greater, less the share in which it is smaller"),
    Column("size", "", -1, (), lambda row: row.size or None,
           help="size of the effect: negligible, small, medium, large"),
    Column("p", "", 6, (), lambda row: row.p, formula="Mann-Whitney, of independent values, corrected after Holm",
           help="probability that chance alone gives such an effect in any of the comparisons"),
    Column("verdict", "", -1, (), lambda row: row.verdict,
           help=f"differs (p below {SIGNIFICANT}), no difference found, not compared"),
    Column("reason", "", -1, (), lambda row: "" if row.why is None else row.why.detail,
           help="reason for which nothing was compared"),
)
LIMIT_COLUMNS: Final[tuple[Column[LimitResult], ...]] = (
    Column("limit", "", -1, (), lambda row: row.limit.text, help="the limit, as it was given", identity=True),
    Column("column", "", -1, (), lambda row: row.limit.column, help="column that the limit is for"),
    Column("allowed", "%", 2, (), lambda row: row.limit.sign * row.limit.percent, help="allowed change of its median"),
    Column("level", "", -1, (), lambda row: None if row.comparison is None else _level(row.comparison),
           help="level of the worst row"),
    Column("instance", "", -1, (), lambda row: None if row.comparison is None else _instance(row.comparison),
           help="instance of the worst row"),
    Column("change", "%", 2, (), lambda row: None if row.comparison is None else row.comparison.percent,
           help="change of the worst row's median"),
    Column("verdict", "", -1, (), lambda row: row.verdict, help="kept, broken, not checked"),
    Column("sentence", "", -1, (), lambda row: row.sentence, help="the result in words"),
)


def _judge(column: Column[ComparedColumn], row: ComparedColumn, value: Value) -> Cell:
    if value is not None:
        return Cell(value)
    return Cell(None, row.why or (_NOT_RELATIVE if column.id == "change" else _NO_VALUES))


def diff_tables(rows: Sequence[ComparedColumn], results: Sequence[LimitResult]) -> tuple[AnyTable, ...]:
    """Return the tables of comparisons, and of limits if there are any."""
    tables: list[AnyTable] = [RowTable("diff", "comparison", DIFF_COLUMNS, rows, _judge)]
    if results:
        tables.append(RowTable("limits", "limit", LIMIT_COLUMNS, results, lambda _column, row, value: Cell(
            value, Unavailable(Reason.NOT_READ, row.sentence) if value is None else None)))
    return tuple(tables)


def _number(row: ComparedColumn, value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:,.{max(row.column.decimals, 0)}f}".replace(",", "")


def _median(side: int) -> Callable[[ComparedColumn], Value]:
    return lambda row: UNKNOWN if (spread := row.spreads[side]) is None else _number(row, spread.median)


def _range(side: int) -> Callable[[ComparedColumn], Value]:
    return lambda row: UNKNOWN if (spread := row.spreads[side]) is None else _number(row, spread.range)


def _change(percent: float | None) -> str:
    if percent is None:
        return UNKNOWN
    return f"{percent:+.1f}%" if abs(percent) < 1000.0 else f"{percent:+.0f}%"


def _p_text(row: ComparedColumn) -> str:
    if row.p is None:
        return UNKNOWN if row.effect is None else DRIFTS
    return "<0.001" if row.p < 0.001 else f"{row.p:.3f}"


_NAME: Final[tuple[Column[ComparedColumn], ...]] = (
    Column("column", "", -1, (), lambda row: row.column.id, priority=0),
)
_PLACE: Final[tuple[Column[ComparedColumn], ...]] = (
    Column("row", "", -1, (), lambda row: f"{_level(row)} {_instance(row)}".rstrip(), priority=0),
)
_NUMBERS: Final[tuple[Column[ComparedColumn], ...]] = (
    Column("unit", "", -1, (), lambda row: row.column.unit, priority=3, width=3),
    Column("A", "", 0, (), _median(0), priority=1),
    Column("A IQR", "", 0, (), _range(0), priority=4),
    Column("B", "", 0, (), _median(1), priority=1),
    Column("B IQR", "", 0, (), _range(1), priority=4),
    Column("change", "", 0, (), lambda row: _change(row.percent), priority=0),
    Column("effect", "", 0, (), lambda row: UNKNOWN if row.effect is None else f"{row.effect:+.2f}", priority=2),
    Column("size", "", -1, (), lambda row: row.size or UNKNOWN, priority=5),
    Column("p", "", 0, (), _p_text, priority=2),
)
_VERDICT: Final[tuple[Column[ComparedColumn], ...]] = (
    Column("verdict", "", -1, (), lambda row: row.verdict, priority=3),
)


def text_table(rows: Sequence[ComparedColumn], *, verdicts: bool) -> AnyTable:
    """Format the comparisons for people; `verdicts` tells for each row whether it differs, because some do not."""
    places = any(row.row.scope is not Scope.SYSTEM for row in rows)
    columns = (*_NAME, *(_PLACE if places else ()), *_NUMBERS, *(_VERDICT if verdicts else ()))
    return RowTable("diff", "comparison", columns, rows)


def facts_of(first: Side, second: Side) -> dict[str, Value]:
    """Return the facts of the whole comparison, by name."""
    values: dict[str, Value] = {}
    for letter, side in zip(_LETTERS, (first, second), strict=True):
        facts = side.facts
        values |= {letter: facts.name, f"{letter} from": timestamp(facts.begin_ns),
                   f"{letter} to": timestamp(facts.end_ns), f"{letter} intervals": facts.intervals,
                   f"{letter} seconds": facts.seconds, f"{letter} left out": facts.left_out}
        values |= {f"{letter} {name}": text for name, text in facts.circumstances.items() if text}
    return values


def span_line(letter: str, facts: SpanFacts) -> str:
    """Describe a span for people: recording, time, number of intervals."""
    begin, end = map(local_time, (facts.begin_ns, facts.end_ns))
    until = f"{end:%H:%M:%S}" if begin.date() == end.date() else f"{end:%Y-%m-%d %H:%M:%S}"
    return (f"{letter}  {facts.name}: {begin:%Y-%m-%d %H:%M:%S} to {until}, {facts.intervals:,} intervals of "
            f"{facts.seconds:.3g} s")
