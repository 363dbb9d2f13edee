"""Roofs: the i7-3770K's from its spec sheet, verdicts, working sets, storage, the plot model."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from knownmachines import known_machine

from turbotui.errors import MachineError, UsageError
from turbotui.features.roofline import storage
from turbotui.features.roofline.measuring import Measuring, machine_title, threads_of
from turbotui.features.roofline.plot import LineKind, LogAxis, PlotMark, build_plot
from turbotui.features.roofline.roof_tables import roof_tables
from turbotui.features.roofline.roofs import (
    Bandwidth,
    Bound,
    Origin,
    Peak,
    RoofEvidence,
    RoofSet,
    alike_levels,
    ridge,
    ridges,
    roof,
    verdict,
)
from turbotui.features.roofline.theory import chip_roofs, core_name, machine_roofs
from turbotui.features.roofline.working_sets import working_sets
from turbotui.machine.caches import Cache, parse_size, read_caches
from turbotui.machine.code.shapes import Mix, Operation
from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.machine import Machine
from turbotui.quantities.precision import Precision
from turbotui.simulated import simulated_host

_CHIP = chip_roofs("i7-3770K", "all")
_CORE = chip_roofs("i7-3770k", "one")


def _peak(roofs: RoofSet, isa: str, operation: Operation, precision: Precision = Precision.DOUBLE) -> float:
    return next(peak.flops for peak in roofs.peaks
                if (peak.isa, peak.operation, peak.precision) == (isa, operation, precision)) / 1e9


def _rate(roofs: RoofSet, level: str, isa: str = "AVX", mix: Mix = Mix.LOADS) -> float:
    return next(item.rate for item in roofs.bandwidths if (item.level, item.isa, item.mix) == (level, isa, mix)) / 1e9


@pytest.mark.parametrize(("isa", "operation", "core", "chip"), [
    ("scalar", Operation.ADD, 3.5, 14), ("scalar", Operation.MUL, 3.5, 14), ("scalar", Operation.ADD_MUL, 7, 28),
    ("SSE", Operation.ADD, 7, 28), ("SSE", Operation.MUL, 7, 28), ("SSE", Operation.ADD_MUL, 14, 56),
    ("AVX", Operation.ADD, 14, 56), ("AVX", Operation.MUL, 14, 56), ("AVX", Operation.ADD_MUL, 28, 112),
])
def test_the_peaks_of_the_i7_3770k(isa: str, operation: Operation, core: float, chip: float) -> None:
    assert _peak(_CORE, isa, operation) == pytest.approx(core)
    assert _peak(_CHIP, isa, operation) == pytest.approx(chip)
    factor = 1 if isa == "scalar" else 2
    assert _peak(_CHIP, isa, operation, Precision.SINGLE) == pytest.approx(factor * chip)


@pytest.mark.parametrize(("isa", "mix", "core", "chip"), [
    ("SSE", Mix.LOADS, 112, 448), ("AVX", Mix.LOADS, 112, 448), ("SSE", Mix.TWO_ONE, 112, 448),
    ("AVX", Mix.TWO_ONE, 168, 672), ("scalar", Mix.LOADS, 56, 224), ("scalar", Mix.TWO_ONE, 56, 224),
])
def test_the_l1_bandwidths_of_the_i7_3770k(isa: str, mix: Mix, core: float, chip: float) -> None:
    assert _rate(_CORE, "L1", isa, mix) == pytest.approx(core)
    assert _rate(_CHIP, "L1", isa, mix) == pytest.approx(chip)


def test_the_outer_levels_of_the_i7_3770k() -> None:
    assert _rate(_CHIP, "L2") == pytest.approx(448)
    assert _rate(_CHIP, "L3") == pytest.approx(448)
    assert _rate(_CHIP, "DRAM") == pytest.approx(29.856)
    assert _rate(_CORE, "DRAM") == pytest.approx(29.856)
    assert not any(peak.operation is Operation.FMA for peak in _CHIP.peaks)


@pytest.mark.parametrize(("peak", "bandwidth", "expected"), [
    (112, 672, 0.1667), (112, 448, 0.25), (112, 29.856, 3.7513), (56, 672, 0.0833), (56, 448, 0.125),
    (56, 29.856, 1.8757), (28, 672, 0.0417), (28, 448, 0.0625), (28, 29.856, 0.9378),
])
def test_the_ridge_points_of_the_i7_3770k(peak: float, bandwidth: float, expected: float) -> None:
    result = [item.flops for item in _CHIP.peaks if item.flops == pytest.approx(peak * 1e9)]
    slopes = [item.rate for item in _CHIP.bandwidths if item.rate == pytest.approx(bandwidth * 1e9)]
    assert ridge(result[0], slopes[0]) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(("intensity", "l1", "l2", "dram"), [
    (0.0625, 42, 28, 1.866), (0.25, 112, 112, 7.464), (1, 112, 112, 29.856), (8, 112, 112, 112),
])
def test_the_check_points_of_the_i7_3770k(intensity: float, l1: float, l2: float, dram: float) -> None:
    slopes = {bandwidth.level: bandwidth.rate for bandwidth in _CHIP.best_bandwidths()}
    peak = _CHIP.top_peak()
    assert peak is not None
    for level, expected in (("L1", l1), ("L2", l2), ("L3", l2), ("DRAM", dram)):
        assert roof(peak.flops, slopes[level], intensity) / 1e9 == pytest.approx(expected)


def test_ridges_name_the_highest_double_peak() -> None:
    assert [(peak.name, slant.level, round(place, 4)) for peak, slant, place in ridges(_CHIP)] == [
        ("AVX ADD+MUL double", "L1", 0.1667), ("AVX ADD+MUL double", "L2", 0.25), ("AVX ADD+MUL double", "L3", 0.25),
        ("AVX ADD+MUL double", "DRAM", 3.7513),
    ]


def test_a_chip_that_is_not_in_the_table_is_reported() -> None:
    with pytest.raises(UsageError, match="i7-3770K"):
        chip_roofs("6502", "all")


@pytest.mark.parametrize(("place", "bound", "ceiling", "reached", "above"), [
    ((1.0, 20.0), Bound.MEMORY, "DRAM bandwidth", 20 / 29.856, False),
    ((0.0625, 20.0), Bound.MEMORY, "L2 bandwidth", 20 / 28, False),  # more than DRAM could feed: a cache does
    ((0.0625, 40.0), Bound.MEMORY, "L1 bandwidth", 40 / 42, False),
    ((8.0, 60.0), Bound.COMPUTE, "AVX ADD+MUL double", 60 / 112, False),
    ((1.0, 50.0), Bound.COMPUTE, "AVX ADD+MUL double", 50 / 112, False),
    ((8.0, 150.0), Bound.COMPUTE, "AVX ADD+MUL double", 150 / 112, True),
])
def test_a_verdict_names_the_lowest_roof_above_the_point(place: tuple[float, float], bound: Bound, ceiling: str,
                                                         reached: float, above: bool) -> None:
    roof_verdict = verdict(_CHIP, place[0], place[1] * 1e9)
    assert (roof_verdict.bound, roof_verdict.ceiling, roof_verdict.above) == (bound, ceiling, above)
    assert roof_verdict.reached == pytest.approx(reached)
    assert f"{100 * reached:.0f} %" in roof_verdict.sentence()


@given(st.floats(1e-4, 1e4), st.floats(1e-3, 1.0))
def test_a_point_under_the_roof_never_reaches_more_than_all(intensity: float, share: float) -> None:
    slopes = _CHIP.best_bandwidths()
    peak = _CHIP.top_peak()
    assert peak is not None
    top = max(roof(peak.flops, bandwidth.rate, intensity) for bandwidth in slopes)
    roof_verdict = verdict(_CHIP, intensity, top * share)
    assert not roof_verdict.above
    assert 0 < roof_verdict.reached <= 1.0
    assert roof_verdict.attainable <= roof_verdict.top_attainable == pytest.approx(top)


def test_no_bandwidth_has_no_ridge() -> None:
    with pytest.raises(UsageError):
        ridge(1.0, 0.0)


def _cache(level: int, kib: int, cpus: int) -> Cache:
    return Cache(level, kib << 10, frozenset(range(cpus)))


def test_working_sets_lie_in_their_level() -> None:
    caches = [_cache(1, 48, 1), _cache(2, 1024, 1), _cache(3, 32768, 2)]
    alone = {working_set.level: working_set.bytes for working_set in working_sets(caches, [0], None)}
    assert alone == {"L1": 24 << 10, "L2": 512 << 10, "L3": (1 << 20) + (31 << 19), "DRAM": 128 << 20}
    both = {working_set.level: working_set.bytes for working_set in working_sets(caches, [0, 1], None)}
    assert both["L1"] == 24 << 10
    assert both["L3"] == ((2 << 20) + (30 << 19)) // 2
    assert both["DRAM"] == 64 << 20


def test_siblings_share_the_small_caches() -> None:
    caches = [_cache(1, 32, 2), _cache(2, 1024, 2)]
    result = {working_set.level: working_set.bytes for working_set in working_sets(caches, [0, 1], None)}
    assert result == {"L1": 8 << 10, "L2": 256 << 10, "DRAM": 32 << 20}


def test_a_small_memory_shrinks_the_dram_working_set_and_says_so() -> None:
    caches = [_cache(1, 48, 1), _cache(2, 1024, 1), _cache(3, 1 << 20, 1)]
    last = working_sets(caches, [0], 1 << 30)[-1]
    assert last.bytes == 512 << 20
    assert "512 MiB" in last.note


@given(st.integers(16, 128), st.integers(256, 4096), st.integers(1, 64), st.integers(1, 64))
def test_working_sets_never_overflow_their_level(l1: int, l2: int, l3_mib: int, threads: int) -> None:
    caches = [_cache(1, l1, 1), _cache(2, l2, 1), Cache(3, l3_mib << 20, frozenset(range(threads)))]
    result = {working_set.level: working_set.bytes for working_set in working_sets(caches, range(threads), None)}
    assert result["L1"] < l1 << 10
    assert result["L2"] < l2 << 10
    assert result["L3"] > result["L2"]
    assert result["DRAM"] * threads >= (3 * l3_mib) << 20


@pytest.mark.parametrize(("text", "size"), [("48K", 48 << 10), ("32M\n", 32 << 20), ("512", 512), ("1G", 1 << 30)])
def test_cache_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "K", "-1K", "0K", "12T", "1.5M"])
def test_what_is_not_a_cache_size(text: str) -> None:
    with pytest.raises(ValueError, match="not a cache size"):
        parse_size(text)


def test_caches_of_a_simulated_machine() -> None:
    caches = read_caches(simulated_host("sapphire-2s"), 0)
    assert [(cache.level, cache.size) for cache in caches][:2] == [(1, 48 << 10), (2, 2048 << 10)]
    assert [cache.level for cache in caches] == [1, 2, 3]
    assert len(caches[0].cpus) == 2
    assert read_caches(simulated_host("sapphire-2s"), 9999) == ()


@pytest.mark.parametrize(("name", "cores", "flops_per_cycle"), [
    ("sapphire-2s", 112, 32), ("turin-2s", 192, 32), ("grace-2s", 144, 16), ("laptop-old", 4, 16),
    ("forest-1s", 144, 8), ("vera-2s", 176, 24),
])
def test_theory_of_simulated_machines(name: str, cores: int, flops_per_cycle: int) -> None:
    machine = known_machine(simulated_host(name))
    roof_set = machine_roofs(machine, "all", threads_of(machine, "all", None))
    peak = roof_set.top_peak()
    assert peak is not None
    assert len(roof_set.cpus) == cores
    assert peak.flops == pytest.approx(flops_per_cycle * roof_set.hertz * cores)
    assert "SIMULATED" in roof_set.machine


def test_an_l3_that_no_document_gives_is_the_measured_one_among_theory() -> None:
    machine = known_machine(simulated_host("sapphire-2s"))
    evidence = RoofEvidence(9e10, 0.01, 7, 3e9, "loop", 1.0, 1 << 24)
    slants = tuple(Bandwidth(level, Mix.LOADS, "AVX-512", rate, evidence)
                   for level, rate in (("L1", 3e11), ("L2", 2e11), ("L3", 1e11)))
    plain = machine_roofs(machine, "one", (0,))
    measured = replace(plain, origin=Origin.MEASURED, bandwidths=slants, when="2026-01-02 03:04 UTC")
    roof_set = machine_roofs(machine, "one", (0,), measured=measured)
    assert [slant.rate for slant in roof_set.bandwidths if slant.level == "L3"] == [1e11]
    assert [slant for slant in roof_set.bandwidths if slant.level != "L3"] == [*plain.bandwidths]
    assert any(measured.when in note for note in roof_set.notes)
    assert not any("no roof of L3" in note for note in roof_set.notes)
    assert any("no roof of L3" in note for note in plain.notes)
    slanted = next(table for table in roof_tables((roof_set,)) if table.name == "bandwidths")
    origin = next(column for column in slanted.columns if column.id == "origin")
    assert {row.part.level: origin.compute(row) for row in slanted.rows} == {
        "L1": "theory", "L2": "theory", "L3": "measured"}
    core = machine_roofs(known_machine(simulated_host("turin-2s")), "one", (0,), measured=measured)
    assert all(slant.evidence is None for slant in core.bandwidths), "a document gives its L3"


@pytest.mark.parametrize(("name", "vectors", "matrices"), [
    ("sapphire-2s", 2 * 2 * 32, 1024), ("grace-2s", 2 * 4 * 8, 128), ("turin-2s", None, 128), ("laptop", None, None),
    ("vera-2s", 2 * 6 * 8, 192), ("neoverse-2s", 2 * 2 * 8, None), ("icelake-2s", None, None),
])
def test_half_precision_and_matrices_of_theory(name: str, vectors: int | None, matrices: int | None) -> None:
    machine = known_machine(simulated_host(name))
    roof_set = machine_roofs(machine, "one", threads_of(machine, "one", None))
    halves = {peak.isa: peak.flops / roof_set.hertz for peak in roof_set.peaks
              if peak.precision is Precision.HALF and peak.operation is Operation.FMA}
    matrix = next((halves.pop(name) for name in ("AMX", "BFMMLA", "AVX-512 BF16") if name in halves), None)
    assert (max(halves.values(), default=None), matrix) == (vectors, matrices)


@pytest.mark.parametrize(("lacking", "left"), [("amx_bf16", {"scalar", "SSE", "AVX", "AVX-512"}),
                                               ("avx512_fp16", {"AMX"})])
def test_half_precision_that_is_turned_off_is_no_theory(lacking: str, left: set[str]) -> None:
    machine = known_machine(simulated_host("sapphire-2s"))
    without = replace(machine, model=replace(machine.model, flags=machine.model.flags - {lacking}))
    roof_set = machine_roofs(without, "one", threads_of(machine, "one", None))
    assert {peak.isa for peak in roof_set.peaks if peak.precision is Precision.HALF} == left


@pytest.mark.parametrize(("name", "each_cycle", "lacking"), [
    ("sapphire-2s", {"AMX": 2048, "AVX-512 VNNI": 256}, "VDPBF16PS"), ("icelake-2s", {"AVX-512 VNNI": 256}, ""),
    ("turin-2s", {"AVX-512 VNNI": 256}, ""), ("grace-2s", {"SMMLA": 256}, ""), ("vera-2s", {"SMMLA": 384}, ""),
    ("neoverse-2s", {}, "SDOT"), ("forest-1s", {"AVX-VNNI": 64}, ""), ("laptop-old", {}, ""),
])
def test_roofs_of_int8_are_kept_apart_from_those_of_floating_point(name: str, each_cycle: dict[str, int],
                                                                   lacking: str) -> None:
    machine = known_machine(simulated_host(name))
    roof_set = machine_roofs(machine, "all", threads_of(machine, "all", None))
    cycles = roof_set.hertz * len(roof_set.cpus)
    assert {peak.isa: peak.flops / cycles for peak in roof_set.integer_peaks} == pytest.approx(each_cycle)
    assert all(peak.precision is Precision.INT8 for peak in roof_set.integer_peaks)
    assert all(peak.precision is not Precision.INT8 for peak in roof_set.peaks)
    said = [note for note in roof_set.notes if "how many a core takes each cycle" in note]
    assert [note.split(":")[0] for note in said] == ([f"no roof of {lacking}"] if lacking else [])
    table = next(roof_table for roof_table in roof_tables([roof_set]) if roof_table.name == "integer_peaks")
    assert [column.title for column in table.columns][:4] == ["threads", "ISA", "GOP/s", "op/cycle"]
    assert len(table.rows) == len(each_cycle)
    assert storage.from_json(json.loads(json.dumps(storage.to_json(roof_set)))) == roof_set


def test_a_hybrids_kinds_of_core_add_their_int8_up() -> None:
    machine = known_machine(simulated_host("laptop"))
    roof_set = machine_roofs(machine, "all", threads_of(machine, "all", None))
    each = {"Golden Cove": 128, "Crestmont": 64}
    (vnni,) = roof_set.integer_peaks
    assert vnni.flops == pytest.approx(sum(each[group.name] * group.cores * group.hertz for group in roof_set.groups))


def _cpus_of(machine: Machine, kind: str) -> tuple[int, ...]:
    return tuple(cpu for cpu, place in machine.topology.places.items() if place.core_type == kind)


@pytest.mark.parametrize(("name", "kind", "core", "cores", "each_cycle"), [
    ("laptop", "P", "Golden Cove", 6, (16, 96)), ("laptop", "E", "Crestmont", 10, (8, 32)),
    ("laptop-arrow", "P", "Lion Cove", 6, (16, 96)), ("laptop-arrow", "E", "Skymont", 8, (16, 48)),
    ("laptop-arrow", "LP", "Crestmont", 2, (8, 32)),
])
def test_each_kind_of_a_hybrids_cores_has_its_own_sheet(name: str, kind: str, core: str, cores: int,
                                                        each_cycle: tuple[int, int]) -> None:
    machine = known_machine(simulated_host(name))
    roof_set = machine_roofs(machine, kind, _cpus_of(machine, kind))
    cycles = sum(group.cores * group.hertz for group in roof_set.groups)
    assert {group.name for group in roof_set.groups} == {core}
    assert sum(group.cores for group in roof_set.groups) == len(roof_set.cpus) == cores
    assert _peak(roof_set, "AVX", Operation.FMA) * 1e9 == pytest.approx(each_cycle[0] * cycles)
    assert _rate(roof_set, "L1") * 1e9 == pytest.approx(each_cycle[1] * cycles)


@pytest.mark.parametrize("name", ["laptop", "laptop-arrow"])
def test_a_hybrids_cores_together_are_their_kinds_added_up(name: str) -> None:
    machine = known_machine(simulated_host(name))
    whole = machine_roofs(machine, "all", threads_of(machine, "all", None), highest=True)
    kinds = [machine_roofs(machine, kind, _cpus_of(machine, kind), highest=True)
             for kind in machine.topology.core_types]
    assert len(whole.cpus) == 16
    for peak in whole.peaks:
        parts = [_peak(kind, peak.isa, peak.operation, peak.precision) for kind in kinds]
        assert peak.flops / 1e9 == pytest.approx(sum(parts))
    assert _rate(whole, "L1") == pytest.approx(sum(_rate(kind, "L1") for kind in kinds))
    assert not any(bandwidth.level == "L3" for bandwidth in whole.bandwidths)
    assert any("L3" in note and "no document" in note for note in whole.notes)


def test_an_l2_shared_by_four_cores_gives_them_no_more_than_it_has() -> None:
    machine = known_machine(simulated_host("forest-1s"))
    roof_set, four, all_ = (machine_roofs(machine, "set", cpus) for cpus in ((0,), (0, 1, 2, 3), tuple(range(144))))
    assert _rate(roof_set, "L2") * 1e9 == pytest.approx(32 * roof_set.hertz)
    assert _rate(four, "L2") * 1e9 == pytest.approx(64 * roof_set.hertz)
    assert _rate(all_, "L2") * 1e9 == pytest.approx(36 * 64 * roof_set.hertz)


def test_what_no_table_has_is_said_not_guessed() -> None:
    machine = known_machine(simulated_host("vera-2s"))
    unknown = replace(machine, model=CpuModel(architecture="aarch64", vendor="Arm", implementer=0x41, part=0xD0F))
    with pytest.raises(MachineError, match="no spec sheet"):
        machine_roofs(unknown, "one", (0,))
    hybrid = known_machine(simulated_host("laptop"))
    later = replace(hybrid, model=replace(hybrid.model, model=0xCC))  # Panther Lake: no sheet of either core
    with pytest.raises(MachineError, match="kind P, E"):
        machine_roofs(later, "all", tuple(hybrid.topology.cpus))


def test_a_simulated_machine_is_never_measured() -> None:
    with pytest.raises(MachineError, match="SIMULATED"):
        Measuring(known_machine(simulated_host("guest")), "one", (0,))


@pytest.mark.parametrize(("family", "model", "expected"), [
    (0x17, 0x01, ""), (0x17, 0x31, "Zen 2 and Zen 3"), (0x19, 0x01, "Zen 2 and Zen 3"), (0x19, 0x11, "Zen 4"),
    (0x19, 0x50, "Zen 2 and Zen 3"), (0x19, 0x61, "Zen 4"), (0x1A, 0x02, "Zen 5"), (0x1A, 0x44, "Zen 5"),
    (0x1A, 0x24, ""), (0x15, 0x02, ""),
])
def test_amd_microarchitectures(family: int, model: int, expected: str) -> None:
    assert core_name(CpuModel(vendor="AuthenticAMD", family=family, model=model)) == expected


def test_a_model_whose_flags_are_another_ones_has_no_sheet() -> None:
    rocket = CpuModel(architecture="x86_64", vendor="GenuineIntel", family=6, model=0xA7, flags=frozenset({"avx512f"}))
    assert core_name(rocket) == "Sunny Cove"
    assert core_name(replace(rocket, flags=rocket.flags | {"amx_tile"})) == ""
    sapphire = known_machine(simulated_host("sapphire-2s")).model
    assert core_name(replace(sapphire, flags=sapphire.flags | {"amx_tile"})) == "Golden Cove server"


def test_a_width_that_is_turned_off_has_no_roof() -> None:
    machine = known_machine(simulated_host("turin-2s"))
    without = replace(machine, model=replace(machine.model, flags=machine.model.flags - {"avx512f"}))
    roof_set = machine_roofs(without, "one", (0,))
    assert {peak.isa for peak in roof_set.peaks} == {"scalar", "SSE", "AVX"}
    assert _rate(roof_set, "L2") > 0
    assert not any(bandwidth.isa == "AVX-512" for bandwidth in roof_set.bandwidths)


def test_a_virtual_machine_says_so() -> None:
    assert "virtual machine" in machine_title(known_machine(simulated_host("guest")))


def _measured() -> RoofSet:
    evidence = RoofEvidence(1.2e11, 0.1, 11, 4.2e9, "12x4", 0.9, 0)
    return RoofSet("EPYC (virtual machine)", Origin.MEASURED, "one", (0,), 4.2e9,
                   (Peak("AVX-512", 512, Precision.DOUBLE, Operation.FMA, 1.3e11, evidence),),
                   (Bandwidth("L1", Mix.TWO_ONE, "AVX-512", 7e11, replace(evidence, share=1.0, bytes=24576)),),
                   ("a note",), "2026-01-01T00:00:00+00:00")


def _hybrid() -> RoofSet:
    machine = known_machine(simulated_host("laptop"))
    return machine_roofs(machine, "all", threads_of(machine, "all", None))


def _disturbed() -> RoofSet:
    roofs = _measured()
    (slant,) = roofs.bandwidths
    assert slant.evidence is not None
    evidence = replace(slant.evidence, disturbances=("other work was on CPUs that share L1",))
    return replace(roofs, threads="all", cpus=(0, 1), bandwidths=(replace(slant, evidence=evidence),))


@pytest.mark.parametrize("roofs", [_CHIP, _measured(), _disturbed(), _hybrid()])
def test_roofs_survive_json(roofs: RoofSet) -> None:
    assert storage.from_json(json.loads(json.dumps(storage.to_json(roofs)))) == roofs


def _levels(l3: float, dram: float, mix: Mix = Mix.LOADS) -> tuple[Bandwidth, ...]:
    rates = {"L1": 400e9, "L2": 200e9, "L3": l3, "DRAM": dram}
    return tuple(Bandwidth(level, mix, "AVX", rate) for level, rate in rates.items())


def test_a_level_no_faster_than_the_next_is_reported() -> None:
    assert alike_levels(_levels(100e9, 80e9)) == ()
    both = (*_levels(100e9, 93e9), *_levels(50e9, 40e9, Mix.STORES), *_levels(50e9, 51e9, Mix.TWO_ONE))
    (said,) = alike_levels(both)
    assert said == ("L3 and DRAM are hardly apart (DRAM is within 7 % for loads, within 2 % for 2 loads : 1 store): "
                    "this machine does not get the L3 that it reports, or memory is as fast")
    assert "DRAM is 50 % faster for loads" in alike_levels(_levels(20e9, 30e9))[0]
    (inner,) = alike_levels(_levels(190e9, 20e9))
    assert inner.startswith("L2 and L3 are hardly apart (L3 is within 5 % for loads)")
    assert inner.endswith("or L3 is as fast")
    assert alike_levels(_levels(0.0, 0.0)) == ()


def test_levels_that_take_stores_alike_are_distinguished_by_loads() -> None:
    stores = [replace(bandwidth, mix=Mix.STORES, rate=100e9) for bandwidth in _levels(100e9, 80e9)]
    (said, *more) = alike_levels([*_levels(100e9, 20e9), *(store for store in stores if store.level in ("L1", "L2"))])
    assert said == "L2 is slower than L1 for loads, and hardly so else (within 0 % for stores)"
    assert not more


def test_stored_measurements_of_before_say_it_too() -> None:
    roofs = replace(_measured(), bandwidths=_levels(100e9, 93e9), notes=("x",))
    again = storage.from_json(json.loads(json.dumps(storage.to_json(roofs))))
    assert again.notes == ("x", *alike_levels(roofs.bandwidths))
    assert storage.from_json(storage.to_json(again)) == again
    sheet = replace(roofs, origin=Origin.THEORY)
    assert storage.from_json(storage.to_json(sheet)).notes == ("x",)


def test_storing_keeps_other_choices_and_replaces_the_same(tmp_path: Path) -> None:
    path = str(tmp_path / "deep" / "roofs.json")
    roof_set = _measured()
    storage.store(path, (roof_set, replace(roof_set, threads="all", cpus=(0, 1))))
    storage.store(path, (replace(roof_set, hertz=1e9),))
    assert {(result.threads, result.hertz) for result in storage.load(path)} == {("one", 1e9), ("all", 4.2e9)}
    assert [item.name for item in (tmp_path / "deep").iterdir()] == ["roofs.json"]


def test_a_disturbed_roof_is_never_stored_nor_taken_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "roofs.json"
    assert (_measured().disturbed, _disturbed().disturbed) == (False, True)
    storage.store(str(path), (_disturbed(),))
    assert not path.exists()
    storage.store(str(path), (_measured(), _disturbed()))
    assert [roof_set.threads for roof_set in storage.load(str(path))] == ["one"]
    data = json.loads(path.read_text(encoding="utf-8"))
    data["sets"].append(storage.to_json(_disturbed()))
    path.write_text(json.dumps(data), encoding="utf-8")
    assert [roof_set.threads for roof_set in storage.load(str(path))] == ["one"]
    path.write_text(json.dumps({**data, "format": 1}), encoding="utf-8")  # timed by the wall clock
    assert storage.load(str(path)) == ()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 99, "sets": []}', '{"format": 1, "sets": [{}]}',
                                  '{"format": 1, "sets": 3}'])
def test_a_damaged_store_counts_as_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "roofs.json"
    path.write_text(text, encoding="utf-8")
    assert storage.load(str(path)) == ()


def test_store_names_tell_machines_apart() -> None:
    guest, turin = (known_machine(simulated_host(name)) for name in ("guest", "turin-2s"))
    assert storage.file_name(guest) != storage.file_name(turin)
    assert "virtual" in storage.file_name(guest)
    assert "/" not in storage.file_name(turin)
    assert storage.folder({"XDG_DATA_HOME": "/data", "HOME": "/home/x"}) == "/data/turbotui/roofs"
    assert storage.folder({"XDG_DATA_HOME": "data", "HOME": "/home/x"}) == "/home/x/.local/share/turbotui/roofs"


def test_the_plot_holds_every_roof_ridge_and_point() -> None:
    plot = build_plot(_CHIP, [PlotMark(0.01, 0.05, "a"), PlotMark(0.0, 1.0, "no place"), PlotMark(50.0, 90.0, "b")])
    assert [mark.label for mark in plot.points] == ["a", "b"]
    places = [(x, y) for line in plot.lines for x, y in (line.start, line.end)]
    places += [(mark.intensity, mark.gflops) for mark in (*plot.points, *plot.ridges)]
    assert all(-1e-9 <= plot.x.place(x) <= 1 + 1e-9 and -1e-9 <= plot.y.place(y) <= 1 + 1e-9 for x, y in places)
    assert [line.kind for line in plot.lines].count(LineKind.MEMORY) == 4
    assert "theory" in plot.title
    for line in plot.lines:  # 45 degrees in log-log: y / x is the bandwidth at both ends
        if line.kind is LineKind.MEMORY:
            assert line.start[1] / line.start[0] == pytest.approx(line.end[1] / line.end[0])
        else:
            assert line.start[1] == line.end[1]


@given(st.floats(1e-6, 1e6), st.floats(1.1, 1e6), st.floats(0, 1))
def test_an_axis_undoes_itself(low: float, factor: float, place: float) -> None:
    axis = LogAxis(low, low * factor, "x")
    assert axis.place(axis.value(place)) == pytest.approx(place, abs=1e-6)
    assert all(axis.low <= tick.value <= axis.high for tick in axis.ticks())
    assert sum(tick.major for tick in axis.ticks()) >= math.floor(math.log10(factor))


def test_zoom_keeps_its_centre() -> None:
    axis = LogAxis(0.01, 100.0, "x")
    near = axis.zoomed(2.0, 1.0)
    assert near.place(1.0) == pytest.approx(axis.place(1.0))
    assert math.log10(near.high / near.low) == pytest.approx(2.0)
    with pytest.raises(UsageError):
        axis.zoomed(0.0, 1.0)
    with pytest.raises(UsageError):
        axis.place(0.0)


def test_streaming_stores_are_the_roof_of_none_but_those() -> None:
    roofs = RoofSet("made", Origin.MEASURED, "one", (0,), 1e9, (), (
        Bandwidth("DRAM", Mix.LOADS, "AVX", 10e9), Bandwidth("DRAM", Mix.STREAMING, "AVX", 20e9)))
    assert [bandwidth.rate for bandwidth in roofs.best_bandwidths()] == [10e9]
