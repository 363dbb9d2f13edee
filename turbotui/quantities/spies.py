"""Spies: which events are counted on which CPUs, as people write it down (SpyMon: carm, section "SpyMon").

A file in TOML:

    reference = "instructions"          # counted in every set; what sets are joined by

    [[spy]]
    on = "0-3,8"                        # CPUs, or "all", "package 0", "core 3", "package 0 core 3"
    events = ["cycles", "r01c2"]        # split into sets that fit, when they do not fit together

    [[spy]]
    on = "package 1"
    sets = [["cycles", "LLC-loads"], ["branches", "branch-misses"]]

A later [[spy]] replaces an earlier one on the CPUs that both name. Sets take turns, one an interval.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from turbotui.errors import UsageError
from turbotui.quantities.documents import DocumentError, parse_toml
from turbotui.untrusted import toml_text

REFERENCE = "instructions"
"""What sets are joined by unless the file says otherwise."""

_MOST_SETS = 64  # a rotation of more intervals than this shows nothing that is still true
_WORDS = re.compile(r"(package|core)\s+(\d+)", re.ASCII)


class SpyError(UsageError):
    """A configuration of spies that cannot be followed; one sentence."""


@dataclass(frozen=True, slots=True)
class Target:
    """The CPUs of one entry.

    Attributes:
        text: as written.
        cpus: named one by one; None: by package and core.
        package: sysfs id, None for every one.
        core: sysfs id, None for every one.
    """

    text: str
    cpus: frozenset[int] | None = None
    package: int | None = None
    core: int | None = None


@dataclass(frozen=True, slots=True)
class Spy:
    """One entry: what is counted where.

    Attributes:
        sets: event strings in perf's grammar, each set to be counted together, without the reference.
        split: the one set was given as `events`, and may be split until each part fits.
    """

    on: Target
    sets: tuple[tuple[str, ...], ...]
    split: bool


@dataclass(frozen=True, slots=True)
class SpyPlan:
    """A whole configuration.

    Attributes:
        spies: in the order of the file; of two that name a CPU the later one holds.
        reference: event counted in every set.
    """

    spies: tuple[Spy, ...] = ()
    reference: str = REFERENCE

    @property
    def events(self) -> tuple[str, ...]:
        """Every event once, the reference first, in the order of the file."""
        named = (name for spy in self.spies for events in spy.sets for name in events)
        return tuple(dict.fromkeys((self.reference, *named))) if self.spies else ()

    @property
    def rotating(self) -> frozenset[str]:
        """Events that may be counted in part of the intervals only."""
        return frozenset(
            name
            for spy in self.spies
            if spy.split or len(spy.sets) > 1
            for events in spy.sets
            for name in events
        ) - {self.reference}

    def with_spy(self, spy: Spy) -> SpyPlan:
        """The same with one more entry, in the place of an earlier one for exactly these CPUs."""
        kept = tuple(one for one in self.spies if one.on.text != spy.on.text)
        return SpyPlan((*kept, spy), self.reference)

    def without(self, text: str) -> SpyPlan:
        """The same without the entry for these CPUs."""
        return SpyPlan(tuple(one for one in self.spies if one.on.text != text), self.reference)


def parse_target(text: str) -> Target:
    """Which CPUs "all", "0-3,8", "package 1", "core 3" or "package 1 core 3" are.

    Raises:
        SpyError: it is none of these.
    """
    words = " ".join(text.split())
    if words == "all":
        return Target(words)
    found = dict(_WORDS.findall(words))
    if found and _WORDS.sub("", words).strip() == "":
        return Target(
            words,
            package=int(found["package"]) if "package" in found else None,
            core=int(found["core"]) if "core" in found else None,
        )
    cpus = _cpu_list(words)
    if cpus is None:
        raise SpyError(f'"{text}" names no CPUs: write 0-3,8 or all, package 0, core 3, package 0 core 3')
    return Target(words, cpus)


def _cpu_list(text: str) -> frozenset[int] | None:
    """CPUs of "0-3,8"; None if it is not one."""
    cpus: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,6})(?:\s*-\s*(\d{1,6}))?\s*", part, re.ASCII)
        if match is None:
            return None
        first = int(match[1])
        last = int(match[2] or first)
        if last < first or last - first > 1 << 16:
            return None
        cpus.update(range(first, last + 1))
    return frozenset(cpus)


def parse_events(text: str) -> tuple[tuple[str, ...], ...]:
    """Sets as a person types them: events by commas, sets by semicolons; commas between slashes stay.

    Raises:
        SpyError: there is no event.
    """
    sets = tuple(tuple(_split(part)) for part in text.split(";"))
    sets = tuple(events for events in sets if events)
    if not sets:
        raise SpyError("no event is named: write them as perf does, such as cycles,cache-misses;branches,branch-misses")
    return sets


def _split(text: str) -> list[str]:
    found, inside = [""], False
    for letter in text:
        if letter == "/":
            inside = not inside
        if letter == "," and not inside:
            found.append("")
        else:
            found[-1] += letter
    return [name.strip() for name in found if name.strip()]


def typed_spy(on: str, events: str) -> Spy:
    """An entry as typed into a form or after --events; one set may be split, several are taken as they are.

    Raises:
        SpyError: no CPUs, or no event.
    """
    sets = parse_events(events)
    return Spy(parse_target(on), sets, split=len(sets) == 1)


def parse_plan(text: str) -> SpyPlan:
    """A configuration file.

    Raises:
        SpyError: it is not TOML (with the line), or an entry is not as it has to be (with its number).
    """
    try:
        document = parse_toml(text)
    except DocumentError as error:
        raise SpyError(str(error)) from error
    unknown = document.keys() - {"reference", "spy"}
    if unknown:
        raise SpyError(f"it has no place for {', '.join(sorted(unknown))}: only reference and [[spy]] are known")
    reference = document.get("reference", REFERENCE)
    if not isinstance(reference, str) or not reference.strip():
        raise SpyError("reference has to be the name of an event")
    entries = document.get("spy", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise SpyError("spies are written as [[spy]] tables")
    return SpyPlan(tuple(_entry(number, entry, reference) for number, entry in enumerate(entries, 1)), reference)


def _entry(number: int, entry: Mapping[str, object], reference: str) -> Spy:
    where = f"[[spy]] number {number}"
    unknown = entry.keys() - {"on", "events", "sets"}
    if unknown:
        raise SpyError(f"{where} has no place for {', '.join(sorted(unknown))}: only on, events and sets are known")
    on, events, sets = entry.get("on", "all"), entry.get("events"), entry.get("sets")
    if isinstance(on, int) and not isinstance(on, bool):
        on = str(on)
    if not isinstance(on, str):
        raise SpyError(f'{where}: on has to be a text, such as "0-3" or "package 0"')
    if (events is None) == (sets is None):
        raise SpyError(f"{where} needs either events or sets")
    try:
        target = parse_target(on)
    except SpyError as error:
        raise SpyError(f"{where}: {error}") from error
    found = (_names(where, events, reference),) if sets is None else _sets(where, sets, reference)
    return Spy(target, found, split=sets is None)


def _sets(where: str, sets: object, reference: str) -> tuple[tuple[str, ...], ...]:
    if not isinstance(sets, list) or not sets:
        raise SpyError(f'{where}: sets has to be a list of lists of events, such as [["cycles"], ["branches"]]')
    if len(sets) > _MOST_SETS:
        raise SpyError(f"{where} has {len(sets)} sets, and {_MOST_SETS} can take turns")
    return tuple(_names(where, events, reference) for events in sets)


def _names(where: str, events: object, reference: str) -> tuple[str, ...]:
    if not isinstance(events, Sequence) or isinstance(events, str) or not all(isinstance(one, str) for one in events):
        raise SpyError(f"{where}: events are a list of texts, as perf writes them")
    names = tuple(dict.fromkeys(" ".join(str(one).split()) for one in events))
    if "" in names:
        raise SpyError(f"{where} has an event without a name")
    return tuple(name for name in names if name != reference)


def plan_text(plan: SpyPlan) -> str:
    """A configuration as its file."""
    lines = [f"reference = {_quoted(plan.reference)}"]
    for spy in plan.spies:
        sets = ["[" + ", ".join(_quoted(name) for name in events) + "]" for events in spy.sets]
        lines += ["", "[[spy]]", f"on = {_quoted(spy.on.text)}"]
        lines.append(f"events = {sets[0]}" if spy.split else f"sets = [{', '.join(sets)}]")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A basic string of TOML 1.0."""
    return toml_text(text)
