"""Shared roofs: divided among the working cores, and judged by the memory's own counters."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from knownmachines import known_machine
from roofline_bed import Bed

from turbotui.features.roofline.live import RooflinePoint, read_points, total_of
from turbotui.features.roofline.roofs import Bound, RoofSet, verdict
from turbotui.features.roofline.sharing import WorkingCores, WorkingShare, divided, mean_working
from turbotui.features.roofline.theory import chip_roofs
from turbotui.features.roofline.traffic import MemoryTraffic
from turbotui.features.roofline.verdicts import LevelRoofs, core_weights, judge, part_of, roofs_for, sentence
from turbotui.features.uncore.recorders import TRAFFIC
from turbotui.machine.delegating_host import DelegatingHost
from turbotui.machine.machine import Machine
from turbotui.quantities.catalog.roofline import measured_definitions
from turbotui.quantities.roofline import Sizing, WidthModel
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope, cpu_row
from turbotui.quantities.speeds import Speed
from turbotui.simulated import ManualClock, simulated_host

_ALL = chip_roofs("i7-3770K", "all")
_ONE = chip_roofs("i7-3770K", "one")
_DRAM = 29.856e9


def _point(row: RowId, gflops: float, intensity: float, working: WorkingShare | None) -> RooflinePoint:
    return RooflinePoint(
        row,
        "x",
        gflops,
        gflops / intensity,
        intensity,
        "AVX",
        WidthModel.MIX,
        1.0,
        1.0,
        estimated=False,
        single=0.0,
        working=working,
    )


def _rate(roofs: RoofSet, level: str) -> float:
    return next(bandwidth.rate for bandwidth in roofs.best_bandwidths() if bandwidth.level == level)


def _machine(name: str) -> Machine:
    return known_machine(simulated_host(name, ManualClock(0), seed=7))


def _speeds(machine: Machine, cpus: set[int], flops: float, moved: float) -> dict[RowId, Speed | None]:
    """These CPUs do so much each, all others next to nothing."""
    return {cpu_row(cpu): Speed(flops, moved, flops, "AVX", WidthModel.MIX, 0.0) if cpu in cpus
            else Speed(1.0, 1.0, 1.0, "", WidthModel.MIX, 0.0) for cpu in machine.topology.cpus}


@given(st.integers(1, 4))
def test_a_core_has_its_share_of_the_memory_and_all_of_its_own_caches(cores: int) -> None:
    roof_set = divided(_ONE, WorkingShare(memory=1 / cores, beside=cores), whole=_ALL)
    assert _rate(roof_set, "DRAM") == pytest.approx(_DRAM / cores)
    assert _rate(roof_set, "L1") == _rate(_ONE, "L1")
    assert roof_set.top_peak() == _ONE.top_peak()
    machine = divided(_ALL, WorkingShare(cores, cores / 4, beside=cores), core=_ONE)
    assert _rate(machine, "DRAM") == pytest.approx(_DRAM)
    assert _rate(machine, "L1") == pytest.approx(cores * _rate(_ONE, "L1"))


@given(st.integers(1, 4), st.floats(0.01, 60.0), st.floats(0.01, 1.5))
def test_the_same_run_gets_one_verdict_by_core_and_by_machine(cores: int, intensity: float, share: float) -> None:
    """All working cores do the same: the machine does so many times that, and is held by the same roof."""
    core = LevelRoofs(_ONE, "", whole=_ALL)
    machine = LevelRoofs(_ALL, "", core=_ONE)
    flops = share * min(28e9, 100e9 * intensity) / 1e9
    by_core = core.judge(_point(cpu_row(0), flops, intensity, WorkingShare(third=1 / cores, memory=1 / cores,
                                                                           beside=cores)))
    by_machine = machine.judge(_point(SYSTEM_ROW, cores * flops, intensity, WorkingShare(cores, cores / 4,
                                                                                         beside=cores)))
    assert by_core is not None
    assert by_machine is not None
    assert (by_core.bound, by_core.ceiling) == (by_machine.bound, by_machine.ceiling)
    assert by_core.reached == pytest.approx(by_machine.reached)


def test_a_package_has_its_share_of_what_all_cores_reached() -> None:
    roof_set = part_of(_ALL, (0, 1))
    assert (roof_set.cpus, roof_set.threads) == ((0, 1), "package")
    assert [peak.flops * 2 for peak in roof_set.peaks] == [peak.flops for peak in _ALL.peaks]
    assert _rate(roof_set, "DRAM") == _DRAM / 2


def test_measured_roofs_of_many_cores_are_no_more_than_so_many_of_one() -> None:
    item = replace(_ONE, bandwidths=tuple(replace(slant, rate=10e9) if slant.level == "DRAM" else slant
                                          for slant in _ONE.bandwidths))
    for cores, expected in ((1, 10e9), (2, 20e9), (4, _DRAM)):
        assert _rate(divided(_ALL, WorkingShare(cores, cores / 4), core=item), "DRAM") == pytest.approx(expected)
        roof_set = divided(item, WorkingShare(memory=1 / cores, beside=cores), whole=_ALL)
        assert _rate(roof_set, "DRAM") == pytest.approx(expected / cores)


def test_memory_that_one_core_cannot_fill_is_a_roof_when_all_work() -> None:
    """By its sheet one core of this server takes less from its L2 than memory gives to all of them."""
    machine = _machine("sapphire-2s")
    choice = roofs_for(machine, cpu_row(0), {}, theory=True)
    alone = choice.under(WorkingShare())
    assert alone is not None
    assert "DRAM" not in alone.levels
    assert choice.whole is not None
    crowded = choice.under(WorkingShare(third=1 / 56, memory=1 / 56, beside=56))
    assert crowded is not None
    assert _rate(crowded, "DRAM") == pytest.approx(_rate(choice.whole, "DRAM") / 56)


@pytest.mark.parametrize(("cpus", "package", "machine"), [
    ({0}, (1, 1.0, 1), (1, 1 / 112, 0.5)), ({0, 1, 2, 112}, (3, 1 / 3, 3), (3, 3 / 112, 0.5)),
    ({0, 56}, (1, 1.0, 1), (2, 2 / 112, 1.0)),
])
def test_cores_at_work_are_counted_where_they_share(cpus: set[int], package: tuple[int, float, int],
                                                    machine: tuple[int, float, float]) -> None:
    """Two packages of 56 cores; CPU 112 is the sibling of CPU 0."""
    server = _machine("sapphire-2s")
    cores = WorkingCores(server.topology, _speeds(server, cpus, 1e9, 1e9), traffic={})
    core, whole = cores.of(cpu_row(0)), cores.of(SYSTEM_ROW)
    assert core is not None
    assert whole is not None
    assert [core.cores, core.memory, core.beside] == pytest.approx([1.0, package[1], package[2]])
    assert [whole.cores, whole.capacity, whole.memory] == pytest.approx([*machine])
    first = cores.of(server.topology.row(Scope.PACKAGE, 0))
    assert first is not None
    assert [first.cores, first.capacity, first.memory] == pytest.approx([package[0], package[0] / 56, 1.0])


def test_cores_of_several_kinds_weigh_by_what_they_can_do() -> None:
    laptop = _machine("laptop")
    weights = core_weights(laptop)
    assert weights["P"] > weights["E"] > 0
    efficient = {cpu for cpu, place in laptop.topology.places.items() if place.core_type == "E"}
    share = WorkingCores(laptop.topology, _speeds(laptop, efficient, 1e9, 1e9), weights).of(SYSTEM_ROW)
    assert share is not None
    assert share.cores == len(efficient)
    assert share.capacity < len(efficient) / 16
    assert core_weights(_machine("sapphire-2s")) == {}


@pytest.mark.parametrize(("share", "bound"), [(0.149, Bound.NONE), (0.151, Bound.MEMORY), (0.01, Bound.NONE)])
def test_far_below_every_roof_none_binds(share: float, bound: Bound) -> None:
    roof_verdict = verdict(_ALL, 0.5, share * 0.5 * _DRAM)
    assert (roof_verdict.bound, roof_verdict.ceiling) == (bound, "DRAM bandwidth")
    said = sentence(_point(SYSTEM_ROW, share * 0.5 * _DRAM / 1e9, 0.5, None), _ALL)
    assert ("no roof binds: latency, dependencies or waiting" in said) == (bound is Bound.NONE)
    assert ("latency, dependencies or waiting" in roof_verdict.sentence()) == (bound is Bound.NONE)


def test_memory_is_judged_by_its_own_counters() -> None:
    """66 % of the DRAM roof by what the core moves, while the controllers carry a twentieth of what they can."""
    flops = 0.66 * 0.5 * _DRAM
    assert verdict(_ALL, 0.5, flops).ceiling == "DRAM bandwidth"
    quiet = verdict(_ALL, 0.5, flops, used=0.05)
    assert quiet.ceiling != "DRAM bandwidth"
    assert not quiet.counted
    busy = verdict(_ALL, 0.05, 0.6 * 0.05 * 448e9, used=0.95)  # fed by caches, as it seems, but memory is full
    assert (busy.ceiling, busy.counted, busy.bound) == ("DRAM bandwidth", True, Bound.MEMORY)
    assert busy.reached == pytest.approx(0.95)
    high = verdict(_ALL, 40.0, 100e9, used=0.95)  # moves too little to be what fills the memory
    assert high.bound is Bound.COMPUTE
    assert verdict(_ALL, 8.0, 150e9, used=0.5).above


@given(st.floats(0.001, 100.0), st.floats(0.001, 1.0), st.floats(0.0, 1.5))
def test_counted_traffic_never_moves_a_point_above_the_roofs(intensity: float, share: float, used: float) -> None:
    top = min(112e9, 672e9 * intensity)
    roof_verdict = verdict(_ALL, intensity, share * top, used=used)
    assert not roof_verdict.above
    assert 0 < roof_verdict.reached <= 1.0 + 1e-9


def test_intervals_together_have_the_mean_of_what_worked() -> None:
    parts = [
        _point(SYSTEM_ROW, 1.0, 1.0, WorkingShare(cores, cores / 4, beside=cores, traffic=10.0)) for cores in (1.0, 3.0)
    ]
    whole = total_of(parts)
    assert whole is not None
    assert whole.working == WorkingShare(2.0, 0.5, beside=2.0, traffic=10.0)
    assert mean_working([]) is None
    assert mean_working([(None, 1.0)]) is None
    assert mean_working([(WorkingShare(4.0), 1.0), (None, 1.0)]) is None, "the mean of a half is not that of the whole"
    some = mean_working([(WorkingShare(traffic=5.0), 1.0), (WorkingShare(), 1.0)])
    assert some is not None
    assert some.traffic is None


@pytest.mark.parametrize("name", ["sapphire-2s", "turin-2s", "laptop", "vera-2s", "grace-2s"])
def test_the_memory_traffic_of_simulated_machines_is_read_beside(name: str) -> None:
    bed = Bed(name)
    traffic = MemoryTraffic(bed.machine)
    assert traffic.document
    bed.also = (traffic.sources(), traffic.signals())
    (frame,) = bed.frames(1.0, 1)
    result = traffic.read(frame)
    assert set(result) == {instance.row for instance in bed.machine.topology.instances(Scope.PACKAGE)}
    assert all(1e6 < rate < 1e12 for rate in result.values())
    reading = read_points(frame, [(SYSTEM_ROW, "machine")], measured_definitions(bed.capabilities.signals), Sizing(),
                          seconds=1.0, traffic=result)
    (point,) = reading.points
    assert point.working is not None
    assert point.working.traffic == pytest.approx(sum(result.values()))


class _NoControllers(DelegatingHost):
    """A host without the uncore PMUs of its machine."""

    def list_dir(self, path: str) -> tuple[str, ...]:
        return tuple(name for name in super().list_dir(path) if not name.startswith("uncore_"))


def test_where_no_controller_counts_resctrl_does_and_is_reported_as_the_source() -> None:
    bed = Bed("icelake-2s")
    bare = replace(bed.machine, host=_NoControllers(bed.host))
    assert MemoryTraffic(bare).document == ""
    traffic, controllers = MemoryTraffic(bare, by_cache=True), MemoryTraffic(bed.machine, by_cache=True)
    assert traffic.document.startswith("resctrl: mbm_total_bytes of all groups, by L3 cache")
    assert traffic.note.startswith("DRAM's bytes by resctrl")
    assert controllers.note == ""
    bed.also = ((*traffic.sources(), *controllers.sources()), traffic.signals() | controllers.signals())
    (frame,) = bed.frames(1.0, 1)
    result, true = traffic.read(frame), controllers.read(frame)
    assert set(result) == {instance.row for instance in bed.machine.topology.instances(Scope.PACKAGE)}
    for row, rate in result.items():
        assert rate == pytest.approx(0.9 * true[row], rel=0.02)  # the groups' part of it: simulated/resctrl_files.py


def test_bytes_of_ddr_beside_hbm_are_said_to_leave_its_traffic_out() -> None:
    with_hbm, without = _machine("server-psu"), _machine("icelake-2s")
    for recorded in (None, ()):
        assert MemoryTraffic(without, recorded).note == ""
    traffic = MemoryTraffic(with_hbm)
    assert traffic.document.startswith("uncore_imc")
    assert traffic.note.startswith("DRAM's bytes are those of DDR (uncore_imc): what HBM moves is not in them")


def test_where_nobody_counts_traffic_the_cores_bytes_are_compared() -> None:
    machine = _machine("guest")
    assert (MemoryTraffic(machine).sources(), MemoryTraffic(machine).document) == ((), "")
    point = _point(SYSTEM_ROW, 0.66 * 0.5 * _DRAM / 1e9, 0.5, WorkingShare(4, 1.0, beside=4))
    choice = LevelRoofs(_ALL, "", core=_ONE)
    assert choice.used(point.working) is None
    assert choice.judge(point) == judge(point, _ALL)


def test_every_way_to_count_traffic_is_bytes_of_one_pmu_in_a_time() -> None:
    assert len({(metric.pmu, metric.formula) for metric in TRAFFIC}) == len(TRAFFIC)
    for metric in TRAFFIC:
        assert metric.unit == "GB/s"
        lines = 64 if "64" in metric.formula else 1
        inputs = dict.fromkeys(metric.needs, 10.0)
        assert metric.expression.evaluate({**inputs, "dt": 2.0}) == pytest.approx(len(inputs) * 10.0 * lines / 2.0)
