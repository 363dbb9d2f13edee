"""The clock at moments: which CPUs are timed, what each reading says, and machines that cannot tell it."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from fakehost import FakeHost, machine

from turbotui.machine.code.chains import X86
from turbotui.machine.cpu_times import PATH
from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.host import HostError, HostKind
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import Machine
from turbotui.quantities.clock_moments import CLOCK, COUNT, ERROR, KEPT, SPREAD, VERDICT, MomentVerdict
from turbotui.quantities.signals import Raw, Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.session import Session
from turbotui.simulated.host import made_stamps
from turbotui.sources import SOURCES
from turbotui.sources.core_clock import CoreClock, clock_now
from turbotui.sources.source import Momentary

GUEST = CpuModel(architecture="x86_64", vendor="AuthenticAMD", family=26, model=2, hypervisor=True,
                 flags=frozenset({"sse4_2"}))
WANTED = frozenset({CLOCK, VERDICT, COUNT, SPREAD, ERROR})


@dataclass
class Timed(FakeHost):
    """A fake machine whose cores have a clock.

    Attributes:
        hertz: clocks of the coming moments; the last one stays.
        latencies: cycles of a multiplication and of CRC32C.
        runs_on: the CPU before and after a moment.
        error: errno of executing anything, 0 for none.
        moments: how many were timed.
    """

    hertz: Sequence[float] = (4e9,)
    latencies: tuple[float, float] = (3, 3)
    runs_on: tuple[int, int] = (0, 0)
    error: int = 0
    moments: int = 0

    pins = True

    def __post_init__(self) -> None:
        self.work(0)

    def work(self, busy: int, idle: int = 100) -> None:
        """Let 10 ms pass so often, on CPU 0 at work, on CPU 1 idle."""
        self.advance(0.01 * (busy + idle))
        used, unused = getattr(self, "_ticks", (0, 0))
        self._ticks = used + busy, unused + idle
        self.files["/proc/stat"] = (f"cpu 0 0 0 0 0 0 0 0 0 0\ncpu0 {self._ticks[0]} 0 0 {self._ticks[1]} 0 0 0 0 0 0\n"
                                    f"cpu1 0 0 0 {sum(self._ticks)} 0 0 0 0 0 0\n")

    def time_chains(self, cpu: int) -> tuple[int, Sequence[int], int]:
        if self.error:
            raise HostError(self.error, "chains of instructions")
        self.moments += 1
        hertz, self.hertz = self.hertz[0], self.hertz[1:] or self.hertz
        return self.runs_on[0], made_stamps(X86, hertz, self.latencies), self.runs_on[1]


def read(reader: object) -> dict[str, Raw]:
    return dict(zip(reader.signals, reader.read(), strict=True))  # type: ignore[attr-defined]


def opened(host: FakeHost, cpu: int = 0, source: CoreClock | None = None) -> object:
    return (source or CoreClock()).open(machine(host, GUEST), cpu, WANTED)


def verdict(values: dict[str, Raw]) -> MomentVerdict:
    return MomentVerdict(values[VERDICT])


def test_a_busy_cpu_is_timed_and_an_idle_one_is_not() -> None:
    host, source = Timed(), CoreClock()
    reader, idle = opened(host, 0, source), opened(host, 1, source)
    assert [verdict(read(item)) for item in (reader, idle)] == [MomentVerdict.FIRST] * 2
    host.work(100, 0)
    values = read(reader)
    assert values[CLOCK] == pytest.approx(4e9, rel=1e-3)
    assert (verdict(values), values[COUNT], values[SPREAD]) == (MomentVerdict.KNOWN, 1, 0)
    assert values[ERROR] == pytest.approx(24_187, abs=1)  # ppm
    timed = host.moments
    assert read(idle) == {CLOCK: 0, VERDICT: MomentVerdict.IDLE.value, COUNT: 0, SPREAD: 0, ERROR: 0}
    assert host.moments == timed


@pytest.mark.parametrize(("busy", "known"), [(4, MomentVerdict.IDLE), (5, MomentVerdict.KNOWN)])
def test_a_cpu_is_timed_from_five_percent_on(busy: int, known: MomentVerdict) -> None:
    host = Timed()
    reader = opened(host)
    read(reader)
    host.work(busy, 100 - busy)
    assert verdict(read(reader)) is known


def test_where_the_times_of_cpus_cannot_be_read_that_is_the_reason() -> None:
    host = Timed()
    reader = opened(host)
    read(reader)
    del host.files[PATH]
    host.advance(1.0)
    values = read(reader)
    assert (values[CLOCK], values[COUNT], verdict(values)) == (None, 0, MomentVerdict.UNREAD)
    host.work(100, 0)
    assert verdict(read(reader)) is MomentVerdict.FIRST, "the busy time since then is not known"
    host.work(100, 0)
    assert verdict(read(reader)) is MomentVerdict.KNOWN


def test_cpus_of_a_tick_share_one_reading_of_one_open_file() -> None:
    class Counting(Timed):
        reads = 0

        def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
            self.reads += 1
            return super().read_at(descriptor, size, offset)

    host, source = Counting(), CoreClock()
    readers = [opened(host, cpu, source) for cpu in (0, 1)]
    for tick in (1, 2):
        host.work(100)
        for reader in readers:
            read(reader)
        assert (host.reads, len(host.open)) == (tick, 1)
    readers[0].close()  # type: ignore[attr-defined]
    host.work(100, 0)
    assert verdict(read(readers[1])) is MomentVerdict.IDLE
    readers[1].close()  # type: ignore[attr-defined]
    assert not host.open


def test_the_closer_look_is_of_one_session_alone() -> None:
    clock, other = CoreClock().own(), CoreClock().own()
    clock.look_often(None)
    assert (clock.looks_often_at(0), other.looks_often_at(0)) == (True, False)
    (shared,) = (source for source in SOURCES if isinstance(source, CoreClock))
    first, second = (Session(machine(Timed(), GUEST), (shared,), 1.0, FakeHost()) for _ in range(2))
    first.look_often(None)
    own = [next(source for source in session.capabilities.sources if isinstance(source, CoreClock))
           for session in (first, second)]
    assert [core_clock.looks_often_at(0) for core_clock in (*own, shared)] == [True, False, False]


def test_between_two_ticks_of_the_kernel_the_last_share_holds() -> None:
    host = Timed()
    reader = opened(host)
    read(reader)
    host.work(100, 0)
    read(reader)
    host.advance(0.06)  # no row of /proc/stat has moved
    assert verdict(read(reader)) is MomentVerdict.KNOWN


@pytest.mark.parametrize(("latencies", "runs_on", "expected"), [
    ((3, 230), (0, 0), MomentVerdict.EMULATED),
    ((2.5, 3), (0, 0), MomentVerdict.DISTURBED),
    ((7, 7), (0, 0), MomentVerdict.UNKNOWN_CORE),
    ((3, 3), (0, 1), MomentVerdict.MIGRATED),
    ((3, 3), (1, 1), MomentVerdict.MIGRATED),
])
def test_what_is_refused_has_no_clock_and_a_reason(latencies: tuple[float, float], runs_on: tuple[int, int],
                                                   expected: MomentVerdict) -> None:
    host = Timed(latencies=latencies, runs_on=runs_on)
    reader = opened(host)
    read(reader)
    host.work(100, 0)
    values = read(reader)
    assert (values[CLOCK], values[ERROR], values[COUNT], verdict(values)) == (None, None, 0, expected)


def test_a_disturbed_moment_is_tried_again() -> None:
    class Once(Timed):
        def time_chains(self, cpu: int) -> tuple[int, Sequence[int], int]:
            self.latencies = (2.5, 3) if self.moments == 0 else (3, 3)
            return super().time_chains(cpu)

    host = Once()
    reader = opened(host)
    read(reader)
    host.work(100, 0)
    assert read(reader)[CLOCK] == pytest.approx(4e9, rel=1e-3)


def test_ten_moments_where_many_are_asked_for_and_their_spread() -> None:
    clocks = [4e9, 3.6e9]
    host, source = Timed(hertz=clocks * 20), CoreClock()
    reader = opened(host, 0, source)
    assert isinstance(reader, Momentary)
    source.look_often({0})
    read(reader)
    assert reader.pause is None  # nothing is known of the CPU yet
    host.work(100, 0)
    first = read(reader)
    assert (first[COUNT], first[SPREAD]) == (1, 0)
    assert reader.pause == pytest.approx(0.1)
    for _ in range(9):
        reader.look()
    host.work(100, 0)
    values = read(reader)
    assert values[COUNT] == KEPT
    assert values[CLOCK] == pytest.approx(3.8e9, rel=1e-3)
    assert values[SPREAD] == pytest.approx(0.2e9 / 3.8e9 * 1e6, rel=0.01)
    source.look_often(())
    host.work(100, 0)
    assert read(reader)[COUNT] == 1
    assert reader.pause is None


def test_a_cpu_that_falls_idle_is_not_looked_at_any_more() -> None:
    host, source = Timed(), CoreClock()
    source.look_often(None)
    reader = opened(host, 0, source)
    read(reader)
    host.work(100, 0)
    read(reader)
    host.work(0)
    assert verdict(read(reader)) is MomentVerdict.IDLE
    assert reader.pause is None  # type: ignore[attr-defined]


def test_a_machine_without_cpus_to_pin_to_gives_all_moments_at_once() -> None:
    host, source = Timed(), CoreClock()
    host.pins = False
    source.look_often(None)
    reader = opened(host, 0, source)
    read(reader)
    host.work(100, 0)
    assert read(reader)[COUNT] == KEPT
    assert reader.pause is None  # type: ignore[attr-defined]


def test_only_what_is_wanted_is_returned_and_moments_are_kept_when_that_changes() -> None:
    host = Timed()
    reader = opened(host)
    for _ in range(KEPT + 1):
        read(reader)
        host.work(100, 0)
    assert reader.choose(frozenset({SPREAD}))  # type: ignore[attr-defined]
    assert read(reader) == {SPREAD: 1}  # known, and next to nothing: 0 says that fewer than ten are known


def probed(here: Machine) -> Signal | Unavailable:
    return CoreClock().probe(here).signals[CLOCK]


def test_machines_that_can() -> None:
    assert isinstance(probed(machine(Timed(), GUEST)), Signal)


@pytest.mark.parametrize(
    ("host", "model", "reason"),
    [
        (FakeHost(), GUEST, Reason.NO_HARDWARE),
        (Timed(), replace(GUEST, flags=frozenset()), Reason.NO_HARDWARE),
        (Timed(), replace(GUEST, architecture="riscv64"), Reason.NO_HARDWARE),
        (Timed(error=errno.EACCES), GUEST, Reason.NOT_PERMITTED),
        (Timed(error=errno.ENOSYS), GUEST, Reason.NO_HARDWARE),
        (Timed(latencies=(3, 230)), GUEST, Reason.VIRTUALISED),
        (Timed(latencies=(7, 7)), GUEST, Reason.UNKNOWN_MODEL),
    ],
)
def test_machines_that_cannot(host: FakeHost, model: CpuModel, reason: Reason) -> None:
    result = probed(machine(host, model))
    assert isinstance(result, Unavailable)
    assert result.reason is reason


def test_a_machine_that_does_not_tell_busy_cpus_wakes_none() -> None:
    host = Timed()
    del host.files["/proc/stat"]
    result = probed(machine(host, GUEST))
    assert isinstance(result, Unavailable)
    assert result.reason is Reason.FAILED
    assert host.moments == 0


@pytest.mark.parametrize("renumbered", [False, True])
def test_a_real_machine_whose_threads_cannot_choose_their_cpu(renumbered: bool) -> None:
    host = Timed()
    host.pins, host.kind = False, HostKind.REAL
    here = machine(host, GUEST)
    result = probed(replace(here, privileges=replace(here.privileges, renumbered=renumbered)))
    assert isinstance(result, Unavailable)
    assert host.moments == 0


def test_a_copy_of_files_executes_nothing(tmp_path: object) -> None:
    result = probed(replace(machine(FakeHost(), GUEST), host=LinuxHost(str(tmp_path))))
    assert isinstance(result, Unavailable)
    assert result.reason is Reason.RECORDED
    with pytest.raises(HostError):
        LinuxHost(str(tmp_path)).time_chains(0)


def test_the_clock_of_now_is_the_mean_of_ten_moments() -> None:
    host = Timed(hertz=[4e9, 3e9] * 10)
    host.pin_this_thread = lambda cpus: None  # type: ignore[method-assign]
    host.pins = False
    assert clock_now(machine(host, GUEST), 0) == pytest.approx(3.5e9, rel=0.04)  # probing takes one
    assert clock_now(machine(FakeHost(), GUEST), 0) is None
    assert clock_now(machine(Timed(latencies=(3, 230)), GUEST), 0) is None


@pytest.mark.real
def test_this_machine_tells_its_clock_or_why_not() -> None:
    host = LinuxHost()
    result = probed(replace(machine(FakeHost(), GUEST), host=host))
    if isinstance(result, Unavailable):
        assert result.detail
        return
    before, stamps, after = host.time_chains(0)
    assert len(stamps) == 20
    assert list(stamps) == sorted(stamps)
    assert min(before, after) >= 0
