"""Complete an --add text of events: sets, PMUs, their events and terms, and generic names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from turbotui.dataclass import dataclass
from turbotui.events.devices import Devices, names_instance
from turbotui.events.names import HARDWARE_NAMES, SOFTWARE_NAMES, cache_listing
from turbotui.events.set_files import EventSet
from turbotui.machine.host import Host
from turbotui.machine.pmus import list_pmus, read_pmu
from turbotui.machine.registers import COUNTERS, registers_of
from turbotui.machine.small_files import names_in
from turbotui.quantities.event_columns import METRIC, SET, usual_prefix

if TYPE_CHECKING:
    from turbotui.events.event_tables.searching import EventSearch

_WORDS = ("u32", "u64", "cpu", "core", "package", "cycles", "seconds", "usec", "raw", "delta", "average", "percent")
_TELEMETRY = ("name=", "type=raw", "type=txtal_time", "type=tcore_clock", "format=raw", "format=delta", "domain=cpu",
              "domain=core", "domain=package", "offset=", "lsb=", "msb=", "guid=", "seq=", "path=")


def complete_added(host: Host, text: str, limit: int = 50) -> tuple[str, ...]:
    """Return up to `limit` whole texts that start with the typed text, with its last token completed."""
    before, comma, token = text.rpartition(",")
    head = before + comma
    if before.startswith("pmt"):
        completions = [word for word in _TELEMETRY if word.startswith(token)]
    else:
        words = (*_WORDS, "perf/", "pmt,", "/sys/", "msr0x") if token else ("perf/", "msr0x", "/sys/", "pmt,")
        completions = _places(host, token) or [word for word in words if word.startswith(token)]
    return tuple(head + word for word in completions[:limit] if head + word != text)


def _places(host: Host, token: str) -> list[str]:
    if token.startswith("perf/"):
        device, slash, event = token.removeprefix("perf/").partition("/")
        if not slash:
            return [f"perf/{name}/" for name in list_pmus(host) if name.startswith(device)]
        pmu = read_pmu(host, device)
        return [] if pmu is None else [f"perf/{device}/{name}" for name in pmu.events if name.startswith(event)]
    if token.startswith("msr"):
        known = sorted({register.address for register in registers_of(COUNTERS)})
        return [f"msr{address:#x}" for address in known if f"msr{address:#x}".startswith(token)]
    if token.startswith("/"):
        folder, _slash, name = token.rpartition("/")
        return [f"{folder}/{entry}" for entry in names_in(host, folder or "/") if entry.startswith(name)]
    return []


_DELIMITERS = " ,{(+*='"
_OPTIONS = (("name=", "title of the column"), ("rate", "per second"))
_NUMBER = "0123456789"
_SEVERAL_WORDS = re.compile(r"\s*[\w.]+(?:\s+[\w.]+)+\s*", re.ASCII)
"""Matches a word to look for in descriptions, which cannot be an event."""
_FEWEST = 2  # minimum length of a word that is looked for in the vendor's tables
_WITHOUT_EVENTS = frozenset({"software", "breakpoint", "tracepoint", "kprobe", "uprobe"})
"""PMUs whose events are not written between slashes."""


_CORE_PMUS = frozenset({"cpu", "cpu_core", "cpu_atom"})
_ARM = ("armv8", "armv9")
_COMMON = (
    ("instructions", "executed"),
    ("cycles", "of the cores"),
    ("cache-misses", "in the last-level cache; cache-misses/instructions is one for each instruction"),
    ("cache-references", "to the last-level cache"),
    ("branch-misses", "mispredicted branches"),
    ("branches", "executed"),
    ("page-faults", "of the kernel"),
    ("context-switches", "of the kernel"),
)
"""Events that most people look for, offered before anything is typed."""


@dataclass(frozen=True, slots=True)
class Completion:
    """One completion of the typed text."""

    text: str  # the whole text, completed
    note: str = ""  # what it means; "" if the name says it


def complete_events(host: Host, text: str, sets: Mapping[str, EventSet], limit: int = 60,
                    search: EventSearch | None = None) -> tuple[Completion, ...]:
    """Return up to `limit` whole texts that start with the typed text, with its last word completed.

    Several bare words are looked for in the descriptions of the vendor's events.
    """
    text = usual_prefix(text)
    if text.startswith(METRIC):
        return () if search is None else tuple(_metrics(search, text))[:limit]
    if text.startswith(SET) or (text and SET.startswith(text)):
        names = [Completion(f"{SET}{name}", sets[name].title) for name in sorted(sets)]
        return tuple(completion for completion in names
                     if completion.text.startswith(text) and completion.text != text)[:limit]
    if _SEVERAL_WORDS.fullmatch(text):
        return tuple(_vendors(search, text, limit))
    devices = Devices.of(host)
    before, word, pmu = _last_word(text, devices)
    if pmu:
        completions = [*_terms(devices, pmu, word), *_vendors_of(search, devices, pmu, word, limit)]
    else:
        completions = list(_words(devices, word, after_event=before.endswith(",")))
        known = {completion.text for completion in completions}
        completions += (completion for completion in _vendors(search, word, limit) if completion.text not in known)
    return tuple(Completion(before + completion.text, completion.note)
                 for completion in completions if before + completion.text != text)[:limit]


def _vendors(search: EventSearch | None, text: str, limit: int) -> Iterator[Completion]:
    """Events of the vendor's tables, found by name or by words of their descriptions."""
    if search is not None and len(text) >= _FEWEST:
        yield from (Completion(row.name, row.brief or row.description) for row in search.find(text, limit))


def _vendors_of(search: EventSearch | None, devices: Devices, pmu: str, word: str, limit: int) -> Iterator[Completion]:
    for device in devices.matching(pmu)[:1]:
        rows = () if search is None or "=" in word else search.find(word, limit, device.name)
        yield from (Completion(f"{row.name}/", row.brief or row.description)
                    for row in rows if row.name not in device.events)


def _metrics(search: EventSearch, text: str) -> Iterator[Completion]:
    """Metrics and groups of metrics that start with the last word, in any case."""
    tables = search.tables
    last = max(text.rfind(","), text.find(":")) + 1
    before, word = text[:last], text[last:].strip().lower()
    for group in tables.group_names():
        if group.lower().startswith(word):
            count = len(tables.group(group))
            yield Completion(before + group, f"{count} metrics" if count > 1 else "a group of one metric")
    names = {metric.name: metric.brief for metric in tables.metrics() if metric.name.lower().startswith(word)}
    yield from (Completion(before + name, brief) for name, brief in names.items() if before + name != text)


def _last_word(text: str, devices: Devices) -> tuple[str, str, str]:
    """Split a text into what precedes the word being typed, the word, and the PMU whose terms contain the word."""
    start, opened = 0, -1
    for at, character in enumerate(text):
        if opened >= 0:
            if character == "/":
                start, opened = at + 1, -1
            elif character == ",":
                start = at + 1
        elif character == "/":
            if _named(devices, text[start:at]):
                opened = start
            start = at + 1
        elif character in _DELIMITERS:
            start = at + 1
    return text[:start], text[start:], text[opened : text.index("/", opened)] if opened >= 0 else ""


def _named(devices: Devices, word: str) -> list[str]:
    return [name for name in devices.names if name == word or names_instance(word, name)] if word else []


def _terms(devices: Devices, pmu: str, word: str) -> Iterator[Completion]:
    seen = set()
    for device in devices.matching(pmu):
        for name, event in device.events.items():
            if name.startswith(word) and name not in seen:
                seen.add(name)
                unit = f"in {event.unit}" if event.unit else ""
                yield Completion(f"{name}/", unit or event.text)
    for device in devices.matching(pmu)[:1]:
        for name, form in device.formats.items():
            if name.startswith(word) and name not in seen:
                width = len(form.bits)
                yield Completion(f"{name}=", f"a term of {width} bit{'s' if width > 1 else ''}")


def _words(devices: Devices, word: str, *, after_event: bool) -> Iterator[Completion]:
    if after_event:
        yield from (Completion(name, note) for name, note in _OPTIONS if name.startswith(word))
    if word[:1] in _NUMBER and word:
        return
    hardware = any(name in _CORE_PMUS or name.startswith(_ARM) for name in devices.names)
    if word:
        generic = [(name, note) for names, note in ((HARDWARE_NAMES, "cores"), (SOFTWARE_NAMES, "kernel"))
                   for name in names]
    else:
        generic = [common for common in _COMMON if hardware or common[0] in SOFTWARE_NAMES]
    yield from (Completion(name, note) for name, note in generic if name.startswith(word))
    if not word:
        yield Completion(SET, "a set of columns: ipc, memory, topdown ...")
    if METRIC.startswith(word) and not after_event:
        yield Completion(METRIC, "a metric of the vendor's tables, or a group of them: TopdownL1 ...")
    kinds = dict.fromkeys(_kind(name) for name in devices.names if name not in _WITHOUT_EVENTS)
    yield from (Completion(f"{name}/", note) for name, note in _pmus(devices, kinds, word))
    if word:
        yield from (Completion(name, "caches") for name, _config in cache_listing() if name.startswith(word))


def _pmus(devices: Devices, kinds: Iterable[str], word: str) -> Iterator[tuple[str, str]]:
    """PMUs by the name that stands for all instances, followed by the instances if a number is being typed."""
    for kind in kinds:
        count = sum(_kind(name) == kind for name in devices.names)
        if count > 1 and kind.startswith(word):
            yield kind, f"{count} PMUs, summed"
    for name in devices.names:
        if name in _WITHOUT_EVENTS:
            continue
        alone = sum(_kind(other) == _kind(name) for other in devices.names) == 1
        if name.startswith(word) and (alone or len(word) > len(_kind(name))):
            yield name, "a PMU"


def _kind(name: str) -> str:
    """A PMU's name without the number of the instance."""
    return name.rstrip(_NUMBER).removesuffix("_") or name
