"""The plan: which CPU reads what from which source, and what is given up for lack of descriptors."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import FakeHost, FakeSource, column, counter, machine_of

from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.capabilities import Capabilities, probe_sources
from turbotui.sampling.plan import make_plan
from turbotui.sampling.selection import signals_of


def nothing(_cpu: int, _name: SignalId) -> None:
    """The value of what is only planned."""


def capabilities(host: FakeHost, *sources: FakeSource) -> Capabilities:
    return probe_sources(machine_of(host), sources)


def test_each_instance_is_read_once_by_the_cpu_its_pmu_names() -> None:
    host = FakeHost()
    source = FakeSource((counter("x"), counter("p", Scope.PACKAGE), counter("q", Scope.PACKAGE, readers=(1, 3)),
                         counter("s", Scope.SYSTEM)), nothing)
    plan = make_plan(machine_of(host), capabilities(host, source), frozenset("xpqs"))
    wanted = {cpu: {name for task in tasks for name in task.wanted} for cpu, tasks in plan.tasks.items()}
    assert wanted == {0: {"x", "p", "s"}, 1: {"x", "q"}, 2: {"x", "p"}, 3: {"x", "q"}}
    assert plan.signals() == frozenset("xpqs")


def test_constants_are_never_read() -> None:
    host = FakeHost()
    constant = replace(counter("c", Scope.SYSTEM, behavior=Behavior.CONSTANT), constant=7)
    plan = make_plan(machine_of(host), capabilities(host, FakeSource((constant,), nothing)), frozenset("c"))
    assert plan.signals() == frozenset()


@settings(deadline=None)  # the machine may be busy
@given(sizes=st.lists(st.integers(1, 40), min_size=1, max_size=6), limit=st.integers(0, 400))
def test_the_plan_keeps_within_the_descriptors_and_names_what_it_gave_up(sizes: list[int], limit: int) -> None:
    host = FakeHost()
    host.limit = limit
    sources = [FakeSource((counter(f"x{at}"),), nothing, id=f"s{at}", each=size) for at, size in enumerate(sizes)]
    plan = make_plan(machine_of(host), capabilities(host, *sources), frozenset(f"x{at}" for at in range(len(sizes))))
    assert plan.descriptors <= max(0, limit - 64)
    assert plan.signals() | plan.dropped.keys() == {f"x{at}" for at in range(len(sizes))}
    assert not plan.signals() & plan.dropped.keys()
    assert plan.descriptors == sum(4 * size for at, size in enumerate(sizes) if f"x{at}" in plan.signals())
    for why in plan.dropped.values():
        assert why.reason is Reason.NO_DESCRIPTORS
        assert why.remedy


HIDDEN = Unavailable(Reason.VIRTUALISED, "the hypervisor hides it")
DRIVER = Unavailable(Reason.NO_DRIVER, "no driver", "modprobe msr")
RIGHTS = Unavailable(Reason.NOT_PERMITTED, "not permitted", "sysctl kernel.perf_event_paranoid=0")
BARE = Unavailable(Reason.NO_HARDWARE, "not on this model")


@pytest.mark.parametrize(
    ("reasons", "shown"),
    [((HIDDEN, DRIVER), HIDDEN), ((BARE, DRIVER), DRIVER), ((RIGHTS, DRIVER), RIGHTS), ((BARE, HIDDEN), BARE),
     ((DRIVER, HIDDEN), DRIVER)],
)
def test_of_several_reasons_the_one_that_can_be_acted_on_is_shown(
    reasons: tuple[Unavailable, ...], shown: Unavailable
) -> None:
    sources = [FakeSource((), nothing, id=f"s{at}", absent={"x": why}) for at, why in enumerate(reasons)]
    assert capabilities(FakeHost(), *sources).why_missing("x") == shown


def test_the_first_source_that_works_provides_a_signal() -> None:
    host = FakeHost()
    refused = FakeSource((), nothing, id="first", absent={"x": RIGHTS})
    second, third = (FakeSource((counter("x"),), nothing, id=name) for name in ("second", "third"))
    result = capabilities(host, refused, second, third)
    assert result.provider["x"] is second
    assert "x" not in result.missing
    why = result.why_missing("the.signal")
    assert why.reason is Reason.NO_HARDWARE
    assert "the.signal" not in why.detail, "nobody but a developer knows it by that name"
    assert result.without({"x": BARE}).why_missing("x") is BARE
    assert "x" not in result.without({"x": BARE}).signals


def test_columns_want_what_they_need_and_the_times_that_scale_it() -> None:
    host = FakeHost()
    times = [counter(name) for name in ("on", "ran")]
    result = capabilities(host, FakeSource((counter("x", enabled="on", running="ran"), counter("y"), *times), nothing))
    assert signals_of([column("x", ("x",))], result) == {"x", "on", "ran"}
    assert signals_of([column("x/z", ("x", "z"))], result) == frozenset(), "a column without its needs reads nothing"


def test_counters_that_are_divided_by_each_other_are_read_side_by_side() -> None:
    host = FakeHost()
    names = ("clock-start", "perf-msr", "perf-cstate", "perf-power", "perf-hardware", "msr", "cpuidle", "clock-end")
    sources = [FakeSource((counter(name),), nothing, id=name) for name in names]
    plan = make_plan(machine_of(host), capabilities(host, *sources), frozenset(names))
    for tasks in plan.tasks.values():
        assert [task.source.id for task in tasks] == [
            "clock-start", "perf-msr", "perf-cstate", "msr", "perf-power", "perf-hardware", "cpuidle", "clock-end"]
