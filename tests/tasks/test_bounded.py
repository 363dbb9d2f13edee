"""Whatever runs, what is kept is bounded, and nothing of it is lost."""

from __future__ import annotations

from ringbytes import FORMAT, ended, fork, last_counts, sample

from turbotui.analysis.tasks.ledger import Ledger
from turbotui.analysis.tasks.timeline import Timeline
from turbotui.machine.perf_records import NOBODY, parse_record
from turbotui.machine.tasks.draining import Taken
from turbotui.machine.tasks.sets import Choice, Mode, When


def ring(*records: bytes) -> Taken:
    return Taken(0, tuple(parse_record(data, FORMAT) for data in records))


def test_processes_that_end_in_their_only_slice_are_put_together_on_whole_cpus() -> None:
    books = Ledger(Choice(Mode.CPUS, When.SWITCHES, FORMAT, ()), {}, ended=50)
    most = 0
    for number in range(1, 2_001):
        tid, time = 100 + number, number * 10
        # waited for already or not: the last switch-out knows the number, or nobody's
        out = sample(tid, tid, time + 2, (number, number * 7)) if number % 2 else sample(
            tid, NOBODY, time + 2, (number, number * 7))
        books.feed([ring(fork(tid, 1, tid, 1, time), ended(tid, tid, time + 1), out)])
        if books.crowded:
            books.tidy()
        most = max(most, len(books.accounts()))
    assert most <= 60
    assert books.sums() == (2_000, 14_000)
    assert sum(one.threads for one in books.accounts()) == 2_000


def test_heirs_keep_their_account_until_their_last_counts_have_come() -> None:
    books = Ledger(Choice(Mode.INHERITED, When.SWITCHES, FORMAT, (), last=True), {77: 1}, ended=0)
    assert books.choice.width == 3  # switches, run time, and the event that reports them
    books.feed([ring(fork(5, 1, 5, 1, 10), ended(5, 5, 20))])
    books.tidy()
    books.feed([ring(last_counts(5, 5, 21, (1, 50, 0)))])
    books.tidy()
    assert books.sums() == (1, 50)


def test_many_threads_make_a_timeline_coarser_not_larger() -> None:
    line = Timeline(most=1_000)
    for thread in range(300):
        for turn in range(100):
            start = turn * 50_000 + thread
            line.add(thread, 0, start, start + 20_000)
    entries = sum(len(bins) for bins in line._lines.values())
    assert entries <= 1_100
    assert line.total() == 300 * 100 * 20_000


def test_a_timeline_that_nobody_draws_keeps_nothing() -> None:
    line = Timeline(most=0)
    line.add(1, 0, 10, 20)
    assert line.total() == 0
