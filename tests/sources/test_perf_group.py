from __future__ import annotations

import errno

import pytest
from fakehost import FakeHost
from hypothesis import given
from hypothesis import strategies as st

from turbotui.machine.host import HostError, PerfAttr
from turbotui.sources.perf_group import GroupEvent, PerfGroupReader, Times
from turbotui.sources.source import CpuGone

A, B, C = (GroupEvent(name, PerfAttr(9, config), f"perf x/{name}/") for config, name in enumerate("abc"))
OTHER = GroupEvent("other", PerfAttr(10, 0), "perf y/other/")
ABC = frozenset("abc")


def host(**more: object) -> FakeHost:
    made = FakeHost(counters={(9, 0): 100.0, (9, 1): 200.0, (9, 2): 300.0, (10, 0): 7.0})
    for name, value in more.items():
        setattr(made, name, value)
    return made


def test_one_read_gives_the_whole_group() -> None:
    fake = host()
    reader = PerfGroupReader(fake, 1, [[A, B, C]], ABC)
    assert reader.signals == ("a", "b", "c")
    assert list(reader.read()) == [0, 0, 0]
    fake.advance(2)
    assert list(reader.read()) == [200, 400, 600]
    assert fake.opens == [(1, 9, 0), (1, 9, 1), (1, 9, 2)]
    reader.close()
    assert fake.open == {}


def test_everything_is_open_though_one_is_wanted_and_the_rest_continues_counting() -> None:
    fake = host()
    reader = PerfGroupReader(fake, 0, [[A, B, C]], frozenset("b"))
    assert [*reader.signals] == ["b"]
    fake.advance(1)
    assert list(reader.read()) == [200]
    assert reader.choose(frozenset("ac"))
    assert [*reader.signals] == ["a", "c"]
    fake.advance(1)
    assert list(reader.read()) == [200, 600]
    assert len(fake.opens) == 3


def test_a_choice_of_what_is_not_open_changes_nothing() -> None:
    reader = PerfGroupReader(host(), 0, [[A]], frozenset("a"))
    assert not reader.choose(frozenset({"a", "z"}))
    assert reader.signals == ("a",)


def test_a_sibling_that_cannot_join_counts_alone() -> None:
    fake = host(lonely={(9, 1)})
    reader = PerfGroupReader(fake, 0, [[A, B, C]], ABC)
    fake.advance(1)
    assert dict(zip(reader.signals, reader.read(), strict=True)) == {"a": 100, "b": 200, "c": 300}
    reader.close()
    assert fake.open == {}


def test_pmus_are_never_mixed_in_a_group() -> None:
    fake = host()
    reader = PerfGroupReader(fake, 0, [[A, OTHER, B]], frozenset({"a", "b", "other"}))
    fake.advance(1)
    assert dict(zip(reader.signals, reader.read(), strict=True)) == {"a": 100, "other": 7, "b": 200}
    groups = sorted(len(held.members) for held in fake.open.values() if held.members)  # type: ignore[union-attr]
    assert groups == [1, 2]


def test_a_refused_leader_leaves_its_place_to_the_next() -> None:
    fake = host(counters={(9, 0): -errno.EINVAL, (9, 1): 200.0, (9, 2): 300.0})
    reader = PerfGroupReader(fake, 0, [[A, B, C]], ABC)
    fake.advance(1)
    assert dict(zip(reader.signals, reader.read(), strict=True)) == {"b": 200, "c": 300, "a": None}


def test_nothing_wanted_opens_is_the_kernels_error() -> None:
    fake = host(counters={(9, 0): -errno.EACCES})
    with pytest.raises(HostError) as caught:
        PerfGroupReader(fake, 0, [[A]], frozenset("a"))
    assert caught.value.errno == errno.EACCES
    assert fake.open == {}


def test_a_refusal_that_goes_on_keeps_no_frames_of_earlier_readings() -> None:
    """An exception that is raised again adds to its traceback: one for each reading, as long as a PMU is held."""
    reader = PerfGroupReader(host(counters={(9, 0): -errno.EBUSY}), 0, [[A]], frozenset("a"))
    passed = []
    for _ in range(3):
        with pytest.raises(HostError) as caught:
            reader.read()
        passed.append(len(caught.traceback))
    assert passed == [2, 2, 2]


def test_no_descriptor_left_costs_only_what_did_not_fit() -> None:
    fake = host(limit=2)
    reader = PerfGroupReader(fake, 0, [[A, B, C]], ABC)
    fake.advance(1)
    assert dict(zip(reader.signals, reader.read(), strict=True)) == {"a": 100, "b": 200, "c": None}


def test_times_are_those_of_their_group() -> None:
    fake = host(running=0.25)
    times = Times("on", "ran")
    reader = PerfGroupReader(fake, 0, [[A], [B]], frozenset({"a", "b", "on", "ran"}), {1: times})
    fake.advance(4)
    assert dict(zip(reader.signals, reader.read(), strict=True)) == {
        "a": 100,
        "b": 200,
        "on": 4_000_000_000,
        "ran": 1_000_000_000,
    }


def test_a_sibling_of_a_timed_group_does_not_leave_it() -> None:
    fake = host(lonely={(9, 1)})
    reader = PerfGroupReader(fake, 0, [[A, B]], frozenset("ab"), {0: Times("on", "ran")})
    fake.advance(1)
    assert dict(zip(reader.signals, reader.read(), strict=True)) == {"a": 100, "b": None}


def test_opening_on_an_offline_cpu_closes_what_was_open() -> None:
    fake = host(lonely={(9, 1)})
    fake.dead[3] = 0
    with pytest.raises(CpuGone):
        PerfGroupReader(fake, 3, [[A, B]], frozenset("ab"))
    assert fake.open == {}


def test_counts_that_stand_still_on_an_offline_cpu_are_not_zeros() -> None:
    fake = host()
    reader = PerfGroupReader(fake, 1, [[A]], frozenset("a"))
    fake.advance(1)
    reader.read()
    fake.kill(1)
    fake.advance(1)
    with pytest.raises(CpuGone):
        reader.read()


def test_a_cpu_that_went_in_the_middle_of_an_interval_gives_no_part_of_it() -> None:
    fake = host()
    reader = PerfGroupReader(fake, 1, [[A]], frozenset("a"))
    fake.advance(1)
    reader.read()
    fake.advance(0.3)
    fake.kill(1)
    fake.advance(0.7)
    with pytest.raises(CpuGone):
        reader.read()


@given(st.lists(st.tuples(st.floats(0, 0.2), st.floats(0, 0.2)), min_size=1, max_size=6))
def test_a_reader_that_is_held_up_is_not_taken_for_a_dead_cpu(delays: list[tuple[float, float]]) -> None:
    class Slow(FakeHost):
        def read_counter(self, descriptor: int, size: int) -> bytes:
            before, after = pending.pop(0)
            self.advance(before)
            data = super().read_counter(descriptor, size)
            self.advance(after)
            return data

    pending = list(delays)
    fake = Slow(counters={(9, 0): 100.0})
    reader = PerfGroupReader(fake, 1, [[A]], frozenset("a"))
    for _ in delays:
        fake.advance(0.05)
        assert reader.read()[0] is not None


def test_two_reads_at_one_instant_are_fine_while_the_cpu_is_there() -> None:
    fake = host()
    reader = PerfGroupReader(fake, 1, [[A]], frozenset("a"))
    fake.advance(1)
    assert list(reader.read()) == list(reader.read()) == [100]


@pytest.mark.parametrize("number", [errno.ENODEV, errno.ENXIO])
def test_a_device_that_is_gone_is_a_cpu_that_is_gone(number: int) -> None:
    fake = host()
    reader = PerfGroupReader(fake, 0, [[A]], frozenset("a"))
    fake.read_error = number
    with pytest.raises(CpuGone):
        reader.read()


def test_end_of_file_is_a_counter_that_is_gone() -> None:
    fake = host()
    reader = PerfGroupReader(fake, 0, [[A]], frozenset("a"))
    fake.truncate = 0
    with pytest.raises(CpuGone):
        reader.read()


def test_a_group_that_the_kernel_took_apart_is_gone() -> None:
    fake = host()
    reader = PerfGroupReader(fake, 0, [[A, B]], frozenset("ab"))
    leader = fake.open[3]
    leader.members.remove(4)  # type: ignore[union-attr]
    with pytest.raises(CpuGone):
        reader.read()


def test_another_read_error_loses_one_reading_only() -> None:
    fake = host()
    reader = PerfGroupReader(fake, 0, [[A]], frozenset("a"))
    fake.read_error = errno.EIO
    assert list(reader.read()) == [None]
    fake.read_error = 0
    assert list(reader.read()) == [0]


@given(st.lists(st.sampled_from([A, B, C, OTHER]), unique=True, min_size=1), st.sets(st.sampled_from([(9, 1), (9, 2)])))
def test_every_signal_has_its_own_counter_however_the_groups_fall(
    events: list[GroupEvent], lonely: set[tuple[int, int]]
) -> None:
    fake = host(lonely=lonely)
    reader = PerfGroupReader(fake, 0, [events], frozenset(event.signal for event in events))
    fake.advance(10)
    rates = {"a": 1000, "b": 2000, "c": 3000, "other": 70}
    assert dict(zip(reader.signals, reader.read(), strict=True)) == {
        event.signal: rates[event.signal] for event in events
    }
    reader.close()
    assert fake.open == {}
