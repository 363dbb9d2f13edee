"""Reductions over rows, compared with sums computed by hand, on machines of any shape."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import capabilities_of, column, counter, place, snapshot

from turbotui.machine.topology import CpuPlace, Topology, topology_of
from turbotui.quantities.catalog import topology as identities
from turbotui.quantities.catalog.formulas import percent
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope, cpu_row
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.frame import Frame
from turbotui.sampling.tagged import tagged_cell

SECOND = 1_000_000_000
LEVELS = (Scope.CPU, Scope.CORE, Scope.DIE, Scope.PACKAGE, Scope.SYSTEM)
IDS = st.integers(0, 40)


@st.composite
def machines(draw: st.DrawFn) -> list[CpuPlace]:
    """Packages x dies x cores x threads with sparse ids that repeat, and CPU numbers in any order."""
    places: list[CpuPlace] = []
    for package in draw(st.lists(IDS, min_size=1, max_size=3, unique=True)):
        for die in draw(st.lists(IDS, min_size=1, max_size=2, unique=True)):
            for core in draw(st.lists(IDS, min_size=1, max_size=3, unique=True)):
                places += [place(0, package, core, die)] * draw(st.integers(1, 2))
    numbers = draw(st.lists(st.integers(0, 200), min_size=len(places), max_size=len(places), unique=True))
    return [replace(cpu_place, cpu=cpu) for cpu_place, cpu in zip(places, numbers, strict=True)]


def around(one: CpuPlace, scope: Scope) -> tuple[int, ...]:
    """Return the key of the instance around a CPU, independently of the topology."""
    return {Scope.CPU: (one.cpu,), Scope.CORE: (one.package, one.die, one.core), Scope.DIE: (one.package, one.die),
            Scope.PACKAGE: (one.package,), Scope.SYSTEM: ()}[scope]


MODEL: dict[Reduce, Callable[[Sequence[float]], float | None]] = {
    Reduce.SUM: sum,
    Reduce.MEAN: lambda result: sum(result) / len(result),
    Reduce.MAX: max,
    Reduce.MIN: min,
    Reduce.SAME: lambda result: result[0] if len(set(result)) == 1 else None,
}


@settings(deadline=None)  # the machine may be busy
@given(data=st.data(), places=machines(), scope=st.sampled_from(LEVELS[:-1]), reduce=st.sampled_from(list(MODEL)))
def test_a_row_reduces_the_instances_inside_it_and_only_those(
    data: st.DataObject, places: list[CpuPlace], scope: Scope, reduce: Reduce
) -> None:
    topology = topology_of(places)
    by_cpu = {cpu_place.cpu: cpu_place for cpu_place in places}
    keys = [around(by_cpu[instance.cpus[0]], scope) for instance in topology.instances(scope)]
    assert len(keys) == len(set(keys)) == len({around(cpu_place, scope) for cpu_place in places})
    maybe = st.none() | st.integers(0, 1000)
    older = data.draw(st.lists(maybe, min_size=len(keys), max_size=len(keys)))
    steps = data.draw(st.lists(maybe, min_size=len(keys), max_size=len(keys)))
    newer = [None if step is None else (before or 0) + step for before, step in zip(older, steps, strict=True)]
    spans = data.draw(st.lists(st.sampled_from((1, 2, 4)), min_size=len(keys), max_size=len(keys)))
    signal = counter("x", scope, reduce)
    first = snapshot(topology, {"x": older}, {"x": [0 if item is None else SECOND for item in older]})
    second = snapshot(topology, {"x": newer}, {
        "x": [0 if item is None else SECOND * (1 + span) for item, span in zip(newer, spans, strict=True)]}, seq=1)
    frame = Frame(first, second, capabilities_of(signal))
    delta = {key: None if a is None or b is None else b - a for key, a, b in zip(keys, older, newer, strict=True)}
    rate = {key: None if gain is None else gain / span
            for (key, gain), span in zip(delta.items(), spans, strict=True)}
    for level in LEVELS:
        for instance in topology.instances(level):
            inside = [part for part in places if around(part, level) == around(by_cpu[instance.cpus[0]], level)]
            selected = {around(cpu_place, scope) for cpu_place in inside}
            inputs = frame.inputs(instance.row)
            for result, expected in ((inputs.delta("x"), delta), (inputs.rate("x"), rate)):
                have = [item for key in selected if (item := expected[key]) is not None]
                model = MODEL[reduce](have) if have else None
                assert result == (model if model is None else pytest.approx(model)), (level, instance.row)


@settings(deadline=None)  # the machine may be busy
@given(data=st.data(), places=machines())
def test_a_ratio_of_a_row_is_recomputed_and_never_averaged(data: st.DataObject, places: list[CpuPlace]) -> None:
    topology = topology_of(places)
    size = len(topology.cpus)
    parts = data.draw(st.lists(st.integers(0, 100), min_size=size, max_size=size))
    wholes = data.draw(st.lists(st.integers(1, 1000), min_size=size, max_size=size))
    zeros, stamps = [0] * size, [SECOND] * size
    later = [2 * SECOND] * size
    frame = Frame(
        snapshot(topology, {"part": zeros, "whole": zeros}, {"part": stamps, "whole": stamps}),
        snapshot(topology, {"part": parts, "whole": wholes}, {"part": later, "whole": later}, seq=1),
        capabilities_of(counter("part", reduce=Reduce.MEAN), counter("whole", reduce=Reduce.MEAN)),
    )
    share = column("share", ("part", "whole"))
    assert frame.cell(share, SYSTEM_ROW) == pytest.approx(100 * sum(parts) / sum(wholes))
    for instance in topology.instances(Scope.PACKAGE):
        chosen = [topology.index(Scope.CPU, cpu) for cpu in instance.cpus]
        expected = 100 * sum(parts[at] for at in chosen) / sum(wholes[at] for at in chosen)
        assert frame.cell(share, instance.row) == pytest.approx(expected)
        assert tagged_cell(frame, share, instance.cpus) == pytest.approx(expected)


@settings(deadline=None)  # the machine may be busy
@given(data=st.data(), places=machines())
def test_a_ratio_of_a_row_is_of_the_cpus_for_which_both_are_known(data: st.DataObject, places: list[CpuPlace]) -> None:
    topology = topology_of(places)
    size = len(topology.cpus)
    steps = st.lists(st.none() | st.integers(1, 1000), min_size=size, max_size=size)
    parts, wholes = data.draw(steps), data.draw(steps)
    stamps, later = [SECOND] * size, [2 * SECOND] * size
    frame = Frame(
        snapshot(topology, {"part": [0] * size, "whole": [0] * size}, {"part": stamps, "whole": stamps}),
        snapshot(topology, {"part": parts, "whole": wholes}, {"part": later, "whole": later}, seq=1),
        capabilities_of(counter("part", reduce=Reduce.MEAN), counter("whole", reduce=Reduce.MEAN)),
    )
    share = column("share", ("part", "whole"))
    if not any(parts) or not any(wholes):  # what is unknown everywhere leaves nobody out: the cell has its own reason
        return
    for instance in (topology.instances(Scope.SYSTEM)[0], *topology.instances(Scope.PACKAGE)):
        chosen = [topology.index(Scope.CPU, cpu) for cpu in instance.cpus]
        both = [(a, b) for at in chosen if (a := parts[at]) is not None and (b := wholes[at]) is not None]
        expected = 100 * sum(a for a, _ in both) / sum(b for _, b in both) if both else None
        for result in (frame.cell(share, instance.row), tagged_cell(frame, share, instance.cpus)):
            assert result == (expected if expected is None else pytest.approx(expected))


def test_a_count_that_steps_back_past_zero_is_unknown_and_does_not_spoil_the_machines_row() -> None:
    # perf's count of MPERF after a reset of the register: it falls below the value that it was opened at
    values = {"aperf": ([0, 0], [3_000, 9_000]), "mperf": ([0, 500], [2_000, 2**64 - 7_000])}
    stamps = {name: [SECOND] * 2 for name in values}
    later = {name: [2 * SECOND] * 2 for name in values}
    frame = Frame(
        snapshot(PAIR, {name: older for name, (older, _) in values.items()}, stamps),
        snapshot(PAIR, {name: newer for name, (_, newer) in values.items()}, later, seq=1),
        capabilities_of(*(counter(name, reduce=Reduce.MEAN) for name in values)),
    )
    ratio = column("ratio", ("aperf", "mperf"))
    assert [frame.cell(ratio, cpu_row(cpu)) for cpu in (0, 1)] == [150.0, None]
    assert frame.cell(ratio, SYSTEM_ROW) == 150.0
    assert frame.partial(ratio, SYSTEM_ROW)
    why = frame.why(ratio, cpu_row(1))
    assert why is not None
    assert why.reason is Reason.WENT_BACK
    assert counter("x").delta(1, 2**63) == float(2**63 - 1)
    assert counter("x").delta(0, 2**63) is None
    assert counter("x").delta(2**64 - 5, 2**64 - 1) == 4


@settings(deadline=None)  # the machine may be busy
@given(data=st.data(), places=machines())
def test_tagged_cpus_count_what_they_share_once(data: st.DataObject, places: list[CpuPlace]) -> None:
    topology = topology_of(places)
    size = len(topology.instances(Scope.CORE))
    steps = data.draw(st.lists(st.integers(0, 100), min_size=size, max_size=size))
    frame = Frame(
        snapshot(topology, {"e": [0] * size}, {"e": [SECOND] * size}),
        snapshot(topology, {"e": steps}, {"e": [2 * SECOND] * size}, seq=1),
        capabilities_of(counter("e", Scope.CORE)),
    )
    tags = data.draw(st.sets(st.sampled_from(topology.cpus)))
    by_cpu = {cpu_place.cpu: cpu_place for cpu_place in places}
    position = {around(by_cpu[item.cpus[0]], Scope.CORE): at for at, item in enumerate(topology.instances(Scope.CORE))}
    expected = sum(steps[position[key]] for key in {around(by_cpu[cpu], Scope.CORE) for cpu in tags})
    assert tagged_cell(frame, column("e", ("e",), Scope.CORE), tags) == (expected if tags else None)


@settings(deadline=None)  # the machine may be busy
@given(data=st.data(), places=machines())
def test_cpus_may_come_and_go_between_two_snapshots(data: st.DataObject, places: list[CpuPlace]) -> None:
    subsets = st.lists(st.sampled_from(places), min_size=1, unique=True)
    before, after = topology_of(data.draw(subsets)), topology_of(data.draw(subsets))
    start = {cpu_place.cpu: cpu_place.cpu * 1000 for cpu_place in places}
    gain = {cpu_place.cpu: data.draw(st.integers(0, 999)) for cpu_place in places}

    def read(topology: Topology, at: int) -> tuple[list[Raw], list[int]]:
        return [start[cpu] + at * gain[cpu] for cpu in topology.cpus], [SECOND * (1 + at)] * len(topology.cpus)

    old, new = read(before, 0), read(after, 1)
    frame = Frame(snapshot(before, {"x": old[0]}, {"x": old[1]}), snapshot(after, {"x": new[0]}, {"x": new[1]}, seq=1),
                  capabilities_of(counter("x")))
    staying = set(before.cpus) & set(after.cpus)
    assert frame.inputs(SYSTEM_ROW).delta("x") == (sum(gain[cpu] for cpu in staying) if staying else None)
    column_x = column("x", ("x",))
    assert set(frame.rows(Scope.CPU)) == {cpu_row(cpu) for cpu in after.cpus}
    for cpu in start:
        cell, why = frame.cell(column_x, cpu_row(cpu)), frame.why(column_x, cpu_row(cpu))
        assert cell == (gain[cpu] if cpu in staying else None)
        if cpu not in after.cpus:
            assert why is not None
            assert why.reason is Reason.OFFLINE
        elif cpu not in staying:
            assert why is not None
            assert why.reason is Reason.FIRST_TICK
        else:
            assert why is None


PAIR = topology_of([place(0), place(1)])
COLUMN = column("x", ("x",))
SECOND_CPU = cpu_row(1)


def pair(older: Sequence[Raw], newer: Sequence[Raw], signal: Signal | None = None, **facts: object) -> Frame:
    """Two CPUs, one second."""
    end = snapshot(PAIR, {"x": newer}, {"x": [0 if item is None else 2 * SECOND for item in newer]}, seq=1)
    begin = snapshot(PAIR, {"x": older}, {"x": [0 if item is None else SECOND for item in older]})
    return Frame(begin, replace(end, **facts), capabilities_of(signal or counter("x")))  # type: ignore[arg-type]


def reason(frame: Frame, row: RowId = SECOND_CPU) -> Reason | None:
    """Why the column is unknown in a row; None when it is known."""
    unavailable = frame.why(COLUMN, row)
    assert (unavailable is None) == (frame.cell(COLUMN, row) is not None)
    return None if unavailable is None else unavailable.reason


def test_why_tells_the_kinds_of_absence_apart() -> None:
    assert reason(pair([1, 1], [2, 2])) is None
    assert reason(pair([1, 5], [2, 4])) is Reason.WENT_BACK
    assert reason(pair([1, 5], [2, None], late=frozenset({1}))) is Reason.LATE
    assert reason(pair([1, 5], [2, None], failed=frozenset({1}))) is Reason.OFFLINE
    assert reason(pair([1, 5], [2, None])) is Reason.FAILED
    assert reason(pair([1, None], [2, 2])) is Reason.FIRST_TICK
    assert reason(pair([1, 1], [2, 2], fresh={"x": frozenset({1})})) is Reason.FIRST_TICK
    assert reason(pair([1, 1], [2, 2]), cpu_row(7)) is Reason.OFFLINE
    narrow = counter("x", width_bits=32, wrap_seconds=60.0)
    assert reason(pair([1, 1], [2, 2], narrow, unsure={"x": frozenset({1})})) is Reason.OUT_OF_RANGE
    first = Frame(None, pair([1, 1], [2, 2]).newer, capabilities_of(counter("x")))
    assert reason(first) is Reason.FIRST_TICK
    unread = Frame(None, snapshot(PAIR, {}, {}), capabilities_of(counter("x")))
    assert reason(unread) is Reason.NOT_READ
    absent = Unavailable(Reason.NO_DRIVER, "no driver here", "modprobe it")
    missing = Frame(None, snapshot(PAIR, {}, {}), capabilities_of(missing={"x": absent}))
    assert missing.why(COLUMN, cpu_row(1)) == absent


@pytest.mark.parametrize(("part", "whole"), [(7, 0), (9, 5)])
def test_what_has_no_sensible_value_says_what_was_read(part: int, whole: int) -> None:
    signals = counter("x"), counter("y")
    times = {"x": [SECOND] * 2, "y": [SECOND] * 2}
    later = {name: [2 * SECOND] * 2 for name in times}
    frame = Frame(snapshot(PAIR, {"x": [0, 0], "y": [0, 0]}, times),
                  snapshot(PAIR, {"x": [1, part], "y": [1, whole]}, later, seq=1), capabilities_of(*signals))
    share = replace(column("X%", ("x", "y")), compute=lambda row: percent(row.delta("x"), row.delta("y")))
    why = frame.why(share, SECOND_CPU)
    assert why is not None
    assert why.detail.endswith(f"has no sensible value in this interval: Δx = {part}, Δy = {whole}")


def test_what_a_reader_said_when_it_failed_is_passed_on() -> None:
    frame = pair([1, 5], [2, None], failures={("fake", 1): "register x: Input/output error (EIO)"})
    why = frame.why(COLUMN, cpu_row(1))
    assert why is not None
    assert why.detail == "register x of cpu1 could not be read this time: register x: Input/output error (EIO)"


EIGHT = topology_of([place(cpu, cpu // 4, cpu // 2) for cpu in range(8)])
SHARE = replace(column("X%", ("x", "y")), compute=lambda row: percent(row.delta("x"), row.delta("y")))
READINGS = st.lists(st.sampled_from([0, 5, 9, None]), min_size=8, max_size=8)


@given(data=st.data())
def test_what_is_out_of_range_is_told_by_column_as_of_each_cell(data: st.DataObject) -> None:
    names = ("x", "y", "z")
    some = st.frozensets(st.integers(0, 7))
    nowhere = Unavailable(data.draw(st.sampled_from([Reason.NO_HARDWARE, Reason.OUT_OF_RANGE])), "none here")
    signals = (replace(counter("x"), absent=dict.fromkeys(data.draw(some), nowhere)),
               counter("y", data.draw(st.sampled_from([Scope.CPU, Scope.CORE])), width_bits=32, wrap_seconds=60.0),
               replace(counter("z"), behavior=Behavior.GAUGE))
    counts = {known.id: len(EIGHT.instances(known.scope)) for known in signals}
    ends = []
    for seq in range(2):
        read = {name: data.draw(READINGS)[:counts[name]] for name in names if data.draw(st.integers(0, 9))}
        stamps = {name: [0 if item is None else (seq + 1) * SECOND for item in items] for name, items in read.items()}
        ends.append(replace(snapshot(EIGHT, read, stamps, seq=seq), late=data.draw(some), unsure={
            "y": frozenset(at for at in data.draw(some) if at < counts["y"])}))
    frame = Frame(ends[0], ends[1], capabilities_of(*signals))
    needs = tuple(data.draw(st.lists(st.sampled_from((*names, "missing")), max_size=3)))
    asked = replace(column("x", needs, data.draw(st.sampled_from([Scope.CPU, Scope.CORE, Scope.PACKAGE]))),
                    compute=lambda row: percent(row.delta("x"), row.delta("y")) if "y" in needs else row.delta("x"))
    for rows in (*(frame.rows(scope) for scope in (Scope.CPU, Scope.CORE, Scope.PACKAGE)), (SYSTEM_ROW,),
                 (cpu_row(6), cpu_row(99), cpu_row(1))):
        whys = [frame.why(asked, row) for row in rows]
        assert list(frame.out_of_range(asked, rows)) == [
            why is not None and why.reason is Reason.OUT_OF_RANGE for why in whys]


def test_a_column_that_was_not_read_is_not_looked_at_cell_by_cell() -> None:
    class Watched(Frame):
        def why_unknown(self, column: CounterColumn, row: RowId) -> Unavailable:
            raise AssertionError((column.id, row))

    older, newer = (snapshot(EIGHT, {"x": [seq] * 8, "y": [None] * 8},
                             {"x": [(seq + 1) * SECOND] * 8, "y": [0] * 8}, seq=seq) for seq in range(2))
    frame = Watched(older, newer, capabilities_of(counter("x"), counter("y")))
    assert not any(frame.out_of_range(SHARE, frame.rows(Scope.CPU)))


def test_a_number_that_cannot_be_comes_before_one_that_was_not_read() -> None:
    stamps = {"x": [SECOND] * 8, "y": [0] * 8}
    older = snapshot(EIGHT, {"x": [0] * 8, "y": [None] * 8}, stamps)
    newer = snapshot(EIGHT, {"x": [1] * 8, "y": [None] * 8}, {**stamps, "x": [2 * SECOND] * 8}, seq=1)
    narrow = counter("x", width_bits=32, wrap_seconds=60.0)
    frame = Frame(older, replace(newer, unsure={"x": frozenset({3})}), capabilities_of(narrow, counter("y")))
    rows = frame.rows(Scope.CPU)
    assert list(frame.out_of_range(SHARE, rows)) == [row == cpu_row(3) for row in rows]


def test_a_sum_of_which_something_is_unknown_is_marked() -> None:
    assert not pair([1, 1], [2, 2]).partial(COLUMN, SYSTEM_ROW)
    assert pair([1, 1], [2, None], late=frozenset({1})).partial(COLUMN, SYSTEM_ROW)
    assert pair([1, 5], [2, 4]).partial(COLUMN, SYSTEM_ROW)
    assert not pair([1, 5], [2, 4]).partial(COLUMN, cpu_row(0))
    of_packages = column("y", ("x",), Scope.PACKAGE)  # as GFLOPS/W: of a package, by counters of its CPUs
    for row in (cpu_row(0), PAIR.row(Scope.PACKAGE, 0), SYSTEM_ROW):
        assert pair([1, 5], [2, 4]).partial(of_packages, row)
        assert not pair([1, 1], [2, 2]).partial(of_packages, row)


def test_a_total_that_lacks_a_part_names_the_part() -> None:
    whole = replace(column("y", ("x",), Scope.PACKAGE), compute=lambda row: row.total("x"))
    why = pair([1, 5], [2, 4]).why(whole, PAIR.row(Scope.PACKAGE, 0))
    assert why is not None
    assert why.reason is Reason.WENT_BACK
    assert why.detail.startswith("a part is unknown, cpu 1: ")


def test_a_counter_that_began_within_the_interval_gives_no_rate() -> None:
    frame = pair([100, 100], [150, 7], fresh={"x": frozenset({1})})
    assert (frame.inputs(cpu_row(0)).rate("x"), frame.inputs(cpu_row(1)).rate("x")) == (50.0, None)
    assert frame.inputs(SYSTEM_ROW).rate("x") == 50.0


def test_a_narrow_counter_wraps_once_or_as_often_as_was_seen() -> None:
    narrow = counter("x", width_bits=8)
    older = snapshot(PAIR, {"x": [250, 250]}, {"x": [SECOND] * 2})
    newer = snapshot(PAIR, {"x": [4, 4]}, {"x": [2 * SECOND] * 2}, seq=1)
    assert Frame(older, newer, capabilities_of(narrow)).deltas("x") == [10, 10]
    counted = Frame(replace(older, wraps={"x": (5, 5)}), replace(newer, wraps={"x": (6, 8)}), capabilities_of(narrow))
    assert counted.deltas("x") == [10, 10 + 2 * 256]


def test_a_multiplexed_count_is_scaled_by_its_own_times_and_marked() -> None:
    signals = (counter("x", running="ran", enabled="on"), counter("ran", reduce=Reduce.MEAN),
               counter("on", reduce=Reduce.MEAN))
    stamps = {name: [SECOND] * 2 for name in ("x", "ran", "on")}
    later = {name: [2 * SECOND] * 2 for name in stamps}
    older = snapshot(PAIR, {"x": [0, 0], "ran": [10, 10], "on": [10, 10]}, stamps)
    newer = snapshot(PAIR, {"x": [30, 30], "ran": [35, 10], "on": [110, 110]}, later, seq=1)
    frame = Frame(older, newer, capabilities_of(*signals))
    assert frame.cell(COLUMN, cpu_row(0)) == 30 * 100 / 25
    assert frame.estimated(COLUMN, cpu_row(0))
    assert frame.cell(COLUMN, cpu_row(1)) is None
    assert reason(frame) is Reason.NEVER_RAN
    whole = snapshot(PAIR, {"x": [30, 30], "ran": [110, 110], "on": [110, 110]}, later, seq=1)
    assert not Frame(older, whole, capabilities_of(*signals)).estimated(COLUMN, SYSTEM_ROW)


@settings(deadline=None)  # the machine may be busy
@given(data=st.data(), width=st.sampled_from((8, 64)), scale=st.sampled_from((1.0, 0.25)),
       reduce=st.sampled_from(list(MODEL)), multiplexed=st.booleans())
def test_every_way_to_ask_gives_what_the_signal_says_of_each_instance(
    data: st.DataObject, width: int, scale: float, reduce: Reduce, multiplexed: bool
) -> None:
    size = data.draw(st.integers(1, 6))
    topology = topology_of([place(cpu) for cpu in range(size)])
    whole = data.draw(st.booleans())  # else a reading may be missing, or a counter go back
    raw = st.integers(0, 200) if whole else st.none() | st.integers(0, 200)
    older = data.draw(st.lists(raw, min_size=size, max_size=size))
    newer = data.draw(st.lists(raw, min_size=size, max_size=size) | st.just(older))
    if whole:
        newer = [max(a or 0, b or 0) for a, b in zip(older, newer, strict=True)]
    on = [100 + data.draw(st.integers(1, 9)) for _ in range(size)]
    ran = data.draw(st.just(on) | st.lists(st.integers(100, 101), min_size=size, max_size=size))
    signal = replace(counter("x", reduce=reduce, width_bits=width, running="ran" if multiplexed else "",
                             enabled="on" if multiplexed else ""), scale=scale)
    begin, end = (dict.fromkeys(("x", "ran", "on"), [at * SECOND] * size) for at in (1, 2))
    first = snapshot(topology, {"x": older, "ran": [100] * size, "on": [100] * size}, begin)
    second = snapshot(topology, {"x": newer, "ran": ran, "on": on}, end, seq=1)
    expected: list[float | None] = []
    for position in range(size):
        delta = signal.delta(older[position], newer[position])
        counted, enabled = ran[position] - 100, on[position] - 100
        if multiplexed and delta is not None:
            delta = delta * enabled / counted if counted else None
        expected.append(delta)
    capabilities = capabilities_of(signal, counter("ran"), counter("on"))
    every, some, total = (Frame(first, second, capabilities) for _ in range(3))
    positions = data.draw(st.lists(st.integers(0, size - 1)))
    assert list(every.deltas("x")) == expected
    for frame in (some, every):
        assert list(frame.deltas_at("x", positions)) == [expected[at] for at in positions]
        assert list(frame.rates_at("x", positions)) == [expected[at] for at in positions]  # of a second
    known = [item for item in expected if item is not None]
    model = MODEL[reduce](known) if known else None
    assert total.whole_delta("x") == (model if model is None else pytest.approx(model))
    assert total.whole_rate("x") == (model if model is None else pytest.approx(model))
    assert total.has_gaps("x") == (None in expected)


def test_texts_are_shown_where_all_agree() -> None:
    signal = counter("x", behavior=Behavior.GAUGE)

    def text(*items: Raw) -> str | None:
        frame = Frame(None, snapshot(PAIR, {"x": items}, {"x": [SECOND] * 2}), capabilities_of(signal))
        return frame.inputs(SYSTEM_ROW).text("x")

    assert text("a", "a") == "a"
    assert text("a", "b") is None
    assert text("a", None) is None
    assert text(1, 1) is None


def test_a_value_that_differs_within_a_row_is_said_to_and_one_that_is_one_part_s_alone_too() -> None:
    signal = counter("x", behavior=Behavior.GAUGE, reduce=Reduce.SAME)
    shown = replace(column("x", ("x",)), compute=lambda row: row.text("x"))
    package = next(counter_column for counter_column in identities.COLUMNS if counter_column.id == "Package")

    def why(*items: Raw) -> str:
        frame = Frame(None, snapshot(PAIR, {"x": items}, {"x": [SECOND] * 2}), capabilities_of(signal))
        unavailable = frame.why(shown, SYSTEM_ROW)
        return "" if unavailable is None else unavailable.sentence()

    assert why("a", "a") == ""
    assert why("a", "b") == "out of range: x differs within this row: see the rows inside it"
    frame = Frame(None, snapshot(PAIR, {"x": ["a", "b"]}, {"x": [SECOND] * 2}), capabilities_of(signal))
    said = frame.why(package, SYSTEM_ROW)
    assert said is not None
    assert "the number of one Package, not of a row with several" in said.sentence()


def test_a_row_finer_than_the_column_shows_its_instance_and_says_which_row_prints_it() -> None:
    smt = topology_of([place(0, core=0), place(1, core=0), place(2, core=1)])
    frame = Frame(
        snapshot(smt, {"x": [0, 0]}, {"x": [SECOND] * 2}),
        snapshot(smt, {"x": [3, 4]}, {"x": [2 * SECOND] * 2}, seq=1),
        capabilities_of(counter("x", Scope.CORE)),
    )
    core = column("x", ("x",), Scope.CORE)
    assert [frame.cell(core, cpu_row(cpu)) for cpu in (0, 1, 2)] == [3, 3, 4]
    assert [frame.first_of_home(core, cpu_row(cpu)) for cpu in (0, 1, 2)] == [True, False, True]
    assert frame.cell(core, SYSTEM_ROW) == 7


def _calls(work: Callable[[], object]) -> int:
    """Calls and resumed generators while something is done."""
    count = 0

    def note(_frame: object, _event: str, _argument: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("changed", [False, True], ids=["late", "another topology before"])
def test_the_cost_of_asking_why_grows_with_the_cpus_and_not_by_their_square(*, changed: bool) -> None:
    """22 s of CPU time for one table of 4,096 CPUs of which many did not answer (issue 11)."""

    def asked(size: int) -> int:
        places = [place(cpu, cpu // 32) for cpu in range(size)]
        topology = topology_of(places)
        before = topology_of(places) if changed else topology
        signals = [counter("part", readers=(1, 3)), counter("whole", Scope.CORE)]
        values: dict[str, list[Raw]] = {"part": [None] * size, "whole": [0] * size}
        stamps = {name: [SECOND] * size for name in values}
        first = snapshot(before, {name: [0] * size for name in values}, stamps)
        second = snapshot(topology, values, {name: [2 * SECOND] * size for name in values}, seq=1, late=range(size))
        frame, share = Frame(first, second, capabilities_of(*signals)), column("share", ("part", "whole"))
        rows = frame.rows(Scope.CPU)
        frame.cell(share, rows[0])
        return _calls(lambda: [(frame.why(share, row), frame.inputs(row).delta("whole")) for row in rows])

    assert asked(512) < 5 * asked(128)


def test_the_parts_of_every_row_are_found_at_once() -> None:
    topology = topology_of([place(cpu, cpu // 8, cpu // 2) for cpu in range(64)])
    topology.parts(topology.rows(Scope.CORE)[0], Scope.CPU)
    assert _calls(lambda: [topology.parts(row, Scope.CPU) for row in topology.rows(Scope.CORE)]) < 20 * 32
    for core in topology.instances(Scope.CORE):
        assert tuple(topology.cpus[at] for at in topology.parts(core.row, Scope.CPU)) == core.cpus


def test_the_seconds_of_a_row_are_the_mean_of_its_instances() -> None:
    topology = topology_of([place(0, 0, 0), place(1, 0, 1), place(2, 1, 0)])
    first = snapshot(topology, {"x": [5, 5, 5]}, {"x": [SECOND] * 3})
    second = snapshot(topology, {"x": [6, 7, 8]}, {"x": [2 * SECOND, 4 * SECOND, 9 * SECOND]}, seq=1)
    frame = Frame(first, second, capabilities_of(counter("x")))
    rows = (cpu_row(1), frame.rows(Scope.PACKAGE)[0], SYSTEM_ROW)
    assert [frame.inputs(row).elapsed("x") for row in rows] == [3.0, 2.0, 4.0]
