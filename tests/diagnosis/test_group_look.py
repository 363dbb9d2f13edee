"""The control group that used up its quota, from two readings of a simulated machine's files."""

from __future__ import annotations

import pytest

from turbotui.diagnosis.group_look import GroupLook
from turbotui.simulated import ManualClock, Strain, simulated_host


def looked(strain: Strain) -> GroupLook:
    clock = ManualClock(0)
    host = simulated_host("guest", clock)
    host.strain_by(strain)
    look = GroupLook(host)
    for _ in range(2):
        clock.advance(10.0)
        look.look()
    return look


def test_the_group_with_the_quota_is_named_with_what_it_lost() -> None:
    group = looked(Strain(quota=1.5, throttled=0.4)).throttled
    assert group is not None
    assert group.name == "/user.slice/user-1000.slice"
    assert group.percent == pytest.approx(40.0, abs=1.0)
    assert group.quota == 1.5
    assert group.stood == pytest.approx(0.2, abs=0.01)  # 4 of 10 periods a second, 50 ms each


def test_a_look_that_takes_long_divides_by_each_groups_own_time() -> None:
    clock = ManualClock(0)
    host = simulated_host("guest", clock)
    host.strain_by(Strain(quota=1.5, throttled=0.4, memory_some=0.4, memory_full=0.1))
    look = GroupLook(host)
    clock.advance(10.0)
    look.look()
    read_text = host.read_text

    def slowly(path: str) -> str:
        clock.advance(0.1)
        return read_text(path)

    clock.advance(10.0)
    host.read_text = slowly  # type: ignore[method-assign]
    look.look()
    group = look.throttled
    assert group is not None
    assert group.stood == pytest.approx(0.2, rel=0.03)
    assert look.pressed["memory"].percent == pytest.approx(40.0, rel=0.03)


def test_a_quota_that_is_never_used_up_is_no_group_s_trouble() -> None:
    assert looked(Strain(quota=1.5)).throttled is None
    assert looked(Strain()).throttled is None


def test_one_look_tells_nothing() -> None:
    look = GroupLook(simulated_host("guest", ManualClock(0)))
    assert not look.looked
    look.look()
    assert look.throttled is None


def test_the_innermost_group_that_waits_most_is_named_for_each_resource() -> None:
    groups = looked(Strain(memory_some=0.4, memory_full=0.1)).pressed
    assert groups["memory"].name == "/user.slice/user-1000.slice/session-2.scope"
    assert groups["memory"].percent == pytest.approx(40.0, abs=1.0)
    assert "io" not in looked(Strain()).pressed
