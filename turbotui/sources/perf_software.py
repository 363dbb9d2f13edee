"""perf's software events: context switches, migrations and page faults of each CPU, one group a CPU."""

from __future__ import annotations

from turbotui.machine.host import PerfAttr
from turbotui.machine.machine import Machine
from turbotui.quantities.signals import SignalId
from turbotui.sources.perf_group import GroupEvent
from turbotui.sources.perf_source import Findings, Offer, PerfSource, Trials, count_signal

_DOCUMENT = "perf_event_open(2), PERF_TYPE_SOFTWARE"
_TYPE_SOFTWARE = 1  # PERF_TYPE_SOFTWARE, uapi linux/perf_event.h

_EVENTS: dict[SignalId, tuple[int, str]] = {
    # PERF_COUNT_SW_*, uapi linux/perf_event.h. Nothing is excluded: a context switch happens in kernel mode, and
    # exclude_kernel would make the counter stay at 0 without an error.
    "switches": (3, "context-switches"),
    "migrations": (4, "cpu-migrations"),
    "faults": (2, "page-faults"),
}


class PerfSoftware(PerfSource):
    """perf's software events."""

    id = "perf-software"

    def _find(self, machine: Machine) -> Findings:
        offers = [Offer(GroupEvent(signal, PerfAttr(_TYPE_SOFTWARE, config), f"perf {name}"))
                  for signal, (config, name) in _EVENTS.items()]
        trials = Trials(machine)
        trials.add(offers, lambda event: count_signal(event, _DOCUMENT))
        return trials.findings()
