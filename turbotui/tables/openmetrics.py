"""OpenMetrics text (the OpenMetrics 1.0 specification): one exposition, of one interval or several, ends with `# EOF`.

Each column is one gauge in base units at its own level of the topology, so that nothing appears twice: the reader sums.
    Unknown values are left out, and values that must not be read without their mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from turbotui.machine.host import HostKind
from turbotui.quantities.columns import Column, Value
from turbotui.quantities.tables import AnyTable, measures
from turbotui.tables.envelope import Envelope
from turbotui.tables.formats import Format
from turbotui.untrusted import in_cell

_CPUS = "cpus"
_PREFIX = "turbotui"
_TYPE, _END = "# TYPE ", "# EOF"
# display unit -> base unit of the name, factor to it
_UNITS: Mapping[str, tuple[str, float]] = {
    "%": ("ratio", 0.01), "MHz": ("hertz", 1e6), "W": ("watts", 1.0), "J": ("joules", 1.0), "°C": ("celsius", 1.0),
    "s": ("seconds", 1.0), "ms": ("seconds", 1e-3), "us": ("seconds", 1e-6), "µs": ("seconds", 1e-6),
    "nJ": ("joules", 1e-9), "M/s": ("per_second", 1e6), "/s": ("per_second", 1.0),
    "ms/s": ("ratio", 1e-3), "ns": ("seconds", 1e-9), "GHz": ("hertz", 1e9), "GB/s": ("bytes_per_second", 1e9),
    "cycles": ("cycles", 1.0), "1/cycle": ("per_cycle", 1.0), "GFLOP/s": ("flop_per_second", 1e9),
    "GOP/s": ("operations_per_second", 1e9), "op/cycle": ("operations_per_cycle", 1.0),
    "GFLOP/J": ("flop_per_joule", 1e9), "flop/byte": ("flop_per_byte", 1.0), "flop/cycle": ("flop_per_cycle", 1.0),
    "byte/cycle": ("bytes_per_cycle", 1.0), "MiB": ("bytes", 2.0**20), "MB/s": ("bytes_per_second", 1e6),
}
# parts of a title that repeat the unit, which the metric's name has at its end
_SAID = {"%": ("%",), "MHz": ("_MHz", "MHz"), "W": ("Watt",), "J": ("_J",), "°C": ("Tmp",), "/s": ("/s",),
         "M/s": ("MRPS",), "s": ("_Seconds",), "GB/s": ("GB/s", "GBs")}
# titles that name another unit than the metric, or say too little
_STEMS = {"nJ/ins": "energy per instruction", "usec": "collection", "PKG_%": "pkg throttled", "RAM_%": "ram throttled",
          **dict.fromkeys(("GFLOP/s", "GOP/s", "GB/s", "flop/cycle", "op/cycle", "byte/cycle"), "")}
_SIGNS = {"+": "_too_shallow", "-": "_too_deep", "!": "_rejected"}  # cpuidle's counts (docs/specs/turbostat.md 2.7)
_BREAK_MARK, _TAB_MARK = in_cell("\n"), in_cell("\t")
_WORD = re.compile(r"[^a-z0-9]+")


class OpenMetricsText(Format):
    """OpenMetrics with names `turbotui_<column>_<base unit>` and labels for the row, the machine and its kind.

    Metrics of other tables than that of CPUs start with the table's name.
    """

    def lines(self, envelope: Envelope, table: AnyTable) -> Iterator[str]:
        """The families of one interval, without the end of the exposition."""
        common = {"machine": envelope.machine, "simulated": "true" if envelope.is_simulated else "false"}
        if envelope.kind is HostKind.RECORDED:  # neither simulated nor measured on this machine
            common["kind"] = envelope.kind.value
        columns = measures(table)
        prefix = "" if table.name == _CPUS else f"{_WORD.sub('_', table.name.lower())}_"
        names = {at: name.replace(_PREFIX, f"{_PREFIX}_{prefix}".rstrip("_"), 1)
                 for at, name in metric_names(columns).items()}
        if envelope.seconds is not None:
            name = f"{_PREFIX}_{prefix}interval_seconds"
            yield from _head(name, "gauge", "seconds", "Length of the interval.")
            yield f"{name}{_labels(common)} {envelope.seconds!r}"
        for column in columns:
            rows = table.own_rows(column)
            samples = [(table.identify(row).names, value)
                       for row, value in zip(rows, table.bare(column, rows), strict=True) if value is not None]
            if samples:
                text = f"{column.help} ({', '.join(filter(None, (column.id, table.formula(column))))})"
                yield from _family(names[column.id], column, text, samples, common)

    def end(self) -> Iterator[str]:
        """The end of the exposition."""
        yield _END


def _family(name: str, column: Column[Any], text: str, samples: Sequence[tuple[Mapping[str, Value], Value]],
            common: Mapping[str, str]) -> Iterator[str]:
    unit, factor = _UNITS.get(column.unit, ("", 1.0))
    if column.decimals < 0:
        yield from _head(name, "info", "", text)
        for names, value in samples:
            yield f"{name}_info{_labels({**_words(names), **common, 'value': str(value)})} 1"
        return
    yield from _head(name, "gauge", unit, text)
    for names, value in samples:
        if not isinstance(value, str) and value is not None:
            exact = value if isinstance(value, int) and factor == 1.0 else value * factor
            yield f"{name}{_labels({**_words(names), **common})} {exact!r}"


class OpenMetricsSeries(Format):
    """Several intervals as one exposition: each family once, its samples with their times, and one end marker.

    If the number of intervals is known, a family's samples stand together, and those of one metric in order of time, as
    the specification demands; everything is written at the end. Otherwise samples are written as they come, each
    family's header before its first sample.
    """

    def __init__(self, *, endless: bool) -> None:
        self._text = OpenMetricsText()
        self._endless = endless
        self._families: dict[str, dict[str, list[str]]] = {}  # values and times take a third of whole lines

    def lines(self, envelope: Envelope, table: AnyTable) -> Iterator[str]:
        """The lines of one interval that can be written immediately."""
        stamp = f"{envelope.wall_ns / 1e9:.3f}"
        family: dict[str, list[str]] = {}
        known = False
        for line in self._text.lines(envelope, table):
            if line.startswith(_TYPE):
                name = line.split()[2]
                known = name in self._families
                family = self._families.setdefault(name, {})
            if known and line.startswith("#"):
                continue
            metric, _, text = ("", "", line) if line.startswith("#") else line.rpartition(" ")
            if metric:
                text = f"{text} {stamp}"
            if self._endless:
                yield f"{metric} {text}" if metric else text
            else:
                family.setdefault(metric, []).append(text)

    def end(self) -> Iterator[str]:
        """The remaining lines and the end marker."""
        for family in self._families.values():
            for metric, samples in family.items():
                yield from (f"{metric} {line}" if metric else line for line in samples)
        yield _END


def _words(names: Mapping[str, Value]) -> dict[str, str]:
    return {_WORD.sub("_", name.lower()): str(value) for name, value in names.items()}


def _head(name: str, kind: str, unit: str, text: str) -> Iterator[str]:
    yield f"{_TYPE}{name} {kind}"
    if unit:
        yield f"# UNIT {name} {unit}"
    yield f"# HELP {name} {_escaped(text)}"


def _labels(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(text: str) -> str:
    """Restore line breaks and TABs that were escaped, because this format has escapes for them, and for no others."""
    text = text.replace(_BREAK_MARK, "\n").replace(_TAB_MARK, "\t")
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def base_factor(column: Column[Any]) -> float:
    """The factor from a column's unit to the base unit in its metric's name."""
    return _UNITS.get(column.unit, ("", 1.0))[1]


def metric_names(columns: Sequence[Column[Any]]) -> dict[str, str]:
    """A metric name for each column id; a name that is already taken also gets the unit of its title."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for column in columns:
        unit = _UNITS.get(column.unit, ("", 1.0))[0]
        stem = _STEMS.get(column.id, column.id)
        for unit_words in (f" {column.unit}", *_SAID.get(column.unit, ())):
            if stem.endswith(unit_words) and len(stem) > len(unit_words):
                stem = stem.removesuffix(unit_words)
                break
        name = _name(stem, unit)
        number = 2
        while name in taken:
            name = _name(f"{column.id} {number}" if number > 2 else column.id.replace("%", " percent"), unit)
            number += 1
        taken.add(name)
        names[column.id] = name
    return names


def _name(stem: str, unit: str) -> str:
    for sign, word in _SIGNS.items():
        if stem.endswith(sign):
            stem = stem.removesuffix(sign) + word
    return "_".join(part for part in (_PREFIX, _WORD.sub("_", stem.lower()).strip("_"), unit) if part)
