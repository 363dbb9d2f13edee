"""Events by code on machines with several kinds of core, where one code is another event on each kind.

perf counts both and shows them apart (`perf stat -e r1c2`: cpu_atom/r1c2/, cpu_core/r1c2/); so does turbotui, for a
sum of unlike events is no count of anything. An event by name is one event, whatever its code on each kind.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from turbotui.events.encoded import EncodedEvent
from turbotui.quantities.by_key import lists_by_key

X86_KIND: Final = "cpu_"
"""Beginning of the names of core PMUs on a hybrid x86 processor: cpu_core, cpu_atom."""
_KIND = re.compile(rf"{X86_KIND}|armv\d+_|apple_")
"""Beginnings of the names of PMUs of one kind of core, on any architecture.

Kernel drivers/perf/arm_pmuv3.c, apple_m1_cpu_pmu.c; what follows tells the kinds apart.
"""


def is_kind(pmu: str) -> bool:
    """Whether a PMU is, by its name, that of one kind of core."""
    return _KIND.match(pmu) is not None


def kind_word(pmu: str) -> str:
    """Return the word for a kind of core in titles: "atom" for cpu_atom, "cortex_a53" for armv8_cortex_a53."""
    return _KIND.sub("", pmu, count=1)


def are_unlike(events: Sequence[EncodedEvent]) -> bool:
    """Tell whether one string was encoded as a numeric code on several kinds of core, where events differ."""
    return len({event.pmu for event in events}) > 1 and all(_is_code(event) for event in events)


def with_pmu_names(events: Sequence[EncodedEvent]) -> tuple[EncodedEvent, ...]:
    """Give each event by code on several kinds of core a string of its own that names its PMU."""
    by_string = lists_by_key((event.string, event) for event in events)
    unlike = {string for string, members in by_string.items() if are_unlike(members)}
    return tuple(_alone(event) if event.string in unlike else event for event in events)


def _is_code(event: EncodedEvent) -> bool:
    """Tell whether a core's event is written as numeric terms only."""
    _pmu, slash, rest = event.fstr.partition("/")
    terms = rest.rpartition("/")[0]
    return bool(slash) and not event.uncore and not event.table and all("=" in term for term in terms.split(","))


def _alone(event: EncodedEvent) -> EncodedEvent:
    head, _, letters = event.fstr.rpartition("/")
    given = "" if event.name == event.string else event.name
    terms = ",".join(term for term in head.split(",") if not term.startswith("name="))
    title = f"{given or f'r{event.attr.config:x}'}.{kind_word(event.pmu)}"
    return replace(event, string=f"{terms},name={title}/{letters}", name=title)
