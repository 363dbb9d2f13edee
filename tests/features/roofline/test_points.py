"""Metrics, event sets, their joining and the resulting points, compared with applications of known behaviour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from knownmachines import known_machine
from roofline_bed import Bed
from smallmachines import small_shape

from turbotui.errors import UsageError
from turbotui.features.roofline.command import joined_intervals
from turbotui.features.roofline.live import read_points, total_of
from turbotui.features.roofline.result import JudgedPoint
from turbotui.features.roofline.result_tables import POINT_COLUMNS, judge_column
from turbotui.features.roofline.verdicts import roofs_for, sentence
from turbotui.machine.core_metrics import metric_definition_of
from turbotui.machine.cpumodel import CpuModel
from turbotui.quantities import metric_table
from turbotui.quantities.catalog.roofline import measured_definitions
from turbotui.quantities.joined_sets import SetInterval, join_rotation, line
from turbotui.quantities.metric_definitions import MetricDefinition, plan_sets, without_half
from turbotui.quantities.precision import Precision
from turbotui.quantities.roofline import Counted, Sizing, WidthModel, counted
from turbotui.quantities.scope import SYSTEM_ROW, cpu_row
from turbotui.sampling.frame import Frame
from turbotui.simulated import ManualClock, SimulatedHost, simulated_host
from turbotui.simulated.named import named_shape
from turbotui.simulated.workloads import WORKLOADS

IVY_BRIDGE = metric_table.definition("ivybridge")
HASWELL = metric_table.definition("haswell")
BROADWELL_ON = metric_table.definition("broadwell")
SAPPHIRE_RAPIDS = metric_table.definition("sapphirerapids")
INTEL_E = metric_table.definition("crestmont")
DARKMONT = metric_table.definition("darkmont")
SKYMONT = metric_table.definition("skymont")
GRACEMONT = metric_table.definition("gracemont")
ZEN2_ZEN3 = metric_table.definition("zen2")
ZEN4 = metric_table.definition("zen4")
ZEN5 = metric_table.definition("zen5")
NEOVERSE = metric_table.definition("neoverse")
OLYMPUS = metric_table.definition("olympus")
NEOVERSE_N1 = metric_table.definition("neoverse-n1")
METRIC_DEFINITIONS = tuple(metric_table.definition(name) for name in metric_table.METRIC_DEFINITIONS.names())


def _one(definition: MetricDefinition, counts: Mapping[str, float], sizing: Sizing | None = None) -> Counted | None:
    full = {event.key: 0.0 for event in definition.events} | dict(counts)
    return _sized(definition, full, sizing or Sizing())


def _sized(definition: MetricDefinition, counts: Mapping[str, float], sizing: Sizing) -> Counted | None:
    result = counted(definition, counts, sizing)
    return None if result is None or result.bytes is None else result


@pytest.mark.parametrize("definition", METRIC_DEFINITIONS)
def test_metric_definitions_are_whole(definition: MetricDefinition) -> None:
    keys = [event.key for event in definition.events]
    assert len(set(keys)) == len(keys)
    assert len({(event.config, event.config1) for event in definition.events}) == len(keys)
    used = {term.event for term in (*definition.flops, *definition.accesses, *definition.exact_bytes)}
    used |= {width.event for width in definition.widths}
    assert used <= set(keys)
    assert definition.note
    assert definition.source


@pytest.mark.parametrize(("definition", "key", "perf"), [
    (IVY_BRIDGE, "avx double", "config=0x211"), (IVY_BRIDGE, "scalar double", "config=0x8010"),
    (BROADWELL_ON, "scalar double", "config=0x1c7"), (BROADWELL_ON, "avx512 single", "config=0x80c7"),
    (BROADWELL_ON, "loads", "config=0x81d0"), (ZEN2_ZEN3, "flops", "config=0xf03"),
    (ZEN5, "scalar double", "config=0x8f03"), (ZEN5, "packed double", "config=0xaf03"),
    (ZEN5, "scalar single", "config=0x4f03"), (ZEN5, "packed single", "config=0x6f03"),
    (ZEN5, "loads", "config=0x529"), (ZEN5, "stores", "config=0x629"), (ZEN4, "ops 512", "config=0x2008"),
    (INTEL_E, "flops double", "config=0x1c8"), (NEOVERSE, "scale flops", "config=0x80c0"),
    (OLYMPUS, "fixed double", "config=0x80c7"), (NEOVERSE, "fixed bytes", "config=0x80db"),
    (NEOVERSE, "single instructions", "config=0x8018"), (NEOVERSE, "double instructions", "config=0x801c"),
    (SKYMONT, "avx single", "config=0x10c7"), (DARKMONT, "avx single", "config=0x10c7"),
    (SAPPHIRE_RAPIDS, "avx512 half", "config=0x10cf"), (SAPPHIRE_RAPIDS, "amx", "config=0x2ce"),
])
def test_raw_codes(definition: MetricDefinition, key: str, perf: str) -> None:
    assert next(event.perf for event in definition.events if event.key == key) == perf


def test_the_sets_of_ivy_bridge_are_the_papers() -> None:
    assert [[event.config for event in events] for events in plan_sets(IVY_BRIDGE)] == [
        [0x2010, 0x4010, 0x0111, 0x0211], [0x8010, 0x1010, 0x81D0, 0x82D0],
    ]


def test_amd_sets_leave_room_for_pairs_and_instructions() -> None:
    assert [[event.key for event in events] for events in plan_sets(ZEN5)] == [
        ["scalar double", "packed double"], ["scalar single", "packed single", "loads"],
        ["stores", "ops scalar", "ops 128", "ops 256", "ops 512"], ["bfloat16"],
    ]
    assert len(plan_sets(ZEN4)) == 2
    assert len(plan_sets(without_half(ZEN5))) == 3


@given(st.sampled_from(METRIC_DEFINITIONS), st.integers(3, 12))
def test_every_event_is_in_one_set_that_fits(definition: MetricDefinition, counters: int) -> None:
    sets = plan_sets(definition, counters)
    assert [event for events in sets for event in events] == list(definition.events)
    assert all(sum(event.counters for event in events) <= counters - definition.overlap for events in sets)


def test_absent_events() -> None:
    absent = frozenset({"avx512 double", "avx512 single"})
    assert len(plan_sets(BROADWELL_ON.without(absent), 8)) == 1
    assert BROADWELL_ON.without({"loads"}) is BROADWELL_ON  # no machine of this definition lacks them
    with pytest.raises(UsageError, match="takes 2 counters"):
        plan_sets(ZEN5, 2)


def test_flops_by_the_weights_of_the_widths() -> None:
    result = _one(BROADWELL_ON, {"scalar double": 1, "sse double": 10, "avx double": 100, "avx512 double": 1000,
                                 "scalar single": 1e4, "sse single": 1e5, "avx single": 1e6, "avx512 single": 1e7,
                                 "loads": 5, "stores": 5})
    assert result is not None
    assert result.flops == 1 + 20 + 400 + 8000 + 1e4 + 4e5 + 8e6 + 16e7
    assert result.dominant == "AVX-512"


def test_the_two_width_models_and_the_given_one() -> None:
    counts = {"avx double": 300.0, "scalar double": 100.0, "loads": 200.0, "stores": 100.0}
    mix = _one(BROADWELL_ON, counts)
    precision = _one(BROADWELL_ON, counts, Sizing(WidthModel.PRECISION))
    given_bytes = _one(BROADWELL_ON, counts, Sizing(WidthModel.GIVEN, given=16.0))
    assert mix is not None
    assert precision is not None
    assert given_bytes is not None
    assert (mix.access_bytes, mix.bytes, mix.width) == (26.0, 7800.0, WidthModel.MIX)
    assert (precision.access_bytes, precision.bytes) == (8.0, 2400.0)
    assert given_bytes.bytes == 4800.0
    assert mix.flops == pytest.approx(1300)
    halves = _one(BROADWELL_ON, {"scalar double": 10, "scalar single": 10, "loads": 1},
                  Sizing(WidthModel.PRECISION))
    assert halves is not None
    assert halves.access_bytes == 6.0


def test_half_precision_and_matrices_count_on_sapphire_rapids() -> None:
    result = counted(SAPPHIRE_RAPIDS, {**{event.key: 0.0 for event in SAPPHIRE_RAPIDS.events}, "scalar half": 1.0,
                                       "complex half": 10.0, "sse half": 100.0, "avx half": 1e3, "avx512 half": 1e4,
                                       "amx": 1e6, "avx single": 1e5, "loads": 1.0}, Sizing(WidthModel.PRECISION))
    assert result is not None
    half = 1 + 20 + 800 + 16e3 + 32e4 + 4e6
    assert result.flops == half + 8e5
    assert result.half == pytest.approx(half / result.flops)
    assert result.single == pytest.approx(8e5 / result.flops)
    assert result.bytes == pytest.approx((2 * half + 4 * 8e5) / result.flops)
    without = {event.key: 1.0 for event in SAPPHIRE_RAPIDS.events if not event.optional}
    refusing = SAPPHIRE_RAPIDS.without(SAPPHIRE_RAPIDS.optional)  # a kernel or a guest that refuses them
    assert counted(refusing, without, Sizing()) is not None
    assert counted(SAPPHIRE_RAPIDS, without, Sizing()) is None  # they are there, and were not read


@pytest.mark.parametrize(("definition", "flops"), [(ZEN4, "flops"), (ZEN5, "packed single")])
def test_bfloat16_counts_on_zen_4_and_later(definition: MetricDefinition, flops: str) -> None:
    counts = {event.key: 0.0 for event in definition.events} | {flops: 1e6, "bfloat16": 3e6, "ops 512": 1e5,
                                                                "loads": 1e5}
    result = counted(definition, counts, Sizing())
    assert result is not None
    assert (result.flops, result.half, result.bytes) == (4e6, 0.75, 64e5)
    assert result.single == (None if definition is ZEN4 else 0.25)
    without = {key: value for key, value in counts.items() if key != "bfloat16"}
    fewer = counted(definition.without({"bfloat16"}), without, Sizing())  # a kernel or a guest that refuses it
    assert fewer is not None
    assert (fewer.flops, fewer.half) == (1e6, 0.0)


def test_bfloat16_of_a_simulated_machine_is_what_its_model_does() -> None:
    shape, _ = named_shape("turin-2s")
    ours = replace(WORKLOADS[0], name="products of matrices", scalar=0.0, wide=0.1, single=0.0, bfloat=0.3)
    kinds = tuple(replace(kind, works=(ours,) * len(WORKLOADS)) for kind in shape.core_types)
    clock = ManualClock(0)
    bed = Bed("", host=SimulatedHost(small_shape(replace(shape, core_types=kinds)), clock, seed=7), clock=clock)
    (frame,) = bed.frames(10.0, 1)
    row = cpu_row(0)
    flops, size = bed.cell(frame, "GFLOP/s", row), bed.cell(frame, "CoreGB/s", row)
    assert flops is not None
    assert size is not None
    # 512 bits are 8 doubles, or 32 bfloat16 numbers; each product is added. All accesses are as wide
    each = (0.1 * 8 * 2 + 0.3 * 32 * 2) / ((ours.loads + ours.stores) * 64)
    assert flops / size == pytest.approx(each, rel=1e-6)


@pytest.mark.parametrize("event", ["avx_double", "avx512_double"])
def test_a_count_that_was_not_read_on_a_cpu_is_in_no_number(event: str) -> None:
    bed = Bed("sapphire-2s")
    (frame,) = bed.frames(1.0, 1)
    signal = f"roofline.sapphirerapids.{event}"
    numbers = [None if at == 0 else number for at, number in enumerate(frame.newer.values[signal])]
    torn = Frame(frame.older, replace(frame.newer, values={**frame.newer.values, signal: numbers}), frame.capabilities)
    rows = [(cpu_row(0), "cpu 0"), (cpu_row(1), "cpu 1"), (SYSTEM_ROW, "machine")]
    definitions = measured_definitions(bed.capabilities.signals)
    read = {name: [point for point in read_points(seen, rows, definitions, Sizing(), seconds=1.0).points
                   if point.name == name] for seen in (torn,) for _row, name in rows}
    assert bed.cell(torn, "GFLOP/s", cpu_row(0)) is None
    assert not read["cpu 0"]
    assert read["cpu 1"][0].lacking is None
    (machine,) = read["machine"]
    whole, alone = bed.cell(frame, "GFLOP/s", SYSTEM_ROW), bed.cell(frame, "GFLOP/s", cpu_row(0))
    assert whole is not None
    assert alone is not None
    assert machine.gflops == pytest.approx(whole - alone)
    assert machine.lacking is not None
    assert "cpu 0" in machine.lacking.detail
    judged = JudgedPoint(machine, roofs_for(bed.machine, SYSTEM_ROW, {}))
    cells = {column.id: judge_column(column, judged, column.compute(judged)) for column in POINT_COLUMNS}
    for name in ("AI", "GFLOP/s", "GB/s", "by", "of roof", "attainable", "cores"):
        assert cells[name].partial, name
        assert cells[name].bare is None
    assert not cells["length"].partial
    assert f"*{machine.gflops:.3g} GF/s" in sentence(machine, None)
    later = total_of([machine, *[point for point in read_points(frame, rows, definitions, Sizing(), seconds=2.0).points
                                 if point.name == "machine"]])
    assert later is not None
    assert later.lacking == machine.lacking


def test_e_cores_have_256_bit_single_precision_from_skymont_on() -> None:
    counts = {"flops single": 8e6, "avx single": 1e6, "loads": 1e6, "stores": 0.0}
    for definition in (SKYMONT, DARKMONT):
        result = _one(definition, counts)
        assert result is not None
        assert (result.dominant, result.access_bytes) == ("AVX", 32.0)
    assert "avx single" not in {event.key for event in INTEL_E.events}


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.floats(0.0, 1.0))
def test_neoverse_tells_precisions_by_their_instructions(double: int, single: int, vectors: float) -> None:
    """Instructions of each precision, of which the same share are vectors of 128 bits."""
    flops = single * (1 + 3 * vectors) + double * (1 + vectors)
    counts = {event.key: 0.0 for event in NEOVERSE.events}
    counts |= {"fixed flops": flops, "single instructions": single, "double instructions": double,
               "vector instructions": vectors * (single + double),
               "scalar instructions": (1 - vectors) * (single + double)}
    result = counted(NEOVERSE, counts, Sizing())
    assert result is not None
    expected = single * (1 + 3 * vectors) / flops if flops else 0.0
    assert result.single == pytest.approx(expected, abs=1e-6)
    assert result.half == 0.0


def test_a_core_without_the_events_of_precisions_does_not_tell_them() -> None:
    counts = {event.key: 0.0 for event in NEOVERSE.events} | {"fixed flops": 1e6}
    for missing in ("", "single instructions"):
        result = counted(NEOVERSE, {key: value for key, value in counts.items() if key != missing}, Sizing())
        assert result is not None
        assert result.single is None


@pytest.mark.parametrize("definition", METRIC_DEFINITIONS)
def test_tasks_are_counted_with_as_few_events_as_before(definition: MetricDefinition) -> None:
    metric_definition = without_half(definition)
    assert len(plan_sets(metric_definition)) <= 3 or definition.overlap
    assert not any(term.precision is Precision.HALF for term in (*metric_definition.flops, *metric_definition.shares))
    assert {term.event for term in metric_definition.flops} | {width.event for width in metric_definition.widths} <= {
        event.key for event in metric_definition.events}
    assert (metric_definition is definition) == (not definition.reduced_note)


def test_zen5_takes_widths_from_operations() -> None:
    result = _one(ZEN5, {"packed double": 8e6, "ops 512": 1e6, "loads": 1e6, "stores": 5e5})
    assert result is not None
    assert (result.flops, result.bytes, result.dominant) == (8e6, 1.5e6 * 64, "AVX-512")


def test_arm_counts_bytes_where_it_can_and_scales_by_vector_length() -> None:
    counts = {"scale flops": 1e6, "fixed flops": 10.0, "scale bytes": 3e6, "fixed bytes": 7.0}
    result = _one(NEOVERSE, counts, Sizing(vector_bits=256))
    assert result is not None
    assert (result.flops, result.bytes, result.width) == (2e6 + 10, 6e6 + 7, WidthModel.EXACT)
    assert result.access_bytes is None
    none = {"scale flops": 1e6, "vector instructions": 1e6, "loads": 1e6, "stores": 0.0}
    modelled = _one(NEOVERSE, none)
    assert modelled is not None
    assert (modelled.bytes, modelled.width) == (16e6, WidthModel.MIX)


def test_what_cannot_be_counted_gives_no_point() -> None:
    assert _one(HASWELL, {"loads": 1e6}) is None
    assert _one(NEOVERSE_N1, {"loads": 1e6}) is None
    assert _one(ZEN2_ZEN3, {"flops": 1e6, "loads": 1e6}) is None  # no width, and none is made up
    assert _one(ZEN2_ZEN3, {"flops": 1e6, "loads": 1e6}, Sizing(WidthModel.GIVEN, 32.0)) is not None
    assert _one(ZEN4, {"flops": 1e6, "loads": 1e6}, Sizing(WidthModel.PRECISION)) is None
    assert counted(BROADWELL_ON, {"avx double": 1.0, "loads": 1.0}, Sizing()) is None


@pytest.mark.parametrize(("machine", "definition"), [
    ("sapphire-2s", SAPPHIRE_RAPIDS), ("turin-2s", ZEN5), ("laptop", metric_table.definition("golden-cove")),
    ("forest-1s", INTEL_E),
    ("grace-2s", NEOVERSE), ("vera-2s", OLYMPUS), ("icelake-2s", metric_table.definition("skylake")),
    ("laptop-old", metric_table.definition("skylake")),
])
def test_metric_definitions_of_simulated_machines(machine: str, definition: MetricDefinition) -> None:
    assert metric_definition_of(known_machine(simulated_host(machine)).model) is definition


@pytest.mark.parametrize(("model", "definition"), [
    (CpuModel(vendor="GenuineIntel", family=6, model=0x3A), IVY_BRIDGE),
    (CpuModel(vendor="GenuineIntel", family=6, model=0x3C), HASWELL),
    (CpuModel(vendor="GenuineIntel", family=6, model=0x3D), BROADWELL_ON),
    (CpuModel(vendor="GenuineIntel", family=6, model=0xBE), GRACEMONT),
    (CpuModel(vendor="GenuineIntel", family=6, model=0x1A), None),
    (CpuModel(vendor="AuthenticAMD", family=0x17, model=0x01), None),
    (CpuModel(vendor="AuthenticAMD", family=0x19, model=0x01), ZEN2_ZEN3),
    (CpuModel(vendor="AuthenticAMD", family=0x19, model=0x61), ZEN4),
    (CpuModel(vendor="Arm", implementer=0x41, part=0xD0C), NEOVERSE_N1),
    (CpuModel(vendor="IBM/S390"), None),
])
def test_metric_definitions_of_processors(model: CpuModel, definition: MetricDefinition | None) -> None:
    assert metric_definition_of(model) is definition


# Applications with known answers.


@dataclass(frozen=True)
class _Phase:
    """Counts for each instruction, and instructions per second."""

    rates: Mapping[str, float]
    speed: float
    intervals: int


def _run(phases: Sequence[_Phase], interval: float = 0.05) -> list[tuple[float, float, dict[str, float]]]:
    """(seconds, instructions, all counts) of every interval: the truth."""
    return [
        (interval, phase.speed * interval,
         {key: rate * phase.speed * interval for key, rate in phase.rates.items()})
        for phase in phases for _ in range(phase.intervals)
    ]


def _rates(definition: MetricDefinition, **given_rates: float) -> dict[str, float]:
    return {event.key: given_rates.get(event.key.replace(" ", "_"), 0.0) for event in definition.events}


# calculix changes between two behaviours; tonto works at two widths (the paper's figures 8 and 9)
_CALCULIX = [
    _Phase(_rates(IVY_BRIDGE, sse_double=0.20, scalar_double=0.10, loads=0.35, stores=0.10), 6e9, 40),
    _Phase(_rates(IVY_BRIDGE, scalar_double=0.30, loads=0.45, stores=0.15), 3e9, 50),
    _Phase(_rates(IVY_BRIDGE, sse_double=0.20, scalar_double=0.10, loads=0.35, stores=0.10), 6e9, 40),
]
_TONTO = [
    _Phase(_rates(IVY_BRIDGE, scalar_double=0.25, loads=0.30, stores=0.12), 5e9, 60),
    _Phase(_rates(IVY_BRIDGE, avx_double=0.22, scalar_double=0.02, loads=0.28, stores=0.10), 4e9, 60),
]


def _truth(truth: Sequence[tuple[float, float, dict[str, float]]]) -> list[Counted | None]:
    return [_sized(IVY_BRIDGE, counts, Sizing()) for _seconds, _instructions, counts in truth]


def _recovered(application: Sequence[_Phase], counteds: Sequence[Counted | None], edge: int) -> None:
    """Every interval away from a change of phase is within 2 % of the truth."""
    truth = _truth(_run(application))
    starts = [sum(phase.intervals for phase in application[:number]) for number in range(1, len(application))]
    checked = 0
    for number, (selected, true) in enumerate(zip(counteds, truth, strict=True)):
        if any(abs(number - start) <= edge for start in starts):
            continue
        assert selected is not None
        assert true is not None
        assert selected.bytes is not None
        assert true.bytes is not None
        assert selected.flops / selected.bytes == pytest.approx(true.flops / true.bytes, rel=0.02)
        assert selected.flops == pytest.approx(true.flops, rel=0.02)
        assert selected.dominant == true.dominant
        checked += 1
    assert checked >= 0.8 * len(truth)


@pytest.mark.parametrize("application", [_CALCULIX, _TONTO])
@pytest.mark.parametrize(("counters", "number_of_sets"), [(4, 2), (3, 3)])
def test_rotated_sets_recover_the_phases(application: Sequence[_Phase], counters: int, number_of_sets: int) -> None:
    sets = plan_sets(IVY_BRIDGE, counters)
    assert len(sets) == number_of_sets
    intervals = []
    for number, (seconds, instructions, counts) in enumerate(_run(application)):
        on = sets[number % len(sets)]
        intervals.append(SetInterval(seconds, instructions, {event.key: counts[event.key] for event in on}))
    joined = join_rotation(intervals)
    assert all(item.estimated for item in joined)
    _recovered(application, [_sized(IVY_BRIDGE, item.counts, Sizing()) for item in joined], edge=len(sets))


_counts = st.floats(0, 1e12, allow_nan=False)


@given(st.lists(st.tuples(st.floats(1e3, 1e10), _counts, st.booleans()), min_size=2, max_size=30))
def test_rotation_keeps_what_was_counted_and_stays_between_its_neighbours(
    parts: list[tuple[float, float, bool]],
) -> None:
    assume(any(on for *_, on in parts))
    intervals = [SetInterval(0.05, executed, {"a": count} if on else {"b": count}) for executed, count, on in parts]
    joined = join_rotation(intervals)
    known = [interval.counts["a"] / interval.instructions for interval in intervals if "a" in interval.counts]
    for before, after in zip(intervals, joined, strict=True):
        assert all(after.counts[key] == value for key, value in before.counts.items())
        assert after.estimated.isdisjoint(before.counts)
        rate = after.counts["a"] / after.instructions
        assert min(known) * (1 - 1e-9) - 1e-12 <= rate <= max(known) * (1 + 1e-9) + 1e-12


@given(st.floats(0, 10), st.lists(st.floats(1e6, 1e9), min_size=4, max_size=20))
def test_a_steady_rate_is_recovered_exactly(rate: float, executed: list[float]) -> None:
    intervals = [
        SetInterval(0.05, count, {"a": rate * count} if number % 3 == 0 else {"b": 0.0})
        for number, count in enumerate(executed)
    ]
    for joined in join_rotation(intervals):
        assert joined.counts["a"] == pytest.approx(rate * joined.instructions, rel=1e-9, abs=1e-6)


def test_idle_intervals_have_no_rate() -> None:
    joined = join_rotation([SetInterval(1.0, 0.0, {"a": 0.0}), SetInterval(1.0, 10.0, {"b": 5.0}),
                            SetInterval(1.0, 10.0, {"a": 20.0})])
    assert joined[1].counts == {"b": 5.0, "a": 20.0}
    assert joined[0].counts == {"a": 0.0, "b": 0.0}
    assert "a" not in join_rotation([SetInterval(1.0, 0.0, {"a": 0.0}), SetInterval(1.0, 1.0, {"b": 1.0})])[1].counts


def test_a_curve_needs_a_point() -> None:
    with pytest.raises(ValueError, match="needs a point"):
        line([], [], 1.0)


@given(st.lists(st.tuples(st.floats(0.01, 1.0), st.integers(1, 10**9)), min_size=3, max_size=40),
       st.integers(1, 5))
def test_turns_of_a_steady_program_add_up_to_its_intervals(turns: list[tuple[float, int]], each: int) -> None:
    rates = {"a": 0.25, "b": 2.0, "c": 0.0}
    names = list(rates)
    taken = [
        (
            number // each,
            SetInterval(seconds, instructions, {names[number % 3]: rates[names[number % 3]] * instructions}),
        )
        for number, (seconds, instructions) in enumerate(turns)
    ]
    result = joined_intervals(taken)
    assert [number for number, _one in result] == sorted({number for number, _turn in taken})
    for number, joined in result:
        intervals = [turn for at, turn in taken if at == number]
        assert joined.seconds == pytest.approx(sum(turn.seconds for turn in intervals))
        assert joined.instructions == pytest.approx(sum(turn.instructions for turn in intervals))
        assert {key: joined.counts[key] for key in names} == pytest.approx(
            {key: rate * joined.instructions for key, rate in rates.items()})
        assert joined.estimated == frozenset(key for key in names if any(key not in turn.counts for turn in intervals))


def test_an_event_whose_turn_never_came_is_unknown() -> None:
    ((_number, joined),) = joined_intervals(
        [(0, SetInterval(1.0, 10.0, {"a": 5.0})), (0, SetInterval(1.0, 10.0, {"a": 5.0}))]
    )
    assert joined.counts == {"a": 10.0}
    assert joined_intervals([]) == ()
