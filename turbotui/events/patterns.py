"""Names that stand for several events, each of which is counted by itself: a sum of unlike events means nothing.

    sched:sched_*               every tracepoint that fits
    imc/cas_count_*/            every event of the PMU that fits
    uncore_*/clockticks/        one event on PMUs of several kinds; a bare clockticks likewise

The instances of one kind of PMU (uncore_imc_0, uncore_imc_1) and the PMUs of a hybrid machine's cores are alike: they
stay one event, whose counts may be added.
"""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from turbotui.errors import nearest
from turbotui.events.devices import INSTANCE, Devices, find_event
from turbotui.events.errors import UnknownEventError
from turbotui.events.names import generic_event
from turbotui.events.syntax import EventTerm, Written, is_modifiers
from turbotui.events.tracepoints import Tracepoints
from turbotui.machine.pmus import Pmu
from turbotui.quantities.by_key import lists_by_key

_CHARACTERS = frozenset("*?[")
_LEFT_OPEN = "?"  # the placeholder of a value that the user has to give
_NUMBERS = re.compile(r"\d+", re.ASCII)
_INSTANCE = re.compile(rf"(?:{INSTANCE.pattern})\Z", re.ASCII)
_RAW = re.compile(r"r[0-9a-fA-F]{1,16}", re.ASCII)


def is_pattern(word: str) -> bool:
    """Whether a word is a glob."""
    return not _CHARACTERS.isdisjoint(word)


def alike(written: Written, devices: Devices, tracepoints: Tracepoints) -> list[Written]:
    """Split an event into the unlike events that it stands for, each with a string that names only that event.

    Raises:
        UnknownEventError: no event of the PMU fits the pattern.
        TracepointError: no tracepoint fits, or tracefs cannot be read.
    """
    if written.kind != "name":
        return [written]
    if written.terms is not None:
        return [each for kind in _by_kind(written, devices) for each in _by_event(kind, devices)]
    if _is_tracepoint(written, devices):
        return _by_tracepoint(written, tracepoints)
    return _by_kind(written, devices)


def _is_tracepoint(written: Written, devices: Devices) -> bool:
    tail = written.tail
    if tail is None or is_modifiers(tail):
        return False
    return (is_pattern(written.head) or is_pattern(tail)) and not devices.holding(written.head)


def _by_tracepoint(written: Written, tracepoints: Tracepoints) -> list[Written]:
    letters = f":{written.modifiers}" if written.modifiers else ""
    return [replace(written, text=f"{system}:{name}{letters}", head=system, tail=name)
            for system, name, _number in tracepoints.find(written.head, written.tail or "")]


def _by_kind(written: Written, devices: Devices) -> list[Written]:
    """Split a pattern, or an event's name alone, into one event for each kind of PMU."""
    pmus: Sequence[Pmu] = ()
    bare = False
    if is_pattern(written.head):
        pmus = devices.matching(written.head)
    elif generic_event(written.head) is None and _RAW.fullmatch(written.head) is None:
        bare = not devices.matching(written.head)
        pmus = devices.holding(written.head) if bare else ()
    if len(pmus) < 2:
        return [written]
    kinds = list(_kinds(pmus, devices))
    if len(kinds) < 2:
        return [written]
    events = []
    rest = written.text[len(written.head) :]
    for kind in kinds:
        if not bare:
            events.append(replace(written, text=f"{kind}{rest}", head=kind))
            continue
        terms = (EventTerm(written.head, None, written.position), *(written.terms or ()))
        letters = written.modifiers or written.tail or ""
        inner = rest[1:].rpartition("/")[0] if written.terms is not None else ""
        text = f"{kind}/{written.head}{',' if inner else ''}{inner}/{letters}"
        events.append(replace(written, text=text, head=kind, terms=terms, tail=None, modifiers=letters))
    return events


def _kinds(pmus: Sequence[Pmu], devices: Devices) -> Iterator[str]:
    """Return one word for each kind of PMU; names that differ only in their numbers are one kind."""
    cores = {pmu.name for pmu in devices.core()}
    kinds = lists_by_key(("" if pmu.name in cores else _kind_of(pmu.name), pmu) for pmu in pmus)
    if len(kinds) < 2:
        yield from kinds
        return
    for members in kinds.values():
        first = members[0].name
        words = (first, _INSTANCE.sub("", first), _NUMBERS.sub("*", first))
        word = next((word for word in words if word and list(devices.matching(word)) == members), None)
        yield from (member.name for member in members) if word is None else (word,)


@functools.cache
def _kind_of(name: str) -> str:
    """Return the name of a PMU without its instance numbers."""
    return _NUMBERS.sub("#", _INSTANCE.sub("#", name))


def _by_event(written: Written, devices: Devices) -> list[Written]:
    """Split a pattern between the slashes into the PMUs' events that fit it."""
    terms = written.terms or ()
    at = next((at for at, term in enumerate(terms) if is_pattern(_event_word(term))), None)
    pmus = devices.matching(written.head)
    if at is None or not pmus:
        return [written]
    pattern = _event_word(terms[at])
    if any(find_event(pmu, pattern) is not None or pattern in pmu.formats for pmu in pmus):
        return [written]
    names = [name for pmu in pmus for name in pmu.events if fnmatch.fnmatchcase(name, pattern)]
    if not names:
        raise UnknownEventError(f"The PMU {pmus[0].name} has no event that fits {pattern!r}",
                                lambda: nearest(pattern.strip("*?"), (name for pmu in pmus for name in pmu.events)))
    events = []
    opening = written.text.index("/")
    for name in dict.fromkeys(names):
        whole = (*terms[:at], replace(terms[at], name=name, value=None), *terms[at + 1 :])
        inner = ",".join(_text(term) for term in whole)
        text = f"{written.text[:opening]}/{inner}/{written.modifiers}"
        events += _by_event(replace(written, text=text, terms=whole), devices)
    return events


def _event_word(term: EventTerm) -> str:
    """Return the event's name in a term: the term itself, or the value of `event=`."""
    if term.value is None:
        return term.name
    return term.value if term.name == "event" and term.value != _LEFT_OPEN else ""


def _text(term: EventTerm) -> str:
    if term.value is None:
        return term.name
    plain = re.fullmatch(r"[^,/'{}\s]+", term.value) is not None
    return f"{term.name}={term.value}" if plain else f"{term.name}='{term.value}'"
