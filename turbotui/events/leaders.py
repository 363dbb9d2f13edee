"""Events that the kernel accepts only in a group with a certain leader.

Intel's level-1 and level-2 top-down metrics are parts of the SLOTS fixed counter, so Linux refuses them under any other
leader (arch/x86/events/intel/core.c, intel_pmu_hw_config; tools/perf/Documentation/topdown.txt). A metric that is
requested alone gets its leader beside it, as perf does.
"""

from __future__ import annotations

from collections.abc import Sequence

from turbotui.events.encoded import EncodedEvent
from turbotui.events.names import RAW
from turbotui.machine.host import PerfAttr
from turbotui.machine.pmus import Pmu

SLOTS = 0x0400  # event 0x00, umask 0x04: TOPDOWN.SLOTS on fixed counter 3 (Intel SDM vol. 3, 20.3.9.3)
_SLOTS_EVENT = "slots"  # its name in sysfs where the PMU has PERF_METRICS
_FIRST_METRIC, _LAST_METRIC = 0x8000, 0x8700  # event 0x00, umask 0x80 to 0x87 (arch/x86/include/asm/perf_event.h)


def is_metric(config: int) -> bool:
    """Whether a core event of Intel's is one of the top-down metrics."""
    return config & 0xFF == 0 and _FIRST_METRIC <= config <= _LAST_METRIC


def required_leader(pmu: Pmu | None, attr: PerfAttr) -> PerfAttr | None:
    """Return the event that has to lead this event's group; None if the event may be alone."""
    if pmu is None or _SLOTS_EVENT not in pmu.events or attr.type not in (RAW, pmu.type) or not is_metric(attr.config):
        return None
    return PerfAttr(attr.type, SLOTS, flags=attr.flags)


def leader_first(events: Sequence[EncodedEvent]) -> tuple[EncodedEvent, ...]:
    """Order the events of one group as the kernel requires: the leader that a member needs comes first.

    A leader that was added here has an empty string: the leader is opened, and no column shows its count.
    """
    needed = next((event.needs_leader for event in events if event.needs_leader is not None), None)
    if needed is None:
        return tuple(events)
    code = needed.type, needed.config, needed.config1, needed.config2
    given = next((event for event in events if (
        event.attr.type, event.attr.config, event.attr.config1, event.attr.config2) == code), None)
    if given is not None:
        return (given, *(event for event in events if event is not given))
    first = events[0]
    return (EncodedEvent("", f"{first.pmu}/{_SLOTS_EVENT}/", first.pmu, needed, cpus=first.cpus), *events)
