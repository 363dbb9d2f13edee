"""Rows in the sampler: read at the CPUs' ticks, left out when late or failing, and counted whole afterwards."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from moved_clock import frames_of
from scripted import FakeHost, FakeSource, counter, machine_of

from turbotui.errors import InternalError
from turbotui.machine.host import HostError
from turbotui.machine.machine import Machine
from turbotui.quantities.row_kinds import Cost, Quantity, RowKind
from turbotui.quantities.signals import Behavior, Reduce
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sampling.answers import Answer
from turbotui.sampling.capabilities import probe_sources
from turbotui.sampling.frame import Frame
from turbotui.sampling.row_differences import RowDifferences
from turbotui.sampling.row_workers import NarrowedSource, RowReader, RowSource, RowWorker, joined_sources
from turbotui.sampling.rows import Columns, Roster, Row, RowTick
from turbotui.sampling.sampler import Sampler
from turbotui.sampling.worker_pool import LateAnswers

QUANTITIES = (Quantity("work", "jobs", Unit.COUNT, Behavior.COUNTER, Reduce.SUM, "/proc/jobs"),)


@dataclass
class Jobs:
    """A source and its reader: jobs that have done as much as `done` says."""

    host: FakeHost
    done: dict[str, int] = field(default_factory=dict)
    kind: RowKind = field(default_factory=lambda: RowKind("jobs", "jobs"))
    quantities: tuple[Quantity, ...] = QUANTITIES
    refused: Unavailable | None = None
    error: Exception | None = None
    gate: threading.Event | None = None
    reads: int = 0
    closed: int = 0

    def open(self, machine: Machine) -> RowReader | Unavailable:
        del machine
        return self.refused or self

    def read(self, into: Columns) -> Unavailable | None:
        self.reads += 1
        now, done = self.host.now, dict(self.done)
        if self.gate is not None:
            self.gate.wait()
        known = {row.key: slot for slot, row in into.rows.items()}
        for key in known.keys() - done.keys():
            into.death(known[key])
        for key, work in done.items():
            slot = known.get(key)
            if slot is None:
                slot = into.birth(Row(key), began=self.reads > 1)
                assert slot is not None
            into.put(slot, "work", work)
            into.read_at([slot], now)
        if self.error is not None:
            raise self.error
        return None

    def close(self) -> None:
        self.closed += 1


def run(host: FakeHost, *jobs: RowSource, intervals: int, act: Callable[[Frame], None]) -> list[Frame]:
    machine = machine_of(host)
    source = FakeSource((counter("x"),), lambda cpu, _name: host.now)
    sampler = Sampler(machine, probe_sources(machine, [source]), frozenset({"x"}), 0.05, clock=host.clock)
    sampler.read_rows({job.kind.id: job for job in jobs})
    return frames_of(sampler, intervals, act)


def rows_of(frame: Frame) -> RowDifferences:
    result = frame.kind("jobs")
    assert isinstance(result, RowDifferences)
    return result


def increases(frame: Frame) -> dict[str, float | None]:
    rows = rows_of(frame)
    deltas = rows.deltas("work")
    return {row.key: deltas[slot] for slot, row in rows.newer.roster.rows.items()}


@pytest.mark.parametrize("pins", [True, False])
def test_rows_belong_to_the_tick_of_the_cpus(pins: bool) -> None:
    host = FakeHost(pins=pins)
    jobs = Jobs(host, {"a": 100})

    def act(frame: Frame) -> None:
        host.now += 2_000_000_000
        jobs.done["a"] += 10 * (frame.seq + 1)

    frames = run(host, jobs, intervals=3, act=act)
    assert [increases(frame) for frame in frames] == [{"a": None}, {"a": 10}, {"a": 20}, {"a": 30}]
    for frame in frames:
        assert rows_of(frame).newer.started_ns == frame.newer.started_ns
        assert frame.newer.no_rows == {}
    assert list(rows_of(frames[3]).rates("work"))[:1] == [15]
    assert jobs.closed == 1


def test_who_wants_no_rows_has_none_and_is_told() -> None:
    host = FakeHost()
    frame = run(host, intervals=1, act=lambda _frame: None)[-1]
    result = frame.kind("jobs")
    assert isinstance(result, Unavailable)
    assert result.reason is Reason.NOT_READ


def test_a_late_kind_is_left_out_and_loses_nothing() -> None:
    """At frame 1 the reader hangs; job `b` ends meanwhile and `c` begins."""
    host = FakeHost()
    jobs = Jobs(host, {"a": 100, "b": 50})
    gate = host.clock.gate()

    def act(frame: Frame) -> None:
        host.now += 1_000_000_000
        jobs.done["a"] += 1
        if frame.seq == 0:
            jobs.done["b"] += 5
            jobs.gate = gate
        if frame.seq == 1:
            jobs.done |= {"c": 7}
            del jobs.done["b"]
        if frame.seq == 3:
            jobs.gate = None
            gate.set()

    frames = run(host, jobs, intervals=7, act=act)
    late = [frame for frame in frames if frame.newer.no_rows]
    assert [frame.seq for frame in late][:3] == [1, 2, 3]
    for frame in late:
        assert not frame.newer.late, "CPUs are not held up"
        rows = rows_of(frame)
        assert rows.newer is frames[0].newer.rows["jobs"]
        why = rows.why("work", rows.newer.roster.rows[0])
        assert why is not None
        assert why.reason is Reason.LATE
    assert jobs.reads == 1 + 1 + (len(frames) - 1 - len(late)), "never asked while it had not answered"
    booked = {"a": 0.0, "b": 0.0, "c": 0.0}
    for frame in frames[1:]:
        for key, gained in increases(frame).items():
            booked[key] += gained or 0
    assert booked == {"a": jobs.done["a"] - 100 - 1, "b": 5, "c": 7}, "but for the tick after the last reading"


def test_a_reading_that_fails_is_told_and_its_dead_rows_are_in_the_next() -> None:
    host = FakeHost()
    jobs = Jobs(host, {"a": 100, "b": 50})

    def act(frame: Frame) -> None:
        host.now += 1_000_000_000
        jobs.done["a"] += 3
        if frame.seq == 0:
            del jobs.done["b"]
            jobs.error = HostError(5, "read /proc/jobs")
        else:
            jobs.error = None

    frames = run(host, jobs, intervals=3, act=act)
    assert "/proc/jobs" in frames[1].newer.no_rows["jobs"].detail
    assert increases(frames[2]) == {"a": 6, "b": None}
    assert rows_of(frames[2]).newer.died == {1}
    assert increases(frames[3]) == {"a": 3}


def test_a_machine_without_such_rows_says_why_and_a_broken_source_ends_the_sampler() -> None:
    host = FakeHost()
    refused = Unavailable(Reason.NO_DRIVER, "no jobs here")
    frames = run(host, Jobs(host, refused=refused), intervals=1, act=lambda _frame: None)
    assert frames[-1].kind("jobs") == refused
    with pytest.raises(InternalError, match="rows jobs"):
        run(host, Jobs(host, error=ZeroDivisionError()), intervals=1, act=lambda _frame: None)


def test_a_late_answer_stands_in_when_its_worker_is_late_again() -> None:
    worker = RowWorker(Jobs(FakeHost()))
    rows = RowTick(RowKind("jobs", "jobs"), {}, 1, 1, Roster(), {}, {})
    late = LateAnswers()
    late.take(Answer(worker, rows={"jobs": rows}))
    assert [answer.rows for answer in late.with_answers([], ticks=False)] == [{"jobs": rows}]
    assert late.with_answers([], ticks=False) == []


def test_seldom_quantities_are_due_at_every_fifth_tick_and_at_a_rows_first() -> None:
    columns = Columns(RowKind("jobs", "jobs"), QUANTITIES)
    due: dict[int, list[int]] = {0: [], 1: []}
    for number in range(12):
        columns.begin(0, number + 1)
        if number == 0:
            assert [columns.birth(Row(str(row))) for row in range(2)] == [0, 1]
        for slot, ticks in due.items():
            if columns.due(slot):
                ticks.append(number)
    assert due == {0: [0, 4, 9], 1: [0, 3, 8]}


SEVERAL = (*QUANTITIES,
           Quantity("seldom", "jobs", Unit.COUNT, Behavior.GAUGE, Reduce.SUM, "/proc/jobs", cost=Cost.SELDOM),
           Quantity("sum", "jobs", Unit.COUNT, Behavior.COUNTER, Reduce.SUM, "/proc/jobs", gaps="gaps"),
           Quantity("gaps", "jobs", Unit.COUNT, Behavior.COUNTER, Reduce.SUM, "/proc/jobs", clock="other"))


def test_what_is_wanted_changes_while_a_kind_is_read_and_nothing_is_opened_anew() -> None:
    host = FakeHost()
    jobs = Jobs(host, {"a": 0}, quantities=SEVERAL)
    work, total = NarrowedSource(jobs, frozenset({"work"})), NarrowedSource(jobs, frozenset({"sum", "no such"}))
    asked: list[tuple[RowSource, ...]] = [(work,), (work, total), (jobs, work), (work,)]
    machine = machine_of(host)
    source = FakeSource((counter("x"),), lambda cpu, _name: host.now)
    sampler = Sampler(machine, probe_sources(machine, [source]), frozenset({"x"}), 0.05, clock=host.clock)
    sampler.read_rows(joined_sources(asked[0]))
    read: list[set[str]] = []
    works: list[float | None] = []

    def act(frame: Frame) -> None:
        differences = frame.kind("jobs")
        assert isinstance(differences, RowDifferences)
        read.append({*differences.newer.values})
        assert read[-1] == differences.quantities.keys()
        works.append(differences.deltas("work")[0] if "work" in read[-1] else None)
        jobs.done["a"] += 5
        host.now += 1_000_000_000  # readings at one moment have no difference
        sampler.read_rows(joined_sources(asked[min(len(read), 3)]))

    frames_of(sampler, 3, act)
    everything = {quantity.id for quantity in SEVERAL}
    assert read == [{"work"}, {"work", "sum", "gaps"}, everything, {"work"}], "with what explains it"
    assert works == [None, 5.0, 5.0, 5.0]
    assert jobs.closed == 1, "at the end"


def test_what_is_wanted_again_is_due_for_every_row() -> None:
    columns = Columns(RowKind("jobs", "jobs"), SEVERAL)
    ticks = []
    for second, wanted in enumerate((None, frozenset({"work"}), frozenset({"work", "seldom"}), None), 1):
        columns.want(wanted)
        columns.begin(second, second)
        slots = [*columns.rows] or [slot for slot in map(columns.birth, map(Row, "abcdef")) if slot is not None]
        for slot in slots:
            if columns.wants("seldom") and columns.due(slot):
                columns.put(slot, "seldom", second)
        ticks.append(columns.tick())
    assert [[*tick.values["seldom"]][:6] if "seldom" in tick.values else None for tick in ticks] == [
        [1] * 6, None, [3] * 6, [4] * 6], "that others are wanted, too, makes all due"
    assert [[*tick.stamps] for tick in ticks] == [["", "other"], [""], [""], ["", "other"]]
