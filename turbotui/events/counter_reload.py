"""Auto counter reload: events of a group that start each other's counters anew.

`{cycles,instructions/period=200000,ratio-to-prev=2.0/}` samples where less than two instructions are retired a cycle.
The format field acr_mask (config2) of an event holds the members of the group whose overflow reloads its counter
(kernel arch/x86/events/intel/core.c, intel_pmu_acr_late_setup; tools/perf/Documentation/intel-acr.txt).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from turbotui.events.devices import Devices
from turbotui.events.encoded import FLAGS, EncodedEvent
from turbotui.events.errors import ConflictError, GroupError, UnknownTermError
from turbotui.events.options import RATIO

_MASK = "acr_mask"
_MASK_WORD = 2  # config2
_FREQUENCY = 1 << FLAGS["freq"]


def reloaded(text: str, events: Sequence[EncodedEvent], devices: Devices) -> list[EncodedEvent]:
    """Return the events of one string with the reload masks and periods that `ratio-to-prev` asks for.

    Args:
        text: as written.
        events: in their order, those of a group with its number.
        devices: the machine's PMUs.

    Raises:
        GroupError: no event of the same PMU stands before it in a group.
        UnknownTermError: the PMU cannot reload counters.
        ConflictError: neither of the two has a period, or the one before has a mask of its own.
    """
    encoded_events = list(events)
    for at, event in enumerate(encoded_events):
        ratio = next((value for name, value in event.options if name == RATIO), "")
        if ratio:
            encoded_events[at - 1 : at + 1] = _pair(text, encoded_events, at, float(ratio), devices)
    return encoded_events


def _pair(
    text: str, events: Sequence[EncodedEvent], at: int, ratio: float, devices: Devices
) -> tuple[EncodedEvent, EncodedEvent]:
    event, before = events[at], events[at - 1]
    if at == 0 or event.group is None or before.group != event.group or before.pmu != event.pmu:
        raise GroupError(f"{event.string} relates to the event before it in a group of the same PMU, and {text} has "
                         f"none there: write {{EVENT,EVENT/period=N,{RATIO}=R/}}.")
    pmu = devices.exactly(event.pmu)
    mask = None if pmu is None else pmu.formats.get(_MASK)
    if mask is None or mask.word != _MASK_WORD:
        raise UnknownTermError(f"The PMU {event.pmu or 'of the cores'} does not reload counters by itself: it has no "
                               f"format field {_MASK}, so {RATIO} cannot be had here.")
    if before.attr.config2:
        raise ConflictError(f"{before.string} has a config2 of its own, which {RATIO} of {event.string} would change.")
    own, others = event.attr.sample_period, before.attr.sample_period
    if bool(own) == bool(others) or (event.attr.flags | before.attr.flags) & _FREQUENCY:
        raise ConflictError(f"{RATIO} needs the period of one of {before.string} and {event.string}: write period=N "
                            "for one.")
    index = sum(1 for other in events[:at] if other.group == event.group)
    bit, previous = 1 << index, 1 << index - 1
    own, others = own or round(others * ratio), others or round(own / ratio)
    return (replace(before, attr=replace(before.attr, config2=bit, sample_period=others)),
            replace(event, attr=replace(event.attr, config2=bit | previous, sample_period=own)))
