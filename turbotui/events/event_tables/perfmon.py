"""Intel's own collection of events, github.com/intel/perfmon, converted to the form of pmu-events.

Layout: a mapfile.csv that names a file for each CPU and kind of event; files are objects with a header and `Events`.
The conversion follows scripts/create_perf_json.py of that collection, which makes the kernel's files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import partial
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.events.event_tables.cpuid import cpuid_of, matches
from turbotui.events.event_tables.errors import no_row, unusable
from turbotui.events.event_tables.json_rows import OMR_REGISTERS, JsonRow, event_row, metric_row
from turbotui.events.event_tables.model import VendorEvent, VendorRows, VendorTables
from turbotui.events.event_tables.pmu_events import MAPFILE, document_of, row_of, rows_of, text_of_file
from turbotui.machine.host import Host
from turbotui.quantities.plain_numbers import hexadecimal, integer, integer_of_c
from turbotui.untrusted import one_line

_EVENTS: Final = frozenset({"core", "hybridcore", "uncore", "uncore experimental"})
_METRICS: Final = "metrics"
_LACKS: Final = ("Of Intel's perfmon only the metrics in perf's form (the folders metrics/perf) are read, and the "
                 "top-down ones (tma_...) are not among them; perf and the kernel's folder have those.")
_PMUS: Final = {"Core": "cpu_core", "Atom": "cpu_atom", "LowPower_Atom": "cpu_lowpower"}
_OMR_CODES = frozenset({0x2A, 0xB7})
"""Events whose offcore module response register the kernel sets (intel_pnc_extra_regs, intel_arw_extra_regs of
arch/x86/events/intel/core.c, Linux 7.2)."""
_SAYS_NOTHING: Final = frozenset({"", "0", "0x0", "0x00", "na", "null", "tbd"})
_UNREADABLE: Final = ("ha_addrmatch", "ha_opcodematch", "irpfilter")
"""Beginnings of filters for which the kernel has no field; events with such a filter are left out."""
_LEFT_TO_TERMS: Final = ("cbofilter", "chafilter", "pcufilter", "qpimask", "uboxfilter", "fc, chnl", "chnl", "ctrctrl")
"""Beginnings of filters that tell which field takes the value of another key."""
_FREE_RUNNING: Final = (("RDCAS", 2), ("WRCAS", 3), ("BANDWIDTH_IN", 2), ("BANDWIDTH_OUT", 3), ("TOTAL", 1),
                        ("CLOCKTICKS", 1))
"""What a free-running counter counts, and its type in the kernel's driver (bits 4 and up of the umask)."""
_CLOCKS: Final = {"BDW": "cbox_0", "HSW": "cbox_0", "SKL": "cbox_0", "MTL": "CNCU", "ARL": "CNCU"}
"""The kernel's unit of a socket's clock, by the model's directory; CLOCK for all other models."""
_CELLS: Final = 7  # CPUID, version, file, kind, core type, native model, role


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    kind: str
    role: str


def is_perfmon(folder: str) -> bool:
    """Tell whether a directory is Intel's collection, whose mapfile.csv names files and not directories."""
    path = os.path.join(folder, MAPFILE)
    return os.path.lexists(path) and any(line.split(",")[2:3] and line.split(",")[2].endswith(".json")
                                         for line in text_of_file(path).splitlines()[1:])


class PerfmonTables:
    """The tables of one CPU in Intel's collection.

    Raises:
        VendorTablesError: the collection has no tables of this CPU.
    """

    def __init__(self, host: Host, folder: str) -> None:
        cpuid = cpuid_of(host)
        mapfile = os.path.join(folder, MAPFILE)
        self._files: list[_File] = []
        pattern = ""
        rows = [[*line.split(","), *[""] * _CELLS] for line in text_of_file(mapfile).splitlines()[1:]]
        for cells in rows:
            if cpuid and matches(cells[0], cpuid) and (cells[3] in _EVENTS or cells[3] == _METRICS):
                path = os.path.join(folder, cells[2].lstrip("/"))
                self._files.append(_File(path if cells[3] != _METRICS else _perfs_form(path), cells[3], cells[6]))
                pattern = one_line(cells[0])
        if not self._files:
            raise no_row(mapfile, cpuid or "of a machine that names none", [cells[0] for cells in rows])
        self._files = [file for file in self._files if file.kind != _METRICS or os.path.isfile(file.path)]
        self._source = f"{folder} ({MAPFILE} {pattern})"

    def key(self) -> str:
        """Return a key of everything that the tables depend on: their origin, and size and time of every file.

        Raises:
            OSError: a file is missing.
        """
        files = ((file.path, os.stat(file.path)) for file in self._files)
        return "\n".join((self._source, *(f"{path} {status.st_size} {status.st_mtime_ns}" for path, status in files)))

    def read(self) -> VendorTables:
        """Read the tables, whose rows are made when they are needed.

        Raises:
            VendorTablesError: a file cannot be used.
        """
        events: dict[str, list[JsonRow]] = {}
        metrics: dict[str, list[JsonRow]] = {}
        for file in self._files:
            if file.kind == _METRICS:
                for row in rows_of(document_of(file.path), file.path):
                    metrics.setdefault(row["MetricName"].lower(), []).append(row)
                continue
            for row in _events(file):
                same = events.setdefault(row["EventName"].lower(), [])
                if all(same_row.get("Unit") != row.get("Unit") for same_row in same):
                    same.append(row)
        return VendorTables(self._source, VendorRows(events, partial(_made, self._source)),
                            VendorRows(metrics, lambda row: metric_row(row, None, "metrics")), lacks_metrics=_LACKS)


def _perfs_form(path: str) -> str:
    """Return the file with the metrics in perf's grammar; the given file has formulas over single letters."""
    folder, name = os.path.split(path)
    return os.path.join(folder, "perf", f"{name.removesuffix('.json')}_perf.json")


def _events(file: _File) -> Iterator[JsonRow]:
    document = document_of(file.path)
    if not isinstance(document, dict) or not isinstance(document.get("Events"), list):
        raise unusable(file.path, "holds no object with Events")
    for event in document["Events"]:
        if (row := _as_perf_has_it(row_of(event, file.path))) is None:
            continue
        if file.kind.startswith("uncore"):
            row["PerPkg"] = "1"
            if (row["EventName"], row.get("Unit")) == ("UNC_CLOCK.SOCKET", "NCU"):
                row["Unit"] = _CLOCKS.get(os.path.basename(os.path.dirname(os.path.dirname(file.path))), "CLOCK")
        elif file.kind == "hybridcore" and "Unit" not in row and file.role in _PMUS:
            row["Unit"] = _PMUS[file.role]
        yield row


def _as_perf_has_it(row: JsonRow) -> dict[str, str] | None:
    """Convert a row to the keys of pmu-events; None for an event that the kernel cannot count."""
    values = {key: value.strip() for key, value in row.items() if value.strip().lower() not in _SAYS_NOTHING}
    if "EventName" not in values:
        return None
    name = values["EventName"] = _event_name(values["EventName"])
    wanted = values.pop("Filter", "")
    if wanted.lower().startswith(_UNREADABLE):
        return None
    if wanted and not wanted.lower().startswith(_LEFT_TO_TERMS):
        values["Filter"] = f"config1={values.get('FILTER_VALUE', '0')}" if wanted == "Filter1" else wanted
    if _first(values, "MSRIndex") in OMR_REGISTERS and _first(values, "EventCode") not in _OMR_CODES:
        return None  # the kernel would accept config1 and not write the register
    if "UMask" in values or "UMaskExt" in values:
        mask = hexadecimal(values.get("UMask", "0").partition(",")[0])
        if "UMask" in values and not any(hexadecimal(values.get(key, "0")) for key in ("PortMask", "FCMask")):
            mask |= hexadecimal(values.get("UMaskExt", "0")) << 8
        values["UMask"] = hex(mask)
    if values.get("CounterType") == "FREERUN":
        values |= _free_running(name, values.get("Unit", ""))
    elif values.get("Counter", "").lower() == "fixed":
        values["EventCode"] = "0xff"
        values.pop("UMask", None)
    return values


def _first(row: JsonRow, key: str) -> int:
    return integer_of_c(row.get(key, "0").partition(",")[0])


def _free_running(name: str, unit: str) -> dict[str, str]:
    number = re.search(r"_MC(\d+)_", name)
    part = re.search(r"PART(\d+)", name)
    kind = next((kind for word, kind in _FREE_RUNNING if word in name), 0)
    index = integer(part[1]) if part is not None else 0
    return {"Unit": f"{unit.lower()}_free_running{f'_{number[1]}' if number is not None else ''}",
            "EventCode": "0xff", "UMask": hex(kind << 4 | index)}


def _event_name(name: str) -> str:
    if (match := re.match(r"OFFCORE_RESPONSE:request=(.*):response=(.*)", name)) is not None:
        return f"OFFCORE_RESPONSE.{match[1]}.{match[2]}"
    return name.replace("OFFCORE_RESPONSE_0", "OFFCORE_RESPONSE", 1) if name.startswith("OFFCORE_RESPONSE_0") else name


def _made(source: str, row: JsonRow) -> VendorEvent:
    try:
        return event_row(row, None, "")
    except (ValueError, KeyError) as error:
        raise unusable(f"The event {one_line(row['EventName'])} of {source}", f"cannot be used, {one_line(str(error))}"
                       ) from error
