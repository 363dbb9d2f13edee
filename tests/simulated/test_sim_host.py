"""The host protocol: descriptors, refusals, hot-plug, injected failures, names."""

from __future__ import annotations

import threading

import pytest
from host_readers import machine, number, refusal, register
from model_truth import truth_of

from turbotui.errors import UsageError
from turbotui.machine.host import msr_device
from turbotui.machine.topology import read_topology
from turbotui.simulated import SHAPES, ManualClock, RealClock, simulated_host

CPU5 = "/sys/devices/system/cpu/cpu5"


def test_an_unknown_name_is_answered_with_the_nearest_first() -> None:
    with pytest.raises(UsageError) as caught:
        simulated_host("saphire")
    text = str(caught.value)
    assert text.index("sapphire-2s") < text.index("turin-2s")
    assert all(name in text for name in SHAPES)


def test_clocks() -> None:
    clock = ManualClock(7)
    clock.advance(1.5)
    assert clock.now_ns() == 1_500_000_007
    with pytest.raises(ValueError, match="back"):
        clock.advance(-1)
    real = RealClock()
    assert real.now_ns() <= real.now_ns()
    host = simulated_host("guest")
    assert host.wall_ns() > 10**18
    assert host.now_ns() > 0


def test_files_refuse_as_linux_does() -> None:
    host, _ = machine("guest")
    assert refusal(host.read_text, "/proc/nothing") == "ENOENT"
    assert refusal(host.read_text, "/proc") == "EISDIR"
    assert refusal(host.list_dir, "/proc/stat") == "ENOTDIR"
    assert refusal(host.read_text, "/proc/stat/more") == "ENOTDIR"
    assert refusal(host.read_at, 99, 8) == "EBADF"
    assert refusal(host.read_counter, 99, 8) == "EBADF"
    assert refusal(host.pin_this_thread, [77]) == "EINVAL"
    assert refusal(host.pin_this_thread, [77, 3]) == ""
    descriptor = host.open_file("/proc/sys/kernel/hostname")
    assert host.read_at(descriptor, 3, 2) == b"est"
    host.close(descriptor)
    assert refusal(host.read_at, descriptor, 8) == "EBADF"


def test_a_cpu_leaves_and_comes_back() -> None:
    host, clock = machine("sapphire-2s")
    msr = host.open_file(msr_device(5))
    idle = host.open_file(f"{CPU5}/cpuidle/state3/time")
    clock.advance(2)
    host.set_online(5, False)
    counted = truth_of(host).truth(5)
    clock.advance(3)
    assert host.list_dir(CPU5) == ("online", "power", "uevent")
    assert host.read_text(f"{CPU5}/online") == "0\n"
    assert host.read_text("/sys/devices/system/cpu/offline") == "5\n"
    assert "\ncpu5 " not in host.read_text("/proc/stat")
    assert "CPU5 " not in host.read_text("/proc/interrupts")
    assert host.read_text("/sys/devices/system/cpu/cpu117/topology/thread_siblings_list") == "117\n"
    assert refusal(host.read_at, msr, 8, 0xE8) == "ENXIO"
    assert refusal(host.open_file, msr_device(5)) == "ENXIO"
    assert refusal(host.read_at, idle, 64) == "ENODEV"
    after = truth_of(host).truth(5)
    assert (after.aperf, after.busy_seconds, after.online_seconds) == (
        counted.aperf,
        counted.busy_seconds,
        counted.online_seconds,
    )
    assert len(read_topology(host, None).cpus) == 223
    host.set_online(5, True)
    clock.advance(2)
    assert truth_of(host).truth(5).online_seconds == pytest.approx(counted.online_seconds + 2)
    assert number(host, f"{CPU5}/cpuidle/state3/time") >= 0
    assert register(host, 5, 0xE8) >= int(counted.aperf)
    assert len(read_topology(host, None).cpus) == 224
    assert refusal(host.set_online, 0, False) == "EINVAL"


def test_failures_can_be_injected_and_taken_back() -> None:
    host, _ = machine("laptop")
    path = "/sys/devices/system/cpu/cpu0/topology/core_id"
    host.fail(path, 5)
    assert refusal(host.read_text, path) == "EIO"
    host.fail(path, None)
    assert refusal(host.read_text, path) == ""
    descriptor = host.open_file("/proc/stat")
    host.fail("/proc/stat", 13)
    assert refusal(host.read_at, descriptor, 64) == "EACCES"
    host.fail("/sys/class/hwmon", 13)
    assert refusal(host.list_dir, "/sys/class/hwmon") == "EACCES"
    host.fail("/dev/cpu/3/msr", 2)
    assert refusal(host.open_file, msr_device(3)) == "ENOENT"


def test_many_threads_read_one_machine() -> None:
    host, clock = machine("laptop")
    descriptors = [host.open_file(msr_device(cpu)) for cpu in range(8)]
    failures: list[str] = []

    def read(descriptor: int) -> None:
        last = 0
        for _ in range(200):
            clock.advance(0.002)
            value = int.from_bytes(host.read_at(descriptor, 8, 0xE7), "little")
            if value < last:
                failures.append(f"{value} < {last}")
            last = value

    threads = [threading.Thread(target=read, args=(descriptor,)) for descriptor in descriptors]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert truth_of(host).truth(0).seconds == pytest.approx(8 * 200 * 0.002)


def test_a_latency_request_is_four_bytes_for_root() -> None:
    host, _ = machine("guest")
    descriptor = host.open_file("/dev/cpu_dma_latency")
    assert int.from_bytes(host.read_at(descriptor, 4), "little") == 2_000_000_000
    host.set_privileges(uid=1000, capabilities=0)
    assert refusal(host.open_file, "/dev/cpu_dma_latency") == "EACCES"
