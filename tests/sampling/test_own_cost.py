"""The cost of watching, frame by frame; frames published together share their cost."""

from __future__ import annotations

import resource
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import FakeHost, capabilities_of, machine_of, snapshot

from turbotui.sampling.frame import Frame
from turbotui.sampling.own_cost import Meter, OwnCost, Usage, missed_words

TOPOLOGY = machine_of(FakeHost()).topology
CAPABILITIES = capabilities_of()


def frame(seq: int, behind: int) -> Frame:
    return Frame(None, replace(snapshot(TOPOLOGY, {}, {}, seq=seq), behind=behind, span_ns=seq), CAPABILITIES)


def costs_of(batches: Sequence[tuple[int, Usage, int, int]]) -> list[OwnCost]:
    """The cost beside each frame.

    Args:
        batches: how many frames come together, what had been used by then, group reads and counters opened.
    """
    usages = iter([usage for _size, usage, _reads, _opened in batches])
    meter = Meter(FakeHost(), lambda: next(usages))
    costs: list[OwnCost] = []
    for size, _usage, reads, opened in batches:
        for behind in reversed(range(size)):
            meter.note(frame(len(costs), behind), reads, opened)
            costs.append(meter.cost)
    return costs


class _Memory(FakeHost):
    """A host whose process has 25 pages, and that counts how often this is read."""

    def __init__(self) -> None:
        super().__init__()
        self.read = 0

    def read_text(self, path: str) -> str:
        assert path == "/proc/self/statm"
        self.read += 1
        return "100 25 5 1 0 10 0\n"


def test_memory_is_read_when_it_is_asked_for() -> None:
    host = _Memory()
    usages = iter([Usage(float(second), 0.0, 0) for second in range(1, 5)])
    meter = Meter(host, lambda: next(usages))
    for seq in range(4):
        meter.note(frame(seq, 0), 0, 0)
    assert host.read == 0
    assert [meter.cost.rss_bytes for _ in range(3)] == [25 * resource.getpagesize()] * 3
    assert host.read == 1, "once for a frame"


def test_memory_is_read_again_after_three_seconds() -> None:
    host = _Memory()
    usages = iter([Usage(float(second), 0.0, 0) for second in range(8)])
    meter = Meter(host, lambda: next(usages))
    reads = []
    for seq in range(8):
        meter.note(frame(seq, 0), 0, 0)
        assert meter.cost.rss_bytes == 25 * resource.getpagesize()
        reads.append(host.read)
    assert reads == [1, 1, 1, 2, 2, 2, 3, 3]


def test_frames_of_one_batch_share_the_cost_of_that_batch() -> None:
    costs = costs_of([
        (1, Usage(100.0, 1.0, 50), 2, 6),
        (10, Usage(100.5, 1.010, 60), 22, 6),
        (4, Usage(100.7, 1.030, 64), 30, 10),
        (1, Usage(100.75, 1.031, 67), 32, 10),
    ])
    assert [costs[0].cpu_us, costs[0].wakeups, costs[0].reads, costs[0].opened] == [None, None, 2, 6]
    assert [cost.cpu_us for cost in costs[1:]] == pytest.approx([1000.0] * 10 + [5000.0] * 4 + [1000.0])
    assert [cost.reads for cost in costs[1:]] == [2.0] * 15
    assert [cost.opened for cost in costs[1:]] == [0.0] * 10 + [1.0] * 4 + [0.0]
    assert [cost.wakeups for cost in costs[1:]] == [1.0] * 14 + [3.0]
    assert [cost.cpu_percent for cost in costs[1:]] == pytest.approx([2.0] * 10 + [10.0] * 4 + [2.0])
    assert [cost.sample_ms for cost in costs] == [seq / 1e6 for seq in range(16)], "each frame's own"


@given(st.lists(st.tuples(st.integers(1, 12), st.integers(0, 10**6), st.integers(0, 99), st.integers(0, 500),
                          st.integers(0, 9)), min_size=1, max_size=12))
def test_all_lines_together_are_what_was_used(steps: list[tuple[int, int, int, int, int]]) -> None:
    at = used = woken = reads = opened = 0
    batches = [(1, Usage(0.0, 0.0, 0), 0, 0)]
    for size, busy, wakeups, read, new in steps:
        at, used, woken, reads, opened = at + 1, used + busy, woken + wakeups, reads + read, opened + new
        batches.append((size, Usage(float(at), used / 1e6, woken), reads, opened))
    costs = costs_of(batches)[1:]
    assert sum(cost.cpu_us or 0.0 for cost in costs) == pytest.approx(used)
    assert sum(cost.wakeups or 0.0 for cost in costs) == pytest.approx(woken)
    assert sum(cost.reads for cost in costs) == pytest.approx(reads)
    assert sum(cost.opened for cost in costs) == pytest.approx(opened)


def test_missed_deadlines_are_reported_with_their_number() -> None:
    last = replace(snapshot(TOPOLOGY, {}, {}, seq=11_999), overruns=250)
    said = missed_words(Frame(None, last, CAPABILITIES), 0.05)
    assert said.startswith("250 of 12,249 deadlines were missed")
    assert "0.05 s" in said
    assert missed_words(Frame(None, replace(last, overruns=1), CAPABILITIES), 1.0).startswith(
        "1 of 12,000 deadlines was missed")
    assert "3 answers" in missed_words(Frame(None, replace(last, overruns=0, late_total=3), CAPABILITIES), 1.0)
    assert not missed_words(Frame(None, replace(last, overruns=0), CAPABILITIES), 1.0)
    assert not missed_words(None, 1.0)
