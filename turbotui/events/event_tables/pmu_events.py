"""Tables of a directory of pmu-events JSON, laid out as in the kernel's source.

Layout: kernel tools/perf/pmu-events/README: a mapfile.csv beside directories of models and the architecture's standard
events; events of systems (found by an identifier of their PMU, not by the CPU) in directories called `sys`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeAlias, TypeVar

from turbotui.events.event_tables.cpuid import ARCHITECTURES, cpuid_of, matches
from turbotui.events.event_tables.errors import VendorTablesError, folder_fault, no_row, unusable
from turbotui.events.event_tables.json_rows import COMPUTED, JsonRow, event_row, metric_row
from turbotui.events.event_tables.model import DEFAULT_CORE, VendorEvent, VendorMetric, VendorRows, VendorTables
from turbotui.machine.cpumodel import read_cpu_model
from turbotui.machine.given_files import GivenFileError, read_given
from turbotui.machine.host import Host
from turbotui.quantities.documents import DocumentError, parse_json
from turbotui.untrusted import one_line

MAPFILE = "mapfile.csv"
_LARGEST = 64 << 20  # bytes of one file: the largest that Intel publishes has 4 MB
_MOST_TOGETHER = 48 << 20  # bytes of all files of a model: the most that Intel publishes are 4.5 MB (perfmon, CLX)
_MAPPED = 3  # cells of a mapfile's row that are used: CPUID, version, directory
_GROUPS = "metricgroups.json"
_NAMES = {"EventName", "MetricName", "ArchStdEvent"}
"""Keys that mark a row as an event or a metric; the rows of a counter.json, which count counters, have none."""
_WAYS_DOWN = ("", "{arch}", "arch/{arch}", "pmu-events/arch/{arch}", "tools/perf/pmu-events/arch/{arch}")

_Found: TypeAlias = "tuple[JsonRow, JsonRow | None, str]"
"""A row, the standard event that it refers to, and the topic of its file."""


class DirectoryTables:
    """The tables of a directory that the user named.

    Args:
        folder: the directory of one model, of an architecture (with its mapfile.csv), or of a kernel source tree.
        cpuid: perf's identifier of the CPU; "" for the CPU of `host`.

    Raises:
        VendorTablesError: the directory has no tables of this CPU.
    """

    def __init__(self, host: Host, folder: str, cpuid: str = "") -> None:
        if fault := folder_fault(folder):
            raise fault
        arch = ARCHITECTURES.get(read_cpu_model(host).architecture, "")
        below = (os.path.join(folder, way.format(arch=arch)) for way in _WAYS_DOWN)
        home = next((folder for folder in below if os.path.lexists(os.path.join(folder, MAPFILE))), "")
        if home:
            pattern, model = _mapped(os.path.join(home, MAPFILE), cpuid or cpuid_of(host))
            self._folder = os.path.join(home, model)
            self._source = f"{self._folder} ({MAPFILE} {pattern})"
            if not os.path.isdir(self._folder):
                raise unusable(os.path.join(home, MAPFILE), f"names the folder {self._folder}, which is not there")
        elif any(_json_files(folder)):
            self._folder = folder
            self._source = f"{folder} (named, whatever the CPU)"
            home = os.path.abspath(folder)
            while home and not os.path.isfile(os.path.join(home, MAPFILE)):
                home = os.path.dirname(home) if home != os.path.dirname(home) else ""
        else:
            models = [entry.path for entry in os.scandir(folder) if entry.is_dir() and any(_json_files(entry.path))]
            which = f"that of one model in it, as {one_line(min(models))}" if models else "another one"
            raise VendorTablesError(f"The folder {folder} has neither a {MAPFILE} nor JSON files of events: "
                                    f"name {which}.")
        self._home = home

    def key(self) -> str:
        """Return a key of everything that the tables depend on: their origin, and size and time of every file read.

        Raises:
            OSError: a file has gone.
        """
        standard = _json_files(self._home) if self._home else ()
        paths = (*standard, *(path for path, _only_metrics in _files(self._folder, self._home)))
        files = ((path, os.stat(path)) for path in paths)
        return "\n".join((self._source, *(f"{path} {status.st_size} {status.st_mtime_ns}" for path, status in files)))

    def read(self) -> VendorTables:
        """Read the tables, whose rows are made when they are needed.

        Raises:
            VendorTablesError: a file cannot be used.
        """
        return _tables(self._source, self._folder, self._home)


def mapfile_in(host: Host, folder: str) -> bool:
    """Tell whether a directory, or its subdirectory for the machine's architecture, has a mapfile."""
    arch = ARCHITECTURES.get(read_cpu_model(host).architecture, "")
    return any(os.path.lexists(os.path.join(folder, way.format(arch=arch), MAPFILE)) for way in _WAYS_DOWN)


def _mapped(path: str, cpuid: str) -> tuple[str, str]:
    """Return CPUID and directory of the first row of a mapfile that matches this CPU.

    Raises:
        VendorTablesError: no row matches.
    """
    if not cpuid:
        raise VendorTablesError(
            f"Which row of {path} is meant is not known: this machine does not say what its CPU "
            "is. Name the folder of a model.")
    lines = [line.split(",") for line in text_of_file(path).splitlines()[1:] if not line.startswith("#")]
    rows = [cells for cells in lines if len(cells) >= _MAPPED]
    for cells in rows:
        if matches(cells[0], cpuid):
            return one_line(cells[0]), one_line(cells[2])
    raise no_row(path, cpuid, [cells[0] for cells in rows])


def _tables(source: str, folder: str, home: str) -> VendorTables:
    standards: dict[str, JsonRow] = {}
    common, files = tuple(_json_files(home)) if home else (), tuple(_files(folder, home))
    if sum(map(_size, (*common, *(path for path, _metrics in files)))) > _MOST_TOGETHER:
        raise unusable(folder, f"has more than {_MOST_TOGETHER:,} bytes of tables, which no model has")
    for path in common:
        for row in json_rows(path):
            for key in ("EventName", "MetricName"):
                if key in row:
                    standards[row[key].lower()] = row
    events: dict[str, list[_Found]] = {}
    metrics: dict[str, list[_Found]] = {}
    groups: dict[str, str] = {}
    for path, only_metrics in files:
        if path.endswith(_GROUPS):
            groups |= {one_line(key): one_line(value) for key, value in row_of(document_of(path), path).items()}
            continue
        for table in _resolved(path, standards):
            merged = {**(table[1] or {}), **table[0]}
            if "EventName" in merged and not only_metrics:
                events.setdefault(merged["EventName"].lower(), []).append(table)
            if "MetricName" in merged:
                same = metrics.setdefault(merged["MetricName"].lower(), [])
                if all(same_row[0].get("Unit") != table[0].get("Unit") for same_row in same):
                    same.append(table)
    return VendorTables(source, VendorRows(events, partial(_event, folder)), VendorRows(metrics, _metric), groups,
                        lacks_metrics=COMPUTED)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0  # whoever reads it says why it cannot be


def _files(folder: str, home: str) -> Iterator[tuple[str, bool]]:
    """Return the files of a model, of systems, and common to all CPUs, each with whether only its metrics are used."""
    yield from ((path, False) for path in _json_files(folder))
    if not home:
        return
    for parent, _, _ in sorted(os.walk(home)):
        if os.path.basename(parent) == "sys":
            yield from ((path, False) for path in _json_files(parent))
    yield from ((path, True) for path in _json_files(os.path.join(os.path.dirname(home), "common", "common")))


def _resolved(path: str, standards: dict[str, JsonRow]) -> Iterator[_Found]:
    name = os.path.basename(path)
    topic = "metrics" if name.endswith("metrics.json") else name.removesuffix(".json").replace("-", " ")
    for row in json_rows(path):
        refers = row.get("ArchStdEvent", "").lower()
        if refers and refers not in standards:
            raise unusable(path, f"refers to the standard event {refers!r}, which the folder above it does not have")
        yield row, standards.get(refers) if refers else None, topic


def _event(folder: str, standard: _Found) -> VendorEvent:
    try:
        return event_row(*standard)
    except (ValueError, KeyError) as error:
        name = standard[0].get("EventName", "")
        raise unusable(f"The event {one_line(name)} in {folder}", f"cannot be used, {one_line(str(error))}") from error


def _metric(standard: _Found) -> VendorMetric:
    return metric_row(*standard)


def _json_files(folder: str) -> Iterator[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    yield from (os.path.join(folder, name) for name in names if name.endswith(".json"))


def json_rows(path: str) -> list[JsonRow]:
    """Return the objects of a file that holds a list of objects.

    Raises:
        VendorTablesError: the file cannot be read, or has another form.
    """
    return rows_of(document_of(path), path)


def rows_of(document: object, path: str) -> list[JsonRow]:
    """Return the objects of a list that are events or metrics.

    Raises:
        VendorTablesError: `found` is no list of objects with texts.
    """
    if not isinstance(document, list):
        raise unusable(path, "holds no list of events")
    return [row_of(row, path) for row in document if not isinstance(row, dict) or row.keys() & _NAMES]


def row_of(row: object, path: str) -> JsonRow:
    """Return an object's texts, with numbers converted to text.

    Raises:
        VendorTablesError: `found` is no such object.
    """
    if not isinstance(row, dict) or not all(isinstance(value, (str, int, float)) for value in row.values()):
        name = row.get("EventName") or row.get("MetricName") if isinstance(row, dict) else ""
        which = f" ({one_line(name)})" if isinstance(name, str) and name else ""
        raise unusable(path, f"holds something else than objects with texts and numbers{which}")
    return {key: value if isinstance(value, str) else str(value) for key, value in row.items()}


def document_of(path: str) -> object:
    """Return the content of a JSON file. Raises VendorTablesError if it cannot be read."""
    try:
        return parse_json(read_given(path, _LARGEST).data)
    except GivenFileError as error:
        raise unusable(path, f"cannot be read, {error.why}") from error
    except DocumentError as error:
        raise unusable(path, f"cannot be read, {error}") from error


def text_of_file(path: str) -> str:
    """Return the text of a file of the directory. Raises VendorTablesError if it cannot be read."""
    try:
        return read_given(path, _LARGEST).text()
    except GivenFileError as error:
        raise unusable(path, f"cannot be read, {error.why}") from error


Row = TypeVar("Row", VendorEvent, VendorMetric)


class KindsOfCoreTables:
    """The tables of every core type of an Arm machine with several (big.LITTLE), from one directory.

    Every core type has a PMU with a file `cpus` (kernel drivers/perf/arm_pmuv3.c), whose first CPU gives the MIDR_EL1.

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
