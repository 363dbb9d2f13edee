"""What stands between a PMU's slashes, poured into perf_event_attr (perf-list(1), PARAMETERIZED EVENTS)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from turbotui.dataclass import dataclass
from turbotui.events.devices import find_event
from turbotui.events.encoded import FLAGS
from turbotui.events.errors import (
    ConflictError,
    DescriptionError,
    MissingParameterError,
    TermRangeError,
    TermValueError,
    UnknownTermError,
    nearest,
)
from turbotui.events.names import HARDWARE, HW_CACHE, generic_event
from turbotui.events.syntax import EventTerm
from turbotui.events.uncore.filters import check
from turbotui.machine.pmus import Pmu, PmuEvent, TermFormat

WORDS = ("config", "config1", "config2", "config3", "config4")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|\d+", re.ASCII)
_RAW = re.compile(r"r([0-9a-fA-F]{1,16})", re.ASCII)
_WORD_BITS = 64
_EVERY_BIT = (1 << _WORD_BITS) - 1
_LONGEST_PERIOD = 63  # bits: the kernel refuses bit 63 (perf_event_open(2))
_OPPOSITES = {"no-inherit": "inherit", "no-overwrite": "overwrite", "freq": "period"}
"""Terms that say something about the same thing as another one."""
_BRANCHES = (
    # bit number = place: uapi linux/perf_event.h, enum perf_branch_sample_type_shift; names: perf-record(1) -j
    "u", "k", "hv", "any", "any_call", "any_ret", "ind_call", "abort_tx", "in_tx", "no_tx", "cond", "stack", "ind_jmp",
    "call", "no_flags", "no_cycles", "save_type", "hw_index", "priv", "counter",
)  # fmt: skip


@dataclass(slots=True)
class Settings:
    """Settings that terms ask for, collected before the attribute is made.

    Attributes:
        kind: perf_event_attr.type, None for the PMU's own.
        words: config to config4.
        flags: bits of the flag word to set.
        fields: other members of the attribute.
        shown: the terms in full, for the canonical string.
        cpu: the one CPU that `cpu=` asks for.
        event: the one event that is named, by the PMU's name or the kernel's.
        whole_config: whether `config=` says which event it is.
    """

    kind: int | None = None
    words: list[int] = field(default_factory=lambda: [0] * len(WORDS))
    flags: int = 0
    fields: dict[str, int] = field(default_factory=dict)
    name: str = ""
    options: list[tuple[str, str]] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    unit: str = ""
    scale: float = 1.0
    snapshot: bool = False
    per_package: bool = False
    cpu: int | None = None
    event: str = ""
    whole_config: bool = False


def read_number(text: str, what: str, bits: int = _WORD_BITS) -> int:
    """A decimal or 0x hexadecimal number of at most so many bits.

    Raises:
        TermValueError: it is neither.
        TermRangeError: it is longer.
    """
    if _NUMBER.fullmatch(text) is None:
        raise TermValueError(f"The value {text!r} of {what} is neither decimal nor 0x hexadecimal.")
    digits = text[2:].lstrip("0") if text[:2] in ("0x", "0X") else text.lstrip("0")
    # int() of thousands of digits is slow, and refused; no value of 64 bits has more than 20.
    number = int(digits or "0", 16 if text[:2] in ("0x", "0X") else 10) if len(digits) <= _WORD_BITS else 1 << bits
    if number >> bits:
        raise TermRangeError(f"The value {text[:80]} does not fit {what}, which has {bits} bits.")
    return number


def place(pmu: str, where: TermFormat, number: int) -> int:
    """The word with a value poured into a field.

    Raises:
        TermRangeError: the value needs more bits.
    """
    width = len(where.bits)
    if number >> width:
        raise TermRangeError(
            f"The value {number:#x} does not fit the term {where.name!r} of the PMU {pmu}, which has {width} bits "
            f"({_ranges(where)}) and takes at most {(1 << width) - 1:#x}."
        )
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
    """Everything that the terms of one PMU say.

    Args:
        pmu: whose formats and events they are.
        terms: as written.
        core: whether the PMU counts a core's events, so that generic names mean something in it.
        extended: whether generic events carry the PMU's type in bits 32 and up: there are several core PMUs.

    Raises:
        EventError: one of its classes, for each kind of fault.
    """
    check_once(terms)
    settings = Settings()
    written: dict[str, int] = {}
    alias: PmuEvent | None = None
    for term in terms:
        found = _alias(pmu, term)
        if found is not None:
            _take_event(settings, f"{pmu.name}/{found.name}/")
            alias = found
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
    """Refuse what is said twice: the kernel has one place for it, and of two values neither is meant.

    Raises:
        ConflictError: a term is written twice, or one beside its opposite.
    """
    seen: dict[str, str] = {}
    for term in terms:
        subject = _OPPOSITES.get(term.name, term.name)
        before = seen.get(subject)
        if before is not None:
            said = f"the term {term.name!r} twice" if before == term.name else f"both {before!r} and {term.name!r}"
            raise ConflictError(f"An event cannot have {said}: write one of them.")
        seen[subject] = term.name


def _take_event(settings: Settings, name: str) -> None:
    """Note the one event that the terms name.

    Raises:
        ConflictError: they name a second one.
    """
    if settings.event:
        raise ConflictError(f"{settings.event} and {name} are two events, and one was to be counted: write each with "
                            "slashes of its own.")
    settings.event = name


def check_config(settings: Settings) -> None:
    """Refuse an event's name beside `config=`, which says the same.

    Raises:
        ConflictError: both are there.
    """
    if settings.event and settings.whole_config:
        raise ConflictError(f"The event {settings.event} is not counted with another config: both say which event is "
                            "meant, so write one of them.")


def _pour(pmu: Pmu, merged: Mapping[str, int], settings: Settings, explicit: Sequence[int]) -> None:
    """Place the fields in their words, beside what was written as a whole word.

    Raises:
        TermRangeError: a value is too large.
        ConflictError: two of them want other values of the same bits.
    """
    claims = [(WORDS[word], word, number, _EVERY_BIT) for word, number in enumerate(explicit) if number]
    for name, number in merged.items():
        where = pmu.formats[name]
        if where.word == 0 and settings.kind is not None:
            raise UnknownTermError(f"The event {settings.event} is the kernel's own and takes no term {name!r}.")
        value, mask = place(pmu.name, where, number), sum(1 << bit for bit in where.bits)
        for other, word, theirs, bits in claims:
            shared = mask & bits if word == where.word else 0
            # a field of 0 adds nothing to another field, but contradicts a whole word that has bits there
            if theirs & shared and (theirs ^ value) & shared and (value & shared or bits == _EVERY_BIT):
                raise ConflictError(f"The terms {other!r} and {name!r} of the PMU {pmu.name} share bits of "
                                    f"{WORDS[word]} and want other values of them: write one of them.")
        claims.append((name, where.word, value, mask))
        settings.words[where.word] |= value


def _alias(pmu: Pmu, term: EventTerm) -> PmuEvent | None:
    """The event that a term names, by itself or as `event=NAME`."""
    if term.value is None:
        return find_event(pmu, term.name)
    if term.name == "event" and _NUMBER.fullmatch(term.value) is None:
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
    """Values of all format fields: those of the named event, under those written out.

    Raises:
        DescriptionError: the PMU's description of the event cannot be used.
        MissingParameterError: it leaves a field open.
    """
    if not math.isfinite(alias.scale):
        raise DescriptionError(f"The scale of the event {alias.name} of the PMU {pmu.name} cannot be read.")
    settings.unit, settings.scale, settings.snapshot = alias.unit, alias.scale, alias.snapshot
    settings.per_package = alias.per_package
    return _alias_terms(pmu, alias, written, settings) | written


def _alias_terms(pmu: Pmu, alias: PmuEvent, written: dict[str, int], settings: Settings) -> dict[str, int]:
    found: dict[str, int] = {}
    for part in alias.text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if value == "?":
            if name not in written:
                raise MissingParameterError(
                    f"The event {alias.name} of the PMU {pmu.name} needs a value for {name}: "
                    f"write {pmu.name}/{alias.name},{name}=NUMBER/."
                )
            continue
        try:
            number = read_number(value, f"{name!r} in the event {alias.name}") if equals else 1
        except (TermValueError, TermRangeError) as error:
            raise DescriptionError(f"The description of the PMU {pmu.name} is wrong: {error}") from error
        if name in pmu.formats:
            found[name] = number
        elif name in WORDS:
            settings.words[WORDS.index(name)] |= number
            settings.shown.append(f"{name}={number:#x}")
        elif name:
            raise DescriptionError(
                f"The event {alias.name} of the PMU {pmu.name} uses the term {name!r}, which the PMU does not have."
            )
    return found


def _generic(pmu: Pmu, term: EventTerm, settings: Settings, *, core: bool, extended: bool) -> None:
    """A raw number, or a generic event inside a core PMU.

    Raises:
        UnknownTermError: it is neither.
    """
    if term.value is None:
        raw = _RAW.fullmatch(term.name)
        if raw is not None:
            _take_event(settings, term.name)
            settings.words[0] |= int(raw[1], 16)
            settings.shown.append(f"config={int(raw[1], 16):#x}")
            return
        generic = generic_event(term.name) if core else None
        if generic is not None and generic[0] in (HARDWARE, HW_CACHE):
            _take_event(settings, term.name)
            settings.kind = generic[0]
            settings.words[0] |= generic[1] | (pmu.type << 32 if extended else 0)
            settings.shown.append(term.name)
            return
    known = (*pmu.events, *pmu.formats, *_OPTIONS)
    near = nearest(term.name, known)
    names = ", ".join(sorted(pmu.formats)) or "no terms"
    raise UnknownTermError(
        f"The PMU {pmu.name} has no event or term {term.name!r}{near or f'; it has the terms {names}'}"
        f"{f' and {len(pmu.events)} events' if pmu.events and not near else ''}."
    )


def set_option(settings: Settings, term: EventTerm) -> bool:
    """Take a term that every PMU and every event knows; False if it is none.

    Raises:
        TermValueError, TermRangeError: its value.
    """
    if term.name.startswith("@"):
        settings.options.append((term.name, term.value or ""))
        return True
    take = _OPTIONS.get(term.name)
    if take is None:
        return False
    take(settings, term)
    return True


OptionTaker = Callable[[Settings, EventTerm], None]


def _needed(term: EventTerm, bits: int = _WORD_BITS) -> int:
    if not term.value:
        raise TermValueError(f"A value is missing for the term {term.name!r}: write {term.name}=NUMBER.")
    return read_number(term.value, f"the term {term.name!r}", bits)


def _word(settings: Settings, term: EventTerm) -> None:
    number = _needed(term)
    settings.words[WORDS.index(term.name)] |= number
    settings.whole_config |= term.name == WORDS[0]
    settings.shown.append(f"{term.name}={number:#x}")


def _name(settings: Settings, term: EventTerm) -> None:
    if not term.value:
        raise TermValueError("A value is missing for the term 'name': write name=WORD.")
    settings.name = term.value


def _period(settings: Settings, term: EventTerm) -> None:
    number = _needed(term, _LONGEST_PERIOD)
    settings.fields["sample_period"] = number
    if term.name == "freq":
        settings.flags |= 1 << FLAGS["freq"]
    settings.shown.append(f"{term.name}={number}")


def _branches(settings: Settings, term: EventTerm) -> None:
    word = 0
    for part in re.split(r"[|;,]", term.value or ""):
        if part not in _BRANCHES:
            raise TermValueError(f"{part!r} is no kind of branch; there are {', '.join(_BRANCHES)}.")
        word |= 1 << _BRANCHES.index(part)
    settings.fields["branch_sample_type"] = word
    settings.options.append((term.name, term.value or ""))


def _switch(flag: str, on: bool) -> OptionTaker:
    def take(settings: Settings, term: EventTerm) -> None:
        given = True if term.value is None else bool(_needed(term, 1))
        bit = 1 << FLAGS[flag]
        settings.flags = settings.flags | bit if given == on else settings.flags & ~bit

    return take


def _field(name: str, bits: int) -> OptionTaker:
    def take(settings: Settings, term: EventTerm) -> None:
        settings.fields[name] = _needed(term, bits)

    return take


def _cpu(settings: Settings, term: EventTerm) -> None:
    settings.cpu = _needed(term, 31)


def _keep(settings: Settings, term: EventTerm) -> None:
    settings.options.append((term.name, term.value or ""))


_OPTIONS: dict[str, OptionTaker] = {
    # perf-record(1) "-e"; what only sampling or perf's own output uses is kept as written
    **dict.fromkeys(WORDS, _word),
    "name": _name,
    "period": _period,
    "freq": _period,
    "branch_type": _branches,
    "inherit": _switch("inherit", True),
    "no-inherit": _switch("inherit", False),
    "overwrite": _switch("write_backward", True),
    "no-overwrite": _switch("write_backward", False),
    "aux-output": _switch("aux_output", True),
    "max-stack": _field("sample_max_stack", 16),
    "aux-sample-size": _field("aux_sample_size", 32),
    "cpu": _cpu,
    **dict.fromkeys(("time", "call-graph", "stack-size", "nr", "percore", "aux-action", "metric-id"), _keep),
}
