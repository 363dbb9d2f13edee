"""Deadlines, late and lost CPUs, hot-plug, changing columns, crashes: a sampler on a scripted machine."""

from __future__ import annotations

import errno
import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from moved_clock import frames_of
from scripted import FakeHost, FakeSource, capabilities_of, column, counter, machine_of

from turbotui.errors import InternalError
from turbotui.machine.host import HostError
from turbotui.quantities.scope import SYSTEM_ROW, Scope, cpu_row
from turbotui.quantities.signals import Raw, SignalId
from turbotui.quantities.unavailable import Reason
from turbotui.recording.averages import averaged
from turbotui.sampling.capabilities import probe_sources
from turbotui.sampling.frame import Frame
from turbotui.sampling.sampler import Sampler
from turbotui.sources.source import CpuGone

SHORT = 0.05
X = column("x", ("x",))


def moving(host: FakeHost) -> Callable[[int, SignalId], Raw]:
    """A counter that gains CPU + 1 in each second of the host's clock."""
    return lambda cpu, _name: (cpu + 1) * host.now


def tick(host: FakeHost, seconds: float = 1.0) -> Callable[[Frame], None]:
    """Advance the host's time between two ticks."""
    def act(_frame: Frame) -> None:
        host.now += round(seconds * 1e9)
    return act


def sampler_of(host: FakeHost, *sources: FakeSource, wanted: set[SignalId], interval: float = SHORT,
               cpus: frozenset[int] | None = None) -> Sampler:
    machine = machine_of(host, cpus)
    return Sampler(machine, probe_sources(machine, sources), frozenset(wanted), interval, cpus, clock=host.clock)


@settings(deadline=None)  # the machine may be busy
@given(deadline=st.floats(0, 1e6), interval=st.floats(0.05, 60), behind=st.floats(0, 600))
def test_a_tick_that_was_missed_is_skipped_and_counted_never_caught_up(
    deadline: float, interval: float, behind: float
) -> None:
    sampler = sampler_of(FakeHost(), wanted=set(), interval=interval)
    now = deadline + behind
    result = sampler._next_deadline(now, deadline)
    ticks = (result - deadline) / interval
    assert result > now
    assert result - now <= interval * (1 + 1e-6)
    assert math.isclose(ticks, round(ticks), abs_tol=1e-3), "deadlines stay on one grid"
    assert sampler._overruns == round(ticks) - 1


@pytest.mark.parametrize("pins", [True, False])
def test_rates_are_per_second_of_each_cpus_own_clock(pins: bool) -> None:
    host = FakeHost(pins=pins)
    source = FakeSource((counter("x"),), moving(host))
    frames = frames_of(sampler_of(host, source, wanted={"x"}), 3, tick(host, 2.0))
    assert [frame.seq for frame in frames] == [0, 1, 2, 3]
    assert frames[0].older is None
    for frame in frames[1:]:
        assert [frame.inputs(cpu_row(cpu)).rate("x") for cpu in range(4)] == [1e9, 2e9, 3e9, 4e9]
        assert frame.inputs(SYSTEM_ROW).rate("x") == 10e9
        assert frame.seconds == 2.0
    assert sorted(host.pinned) == ([0, 1, 2, 3] if pins else [])
    assert sorted(source.closed) == sorted(cpu for cpu, _wanted in source.opened) == [0, 1, 2, 3]


def test_a_worker_that_hangs_is_late_is_not_asked_again_and_comes_back() -> None:
    host = FakeHost()
    source = FakeSource((counter("x"),), moving(host))
    gate = host.clock.gate()

    def act(frame: Frame) -> None:
        host.now += 1_000_000_000
        if frame.seq == 0:
            source.gates[2] = gate
        if frame.seq == 3:
            del source.gates[2]
            gate.set()

    frames = frames_of(sampler_of(host, source, wanted={"x"}), 6, act)
    late = [frame for frame in frames if frame.newer.late]
    assert [frame.seq for frame in late][:3] == [1, 2, 3]
    for frame in late:
        assert frame.newer.late == {2}
        assert frame.cell(X, cpu_row(2)) is None
        why = frame.why(X, cpu_row(2))
        assert why is not None
        assert why.reason is Reason.LATE
        assert frame.cell(X, cpu_row(3)) == 4e9, "the others are not held up"
        assert frame.partial(X, SYSTEM_ROW)
    assert source.reads.count(2) == 1 + 1 + (len(frames) - 1 - len(late)), "never asked while it had not answered"
    assert frames[-1].cell(X, cpu_row(2)) == 3e9
    assert frames[-1].newer.late_total == len(late)
    assert frames[-1].newer.overruns > 0, "the first late tick took several ticks of 50 ms"


@pytest.mark.parametrize(("tries", "known"), [(2, True), (3, False)])
def test_a_read_that_was_interrupted_is_made_again_or_unknown_and_in_no_sum(tries: int, known: bool) -> None:
    """One read of CPU 1 loses its CPU for 0.3 s between `busy` and `tsc`, as often as it is made in one tick."""
    host = FakeHost(pins=False)  # one thread reads all CPUs, one after the other
    ratio = column("share", ("busy", "tsc"))
    left = [0]

    def script(cpu: int, name: SignalId) -> Raw:
        if name == "busy":
            host.now += 20_000
            return host.now // 4
        if cpu == 1 and left[0] > 0:
            left[0] -= 1
            host.now += 300_000_000
        return host.now

    def act(frame: Frame) -> None:
        host.now += 1_000_000_000
        left[0] = tries if frame.seq == 1 else 0

    source = FakeSource((counter("busy"), counter("tsc")), script)
    frames = frames_of(sampler_of(host, source, wanted={"busy", "tsc"}), 4, act)
    for frame in frames[1:]:
        clean = known or frame.seq not in (2, 3)
        shares = [frame.cell(ratio, cpu_row(cpu)) for cpu in range(4)]
        assert [shares[cpu] for cpu in (0, 2, 3)] == pytest.approx([25.0] * 3, rel=0.01)
        assert frame.cell(ratio, SYSTEM_ROW) == pytest.approx(25.0, rel=0.01), "what a row refuses is in no sum"
        assert frame.partial(ratio, SYSTEM_ROW) is not clean
        if clean:
            assert shares[1] == pytest.approx(25.0, rel=0.01)
            continue
        assert shares[1] is None
        why = frame.why(ratio, cpu_row(1))
        assert why is not None
        assert why.reason is Reason.INTERRUPTED
        assert "300 ms" in why.detail


@pytest.mark.parametrize(("tries", "known"), [(2, True), (3, False)])
def test_files_of_all_cpus_are_read_again_too(tries: int, known: bool) -> None:
    host = FakeHost(pins=False)
    left = [0]

    def script(cpu: int, _name: SignalId) -> Raw:
        host.now += 20_000
        if cpu == 1 and left[0] > 0:
            left[0] -= 1
            host.now += 300_000_000
        return host.now

    def act(frame: Frame) -> None:
        host.now += 1_000_000_000
        left[0] = tries if frame.seq == 1 else 0

    frames = frames_of(sampler_of(host, FakeSource((counter("x"),), script, shared=True), wanted={"x"}), 4, act)
    for frame in frames[1:]:
        clean = known or frame.seq not in (2, 3)
        for cpu in range(4):
            value, why = frame.cell(X, cpu_row(cpu)), frame.why(X, cpu_row(cpu))
            assert (value is not None) is clean
            assert clean or (why is not None and why.reason is Reason.INTERRUPTED and "every cpu" in why.detail)


def test_what_a_reader_could_not_add_up_is_unknown_then_and_in_every_interval_over_it() -> None:
    host = FakeHost(pins=False)
    source = FakeSource((counter("x"),), moving(host), shared=True)

    def act(frame: Frame) -> None:
        host.now += 1_000_000_000
        source.unsure = {"x": frozenset({1})} if frame.seq == 1 else {}

    frames = frames_of(sampler_of(host, source, wanted={"x"}), 5, act)[1:]
    for frame in frames:
        assert [frame.cell(X, cpu_row(cpu)) is None for cpu in range(4)] == [False, frame.seq == 2, False, False]
    why = frames[1].why(X, cpu_row(1))
    assert why is not None
    assert why.reason is Reason.WENT_BACK
    assert [delta is None for delta in averaged(frames).deltas("x")] == [False, True, False, False]


def test_late_files_of_all_cpus_are_late_not_failed() -> None:
    host = FakeHost()
    source = FakeSource((counter("x"),), moving(host), shared=True)
    gate = host.clock.gate()

    def act(frame: Frame) -> None:
        host.now += 1_000_000_000
        if frame.seq == 0:
            source.gates[-1] = gate
        else:
            gate.set()

    frames = frames_of(sampler_of(host, source, wanted={"x"}), 1, act)
    why = frames[1].why(X, cpu_row(0))
    assert why is not None
    assert (why.reason, why.detail) == (Reason.LATE, "fake source was not read in time")


def test_an_interval_that_was_asked_to_end_before_the_start_ends_at_once() -> None:
    sampler = sampler_of(FakeHost(), wanted=set(), interval=3600.0)
    sampler.end_interval()
    assert len(frames_of(sampler, 1)) == 2


def test_after_an_early_end_the_next_interval_has_its_full_length_from_there() -> None:
    host = FakeHost()
    sampler = sampler_of(host, wanted=set(), interval=1.0)
    times: list[float] = []

    def act(frame: Frame) -> None:
        times.append(host.clock.now())
        if frame.seq == 0:
            host.clock.call_later(0.3, sampler.end_interval)

    frames_of(sampler, 2, act)
    assert [round(time - times[0], 9) for time in times] == [0.0, 0.3, 1.3]


def test_an_interval_can_be_ended_early_again_and_again() -> None:
    host = FakeHost()
    source = FakeSource((counter("x"),), moving(host))
    sampler = sampler_of(host, source, wanted={"x"}, interval=3600.0)

    def act(_frame: Frame) -> None:
        host.now += 500_000_000
        sampler.end_interval()

    frames = frames_of(sampler, 3, act)
    assert [frame.seconds for frame in frames] == [None, 0.5, 0.5, 0.5]
    assert frames[-1].newer.overruns == 0


def test_a_new_interval_ends_the_one_under_way() -> None:
    host = FakeHost()
    sampler = sampler_of(host, FakeSource((counter("x"),), moving(host)), wanted={"x"}, interval=3600.0)
    frames = frames_of(sampler, 2, lambda frame: sampler.set_interval(SHORT) if frame.seq == 0 else None)
    assert len(frames) == 3
    assert sampler.interval == SHORT


def test_an_interval_that_is_changed_before_the_start_has_its_full_length() -> None:
    host = FakeHost()
    sampler = sampler_of(host, wanted=set(), interval=3600.0)
    sampler.set_interval(2.0)
    times: list[float] = []
    frames_of(sampler, 2, lambda _frame: times.append(host.clock.now()))
    assert [round(time - times[0], 9) for time in times] == [0.0, 2.0, 4.0]


def test_stop_publishes_the_interval_under_way_and_closes_everything() -> None:
    host = FakeHost()
    source = FakeSource((counter("x"),), moving(host))
    shared = FakeSource((counter("y"),), moving(host), id="file", shared=True)
    sampler = sampler_of(host, source, shared, wanted={"x", "y"}, interval=3600.0)

    def act(_frame: Frame) -> None:
        host.clock.call_later(1.0, sampler.stop)

    frames = frames_of(sampler, None, act)
    assert [frame.seq for frame in frames] == [0, 1]
    assert sorted(source.closed) == [0, 1, 2, 3]
    assert shared.closed == [-1]


def test_stop_before_the_start_and_in_a_first_tick_that_hangs_is_prompt() -> None:
    host = FakeHost()
    sampler = sampler_of(host, FakeSource((counter("x"),), moving(host)), wanted={"x"})
    sampler.stop()
    assert frames_of(sampler, None) == []
    gate = host.clock.gate()
    source = FakeSource((counter("x"),), moving(host), gates={1: gate})
    hanging = sampler_of(host, source, wanted={"x"}, interval=3600.0)
    began = host.clock.now()
    host.clock.call_later(1.0, hanging.stop)
    frames = frames_of(hanging, None)
    assert host.clock.now() - began < 2.0, "the first tick would wait 30 s for a worker that hangs"
    assert all(1 in frame.newer.late for frame in frames)
    gate.set()


def test_a_cpu_that_goes_and_comes_back_loses_and_regains_its_row() -> None:
    host = FakeHost()

    def value(cpu: int, _name: SignalId) -> Raw:
        if cpu not in host.online:
            raise CpuGone(f"cpu {cpu}")
        return (cpu + 1) * host.now

    source = FakeSource((counter("x"),), value, counts_from_open=True)

    def act(frame: Frame) -> None:
        host.now += 1_000_000_000
        if frame.seq == 1:
            host.online.discard(3)
        if frame.seq == 4:
            host.online.add(3)

    frames = frames_of(sampler_of(host, source, wanted={"x"}), 7, act)
    assert [frame.topology.cpus for frame in frames] == [(0, 1, 2, 3)] * 2 + [(0, 1, 2)] * 3 + [(0, 1, 2, 3)] * 3
    totals = [frame.cell(X, SYSTEM_ROW) for frame in frames]
    assert totals == [None, 10e9, 6e9, 6e9, 6e9, 6e9, 10e9, 10e9]
    # what it had done since its last reading is in no sum, and the next interval has nothing to do with it
    assert [frame.partial(X, SYSTEM_ROW) for frame in frames] == [False, False, True, False, False, True, False, False]
    lacking = frames[2].lacking(X, SYSTEM_ROW)
    assert lacking is not None
    assert lacking.reason is Reason.OFFLINE
    assert lacking.detail.startswith("a part is unknown, cpu 3: it went offline")
    assert not frames[2].partial(X, cpu_row(0))
    gone = frames[2].why(X, cpu_row(3))
    assert gone is not None
    assert gone.reason is Reason.OFFLINE
    back = frames[5].why(X, cpu_row(3))
    assert back is not None
    assert back.reason is Reason.FIRST_TICK
    assert sorted(source.closed) == sorted(cpu for cpu, _wanted in source.opened)


def test_a_cpu_that_was_away_between_two_ticks_is_opened_and_pinned_again() -> None:
    host = FakeHost()
    dead = {1}

    def value(cpu: int, _name: SignalId) -> Raw:
        if cpu in dead and host.now > 2_000_000_000:
            dead.discard(cpu)
            raise CpuGone(f"cpu {cpu}")
        return (cpu + 1) * host.now

    source = FakeSource((counter("x"),), value, counts_from_open=True)
    frames = frames_of(sampler_of(host, source, wanted={"x"}), 4, tick(host))
    lost = [frame for frame in frames if frame.newer.failed]
    assert [frame.newer.failed for frame in lost] == [{1}]
    why = lost[0].why(X, cpu_row(1))
    assert why is not None
    assert why.reason is Reason.OFFLINE
    assert [cpu for cpu, _wanted in source.opened].count(1) == 2
    assert host.pinned.count(1) == 2, "the kernel moves a thread whose CPU goes offline"
    assert frames[-1].cell(X, cpu_row(1)) == 2e9


def test_after_hot_plug_the_sources_say_again_who_reads_a_package() -> None:
    host = FakeHost()
    offer = [counter("e", Scope.PACKAGE, readers=(0, 2))]
    source = FakeSource(offer, moving(host))

    def act(frame: Frame) -> None:
        host.now += 1_000_000_000
        if frame.seq == 1:
            host.online.discard(0)
            offer[0] = counter("e", Scope.PACKAGE, readers=(1, 3))

    frames = frames_of(sampler_of(host, source, wanted={"e"}), 4, act)
    opened = [cpu for cpu, _wanted in source.opened]
    assert (set(opened[:2]), set(opened[2:])) == ({0, 2}, {1, 3})
    assert frames[-1].cell(column("e", ("e",), Scope.PACKAGE), SYSTEM_ROW) == 2e9 + 4e9


@pytest.mark.parametrize("adjustable", [True, False])
def test_wanting_other_columns_opens_and_closes_only_what_changed(adjustable: bool) -> None:
    host = FakeHost()
    first = FakeSource((counter("x"), counter("y")), moving(host), id="first", adjustable=adjustable,
                       counts_from_open=True)
    second = FakeSource((counter("z"),), moving(host), id="second")
    sampler = sampler_of(host, first, second, wanted={"x", "z"})

    def act(frame: Frame) -> None:
        host.now += 1_000_000_000
        if frame.seq == 1:
            sampler.want(frozenset({"x", "y"}))

    frames = frames_of(sampler, 4, act)
    assert len(second.opened) == len(second.closed) == 4, "nobody wanted z any longer"
    assert second.reads.count(0) == 2
    assert len(first.opened) == (4 if adjustable else 8)
    y = column("y", ("y",))
    assert frames[2].cell(X, cpu_row(0)) == (1e9 if adjustable else None), "a counter that began anew has no delta"
    assert frames[2].cell(y, cpu_row(0)) is None
    assert [frame.cell(y, cpu_row(0)) for frame in frames[3:]] == [1e9, 1e9]
    assert [frame.cell(X, cpu_row(0)) for frame in frames[3:]] == [1e9, 1e9]


def test_readers_are_closed_when_nothing_is_wanted_any_more() -> None:
    host = FakeHost()
    source = FakeSource((counter("x"),), moving(host))
    shared = FakeSource((counter("y"),), moving(host), id="file", shared=True)
    sampler = sampler_of(host, source, shared, wanted={"x", "y"})
    open_then: list[tuple[int, int]] = []

    def act(frame: Frame) -> None:
        host.now += 1_000_000_000
        if frame.seq == 0:
            sampler.want(frozenset())
        open_then.append((len(source.closed), len(shared.closed)))

    frames_of(sampler, 3, act)
    assert open_then == [(0, 0), (4, 1), (4, 1), (4, 1)]


def test_only_the_cpus_that_were_asked_for_are_measured() -> None:
    host = FakeHost()
    source = FakeSource((counter("x"), counter("e", Scope.PACKAGE)), moving(host))
    chosen = frozenset({1, 3})

    def act(frame: Frame) -> None:
        host.now += 1_000_000_000
        if frame.seq == 1:
            host.usable = frozenset({0, 1})

    frames = frames_of(sampler_of(host, source, wanted={"x", "e"}, cpus=chosen), 3, act)
    assert [frame.topology.cpus for frame in frames] == [(1, 3), (1, 3), (1,), (1,)]
    assert {cpu for cpu, _wanted in source.opened} == chosen
    assert frames[1].cell(X, SYSTEM_ROW) == 2e9 + 4e9
    assert frames[3].cell(X, SYSTEM_ROW) == 2e9


def test_cpus_that_leave_our_cpuset_lose_their_rows_and_the_others_are_pinned_again() -> None:
    host = FakeHost()
    source = FakeSource((counter("x"), counter("e", Scope.PACKAGE)), moving(host))

    def act(frame: Frame) -> None:
        host.now += 1_000_000_000
        if frame.seq == 1:
            host.usable = frozenset({0, 1, 3})
        if frame.seq == 3:
            host.usable = None

    frames = frames_of(sampler_of(host, source, wanted={"x", "e"}), 5, act)
    assert [frame.topology.cpus for frame in frames] == [(0, 1, 2, 3)] * 2 + [(0, 1, 3)] * 2 + [(0, 1, 2, 3)] * 2
    assert frames[3].cell(X, SYSTEM_ROW) == 1e9 + 2e9 + 4e9
    assert set(host.known_online) == {None, "0,1,2,3\n"}, "a look hands on the list that it has read"
    assert frames[5].cell(X, SYSTEM_ROW) == 1e9 + 2e9 + 3e9 + 4e9
    assert [host.pinned.count(cpu) for cpu in range(4)] == [3, 3, 2, 3], "whoever narrowed us may have moved them"


def test_when_every_cpu_asked_for_is_away_its_row_says_so_until_it_is_back() -> None:
    host = FakeHost()

    def value(cpu: int, _name: SignalId) -> Raw:
        if cpu not in host.online:
            raise CpuGone(f"cpu {cpu}")
        return host.now

    source = FakeSource((counter("x"),), value)

    def act(frame: Frame) -> None:
        host.now += 1_000_000_000
        if frame.seq == 1:
            host.online.discard(3)
        if frame.seq == 3:
            host.online.add(3)

    frames = frames_of(sampler_of(host, source, wanted={"x"}, cpus=frozenset({3})), 6, act)
    assert [frame.cell(X, cpu_row(3)) for frame in frames] == [None, 1e9, None, None, None, 1e9, 1e9]
    why = frames[2].why(X, cpu_row(3))
    assert why is not None
    assert why.reason is Reason.OFFLINE


def test_a_reading_that_fails_is_unknown_and_says_what_came_back() -> None:
    host = FakeHost()

    def value(cpu: int, _name: SignalId) -> Raw:
        if cpu == 1:
            raise HostError(errno.EIO, "register x")
        return host.now

    frames = frames_of(sampler_of(host, FakeSource((counter("x"),), value), wanted={"x"}), 1, tick(host))
    why = frames[1].why(X, cpu_row(1))
    assert why is not None
    assert why.reason is Reason.FAILED
    assert "Input/output error" in why.detail


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("at", [0, 2])
def test_a_source_that_breaks_its_contract_ends_the_sampler_with_one_error(shared: bool, at: int) -> None:
    host = FakeHost()
    ticks: list[Frame] = []

    def value(cpu: int, _name: SignalId) -> Raw:
        if len(ticks) == at:
            raise ValueError("nonsense in the file")
        return host.now

    source = FakeSource((counter("x"),), value, shared=shared)
    sampler = sampler_of(host, source, wanted={"x"})
    with pytest.raises(InternalError, match="failed unexpectedly: ValueError: nonsense in the file"):
        frames_of(sampler, 5, ticks.append)
    assert len(ticks) == at
    assert len(source.closed) == len(source.opened)


def test_descriptors_that_do_not_suffice_cost_columns_until_there_is_room_again() -> None:
    host = FakeHost()
    host.limit = 64 + 8
    small = FakeSource((counter("x"),), moving(host), id="small")
    large = FakeSource((counter("y"),), moving(host), id="large", each=2)
    sampler = sampler_of(host, small, large, wanted={"x", "y"})

    def act(frame: Frame) -> None:
        host.now += 1_000_000_000
        if frame.seq == 1:
            sampler.want(frozenset({"y"}))

    frames = frames_of(sampler, 3, act)
    y = column("y", ("y",))
    why = frames[1].why(y, cpu_row(0))
    assert why is not None
    assert why.reason is Reason.NO_DESCRIPTORS
    assert "ulimit" in why.remedy
    assert frames[1].cell(X, cpu_row(0)) == 1e9
    assert frames[3].cell(y, cpu_row(0)) == 1e9, "hiding other columns is the remedy that was named"


@pytest.mark.parametrize("pins", [True, False])
def test_a_counter_that_wraps_again_and_again_in_a_long_interval_is_looked_at_in_between(pins: bool) -> None:
    host = FakeHost(pins=pins)
    step = 3 * 2**30  # each reading finds the counter three quarters of a wrap further

    def value(cpu: int, _name: SignalId) -> Raw:
        return (2**32 - 5 + source.reads.count(cpu) * step) % 2**32

    source = FakeSource((counter("e", width_bits=32, wrap_seconds=0.02),), value)
    other = FakeSource((counter("x"),), moving(host), id="other")
    shared = FakeSource((counter("y"),), moving(host), id="file", shared=True)
    sampler = sampler_of(host, source, other, shared, wanted={"e", "x", "y"}, interval=3600.0)

    def enough() -> None:
        if all(source.reads.count(cpu) >= 4 for cpu in range(4)):
            sampler.end_interval()

    source.on_read = enough
    frames = frames_of(sampler, 1)
    assert len(frames) == 2, "wrap checks publish nothing"
    for untouched, readers in ((other, 4), (shared, 1)):
        assert len(untouched.reads) == 2 * readers, "what does not wrap is left alone"
        assert len(untouched.opened) == len(untouched.closed) == readers
    for cpu in range(4):
        readings = source.reads.count(cpu) - 1
        assert readings >= 4, "three checks and the tick: two wraps at least"
        assert frames[1].deltas("e")[cpu] == readings * step


def test_a_counter_that_wraps_while_it_is_hidden_is_right_when_it_is_shown_again() -> None:
    host = FakeHost()
    per_second = 2**31  # half a wrap

    def value(_cpu: int, _name: SignalId) -> Raw:
        return host.now * per_second // 10**9 % 2**32

    source = FakeSource((counter("e", width_bits=32, wrap_seconds=1.9), counter("x")), value)
    sampler = sampler_of(host, source, wanted={"e", "x"})
    hidden = range(2, 6)

    def act(frame: Frame) -> None:
        # long intervals while it is hidden: many wraps that nobody needs to see
        host.now += 777_000_000_000 if frame.seq in hidden else 1_500_000_000
        sampler.want(frozenset({"x"} if frame.seq + 1 in hidden else {"e", "x"}))

    frames = frames_of(sampler, 9, act)
    e = column("e", ("e",))
    shown = [frame.cell(e, cpu_row(0)) for frame in frames]
    assert shown[:2] == [None, 1.5 * per_second]
    assert shown[2:7] == [None] * 5, "no difference across the time in which it was not read"
    assert shown[7:] == [1.5 * per_second] * 3


def test_a_counter_not_looked_at_for_too_long_is_unknown_rather_than_wrong() -> None:
    host = FakeHost()
    source = FakeSource((counter("x", width_bits=32, wrap_seconds=60.0),), lambda _cpu, _name: host.now // 15 % 2**32)
    frames = frames_of(sampler_of(host, source, wanted={"x"}), 3,
                       lambda frame: tick(host, 300.0 if frame.seq == 1 else 1.0)(frame))
    assert [frame.cell(X, cpu_row(0)) for frame in frames] == [None, 66_666_667, None, 66_666_667]
    why = frames[2].why(X, cpu_row(0))
    assert why is not None
    assert why.reason is Reason.OUT_OF_RANGE


def test_a_machine_without_signals_still_has_rows() -> None:
    host = FakeHost()
    machine = machine_of(host)
    sampler = Sampler(machine, capabilities_of(), frozenset(), SHORT, clock=host.clock)
    frames = frames_of(sampler, 1)
    assert frames[1].rows(Scope.CPU) == tuple(cpu_row(cpu) for cpu in range(4))
