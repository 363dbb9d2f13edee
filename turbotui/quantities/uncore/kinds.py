"""Kinds of uncore PMU and the values derived from their events, read from `pmus.toml`."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import Enum
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.quantities.facts import FactFile
from turbotui.quantities.rows import WrongKindError, each, texts, valued
from turbotui.quantities.uncore.metric import Metric, metric_of


class EdgeKind(Enum):
    """What an edge connects to a package, by the word of `pmus.toml`."""

    MEMORY = "package-memory"
    PACKAGE = "package-package"
    GPU = "package-gpu"
    CXL = "package-cxl"
    DEVICE = "package-device"

    @property
    def shared(self) -> bool:
        """Whether both directions share one peak, as on a memory bus; links have a peak for each direction."""
        return self is EdgeKind.MEMORY


@dataclass(frozen=True, slots=True)
class EdgeRow:
    """One edge of the traffic map; values are named by what they measure, and all are in GB/s."""

    kind: EdgeKind  # what it connects
    label: str  # distinguishes several edges of one PMU; "" for a single one
    inward: str  # the value of traffic into the package; "" if nothing counts it
    outward: str  # the value of traffic out of the package
    peak: str  # the value of the maximum; "" if neither a counter nor a document gives it


def edge_row(value: object) -> EdgeRow:
    """Read an edge of `pmus.toml`: kind, label, inward, outward, peak."""
    words = texts(value)
    if len(words) != 5:
        raise WrongKindError("kind, label, inward, outward and peak")
    return EdgeRow(valued(EdgeKind)(words[0]), *words[1:])


PMUS: Final = FactFile("quantities/uncore/pmus.toml")
INTEL: Final = FactFile("quantities/uncore/intel.toml")
"""Names of the tables of `INTEL` that `processors` of `PMUS` refers to."""
TIERS: Final = frozenset({"pmem", "side-cache"})
"""Memory that few machines have: persistent memory modules, and memory that caches other memory."""


@dataclass(frozen=True, slots=True)
class UncoreKind:
    """One kind of PMU."""

    id: str  # name of its PMUs without instance numbers
    title: str  # its short name
    what: str  # what it watches, in a few words
    no_bytes: str = ""  # why there are no GB/s of it; "" where there are
    # why its values are compared with no peak, if none is
    no_peak: str = "no counter and no document says the most that it can take"

    @property
    def described(self) -> str:
        """Return the kind's title, and what it watches."""
        return f"{self.title}: {self.what}" if self.what else self.title


@dataclass(frozen=True, slots=True)
class _Table:
    title: str = ""
    what: str = ""
    document: str = ""
    no_bytes: str = ""
    no_peak: str = ""
    clock: str = ""
    events: tuple[tuple[str, str], ...] = ()
    values: tuple[tuple[str, str, str], ...] = ()
    more: tuple[tuple[str, str, str], ...] = ()
    tiers: tuple[tuple[str, str, str, str], ...] = ()
    edges: tuple[EdgeRow, ...] = ()
    processors: tuple[tuple[str, str], ...] = ()


def kind_of(pmu: str) -> UncoreKind:
    """The kind of that name; an unknown kind has its name as title."""
    table = _table(pmu)
    known = UncoreKind(pmu, table.title or pmu, table.what, table.no_bytes)
    return replace(known, no_peak=table.no_peak) if table.no_peak else known


@functools.cache
def kind_order() -> Mapping[str, int]:
    """The rank of a kind: kinds with a title in display order, the others after them by name."""
    titled = (name for name, values in PMUS.tables() if "title" in values)
    return {name: place for place, name in enumerate(titled)}


@functools.cache
def metrics_of(pmu: str, processor: str = "") -> tuple[Metric, ...]:
    """The derived metrics of a kind of uncore PMU, in the order of columns.

    Args:
        pmu: the kind.
        processor: vendor, family and model of the processor, such as AuthenticAMD-26-2 (the model in hexadecimal
            digits); PMUs of one name count other events on other processors.
    """
    tables = tuple(_tables(pmu, processor))
    clocks = frozenset(dict(table.events).get(table.clock, table.clock) for table in tables if table.clock)
    metrics: list[Metric] = []
    timed = [table for table in tables if table.clock]
    for table in timed:
        event = table.clock if table.clock.replace(".", "").isidentifier() else f"'{table.clock}'"
        # The kernel's clock of Intel's memory controllers is not their other events' clock.
        is_last = table is timed[-1]
        metrics.append(metric_of(pmu, "frequency" if is_last else table.clock, "GHz", f"{event} / dt",
                                 chosen=not is_last,
                                 document=table.document, clocks=clocks, events=dict(table.events)))
    for table in tables:
        rows = [("", False, row) for row in table.values]
        rows += [(tier, True, (what, unit, formula)) for tier, what, unit, formula in table.tiers]
        rows += [("", True, row) for row in table.more]
        metrics += (metric_of(pmu, what, unit, formula, document=table.document, clocks=clocks, chosen=chosen,
                              tier=tier, events=dict(table.events)) for tier, chosen, (what, unit, formula) in rows)
    return tuple(metrics)


@functools.cache
def edges_of(pmu: str, processor: str = "") -> tuple[EdgeRow, ...]:
    """The derived values of a kind that are edges of the traffic map; arguments as for `metrics_of`."""
    return tuple(edge for table in _tables(pmu, processor) for edge in table.edges)


def table_names(pmu: str, processor: str = "") -> tuple[str, ...]:
    """The table of a kind, and the table of the first pattern that matches the processor."""
    fitting = (name for name, pattern in _table(pmu).processors if re.fullmatch(pattern, processor, re.ASCII))
    return (pmu, *itertools.islice(fitting, 1))


def _tables(pmu: str, processor: str) -> Iterator[_Table]:
    return map(_table, table_names(pmu, processor))


@functools.cache
def _table(pmu: str) -> _Table:
    file, values = PMUS, PMUS.find(pmu)
    if values is None:
        file, values = INTEL, INTEL.find(pmu) or {}
    return file.row(_Table, pmu, values, events=each(_pair), values=each(_value), more=each(_value),
                    tiers=each(_tiered), edges=each(edge_row), processors=each(_pair))


def _value(value: object) -> tuple[str, str, str]:
    words = texts(value)
    if len(words) != 3:
        raise WrongKindError("what, unit and formula")
    return words[0], words[1], words[2]


def _tiered(value: object) -> tuple[str, str, str, str]:
    words = texts(value)
    if len(words) != 4 or not set(words[0].split()) <= TIERS:
        raise WrongKindError("memory, what, unit and formula")
    return words[0], words[1], words[2], words[3]


def _pair(value: object) -> tuple[str, str]:
    words = texts(value)
    if len(words) != 2:
        raise WrongKindError("two texts: a table and a pattern of processors, or an event and its terms")
    return words[0], words[1]
