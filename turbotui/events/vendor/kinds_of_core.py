"""Tables of an Arm machine with several kinds of core (big.LITTLE), each kind's by its own MIDR_EL1.

Every kind has a PMU with a file `cpus` (kernel drivers/perf/arm_pmuv3.c), whose first CPU says what its cores are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from turbotui.events.vendor.errors import VendorTablesError
from turbotui.events.vendor.model import DEFAULT_CORE, VendorEvent, VendorMetric, VendorRows, VendorTables
from turbotui.events.vendor.pmu_events import DirectoryTables
from turbotui.machine.host import Host

_NO_METRICS = ("Metrics are left out: the kinds of core of this machine have tables of their own; one kind's metric "
               "would be worked out for all cores; a folder of one model (--event-tables) has its metrics.")


class KindsOfCoreTables:
    """The tables of every kind of core in a directory.

    Args:
        host: the machine.
        folder: with a mapfile.csv for all of them.
        kinds: what the cores of each PMU are, as perf names CPUs.

    Raises:
        VendorTablesError: it has tables of none of them.
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
        """What the tables depend on; see `DirectoryTables.key`.

        Raises:
            OSError: a file has gone.
        """
        return "\n".join((*(f"{pmu} {one.key()}" for pmu, one in self._tables.items()), *self._absent))

    def read(self) -> VendorTables:
        """All events: those of cores with the PMU of their kind, those of other PMUs once.

        Raises:
            VendorTablesError: a file cannot be used.
        """
        events: dict[str, list[VendorEvent]] = {}
        sources: list[str] = []
        for pmu, source in self._tables.items():
            tables = source.read()
            sources.append(f"{pmu}: {tables.source}")
            for row in tables.events():
                own = replace(row, pmu=pmu) if row.pmu == DEFAULT_CORE else row
                same = events.setdefault(own.name, [])
                if own not in same:
                    same.append(own)
        return VendorTables("; ".join(sources), VendorRows(events, _event), VendorRows({}, _metric),
                            lacks_events=" ".join(self._absent), lacks_metrics=_NO_METRICS)


def _event(row: VendorEvent) -> VendorEvent:
    return row


def _metric(row: VendorMetric) -> VendorMetric:
    return row
