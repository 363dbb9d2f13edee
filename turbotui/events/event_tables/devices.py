"""The machine's PMUs with the events of sysfs and of the vendor's tables.

Rows are matched to PMUs as perf does (kernel tools/perf/util/pmu.c): by a row's PMU without its instance number, with
or without "uncore_"; parts between commas one after the other; `compat` by the PMU's file `identifier`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from turbotui.events.devices import Devices, names_instance
from turbotui.events.event_tables.model import DEFAULT_CORE, VendorEvent, VendorTables
from turbotui.machine.host import Host
from turbotui.machine.pmus import DEVICES, Pmu, PmuEvent
from turbotui.machine.small_files import line_of


class VendorDevices(Devices):
    """PMUs with the events of sysfs, then those of the tables, whose names are in lower case."""

    __slots__ = ("_augmented", "_having", "_identifiers", "_matched", "_sysfs", "tables")

    def __init__(self, host: Host, tables: VendorTables, sysfs: Devices | None = None) -> None:
        self._sysfs = Devices.of(host) if sysfs is None else sysfs
        super().__init__(host, self._sysfs.names)
        self.tables = tables
        self._augmented: dict[str, Pmu | None] = {}
        self._matched: dict[tuple[str, str], tuple[str, ...]] = {}
        self._identifiers: dict[str, str] = {}
        self._having: dict[tuple[object, ...], tuple[Pmu, ...]] = {}

    def exactly(self, name: str) -> Pmu | None:
        """The PMU of that name in sysfs, with the events that the tables have for it."""
        if name not in self._augmented:
            pmu = self._sysfs.exactly(name)
            self._augmented[name] = pmu and replace(pmu, events=_Events(self, pmu))
        return self._augmented[name]

    def holding(self, event: str) -> tuple[Pmu, ...]:
        """Return the PMUs that have an event of that name; core PMUs only, if any core PMU has the event."""
        kernels = self._sysfs.holding(event)
        key = (self.owners(event), *[pmu.name for pmu in kernels])
        pmus = self._having.get(key)
        if pmus is None:
            names = {name for row in self.tables.event(event) for name in self.matched(row)}
            names |= {pmu.name for pmu in kernels}
            core = tuple(pmu for pmu in self.core() if pmu.name in names)
            pmus = self._having[key] = core or tuple(
                pmu for name in self.names if name in names and (pmu := self.exactly(name)) is not None)
        return pmus

    def owners(self, word: str) -> object:
        return tuple([(row.pmu, row.compat) for row in self.tables.event(word)])

    def _meaning(self, pmu: Pmu, words: Sequence[str]) -> object:
        """Return what a word means on a PMU: its first row that matches the PMU."""
        rows = (next((at for at, row in enumerate(self.tables.event(word)) if pmu.name in self.matched(row)), None)
                for word in words)
        kernels = self._sysfs.exactly(pmu.name)
        return None if kernels is None else (super()._meaning(kernels, words), *rows)

    def event_names(self) -> tuple[str, ...]:
        """Every event name of every PMU that this machine has."""
        return (*self._sysfs.event_names(), *(row.name for row in self.tables.events() if self.matched(row)))

    def lacking(self, event: str) -> str:
        return ", ".join(dict.fromkeys(f"{row.pmu} {row.compat}".strip() for row in self.tables.event(event)))

    def matched(self, row: VendorEvent) -> tuple[str, ...]:
        """Return the names of the PMUs that have a row's event, in the order of sysfs."""
        key = (row.pmu, row.compat)
        devices = self._matched.get(key)
        if devices is None:
            if row.pmu == DEFAULT_CORE:
                names = tuple(pmu.name for pmu in self.core())
            else:
                names = tuple(name for name in self.names if is_instance(row.pmu, name))
            devices = self._matched[key] = tuple(name for name in names if self._compatible(row.compat, name))
        return devices

    def _compatible(self, compat: str, name: str) -> bool:
        if not compat:
            return True
        if name not in self._identifiers:
            self._identifiers[name] = line_of(self.host, f"{DEVICES}/{name}/identifier")
        try:
            return bool(self._identifiers[name]) and re.fullmatch(compat, self._identifiers[name]) is not None
        except re.error:
            return False


class _Events(Mapping[str, PmuEvent]):
    def __init__(self, devices: VendorDevices, pmu: Pmu) -> None:
        self._devices = devices
        self._pmu = pmu

    def __getitem__(self, name: str) -> PmuEvent:
        if (own := self._pmu.events.get(name)) is not None:
            return own
        if (row := self._row(name)) is None:
            raise KeyError(name)
        return PmuEvent(
            row.name, row.terms, scale=row.scale, unit=row.unit,
            per_package=row.per_package and not self._pmu.cpumask,  # a cpumask already says what one CPU counts for
            table=self._devices.tables.source, description=row.brief or row.description,
        )

    def _row(self, name: str) -> VendorEvent | None:
        if name != name.lower():  # a search for a name in capitals also tries lower case
            return None
        rows = self._devices.tables.event(name)
        return next((row for row in rows if self._pmu.name in self._devices.matched(row)), None)

    def __iter__(self) -> Iterator[str]:
        yield from self._pmu.events
        for row in self._devices.tables.events():
            if self._pmu.name in self._devices.matched(row) and row.name not in self._pmu.events:
                yield row.name

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self._pmu.events or (isinstance(name, str) and self._row(name) is not None)


def is_instance(word: str, name: str) -> bool:
    """Tell whether a row's PMU is the PMU of that name in sysfs."""
    if "," not in word:
        return names_instance(word, name)
    rest = name
    for part in word.split(","):
        if not rest.startswith(part):
            return False
        rest = rest[len(part) :].lstrip("0123456789").removeprefix("_")
    return not rest
