"""Memory of processes by node: lines as kernels write them, refusals, and how seldom files are read."""

from __future__ import annotations

import errno
import pickle
import threading
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from knownmachines import known_machine
from treehost import TreeHost

from turbotui.machine.host import HostError
from turbotui.machine.tasks.numa_maps import (
    EMPTY,
    FRESH_NS,
    GONE,
    MALFORMED,
    NO_FILE,
    ONE_NODE,
    PENDING,
    TOO_LONG,
    NodeMemory,
    NumaMemory,
    parse_numa_maps,
)
from turbotui.machine.tasks.proc_facts import ProcFacts, TaskLooks
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.simulated import simulated_host

LINES = b"""\
55d4c0a00000 default file=/usr/bin/qemu\\040(deleted) mapped=12 mapmax=3 active=0 N0=4 N1=8 kernelpagesize_kB=4
55d4c2000000 default heap anon=1024 dirty=1024 active=512 N1=1024 kernelpagesize_kB=4
7f1200000000 bind:0-1 file=/dev/hugepages/ram huge anon=3 dirty=3 N0=1 N1=2 kernelpagesize_kB=2048
7f2200000000 interleave:0-1 file=/SYSV00000000\\040(deleted) dirty=300 N0=150 N1=150 kernelpagesize_kB=4
7f2300000000 prefer (many):0-1 anon=16 dirty=16 N12=16 kernelpagesize_kB=64
7f2400000000 default
7ffc00000000 default stack anon=3 dirty=3 swapcache=1 N0=3 kernelpagesize_kB=4
"""
TOPOLOGY = known_machine(simulated_host("sapphire-2s")).topology
ONE = "7f0000000000 default anon=5 dirty=5 N0=1 N1=4 kernelpagesize_kB=4\n"


def stat(pid: int, started: int = 77) -> str:
    words = ["0"] * 50
    words[0], words[18] = "1", str(started)
    return f"{pid} (work) S {' '.join(words)}\n"


class MapsHost(TreeHost):
    """Files that are read in pieces, as the kernel hands out these, each of which takes some time."""

    def __init__(self, files: Mapping[str, str], errors: Mapping[str, int] | None = None) -> None:
        nodes = {f"/sys/devices/system/node/node{node}/cpulist": "" for node in (0, 1)}
        super().__init__({**nodes, **files}, errors=errors)
        self.now = 1_000_000_000
        self.took = 0
        self.opened: list[str] = []
        self.go_on = threading.Event()
        self.go_on.set()
        self._paths: dict[int, str] = {}

    def now_ns(self) -> int:
        return self.now

    def open_file(self, path: str) -> int:
        if path.endswith("numa_maps"):
            self.opened.append(path)
        self.read_text(path)
        self._paths[len(self._paths)] = path
        return len(self._paths) - 1

    def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
        path = self._paths[descriptor]
        if path.endswith("numa_maps"):
            assert self.go_on.wait(60)
            self.now += self.took
        return self.files[path].encode()[offset : offset + min(size, 4096)]

    def close(self, _descriptor: int) -> None:
        """Nothing is open."""


def host_of(pids: range, maps: str = ONE) -> MapsHost:
    files = {f"/proc/{pid}/stat": stat(pid) for pid in pids} | {f"/proc/{pid}/numa_maps": maps for pid in pids}
    return MapsHost(files)


def memory_in(host: MapsHost, pid: int = 7, started: int = 77) -> NodeMemory | Unavailable:
    memory = NumaMemory(host, TOPOLOGY)
    assert memory.of(pid, started, read=True) == (PENDING, True)
    memory.wait(60)
    return memory.of(pid, started, read=False)[0]


def asked_for(facts: ProcFacts, *pids: int) -> tuple[TaskLooks, list[NodeMemory | Unavailable]]:
    """A look at the memory of processes, what came of it when all was read, and nothing read again."""
    looks = TaskLooks(facts)
    for _ in range(3):  # a screen that is drawn again reads no more
        result = [looks.memory_of(pid) for pid in pids]
        assert facts.memory is not None
        facts.memory.wait(60)
    return looks, result


def test_lines_of_huge_pages_shared_memory_and_several_nodes_add_up_in_bytes() -> None:
    assert parse_numa_maps(LINES) == {
        0: (4 + 150 + 3) * 4096 + 2048 * 1024,
        1: (8 + 1024 + 150) * 4096 + 2 * 2048 * 1024,
        12: 16 * 65536,
    }
    assert parse_numa_maps(b"") == {}


@pytest.mark.parametrize("line", [
    b"7f00 default anon=1 N0=1",  # pages of unknown size
    b"7f00 default anon=1 N0=x kernelpagesize_kB=4",
    b"7f00 default anon=1 N0=-1 kernelpagesize_kB=4",
    b"7f00 default anon=1 N1024=1 kernelpagesize_kB=4",
    b"7f00 default anon=1 N0=1 kernelpagesize_kB=0",
    b"7f00 default anon=1 N0=18446744073709551615 kernelpagesize_kB=4",
    b"7f00 default anon=1 N0=" + b"9" * 5_000 + b" kernelpagesize_kB=4",
])
def test_what_no_kernel_writes_is_refused(line: bytes) -> None:
    assert parse_numa_maps(line + b"\n") is None


def test_no_name_of_a_file_passes_for_pages() -> None:
    name = rb"file=/tmp/a\040N1\07599999\012b" + b"\rN1"
    assert parse_numa_maps(b"7f00 default " + name + b" mapped=2 N0=2 kernelpagesize_kB=4\n") == {0: 8192}


MAPPING = st.tuples(st.sampled_from([4, 16, 64, 2048, 1 << 20]),
                    st.dictionaries(st.integers(0, 1023), st.integers(1, 1 << 20), max_size=8))


@given(st.lists(MAPPING, max_size=20))
def test_the_sum_of_mappings_is_what_was_written(mappings: list[tuple[int, dict[int, int]]]) -> None:
    truth: dict[int, int] = {}
    lines = []
    for at, (size, pages) in enumerate(mappings):
        words = "".join(f" N{node}={count}" for node, count in pages.items())
        lines.append(f"7f{at:010x} default anon={sum(pages.values())}{words}"
                     f"{f' kernelpagesize_kB={size}' if pages else ''}\n")
        for node, count in pages.items():
            truth[node] = truth.get(node, 0) + count * size * 1024
    assert parse_numa_maps("".join(lines).encode()) == truth


@given(st.binary(max_size=300))
def test_any_bytes_are_parsed_or_refused(text: bytes) -> None:
    result = parse_numa_maps(text)
    assert result is None or all(0 <= node < 1024 and size >= 0 for node, size in result.items())


def test_a_file_that_comes_in_pieces_is_read_whole() -> None:
    result = memory_in(host_of(range(7, 8), ONE * 500))
    assert result == NodeMemory({0: 500 * 4096, 1: 500 * 4 * 4096}, 0)
    assert isinstance(result, NodeMemory)
    assert (result.node, result.total) == (1, 500 * 5 * 4096)


def test_what_is_refused_has_its_reason() -> None:
    files = {"/proc/7/stat": stat(7)}
    refused = memory_in(MapsHost(files, {"/proc/7/numa_maps": errno.EACCES}))
    assert isinstance(refused, Unavailable)
    assert refused.reason is Reason.NOT_PERMITTED
    assert "/proc/7/numa_maps: Permission denied (EACCES)" in refused.detail
    assert memory_in(MapsHost(files)) is NO_FILE
    assert memory_in(MapsHost({})) is GONE
    assert memory_in(MapsHost(files | {"/proc/7/numa_maps": ""})) is EMPTY
    assert memory_in(MapsHost(files | {"/proc/7/numa_maps": "7f default N0=1\n"})) is MALFORMED
    assert memory_in(host_of(range(7, 8), ONE * 20_000)) is TOO_LONG
    assert memory_in(host_of(range(7, 8)), started=78) is GONE  # another process has the number
    failed = memory_in(MapsHost(files, {"/proc/7/numa_maps": errno.EIO}))
    assert isinstance(failed, Unavailable)
    assert failed.reason is Reason.FAILED


def test_where_there_is_one_node_no_file_is_opened() -> None:
    host = host_of(range(7, 8))
    for path in [path for path in host.files if path.startswith("/sys")]:
        del host.files[path]
    host._children["/sys/devices/system/node"] = {"node0", "online"}
    single = known_machine(simulated_host("laptop")).topology
    assert NumaMemory(host, single).of(7, 77, read=True) == (ONE_NODE, False)
    assert host.opened == []


def test_a_process_is_read_again_after_ten_seconds_and_the_age_is_said() -> None:
    host = host_of(range(7, 8))
    memory = NumaMemory(host, TOPOLOGY)
    assert memory.of(7, 77, read=False) == (PENDING, False)
    assert memory.of(7, 77, read=True) == (PENDING, True)
    memory.wait(60)
    assert memory.of(7, 77, read=True) == (NodeMemory({0: 4096, 1: 4 * 4096}, 0), False)
    host.now += FRESH_NS - 1
    assert memory.of(7, 77, read=True) == (NodeMemory({0: 4096, 1: 4 * 4096}, FRESH_NS - 1), False)
    host.now += 1
    assert memory.of(7, 77, read=True)[1]
    memory.wait(60)
    assert len(host.opened) == 2


def test_an_interval_reads_eight_processes_and_the_next_one_the_others() -> None:
    host = host_of(range(100, 120))
    facts = ProcFacts(host, TOPOLOGY)
    for already in (8, 16, 20):
        result = asked_for(facts, *range(100, 120))[1]
        assert len(host.opened) == already
        assert sum(isinstance(item, NodeMemory) for item in result) == already
        assert set(result[already:]) <= {PENDING}
        host.now += 1_000_000_000


def test_what_a_read_took_is_one_percent_of_the_time() -> None:
    host = host_of(range(100, 120))
    host.took = 5_000_000  # of each piece: there are two, of which the last is empty
    facts = ProcFacts(host, TOPOLOGY)
    begin = host.now
    while len(host.opened) < 20:
        asked_for(facts, *range(100, 120))
        host.now += 100_000_000
    assert host.now - begin >= 16 * 10_000_000 * 100


def test_an_older_interval_keeps_what_was_known_of_it() -> None:
    host = host_of(range(7, 9))
    facts = ProcFacts(host, TOPOLOGY)
    looks, [first] = asked_for(facts, 7)
    looks.close()
    looks = pickle.loads(pickle.dumps(looks))  # noqa: S301 - as intervals are kept
    host.now += 2 * FRESH_NS
    host.files["/proc/7/numa_maps"] = ONE * 2
    [newer] = asked_for(facts, 7)[1]
    assert isinstance(newer, NodeMemory)
    assert newer != first
    assert looks.memory_of(7) == looks.memory_seen(7) == first
    assert isinstance(looks.memory_of(8), Unavailable)


def test_nobody_waits_for_a_read_who_does_not_ask_to() -> None:
    host = host_of(range(7, 8))
    host.go_on.clear()
    memory = NumaMemory(host, TOPOLOGY)
    assert memory.of(7, 77, read=True) == (PENDING, True)
    reading = [memory.reading]
    host.go_on.set()
    memory.wait(60)
    assert [*reading, memory.reading] == [True, False]
    assert memory.of(7, 77, read=False) == (NodeMemory({0: 4096, 1: 4 * 4096}, 0), False)


def test_the_kernels_own_file_of_this_process_is_understood() -> None:
    try:
        with open("/proc/self/numa_maps", "rb") as file:
            result = parse_numa_maps(file.read())
    except OSError as error:
        pytest.skip(f"{HostError(error.errno or errno.EIO, '/proc/self/numa_maps')}")
    assert result is not None
