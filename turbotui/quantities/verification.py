"""What turbotui's numbers were compared with, from the figures of the last run of `.ci/verification`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.quantities.facts import FactFile, FactRows

_FIGURES: Final = FactFile("quantities/verification.toml")
_METHODS: Final = FactFile("quantities/verification_methods.toml")


@dataclass(frozen=True, slots=True)
class Method:
    """A way to find out whether numbers are right: a table of the file of methods, which says what its keys are."""

    brief: str
    words: str
    unit: str
    command: str
    real: bool = True


METHODS: Final = FactRows(_METHODS, lambda name: _METHODS.row(Method, name, _METHODS.find(name) or {}))
"""By name in the file of figures, the strongest evidence first."""


def subjects(kind: str) -> Iterator[str]:
    """Names of what is listed of a kind: "column", "source", "pmu", "table"."""
    for name in _FIGURES.names():
        head, _, rest = name.partition(" ")
        if head == kind:
            yield rest


def figures(kind: str, name: str) -> Mapping[str, int] | None:
    """How many numbers agreed, by method, the strongest first; None for a name that is not listed."""
    table = _FIGURES.find(f"{kind} {name}")
    if table is None:
        return None
    counts = {method: table[method] for method in METHODS if method in table}
    return {method: count for method, count in counts.items() if isinstance(count, int)}


def agreed() -> Mapping[str, Mapping[str, object]]:
    """All figures, by kind and name."""
    return dict(_FIGURES.tables())


def held_against(kind: str, name: str) -> str:
    """A sentence on what a column, source or table was compared with; "" for what is not listed."""
    if (held := figures(kind, name)) is None:
        return ""
    methods = [METHODS[method].brief for method in held if METHODS[method].real]
    if methods:
        return f"held against {', '.join(methods)}: docs/verification.md"
    if held:
        return "held against a simulated model only: docs/verification.md"
    return "held against made-up readings only, by unit tests: docs/verification.md"
