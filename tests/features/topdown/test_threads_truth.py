"""Shares of threads, compared with the model's work: counters follow a thread wherever it runs."""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from model_truth import truth_of
from patience import PATIENCE
from test_topdown_truth import LEVEL_ONE, LEVEL_TWO
from topdown_bed import Slots, TopdownBed

from turbotui.features.topdown.command_counters import added
from turbotui.features.topdown.counter_parts import PartCount
from turbotui.features.topdown.model import UNSPLIT, TopdownRow
from turbotui.features.topdown.places import CpuSet, RowLevel
from turbotui.features.topdown.tables import table_of
from turbotui.features.topdown.thread_counters import ThreadCounters, ThreadInterval
from turbotui.features.topdown.thread_rows import counted_row, kind_rows, thread_rows
from turbotui.features.topdown.thread_search import BusyThreads, ProcessThreads
from turbotui.features.topdown.thread_watch import BusyThreadWatch
from turbotui.machine.host import HostError
from turbotui.quantities.unavailable import Unavailable
from turbotui.simulated.basis import KINDS
from turbotui.simulated.threads import process_of

_BRIEF = 0.04  # seconds: shorter than the model's threads stay where they are


def truth(bed: TopdownBed, kind: int) -> Mapping[int, Slots]:
    return {cpu: truth_of(bed.host).pipeline_truth(cpu, kind) for cpu in bed.machine.topology.cpus}


class ThreadBed(TopdownBed):
    """A simulated machine of which one process is counted, or all that are busy.

    Args:
        name: of the simulated machine.
        kind: of work, which is a process; None for the busiest threads.
        level: down to which everything is counted.
    """

    def __init__(self, name: str, kind: int | None, level: int = 1, most: int = 8) -> None:
        super().__init__(name, level)
        finder = BusyThreads(self.host, most) if kind is None else ProcessThreads(self.host, (process_of(kind),))
        self.threads = ThreadCounters(self.machine, self.counters, finder)
        self.kind = kind

    def measured(self, seconds: float) -> tuple[ThreadInterval, Mapping[int, Slots]]:
        """An interval of one kind of work, and what happened in it, by the thread on each CPU."""
        kind = self.kind or 0
        self.threads.look()
        # a thread may have moved when the first of them was looked at
        begun = {process_of(kind) + place.owner: cpu for (selected, cpu), place in self.host._threads._places.items()
                 if selected == kind}
        before = truth(self, kind)
        self.clock.advance(seconds)
        interval = self.threads.measure()
        after = truth(self, kind)
        return interval, {tid: {name: after[cpu][name] - before[cpu][name] for name in after[cpu]}
                          for tid, cpu in begun.items()}

    def thread_rows(self, interval: ThreadInterval) -> Sequence[TopdownRow]:
        return thread_rows(self.counters.branches, interval)


@pytest.mark.parametrize("name", ["sapphire-2s", "turin-2s", "grace-2s"])
def test_slots_that_passed_while_a_group_was_opened_are_in_no_interval(
        name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bed = ThreadBed(name, 0)
    opened = bed.host.perf_event_open

    def slowly(*words: Any) -> int:
        bed.clock.advance(_BRIEF)  # the leader counts on until its members are open
        return opened(*words)

    monkeypatch.setattr(bed.host, "perf_event_open", slowly)
    bed.threads.look()
    interval = bed.threads.measure()
    assert interval.threads
    monkeypatch.undo()
    bed.threads.measure()
    bed.clock.advance(_BRIEF)
    second = bed.threads.measure()
    for row in (*bed.thread_rows(interval), *bed.thread_rows(second)):
        if row.slots():
            assert row.total() == pytest.approx(100.0, abs=0.1), row.place
    assert any(row.slots() for row in bed.thread_rows(second))


@pytest.mark.parametrize("name", ["sapphire-2s", "icelake-2s", "turin-2s", "forest-1s", "grace-2s", "vera-2s",
                                  "laptop", "laptop-arrow"])
@pytest.mark.parametrize("kind", range(KINDS))
def test_each_thread_has_the_slots_of_its_work(name: str, kind: int) -> None:
    bed = ThreadBed(name, kind)
    interval, happened = bed.measured(_BRIEF)
    rows = bed.thread_rows(interval)
    assert {row.place.pid for row in rows} == {process_of(kind)}
    ran = 0
    for row in rows:
        assert row.place.tid is not None
        selected = happened[row.place.tid]
        if selected["slots"] < 1e4:
            continue
        ran += 1
        assert row.slots() == pytest.approx(selected["slots"], rel=1e-3)
        assert row.total() == pytest.approx(100.0, abs=0.1)
        assert not row.fault()
        for node in row.nodes():
            share = 100.0 * selected[LEVEL_ONE[node.id]] / selected["slots"]
            assert row.percent(node.id) == pytest.approx(share, abs=0.1), (row.place, node.id)
    resting = [row for row in rows if row.slots() is None]
    assert len(resting) <= len(rows) - ran
    assert all("did not run" in row.why("retiring").detail for row in resting)


@pytest.mark.parametrize("name", ["sapphire-2s", "laptop"])
def test_threads_that_move_take_their_counts_along(name: str) -> None:
    bed = ThreadBed(name, 1)
    bed.threads.look()
    before = truth(bed, 1)
    for _ in range(60):
        bed.clock.advance(0.1)
        bed.threads.look()
    rows = bed.thread_rows(bed.threads.measure())
    after = truth(bed, 1)
    slots = sum(after[cpu]["slots"] - before[cpu]["slots"] for cpu in after)
    assert sum(row.slots() or 0.0 for row in rows) == pytest.approx(slots, rel=1e-6)
    for row in rows:
        if row.slots():
            assert row.total() == pytest.approx(100.0, abs=0.01)


def test_deeper_levels_of_one_thread_only() -> None:
    bed = ThreadBed("sapphire-2s", 1, 3)
    busiest = bed.thread_rows(bed.measured(_BRIEF)[0])[0].place.tid
    assert busiest is not None
    before, chosen = bed.host.open_descriptors, busiest
    bed.threads.only = chosen
    bed.threads.look()
    assert bed.host.open_descriptors < before / 2
    interval, happened = bed.measured(_BRIEF)
    rows = {row.place.tid: row for row in bed.thread_rows(interval)}
    row, selected = rows[chosen], happened[chosen]
    for node, form in LEVEL_TWO.items():
        if node in row.branches[0].tree.by_id:
            assert row.percent(node) == pytest.approx(100.0 * selected[form] / selected["slots"], abs=0.5), node
    assert row.ran["cpu", ""] == 1.0
    assert row.percent("dram_bound") is not None
    assert min(row.ran.values()) < 1.0
    other = next(topdown_row for tid, topdown_row in rows.items() if tid != chosen)
    assert ("cpu", "backend") not in other.ran


@pytest.mark.parametrize("name", ["sapphire-2s", "turin-2s", "forest-1s", "vera-2s", "laptop-arrow"])
def test_every_level_of_a_thread_is_known(name: str) -> None:
    bed = ThreadBed(name, 0, 4)
    row = bed.thread_rows(bed.measured(2.0)[0])[0]
    assert row.slots()
    unknown = [node.id for branch in row.branches[:1] for node in branch.tree.nodes
               if node.level <= 4 and row.percent(node.id) is None]
    assert not unknown or row.several, [row.why(item).sentence() for item in unknown]


def test_the_busiest_threads_are_chosen_and_the_others_are_counted() -> None:
    bed = ThreadBed("sapphire-2s", None, most=4)
    bed.threads.look()
    assert not bed.threads.measure().threads  # nobody knows yet who runs
    bed.clock.advance(1.0)
    bed.threads.look()
    bed.clock.advance(1.0)
    interval = bed.threads.measure()
    assert len(interval.threads) == 4
    assert interval.left_out > 0
    rows = bed.thread_rows(interval)
    busy = [row.busy or 0.0 for row in rows]
    assert min(busy) > 20.0
    bed.threads.close()


def test_a_thread_that_is_looked_into_is_counted_however_little_it_runs() -> None:
    bed = TopdownBed("sapphire-2s")
    finder = BusyThreads(bed.host, 4)
    finder.find()
    bed.clock.advance(1.0)
    busiest = set(finder.find())
    assert len(busiest) == 4
    idle = next(tid for tid in range(process_of(3), process_of(3) + 8) if tid not in busiest)
    finder.kept = idle
    for _ in range(3):
        bed.clock.advance(1.0)
        threads = finder.find()
        assert idle in threads
        assert threads[idle].pid == process_of(3)
        assert len(threads) == 4
    finder.kept = None
    bed.clock.advance(1.0)
    assert idle not in finder.find()


def test_a_core_that_has_the_slots_gives_threads_none() -> None:
    bed = ThreadBed("laptop-old", 1)
    interval, _happened = bed.measured(_BRIEF)
    for row in bed.thread_rows(interval):
        assert row.percent("retiring") is None
        assert "a core" in row.why("retiring").detail or "did not run" in row.why("retiring").detail


def test_threads_of_other_users_are_refused_with_the_reason() -> None:
    bed = ThreadBed("sapphire-2s", 2)
    bed.host.set_privileges(uid=4711, capabilities=0, paranoid=2)
    bed.threads.look()
    interval = bed.threads.measure()
    assert not interval.threads
    (why,) = interval.refused
    assert "another user" in why.detail
    assert "CAP_PERFMON" in why.remedy


def test_own_threads_are_counted_without_the_kernel_where_it_is_paranoid() -> None:
    bed = ThreadBed("sapphire-2s", 1)
    bed.host.set_privileges(uid=1000, capabilities=0, paranoid=2)
    interval, _happened = bed.measured(1.0)
    assert interval.user_only
    assert any(row.total() is not None for row in bed.thread_rows(interval))


def test_no_descriptor_left_is_a_reason() -> None:
    bed = ThreadBed("sapphire-2s", 1)
    bed.host.set_privileges(descriptors=(bed.host.open_descriptors + 40, 4096))
    bed.threads.look()
    interval = bed.threads.measure()
    assert 0 < len(interval.threads) < len(bed.machine.topology.cpus)
    (why,) = interval.refused
    assert "file descriptor" in why.detail


def test_counters_that_the_kernel_refuses_are_unknown_with_the_reason() -> None:
    bed = ThreadBed("sapphire-2s", 1)
    bed.host.fail(("perf", 4, 0x0400), errno.ENOENT)
    interval, _happened = bed.measured(_BRIEF)
    rows = bed.thread_rows(interval)
    assert rows
    assert all("no such event" in row.why("retiring").detail for row in rows)
    bed.threads.close()


def test_every_descriptor_is_given_back() -> None:
    bed = ThreadBed("laptop", 1, 2)
    before = bed.host.open_descriptors
    bed.measured(_BRIEF)
    assert bed.host.open_descriptors > before
    bed.threads.close()
    assert bed.host.open_descriptors == before


def _hybrid_row(p_time: float, e_time: float) -> TopdownRow:
    """A thread that ran so long on each kind of core."""
    bed = TopdownBed("laptop")
    counts: dict[tuple[str, str], tuple[PartCount, ...] | Unavailable] = {}
    for branch in bed.counters.branches:
        ran = p_time if branch.pmu == "cpu_core" else e_time
        names = bed.counters.first_groups()[bed.counters.branches.index(branch)].names
        counts[branch.pmu, ""] = (PartCount(dict.fromkeys(names, ran), p_time + e_time, ran),)
    place = CpuSet(RowLevel.THREAD, ("thread", 7), "it", (), pid=7, tid=7)
    return counted_row(place, bed.counters.branches, counts, 1.0)


def test_a_short_visit_to_another_kind_of_core_is_left_out_and_marked() -> None:
    row = _hybrid_row(1e9, 1e6)
    assert [branch.pmu for branch in row.branches] == ["cpu_core"]
    assert row.partial == {("cpu_core", "")}
    assert row.ran == {("cpu_core", ""): 1.0}
    assert row.busy == pytest.approx(100.1)


def test_time_on_both_kinds_joins_level_one_alone() -> None:
    row = _hybrid_row(6e8, 4e8)
    assert row.several
    assert not row.partial
    assert set(row.ran.values()) == {1.0}
    whole = _hybrid_row(1e9, 0.0)
    assert not whole.several
    assert not whole.partial


@pytest.mark.parametrize("name", ["laptop", "laptop-arrow"])
def test_a_thread_on_several_kinds_of_core_has_every_level_of_each(name: str) -> None:
    """Counters of a thread that moves say what those of two that stay on a kind each say together."""
    bed = ThreadBed(name, 2, 4)
    interval, _happened = bed.measured(6.0)
    alone = {row.place.kind: row for row in bed.thread_rows(interval) if row.slots()}
    assert set(alone) >= {"P", "E"}
    counts = {thread.thread.tid: thread.counts for thread in interval.threads}
    (p_tid, e_tid) = (alone[kind].place.tid or 0 for kind in "PE")
    place = CpuSet(RowLevel.THREAD, ("thread", 7), "it", (), pid=7, tid=7)
    moved = {row.place.kind: row for row in kind_rows(
        place, bed.counters.branches, added(counts[p_tid], counts[e_tid]), interval.seconds)}
    assert set(moved) == {"P", "E"}
    assert len({row.place.key for row in moved.values()}) == 2
    for kind, row in moved.items():
        other, (branch,) = alone[kind], row.branches
        assert row.place.label == f"it 7 on {kind} cores"
        assert row.unsplit
        table = table_of(bed.counters, RowLevel.THREAD, (row,), 4)
        cells = {column.id: table.cell(column, row) for column in table.columns}
        assert cells["Type"].value == kind
        for name_of in ("GSlots", "CPU%"):
            assert cells[name_of].value is None
            assert cells[name_of].why == UNSPLIT
        assert row.total() == pytest.approx(100.0, abs=0.2)
        for node in branch.tree.nodes:
            assert row.percent(node.id) == pytest.approx(other.percent(node.id), rel=1e-6), node.id
            assert (row.percent(node.id) is not None) is (node.level <= 4), node.id
    whole = counted_row(place, bed.counters.branches, added(counts[p_tid], counts[e_tid]), interval.seconds)
    assert (whole.percent("retiring"), whole.why("retiring")) == (None, UNSPLIT)


@pytest.mark.parametrize("name", ["laptop", "laptop-arrow"])
def test_slots_and_time_of_each_kind_are_known_where_level_one_alone_is_counted(name: str) -> None:
    bed = ThreadBed(name, 2)
    interval, _happened = bed.measured(6.0)
    alone = {row.place.kind: row for row in bed.thread_rows(interval) if row.slots()}
    counts = {thread.thread.tid: thread.counts for thread in interval.threads}
    (p_tid, e_tid) = (alone[kind].place.tid or 0 for kind in "PE")
    place = CpuSet(RowLevel.THREAD, ("thread", 7), "it", (), pid=7, tid=7)
    moved = kind_rows(place, bed.counters.branches, added(counts[p_tid], counts[e_tid]), interval.seconds)
    for row in moved:
        assert not row.unsplit
        assert row.slots() == pytest.approx(alone[row.place.kind].slots(), rel=1e-6)
        assert row.busy == pytest.approx(alone[row.place.kind].busy, rel=1e-6)


def test_multiplexed_counters_of_both_kinds_are_brought_to_all_of_the_time() -> None:
    bed = TopdownBed("laptop")
    counts: dict[tuple[str, str], tuple[PartCount, ...] | Unavailable] = {}
    for branch, group in zip(bed.counters.branches, bed.counters.first_groups(), strict=True):
        counts[branch.pmu, ""] = (PartCount(dict.fromkeys(group.names, 10.0), 1000.0, 250.0),)  # half of 500 each
    row = counted_row(CpuSet(RowLevel.THREAD, ("thread", 7), "it", ()), bed.counters.branches, counts, 1.0)
    assert all(share == pytest.approx(0.5) for share in row.ran.values())
    assert all(value == pytest.approx(20.0) for value in row.counts.values())


def test_two_requests_at_once_give_no_interval_without_time() -> None:
    bed = ThreadBed("laptop-old", None)
    seconds: list[float] = []
    published = threading.Event()

    def publish(result: ThreadInterval | HostError, _clocks: tuple[int, int] | None) -> None:
        assert isinstance(result, ThreadInterval)
        seconds.append(result.seconds)
        if not published.is_set():
            watch.request()  # while this one is handed over: the clock of the model stands still
        published.set()

    watch = BusyThreadWatch(bed.machine, publish)
    bed.clock.advance(1.0)
    watch.request()
    watch.start()
    assert published.wait(PATIENCE)
    end = time.monotonic() + PATIENCE
    while watch._due:
        assert time.monotonic() < end
        time.sleep(0.001)
    watch.stop()
    watch.wait()
    assert len(seconds) == 1
    assert seconds[0] > 0
