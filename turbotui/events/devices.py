"""The machine's PMUs by every name that perf accepts, each read from sysfs once, when it is first asked for.

Names: exact, or without the number at the end, or without a leading "uncore_", or as a pattern, or by the PMU's `alias`
file, or its `type`, the number that the kernel gave it (kernel
Documentation/ABI/testing/sysfs-bus-event_source-devices; perf-list(1)).
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from turbotui.dataclass import dataclass
from turbotui.events.names import HARDWARE, HW_CACHE, RAW
from turbotui.events.syntax import EventTerm
from turbotui.machine.host import Host
from turbotui.machine.pmus import DEVICES, Pmu, PmuEvent, list_pmus, read_pmu
from turbotui.machine.small_files import cpus_in, line_of
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.plain_numbers import whole_number

# A number at the end distinguishes instances. A hexadecimal one needs three digits: "_e" at a word's end is no number.
INSTANCE = re.compile(r"_?(?:\d+|[0-9a-f]{3,})", re.ASCII)
_UNCORE = "uncore_"
_PATTERN_CHARACTERS = frozenset("*?[")
_CORE_TYPES = (HARDWARE, HW_CACHE, RAW)


@dataclass(slots=True)
class Devices:
    """The PMUs of one machine."""

    host: Host
    names: tuple[str, ...]  # all of them, sorted
    _read: dict[str, Pmu | None] = field(default_factory=dict)
    _matches: dict[str, tuple[Pmu, ...]] = field(default_factory=dict)
    _core: tuple[Pmu, ...] | None = None
    _precise: dict[str, int] = field(default_factory=dict)
    _covered: dict[str, tuple[int, ...]] = field(default_factory=dict)
    _aliases: Mapping[str, str] | None = None
    _types: Mapping[int, str] | None = None
    _holders: Mapping[str, tuple[str, ...]] | None = None
    _stems: Mapping[str, Sequence[str]] | None = None
    _alike: dict[tuple[object, ...], tuple[tuple[Pmu, ...], ...]] = field(default_factory=dict)
    _contents: list[Pmu] = field(default_factory=list)
    _content_of: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, host: Host) -> Devices:
        """List the machine's PMUs; none of them is read yet."""
        return cls(host, list_pmus(host))

    def exactly(self, name: str) -> Pmu | None:
        """The PMU of that name in sysfs."""
        if name not in self._read:
            # Only a listed name becomes a path: the word comes from the command line.
            self._read[name] = read_pmu(self.host, name) if name in self.names else None
        return self._read[name]

    def matching(self, word: str) -> tuple[Pmu, ...]:
        """Return the PMU of that exact name or type alone, else every PMU whose name fits; empty if none fits."""
        if (pmus := self._matches.get(word)) is None:
            pmus = self._matches[word] = self._match(word)
        return pmus

    def _match(self, word: str) -> tuple[Pmu, ...]:
        if word in self.names:
            pmu = self.exactly(word)
            return () if pmu is None else (pmu,)
        if (number := whole_number(word)) is not None:
            pmu = self._of_number(number)
            return () if pmu is None else (pmu,)
        if self._aliases is None:
            texts = {name: line_of(self.host, f"{DEVICES}/{name}/alias") for name in self.names}
            self._aliases = {text: name for name, text in texts.items() if text}
        if (by_alias := self._aliases.get(word)) is not None:
            pmu = self.exactly(by_alias)
            return () if pmu is None else (pmu,)
        pmus = tuple(pmu for name in self._fitting(word) if (pmu := self.exactly(name)) is not None)
        if not pmus and word == "cpu":  # a hybrid machine has one PMU for each kind of core instead
            return self.core()
        return pmus

    def _fitting(self, word: str) -> Sequence[str]:
        """Return the names for which the word is an abbreviation, as `names_instance` defines it."""
        if not _PATTERN_CHARACTERS.isdisjoint(word):
            return [name for name in self.names if names_instance(word, name)]
        if self._stems is None:
            self._stems = lists_by_key((stem, name) for name in self.names for stem in _stems_of(name))
        return sorted({name for each in _spellings(word) for name in self._stems.get(each, ())})

    def core(self) -> tuple[Pmu, ...]:
        """Return the PMUs of the cores: "cpu", or every PMU that has a file `cpus`."""
        if self._core is None:
            named = [name for name in self.names if name == "cpu" or self.host.exists(f"{DEVICES}/{name}/cpus")]
            self._core = tuple(pmu for pmu in (self.exactly(name) for name in named) if pmu is not None)
        return self._core

    def holding(self, event: str) -> tuple[Pmu, ...]:
        """Return the PMUs that have an event of that name; core PMUs only, if any core PMU has the event."""
        core = tuple(pmu for pmu in self.core() if find_event(pmu, event) is not None)
        if core:
            return core
        if self._holders is None:
            holders: dict[str, tuple[str, ...]] = {}
            for name in self.names:
                pmu = self.exactly(name)
                for known in () if pmu is None else pmu.events:
                    holders[known.lower()] = (*holders.get(known.lower(), ()), name)
            self._holders = holders
        pmus = (self.exactly(name) for name in self._holders.get(event.lower(), ()))
        return tuple(pmu for pmu in pmus if pmu is not None and find_event(pmu, event) is not None)

    def alike(self, pmus: Sequence[Pmu], terms: Sequence[EventTerm]) -> Sequence[Sequence[Pmu]]:
        """Group PMUs for which the same terms mean the same event: the units of one kind; each core PMU is alone."""
        if len(pmus) < 2:
            return (pmus,)
        words = tuple(word for term in terms if (word := term.value if term.name == "event" else term.name))
        key = (tuple([pmu.name for pmu in pmus]), *map(self.owners, words))
        same_units = self._alike.get(key)
        if same_units is None:
            groups = lists_by_key((self._meaning(pmu, words), pmu) for pmu in pmus)
            same_units = self._alike[key] = tuple(map(tuple, groups.values()))
        return same_units

    def owners(self, _word: str) -> object:
        """Return a key of the PMUs that have the event by a source other than sysfs; equal keys mean equal PMUs."""
        return None

    def _meaning(self, pmu: Pmu, _words: Sequence[str]) -> object:
        """Return a key of what the words mean on a PMU; equal keys mean equal meanings."""
        if not pmu.cpumask:
            return pmu.name
        if pmu.name not in self._content_of:
            own = pmu.formats, pmu.events
            same = (at for at, pmu in enumerate(self._contents) if (pmu.formats, pmu.events) == own)
            at = self._content_of[pmu.name] = next(same, len(self._contents))
            self._contents += [pmu] if at == len(self._contents) else []
        return self._content_of[pmu.name]

    def event_names(self) -> tuple[str, ...]:
        """Every event name of every PMU."""
        self.holding("")
        return tuple(self._holders or ())

    def lacking(self, _event: str) -> str:
        """Name the PMUs whose tables have the event and which this machine lacks; "" if no table has the event."""
        return ""

    def of_type(self, kind: int) -> Pmu | None:
        """Return the PMU with that perf_event_attr.type; for the generic types of cores, the only core PMU."""
        if kind in _CORE_TYPES:
            core = self.core()
            return core[0] if len(core) == 1 else None
        return self._of_number(kind)

    def _of_number(self, kind: int) -> Pmu | None:
        """Return the PMU that has this number in sysfs."""
        if self._types is None:
            texts = {name: line_of(self.host, f"{DEVICES}/{name}/type") for name in self.names}
            numbers = {name: whole_number(text) for name, text in texts.items()}
            self._types = {number: name for name, number in numbers.items() if number is not None}
        return self.exactly(self._types[kind]) if kind in self._types else None

    def covered(self, pmu: Pmu) -> tuple[int, ...]:
        """Return the CPUs that may open an uncore PMU (associated_cpus); empty if the PMU has no such file."""
        if pmu.name not in self._covered:
            self._covered[pmu.name] = tuple(sorted(cpus_in(self.host, f"{DEVICES}/{pmu.name}/associated_cpus")))
        return self._covered[pmu.name]

    def max_precise(self, pmu: Pmu | None) -> int:
        """Return the highest precise_ip level of the PMU (caps/max_precise); 0 if the PMU has no such file."""
        if pmu is None:
            return 0
        if pmu.name not in self._precise:
            most = whole_number(line_of(self.host, f"{DEVICES}/{pmu.name}/caps/max_precise"))
            self._precise[pmu.name] = min(most or 0, 3)
        return self._precise[pmu.name]


def _spellings(word: str) -> tuple[str, str, str]:
    return word, f"{_UNCORE}{word}", word.removeprefix(_UNCORE)


def _stems_of(name: str) -> Iterator[str]:
    """Return the PMU's name and every form of the name without the number of its instance."""
    yield name
    yield from (name[:at] for at in range(1, len(name)) if INSTANCE.fullmatch(name, at) is not None)


def names_instance(word: str, name: str) -> bool:
    """Tell whether a word abbreviates a PMU's name: without the instance number, or without "uncore_"."""
    spellings = _spellings(word)
    if not _PATTERN_CHARACTERS.isdisjoint(word):
        return any(fnmatch.fnmatchcase(name, each) for each in spellings[:2])
    return any(each and name.startswith(each) and (name == each or INSTANCE.fullmatch(name, len(each)) is not None)
               for each in spellings)


def find_event(pmu: Pmu, name: str) -> PmuEvent | None:
    """Find an event of a PMU by its name as written, then in lower case, then in upper case."""
    return next((pmu.events[each] for each in (name, name.lower(), name.upper()) if each in pmu.events), None)
