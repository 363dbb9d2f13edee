"""Spies: which events are counted on which CPUs, as users write it (SpyMon: carm, section "SpyMon").

A file in TOML:

    reference = "instructions"          # counted in every set; what sets are joined by

    [[spy]]
    on = "0-3,8"                        # CPUs, or "all", "package 0", "core 3", "package 0 core 3"
    events = ["cycles", "r01c2"]        # split into sets that fit, when they do not fit together

    [[spy]]
    on = "package 1"
    sets = [["cycles", "LLC-loads"], ["branches", "branch-misses"]]

A later [[spy]] replaces an earlier one on the CPUs that both name. Sets are multiplexed, one per interval.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.quantities.documents import DocumentError, parse_toml
from turbotui.quantities.rows import RowError, WrongKindError, each, make_row, tables, texts

REFERENCE = "instructions"
"""The event that joins the sets unless the file names another."""

_MOST_SETS = 64  # a rotation over more intervals than this shows outdated values only
_WORDS = r"(?a)(package|core)\s+(\d+)"


class SpyError(UsageError):
    """A configuration of spies that cannot be used, in one sentence."""


@dataclass(frozen=True, slots=True)
class Target:
    """The CPUs of one entry."""

    text: str  # as written
    cpus: frozenset[int] | None = None  # explicit numbers; None if given by package and core
    package: int | None = None  # sysfs id; None for every package
    core: int | None = None  # sysfs id; None for every core


@dataclass(frozen=True, slots=True)
class Spy:
    """One entry: what is counted where."""

    on: Target
    # event strings in perf's grammar, each set to be counted together, without the reference
    sets: tuple[tuple[str, ...], ...]
    split: bool  # whether the one set was given as `events` and may be split into parts that fit


@dataclass(frozen=True, slots=True)
class SpyPlan:
    """Which event sets spies count, and where."""

    spies: tuple[Spy, ...] = ()  # in the order of the file; the later of two entries for a CPU is used
    reference: str = REFERENCE  # event counted in every set

    @property
    def events(self) -> tuple[str, ...]:
        """Every event once, the reference first, then in the order of the file."""
        named = (name for spy in self.spies for events in spy.sets for name in events)
        return tuple(dict.fromkeys((self.reference, *named))) if self.spies else ()

    @property
    def rotating(self) -> frozenset[str]:
        """Events that may be counted in some of the intervals only."""
        return frozenset(
            name
            for spy in self.spies
            if spy.split or len(spy.sets) > 1
            for events in spy.sets
            for name in events
        ) - {self.reference}

    def with_spy(self, spy: Spy) -> SpyPlan:
        """The plan with one more entry, which replaces an earlier entry for exactly these CPUs."""
        kept = tuple(other for other in self.spies if other.on.text != spy.on.text)
        return SpyPlan((*kept, spy), self.reference)

    def without(self, text: str) -> SpyPlan:
        """The plan without the entry for these CPUs."""
        return SpyPlan(tuple(spy for spy in self.spies if spy.on.text != text), self.reference)


def parse_target(text: str) -> Target:
    """Parse which CPUs "all", "0-3,8", "package 1", "core 3" or "package 1 core 3" means.

    Raises:
        SpyError: the text has none of these forms.
    """
    words = " ".join(text.split())
    if words == "all":
        return Target(words)
    parts = dict(re.findall(_WORDS, words))
    if parts and re.sub(_WORDS, "", words).strip() == "":
        return Target(words, package=int(parts["package"]) if "package" in parts else None,
                      core=int(parts["core"]) if "core" in parts else None)
    if (cpus := _cpu_list(words)) is None:
        raise SpyError(f'"{text}" names no CPUs: write 0-3,8 or all, package 0, core 3, package 0 core 3')
    return Target(words, cpus)


def _cpu_list(text: str) -> frozenset[int] | None:
    """CPUs of "0-3,8"; None if the text is not such a list."""
    cpus: set[int] = set()
    for part in text.split(","):
        if (match := re.fullmatch(r"\s*(\d{1,6})(?:\s*-\s*(\d{1,6}))?\s*", part, re.ASCII)) is None:
            return None
        first = int(match[1])
        last = int(match[2] or first)
        if last < first or last - first > 1 << 16:
            return None
        cpus.update(range(first, last + 1))
    return frozenset(cpus)


def parse_events(text: str) -> tuple[tuple[str, ...], ...]:
    """Parse sets as typed: commas separate events, semicolons sets; commas between slashes do not separate.

    Raises:
        SpyError: there is no event.
    """
    sets = tuple(tuple(_split(part)) for part in text.split(";"))
    sets = tuple(events for events in sets if events)
    if not sets:
        raise SpyError("no event is named: write them as perf does, such as cycles,cache-misses;branches,branch-misses")
    return sets


def _split(text: str) -> list[str]:
    pieces, inside = [""], False
    for letter in text:
        if letter == "/":
            inside = not inside
        if letter == "," and not inside:
            pieces.append("")
        else:
            pieces[-1] += letter
    return [name.strip() for name in pieces if name.strip()]


def typed_spy(on: str, events: str) -> Spy:
    """Parse an entry typed into a form or after --events; a single set may be split, several are used as given.

    Raises:
        SpyError: there are no CPUs, or no event.
    """
    sets = parse_events(events)
    return Spy(parse_target(on), sets, split=len(sets) == 1)


def parse_plan(text: str) -> SpyPlan:
    """Parse a configuration file.

    Raises:
        SpyError: the file is not TOML (with the line), or an entry is wrong (with its number).
    """
    try:
        document = parse_toml(text)
    except DocumentError as error:
        raise SpyError(str(error)) from error
    try:
        written = make_row(_Plan, document, reference=_event, spy=tables("[[spy]]", dict))
    except RowError as error:
        raise SpyError(str(error)) from error
    reference = written.reference
    return SpyPlan(tuple(_entry(number, entry, reference) for number, entry in enumerate(written.spy, 1)), reference)


@dataclass(frozen=True, slots=True)
class _Plan:
    reference: str = REFERENCE
    spy: tuple[Mapping[str, object], ...] = ()


@dataclass(frozen=True, slots=True)
class _Entry:
    on: str = "all"
    events: tuple[str, ...] | None = None
    sets: tuple[tuple[str, ...], ...] | None = None


def _entry(number: int, table: Mapping[str, object], reference: str) -> Spy:
    where = f"[[spy]] number {number}"
    try:
        entry = make_row(_Entry, table, on=_cpus, events=_events, sets=_sets)
        target = parse_target(entry.on)
    except (RowError, SpyError) as error:
        raise SpyError(f"{where}: {error}") from error
    if (entry.events is None) == (entry.sets is None):
        raise SpyError(f"{where} needs either events or sets")
    sets = entry.sets if entry.events is None else (entry.events,)
    counted = tuple(tuple(name for name in events if name != reference) for events in sets or ())
    return Spy(target, counted, split=entry.sets is None)


def _event(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise WrongKindError("the name of an event")
    return value


def _cpus(value: object) -> str:
    """The text of `on`; a lone number is a CPU."""
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise WrongKindError('a text, such as "0-3" or "package 0"')
    return str(value)


def _events(value: object) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(" ".join(text.split()) for text in texts(value)))
    if "" in names:
        raise WrongKindError("a list of texts, none without a name")
    return names


def _sets(value: object) -> tuple[tuple[str, ...], ...]:
    if not isinstance(value, list) or not value:
        raise WrongKindError('a list of lists of events, such as [["cycles"], ["branches"]]')
    if len(value) > _MOST_SETS:
        raise WrongKindError(f"at most {_MOST_SETS} sets, as many as can be multiplexed, instead of {len(value)} sets")
    return each(_events)(value)
