"""Late readers lose nothing: their next interval is longer, and until then their last values are shown as old."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import FakeHost, capabilities_of, column, counter, machine_of, place, snapshot

from turbotui.machine.topology import topology_of
from turbotui.quantities.scope import SYSTEM_ROW, Scope, cpu_row
from turbotui.sampling.answers import Answer, Readings
from turbotui.sampling.collector import Collector, WakeUp
from turbotui.sampling.late_values import empty_places, filled
from turbotui.sampling.sampler import Sampler
from turbotui.sampling.snapshot import Snapshot
from turbotui.sampling.worker_pool import LateAnswers

SECOND = 1_000_000_000
SIZE = 3
TOPOLOGY = topology_of([place(cpu) for cpu in range(SIZE)])
CAPABILITIES = capabilities_of(counter("x"))
X = column("x", ("x",))


def sampler() -> Sampler:
    host = FakeHost([place(cpu) for cpu in range(SIZE)])
    return Sampler(machine_of(host), CAPABILITIES, frozenset({"x"}), 1.0, clock=host.clock)


def tick(number: int, late: frozenset[int]) -> Snapshot:
    """Every counter counts one a second; a late one has no value."""
    values = {"x": [None if cpu in late else 1000 * number * (cpu + 1) for cpu in range(SIZE)]}
    stamps = {"x": [0 if cpu in late else number * SECOND + 1 + cpu for cpu in range(SIZE)]}
    return snapshot(TOPOLOGY, values, stamps, seq=number, late=late)


@settings(deadline=None)  # the machine may be busy
@given(st.lists(st.frozensets(st.integers(0, SIZE - 1)), min_size=2, max_size=8))
def test_what_was_counted_while_late_is_in_the_next_interval_which_is_longer(lates: list[frozenset[int]]) -> None:
    item = sampler()
    snapshots = [tick(number, late) for number, late in enumerate([frozenset(), *lates, frozenset()])]
    frames = [item._frames.frame(snapshot, item._capabilities) for snapshot in snapshots]
    for cpu in range(SIZE):
        text = [(frame.deltas("x")[cpu], frame.spans("x")[cpu]) for frame in frames[1:]]
        assert sum(delta or 0 for delta, _span in text) == 1000 * (len(lates) + 1) * (cpu + 1)
        assert sum(span or 0.0 for delta, span in text if delta is not None) == len(lates) + 1
        for number, frame in enumerate(frames[1:], 1):
            late = cpu in frame.newer.late
            assert (frame.deltas("x")[cpu] is None) is late
            shown = frame.held or frame
            known = [n for n in range(1, number + 1) if cpu not in frames[n].newer.late]
            assert (shown.deltas("x")[cpu] is None) is not bool(known)
            if known:
                assert shown.deltas("x")[cpu] == frames[known[-1]].deltas("x")[cpu]
                assert shown.spans("x")[cpu] == frames[known[-1]].spans("x")[cpu]
            assert shown.old(X, cpu_row(cpu)) is late
            assert shown.old(X, SYSTEM_ROW) is bool(frame.newer.late)


def test_where_cpus_came_or_went_nothing_is_carried_over() -> None:
    other = topology_of([place(cpu) for cpu in range(SIZE)])
    before = snapshot(other, {"x": [1] * SIZE}, {"x": [SECOND] * SIZE})
    now = tick(1, frozenset({1}))
    assert filled(now, before, empty_places(now, CAPABILITIES)).values == now.values


@dataclass(eq=False)
class Hand:
    busy: bool = True
    heard: list[Answer] = field(default_factory=list)


def answer(worker: Hand, value: int, began: Sequence[tuple[str, int]] = ()) -> Answer:
    readings = Readings()
    readings.add((0, "s"), ("x",), 1, 2, [value])
    return Answer(worker, readings, began=frozenset(began))


def test_an_answer_after_its_tick_is_heard_in_the_next_and_what_began_is_never_forgotten() -> None:
    worker, late = Hand(), LateAnswers()
    collector = Collector(WakeUp(), late.take)
    collector.expect(worker)
    assert not collector.complete()
    assert late.with_answers(collector.close(), ticks=False) == []
    collector.receive(answer(worker, 5, [("s", 0)]))
    assert not worker.busy
    (stood_in,) = late.with_answers([], ticks=False)
    assert stood_in.late
    assert stood_in.began == {("s", 0)}
    assert [list(raw or ()) for raw in stood_in.readings.raws] == [[5]]
    assert late.with_answers([], ticks=False) == []
    for later in (5, 6):
        late.take(answer(worker, later, [("s", later)]))
    (own,) = late.with_answers([answer(worker, 7)], ticks=False)
    assert not own.late
    assert own.began == {("s", 5), ("s", 6)}
    assert [list(raw or ()) for raw in own.readings.raws] == [[7]]


def test_after_a_change_of_what_is_read_only_what_began_is_kept() -> None:
    worker, late = Hand(), LateAnswers()
    late.take(answer(worker, 5, [("s", 0)]))
    late.forget_readings()
    assert late.with_answers([], ticks=False) == []
    (own,) = late.with_answers([answer(worker, 7)], ticks=False)
    assert own.began == {("s", 0)}


def test_ticks_take_over_what_began_with_their_first_reading() -> None:
    worker, late = Hand(), LateAnswers()
    late.take(Answer(worker, ticks={3: answer(worker, 1, [("s", 0)]), 4: answer(worker, 2, [("t", 0)])}))
    (own,) = late.with_answers([Answer(worker, ticks={1: answer(worker, 3), 2: answer(worker, 4)})], ticks=True)
    assert own.ticks[1].began == {("s", 0), ("t", 0)}
    assert not own.ticks[2].began


class Asked(dict[str, Sequence[Any]]):
    """Columns of a recorded tick, which would be decoded when they are asked for."""

    def __init__(self, columns: Mapping[str, Sequence[Any]]) -> None:
        super().__init__(columns)
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> Sequence[Any]:
        self.names.add(name)
        return super().__getitem__(name)


def test_only_the_columns_of_late_readers_are_asked_for() -> None:
    """A recorded tick decodes a column when it is asked for, and a decoded group of the past has up to 15 ticks."""
    per_cpu = counter("x")
    capabilities = capabilities_of(per_cpu, replace(counter("y"), readers=(2,), scope=Scope.SYSTEM))
    values, stamps = Asked({"x": [5, None, 7], "y": [9]}), Asked({"x": [1, 0, 3], "y": [4]})
    late = snapshot(TOPOLOGY, values, stamps, seq=1, late=frozenset({1}))
    before = snapshot(TOPOLOGY, {"x": [1, 2, 3], "y": [8]}, {"x": [1, 1, 1], "y": [1]}, seq=0)
    places = empty_places(late, capabilities)
    whole = filled(late, before, places)
    assert places == {"x": [1]}
    assert values.names | stamps.names == {"x"}
    assert {name: whole.values[name] for name in whole.values} == {"x": [5, 2, 7], "y": [9]}
    assert {name: whole.stamps[name] for name in whole.stamps} == {"x": [1, 1, 3], "y": [4]}
