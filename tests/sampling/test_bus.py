"""Mailboxes: views may skip items, recorders may not."""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st
from patience import PATIENCE

from turbotui.sampling.bus import Bus, EveryItem, LatestItem


@given(st.lists(st.none() | st.integers(1, 9)))
def test_the_latest_item_replaces_what_nobody_took_and_is_counted(steps: list[int | None]) -> None:
    box: LatestItem[int] = LatestItem()
    waiting: int | None = None
    skipped = 0
    for step in steps:  # None takes, a number is put
        if step is None:
            assert box.take() == waiting
            waiting = None
        else:
            skipped += waiting is not None
            box.put(step)
            waiting = step
        assert box.skipped == skipped


def test_a_view_is_woken_for_each_item() -> None:
    woken: list[int | None] = []
    box: LatestItem[int] = LatestItem(lambda: woken.append(box.take()))
    for item in range(3):
        box.put(item)
    assert woken == [0, 1, 2]
    assert box.skipped == 0


@given(st.lists(st.integers()), st.integers(1, 8))
def test_every_item_comes_in_order_up_to_the_bound_and_the_rest_is_counted(items: list[int], bound: int) -> None:
    box: EveryItem[int] = EveryItem(bound)
    for item in items:
        box.put(item)
    box.close()
    assert list(box) == items[:bound]
    assert box.lost == max(0, len(items) - bound)


def test_closing_a_full_queue_does_not_wait_for_its_reader() -> None:
    box: EveryItem[int] = EveryItem(1)
    box.put(1)
    closer = threading.Thread(target=box.close, daemon=True)
    closer.start()
    closer.join(PATIENCE)
    assert not closer.is_alive()
    assert list(box) == [1]


def test_a_reader_waits_for_items_and_ends_with_the_queue() -> None:
    box: EveryItem[int] = EveryItem()
    result: list[int] = []
    reader = threading.Thread(target=lambda: result.extend(box), daemon=True)
    reader.start()
    for item in range(100):
        box.put(item)
    box.close()
    reader.join(PATIENCE)
    assert not reader.is_alive()
    assert result == list(range(100))


def test_a_reader_may_wait_for_one_item_and_knows_when_none_will_come() -> None:
    box: EveryItem[int] = EveryItem(2)
    assert box.take(0.0) is None
    for item in range(3):
        box.put(item)
    box.close()
    assert [box.take(PATIENCE), box.over, box.take(PATIENCE), box.over] == [0, False, 1, True]
    assert (box.take(PATIENCE), box.lost) == (None, 1)


def test_the_bus_gives_every_mailbox_every_item_from_when_it_was_attached() -> None:
    bus: Bus[int] = Bus()
    first: EveryItem[int] = EveryItem()
    second: LatestItem[int] = LatestItem()
    bus.attach(first)
    bus.publish(1)
    bus.attach(second)
    bus.publish(2)
    bus.publish(3)
    first.close()
    assert list(first) == [1, 2, 3]
    assert (second.take(), second.skipped) == (3, 1)
