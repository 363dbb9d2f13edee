"""Containers whose files number the CPUs anew: what is read there, and what is refused."""

from __future__ import annotations

import errno

import pytest
from treehost import TreeHost

from turbotui.machine.container_host import ContainerHost, in_container
from turbotui.machine.delegating_host import DelegatingHost
from turbotui.machine.host import Host, HostError, PerfAttr, msr_device
from turbotui.machine.machine import read_machine
from turbotui.quantities.signals import Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.capabilities import probe_sources
from turbotui.sources import SOURCES

CPUS = "/sys/devices/system/cpu"
STAT = "cpu  9 0 0 9\n{}intr 1\n"
MOUNTS = "1 0 0:1 / / rw - ext4 /dev/vda rw\n2 1 0:2 / /proc rw - proc proc rw\n3 1 0:3 / /sys rw - sysfs sysfs rw\n"
LXCFS = "".join(f"{number} 2 0:9 /proc/{name} /proc/{name} rw - fuse.lxcfs lxcfs rw\n"
                for number, name in ((10, "stat"), (11, "cpuinfo")))
CPUINFO = "".join(f"processor : {cpu}\nvendor_id : GenuineIntel\ncpu family : 6\nmodel : 143\nphysical id : 1\n"
                  f"core id : {core}\nflags : lm tsc\n\n" for cpu, core in ((0, 5), (1, 7)))


def tree(usable: frozenset[int] | None, online: str, rows: int = 2) -> TreeHost:
    files = {
        "/proc/stat": STAT.format("".join(f"cpu{cpu} 1 0 0 {cpu}\n" for cpu in range(rows))),
        "/proc/cpuinfo": CPUINFO, "/proc/self/mountinfo": MOUNTS + LXCFS, f"{CPUS}/online": online,
        "/proc/interrupts": "   CPU0 CPU1\n 1: 5 6 x\n", "/proc/schedstat": "version 15\n",
        "/sys/devices/system/node/node0/cpulist": "0-7\n",
    }
    files |= {f"{CPUS}/cpu{cpu}/cpufreq/{name}": "1000\n" for cpu in range(8)
              for name in ("scaling_driver", "scaling_cur_freq")}
    return TreeHost(files, usable=usable)


@pytest.mark.parametrize(("usable", "online", "rows"), [
    (frozenset({1}), "0\n", 1),  # lxcfs 5: one CPU of the machine, by another number
    (frozenset({1}), "0-1\n", 1),  # an older lxcfs, which leaves /sys as it is
    (frozenset({1, 2}), "0-1\n", 2),  # a number that both have, of two CPUs
    (frozenset({0, 5}), "0-1\n", 2),
    (None, "0-7\n", 2),  # a quota shown as CPUs (lxcfs --enable-cfs), with the machine's /sys
])
def test_files_and_kernel_that_contradict_each_other(usable: frozenset[int] | None, online: str, rows: int) -> None:
    assert isinstance(in_container(tree(usable, online, rows)), ContainerHost)


@pytest.mark.parametrize(("usable", "online", "rows"), [
    (None, "0-1\n", 2), (frozenset({1}), "0-1\n", 2), (frozenset({0, 1}), "0-1\n", 2), (None, "\n", 2),
    (None, "0\n", 0),
    (None, "0-1\n", 4),  # a CPU that came between the two readings
])
def test_plain_machines_are_no_containers(usable: frozenset[int] | None, online: str, rows: int) -> None:
    host = tree(usable, online, rows)
    assert in_container(host) is host


def test_a_gap_in_the_numbers_is_an_offline_cpu() -> None:
    host = TreeHost({"/proc/stat": STAT.format("cpu0 1\ncpu2 1\n"), f"{CPUS}/online": "0-2\n"})
    assert in_container(host) is host


def test_a_cpu_that_comes_while_it_is_looked_at_makes_no_container() -> None:
    class Coming(DelegatingHost):
        looks = 0

        def usable_cpus(self, online: str | None = None) -> frozenset[int] | None:
            self.looks += 1
            return frozenset({0, 1, 2}) if self.looks == 1 else frozenset({0, 1})

    host = Coming(tree(None, "0-1\n"))
    assert in_container(host) is host


def container() -> Host:
    return in_container(tree(frozenset({1, 2}), "0-1\n"))


def test_the_cpus_are_those_of_the_files_with_their_own_cores() -> None:
    host = container()
    assert not host.pins
    machine = read_machine(host)
    assert machine.topology.cpus == (0, 1)
    assert [machine.topology.places[cpu].core for cpu in (0, 1)] == [5, 7]
    assert {machine.topology.places[cpu].node for cpu in (0, 1)} == {-1}
    assert any("container" in note for note in machine.topology.notes)
    assert machine.privileges.renumbered


def test_nothing_of_another_cpu_stands_beside_the_files() -> None:
    host = container()
    for path in (f"{CPUS}/cpu0/cpufreq/scaling_cur_freq", "/proc/interrupts", "/proc/schedstat", "/dev/cpu/0/msr",
                 "/sys/devices/system/node/node0/cpulist"):
        assert not host.exists(path)
        with pytest.raises(HostError, match="container"):
            host.read_text(path)
        with pytest.raises(HostError, match="container"):
            host.open_file(path)
    assert not [name for name in host.list_dir(CPUS) if name.startswith("cpu")]
    for refused in (lambda: host.open_file(msr_device(0)), lambda: host.perf_event_open(PerfAttr(1, 0), -1, 0, -1),
                    lambda: host.pin_this_thread([0])):
        with pytest.raises(HostError, match="container") as error:
            refused()
        assert error.value.errno == errno.EPERM
    assert host.usable_cpus() is None


def test_a_file_that_the_container_has_of_its_own_is_read() -> None:
    inner = tree(frozenset({1, 2}), "0-1\n")
    inner.files["/proc/self/mountinfo"] += "12 2 0:9 /x /proc/interrupts rw - fuse.lxcfs lxcfs rw\n"
    assert in_container(inner).read_text("/proc/interrupts")


def test_sources_say_whose_numbers_they_would_need() -> None:
    capabilities = probe_sources(read_machine(container()), SOURCES)
    assert isinstance(capabilities.probes["proc-stat"].signals["stat.user"], Signal)
    for name in ("cpufreq", "proc-interrupts", "perf-software", "msr", "thermal-throttle", "cpuidle"):
        for answer in capabilities.probes[name].signals.values():
            assert isinstance(answer, Unavailable), name
            assert answer.reason is Reason.HIDDEN, answer
            assert "modprobe" not in answer.remedy
