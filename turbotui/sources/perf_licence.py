"""perf raw events of the power licences: on which of three turbo schedules each core ran.

Server cores from Skylake to Ice Lake, and client cores of Ice Lake, Tiger Lake and Rocket Lake, request more power
before they execute dense vectors, and have a lower turbo schedule for each of two levels. Later cores have events with
similar names (CORE_POWER.LICENSE_1 to _3) that Intel's tables do not explain, so nothing is inferred from them.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from turbotui.machine.host import PerfAttr
from turbotui.machine.machine import Machine
from turbotui.machine.platforms import processor_of
from turbotui.machine.pmus import read_pmu
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.perf_group import GroupEvent, Times
from turbotui.sources.perf_source import Findings, Offer, PerfSource, Trials, count_signal

_GROUP: Final = "licence"
_TIMES: Final = Times.of(f"perf.hw.{_GROUP}")
_CONFIGS: Final = {"licence.0": 0x0728, "licence.1": 0x1828, "licence.2": 0x2028}
_IDS: Final = (*_CONFIGS, _TIMES.enabled, _TIMES.running)
_PMU: Final = "cpu"
_DOCUMENT: Final = "Intel perfmon event files of skylakex to rocketlake, CORE_POWER.LVL0_TURBO_LICENSE to LVL2 (0x28)"


class PerfLicence(PerfSource):
    """perf's raw events of the power licences."""

    id = "perf-licence"

    def _find(self, machine: Machine) -> Findings:
        if (row := processor_of(machine.model)) is None or not row.licences:
            why = Unavailable(
                Reason.UNKNOWN_MODEL if row is None else Reason.NO_HARDWARE,
                "this model has no known events of licences; CORE_POWER (0x28) is known of Intel's servers from "
                "Skylake to Ice Lake and of clients from Ice Lake to Rocket Lake")
            return Findings((), dict.fromkeys(_IDS, why))
        pmu = read_pmu(machine.host, _PMU)
        if pmu is None:
            reason = Reason.VIRTUALISED if machine.model.hypervisor else Reason.NO_HARDWARE
            why = Unavailable(reason, "perf cpu/event=0x28/: the cores' counters are not there")
            return Findings((), dict.fromkeys(_IDS, why))
        offers = [
            Offer(GroupEvent(name, PerfAttr(pmu.type, config), f"perf {_PMU}/config={config:#x}/"))
            for name, config in _CONFIGS.items()
        ]
        trials = Trials(machine)
        counted = partial(count_signal, document=_DOCUMENT, times=_TIMES, unit=Unit.CYCLE)
        if not trials.add(offers, counted, _TIMES, _GROUP):
            trials.signals |= dict.fromkeys((_TIMES.enabled, _TIMES.running), next(iter(trials.signals.values())))
        return trials.findings()
