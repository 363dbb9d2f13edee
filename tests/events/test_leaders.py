"""Which events of Intel's cores are top-down metrics, and what leads their group."""

from __future__ import annotations

import pytest

from turbotui.events.encoded import EncodedEvent
from turbotui.events.leaders import SLOTS, is_metric, leader_first
from turbotui.events.names import RAW
from turbotui.machine.host import PerfAttr

RETIRING = EncodedEvent("r8000", "cpu/event=0x0,umask=0x80/", "cpu", PerfAttr(RAW, 0x8000),
                        needs_leader=PerfAttr(RAW, SLOTS))
CYCLES = EncodedEvent("r3c", "cpu/event=0x3c/", "cpu", PerfAttr(RAW, 0x3C))


@pytest.mark.parametrize("config", [0x8000, 0x8300, 0x8700])
def test_an_event_0_with_a_mask_from_80_to_87_is_a_metric(config: int) -> None:
    assert is_metric(config)


@pytest.mark.parametrize("config", [0, SLOTS, 0x7F00, 0x8800, 0x803C, 0x8701])
def test_slots_other_masks_and_other_events_are_none(config: int) -> None:
    assert not is_metric(config)


def test_slots_lead_the_group_of_a_metric_and_their_own_count_is_not_scaled() -> None:
    slots, *others = leader_first((CYCLES, RETIRING))
    assert (slots.string, slots.attr, slots.scale, others) == ("", PerfAttr(RAW, SLOTS), 1.0, [CYCLES, RETIRING])
    written = EncodedEvent("slots", "cpu/slots/", "cpu", PerfAttr(RAW, SLOTS))
    assert leader_first((CYCLES, RETIRING, written)) == (written, CYCLES, RETIRING)
    assert leader_first((CYCLES,)) == (CYCLES,)
