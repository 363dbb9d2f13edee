"""Uncore clocks: one for each package or die on older processors, one for each fabric cluster on newer ones."""

from __future__ import annotations

from collections.abc import Mapping

from turbotui.quantities.catalog.formulas import mega_of
from turbotui.quantities.columns import Category, CounterColumn
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Signal, SignalId

_DOCUMENT = "kernel Documentation/admin-guide/pm/intel_uncore_frequency_scaling.rst"
_WHOLE = "uncore.cur"


def _clock(title: str, signal: SignalId, help_text: str, groups: tuple[str, ...]) -> CounterColumn:
    return CounterColumn(
        id=title, category=Category.FREQUENCY, groups=groups, scope=Scope.PACKAGE, unit="MHz", decimals=0,
        needs=(signal,), compute=mega_of(signal), formula="current_freq_khz / 1000 at the end of the interval",
        help=help_text, document=_DOCUMENT, width=5, priority=6,
    )


COLUMNS = (
    _clock(
        "UncMHz", _WHOLE,
        "Clock of the uncore (ring or mesh) at one instant; the mean over the dies of a package, and over packages.",
        ("frequency",),
    ),
)


def uncore_columns(signals: Mapping[SignalId, Signal]) -> tuple[CounterColumn, ...]:
    """The columns of this machine's uncore: `UncMHz`, or `UMHz<domain>.<cluster>` for each fabric cluster.

    The word UncMHz selects all cluster columns, as in turbostat.
    """
    ids = []
    for name in signals:
        parts = name.split(".")
        if len(parts) == 4 and parts[0] == "uncore" and parts[3] == "cur":
            ids.append((int(parts[1]), int(parts[2])))
    if not ids:
        return COLUMNS
    return tuple(_clock(f"UMHz{domain}.{cluster}", f"uncore.{domain}.{cluster}.cur",
        f"Clock of fabric cluster {cluster} in power domain {domain} at one instant; the mean over packages.",
        ("frequency", "UncMHz")) for domain, cluster in sorted(ids))
