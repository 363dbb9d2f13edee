"""Tables of Arm machines with several core types (big.LITTLE), found by the MIDR_EL1 of each type.

Every core type has a PMU with a file `cpus` (kernel drivers/perf/arm_pmuv3.c), whose first CPU gives the MIDR_EL1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from turbotui.events.event_tables.errors import VendorTablesError
from turbotui.events.event_tables.model import DEFAULT_CORE, VendorEvent, VendorMetric, VendorRows, VendorTables
from turbotui.events.event_tables.pmu_events import DirectoryTables
from turbotui.machine.host import Host

Row = TypeVar("Row", VendorEvent, VendorMetric)


class KindsOfCoreTables:
    """The tables of every core type of a machine, from one directory.

    Args:
        kinds: perf's identifier of the cores of each PMU.

    Raises:
        VendorTablesError: the directory has tables of no core type.
    """

    def __init__(self, host: Host, folder: str, kinds: Mapping[str, str]) -> None:
        self._tables: dict[str, DirectoryTables] = {}
        self._absent: list[str] = []
        refused: VendorTablesError | None = None
        for pmu, cpuid in kinds.items():
            try:
                self._tables[pmu] = DirectoryTables(host, folder, cpuid)
            except VendorTablesError as error:
                refused = error
                self._absent.append(f"{pmu} has none: {error}")
        if not self._tables and refused is not None:
            raise refused

    def key(self) -> str:
        """Return a key of everything that the tables depend on. Raises OSError if a file has gone."""
        return "\n".join((*(f"{pmu} {tables.key()}" for pmu, tables in self._tables.items()), *self._absent))

    def read(self) -> VendorTables:
        """Read all events and metrics: those of cores for each core type's PMU, those of other PMUs once.

        Raises:
            VendorTablesError: a file cannot be used.
        """
        events: dict[str, list[VendorEvent]] = {}
        metrics: dict[str, list[VendorMetric]] = {}
        groups: dict[str, str] = {}
        lacks: dict[str, None] = {}
        sources: list[str] = []
        for pmu, source in self._tables.items():
            tables = source.read()
            sources.append(f"{pmu}: {tables.source}")
            lacks[tables.lacks_metrics] = None
            groups |= tables.group_words
            _take(events, tables.events(), pmu)
            _take(metrics, tables.metrics(), pmu)
        absent = " ".join(self._absent)
        return VendorTables("; ".join(sources), VendorRows(events, _same), VendorRows(metrics, _same), groups,
                            lacks_events=absent, lacks_metrics=" ".join(filter(None, (*lacks, absent))))


def _take(by_name: dict[str, list[Row]], rows: Iterable[Row], pmu: str) -> None:
    for row in rows:
        own = replace(row, pmu=pmu) if row.pmu == DEFAULT_CORE else row
        same = by_name.setdefault(own.name.lower(), [])
        if own not in same:
            same.append(own)


def _same(row: Row) -> Row:
    return row
