"""Counts of all processes, from files that stay open and are parsed only if changed."""

from __future__ import annotations

import errno
import gc
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from turbotui.machine.host import HostError, Privileges
from turbotui.machine.linux import LinuxHost
from turbotui.machine.tasks.process_stats import ProcessStats, process_stat


def line(pid: int, *, name: str = "sh", ran: int = 0, started: int = 5, threads: int = 3) -> bytes:
    """proc_pid_stat(5): state is field 3, majflt 12, utime 14, num_threads 20, starttime 22, rss 24, processor 39."""
    words = ["0"] * 50
    words[0], words[9], words[11], words[12], words[17] = "S", "7", str(ran), "2", str(threads)
    words[19], words[21], words[36], words[39] = str(started), "11", "1", "4"
    return f"{pid} ({name}) {' '.join(words)}\n".encode()


class Processes:
    """Processes that come and go; an open file belongs to its process, even if the number is reused."""

    def __init__(self, descriptors: int = 1024) -> None:
        self.now: dict[int, list[bytes]] = {}  # what the file of each says: a list is one process
        self.files: dict[int, tuple[int, str, list[bytes]]] = {}
        self.opened: list[int] = []
        self.read: list[tuple[int, str]] = []
        self.schedstat: dict[int, bytes] = {}  # of those that have one
        self._descriptors = descriptors

    def now_ns(self) -> int:
        return 10**9

    def list_dir(self, path: str) -> tuple[str, ...]:
        assert path == "/proc"
        return ("cpuinfo", *map(str, self.now), "stat")

    def open_file(self, path: str) -> int:
        pid, name = int(path.split("/")[2]), path.split("/")[3]
        if pid not in self.now or (name == "schedstat" and pid not in self.schedstat):
            raise HostError(errno.ENOENT, path)
        self.opened.append(pid)
        self.files[len(self.opened)] = pid, name, self.now[pid]
        return len(self.opened)

    def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
        pid, name, said = self.files[descriptor]
        if self.now.get(pid) is not said:
            raise HostError(errno.ESRCH, "it has ended")
        self.read.append((pid, name))
        return (self.schedstat[pid] if name == "schedstat" else said[0])[offset:offset + size]

    def close(self, descriptor: int) -> None:
        del self.files[descriptor]

    def privileges(self) -> Privileges:
        return Privileges(0, 0, None, (self._descriptors, self._descriptors))


def stats_of(host: Processes) -> ProcessStats:
    return ProcessStats(host)  # type: ignore[arg-type]  # what it asks for is there


def test_every_field_is_that_of_the_manual() -> None:
    result = process_stat(line(9, name="a) (b", ran=40))
    assert result == ("a) (b", "S", 7, 42, 3, 5, 11, 1, 4)
    assert process_stat(b"9 (sh) S 1 2 3\n") is None
    assert process_stat(b"9 (sh) S " + b"x " * 49) is None


def test_a_file_is_opened_once_and_parsed_where_it_changed() -> None:
    host = Processes()
    host.now = {1: [line(1)], 2: [line(2)]}
    stats = stats_of(host)
    first = stats.read()
    host.now[2][0] = line(2, ran=10)
    second = stats.read()
    assert host.opened == [1, 2]
    assert second[1] is first[1]
    assert (first[2].ran, second[2].ran) == (2, 12)


def test_the_cpu_of_a_process_is_unknown_where_a_container_numbers_cpus_anew() -> None:
    class Renumbered(Processes):
        def privileges(self) -> Privileges:
            return replace(super().privileges(), renumbered=True)

    host = Renumbered()
    host.now = {1: [line(1)], 2: [line(2, threads=1)]}
    host.schedstat = {2: b"90 5 1\n"}
    stats = stats_of(host)
    for _ in range(3):
        assert {result.cpu for result in stats.read().values()} == {-1}
        host.now[2][0], host.schedstat[2] = line(2, ran=10, threads=1), b"99 5 2\n"


def test_of_a_process_that_has_not_run_its_schedstat_alone_is_read() -> None:
    host = Processes()
    host.now, host.schedstat = {1: [line(1, threads=1)], 2: [line(2, threads=1)]}, {1: b"90 5 1\n", 2: b"70 5 1\n"}
    stats = stats_of(host)
    first = stats.read()
    assert stats.read() == first
    host.read.clear()
    assert stats.read() == first
    assert host.read == [(1, "schedstat"), (2, "schedstat")]
    host.now[2][0], host.schedstat[2] = line(2, ran=10, threads=1), b"99 5 2\n"
    assert {pid: result.ran for pid, result in stats.read().items()} == {1: 2, 2: 12}
    assert len(host.files) == 2


def test_a_process_that_began_to_run_between_two_files_is_read_again() -> None:
    host = Processes()
    host.now, host.schedstat = {1: [line(1, threads=1)]}, {1: b"90 5 1\n"}
    stats = stats_of(host)
    stats.read()  # its stat, before its schedstat is known
    host.now[1][0], host.schedstat[1] = line(1, ran=10, threads=1), b"99 5 2\n"
    assert stats.read()[1].ran == 12


def test_of_a_process_with_threads_all_counts_are_read_each_time() -> None:
    host = Processes()
    host.now, host.schedstat = {1: [line(1, threads=1)]}, {1: b"90 5 1\n"}
    stats = stats_of(host)
    stats.read()
    host.now[1][0], host.schedstat[1] = line(1, ran=10, threads=2), b"99 5 2\n"  # it has made another thread
    assert stats.read()[1].threads == 2
    host.now[1][0] = line(1, ran=20, threads=2)  # that one ran, and the first one did not
    assert stats.read()[1].ran == 22
    host.now[1][0] = line(1, ran=30, threads=1)
    stats.read()
    host.now[1][0], host.schedstat[1] = line(1, ran=40, threads=1), b"111 5 3\n"
    assert stats.read()[1].ran == 42
    assert len(host.files) == 1


@pytest.mark.parametrize("schedstat", [{}, {1: b"0 0 0\n"}])
def test_where_schedstat_says_nothing_all_counts_are_read_each_time(schedstat: dict[int, bytes]) -> None:
    host = Processes()
    host.now, host.schedstat = {1: [line(1, threads=1)]}, schedstat
    stats = stats_of(host)
    for ran in range(5):
        host.now[1][0] = line(1, ran=ran, threads=1)
        assert stats.read()[1].ran == ran + 2
    assert len(host.files) == 1
    opened = len(host.opened)
    stats.read()
    assert len(host.opened) == opened


def test_a_process_of_which_schedstat_is_open_may_end_and_give_its_number_away() -> None:
    host = Processes()
    host.now, host.schedstat = {7: [line(7, threads=1)]}, {7: b"90 5 1\n"}
    stats = stats_of(host)
    for _ in range(3):
        stats.read()
    host.now[7] = [line(7, name="new", started=99, threads=1)]  # with the same schedstat
    assert stats.read()[7].started == 99
    assert stats.read()[7].started == 99
    del host.now[7]
    assert not stats.read()
    assert not host.files


def test_another_process_with_the_same_number_is_read_in_its_place() -> None:
    host = Processes()
    host.now = {7: [line(7, started=5)]}
    stats = stats_of(host)
    stats.read()
    host.now[7] = [line(7, name="new", started=99)]
    assert stats.read()[7].started == 99
    assert len(host.files) == 1


def test_files_of_processes_that_ended_are_closed() -> None:
    host = Processes()
    host.now = {1: [line(1)], 2: [line(2)]}
    stats = stats_of(host)
    stats.read()
    del host.now[2]
    assert list(stats.read()) == [1]
    assert len(host.files) == 1


def test_no_more_files_stay_open_than_their_part_of_the_descriptors() -> None:
    host = Processes(descriptors=128)
    host.now = {pid: [line(pid, ran=pid)] for pid in range(1, 6)}
    stats = stats_of(host)
    for _ in range(2):
        assert {pid: result.ran for pid, result in stats.read().items()} == {pid: pid + 2 for pid in range(1, 6)}
    assert len(host.files) == 2
    assert len(host.opened) == 2 + 2 * 3


@pytest.mark.usefixtures("objects_of_the_test_alone")
def test_all_files_are_closed_with_the_last_who_knows_them() -> None:
    host = Processes()
    host.now = {1: [line(1)]}
    stats = stats_of(host)
    stats.read()
    assert host.files
    del stats
    gc.collect()
    assert not host.files


@pytest.mark.real
def test_this_process_is_found_with_its_own_counts() -> None:
    stats = ProcessStats(LinuxHost())
    first = stats.read()[os.getpid()]
    while (result := stats.read()[os.getpid()]).ran == first.ran:
        sum(range(10_000))
    assert result.ran > first.ran
    assert result.started == first.started
    assert result.threads >= 1


@pytest.mark.real
def test_a_sleeping_child_is_found_as_its_file_says() -> None:
    words = [sys.executable, "-c", "print(flush=True)\ninput()"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:  # noqa: S603 - of this file
        assert child.stdout is not None
        child.stdout.readline()
        stats, path = ProcessStats(LinuxHost()), Path(f"/proc/{child.pid}/stat")
        before = b""
        while before != (before := path.read_bytes()) or b" S " not in before:
            stats.read()
        for _ in range(3):
            said = process_stat(path.read_bytes())
            assert said is not None
            assert stats.read()[child.pid]._replace(pages=0) == said._replace(pages=0)
        child.communicate(b"\n")
