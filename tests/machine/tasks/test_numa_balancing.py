"""Pages that balancing moved for threads: the kernel's lines, increases between reads, and bounds."""

from __future__ import annotations

import errno
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from knownmachines import known_machine
from test_numa_maps import TOPOLOGY, MapsHost, stat

from turbotui.machine.linux import LinuxHost
from turbotui.machine.tasks.numa_balancing import (
    ENDED,
    ENOUGH,
    MANY,
    MOST_THREADS,
    NO_COUNT,
    MovedPages,
    NumaBalancing,
    SchedCounts,
    moved_of_all,
    parse_sched,
)
from turbotui.machine.tasks.numa_maps import ONE_NODE
from turbotui.machine.tasks.proc_facts import NOT_THEN, ProcFacts, TaskLooks
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.simulated import simulated_host

SECOND = 10**9


def sched(pages: int, node: int = 1, ran: float = 5.0) -> str:
    return (f"a: b (7, #threads: 2)\n{'-' * 67}\n{'se.exec_start':45}:{7.5:21.6f}\n"
            f"{'se.sum_exec_runtime':45}:{ran:21.6f}\n"
            f"nr_switches{'':34}:{3:21d}\n{'mm->numa_scan_seq':45}:{2:21d}\n{'numa_pages_migrated':45}:{pages:21d}\n"
            f"{'numa_preferred_nid':45}:{node:21d}\n{'total_numa_faults':45}:{9:21d}\ncurrent_node=1, numa_group_id=0\n"
            "numa_faults node=0 task_private=0 task_shared=0 group_private=0 group_shared=0\n")


class SchedHost(MapsHost):
    """Threads 7 and 8 of process 7."""

    def __init__(self, *threads: int, errors: dict[str, int] | None = None) -> None:
        files = {f"/proc/7/task/{tid}/{name}": text for tid in threads or (7, 8)
                 for name, text in (("sched", sched(100)), ("stat", stat(7)))}
        super().__init__({"/proc/7/stat": stat(7), **files}, errors)

    def put(self, tid: int, text: str) -> None:
        self.files[f"/proc/7/task/{tid}/sched"] = text


def looks(host: SchedHost, facts: ProcFacts) -> TaskLooks:
    """Return what is read of tasks in an interval that begins a second later."""
    host.now += SECOND
    return TaskLooks(facts)


def test_the_kernels_lines_are_understood() -> None:
    assert parse_sched(sched(42, -1, 0.25).encode()) == SchedCounts(42, -1, 0.25)
    assert parse_sched(b"") is None
    assert parse_sched(sched(42).replace("numa_pages_migrated", "se.nr_migrations   ").encode()) is None
    assert parse_sched(sched(-3).encode()) is None


@given(st.binary(max_size=300))
def test_any_bytes_are_parsed_or_refused(text: bytes) -> None:
    result = parse_sched(text)
    assert result is None or result.pages >= 0


@pytest.mark.real
def test_the_file_of_this_thread_is_understood_or_refused() -> None:
    result = NumaBalancing(LinuxHost()).read(os.getpid(), os.getpid())
    assert isinstance(result, MovedPages) or result == NO_COUNT or result.reason is Reason.NOT_PERMITTED


def test_pages_are_those_between_two_reads_and_a_process_is_the_sum_of_its_threads() -> None:
    host = SchedHost()
    facts = ProcFacts(host, TOPOLOGY)
    assert looks(host, facts).moved_for(7) == MovedPages(0, 0, (1,), 200)
    host.put(7, sched(130, 0, 6.0))
    host.put(8, sched(104, 1, 7.0))
    interval = looks(host, facts)
    assert interval.moved_for(7, 8) == MovedPages(4, SECOND, (1,), 104)
    assert interval.moved_for(7) == MovedPages(34, SECOND, (0, 1), 234), "threads that were read are not read again"
    host.put(7, sched(131, -1, 6.5))
    host.now += SECOND // 100
    assert TaskLooks(facts).moved_for(7) == MovedPages(34, SECOND, (0, 1), 234), "another look at the same interval"
    interval.close()
    assert interval.moved_for(7) == MovedPages(34, SECOND, (0, 1), 234), "an older interval keeps what was known of it"
    assert interval.places.moved[7, 8] == MovedPages(4, SECOND, (1,), 104)


def test_a_later_thread_of_the_same_number_begins_anew() -> None:
    for later in (sched(3), sched(103, ran=4.9)):
        host = SchedHost(7)
        facts = ProcFacts(host, TOPOLOGY)
        looks(host, facts).moved_for(7, 7)
        host.put(7, later)
        result = looks(host, facts).moved_for(7, 7)
        assert isinstance(result, MovedPages)
        assert (result.pages, result.ns) == (0, 0)


def test_what_is_not_there_has_its_reason() -> None:
    def of(host: SchedHost, tid: int | None = 7) -> object:
        return looks(host, ProcFacts(host, TOPOLOGY)).moved_for(7, tid)

    assert of(SchedHost(8)) is ENDED
    host = SchedHost(7, errors={"/proc/7/task/7/sched": errno.ENOENT})
    assert of(host) is NO_COUNT, "the thread lives"
    host = SchedHost(7)
    host.put(7, "work (7, #threads: 1)\nse.sum_exec_runtime : 5.0\n")
    assert of(host) is NO_COUNT
    denied = of(SchedHost(7, errors={"/proc/7/task/7/sched": errno.EACCES}))
    assert isinstance(denied, Unavailable)
    assert denied.reason is Reason.NOT_PERMITTED
    assert of(SchedHost(*range(7, 8 + MOST_THREADS)), None) is MANY
    host = SchedHost()
    assert looks(host, ProcFacts(host)).moved_for(7) is NOT_THEN, "nobody asked for memory by node"
    small = known_machine(simulated_host("laptop-old"))
    assert TaskLooks(ProcFacts(small.host, small.topology)).moved_for(30_000) is ONE_NODE


def test_an_interval_reads_a_thousand_threads() -> None:
    host = SchedHost(*range(7, 7 + MOST_THREADS))
    interval = looks(host, ProcFacts(host, TOPOLOGY))
    assert isinstance(interval.moved_for(7), MovedPages)
    assert interval.moved_for(7, 7 + MOST_THREADS) is ENOUGH
    assert isinstance(interval.moved_for(7, 8), MovedPages)


def test_sums() -> None:
    parts = (MovedPages(3, 5, (1,), 10), MovedPages(0, 0, (), 7), MovedPages(4, 6, (0, 1), 9))
    assert moved_of_all(parts) == MovedPages(7, 6, (0, 1), 26)
    assert parts[0].plus(parts[2]) == MovedPages(7, 11, (0, 1), 9)
