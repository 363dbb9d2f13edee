"""Regions on the screen, with page faults in place of slots: counted while shown, opened, recorded."""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from dashboard_driver import dashboard, until
from page_fault_tree import StandIn, this_machine
from page_faults import TOUCH
from patience import PATIENCE, least_disturbed
from scripted_machine import FakeSession
from watched_machines import frames_of_machine

from turbotui import recording
from turbotui.features.tasks.recorders import RegionRecorder
from turbotui.features.tasks.region_counting import RegionCounting
from turbotui.features.topdown.counter_parts import Counts, PartCount
from turbotui.features.topdown.engine import Drill, TopdownCounters
from turbotui.features.topdown.recorded_regions import RegionSlotsRecord, region_slots, region_slots_of
from turbotui.features.topdown.recorders import RegionSlotsRecorder
from turbotui.features.topdown.region_interval_rows import interval_rows, region_interval_notes
from turbotui.features.topdown.region_slots import RegionCount, RegionInterval, RegionSlots, RegionSpan
from turbotui.features.topdown.shown_parts import ShownRegions
from turbotui.features.topdown.tables import region_table
from turbotui.machine.observing import Observation, observe
from turbotui.machine.region_pipes import RegionPipe
from turbotui.machine.regions import RegionExtent, RegionMark, RegionTimes
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.recording.framing import DamagedError
from turbotui.recording.json_values import JsonValue, packed, unpacked
from turbotui.recording.rows import IntervalRows

_PAGES = 12_000
_PROGRAM = TOUCH + f"""
import sys, turbotui
touch({5 * _PAGES})  # nobody counts this: no mark was made yet
with turbotui.region("all of it"):
    sys.stdin.readline()
    for _ in range(3):
        with turbotui.region("much"):
            touch({3 * _PAGES})
        with turbotui.region("little"):
            touch({_PAGES})
    sys.stdin.readline()
"""


class StandInSlots(RegionSlots):
    """Slots of regions by the stand-in's tree."""

    def __init__(self) -> None:
        machine = this_machine()
        super().__init__(machine)
        self.counters = StandIn(machine)


def until_open(counting: RegionCounting, slots: RegionSlots) -> None:
    end = time.monotonic() + PATIENCE
    while slots.interval() is None:
        assert time.monotonic() < end
        counting.totals()


@contextmanager
def held_command(pipe: RegionPipe) -> Iterator[tuple[Observation, Callable[[], object]]]:
    """The program, which waits for its standard input in its regions; and what lets it go on to its end."""
    reader, writer = os.pipe()
    saved = os.dup(0)
    os.dup2(reader, 0)
    try:
        with observe([sys.executable, "-c", _PROGRAM], prepare=pipe.announce) as seen:
            yield seen, lambda: os.write(writer, b"\n\n")
    finally:
        os.dup2(saved, 0)
        for item in (saved, reader, writer):
            os.close(item)


class KeptRows:
    """A recorder that keeps the rows that it is given."""

    def __init__(self) -> None:
        self.kept: list[IntervalRows] = []

    def rows(self, rows: IntervalRows) -> None:
        self.kept.append(rows)


@pytest.mark.real
@least_disturbed
def test_slots_of_a_commands_regions_are_recorded_until_it_ends() -> None:
    machine, recorder = this_machine(), KeptRows()
    _machine, (frame, *_others) = frames_of_machine("laptop-old", 2, cpus=frozenset({0}))
    with RegionPipe() as pipe, held_command(pipe) as (seen, go_on):
        marks = RegionRecorder(machine, recorder, pipe, seen.commands[0].pid, records=False)  # type: ignore[arg-type]
        slots = RegionSlotsRecorder(recorder, marks.counting, StandInSlots())  # type: ignore[arg-type]
        for item in (marks, slots):
            item.start()
        slots.end_interval(frame)
        assert slots.failure == "the command marked none (TURBOTUI_REGIONS)"
        seen.run()
        end = time.monotonic() + PATIENCE
        while not recorder.kept:
            assert time.monotonic() < end
            marks.end_interval(frame)
            slots.end_interval(frame)
        go_on()
        assert seen.wait()
        slots.end_interval(frame)
        for item in (marks, slots):
            item.stop()
    assert not slots.failure
    record = recorder.kept[-1]
    assert isinstance(record, RegionSlotsRecord)  # operations and bytes were not asked for
    rows = {row.place.name: row for row in interval_rows(StandIn(machine).branches, record.interval)}
    assert rows["much"].slots() or rows["little"].slots()
    assert (rows["all of it"].percent("memory") or 0.0) >= 0.0
    assert rows["all of it"].total() == pytest.approx(100.0, abs=0.1)


@pytest.mark.real
@least_disturbed
def test_regions_are_counted_from_when_their_rows_are_shown() -> None:
    machine, slots = this_machine(), StandInSlots()
    with RegionPipe() as pipe, held_command(pipe) as (seen, go_on):
        counting = RegionCounting(machine, pipe)
        counting.open(seen.commands[0].pid)
        counting.start()
        assert slots.interval() is None
        seen.run()
        assert counting.count_also(slots)
        until_open(counting, slots)
        go_on()
        assert seen.wait()
        counting.stop()
    assert not counting.count_also(slots)  # it has ended: nothing can be opened any more
    interval = slots.interval()
    assert interval is not None
    assert interval.ended
    rows = {row.place.name: row for row in interval_rows(slots.counters.branches, interval)}
    assert next(iter(rows)) == "the command"
    faults = {name: row.slots() or 0.0 for name, row in rows.items()}
    assert faults["all of it"] == pytest.approx(12 * _PAGES, rel=0.3)
    assert 1.5 < faults["much"] / faults["little"] < 6
    assert faults["the command"] >= faults["all of it"]
    entered = {name: row.extent.entries for name, row in rows.items() if row.extent is not None}
    assert (entered["much"], entered["little"]) == (3, 3)
    for row in rows.values():
        assert row.total() == pytest.approx(100.0, abs=0.1)  # counters of a family are read one by one


class Programs:
    """Counters of programs whose counts the test says."""

    def __init__(self) -> None:
        self.number = 0.0
        self.names: tuple[str, ...] = ("all", "minor", "major")
        self.added: list[int] = []
        self.closed = 0

    @property
    def refused(self) -> Mapping[str, int]:
        return {"it belongs to another user": 1}

    @property
    def user_only(self) -> bool:
        return True

    def add(self, pid: int) -> None:
        self.added.append(pid)

    def read(self) -> Counts:
        result, self.number = self.number, 0.0
        values = {"all": result, "minor": result * 0.75, "major": result * 0.25}
        return {("software", ""): (PartCount({name: values[name] for name in self.names}, 1e9, 1e9),),
                ("software", "backend"): (PartCount({"all": result, "major": result * 0.25}, 1e9, 5e8),)}

    def close(self) -> None:
        self.closed += 1


class Bed:
    """Regions whose marks and counts the test makes."""

    def __init__(self) -> None:
        self.programs = Programs()
        self.slots = RegionSlots(this_machine(), self._open)
        self.slots.counters = StandIn(this_machine())
        self.times = RegionTimes(0)
        self.families: list[bool] = []

    def _open(self, counters: TopdownCounters, family: bool) -> Programs:
        self.families.append(family)
        assert counters is self.slots.counters
        return self.programs

    def mark(self, begins: bool, at: float, name: str) -> None:
        self.times.take(RegionMark(begins, round(at * 1e9), (7, 7), 0, name))

    def read(self, at: float, seconds: float, number: float) -> None:
        self.programs.number = number
        self.slots.take(self.times.until(round(at * 1e9)), seconds, self.times)

    def found(self) -> RegionInterval:
        interval = self.slots.interval()
        assert interval is not None
        return interval


@pytest.fixture
def bed() -> Bed:
    made = Bed()
    made.mark(True, 1.0, "solve")
    made.times.until(2_000_000_000)
    made.slots.open((7,), made.times, family=True)
    made.read(4.0, 2.0, 400.0)
    made.mark(False, 4.0, "solve")
    made.mark(True, 4.0, "write")
    made.read(5.0, 1.0, 100.0)
    return made


def test_what_was_before_the_rows_are_shown_is_not_counted(bed: Bed) -> None:
    whole, solve, write = interval_rows(bed.slots.counters.branches, bed.found())
    assert bed.families == [True]
    assert (whole.slots(), solve.slots(), write.slots()) == pytest.approx((500.0, 400.0, 100.0))
    assert solve.extent is not None
    assert write.extent is not None
    assert (solve.extent.entries, solve.extent.seconds, solve.extent.of_time) == pytest.approx((0, 2.0, 2 / 3))
    assert write.extent.entries == 1
    assert write.extent.of_slots == pytest.approx(0.2)
    assert whole.percent("backend") == pytest.approx(25.0)
    notes = " ".join(region_interval_notes(bed.found()))
    assert "counted for 3.0 s" in notes
    assert "1 program not counted: it belongs to another user" in notes
    assert "leave the kernel out" in notes


def test_what_is_opened_is_counted_since_then_and_the_others_continue(bed: Bed) -> None:
    bed.slots.drill(("region write", 0), Drill(("backend",)))
    bed.slots.open((7,), bed.times, family=True)
    assert bed.programs.closed == 1
    rows = {row.place.name: row for row in interval_rows(bed.slots.counters.branches, bed.found())}
    assert rows["write"].slots() == pytest.approx(100.0)  # level 1 of before, as long as nothing ran since
    assert "since this row was opened" in rows["write"].why("memory").detail
    bed.read(6.0, 1.0, 40.0)
    rows = {row.place.name: row for row in interval_rows(bed.slots.counters.branches, bed.found())}
    assert rows["write"].slots() == pytest.approx(40.0)
    assert rows["write"].percent("memory") == pytest.approx(25.0)
    assert rows["write"].ran["software", "backend"] == pytest.approx(0.5)  # they took turns, and it is told
    assert rows["solve"].slots() == pytest.approx(400.0)
    assert ("software", "backend") not in rows["solve"].ran
    assert rows["the command"].slots() == pytest.approx(540.0)
    assert "since it was opened, for 1.0 s" in " ".join(region_interval_notes(bed.found()))


def test_events_that_are_opened_in_other_parts_begin_again(bed: Bed) -> None:
    bed.programs.names = ("all", "minor")
    bed.read(6.0, 1.0, 40.0)
    assert bed.found().first.seconds == 1.0


def test_cells_say_why_they_are_unknown_and_what_a_region_is(bed: Bed) -> None:
    rows = interval_rows(bed.slots.counters.branches, bed.found())
    table = region_table(bed.slots.counters, rows)
    columns = {column.id: column for column in table.columns}
    why = table.cell(columns["Entered"], rows[0]).why
    assert why is not None
    assert "no such value" in why.detail
    evidence = table.evidence(columns["backend%"], rows[2])
    assert evidence is not None
    assert "1.000 s, 33.3 % of the time that was counted" in " ".join(evidence.remarks)


def test_a_recording_has_the_same_rows_again(bed: Bed) -> None:
    bed.slots.drill(("region write", 0), Drill(("backend",)))
    bed.slots.open((7,), bed.times, family=True)
    bed.read(6.0, 1.0, 40.0)
    record = RegionSlotsRecord(7, 5, bed.found())
    said = unpacked(packed(record.facts()), "regions")
    assert region_slots(said) == bed.found()
    assert record.plus(RegionSlotsRecord(8, 6, bed.found())).wall_ns == 8


async def test_b_compares_with_all_the_time_for_which_regions_were_counted(bed: Bed) -> None:
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        session.tick(2)
        await until(pilot, lambda: app.watched.frame is not None and app.watched.frame.older is not None)
        watch = app.watched
        regions = ShownRegions(watch, bed.slots.counters, lambda _message: None)
        assert watch.frame is not None
        assert regions.joined([watch.frame]) is None
        regions.past.keep(watch.frame.newer.wall_ns, 2, bed.found())
        joined = regions.joined([watch.frame])
        assert joined is not None
        assert joined[0] == bed.found()
        assert joined[1:] == pytest.approx((3.0, 1.0))


def test_regions_are_read_of_a_file_of_version_1_for_ever() -> None:
    why = Unavailable(Reason.NOT_PERMITTED, "belongs to another user", "run as root")

    def counted(count: int) -> RegionSpan:
        programs: Counts = {("cpu", ""): (
            PartCount({"slots": 400.0 * count, "retired": 100.0 * count}, 20.0 * count, 10.0 * count, {"fetch": why}),)}
        region: Counts = {
            ("cpu", ""): (PartCount({"slots": 100.0 * count, "retired": 50.0 * count}, 5.0 * count, 2.5 * count),),
            ("cpu", "backend"): why}
        extent = RegionExtent("solve é", count, 0.5 * count, 0.25 * count)
        return RegionSpan(1.0 * count, programs, (RegionCount(extent, region),))

    below = RegionSpan(0.5, {("cpu", "backend"): (PartCount({"stalls": 3.0}, 8.0, 8.0),)}, ())
    path = Path(__file__).parents[2] / "recording" / "golden" / "version1.slots_looks.ttj"
    with recording.read(str(path)) as journal:
        intervals = [region_slots_of(journal.rows, frame) for frame in journal.frames()]
        assert journal.check() == ()
    assert intervals == [
        None, RegionInterval(True, counted(1), refused={"it ended": 2}, user_only=True, lost=4),
        RegionInterval(True, counted(2), below, ("solve é", 0), {"it ended": 2}, True, 4, True)]


def test_what_a_document_claims_is_damage_or_is_shown(bed: Bed) -> None:
    facts, chosen, damaged = packed(RegionSlotsRecord(1, 1, bed.found()).facts()), random.Random(5), 0
    plain = unpacked(facts, "regions").value
    for _ in range(200):
        value = _spoiled(plain, chosen)
        try:
            interval = region_slots(JsonValue(value, "regions"))
        except DamagedError:
            damaged += 1
        else:
            interval_rows(bed.slots.counters.branches, interval)
    assert damaged > 50


def _spoiled(value: object, chosen: random.Random) -> object:
    if isinstance(value, dict) and value:
        key = chosen.choice(sorted(value))
        return {**value, key: _spoiled(value[key], chosen)}
    if isinstance(value, list) and value:
        at = chosen.randrange(len(value))
        return [*value[:at], _spoiled(value[at], chosen), *value[at + 1:]]
    return chosen.choice([None, "x", [], {}, 3, True])
