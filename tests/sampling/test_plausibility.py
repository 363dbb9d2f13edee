"""Impossible readings are unknown, with the evidence, if a rule knows which is wrong, and marked otherwise."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from moved_clock import frames_of
from scripted import FakeHost, FakeSource, capabilities_of, column, counter, machine_of, place, snapshot

from turbotui.features.doctor.model import diagnose
from turbotui.machine.host import HostKind
from turbotui.machine.topology import Topology, topology_of
from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope, cpu_row
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal
from turbotui.quantities.unavailable import Reason
from turbotui.quantities.units import Unit
from turbotui.sampling.capabilities import Capabilities, probe_sources
from turbotui.sampling.disagreement import _beyond
from turbotui.sampling.frame import Frame
from turbotui.sampling.liveness import MUST_MOVE, STILL_SECONDS, Liveness
from turbotui.sampling.sampler import Sampler
from turbotui.sampling.selection import compared_with
from turbotui.tables.frame_formats import make_frame_format
from turbotui.tables.layout import Layout
from turbotui.widgets.explanation import explanation
from turbotui.widgets.frame_rows import FrameContent

SECOND = 1_000_000_000
TICKS = 2_000_000_000  # of the TSC in a second
SMT = topology_of([place(0, core=0), place(1, core=0), place(2, 1, core=0), place(3, 1, core=0)])
"""Two packages of one core each, with two threads."""
PACKAGES = [instance.row for instance in SMT.instances(Scope.PACKAGE)]


def energy(name: str, scope: Scope = Scope.PACKAGE) -> Signal:
    return replace(counter(name, scope), unit=Unit.JOULE, origin=f"perf power/{name}/")


def ticks(name: str, scope: Scope = Scope.CPU) -> Signal:
    return replace(counter(name, scope, Reduce.MEAN), unit=Unit.CYCLE)


def seconds(name: str) -> Signal:
    return replace(counter(name, reduce=Reduce.MEAN), unit=Unit.SECOND, scale=1e-6)


def title(index: int, name: str) -> Signal:
    return replace(counter(f"cpuidle.{index}.name", Scope.SYSTEM, behavior=Behavior.CONSTANT), constant=name)


def frame_of(signals: Mapping[Signal, Sequence[Raw]], topology: Topology = SMT,
             constants: Sequence[Signal] = ()) -> Frame:
    """Return a frame of one second in which each counter rose from 10 by its value."""
    begin, end = ({signal.id: [at * SECOND] * len(items) for signal, items in signals.items()} for at in (1, 2))
    older = {signal.id: [10 if isinstance(item, int) else None for item in items] for signal, items in signals.items()}
    newer = {one.id: [10 + item if isinstance(item, int) else None for item in items] for one, items in signals.items()}
    return Frame(snapshot(topology, older, begin), snapshot(topology, newer, end, seq=1),
                 capabilities_of(*signals, *constants))


def shown(name: str, scope: Scope) -> CounterColumn:
    return column(name, (name,), scope)


def why(frame: Frame, counter_column: CounterColumn, row: RowId) -> tuple[Reason, str]:
    unavailable = frame.why(counter_column, row)
    assert frame.cell(counter_column, row) is None
    assert unavailable is not None
    return unavailable.reason, unavailable.detail


# Liveness


@given(
    steps=st.lists(st.tuples(st.sampled_from((0, 0, 0, 5)), st.sampled_from((0.1, 0.5, 1.0, 3.0))), max_size=12),
    name=st.sampled_from(sorted(MUST_MOVE)),
)
def test_a_counter_is_dead_from_its_second_reading_or_after_a_second_until_it_moves(
    steps: list[tuple[int, float]], name: str
) -> None:
    watched, row, raw, now, since, moved = Liveness(), SYSTEM_ROW, 7, 10.0, 10.0, False
    assert watched.see(name, [row], [raw], [round(now * SECOND)], frozenset()) == {}
    for step, wait in steps:
        raw, now = raw + step, now + wait
        result = watched.see(name, [row], [raw], [round(now * SECOND)], frozenset())
        if step:
            since, moved = now, True
        dead = not step and (not moved or now - since >= STILL_SECONDS)
        assert set(result) == ({0} if dead else set())
        assert all(still == pytest.approx(now - since) for still in result.values())


def test_a_counter_that_is_opened_again_has_not_moved() -> None:
    watched = Liveness()
    for raw, fresh, dead in ((5, False, False), (0, True, False), (0, False, True), (3, False, False)):
        at = watched.see("energy.psys", [SYSTEM_ROW], [raw], [SECOND], frozenset({0} if fresh else ()))
        assert bool(at) is dead


def test_energy_that_stands_still_is_unknown_asked_for_on_and_shown_when_it_moves() -> None:
    host, step = FakeHost(), [0]
    moves = [0, 0, 0, 5, 9, 9, 9, 9]  # of package 1; package 0 always moves

    def script(cpu: int, name: str) -> Raw:
        return 100 * step[0] if cpu == 0 or name == "energy.gpu" else moves[step[0]]

    source = FakeSource((energy("energy.pkg"), energy("energy.gpu")), script)
    machine = machine_of(host)
    sampler = Sampler(machine, probe_sources(machine, [source]), frozenset({"energy.pkg", "energy.gpu"}), 0.05,
                      clock=host.clock)

    def tick(_frame: Frame) -> None:
        step[0] += 1
        host.now += SECOND // 2

    frames = frames_of(sampler, len(moves) - 1, tick)
    watts, (first, second) = shown("energy.pkg", Scope.PACKAGE), frames[0].rows(Scope.PACKAGE)
    assert [frame.cell(watts, second) for frame in frames] == [None, None, None, 5, 4, 0, None, None]
    assert [frame.cell(watts, first) for frame in frames[1:]] == [100] * 7
    reason, detail = why(frames[-1], watts, second)
    assert reason is Reason.STANDS_STILL
    assert detail.startswith("perf power/energy.pkg/ has not moved for 1.5 s, and a package that runs this program")
    # the machine's sum lacks a part, and is unknown with that part's reason
    reason, detail = why(frames[-1], watts, SYSTEM_ROW)
    assert reason is Reason.STANDS_STILL
    assert detail.startswith("a part is unknown, package 1: perf power/energy.pkg/ has not moved")
    assert frames[4].cell(watts, SYSTEM_ROW) == 104


def test_a_recorded_machine_is_of_one_instant_until_a_counter_moves() -> None:
    watched = Liveness(recorded=True).instant
    assert watched is not None
    assert watched.seconds({"irq": [5, None], "stat.user": [7, 7]}, SECOND) is None
    assert watched.seconds({"irq": [None, 5], "stat.user": [7, 7]}, 3 * SECOND) == 2.0
    assert watched.seconds({"irq": [5, 6], "stat.user": [7, 7]}, 4 * SECOND) is None  # a tree of a running machine
    assert watched.seconds({"irq": [5, 6], "stat.user": [7, 7]}, 5 * SECOND) is None
    assert Liveness().instant is None


class RecordedHost(FakeHost):
    kind = HostKind.RECORDED


def test_counters_of_one_instant_are_unknown_and_gauges_known() -> None:
    host = RecordedHost()
    source = FakeSource((energy("energy.gpu"), replace(energy("heat"), behavior=Behavior.GAUGE)), lambda _cpu, _name: 7)
    machine = machine_of(host)
    sampler = Sampler(machine, probe_sources(machine, [source]), frozenset({"energy.gpu", "heat"}), 0.05,
                      clock=host.clock)

    def tick(_frame: Frame) -> None:
        host.now += SECOND

    frame = frames_of(sampler, 2, tick)[-1]
    reason, detail = why(frame, shown("energy.gpu", Scope.PACKAGE), PACKAGES[0])
    assert reason is Reason.RECORDED
    assert "one instant" in detail
    assert frame.newer.values["heat"][0] == 7
    assert frame.why(column("heat", ("heat",), Scope.PACKAGE), PACKAGES[0]) is None


def test_graphics_may_use_nothing() -> None:
    host = FakeHost()
    source = FakeSource((energy("energy.gpu"), energy("energy.cores")), lambda _cpu, _name: 7)
    machine = machine_of(host)
    sampler = Sampler(machine, probe_sources(machine, [source]), frozenset({"energy.gpu", "energy.cores"}), 0.05,
                      clock=host.clock)

    def tick(_frame: Frame) -> None:
        host.now += 2 * SECOND

    frames = frames_of(sampler, 3, tick)
    for name in ("energy.gpu", "energy.cores"):
        assert frames[-1].cell(shown(name, Scope.PACKAGE), SYSTEM_ROW) == 0


# Contradictions that tell which counter is wrong


def test_cores_in_c0_that_stand_at_0_beside_a_busy_cpu_are_unknown() -> None:
    c0 = [ticks(f"c0.pkg.{word}", Scope.PACKAGE) for word in ("total", "any", "gfx", "both")]
    busy = frame_of({**{item: [0, 5] for item in c0[1:]}, c0[0]: [0, 9], ticks("mperf"): [0, 300, 400, 0]})
    for signal in c0:
        cell = shown(signal.id, Scope.PACKAGE)
        reason, detail = why(busy, cell, PACKAGES[0])
        assert reason is Reason.CONTRADICTED
        assert detail.endswith("cores in C0 stood at 0, but mperf of cpu 1 grew by 300")
        assert busy.cell(cell, PACKAGES[1]) == (9 if signal is c0[0] else 5)
    # graphics alone may be 0, and a package in which nothing is known to have run is believed
    gone = frame_of({c0[0]: [7, 9], c0[2]: [0, 0], ticks("mperf"): [1, 1, 1, 1]})
    assert gone.cell(shown("c0.pkg.gfx", Scope.PACKAGE), PACKAGES[0]) == 0
    quiet = frame_of({c0[0]: [0, 9], ticks("mperf"): [0, 0, 1, 1]})
    assert quiet.cell(shown("c0.pkg.total", Scope.PACKAGE), PACKAGES[0]) == 0


IDLE = (seconds("cpuidle.0.time"), seconds("cpuidle.1.time"))
NAMES = (title(0, "POLL"), title(1, "C6"))
C1, C6, PC6 = ticks("cstate.core.c1"), ticks("cstate.core.c6", Scope.CORE), ticks("cstate.pkg.c6", Scope.PACKAGE)


def test_c_states_that_all_stand_at_0_while_the_kernel_idled_are_unknown() -> None:
    idle = [670_000, 800_000, 670_000, 800_000]
    frame = frame_of({C1: [0, 0, 0, 50], C6: [0, 0], PC6: [0, 0], IDLE[0]: [0] * 4, IDLE[1]: idle}, constants=NAMES)
    for name, scope, row in (("cstate.core.c6", Scope.CORE, cpu_row(0)), ("cstate.core.c1", Scope.CPU, cpu_row(1)),
                             ("cstate.pkg.c6", Scope.PACKAGE, PACKAGES[0])):
        assert why(frame, shown(name, scope), row)[0] is Reason.CONTRADICTED
    _, detail = why(frame, shown("cstate.core.c6", Scope.CORE), cpu_row(0))
    assert detail.endswith("but cpuidle counted it idle for 47 % of the interval")  # both threads at once
    # the core whose C1 counts may well have stayed out of C6
    assert frame.cell(shown("cstate.core.c6", Scope.CORE), cpu_row(2)) == 0
    assert frame.cell(shown("cstate.core.c1", Scope.CPU), cpu_row(2)) == 0
    assert frame.cell(shown("cstate.pkg.c6", Scope.PACKAGE), PACKAGES[1]) == 0
    # what was read stays to be seen
    text = explanation(FrameContent(frame), shown("cstate.core.c6", Scope.CORE), cpu_row(0))
    assert "but cpuidle counted it idle for 47 %" in " ".join(text)
    assert "    as read: 10 after 10" in text


@pytest.mark.parametrize("state", [2, 3, 6, 7, 8, 9, 10])
def test_every_c_state_of_a_package_is_unknown_where_those_of_its_cores_are(state: int) -> None:
    name = f"cstate.pkg.c{state}"
    idle = [670_000, 800_000, 670_000, 800_000]
    frame = frame_of({C1: [0, 0, 0, 50], C6: [0, 0], ticks(name, Scope.PACKAGE): [0, 0], IDLE[0]: [0] * 4,
                      IDLE[1]: idle}, constants=NAMES)
    assert why(frame, shown(name, Scope.PACKAGE), PACKAGES[0])[0] is Reason.CONTRADICTED
    assert frame.cell(shown(name, Scope.PACKAGE), PACKAGES[1]) == 0


@pytest.mark.parametrize("signals", [
    {C6: [0, 0], C1: [0] * 4, IDLE[0]: [900_000] * 4, IDLE[1]: [0] * 4},  # polling is no C-state
    {C6: [0, 0], C1: [0] * 4, IDLE[1]: [600_000, 0, 0, 600_000]},  # the siblings were never idle together
    {C6: [0, 0], C1: [0] * 4},  # nobody was asked
    {C6: [0, 0], IDLE[1]: [900_000] * 4},  # C1 is not known: it may have been that
    # C1 is what is left
    {C6: [0, 0], ticks("mperf"): [200_000_000] * 4, ticks("tsc"): [TICKS] * 4, IDLE[1]: [900_000] * 4},
], ids=["polling", "siblings", "unasked", "unknown-c1", "derived-c1"])
def test_c_states_of_0_that_may_be_true_are_believed(signals: Mapping[Signal, Sequence[Raw]]) -> None:
    frame = frame_of(signals, constants=NAMES)
    assert frame.cell(shown("cstate.core.c6", Scope.CORE), cpu_row(0)) == 0


def test_a_cpu_that_is_reported_to_be_in_c0_all_the_time_and_idled_contradicts_its_c_states() -> None:
    always, idle = [TICKS] * 4, [700_000] * 4
    frame = frame_of({C6: [0, 0], ticks("mperf"): always, ticks("tsc"): always, seconds("stat.idle"): idle})
    reason, detail = why(frame, shown("cstate.core.c6", Scope.CORE), cpu_row(0))
    assert reason is Reason.CONTRADICTED
    assert "but /proc/stat counted it idle for 40 %" in detail


TSC = [TICKS] * 4


@pytest.mark.parametrize(("signals", "silent", "evidence"), [
    ({ticks("mperf"): [0, 0, 200_000, 0], ticks("aperf"): [0, 300_000, 0, 0]}, {"mperf": 1, "aperf": 2}, "grew by"),
    ({ticks("mperf"): [0] * 4, ticks("aperf"): [0] * 4, ticks("cycles"): [0, 200_000, 200_000, 0]},
     {"mperf": 1, "aperf": 2}, "cycles of cpu"),
    ({ticks("mperf"): [0] * 4, seconds("stat.user"): [0, 100_000, 150_000, 0],
      seconds("stat.system"): [0, 90_000, 0, 20_000]}, {"mperf": 1}, "/proc/stat counted cpu 1 busy for 19 %"),
], ids=["each-other", "cycles", "proc-stat"])
def test_clocks_of_a_cpu_that_ran_cannot_stand_at_0(
    signals: Mapping[Signal, Sequence[Raw]], silent: Mapping[str, int], evidence: str
) -> None:
    frame = frame_of({**signals, ticks("tsc"): TSC})
    for name, cpu in silent.items():
        reason, detail = why(frame, shown(name, Scope.CPU), cpu_row(cpu))
        assert reason is Reason.CONTRADICTED
        assert evidence in detail
        # a CPU that slept all the time has a true 0
        assert [frame.cell(shown(name, Scope.CPU), cpu_row(idle)) for idle in (0, 3)] == [0, 0]


# Contradictions that do not


@pytest.mark.parametrize(("part", "scope"), [
    ("energy.cores", Scope.PACKAGE), ("energy.gpu", Scope.PACKAGE), ("energy.core", Scope.CORE)])
def test_a_part_that_uses_more_than_its_whole_is_disputed_and_so_is_the_whole(part: str, scope: Scope) -> None:
    frame = frame_of({energy(part, scope): [30, 9], energy("energy.pkg"): [20, 20]})
    for name, home in ((part, scope), ("energy.pkg", Scope.PACKAGE)):
        counter_column = shown(name, home)
        said = f"{part} 30.00 W is more than energy.pkg 20.00 W, which contains it"
        assert frame.disputed(counter_column, cpu_row(0)) == (said,)
        assert frame.disputed(counter_column, SYSTEM_ROW)
        assert frame.disputed(counter_column, cpu_row(2)) == ()
    assert frame.cell(shown("energy.pkg", Scope.PACKAGE), PACKAGES[0]) == 20  # it stays: nobody knows which is wrong


def test_packages_that_use_more_than_the_platform_are_disputed() -> None:
    frame = frame_of({energy("energy.pkg"): [60, 60], energy("energy.psys", Scope.SYSTEM): [100]})
    assert frame.disputed(shown("energy.psys", Scope.SYSTEM), SYSTEM_ROW) == (
        "energy.pkg 120.00 W is more than energy.psys 100.00 W, which contains it",)


def test_states_of_a_cpu_beyond_the_interval_are_disputed() -> None:
    mperf, tsc = ticks("mperf"), ticks("tsc")
    busy = [TICKS * 6 // 10, TICKS * 6 // 10, TICKS * 4 // 10, TICKS // 10]
    frame = frame_of({mperf: busy, tsc: [TICKS] * 4, C6: [TICKS * 6 // 10] * 2})
    assert frame.disputed(shown("mperf", Scope.CPU), cpu_row(1)) == (
        "cpu 1: C0 60.0 % + C6 60.0 % is 120.0 % of the interval",)
    assert frame.disputed(shown("cstate.core.c6", Scope.CORE), cpu_row(0))
    assert frame.disputed(shown("mperf", Scope.CPU), cpu_row(2)) == ()
    assert frame.disputed(shown("tsc", Scope.CPU), cpu_row(1)) == ()  # it is what the others are measured by


def test_nothing_is_disputed_before_there_is_an_interval() -> None:
    first = Frame(None, frame_of({energy("energy.pkg"): [1, 1]}).newer, capabilities_of(energy("energy.pkg")))
    assert first.disputed(shown("energy.pkg", Scope.PACKAGE), SYSTEM_ROW) == ()


def test_energy_of_a_machine_that_lacks_a_package_is_unknown() -> None:
    frame = frame_of({energy("energy.pkg"): [135, None], counter("irq"): [1, 2, None, 4]})
    reason, detail = why(frame, shown("energy.pkg", Scope.PACKAGE), SYSTEM_ROW)
    assert reason is Reason.FAILED
    assert detail.startswith("a part is unknown, package 1: ")
    assert frame.cell(shown("energy.pkg", Scope.PACKAGE), PACKAGES[0]) == 135
    assert frame.cell(shown("irq", Scope.CPU), SYSTEM_ROW) == 7  # a count of what was counted, marked
    assert frame.partial(shown("irq", Scope.CPU), SYSTEM_ROW)




# Sources that give the same domain


def two_sources(by_perf: Signal, by_msr: Signal,
                joules: Mapping[str, Sequence[int]]) -> tuple[Capabilities, Sampler, FakeHost]:
    """A machine whose energy two sources give; each step they grow by their joules."""
    host = FakeHost([place(cpu, cpu // 2, die=cpu) for cpu in range(4)])
    machine = machine_of(host)

    def reading(source: str) -> FakeSource:
        def script(cpu: int, _name: str) -> Raw:
            return joules[source][cpu] * (host.now // SECOND)

        return FakeSource((by_perf if source == "perf" else by_msr,), script, id=source, title=source)

    capabilities = probe_sources(machine, [reading("perf"), reading("msr")])
    wanted = frozenset({"energy.pkg"})
    sampler = Sampler(machine, capabilities, wanted | compared_with(wanted, capabilities, 1.0), 0.05, clock=host.clock)
    return capabilities, sampler, host


def watched(sampler: Sampler, host: FakeHost) -> Frame:
    def tick(_frame: Frame) -> None:
        host.now += SECOND

    return frames_of(sampler, 3, tick)[-1]


def test_power_that_two_sources_tell_differently_is_disputed_and_both_are_shown() -> None:
    # both dies of package 0 show the whole package's counter
    joules = {"perf": [115, 0, 50, 0], "msr": [115, 115, 25, 25]}
    capabilities, sampler, host = two_sources(energy("energy.pkg"), energy("energy.pkg", Scope.DIE), joules)
    assert capabilities.beside == {"energy.pkg": ("energy.pkg@msr",)}
    assert capabilities.provider["energy.pkg"].id == "perf"
    frame = watched(sampler, host)
    watts = next(item for item in catalog_for(capabilities.signals).columns if item.id == "PkgWatt")
    first, second = frame.rows(Scope.PACKAGE)
    said = "energy.pkg of package 0: 115.00 W by perf, 230.00 W by msr"
    assert frame.disputed(watts, first) == frame.disputed(watts, SYSTEM_ROW) == (said,)
    assert frame.disputed(watts, second) == ()
    assert frame.cell(watts, SYSTEM_ROW) == 165
    layout = Layout((watts,), machine="fake")
    rows = json.loads(next(make_frame_format("json", layout).lines(frame)))["rows"]
    assert [row.get("disputed") for row in rows[:3]] == [{"PkgWatt": said}] * 3
    assert "disputed" not in rows[3]
    assert f"  ? disputed: {said}" in explanation(FrameContent(frame), watts, first)
    table = list(make_frame_format("table", layout).lines(frame))
    assert table[2].split() == ["165.00?"]


def test_sources_that_agree_are_not_disputed() -> None:
    joules = {"perf": [231, 0, 50, 0], "msr": [115, 115, 25, 25]}  # 1 W apart
    _capabilities, sampler, host = two_sources(energy("energy.pkg"), energy("energy.pkg", Scope.DIE), joules)
    assert (watched(sampler, host)).marks() == {}


def test_what_is_compared_follows_what_is_read_and_the_interval() -> None:
    capabilities, _sampler, _host = two_sources(energy("energy.pkg"), energy("energy.pkg"), {})
    assert compared_with({"energy.pkg", "irq"}, capabilities, 1.0) == {"energy.pkg@msr"}
    assert compared_with({"irq"}, capabilities, 1.0) == frozenset()
    assert compared_with({"energy.pkg"}, capabilities, 0.1) == frozenset()
    again = probe_sources(machine_of(FakeHost()), capabilities.sources)  # as after CPUs came or went
    assert again.beside == capabilities.beside
    assert [source.id for source in again.sources] == ["perf", "msr", "msr-beside"]
    report = diagnose(machine_of(FakeHost()), capabilities)
    assert [source.id for source in report.sources] == ["perf", "msr"]
    assert [signal.compared for source in report.sources for signal in source.signals] == [False, True]


def test_ticks_that_stood_still_are_no_interval_to_be_beyond() -> None:
    columns = [[60.0, 60.0, 10.0], [60.0, 60.0, 10.0]]
    assert _beyond(columns, [0.0, 100.0, 100.0]) == [1]
    assert _beyond(columns, [None, 100.0, 0.0]) == [1]
