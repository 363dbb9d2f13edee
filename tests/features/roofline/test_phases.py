"""Simulated applications with known phases, and the phases found through all layers."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_truth import CpuTruth, truth_of
from roofline_bed import Bed
from smallmachines import small_host

from turbotui.errors import UsageError
from turbotui.features.roofline.live import read_points
from turbotui.features.roofline.phases import Moment, Phase, find_phases, kinds_of
from turbotui.quantities.catalog.roofline import measured_definitions
from turbotui.quantities.roofline import Sizing
from turbotui.quantities.scope import SYSTEM_ROW, cpu_row
from turbotui.sampling.frame import Frame
from turbotui.simulated import ManualClock, simulated_host
from turbotui.simulated.applications import APPLICATIONS


@dataclass(frozen=True)
class Run:
    """One CPU over a run: the observed points, and the model's work."""

    seen: list[Moment]
    true: list[Moment]


def _run(machine: str, seconds: float, count: int) -> Run:
    clock = ManualClock(0)
    bed = Bed(machine, warm_up=0.1, clock=clock, host=small_host(machine, clock, seed=7))
    marks: list[CpuTruth] = []
    frames = bed.frames(seconds, count, lambda _number: marks.append(truth_of(bed.host).truth(0)))
    true = [
        Moment(seconds, after.flops - before.flops,
               after.bytes_loaded + after.bytes_stored - before.bytes_loaded - before.bytes_stored)
        for before, after in itertools.pairwise(marks)
    ]
    return Run([_moment(bed, frame, seconds) for frame in frames], true)


def _moment(bed: Bed, frame: Frame, seconds: float) -> Moment:
    definitions = measured_definitions(bed.capabilities.signals)
    point = read_points(frame, [(cpu_row(0), "cpu 0")], definitions, Sizing(), seconds=0.0).points[0]
    assert point.gbytes is not None
    return Moment(seconds, point.gflops * 1e9 * seconds, point.gbytes * 1e9 * seconds, point.dominant)


@pytest.mark.parametrize("machine", ["laptop-old", "sapphire-2s", "turin-2s", "vera-2s"])
@pytest.mark.parametrize("application", sorted(one.name for one in APPLICATIONS.values() if one.first != one.second))
def test_the_two_behaviours_are_recovered_within_two_percent(machine: str, application: str) -> None:
    run = _run(f"{machine}+{application}", 0.25, 120)
    for seen, true in zip(run.seen, run.true, strict=True):
        assert seen.flops == pytest.approx(true.flops, rel=0.02)
        assert seen.bytes == pytest.approx(true.bytes, rel=0.02)
    kinds = kinds_of(find_phases(run.seen))
    want = kinds_of(find_phases([Moment(moment.seconds, moment.flops, moment.bytes, seen.dominant)
                                 for moment, seen in zip(run.true, run.seen, strict=True)]))
    assert len(kinds) >= 2
    assert [kind.intervals for kind in kinds] == [kind.intervals for kind in want]
    for kind, true_kind in zip(kinds, want, strict=True):
        assert kind.intensity == pytest.approx(true_kind.intensity, rel=0.02)
        assert kind.gflops == pytest.approx(true_kind.gflops, rel=0.02)


def test_calculix_differs_in_intensity_and_tonto_in_width() -> None:
    calculix = kinds_of(find_phases(_run("sapphire-2s+calculix", 0.25, 80).seen))
    assert {kind.dominant for kind in calculix} == {"scalar"}
    # two double-precision operations of a fused instruction over 8 bytes an access: 0.4 / 4.4 and 1.0 / 1.52
    result = sorted({round(kind.intensity or 0.0, 3) for kind in calculix})
    assert result[0] == pytest.approx(0.4 / 4.4, rel=0.02)
    assert result[-1] == pytest.approx(1.0 / 1.52, rel=0.02)
    tonto = kinds_of(find_phases(_run("sapphire-2s+tonto", 0.25, 80).seen))
    assert {kind.dominant for kind in tonto} == {"scalar", "AVX-512"}
    for kind in tonto:
        assert kind.intensity == pytest.approx(0.6 / 3.2, rel=0.02)


def test_an_unknown_application_is_named_with_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"cannot run .calculus. \(did you mean calculix\?\); there are .*tonto"):
        simulated_host("laptop-old+calculus", ManualClock(0))


def test_rows_of_several_cpus_are_summed() -> None:
    bed = Bed("laptop-old+tonto")
    frame = bed.frames(1.0, 1)[0]
    definitions = measured_definitions(bed.capabilities.signals)
    cpus = [(cpu_row(cpu), f"cpu {cpu}") for cpu in bed.machine.topology.cpus]
    reading = read_points(frame, [*cpus, (SYSTEM_ROW, "machine")], definitions, Sizing(), seconds=1.0)
    assert reading.unknown == 0
    *parts, whole = reading.points
    assert whole.gflops == pytest.approx(sum(point.gflops for point in parts))
    assert whole.gbytes == pytest.approx(sum(point.gbytes or 0.0 for point in parts))
    assert whole.gflops == pytest.approx(bed.cell(frame, "GFLOP/s", SYSTEM_ROW))


_POSITIVE = st.floats(1e3, 1e12)


@given(st.lists(st.tuples(st.floats(0.05, 5.0), _POSITIVE, _POSITIVE, st.sampled_from(["scalar", "AVX"])), max_size=40))
def test_phases_lose_nothing(raw: list[tuple[float, float, float, str]]) -> None:
    moments = [Moment(*item) for item in raw]
    phases = find_phases(moments)
    assert sum(phase.flops for phase in phases) == pytest.approx(sum(moment.flops for moment in moments))
    assert sum(phase.bytes for phase in phases) == pytest.approx(sum(moment.bytes for moment in moments))
    assert sum(phase.seconds for phase in phases) == pytest.approx(sum(moment.seconds for moment in moments))
    assert sum(phase.intervals for phase in phases) == len(moments)
    ends = [phase.start + phase.seconds for phase in phases]
    assert ends[:-1] == pytest.approx([phase.start for phase in phases[1:]])


def test_a_change_within_an_interval_spoils_no_phase() -> None:
    low, mixed, high = Moment(1.0, 1e9, 1e10, "AVX"), Moment(1.0, 5e9, 7e9, "AVX"), Moment(1.0, 9e9, 4e9, "AVX")
    phases = find_phases([low, low, mixed, high, high, high])
    assert [phase.intervals for phase in phases] == [2, 1, 3]
    kinds = kinds_of(phases)
    assert [kind.intensity for kind in kinds] == [0.1, 2.25]
    assert kinds_of(find_phases([mixed]))[0].intensity == pytest.approx(5 / 7)


def test_idle_intervals_are_a_phase_without_intensity() -> None:
    idle = Moment(1.0, 0.0, 0.0)
    phases = find_phases([idle, idle, Moment(1.0, 1e9, 1e9)])
    assert [phase.intervals for phase in phases] == [2, 1]
    assert phases[0].intensity is None
    assert Phase(0.0, 0.0, 1.0, 1.0, "", 1).gflops == 0.0
