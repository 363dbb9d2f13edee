"""CPUs that go offline and come back while they are watched, imitated, because no real CPU is taken away."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest
from watchedtasks import switches_allowed

from turbotui.features.tasks.sample_aggregator import SampleAggregator
from turbotui.machine.host import HostError, PerfAttr
from turbotui.machine.linux import LinuxHost
from turbotui.machine.perf_records import CounterReopened
from turbotui.machine.tasks.sets import SOFTWARE_COUNTERS, choose
from turbotui.machine.tasks.tracer import TaskTracer

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(os.geteuid() != 0, reason="whole CPUs need root or CAP_PERFMON"),
    pytest.mark.skipif(not switches_allowed(), reason="perf does not sample switches here"),
]


class Plugged(LinuxHost):
    """This machine, whose CPUs are said to be online or not, and whose clock can be set forward."""

    def __init__(self) -> None:
        super().__init__()
        self.online: str | HostError = ""
        self.ahead = 0
        self.cut: set[int] = set()
        self.opened: list[int] = []

    def read_text(self, path: str) -> str:
        if path != "/sys/devices/system/cpu/online":
            return super().read_text(path)
        if isinstance(self.online, HostError):
            raise self.online
        return self.online

    def perf_event_open(self, attr: PerfAttr, pid: int, cpu: int, group: int) -> int:
        descriptor = super().perf_event_open(attr, pid, cpu, group)
        self.opened.append(descriptor)
        return descriptor

    def read_counter(self, descriptor: int, size: int) -> bytes:
        """A group that the kernel has broken up answers with the event's own value alone."""
        data = super().read_counter(descriptor, size)
        if descriptor not in self.cut:
            return data
        words = (len(data) - 24) // 8 // int.from_bytes(data[:8], sys.byteorder)
        at = 24 + 8 * words * self.opened.index(descriptor)
        return (1).to_bytes(8, sys.byteorder) + data[8:24] + data[at : at + 8 * words]

    def now_ns(self) -> int:
        return super().now_ns() + self.ahead


def test_a_cpu_that_goes_keeps_its_counts_and_one_that_comes_back_is_seen() -> None:
    cpu = max(os.sched_getaffinity(0))
    host = Plugged()
    host.online = str(cpu)
    tracer = TaskTracer(host, choose(host, cpu, SOFTWARE_COUNTERS, whole_cpus=True), [cpu])
    host.opened.clear()
    aggregate = SampleAggregator(tracer.choice, tracer.roots)
    program = ("import os, time\nos.sched_setaffinity(0, {int(os.environ['AT'])})\n"
               "while time.thread_time() < 0.05: time.sleep(0.0001)")
    spin = [sys.executable, "-S", "-c", program]
    environment = {**os.environ, "AT": str(cpu)}

    def seen(since: int) -> int:
        subprocess.run(spin, check=True, env=environment)  # noqa: S603 - ours
        for batch in tracer.take():
            aggregate.feed(batch)
        return aggregate.sums()[1] - since

    try:
        tracer.add_cpus()
        assert seen(0) > 0
        for unreadable in (HostError(errno.EIO, "online"), "damaged"):
            host.online, host.ahead = unreadable, host.ahead + 2_000_000_000
            assert seen(aggregate.sums()[1]) > 10_000_000, "without the list the CPUs stay as they are"
        host.cut = set(host.opened)
        host.online, host.ahead = "", host.ahead + 2_000_000_000
        for batch in tracer.take():
            aggregate.feed(batch)
        gone = aggregate.sums()[1]
        assert seen(gone) == 0, "nobody counts on a CPU that has gone"
        host.online, host.ahead = str(cpu), host.ahead + 2_000_000_000
        host.opened.clear()
        news = [records for batch in tracer.take() for records in batch]
        assert any(isinstance(record, CounterReopened) for ring in news for record in ring.records)
        aggregate.feed(news)
        assert seen(gone) > 10_000_000
        tracer.stop()
        for batch in tracer.take():
            aggregate.feed(batch)
        aggregate.close(tracer.final_readings())
    finally:
        tracer.close()
    assert aggregate.read is not None
    assert all(value >= 0 for value in aggregate.tail), "and no count falls"
    assert tuple(map(sum, zip(aggregate.sums(), aggregate.tail, strict=True))) == aggregate.read
