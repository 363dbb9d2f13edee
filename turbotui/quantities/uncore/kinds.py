"""Kinds of uncore PMU as people know them, and what is derived from their events: tables of `pmus.toml`."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.quantities.facts import FactFile
from turbotui.quantities.rows import WrongKindError, each, texts
from turbotui.quantities.uncore.metric import Metric, metric_of

PMUS: Final = FactFile("quantities/uncore/pmus.toml")


@dataclass(frozen=True, slots=True)
class UncoreKind:
    """One kind of PMU.

    Attributes:
        id: name of its PMUs without instance numbers.
        title: its short name.
        what: what it watches, in a few words.
    """

    id: str
    title: str
    what: str

    @property
    def described(self) -> str:
        """The kind's title, and what it watches."""
        return f"{self.title}: {self.what}" if self.what else self.title


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of the file."""

    title: str = ""
    what: str = ""
    document: str = ""
    clock: str = ""
    values: tuple[tuple[str, str, str], ...] = ()


def kind_of(pmu: str) -> UncoreKind:
    """The kind of that name; one that is not known is its own title."""
    table = _table(pmu)
    return UncoreKind(pmu, table.title or pmu, table.what)


@functools.cache
def kind_order() -> Mapping[str, int]:
    """The place of each kind that has a title, in the order they are shown. The others follow by their names."""
    titled = (name for name, values in PMUS.tables() if "title" in values)
    return {name: place for place, name in enumerate(titled)}


@functools.cache
def metrics_of(pmu: str) -> tuple[Metric, ...]:
    """The derived metrics of a kind of uncore PMU, in the order of columns."""
    table = _table(pmu)
    values = (metric_of(pmu, what, unit, formula, document=table.document) for what, unit, formula in table.values)
    if not table.clock:
        return tuple(values)
    event = table.clock if table.clock.isidentifier() else f"'{table.clock}'"
    clock = metric_of(pmu, "frequency", "GHz", f"{event} / dt", document=table.document,
                      clocks=frozenset({table.clock}))
    return (clock, *values)


@functools.cache
def _table(pmu: str) -> _Table:
    return PMUS.row(_Table, pmu, PMUS.find(pmu) or {}, values=each(_value))


def _value(value: object) -> tuple[str, str, str]:
    found = texts(value)
    if len(found) != 3:
        raise WrongKindError("what, unit and formula")
    return found[0], found[1], found[2]
