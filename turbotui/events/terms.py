"""Converts the terms between a PMU's slashes to fields of perf_event_attr (perf-list(1), PARAMETERIZED EVENTS)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from turbotui.errors import nearest
from turbotui.events.devices import find_event
from turbotui.events.errors import (
    ConflictError,
    DescriptionError,
    MissingParameterError,
    TermRangeError,
    TermValueError,
    UnknownTermError,
)
from turbotui.events.names import HARDWARE, HW_CACHE, generic_event, in_any_case
from turbotui.events.options import NUMBER, OPTIONS, WORD_BITS, WORDS, Settings, needed, read_number, set_option
from turbotui.events.syntax import EventTerm
from turbotui.events.uncore.filters import check
from turbotui.machine.pmus import Pmu, PmuEvent, TermFormat

_RAW = r"(?a)r(?:0[xX])?([0-9a-fA-F]{1,16})"
_LEGACY = {"legacy-hardware-config": HARDWARE, "legacy-cache-config": HW_CACHE}
"""Terms by which newer perf writes the kernel's generic events in a core PMU (tools/perf/util/parse-events.l)."""
_EVERY_BIT = (1 << WORD_BITS) - 1
_OPPOSITES = {"no-inherit": "inherit", "no-overwrite": "overwrite", "freq": "period"}
"""Terms that set the same thing as another term."""
_TABLE_OPTIONS = {"period": "sample_period"}
"""Terms of vendors' tables that are no field of a PMU, with the member of the attribute that each sets."""


def place(pmu: str, where: TermFormat, number: int) -> int:
    """Spread a value over the bits of a field, and return the config word.

    Raises:
        TermRangeError: the value needs more bits than the field has.
    """
    width = len(where.bits)
    if number >> width:
        raise TermRangeError(
            f"The value {number:#x} does not fit the term {where.name!r} of the PMU {pmu}, which has {width} bits "
            f"({_ranges(where)}) and takes at most {(1 << width) - 1:#x}.")
    if where.bits[-1] - where.bits[0] + 1 == width:
        return number << where.bits[0]
    return sum(1 << bit for index, bit in enumerate(where.bits) if number >> index & 1)


def _ranges(where: TermFormat) -> str:
    parts: list[str] = []
    for bit in where.bits:
        first, _, last = parts[-1].partition("-") if parts else ("", "", "")
        if parts and int(last or first) + 1 == bit:
            parts[-1] = f"{first}-{bit}"
        else:
            parts.append(str(bit))
    return f"{WORDS[where.word]}:{','.join(parts)}"


def settings_of(pmu: Pmu, terms: Sequence[EventTerm], *, core: bool, extended: bool) -> Settings:
    """Collect the settings that the terms of one PMU's event make.

    Args:
        core: whether the PMU is a core PMU, whose terms may be generic names.
        extended: whether generic events carry the PMU's type in bits 32 and up, because there are several core PMUs.

    Raises:
        EventError: one of its classes, for each kind of fault.
    """
    check_once(terms)
    settings = Settings()
    written: dict[str, int] = {}
    alias: PmuEvent | None = None
    for term in terms:
        if (event := _alias(pmu, term)) is not None:
            _take_event(settings, f"{pmu.name}/{event.name}/")
            alias = event
        elif term.name in pmu.formats:
            written[term.name] = _written(pmu, term)
        elif not set_option(settings, term):
            _generic(pmu, term, settings, core=core, extended=extended)
    check_config(settings)
    explicit = tuple(settings.words)
    merged = written if alias is None else _under(pmu, alias, written, settings)
    check(pmu, merged)
    _pour(pmu, merged, settings, explicit)
    settings.shown = [*(f"{name}={number:#x}" for name, number in merged.items()), *settings.shown]
    return settings


def check_once(terms: Sequence[EventTerm]) -> None:
    """Refuse terms that are written twice or contradict each other.

    Raises:
        ConflictError: a term is written twice, or beside its opposite.
    """
    seen: dict[str, str] = {}
    for term in terms:
        subject = _OPPOSITES.get(term.name, term.name)
        if (before := seen.get(subject)) is not None:
            fault = f"the term {term.name!r} twice" if before == term.name else f"both {before!r} and {term.name!r}"
            raise ConflictError(f"An event cannot have {fault}: write one of them.")
        seen[subject] = term.name


def _take_event(settings: Settings, name: str) -> None:
    """Record the one event that the terms name. Raises ConflictError if the terms name a second event."""
    if settings.event:
        raise ConflictError(f"{settings.event} and {name} are two events, and one was to be counted: write each with "
                            "slashes of its own.")
    settings.event = name


def check_config(settings: Settings) -> None:
    """Refuse an event's name beside `config=`, because both choose the event.

    Raises:
        ConflictError: both are there.
    """
    if settings.event and settings.whole_config:
        raise ConflictError(f"The event {settings.event} is not counted with another config: both say which event is "
                            "meant, so write one of them.")


def _pour(pmu: Pmu, merged: Mapping[str, int], settings: Settings, explicit: Sequence[int]) -> None:
    """Write the fields' values into the config words, beside words that were written whole.

    Raises:
        TermRangeError: a value is too large.
        ConflictError: two fields set the same bits to different values.
    """
    claims = [(WORDS[word], word, number, _EVERY_BIT) for word, number in enumerate(explicit) if number]
    for name, number in merged.items():
        where = pmu.formats[name]
        if where.word == 0 and settings.kind is not None:
            raise UnknownTermError(f"The event {settings.event} is the kernel's own and takes no term {name!r}.")
        value, mask = place(pmu.name, where, number), sum(1 << bit for bit in where.bits)
        for other, word, theirs, bits in claims:
            shared = mask & bits if word == where.word else 0
            # a field of 0 conflicts with no other field, but contradicts a whole word that has bits there
            if theirs & shared and (theirs ^ value) & shared and (value & shared or bits == _EVERY_BIT):
                raise ConflictError(f"The terms {other!r} and {name!r} of the PMU {pmu.name} share bits of "
                                    f"{WORDS[word]} and want other values of them: write one of them.")
        claims.append((name, where.word, value, mask))
        settings.words[where.word] |= value


def _alias(pmu: Pmu, term: EventTerm) -> PmuEvent | None:
    if term.value is None:
        return find_event(pmu, term.name)
    if term.name == "event" and NUMBER.fullmatch(term.value) is None:
        return find_event(pmu, term.value)
    return None


def _written(pmu: Pmu, term: EventTerm) -> int:
    what = f"the term {term.name!r} of the PMU {pmu.name}"
    if term.value == "?":
        raise MissingParameterError(f"The value of {what} is left open: write {term.name}=NUMBER.")
    if term.value is None:
        if len(pmu.formats[term.name].bits) > 1:
            raise TermValueError(f"A value is missing for {what}: write {term.name}=NUMBER.")
        return 1
    return read_number(term.value, what)


def _under(pmu: Pmu, alias: PmuEvent, written: dict[str, int], settings: Settings) -> dict[str, int]:
    """Return the values of all format fields: those of the named event, replaced by values written out.

    Raises:
        DescriptionError: the PMU's description of the event cannot be used.
        MissingParameterError: the description leaves a field open.
    """
    if not math.isfinite(alias.scale):
        raise DescriptionError(f"The scale of the event {alias.name} of the PMU {pmu.name} cannot be read.")
    settings.unit, settings.scale, settings.snapshot = alias.unit, alias.scale, alias.snapshot
    settings.per_package = alias.per_package
    settings.table, settings.description = alias.table, alias.description
    return _alias_terms(pmu, alias, written, settings) | written


def _alias_terms(pmu: Pmu, alias: PmuEvent, written: dict[str, int], settings: Settings) -> dict[str, int]:
    terms: dict[str, int] = {}
    for part in alias.text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if value == "?":
            if name not in written:
                raise MissingParameterError(
                    f"The event {alias.name} of the PMU {pmu.name} needs a value for {name}: "
                    f"write {pmu.name}/{alias.name},{name}=NUMBER/.")
            continue
        try:
            number = read_number(value, f"{name!r} in the event {alias.name}") if equals else 1
        except (TermValueError, TermRangeError) as error:
            whose = f"{alias.table} of {alias.name}" if alias.table else f"PMU {pmu.name}"
            raise DescriptionError(f"The description of the {whose} is wrong: {error}") from error
        if name in pmu.formats:
            terms[name] = number
        elif name in WORDS:
            settings.words[WORDS.index(name)] |= number
            settings.shown.append(f"{name}={number:#x}")
        elif alias.table and name in _TABLE_OPTIONS:
            settings.fields.setdefault(_TABLE_OPTIONS[name], number)  # a value that was written out wins
        elif name:
            raise DescriptionError(
                f"The event {alias.name} of the PMU {pmu.name} uses the term {name!r}, which the PMU does not have"
                f"{f': {alias.table} has it for a newer kernel' if alias.table else ''}.")
    return terms


def _generic(pmu: Pmu, term: EventTerm, settings: Settings, *, core: bool, extended: bool) -> None:
    """Take a raw number, or a generic event inside a core PMU. Raises UnknownTermError if the term is neither."""
    if term.value is None:
        if (raw := re.fullmatch(_RAW, term.name)) is not None:
            _take_event(settings, term.name)
            settings.words[0] |= int(raw[1], 16)
            settings.shown.append(f"config={int(raw[1], 16):#x}")
            return
        name = in_any_case(term.name)
        generic = generic_event(name) if core and name else None
        if generic is not None and generic[0] in (HARDWARE, HW_CACHE):
            _take_kernels(settings, name, *generic, pmu.type if extended else 0)
            return
    elif core and term.name in _LEGACY:
        shown = f"{term.name}={term.value}"
        _take_kernels(settings, shown, _LEGACY[term.name], needed(term, 32), pmu.type if extended else 0)
        return
    raise UnknownTermError(f"The PMU {pmu.name} has no event or term {term.name!r}", lambda: _known(pmu, term.name))


def _known(pmu: Pmu, word: str) -> str:
    """Names of a PMU that are like a word that it does not know, or all of its terms, as the end of a sentence."""
    near = nearest(word, (*pmu.events, *pmu.formats, *OPTIONS))
    names = ", ".join(sorted(pmu.formats)) or "no terms"
    return near or f"; it has the terms {names}{f' and {len(pmu.events)} events' if pmu.events else ''}"


def _take_kernels(settings: Settings, name: str, kind: int, config: int, pmu_type: int) -> None:
    """Take one of the kernel's generic events, which carries the PMU's type if there are several core PMUs."""
    _take_event(settings, name)
    settings.kind = kind
    settings.words[0] |= config | pmu_type << 32
    settings.shown.append(name)
