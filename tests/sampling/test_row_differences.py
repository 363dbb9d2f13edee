"""Rows that come and go: slots, births and deaths, and increases that are booked once."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turbotui.quantities.row_kinds import ROWS_LIMIT, Form, Quantity, RowKind
from turbotui.quantities.signals import Behavior, Reduce
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sampling.row_differences import RowDifferences
from turbotui.sampling.rows import Columns, Row, RowTick

KIND = RowKind("jobs", "jobs", most=64)
SECOND = 1_000_000_000
WORK = Quantity("work", "jobs", Unit.COUNT, Behavior.COUNTER, Reduce.SUM, "/proc/jobs")
TIME = Quantity("time", "jobs", Unit.SECOND, Behavior.COUNTER, Reduce.SUM, "/proc/jobs", scale=1e-9)
HEAT = Quantity("heat", "jobs", Unit.CELSIUS, Behavior.GAUGE, Reduce.MAX, "/proc/jobs", form=Form.DOUBLE)
WORDS = Quantity("words", "jobs", Unit.TEXT, Behavior.GAUGE, Reduce.SAME, "/proc/jobs", form=Form.TEXT)
OTHER = Quantity("other", "jobs", Unit.COUNT, Behavior.COUNTER, Reduce.SUM, "/proc/other", clock="other")
ON = Quantity("on", "jobs", Unit.SECOND, Behavior.COUNTER, Reduce.SUM, "perf", scale=1e-9)
RAN = Quantity("ran", "jobs", Unit.SECOND, Behavior.COUNTER, Reduce.SUM, "perf", scale=1e-9)
MISSED = Quantity("missed", "jobs", Unit.COUNT, Behavior.COUNTER, Reduce.SUM, "/proc/jobs")
PIECES = Quantity("pieces", "jobs", Unit.COUNT, Behavior.COUNTER, Reduce.SUM, "/proc/jobs", gaps="missed")
CYCLES = Quantity("cycles", "jobs", Unit.CYCLE, Behavior.COUNTER, Reduce.SUM, "perf", enabled="on", running="ran")
OFF = Quantity("off", "jobs", Unit.SECOND, Behavior.GAUGE, Reduce.MAX, "/proc/vague", scale=1e-9, clock="vague")
VAGUE = Quantity("vague", "jobs", Unit.COUNT, Behavior.COUNTER, Reduce.SUM, "/proc/vague", clock="vague", unsure="off")
QUANTITIES = {item.id: item for item in (WORK, TIME, HEAT, WORDS, OTHER, ON, RAN, CYCLES, MISSED, PIECES, OFF, VAGUE)}


def begun(second: int = 1, kind: RowKind = KIND) -> Columns:
    columns = Columns(kind, QUANTITIES.values())
    columns.begin(0, second * SECOND)
    return columns


def born(columns: Columns, key: str, serial: int = 0, *, began: bool = True) -> int:
    slot = columns.birth(Row(key, serial), began=began)
    assert slot is not None
    return slot


def counted(columns: Columns, slot: int, work: int, second: float, name: str = "work") -> None:
    columns.put(slot, name, work)
    columns.read_at([slot], round(second * SECOND), QUANTITIES[name].clock)


def increase(older: RowTick | None, newer: RowTick, key: str, serial: int = 0, name: str = "work") -> float | None:
    return RowDifferences(older, newer).deltas(name)[newer.roster.slots[key, serial]]


def reason(older: RowTick | None, newer: RowTick, key: str, serial: int = 0, name: str = "work") -> Reason | None:
    row = newer.roster.rows[newer.roster.slots[key, serial]]
    why = RowDifferences(older, newer).why(name, row)
    return None if why is None else why.reason


def test_a_row_keeps_its_slot_and_ticks_share_the_roster_while_nobody_comes_or_goes() -> None:
    columns = begun()
    a, b = born(columns, "a"), born(columns, "b")
    first = columns.tick()
    columns.begin(0, 2 * SECOND)
    columns.put(a, "work", 7)
    second = columns.tick()
    assert second.roster is first.roster
    assert (a, b) == (0, 1)
    assert first.values["work"][a] == 0  # a tick does not change any more
    assert second.values["work"][a] == 7
    columns.begin(0, 3 * SECOND)
    columns.death(a)
    third = columns.tick()
    assert third.roster is first.roster
    assert third.died == {a}
    columns.begin(0, 4 * SECOND)
    fourth = columns.tick()
    assert [row.key for row in fourth.roster.rows.values()] == ["b"]
    assert fourth.roster.slots["b", 0] == b
    assert fourth.values["work"][a] == 0


def test_a_tick_has_every_value_or_its_reason() -> None:
    columns = begun()
    slot = born(columns, "a")
    refused = Unavailable(Reason.NOT_PERMITTED, "no")
    columns.put(slot, "work", 3)
    columns.put(slot, "heat", -4.5)
    columns.put(slot, "words", "idle")
    columns.put(slot, "time", refused)
    tick = columns.tick()
    assert isinstance(tick.values["work"], array)
    assert tick.values["heat"][slot] == -4.5
    assert tick.values["words"][slot] == "idle"
    assert tick.absent["time"] == {slot: refused}
    assert tick.absent["other"][slot].reason is Reason.NOT_READ
    assert tick.absent.keys() == {"time", "other", "on", "ran", "cycles", "missed", "pieces", "vague"}
    gone = RowDifferences(None, tick)
    row = tick.roster.rows[slot]
    assert (gone.level("heat", slot), gone.text("words", slot), gone.level("time", slot)) == (-4.5, "idle", None)
    assert gone.why("time", row) == refused
    assert gone.why("heat", row) is None
    assert (why := gone.why("work", row)) is not None
    assert why.reason is Reason.FIRST_TICK


def test_texts_are_shared_until_one_changes() -> None:
    columns = begun()
    slot = born(columns, "a")
    columns.put(slot, "words", "one")
    first = columns.tick()
    columns.begin(0, 2 * SECOND)
    columns.put(slot, "words", "one")
    second = columns.tick()
    assert second.values["words"] is first.values["words"]
    columns.begin(0, 3 * SECOND)
    columns.put(slot, "words", Unavailable(Reason.FAILED, "gone"))
    assert columns.tick().values["words"][slot] == ""


def test_reasons_are_shared_until_one_changes() -> None:
    columns = begun()
    slots = [born(columns, key) for key in "ab"]
    columns.put(slots[0], "work", Unavailable(Reason.FAILED, "torn"))
    columns.put_all("time", slots, (1, 2))
    first = columns.tick()
    columns.begin(0, 2 * SECOND)
    columns.put(slots[0], "work", Unavailable(Reason.FAILED, "torn"))
    columns.put_all("other", slots, (1, 2))
    second = columns.tick()
    assert second.absent["work"] is first.absent["work"]
    assert ("other" in first.absent, "other" in second.absent) == (True, False)
    columns.begin(0, 3 * SECOND)
    columns.put(slots[0], "work", 5)
    columns.put(slots[1], "time", Unavailable(Reason.FAILED, "gone"))
    third = columns.tick()
    assert set(third.absent["work"]) == {slots[1]}
    assert set(third.absent["time"]) == {slots[1]}
    assert set(first.absent["work"]) == set(slots)
    columns.begin(0, 4 * SECOND)
    columns.death(slots[1])
    columns.tick()
    columns.begin(0, 5 * SECOND)
    assert "time" not in columns.tick().absent


def test_a_full_kind_counts_the_rows_that_it_leaves_out_at_each_tick() -> None:
    columns = begun(kind=RowKind("jobs", "jobs", most=20))
    slots = [columns.birth(Row(str(number))) for number in range(23)]
    assert slots == [*range(20), None, None, None]
    tick = columns.tick()
    assert (tick.omitted, tick.roster.capacity, len(tick.values["work"])) == (3, 20, 20)
    columns.begin(0, 2 * SECOND)
    columns.death(4)
    assert columns.birth(Row("new")) is None  # the dead row keeps its slot for this tick
    assert columns.tick().omitted == 1
    columns.begin(0, 3 * SECOND)
    assert columns.birth(Row("new")) == 4
    assert columns.tick().omitted == 0


def test_a_born_row_counts_from_zero_and_one_that_was_there_before_counts_nothing() -> None:
    columns = begun(1)
    first = columns.tick()
    columns.begin(0, 2 * SECOND)
    counted(columns, born(columns, "new"), 30, 2.5)
    counted(columns, born(columns, "old", began=False), 9_000, 2.5)
    second = columns.tick()
    assert second.born == {0}
    assert increase(first, second, "new") == 30
    assert increase(first, second, "old") is None
    assert reason(first, second, "old") is Reason.FIRST_TICK
    # a rate is over the interval, of which the row lived a part
    assert RowDifferences(first, second).rates("work")[0] == 20


def test_a_row_born_between_two_ticks_that_are_not_neighbours_counts_whole() -> None:
    columns = begun(1)
    first = columns.tick()
    columns.begin(0, 2 * SECOND)
    slot = born(columns, "new")
    counted(columns, slot, 30, 2)
    columns.tick()
    columns.begin(0, 3 * SECOND)
    counted(columns, slot, 50, 3)
    third = columns.tick()
    assert increase(first, third, "new") == 50


def test_a_reused_key_is_another_row_even_in_one_tick() -> None:
    columns = begun(1)
    slot = born(columns, "7", 100)
    counted(columns, slot, 1_000, 1)
    first = columns.tick()
    columns.begin(0, 2 * SECOND)
    columns.death(slot)
    counted(columns, slot, 1_010, 2)
    counted(columns, born(columns, "7", 200), 4, 2)
    second = columns.tick()
    assert increase(first, second, "7", 100) == 10
    assert increase(first, second, "7", 200) == 4
    columns.begin(0, 3 * SECOND)
    counted(columns, born(columns, "8", began=False), 77, 3)  # in the slot of the row that ended
    third = columns.tick()
    assert third.roster.slots["8", 0] == slot
    assert increase(second, third, "8") is None
    assert increase(first, third, "7", 200) == 4


def test_what_was_not_read_is_unknown_and_in_the_next_difference() -> None:
    columns = begun(1)
    a, b = born(columns, "a"), born(columns, "b")
    counted(columns, a, 5, 1)
    counted(columns, b, 5, 1)
    first = columns.tick()
    columns.begin(0, 2 * SECOND)
    counted(columns, a, 6, 2)
    second = columns.tick()
    assert increase(first, second, "a") == 1
    assert increase(first, second, "b") is None
    assert reason(first, second, "b") is Reason.NOT_READ
    columns.begin(0, 3 * SECOND)
    counted(columns, b, 9, 3)
    columns.death(a)
    third = columns.tick()
    assert increase(second, third, "b") == 4
    assert RowDifferences(second, third).rates("work")[b] == 2  # over the two seconds since it was read
    assert increase(second, third, "a") is None
    assert reason(second, third, "a") is Reason.NOT_READ


def test_a_missing_reading_and_a_reset_spoil_one_row() -> None:
    columns = begun(1)
    slots = [born(columns, key) for key in "abc"]
    for slot in slots:
        counted(columns, slot, 100, 1)
    columns.put(slots[1], "work", Unavailable(Reason.FAILED, "torn"))
    first = columns.tick()
    columns.begin(0, 2 * SECOND)
    for slot, work in zip(slots, (103, 104, 50), strict=True):
        counted(columns, slot, work, 2)
    second = columns.tick()
    deltas = RowDifferences(first, second).deltas("work")
    assert list(deltas[:3]) == [3, None, None]
    assert reason(first, second, "b") is Reason.FAILED
    assert reason(first, second, "c") is Reason.WENT_BACK


def test_a_sum_whose_gaps_are_unknown_is_unknown_for_their_reason() -> None:
    columns = begun(1)
    slots = [born(columns, key) for key in "abc"]
    for second in (1, 2):
        if second == 2:
            columns.begin(0, 2 * SECOND)
        for slot in slots:
            counted(columns, slot, 10 * second, second, "pieces")
        columns.put(slots[0], "missed", 5)
        columns.put(slots[1], "missed", Unavailable(Reason.NOT_PERMITTED, "no") if second == 2 else 5)
        columns.put(slots[2], "missed", 5 + second)
        if second == 1:
            first = columns.tick()
    second_tick = columns.tick()
    assert [increase(first, second_tick, key, name="pieces") for key in "abc"] == [10, None, None]
    assert [reason(first, second_tick, key, name="pieces") for key in "abc"] == [
        None, Reason.NOT_PERMITTED, Reason.INTERRUPTED]


def test_a_slot_forgets_what_its_row_lacked_and_its_emptiness_costs_no_slow_path() -> None:
    columns = begun(1)
    slots = [born(columns, key) for key in "abc"]
    for slot in slots:
        counted(columns, slot, 100, 1)
    columns.death(slots[0])
    columns.put(slots[0], "work", Unavailable(Reason.FAILED, "removed"))
    columns.death(slots[1])
    first = columns.tick()
    columns.begin(0, 2 * SECOND)
    counted(columns, born(columns, "new"), 3, 2)
    counted(columns, slots[2], 101, 2)
    second = columns.tick()
    assert second.roster.slots["new", 0] == slots[0]
    assert increase(first, second, "new") == 3
    assert (rose := RowDifferences(first, second).rose("work")) is not None
    assert rose[:3] == [3, 0, 1]


def test_a_moved_row_is_found_by_its_identity() -> None:
    """A reader of kept ticks may put rows elsewhere."""
    before = begun(1)
    for key, work in (("a", 10), ("b", 20), ("c", 30)):
        counted(before, born(before, key), work, 1)
    before.put(0, "work", Unavailable(Reason.FAILED, "torn"))
    first = before.tick()
    after = begun(2)
    for key, work in (("c", 31), ("a", 12), ("b", 23)):
        counted(after, born(after, key, began=False), work, 2)
    second = after.tick()
    assert [increase(first, second, key) for key in "abc"] == [None, 3, 1]


def test_a_multiplexed_counter_is_scaled_by_its_times() -> None:
    columns = begun(1)
    slots = [born(columns, key) for key in "ab"]
    for name in ("cycles", "on", "ran"):
        columns.put_all(name, slots, (0, 0))
    columns.read_at(slots, SECOND)
    first = columns.tick()
    columns.begin(0, 2 * SECOND)
    columns.put_all("cycles", slots, (100, 0))
    columns.put_all("on", slots, (SECOND, SECOND))
    columns.put_all("ran", slots, (SECOND // 4, 0))
    columns.read_at(slots, 2 * SECOND)
    second = columns.tick()
    assert increase(first, second, "a", name="cycles") == 400
    assert increase(first, second, "b", name="cycles") is None
    assert reason(first, second, "b", name="cycles") is Reason.NEVER_RAN


def test_stamps_include_the_time_that_the_machine_slept() -> None:
    columns = begun(1)
    slot = born(columns, "a")
    counted(columns, slot, 1, 1)
    first = columns.tick()
    columns.begin(0, 12 * SECOND, 9 * SECOND)
    counted(columns, slot, 11, 2)
    assert RowDifferences(first, columns.tick()).rates("work")[slot] == 1


def test_definitions_refuse_what_cannot_be() -> None:
    with pytest.raises(ValueError, match="stored in words"):
        Quantity("x", "jobs", Unit.COUNT, Behavior.COUNTER, Reduce.SUM, "", form=Form.DOUBLE)
    with pytest.raises(ValueError, match="both or none"):
        Quantity("x", "jobs", Unit.COUNT, Behavior.COUNTER, Reduce.SUM, "", enabled="on")
    with pytest.raises(ValueError, match="another kind"):
        Columns(RowKind("others", "others"), [WORK])
    for most in (0, ROWS_LIMIT + 1):
        with pytest.raises(ValueError, match="rows"):
            RowKind("x", "x", most=most)
    with pytest.raises(KeyError):
        begun().death(3)


Step = tuple[Sequence[int], Sequence[int], int]
STEPS: st.SearchStrategy[list[Step]] = st.lists(
    st.tuples(st.lists(st.integers(0, 9), max_size=6), st.lists(st.integers(0, 1000), max_size=6),
              st.integers(0, 5)), min_size=2, max_size=12)


@given(STEPS, st.integers(1, 3))
def test_every_unit_of_work_is_booked_once(steps: list[Step], apart: int) -> None:
    """Keys are reused, rows die with a last part, slots are reused, and ticks are kept whether neighbours or not."""
    columns = begun(1)
    done: Counter[tuple[str, int]] = Counter()  # what the rows really did
    booked: Counter[tuple[str, int]] = Counter()
    living: dict[int, tuple[int, int]] = {}
    kept = columns.tick()
    for number, (toggled, works, lag) in enumerate(steps):
        columns.begin(0, (number + 2) * SECOND)
        for key in toggled:  # a key that lives ends, and may come again within the tick
            known = living.pop(key, None)
            if known is not None:
                columns.death(known[0])
                done[str(key), known[1]] += lag
                counted(columns, known[0], done[str(key), known[1]], number + 2)
            else:
                serial = number * 100 + len(done)
                living[key] = born(columns, str(key), serial), serial
        for (key, (slot, serial)), work in zip(sorted(living.items()), [*works, *[1] * len(living)], strict=False):
            done[str(key), serial] += work
            counted(columns, slot, done[str(key), serial], number + 2)
        tick = columns.tick()
        if number % apart == 0 or tick.died or number == len(steps) - 1:
            deltas = RowDifferences(kept, tick).deltas("work")
            for slot, row in tick.roster.rows.items():
                gained = deltas[slot]
                assert gained is not None
                booked[row.identity] += round(gained)
            kept = tick
    assert +booked == +done


def test_a_fifth_of_two_thousand_rows_is_replaced_at_every_tick() -> None:
    kind = RowKind("jobs", "jobs", most=4096)
    columns = Columns(kind, QUANTITIES.values())
    columns.begin(0, SECOND)
    living = [(born(columns, str(number % 1_500), number), number) for number in range(2_000)]
    for slot, _number in living:
        counted(columns, slot, 0, 1)
    kept, done, booked, next_number = columns.tick(), Counter[int](), Counter[int](), 2_000
    for second in range(2, 12):
        columns.begin(0, second * SECOND)
        ended, living = living[:400], living[400:]
        for slot, number in (*ended, *living):
            done[number] += number % 13 + second
            counted(columns, slot, done[number], second)
        for slot, _number in ended:
            columns.death(slot)
        for number in range(next_number, next_number + 400):  # keys are those of rows that live or just ended
            slot = born(columns, str(number % 1_500), number)
            done[number] += 5
            counted(columns, slot, 5, second)
            living.append((slot, number))
        next_number += 400
        tick = columns.tick()
        deltas = RowDifferences(kept, tick).deltas("work")
        for slot, row in tick.roster.rows.items():
            booked[row.serial] += round(deltas[slot] or 0)
        kept = tick
    assert booked == done
    assert kept.roster.capacity == 4096


@pytest.mark.parametrize(("begin", "end", "known"), [(0, 0, True), (20, 30, True), (20, 31, False), (51, 0, False)])
def test_an_interval_of_which_a_twentieth_is_uncertain_has_an_increase_and_no_rate(
        begin: int, end: int, known: bool) -> None:
    columns = begun()
    busy, still = born(columns, "busy"), born(columns, "still")
    ticks = []
    for second, work, unsure in ((1, 0, begin), (2, 600, end)):
        columns.begin(0, second * SECOND)
        columns.put(busy, "vague", work)
        columns.put(still, "vague", 7)
        columns.read_at([busy, still], second * SECOND, "vague", unsure * SECOND // 1000)
        ticks.append(columns.tick())
    differences = RowDifferences(ticks[0], ticks[1])
    assert differences.deltas("vague")[busy] == 600
    assert differences.rates("vague")[busy] == (600.0 if known else None)
    assert differences.rates("vague")[still] == 0.0, "however long it took: nothing was counted"
    assert differences.why("vague", ticks[1].roster.rows[busy]) is None, "the increase is known"
    why = differences.interrupted("vague", busy)
    assert (why is None) is known
    assert why is None or (why.reason is Reason.INTERRUPTED and f"off by {(begin + end) / 1000:.3g} s" in why.detail)


def test_a_born_row_has_no_doubt_of_its_beginning_and_a_moved_one_keeps_it() -> None:
    columns = begun()
    first, moved = born(columns, "first"), born(columns, "moved")
    for slot in (first, moved):
        columns.put(slot, "vague", 1)
        columns.read_at([slot], SECOND, "vague", 100_000_000 * (slot == moved))
    older = columns.tick()
    again = begun(second=2)  # another reader: other slots
    places = {key: born(again, key, began=key == "new") for key in ("new", "moved", "first")}
    for slot in places.values():
        again.put(slot, "vague", 5)
        again.read_at([slot], 2 * SECOND, "vague")
    differences = RowDifferences(older, again.tick())
    assert {key: differences.rates("vague")[slot] for key, slot in places.items()} == {
        "new": 5.0, "moved": None, "first": 4.0}
