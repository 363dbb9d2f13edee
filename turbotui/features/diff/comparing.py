"""Compares two sides by column and row: differences beyond chance, and values that cannot be compared."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.diff.ranks import RankTest, holm, quantile, rank_test
from turbotui.features.diff.series import Key, Series, Side
from turbotui.quantities.columns import ColumnId, CounterColumn
from turbotui.quantities.scope import RowId
from turbotui.quantities.sentences import several
from turbotui.quantities.unavailable import Reason, Unavailable

SIGNIFICANT: Final = 0.05
"""The probability below which a difference, corrected for all comparisons, is not by chance."""
FEWEST: Final = 5
"""The least values of each side for a comparison."""

ANOTHER_TEXT: Final = "another text"
"""The beginning of the reason if a column was a constant text, with another text on the other side."""

_SIZES: Final = ((0.147, "negligible"), (0.33, "small"), (0.474, "medium"))  # of |delta| (Romano and others 2006)


@dataclass(frozen=True, slots=True)
class Spread:
    """The values of one side, in the column's unit."""

    count: int  # the number of values
    independent: float  # the equivalent number of independent values
    # low, median, high: the quartiles
    low: float
    median: float
    high: float

    @property
    def range(self) -> float:
        """The interquartile range."""
        return self.high - self.low


@dataclass(frozen=True, slots=True)
class ComparedColumn:
    """A column in a row on both sides."""

    column: CounterColumn  # the first side's column, or the second's if the first lacks it
    row: RowId
    spreads: tuple[Spread | None, Spread | None]  # the values of the first and the second side; None without values
    # Cliff's delta, above 0 if the second side is greater; None if the values are of different quantities
    effect: float | None = None
    # the probability of such an effect by chance, corrected for all comparisons; None if nothing was compared
    p: float | None = None
    least: float | None = None  # the p of sides without any overlap; None if nothing was compared
    why: Unavailable | None = None  # why nothing was compared

    @property
    def differs(self) -> bool:
        """Whether the two spans differ by more than chance."""
        return self.p is not None and self.p < SIGNIFICANT

    @property
    def difference(self) -> float | None:
        """The second median less the first."""
        first, second = self.spreads
        return None if first is None or second is None or self.effect is None else second.median - first.median

    @property
    def percent(self) -> float | None:
        """The difference in per cent of the first median; None also if that is 0."""
        first, difference = self.spreads[0], self.difference
        return None if first is None or difference is None or not first.median \
            else 100.0 * difference / abs(first.median)

    @property
    def could_differ(self) -> bool:
        """Whether there are enough independent values for any difference to be significant."""
        return self.least is not None and self.least < SIGNIFICANT

    @property
    def size(self) -> str:
        """A word for the size of the effect; "" if there is none."""
        if self.effect is None:
            return ""
        return next((word for bound, word in _SIZES if abs(self.effect) < bound), "large")

    @property
    def verdict(self) -> str:
        """"differs", "no difference found", or "not compared"."""
        if self.p is None:
            return "not compared"
        return "differs" if self.differs else "no difference found"


def compared(first: Side, second: Side, named: Collection[ColumnId] = ()) -> tuple[ComparedColumn, ...]:
    """Compare two sides: differences first, greatest effects on top; values that cannot be compared last.

    Columns that were not `named` are left out if neither side has values.
    """
    every = dict.fromkeys((*first.series, *second.series))
    keys = [key for key in every if key[0] in named
            or any(series is not None and (series.numbers or series.words)
                   for series in (first.series.get(key), second.series.get(key)))]
    tests: dict[Key, RankTest] = {}
    reasons: dict[Key, Unavailable] = {}
    for key in keys:
        earlier, other = first.series.get(key), second.series.get(key)
        if (why := _why_not(earlier, other)) is not None or earlier is None or other is None:
            reasons[key] = why or Unavailable(Reason.NOT_READ, "only one of the two recordings has it")
        else:
            tests[key] = rank_test(earlier.numbers, other.numbers)
    family = [key for key, test in tests.items() if _varies(first.series[key], second.series[key])
              and test.least < SIGNIFICANT]
    chances = dict(zip(family, holm([tests[key].p for key in family]), strict=True))
    comparisons = []
    for key in keys:
        series = first.series.get(key) or second.series.get(key)
        if series is not None:
            plain = ComparedColumn(series.column, series.row, (_spread(first, key, tests), _spread(second, key, tests)))
            test = tests.get(key)
            if test is None:
                comparisons.append(replace(plain, why=reasons.get(key)))
            elif test.least >= SIGNIFICANT and _varies(first.series[key], second.series[key]):
                comparisons.append(replace(plain, effect=test.effect, why=_drifting(plain.spreads)))
            else:
                comparisons.append(replace(plain, effect=test.effect, p=chances.get(key, 1.0),
                                           least=min(1.0, test.least * len(family))))
    return tuple(sorted(comparisons, key=_order))


def _varies(first: Series, second: Series) -> bool:
    """Tell whether there is more than one value; constant columns do not count as comparisons."""
    return len({*first.numbers, *second.numbers}) > 1


def _why_not(first: Series | None, second: Series | None) -> Unavailable | None:
    for word, series in (("A", first), ("B", second)):
        if series is None:
            return Unavailable(Reason.NOT_READ, f"{word} has no such column or row")
        if not series.numbers and not series.words:
            why = series.why
            return Unavailable(Reason.NOT_READ if why is None else why.reason,
                               f"unknown in {word}" + (f": {why.detail}" if why is not None else ""))
    if first is None or second is None:
        return None
    if first.words or second.words:
        return Unavailable(Reason.OUT_OF_RANGE, _texts(first, second))
    meaning, theirs = _meaning(first.column), _meaning(second.column)
    if meaning != theirs:
        return Unavailable(Reason.OUT_OF_RANGE, f"another quantity: {meaning} in A, {theirs} in B")
    if min(len(first.numbers), len(second.numbers)) < FEWEST:
        return Unavailable(Reason.NOT_READ, f"too few: {len(first.numbers)} values in A, {len(second.numbers)} in B, "
                           f"{FEWEST} each are needed")
    return None


def _texts(first: Series, second: Series) -> str:
    words, theirs = (", ".join(series.words) or "a number" for series in (first, second))
    if words == theirs:
        return f"a text: {words} in both"
    steady = len(first.words) <= 1 and len(second.words) <= 1
    return f"{ANOTHER_TEXT if steady else 'a text'}: {words} in A, {theirs} in B"


def _meaning(column: CounterColumn) -> str:
    return f"{column.unit or 'a number'} of a {column.scope.value}"


def _drifting(spreads: tuple[Spread | None, Spread | None]) -> Unavailable:
    """Return why sides with too few independent values cannot be compared."""
    words = [f"{spread.count} values of {letter} count as {spread.independent:.1f}"
             for letter, spread in zip("AB", spreads, strict=True) if spread is not None]
    return Unavailable(Reason.OUT_OF_RANGE, f"too few independent values: {', '.join(words)}; compare longer or "
                       "steadier times")


def _spread(side: Side, key: Key, tests: Mapping[Key, RankTest]) -> Spread | None:
    series, test = side.series.get(key), tests.get(key)
    if series is None or not series.numbers:
        return None
    ordered = sorted(series.numbers)
    independent = float(len(ordered)) if test is None else test.sizes[side.number]
    return Spread(len(ordered), independent, *(quantile(ordered, share) for share in (0.25, 0.5, 0.75)))


def _order(column: ComparedColumn) -> tuple[int, float, float]:
    return (0 if column.differs else 1 if column.p is not None else 2, -abs(column.effect or 0.0),
            -abs(column.percent or 0.0))


def notes_of(first: Side, second: Side, columns: Sequence[ComparedColumn]) -> tuple[str, ...]:
    """Return notes for readers of the comparison."""
    notes = [*_other_circumstances(first.facts.circumstances, second.facts.circumstances)]
    for word, side in (("A", first), ("B", second)):
        notes += [f"{word} is damaged: {text}" for text in side.facts.missing]
        if side.facts.left_out:
            notes.append(f"{several(side.facts.left_out, 'interval')} of {word} left out: longer or shorter than the "
                         "others by more than a quarter")
    notes += [f"{comparison.column.id} is {comparison.why.detail}" for comparison in columns
              if comparison.why is not None and comparison.why.detail.startswith(ANOTHER_TEXT)]
    able = [comparison for comparison in columns if comparison.p is not None]
    if able and not any(comparison.could_differ for comparison in able):
        notes.append(f"{several(len(able), 'comparison')} of so few values cannot tell a difference from chance: "
                     "compare longer times, or name fewer columns with --columns")
    return tuple(notes)


def _other_circumstances(first: Mapping[str, str], second: Mapping[str, str]) -> list[str]:
    """Return sentences about circumstances that differ, or that only one recording tells."""
    notes = []
    for name, value in first.items():
        theirs = second.get(name, "")
        if value == theirs:
            continue
        if not value or not theirs:
            notes.append(f"{name}: {value or theirs} in {'A' if value else 'B'}, the other recording does not tell")
        else:
            notes.append(f"another {name}: {value} in A, {theirs} in B")
    return notes
