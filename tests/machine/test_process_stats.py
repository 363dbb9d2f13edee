"""Counts of all processes: read by files that stay open, and parsed where they changed."""

from __future__ import annotations

import errno
import gc
import os

import pytest

from turbotui.machine.host import HostError, Privileges
from turbotui.machine.linux import LinuxHost
from turbotui.machine.tasks.process_stats import ProcessStats, process_stat


def line(pid: int, *, name: str = "sh", ran: int = 0, started: int = 5) -> bytes:
    """proc_pid_stat(5): state is field 3, majflt 12, utime 14, num_threads 20, starttime 22, rss 24, processor 39."""
    words = ["0"] * 50
    words[0], words[9], words[11], words[12], words[17] = "S", "7", str(ran), "2", "3"
    words[19], words[21], words[36], words[39] = str(started), "11", "1", "4"
    return f"{pid} ({name}) {' '.join(words)}\n".encode()


class Processes:
    """Processes that come and go; an open file is that of its process, whoever has its number later."""

    def __init__(self, descriptors: int = 1024) -> None:
        self.now: dict[int, list[bytes]] = {}  # what the file of each says: a list is one process
        self.files: dict[int, tuple[int, list[bytes]]] = {}
        self.opened: list[int] = []
        self._descriptors = descriptors

    def list_dir(self, path: str) -> tuple[str, ...]:
        assert path == "/proc"
        return ("cpuinfo", *map(str, self.now), "stat")

    def open_file(self, path: str) -> int:
        pid = int(path.split("/")[2])
        if pid not in self.now:
            raise HostError(errno.ENOENT, path)
        self.opened.append(pid)
        self.files[len(self.opened)] = pid, self.now[pid]
        return len(self.opened)

    def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
        pid, said = self.files[descriptor]
        if self.now.get(pid) is not said:
            raise HostError(errno.ESRCH, "it has ended")
        return said[0][offset:offset + size]

    def close(self, descriptor: int) -> None:
        del self.files[descriptor]

    def privileges(self) -> Privileges:
        return Privileges(0, 0, None, (self._descriptors, self._descriptors))


def stats_of(host: Processes) -> ProcessStats:
    return ProcessStats(host)  # type: ignore[arg-type]  # what it asks for is there


def test_every_field_is_that_of_the_manual() -> None:
    found = process_stat(line(9, name="a) (b", ran=40))
    assert found == ("a) (b", "S", 7, 42, 3, 5, 11, 1, 4)
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
        assert {pid: found.ran for pid, found in stats.read().items()} == {pid: pid + 2 for pid in range(1, 6)}
    assert len(host.files) == 2
    assert len(host.opened) == 2 + 2 * 3


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
    while (found := stats.read()[os.getpid()]).ran == first.ran:
        sum(range(10_000))
    assert found.ran > first.ran
    assert found.started == first.started
    assert found.threads >= 1
