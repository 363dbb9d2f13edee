"""Encoded strings opened on the machine that runs the tests; missing features are skipped with the reason."""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE

from turbotui.events.encoded import EncodedEvent
from turbotui.events.encoder import EventEncoder
from turbotui.events.engines import OwnEngine
from turbotui.events.listing import opens, own_listing
from turbotui.machine import perf_abi
from turbotui.machine.host import HostError
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.machine.perf_errors import circumstances

pytestmark = pytest.mark.real
PID_CGROUP = 4  # PERF_FLAG_PID_CGROUP, uapi linux/perf_event.h


@pytest.fixture(scope="module")
def host() -> LinuxHost:
    linux_host = LinuxHost()
    try:
        linux_host.close(linux_host.perf_event_open(EventEncoder(linux_host).encode("dummy")[0].attr, -1, 0, -1))
    except HostError as error:
        pytest.skip(f"counting a whole CPU is refused here: {error}")
    return linux_host


@pytest.fixture(scope="module")
def encoder(host: LinuxHost) -> EventEncoder:
    return EventEncoder(host)


def counts(host: LinuxHost, events: tuple[EncodedEvent, ...], pid: int, cpu: int) -> tuple[list[int], list[int]]:
    """Counts of one group before and after some work."""
    opened: list[int] = []
    try:
        for event in events:
            opened.append(host.perf_event_open(event.attr, pid, cpu, opened[0] if opened else -1))
        reads = []
        for _ in range(2):
            words = struct.unpack(f"<{3 + len(events)}Q", host.read_counter(opened[0], 4096))
            assert words[0] == len(events)
            reads.append(list(words[3:]))
            sum(range(200_000))
            os.sched_yield()
        return reads[0], reads[1]
    finally:
        for descriptor in reversed(opened):
            host.close(descriptor)


def test_the_tsc_advances(host: LinuxHost, encoder: EventEncoder) -> None:
    if "msr" not in encoder.devices.names:
        pytest.skip("this machine has no msr PMU")
    before, after = counts(host, encoder.encode("msr/tsc/"), -1, 0)
    assert after[0] > before[0] > 0


def test_a_group_is_read_at_once_per_cpu_and_per_task(host: LinuxHost, encoder: EventEncoder) -> None:
    group = encoder.encode("{cpu-clock,task-clock,cs,faults}")
    for pid, cpu in ((-1, 0), (0, -1)):
        before, after = counts(host, group, pid, cpu)
        assert after[0] > before[0]


def test_user_mode_alone_sees_no_context_switch(host: LinuxHost, encoder: EventEncoder) -> None:
    # docs/specs/perf.md 8: the switch happens in kernel mode
    _, after = counts(host, encoder.encode("cs:u"), 0, -1)
    assert after == [0]


def test_a_breakpoint_counts_every_write(host: LinuxHost, encoder: EventEncoder) -> None:
    page = mmap.mmap(-1, 4096)
    place = ctypes.c_uint64.from_buffer(page)
    (event,) = encoder.encode(f"mem:{ctypes.addressof(place):#x}/8:w:u")
    try:
        opened = host.perf_event_open(event.attr, 0, -1, -1)
    except HostError as error:
        pytest.skip(f"no hardware breakpoint here: {error}")
    for number in range(100):
        place.value = number
    result = struct.unpack("<4Q", host.read_counter(opened, 64))[3]
    host.close(opened)
    assert result == 100
    del place
    page.close()


def test_a_tracepoint_counts(host: LinuxHost, encoder: EventEncoder) -> None:
    if not host.exists("/sys/kernel/tracing/events/sched/sched_switch/id"):
        pytest.skip("tracefs is not mounted, or this user may not read it")
    (event,) = encoder.encode("sched:sched_switch")
    (other,) = encoder.encode(f"2:{event.attr.config}")
    assert other.attr == event.attr
    opened = host.perf_event_open(event.attr, -1, 0, -1)
    assert len(host.read_counter(opened, 64)) == 32
    host.close(opened)


def test_a_cgroup_is_counted(host: LinuxHost, encoder: EventEncoder) -> None:
    folder = next((path for path in ("/sys/fs/cgroup/perf_event", "/sys/fs/cgroup/unified", "/sys/fs/cgroup")
                   if Path(path, "cgroup.procs").exists()), None)  # fmt: skip
    if folder is None:
        pytest.skip("no cgroup hierarchy is mounted")
    group = os.open(folder, os.O_RDONLY)
    structure = perf_abi.structure_of(encoder.encode("cpu-clock")[0].attr)
    libc = ctypes.CDLL(None, use_errno=True)
    number = perf_abi.syscall_number(os.uname().machine, ctypes.sizeof(ctypes.c_void_p))
    opened = libc.syscall(number, ctypes.byref(structure), group, 0, -1, ctypes.c_ulong(PID_CGROUP | 8))
    failure = ctypes.get_errno()
    os.close(group)
    if opened < 0:
        pytest.skip(f"this kernel counts no cgroup of {folder}: {os.strerror(failure)}")
    assert len(os.read(opened, 64)) == 32
    os.close(opened)


EXHAUST = """
import resource, sys
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (24, hard))
from turbotui.events.encoder import EventEncoder
from turbotui.machine.host import HostError
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.machine.perf_errors import circumstances, explain_perf
host = LinuxHost()
(event,) = EventEncoder(host).encode("dummy")
facts = circumstances(read_machine(host))
for number in range(100):
    try:
        host.perf_event_open(event.attr, -1, 0, -1)
    except HostError as error:
        print(error.name, number, explain_perf(error, "perf dummy", facts, 1).sentence())
        break
"""


def test_too_many_descriptors_have_a_reason(host: LinuxHost) -> None:
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", EXHAUST], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    name, number, sentence = done.stdout.strip().split(" ", 2)
    assert name == "EMFILE", done.stderr[-300:]
    assert 0 < int(number) < 24
    assert "limit 24" in sentence
    assert "ulimit -n" in sentence


def test_every_listed_name_encodes_and_says_whether_it_opens(host: LinuxHost) -> None:
    engine = OwnEngine(EventEncoder(host))
    machine = read_machine(host)
    facts, cpus = circumstances(machine), tuple(machine.topology.cpus)
    states = {event.name: opens(host, engine, event, facts, cpus) for event in own_listing(engine)}
    assert states["dummy"] is None
    for name, state in states.items():
        assert state is None or len(state.sentence()) > 10, name
    if not facts.core_pmu:
        refused = states["cpu-cycles"]
        assert refused is not None
        assert "no core PMU" in refused.sentence()
