"""Columns of `turbotui stat`: turbostat's words, categories and defaults (docs/specs/turbostat.md 1.4, 1.8, 1.9)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from turbotui.dataclass import dataclass
from turbotui.errors import nearest
from turbotui.features.stat.options import StatError, StatOptions, StatTask
from turbotui.quantities.catalog import Catalog
from turbotui.quantities.columns import Category, ColumnId, CounterColumn

_UNKNOWN_NAME = 234  # exit status (docs/specs/turbostat.md 1.12)

GROUPS = ("topology", "frequency", "idle", "hwidle", "swidle", "sysfs", "cpuidle", "pct_idle", "power", "cache", "llc",
          "other")
"""turbostat's category words beside `all` (docs/specs/turbostat.md 1.4); a column says of which it is."""

EXTRA = "extra"
"""turbotui's own word for every column that turbostat lacks."""

_OFF: frozenset[ColumnId] = frozenset({"usec", "Time_Of_Day_Seconds", "APIC", "X2APIC"})  # docs/specs/turbostat.md 1.4
_NEVER_PRINTED: frozenset[ColumnId] = frozenset({"ThreadC", "CoreCnt", "PkgCnt"})  # known names without a column
_WATTS, _JOULES = "Watt", "_J"


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """The columns that were chosen."""

    columns: tuple[CounterColumn, ...]  # the columns to print, in print order, all of them available
    absent: tuple[ColumnId, ...]  # ids that were named and are not available here


def choose(catalog: Catalog, options: StatOptions, absent: Callable[[CounterColumn], bool]) -> ColumnChoice:
    """Apply the defaults, then --show, --hide and --enable from left to right.

    Raises:
        StatError: a word names nothing (exit status 234).
    """
    everything = options.debug > 0 or options.task in (StatTask.LIST, StatTask.DUMP)
    shown = {column.id for column in catalog.columns if _is_turbostat(column)
             and (everything or (column.id not in _OFF and "cpuidle" not in column.groups))}
    named: set[ColumnId] = set()
    hidden: set[ColumnId] = set()
    cleared = False
    for verb, words in options.choices:
        if verb == "show" and not cleared:
            shown, cleared = set(), True
        for word in words.split(","):
            meant = set(_meant(catalog, word, verb))
            meant |= catalog.errors_of(meant)
            if verb == "hide":
                named -= meant & {word}
                shown -= meant
                hidden |= meant & {word}
            else:
                named |= meant & {word}
                shown |= meant
    # as in turbostat: added columns are always shown, unless they are hidden by name
    shown |= {column.id for column in catalog.columns if "added" in column.groups and column.id not in hidden}
    if options.joules:
        shown, named = _in_joules(catalog, shown), _in_joules(catalog, named)
    wanted = [column for column in catalog.columns if column.id in shown]
    if options.summary_only:
        wanted = [column for column in wanted if column.category is not Category.TOPOLOGY]
    return ColumnChoice(tuple(column for column in wanted if not absent(column)),
                        tuple(column.id for column in wanted if column.id in named and absent(column)))


def _is_turbostat(column: CounterColumn) -> bool:
    """Tell whether turbostat has the column without --Joules."""
    return not column.extra and not _is_joules(column)


def _is_joules(column: CounterColumn) -> bool:
    """Tell whether a column replaces one of watts with --Joules; a category means one of the two."""
    return column.unit == "J" and column.id.endswith(_JOULES)


def _meant(catalog: Catalog, word: str, verb: str) -> Iterator[ColumnId]:
    """Return the columns that a word names. Raises StatError if the word names no column and no category."""
    if word == "all":
        yield from (column.id for column in catalog.columns if _is_turbostat(column))
    elif word == EXTRA:
        yield from (column.id for column in catalog.columns if column.extra)
    elif word in GROUPS:
        yield from (column.id for column in catalog.columns if word in column.groups and not _is_joules(column))
    elif word in catalog.by_id:
        yield word
    elif word in {category.value for category in Category}:
        yield from (column.id for column in catalog.columns
                    if column.category.value == word and not _is_joules(column))
    elif word not in _NEVER_PRINTED:
        what = "skipped" if verb == "hide" else "added"
        hint = nearest(word, (*catalog.by_id, *GROUPS, "all", EXTRA), 3) or (
            f"; --add {word} adds an event" if verb == "enable" else "")
        raise StatError(f"Counter '{word}' can not be {what}: there is no such column here{hint}", _UNKNOWN_NAME)


def _in_joules(catalog: Catalog, names: Iterable[ColumnId]) -> set[ColumnId]:
    """Replace columns of watts by those of joules, for every vendor and category."""
    in_joules: set[ColumnId] = set()
    for name in names:
        joules = name.removesuffix(_WATTS) + _JOULES
        in_joules.add(joules if name.endswith(_WATTS) and joules in catalog.by_id else name)
    return in_joules
