"""The reader of groups on its own thread: intervals end with ticks, whatever was read between them."""

from __future__ import annotations

import queue

from knownmachines import known_machine
from patience import PATIENCE

from turbotui.features.groups.engine import GroupInterval, GroupRequest
from turbotui.features.groups.files import QUANTITIES
from turbotui.features.groups.live import GroupWatcher
from turbotui.simulated import ManualClock, simulated_host


def test_what_is_read_between_two_ticks_is_part_of_the_interval() -> None:
    clock = ManualClock()
    simple_queue: queue.SimpleQueue[GroupInterval] = queue.SimpleQueue()
    watcher = GroupWatcher(known_machine(simulated_host("guest", clock)), simple_queue.put)
    watcher.start()

    def snapshot(wall_ns: int, *, early: bool) -> GroupInterval:
        watcher.ask(GroupRequest(QUANTITIES, resctrl=False, clocks=(wall_ns, wall_ns)), early=early)
        while (interval := simple_queue.get(timeout=PATIENCE)).early != early:
            continue  # the groups are read early once, without being asked
        return interval

    assert snapshot(1, early=False).seconds == 0
    clock.advance(1.0)
    between = snapshot(1, early=True)
    assert (between.early, between.seconds) == (True, 1.0)
    clock.advance(1.0)
    whole = snapshot(2, early=False)
    assert (whole.early, whole.seconds, whole.wall_ns) == (False, 2.0, 2)
    watcher.stop()
