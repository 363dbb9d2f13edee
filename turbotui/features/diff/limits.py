"""Limits of a check: by how much a column may be more, or less, on the second side than on the first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.features.diff.comparing import SIGNIFICANT, ComparedColumn
from turbotui.quantities.columns import ColumnId
from turbotui.quantities.plain_numbers import decimal
from turbotui.quantities.scope import Scope
from turbotui.untrusted import one_line

BROKEN: Final = 5
"""The exit status if a column got worse by more than its limit."""
DOUBTFUL: Final = 6
"""The exit status if a limit could not be checked."""

_FORM: Final = re.compile(r"(?P<name>\S.*?)\s*(?P<sign>[+-])\s*(?P<percent>\d+(?:\.\d+)?)\s*%")


@dataclass(frozen=True, slots=True)
class Limit:
    """By how much a column may get worse."""

    text: str  # as it was written
    column: ColumnId  # its name
    sign: int  # 1 if more is worse, -1 if less is worse
    percent: float  # the limit in per cent of the first side's median


@dataclass(frozen=True, slots=True)
class LimitResult:
    """The result of checking a limit."""

    limit: Limit
    comparison: ComparedColumn | None  # the worst row; None if neither recording has the column
    verdict: str  # "kept", "broken" or "not checked"
    sentence: str  # the verdict for people


def parse_limit(text: str) -> Limit:
    """Parse a limit of the command line: "PkgWatt +5%", "Bzy_MHz -2%". Raises UsageError if the text is no limit."""
    if (match := _FORM.fullmatch(text.strip())) is None:
        raise UsageError(f'"{text}" is no limit: write a column, + where more is worse or - where less is, and how '
                         'many per cent are allowed, as "PkgWatt +5%" or "Bzy_MHz -2%"')
    return Limit(text.strip(), match["name"], 1 if match["sign"] == "+" else -1, decimal(match["percent"]))


def checked(limit: Limit, comparisons: Sequence[ComparedColumn]) -> LimitResult:
    """Check a limit for every row of its column; the worst row decides.

    A row is worse than allowed if its median moved by more than the limit in the limit's direction, and by more than
    chance. Rows that could not be compared leave the limit unchecked, unless another one is worse than allowed.
    """
    rows = [comparison for comparison in comparisons if comparison.column.id == limit.column]
    if not rows:
        return LimitResult(limit, None, "not checked", _in_words(limit, "NOT CHECKED",
                                                                 f"{limit.column} was not recorded"))
    worst = max(rows, key=lambda column: (_exceeds(limit, column) and column.differs, _worse(limit, column)))
    if _exceeds(limit, worst) and worst.differs:
        return LimitResult(limit, worst, "broken", _in_words(limit, "BROKEN", _moved(worst)))
    if _exceeds(limit, worst) and worst.p is not None and not worst.could_differ:
        return LimitResult(limit, worst, "not checked", _in_words(
            limit, "NOT CHECKED", f"{_moved(worst)}, and so few values cannot tell that from chance"))
    unknown = next((row for row in rows if row.p is None), None)
    if unknown is not None:
        why = "" if unknown.why is None else f": {unknown.why.detail}"
        return LimitResult(limit, unknown, "not checked", _in_words(limit, "NOT CHECKED", f"{_moved(unknown)}{why}"))
    chance = f", which may be chance (p {worst.p:.2g})" if worst.p is not None and _exceeds(limit, worst) else ""
    return LimitResult(limit, worst, "kept", _in_words(limit, "kept", f"{_moved(worst)}{chance}"))


def _in_words(limit: Limit, verdict: str, why: str) -> str:
    return f'--limit "{limit.text}" {verdict}: {why}'


def exit_status(results: Sequence[LimitResult]) -> int:
    """Return 0 if all limits are kept, 5 if one is broken, else 6 if one could not be checked."""
    verdicts = {result.verdict for result in results}
    return BROKEN if "broken" in verdicts else DOUBTFUL if "not checked" in verdicts else 0


def _worse(limit: Limit, column: ComparedColumn) -> float:
    """Return the change in the limit's direction in per cent; infinite if the value was 0 and is not any more."""
    if column.percent is not None:
        return limit.sign * column.percent
    difference = limit.sign * (column.difference or 0.0)
    return float("inf") if difference > 0 else float("-inf") if difference < 0 else 0.0


def _exceeds(limit: Limit, column: ComparedColumn) -> bool:
    return column.effect is not None and _worse(limit, column) > limit.percent


def _name(compared: ComparedColumn) -> str:
    row = compared.row
    where = "" if row.scope is Scope.SYSTEM else f" of {row.scope.value} {'.'.join(map(str, row.key))}"
    return one_line(f"{compared.column.id}{where}")


def _moved(compared: ComparedColumn) -> str:
    first, second = compared.spreads
    if first is None or second is None or compared.difference is None:
        return f"{_name(compared)} cannot be compared"
    digits = max(compared.column.decimals, 0)
    medians = f"median {first.median:.{digits}f} to {second.median:.{digits}f} {compared.column.unit}".rstrip()
    if not compared.difference:
        return f"{_name(compared)} is unchanged ({medians})"
    way = "higher" if compared.difference > 0 else "lower"
    percent = "" if compared.percent is None else f" {abs(compared.percent):.1f} %"
    sure = f", p {compared.p:.2g}" if compared.p is not None and compared.p < SIGNIFICANT else ""
    return f"{_name(compared)} is{percent} {way} in B ({medians}{sure})"
