"""Read format files and event codes of simulated PMUs from `pmu_codes.toml`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Final, TypeVar

from turbotui.dataclass import dataclass
from turbotui.quantities.facts import FactFile
from turbotui.quantities.rows import WrongKindError, each, text, wholes

PMU_CODES: Final = FactFile("simulated/pmu_codes.toml")
_ValueT = TypeVar("_ValueT")


@dataclass(frozen=True, slots=True)
class PmuCodes:
    """A table of the file; `events` has the numbers behind each name."""

    formats: Mapping[str, str] = field(default_factory=dict)
    events: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def codes(self) -> Mapping[str, int]:
        """The codes of events that have one number each."""
        return {name: code for name, (code,) in self.events.items()}


@functools.cache
def pmu_codes(name: str) -> PmuCodes:
    """The table of that name."""
    return PMU_CODES.row(PmuCodes, name, PMU_CODES.inherited(name), formats=_named(lambda rest: text(rest[0])),
                         events=_named(wholes))


def _named(value: Callable[[list[object]], _ValueT]) -> Callable[[object], Mapping[str, _ValueT]]:
    def row(written: object) -> tuple[str, _ValueT]:
        if not isinstance(written, list) or len(written) < 2:
            raise WrongKindError("a name and what it stands for")
        return text(written[0]), value(written[1:])

    return lambda written: dict(each(row)(written))
