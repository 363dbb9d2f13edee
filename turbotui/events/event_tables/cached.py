"""A cache file of vendors' tables, whose rows are parsed only when they are needed.

The file: a line of JSON with the tables' origin and the key of all that they depend on; then a line for each row, its
name in lower case, a TAB, and its values in the order of the fields as a JSON list; an empty line between events and
metrics. The file is written whole or not at all, and is ignored if its key differs.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable, Sequence
from typing import Any, Final, Protocol

from turbotui.events.event_tables.model import VendorEvent, VendorMetric, VendorRows, VendorTables
from turbotui.machine.given_files import GivenFileError, read_given
from turbotui.machine.own_files import cache_folder, replace_file
from turbotui.quantities.documents import DocumentError, parse_json
from turbotui.untrusted import json_text

_FORMAT: Final = 5  # of the file's format; a change of format changes the key
_LARGEST: Final = 64 << 20
_EVENT: Final = ("name", "pmu", "terms", "brief", "description", "unit", "scale", "per_package", "aggregation", "topic",
                 "deprecated", "compat")
_METRIC: Final = ("name", "expression", "groups", "brief", "description", "scale_unit", "threshold", "constraint",
                  "no_group", "default_group", "pmu", "aggregation", "compat", "topic")


class TableSource(Protocol):
    """A source of vendors' tables."""

    def key(self) -> str:
        """Return a key of everything that the tables depend on.

        Raises:
            VendorTablesError, NoTablesError: there are no tables.
            OSError: a file that the tables depend on cannot be examined.
        """

    def read(self) -> VendorTables:
        """Read the tables. Raises VendorTablesError or NoTablesError if the tables cannot be used."""


def cached(source: TableSource) -> VendorTables:
    """Return the tables of a source from the cache, else read them and fill the cache.

    Raises:
        VendorTablesError, NoTablesError: the source has no usable tables.
    """
    try:
        key = hashlib.sha256(f"{_FORMAT}\n{source.key()}".encode("utf-8", "surrogateescape")).hexdigest()
    except OSError:
        return source.read()
    path = os.path.join(cache_folder(os.environ), f"event-tables-{key[:16]}")
    tables = _read(path, key)
    if tables is None:
        tables = source.read()
        with contextlib.suppress(OSError):  # without a cache the next start is slower, nothing else
            replace_file(path, "\n".join(_lines(tables, key)))
    return tables


def _lines(tables: VendorTables, key: str) -> Iterable[str]:
    yield json_text([key, tables.source, tables.group_words, tables.lacks_events, tables.lacks_metrics], compact=True)
    yield from (_line(row, _EVENT) for row in tables.events())
    yield ""
    yield from (_line(row, _METRIC) for row in tables.metrics())
    yield ""


def _line(row: VendorEvent | VendorMetric, fields: Sequence[str]) -> str:
    return f"{row.name.lower()}\t{json_text([getattr(row, field) for field in fields], compact=True)}"


def _read(path: str, key: str) -> VendorTables | None:
    try:
        head, _, rest = read_given(path, _LARGEST).text().partition("\n")
        header: Any = parse_json(head)
        if not isinstance(header, list) or header[:1] != [key]:
            return None
        events, gap, metrics = rest.partition("\n\n")
        if rest.startswith("\n"):  # no events
            events, gap, metrics = "", "\n", rest[1:]
        if not gap:
            return None
        rows = VendorRows(_by_name(events), _event), VendorRows(_by_name(metrics), _metric)
        return VendorTables(str(header[1]), *rows, dict(header[2]), lacks_events=str(header[3]),
                            lacks_metrics=str(header[4]))
    except (GivenFileError, DocumentError, LookupError, TypeError, ValueError):
        return None


def _by_name(text: str) -> dict[str, list[str]]:
    events_of: dict[str, list[str]] = {}
    for line in text.split("\n"):
        name, tab, row = line.partition("\t")
        if tab:
            events_of.setdefault(name, []).append(row)
    return events_of


def _event(row: str) -> VendorEvent:
    values: Any = parse_json(row)
    return VendorEvent(*values)


def _metric(row: str) -> VendorMetric:
    values: Any = parse_json(row)
    named = dict(zip(_METRIC, values, strict=True))
    return VendorMetric(**{**named, "groups": tuple(named["groups"]), "no_group": tuple(named["no_group"])})
