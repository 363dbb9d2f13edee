"""The flat roof of a point: that of its width and precision, or the next one that can explain it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from knownmachines import known_machine

from turbotui.features.roofline.live import RooflinePoint, total_of
from turbotui.features.roofline.measuring import threads_of
from turbotui.features.roofline.plot import chosen_peaks
from turbotui.features.roofline.roofs import Bound, RoofSet
from turbotui.features.roofline.theory import chip_roofs, machine_roofs
from turbotui.features.roofline.verdicts import flat_roof, judge, precision_of, sentence
from turbotui.quantities import metric_table
from turbotui.quantities.precision import Precision
from turbotui.quantities.roofline import Sizing, WidthModel, counted
from turbotui.quantities.scope import SYSTEM_ROW
from turbotui.simulated import simulated_host

BROADWELL_ON = metric_table.definition("broadwell")
ZEN2_ZEN3 = metric_table.definition("zen2")

# i7-3770K, one core at 3.5 GHz: double 28 GF/s by AVX, 14 by SSE, 7 scalar; single is twice that of vectors


@pytest.fixture(scope="module")
def roofs() -> RoofSet:
    return chip_roofs("i7-3770K", "one")


def point_of(gflops: float, dominant: str, single: float | None, intensity: float = 40.0) -> RooflinePoint:
    return RooflinePoint(SYSTEM_ROW, "x", gflops, gflops / intensity, intensity, dominant, WidthModel.MIX, 1.0, 1.0,
                         estimated=False, single=single)


@pytest.mark.parametrize(("gflops", "dominant", "single", "roof"), [
    (20.0, "AVX", 0.0, ("AVX", Precision.DOUBLE)),
    (20.0, "AVX", 1.0, ("AVX", Precision.SINGLE)),
    (40.0, "AVX", 1.0, ("AVX", Precision.SINGLE)),
    (40.0, "AVX", 0.2, ("AVX", Precision.SINGLE)),  # more than double precision alone could do
    (40.0, "AVX", None, ("AVX", Precision.SINGLE)),
    (5.0, "scalar", 0.0, ("scalar", Precision.DOUBLE)),
    (8.0, "scalar", 0.0, ("SSE", Precision.DOUBLE)),  # a few vectors among scalars
    (20.0, "", 0.0, ("AVX", Precision.DOUBLE)),
])
def test_the_flat_roof_is_one_that_the_point_can_be_under(
        roofs: RoofSet, gflops: float, dominant: str, single: float | None, roof: tuple[str, Precision]) -> None:
    peak = flat_roof(roofs, gflops * 1e9, dominant, single)
    assert peak is not None
    assert (peak.isa, peak.precision) == roof
    verdict = judge(point_of(gflops, dominant, single), roofs)
    assert verdict is not None
    assert verdict.bound is Bound.COMPUTE
    assert not verdict.above
    assert verdict.reached == pytest.approx(gflops * 1e9 / peak.flops)


@pytest.mark.parametrize(("gflops", "single"), [(30.0, 0.0), (60.0, 1.0), (60.0, None)])
def test_what_no_roof_explains_is_called_that(roofs: RoofSet, gflops: float, single: float | None) -> None:
    assert "above every roof" in sentence(point_of(gflops, "AVX", single), roofs)


@pytest.mark.parametrize(("gflops", "half", "judged"), [
    (20.0, 0.0, True), (20.0, 0.3, True), (20.0, 0.9, False), (500.0, 0.3, False),
])
def test_half_precision_is_compared_with_no_other_roof(roofs: RoofSet, gflops: float, half: float,
                                                       judged: bool) -> None:
    point = replace(point_of(gflops, "AVX", 0.0), half=half)
    assert (judge(point, roofs) is not None) == judged
    assert ("have no roof here" in sentence(point, roofs)) != judged


def test_half_precision_stands_under_roofs_of_theory_and_is_drawn_with_them() -> None:
    machine = known_machine(simulated_host("sapphire-2s"))
    roofs = machine_roofs(machine, "one", threads_of(machine, "one", None))
    of_vectors, of_matrices = (replace(point_of(gflops, "AVX-512", 0.0), half=0.9) for gflops in (200.0, 900.0))
    assert "78 % of the AVX-512 FMA half roof" in sentence(of_vectors, roofs)  # of 256
    assert "44 % of the AMX FMA half roof" in sentence(of_matrices, roofs)  # of 2,048
    names = [peak.name for peak in chosen_peaks(roofs, precision_of(of_vectors))]
    assert names == ["AMX FMA half", "AVX-512 FMA half", "AVX FMA half", "SSE FMA half", "scalar FMA half"]
    usual = point_of(20.0, "AVX", 0.0)
    assert {peak.precision for peak in chosen_peaks(roofs, precision_of(usual))} == {Precision.DOUBLE}


def test_a_width_that_is_not_counted_is_reported(roofs: RoofSet) -> None:
    assert sentence(point_of(14.0, "", 0.0), roofs).endswith("width not counted: compared with the highest roof")
    assert "50 % of the AVX" in sentence(point_of(14.0, "AVX", 0.0), roofs)


def test_the_share_of_single_precision_is_that_of_the_operations() -> None:
    counts = {term.event: 0.0 for term in BROADWELL_ON.flops}
    counts |= {"avx double": 10.0, "avx single": 5.0, "loads": 1.0, "stores": 1.0}
    result = counted(BROADWELL_ON, counts, Sizing())
    assert result is not None
    assert result.single == pytest.approx(0.5)  # 10 times 4 operations, 5 times 8
    without = counted(ZEN2_ZEN3, {"flops": 8.0, "loads": 1.0, "stores": 1.0}, Sizing())
    assert without is not None
    assert without.single is None


def test_intervals_together_weigh_precision_by_operations() -> None:
    whole = total_of([point_of(10.0, "AVX", 1.0), point_of(30.0, "AVX", 0.0)])
    assert whole is not None
    assert whole.single == pytest.approx(0.25)
    unknown = total_of([point_of(10.0, "AVX", 1.0), point_of(30.0, "AVX", None)])
    assert unknown is not None
    assert unknown.single is None
