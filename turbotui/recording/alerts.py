"""Events worth a person's look: throttling that begins, governors that change, counters that are lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from turbotui.machine.cpulist import format_cpulist
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Raw, SignalId
from turbotui.sampling.snapshot import Snapshot

_THROTTLING: Final[Mapping[SignalId, tuple[Scope, str]]] = {
    "throttle.core.count": (Scope.CORE, "cores"),
    "throttle.pkg.count": (Scope.PACKAGE, "packages"),
}
"""Counters of throttling for heat (sysfs thermal_throttle), and what they count for."""
_GOVERNOR: Final = "cpufreq.governor"


class Alerts:
    """Compares each snapshot with the one before; of throttling that goes on only the beginning is told."""

    def __init__(self) -> None:
        self._throttled: dict[SignalId, bool] = {}

    def between(self, before: Snapshot, now: Snapshot) -> Iterator[str]:
        """Sentences about what began in this interval; none where CPUs came or went, which is told by itself."""
        if now.topology is not before.topology:
            return
        yield from self._throttling(before, now)
        yield from _governors(before, now)
        lost = now.failures.keys() - before.failures.keys()
        for source in sorted({source for source, _cpu in lost}):
            cpus = [cpu for name, cpu in lost if name == source and cpu >= 0]
            where = f" of CPUs {format_cpulist(cpus)}" if cpus else ""
            yield f"counters lost: {source}{where}"

    def _throttling(self, before: Snapshot, now: Snapshot) -> Iterator[str]:
        for name, (scope, word) in _THROTTLING.items():
            older, newer = before.values.get(name), now.values.get(name)
            if older is None or newer is None:
                continue
            rising = [at for at, pair in enumerate(zip(older, newer, strict=True)) if _rose(*pair)]
            if rising and not self._throttled.get(name):
                instances = now.topology.instances(scope)
                some = f"{len(rising)} of {len(newer)} {word}, from CPU {instances[rising[0]].cpus[0]} on"
                yield f"throttled for heat: {some if len(rising) < len(newer) else f'all {word}'}"
            self._throttled[name] = bool(rising)


def _rose(older: Raw, newer: Raw) -> bool:
    return isinstance(older, int) and isinstance(newer, int) and newer > older


def _governors(before: Snapshot, now: Snapshot) -> Iterator[str]:
    older, newer = before.values.get(_GOVERNOR), now.values.get(_GOVERNOR)
    if older is None or newer is None or older == newer:
        return
    changed: dict[tuple[Raw, Raw], list[int]] = {}
    for cpu, pair in zip(now.topology.cpus, zip(older, newer, strict=True), strict=True):
        if None not in pair and pair[0] != pair[1]:
            changed.setdefault(pair, []).append(cpu)
    for (was, is_now), cpus in changed.items():
        yield f"governor {was} became {is_now}: CPUs {format_cpulist(cpus)}"
