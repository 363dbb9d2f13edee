"""OpenMetrics text (the OpenMetrics 1.0 specification): one exposition, of one interval or several, ends with `# EOF`.

Each column is one gauge in base units at its own scope, so that nothing is there twice: totals are for the reader to
sum. What is unknown is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from turbotui.output.layout import Layout, place_of
from turbotui.quantities.columns import CounterColumn, Value
from turbotui.quantities.formula_text import formula_of
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope
from turbotui.sampling.frame import Frame
from turbotui.untrusted import in_cell

_PREFIX = "turbotui"
_TYPE, _END = "# TYPE ", "# EOF"
# display unit -> base unit of the name, factor to it
_UNITS: Mapping[str, tuple[str, float]] = {
    "%": ("ratio", 0.01), "MHz": ("hertz", 1e6), "W": ("watts", 1.0), "J": ("joules", 1.0), "°C": ("celsius", 1.0),
    "s": ("seconds", 1.0), "ms": ("seconds", 1e-3), "us": ("seconds", 1e-6), "µs": ("seconds", 1e-6),
    "nJ": ("joules", 1e-9), "M/s": ("per_second", 1e6), "/s": ("per_second", 1.0),
    "ms/s": ("ratio", 1e-3),
}  # fmt: skip
# what a title says of its unit, which the name says at its end
_SAID = {"%": ("%",), "MHz": ("_MHz", "MHz"), "W": ("Watt",), "J": ("_J",), "°C": ("Tmp",), "/s": ("/s",),
         "M/s": ("MRPS",), "s": ("_Seconds",)}
# titles that would say a unit which is not the name's, or too little
_STEMS = {"nJ/ins": "energy per instruction", "usec": "collection", "PKG_%": "pkg throttled", "RAM_%": "ram throttled"}
_SIGNS = {"+": "_too_shallow", "-": "_too_deep", "!": "_rejected"}  # cpuidle's counts (turbostat-spec 2.7)
_BREAK_MARK, _TAB_MARK = in_cell("\n"), in_cell("\t")
_WORD = re.compile(r"[^a-z0-9]+")


class OpenMetricsText:
    """Names are `turbotui_<column>_<base unit>`, labels the place, the machine and whether it is simulated."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._names = metric_names(layout.measures)

    def lines(self, frame: Frame) -> Iterator[str]:
        """One exposition."""
        layout = self._layout
        common = {"machine": layout.machine, "simulated": "true" if layout.kind == "SIMULATED" else "false"}
        if frame.seconds is not None:
            yield from _head(f"{_PREFIX}_interval_seconds", "gauge", "seconds", "Length of the interval.")
            yield f"{_PREFIX}_interval_seconds{_labels(common)} {frame.seconds!r}"
        for column in layout.measures:
            samples = [
                (place_of(frame, row), value)
                for row in self._rows(frame, column)
                if (value := frame.cell(column, row)) is not None
            ]
            if samples:
                yield from self._family(column, samples, common)
        yield _END

    def _rows(self, frame: Frame, column: CounterColumn) -> Sequence[RowId]:
        whole = column.whole_only or column.scope is Scope.SYSTEM or self._layout.summary_only
        return (SYSTEM_ROW,) if whole else frame.rows(column.scope)

    def _family(self, column: CounterColumn, samples: Sequence[tuple[dict[str, int], Value]],
                common: dict[str, str]) -> Iterator[str]:
        name = self._names[column.id]
        unit, factor = _UNITS.get(column.unit, ("", 1.0))
        text = f"{column.help} ({column.id}, {formula_of(column)})"
        if column.decimals < 0:
            yield from _head(name, "info", "", text)
            for place, value in samples:
                yield f"{name}_info{_labels({**_words(place), **common, 'value': str(value)})} 1"
            return
        yield from _head(name, "gauge", unit, text)
        for place, value in samples:
            if not isinstance(value, str) and value is not None:
                yield f"{name}{_labels({**_words(place), **common})} {value * factor!r}"


class OpenMetricsSeries:
    """Several intervals as one exposition: each family once, its samples with their times, and one end.

    Where the number of intervals is known, a family's samples stand together, and in it those of one metric by their
    times, as the specification wants it, and all is written at the end. Where it is not, samples are written as they
    come, each family's words before its first one.
    """

    def __init__(self, layout: Layout, *, endless: bool) -> None:
        self._one = OpenMetricsText(layout)
        self._endless = endless
        self._families: dict[str, dict[str, list[str]]] = {}

    def lines(self, frame: Frame) -> Iterator[str]:
        """What can be written of one interval at once."""
        stamp = f"{frame.newer.wall_ns / 1e9:.3f}"
        family: dict[str, list[str]] = {}
        known = False
        for line in self._one.lines(frame):
            if line == _END:
                continue
            if line.startswith(_TYPE):
                name = line.split()[2]
                known = name in self._families
                family = self._families.setdefault(name, {})
            if known and line.startswith("#"):
                continue
            metric = "" if line.startswith("#") else line.rpartition(" ")[0]
            text = f"{line} {stamp}" if metric else line
            if self._endless:
                yield text
            else:
                family.setdefault(metric, []).append(text)

    def end(self) -> Iterator[str]:
        """What is left, and the end."""
        for family in self._families.values():
            for samples in family.values():
                yield from samples
        yield _END


def _words(place: Mapping[str, int]) -> dict[str, str]:
    return {level: str(number) for level, number in place.items()}


def _head(name: str, kind: str, unit: str, text: str) -> Iterator[str]:
    yield f"{_TYPE}{name} {kind}"
    if unit:
        yield f"# UNIT {name} {unit}"
    yield f"# HELP {name} {_escaped(text)}"


def _labels(labels: Mapping[str, str]) -> str:
    inner = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return "{" + inner + "}"


def _escaped(text: str) -> str:
    """Line breaks and TABs that were marked are what they were: this format has a word for them, and only for them."""
    text = text.replace(_BREAK_MARK, "\n").replace(_TAB_MARK, "\t")
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def metric_names(columns: Sequence[CounterColumn]) -> dict[str, str]:
    """A metric name for each column id; one that is taken already keeps the unit of its title as well."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for column in columns:
        unit = _UNITS.get(column.unit, ("", 1.0))[0]
        stem = _STEMS.get(column.id, column.id)
        for said in _SAID.get(column.unit, ()):
            if stem.endswith(said) and len(stem) > len(said):
                stem = stem.removesuffix(said)
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
    middle = _WORD.sub("_", stem.lower()).strip("_")
    return "_".join(part for part in (_PREFIX, middle, unit) if part)
