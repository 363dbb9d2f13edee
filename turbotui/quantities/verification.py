"""What turbotui's numbers were compared with, from the figures of the last run of `.ci/verification`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.quantities.facts import FactFile

_FIGURES: Final = FactFile("quantities/verification.toml")


@dataclass(frozen=True, slots=True)
class Method:
    """A way to find out whether numbers are right."""

    brief: str  # what the numbers agree with, in a few words
    words: str  # the same in full, for the middle of a sentence
    unit: str  # of the figures
    command: str  # repeats the comparison, in a checkout
    # whether hardware or a kernel counted, or a program that others wrote computed: no model of ours alone
    real: bool = True


_ORACLE: Final = "pytest tests/bed/test_oracle.py"
_X86: Final = "pytest tests/guest/test_x86_guest.py"
METHODS: Final[Mapping[str, Method]] = {
    "hardware": Method("recorded registers", "registers and CPUID recorded on real processors, as turbostat reads them",
                       "cells", _ORACLE),
    "turbostat-new": Method("turbostat 2026.09.28", "turbostat 2026.09.28 on simulated registers and files", "cells",
                            _ORACLE),
    "turbostat-old": Method("turbostat 2022.10.04", "turbostat 2022.10.04 on simulated registers and files", "cells",
                            _ORACLE),
    "guest-turbostat": Method("turbostat in a guest", "turbostat 2026.09.28 beside Linux's drivers in a guest", "cells",
                              _X86),
    "guest": Method("drivers in a guest", "known registers behind Linux's drivers in a guest", "cells", _X86),
    "arm64": Method("an emulated Arm PMU", "exact counts of an emulated armv8_pmuv3", "numbers",
                    "pytest tests/guest/test_arm64_guest.py"),
    "kernel": Method("a kernel's files", "a kernel's files, read beside it", "cells",
                     "pytest tests/features/stat/test_this_kernel.py"),
    "perf": Method("perf", "the attributes that perf opens", "events", "pytest tests/events/test_event_perf_stat.py"),
    "libpfm": Method("libpfm", "libpfm's own encodings", "events", "pytest tests/events/libpfm"),
    "perfmon": Method("codes of Intel perfmon", "the codes of Intel perfmon", "events", ".ci/perfmon PERFMON"),
    "linux": Method("Linux's tables", "the tables of Linux's source", "rows", ".ci/kernel LINUX"),
    "model": Method("a simulated model", "a simulated machine's truth", "cells",
                    "pytest tests/truth/test_simulated_truth.py", real=False),
}
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
