"""The host of the machine that runs the tests; missing features are skipped with the reason."""

from __future__ import annotations

import errno
import gc
import mmap
import os
import resource
import struct
import threading
import time

import pytest

from turbotui.machine.cpulist import parse_cpulist
from turbotui.machine.host import CAP_PERFMON, CAP_SYS_ADMIN, HostError, HostKind, PerfAttr
from turbotui.machine.linux import LinuxHost

pytestmark = pytest.mark.real

SOFTWARE = 1
CONTEXT_SWITCHES = 3
CPU_CLOCK = 0
PAGE_FAULTS = 2
PAGES = 200


def open_or_skip(host: LinuxHost, attr: PerfAttr, cpu: int, group: int = -1) -> int:
    try:
        return host.perf_event_open(attr, -1, cpu, group)
    except HostError as error:
        if error.errno in (errno.EACCES, errno.EPERM, errno.ENOSYS):
            pytest.skip(f"perf is closed to this process: {error}")
        raise


@pytest.fixture(scope="module")
def host() -> LinuxHost:
    return LinuxHost()


def test_it_is_this_machine(host: LinuxHost) -> None:
    assert host.kind is HostKind.REAL
    assert host.name == os.uname().nodename
    assert host.pins
    assert host.exists("/proc/self/status")


def test_privileges_are_this_process_s(host: LinuxHost) -> None:
    rights = host.privileges()
    assert rights.uid == os.geteuid()
    assert rights.descriptors == resource.getrlimit(resource.RLIMIT_NOFILE)
    with open("/proc/self/status", encoding="ascii") as status:
        mask = next(line.split()[1] for line in status if line.startswith("CapEff"))
    assert rights.capabilities == int(mask, 16)


def test_usable_cpus_are_none_or_a_part_of_the_online_ones(host: LinuxHost) -> None:
    usable = host.usable_cpus()
    online = parse_cpulist(host.read_text("/sys/devices/system/cpu/online"))
    assert usable is None or usable < online


def test_the_affinity_of_the_process_is_followed_and_that_of_our_own_threads_is_not() -> None:
    everything = os.sched_getaffinity(os.getpid())
    if len(everything) < 2:
        pytest.skip("this process has one CPU")
    item = min(everything)
    host = LinuxHost()
    at_first = host.usable_cpus()
    seen: list[frozenset[int] | None] = []

    def look() -> None:
        host.pin_this_thread([item])
        seen.extend((host.usable_cpus(), LinuxHost().usable_cpus()))

    worker = threading.Thread(target=look)
    worker.start()
    worker.join()
    assert seen == [at_first, at_first]
    os.sched_setaffinity(os.getpid(), {item})
    try:
        assert host.usable_cpus() == frozenset({item})
    finally:
        os.sched_setaffinity(os.getpid(), everything)
    assert host.usable_cpus() == at_first


def test_pinning_moves_the_calling_thread_only(host: LinuxHost) -> None:
    cpu = max(os.sched_getaffinity(0))
    before = os.sched_getaffinity(0)
    inside: list[set[int]] = []

    def work() -> None:
        host.pin_this_thread([cpu])
        inside.append(os.sched_getaffinity(0))

    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    assert inside == [{cpu}]
    assert os.sched_getaffinity(0) == before


def test_pinning_to_a_cpu_that_is_not_there_is_einval(host: LinuxHost) -> None:
    for cpu in (8191, -1, 1 << 40):
        with pytest.raises(HostError) as caught:
            host.pin_this_thread([cpu])
        assert caught.value.errno == errno.EINVAL


def open_files(name: str) -> set[str]:
    """Numbers of this process's descriptors of a file."""
    folder = f"/proc/{os.getpid()}/fd"
    return {number for number in os.listdir(folder)
            if os.path.lexists(path := f"{folder}/{number}") and os.readlink(path) == name}


def test_files_that_are_read_often_stay_open_and_are_read_anew_until_the_host_goes() -> None:
    host = LinuxHost()
    before = open_files("/proc/stat")
    first = host.read_text("/proc/stat")
    opened = open_files("/proc/stat") - before
    assert len(opened) == 1
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)
    second = host.read_text("/proc/stat")
    forks = [int(text.partition("\nprocesses ")[2].split()[0]) for text in (first, second)]
    assert forks[0] < forks[1]
    assert second.endswith("\n")
    assert open_files("/proc/stat") - before == opened
    del host
    gc.collect()
    assert not open_files("/proc/stat") & opened


def test_threads_that_read_one_file_together_each_have_all_of_it(host: LinuxHost) -> None:
    texts: list[str] = []
    readers = [threading.Thread(target=lambda: texts.extend(host.read_text("/proc/stat") for _ in range(200)))
               for _ in range(4)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert len(texts) == 800
    assert {(text[:4], text.count("\ncpu"), text.count("\nbtime "), text[-1]) for text in texts} == {
        ("cpu ", texts[0].count("\ncpu"), 1, "\n")}


def test_the_clock_is_the_raw_monotonic_one(host: LinuxHost) -> None:
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    now = host.now_ns()
    assert before <= now <= time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    assert abs(host.wall_ns() - time.time_ns()) < 1_000_000_000


def test_a_software_group_counts_what_this_thread_does(host: LinuxHost) -> None:
    cpu = min(os.sched_getaffinity(0))
    leader = open_or_skip(host, PerfAttr(SOFTWARE, CONTEXT_SWITCHES), cpu)
    sibling = open_or_skip(host, PerfAttr(SOFTWARE, PAGE_FAULTS), cpu, leader)
    readings: list[tuple[int, ...]] = []

    def work() -> None:
        host.pin_this_thread([cpu])
        readings.append(struct.unpack("=5Q", host.read_counter(leader, 40)))
        with mmap.mmap(-1, PAGES * mmap.PAGESIZE) as memory:
            memory.madvise(mmap.MADV_NOHUGEPAGE)
            for page in range(PAGES):
                memory[page * mmap.PAGESIZE] = 1
        for _ in range(20):
            os.sched_yield()
            threading.Event().wait(0.0001)
        readings.append(struct.unpack("=5Q", host.read_counter(sibling, 40)))

    try:
        worker = threading.Thread(target=work)
        worker.start()
        worker.join()
    finally:
        host.close(sibling)
        host.close(leader)
    first, second = readings
    assert first[0] == second[0] == 2
    assert second[1] > first[1]
    assert second[1] == second[2], "software events are never multiplexed"
    assert second[3] - first[3] >= 20, "each wait gives the CPU away"
    assert second[4] - first[4] >= PAGES, "each first touch of a page is a fault"


@pytest.mark.parametrize("names", [("clock", "switches"), ("switches", "clock"), ("clock", "task", "faults"),
                                   ("tsc", "switches"), ("switches", "tsc"), ("switches", "faults", "tsc")])
def test_members_of_another_pmu_than_the_leaders_count_too(host: LinuxHost, names: tuple[str, ...]) -> None:
    """Kernels that schedule by PMU leave the last one that joins at 0 [Linux 6.18], and say that it runs."""
    try:
        tsc = int(host.read_text("/sys/bus/event_source/devices/msr/type"))
    except HostError:
        tsc = -1
    if tsc < 0 and "tsc" in names:
        pytest.skip("no msr PMU here")
    attrs = {"clock": PerfAttr(SOFTWARE, 0), "task": PerfAttr(SOFTWARE, 1), "faults": PerfAttr(SOFTWARE, PAGE_FAULTS),
             "switches": PerfAttr(SOFTWARE, CONTEXT_SWITCHES), "tsc": PerfAttr(tsc, 0)}
    cpu = min(os.sched_getaffinity(0))
    descriptors: list[int] = []
    readings: list[tuple[int, ...]] = []

    def work() -> None:
        host.pin_this_thread([cpu])
        readings.append(struct.unpack(f"={3 + len(names)}Q", host.read_counter(descriptors[0], 64)))
        with mmap.mmap(-1, PAGES * mmap.PAGESIZE) as memory:
            memory.madvise(mmap.MADV_NOHUGEPAGE)
            for page in range(PAGES):
                memory[page * mmap.PAGESIZE] = 1
        for _ in range(20):
            threading.Event().wait(0.0001)
        readings.append(struct.unpack(f"={3 + len(names)}Q", host.read_counter(descriptors[0], 64)))

    try:
        for name in names:
            descriptors.append(open_or_skip(host, attrs[name], cpu, descriptors[0] if descriptors else -1))
        worker = threading.Thread(target=work)
        worker.start()
        worker.join()
    finally:
        for descriptor in reversed(descriptors):
            host.close(descriptor)
    first, second = readings
    gained = dict(zip(names, (b - a for a, b in zip(first[3:], second[3:], strict=True)), strict=True))
    least = {"clock": 1_000_000, "task": 1_000_000, "faults": PAGES, "switches": 20, "tsc": 100_000}
    assert all(gained[name] >= least[name] for name in names), gained


def test_counters_do_not_survive_exec(host: LinuxHost) -> None:
    descriptor = open_or_skip(host, PerfAttr(SOFTWARE, CONTEXT_SWITCHES), min(os.sched_getaffinity(0)))
    try:
        assert not os.get_inheritable(descriptor)
    finally:
        host.close(descriptor)


def test_a_small_buffer_is_enospc(host: LinuxHost) -> None:
    descriptor = open_or_skip(host, PerfAttr(SOFTWARE, CONTEXT_SWITCHES), min(os.sched_getaffinity(0)))
    try:
        with pytest.raises(HostError) as caught:
            host.read_counter(descriptor, 16)
        assert caught.value.errno == errno.ENOSPC
    finally:
        host.close(descriptor)


def test_a_software_sibling_of_another_cpu_is_einval(host: LinuxHost) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("this process has one CPU")
    leader = open_or_skip(host, PerfAttr(SOFTWARE, CONTEXT_SWITCHES), cpus[0])
    try:
        with pytest.raises(HostError) as caught:
            host.perf_event_open(PerfAttr(SOFTWARE, CPU_CLOCK), -1, cpus[1], leader)
        assert caught.value.errno == errno.EINVAL
    finally:
        host.close(leader)


def test_a_cpu_that_is_not_there_is_refused(host: LinuxHost) -> None:
    rights = host.privileges()
    if not (rights.has(CAP_PERFMON) or rights.has(CAP_SYS_ADMIN)):
        pytest.skip("without CAP_PERFMON the answer is EACCES")
    with pytest.raises(HostError) as caught:
        host.perf_event_open(PerfAttr(SOFTWARE, CONTEXT_SWITCHES), -1, 8191, -1)
    assert caught.value.errno in (errno.EINVAL, errno.ENODEV, errno.ENOSYS)
