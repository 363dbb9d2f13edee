"""perf raw events of Intel's cores by model: references and hits of the second-level cache, and power licences.

Each kind of core has its own codes (`machine/data/l2_events.toml`), opened on its own PMU. A code may have bits above
the lowest 32 (an extended unit mask at bit 40): perf_event_attr.config has 64.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from turbotui.machine.cpumodel import AMD_VENDORS
from turbotui.machine.host import PerfAttr
from turbotui.machine.machine import Machine
from turbotui.machine.platform_features import L2Events
from turbotui.machine.platforms import processor_of
from turbotui.machine.pmus import Pmu, read_pmu
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.perf_group import GroupEvent, Times
from turbotui.sources.perf_source import Findings, Offer, PerfSource, Trials, count_signal, hybrid_pmus

_GROUP = "l2"
_TIMES = Times.of(f"perf.hw.{_GROUP}")
_SIGNALS = ("cache.l2.references", "cache.l2.hits")
_IDS = (*_SIGNALS, _TIMES.enabled, _TIMES.running)
_PLAIN = "cpu"
_DOCUMENT = "Intel perfmon event files, L2_RQSTS (raw event 0x24)"


class PerfL2(PerfSource):
    """perf's raw L2 events."""

    id = "perf-l2"

    def _find(self, machine: Machine) -> Findings:
        if not machine.platform.l2:
            reason = Reason.NO_HARDWARE if machine.platform.known else Reason.UNKNOWN_MODEL
            detail = "no L2 events are known for this model"
            if machine.model.vendor in AMD_VENDORS:
                reason, detail = Reason.NO_HARDWARE, "AMD's L2 is counted by perf's generic events: see perf hardware"
            return Findings((), dict.fromkeys(_IDS, Unavailable(reason, detail)))
        trials = Trials(machine)
        signals = trials.signals
        for pmu, cpus, events in _cores(machine):
            offers = [
                Offer(GroupEvent(name, PerfAttr(pmu.type, config), f"perf {pmu.name}/config={config:#x}/"), cpus)
                for name, config in zip(_SIGNALS, (events.references, events.hits), strict=True)
            ]
            trials.add(offers, lambda event: count_signal(event, _DOCUMENT, _TIMES), _TIMES, _GROUP)
        absent = next((signal for signal in signals.values() if isinstance(signal, Unavailable)),
                      Unavailable(Reason.NO_HARDWARE, "the kernel has no PMU for these cores"))
        for name in _IDS:
            signals.setdefault(name, absent)
        return trials.findings()


def _cores(machine: Machine) -> Iterator[tuple[Pmu, frozenset[int] | None, L2Events]]:
    """The kinds of core that are measured here and have codes: PMU, CPUs (None: all), codes."""
    hybrid = hybrid_pmus(machine)
    plain = None if hybrid else read_pmu(machine.host, _PLAIN)
    if plain is not None:
        yield plain, None, machine.platform.l2[0]
    for number, pmu in hybrid:
        if number < len(machine.platform.l2):
            yield pmu, frozenset(pmu.cpus), machine.platform.l2[number]


_LICENCE: Final = "licence"
_LICENCE_TIMES: Final = Times.of(f"perf.hw.{_LICENCE}")
_LICENCES: Final = {"licence.0": 0x0728, "licence.1": 0x1828, "licence.2": 0x2028}
_LICENCE_IDS: Final = (*_LICENCES, _LICENCE_TIMES.enabled, _LICENCE_TIMES.running)
_LICENCE_DOCUMENT: Final = (
    "Intel perfmon event files of skylakex to rocketlake, CORE_POWER.LVL0_TURBO_LICENSE to LVL2 (0x28)")


class PerfLicence(PerfSource):
    """perf's raw events of the power licences: on which of three turbo schedules each core ran.

    Server cores from Skylake to Ice Lake, and client cores of Ice Lake, Tiger Lake and Rocket Lake, request more power
    before they execute dense vectors, and have a lower turbo schedule for each of two levels. Later cores have events
    with similar names (CORE_POWER.LICENSE_1 to _3) that Intel's tables do not explain: nothing is inferred from them.
    """

    id = "perf-licence"

    def _find(self, machine: Machine) -> Findings:
        if (row := processor_of(machine.model)) is None or not row.licences:
            why = Unavailable(
                Reason.UNKNOWN_MODEL if row is None else Reason.NO_HARDWARE,
                "this model has no known events of licences; CORE_POWER (0x28) is known of Intel's servers from "
                "Skylake to Ice Lake and of clients from Ice Lake to Rocket Lake")
            return Findings((), dict.fromkeys(_LICENCE_IDS, why))
        pmu = read_pmu(machine.host, _PLAIN)
        if pmu is None:
            reason = Reason.VIRTUALISED if machine.model.hypervisor else Reason.NO_HARDWARE
            why = Unavailable(reason, "perf cpu/event=0x28/: the cores' counters are not there")
            return Findings((), dict.fromkeys(_LICENCE_IDS, why))
        offers = [
            Offer(GroupEvent(name, PerfAttr(pmu.type, config), f"perf {_PLAIN}/config={config:#x}/"))
            for name, config in _LICENCES.items()
        ]
        trials = Trials(machine)
        counted = partial(count_signal, document=_LICENCE_DOCUMENT, times=_LICENCE_TIMES, unit=Unit.CYCLE)
        if not trials.add(offers, counted, _LICENCE_TIMES, _LICENCE):
            licence = next(iter(trials.signals.values()))
            trials.signals |= dict.fromkeys((_LICENCE_TIMES.enabled, _LICENCE_TIMES.running), licence)
        return trials.findings()
