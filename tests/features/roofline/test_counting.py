"""The roofline's columns through all layers, compared with the models of simulated machines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import pytest
from knownmachines import known_machine
from model_truth import CpuTruth, truth_of
from roofline_bed import Bed

from turbotui.machine.core_metrics import core_types_of, e_core_metric_definition, metric_definition_of
from turbotui.machine.cpumodel import CpuModel
from turbotui.quantities import metric_table
from turbotui.quantities.catalog.roofline import COLUMNS, LEVEL_COLUMNS, measured_definitions, roofline_columns
from turbotui.quantities.metric_definitions import MetricDefinition
from turbotui.quantities.roofline import NO_BYTES, NO_FLOPS, VECTOR_BITS, Counted, Sizing, WidthModel, counted
from turbotui.quantities.scope import SYSTEM_ROW, Scope, cpu_row
from turbotui.quantities.signals import Behavior, Reduce, Signal
from turbotui.quantities.speeds import Speed, cpu_speed, sum_speeds
from turbotui.quantities.unavailable import Reason
from turbotui.quantities.units import Unit
from turbotui.sampling.frame import Frame
from turbotui.sampling.selection import why_absent
from turbotui.simulated import ManualClock, simulated_host
from turbotui.sources.roofline import PerfRoofline

BROADWELL_ON = metric_table.definition("broadwell")
INTEL_E = metric_table.definition("crestmont")
ZEN2_ZEN3 = metric_table.definition("zen2")
NEOVERSE = metric_table.definition("neoverse")
METRIC_DEFINITIONS = tuple(metric_table.definition(name) for name in metric_table.METRIC_DEFINITIONS.names())

COUNTING = ("sapphire-2s", "turin-2s", "laptop", "laptop-arrow", "laptop-old", "grace-2s", "vera-2s", "forest-1s")


@dataclass(frozen=True)
class CountedInterval:
    bed: Bed
    frame: Frame
    before: dict[int, CpuTruth]
    after: dict[int, CpuTruth]


@pytest.fixture(scope="module", params=COUNTING)
def seen(request: pytest.FixtureRequest) -> CountedInterval:
    bed = Bed(request.param)
    marks: list[dict[int, CpuTruth]] = []

    def mark(_number: int) -> None:
        marks.append({cpu: truth_of(bed.host).truth(cpu) for cpu in bed.machine.topology.cpus})

    frame = bed.frames(1.0, 1, mark)[0]
    return CountedInterval(bed, frame, *marks)


def test_operations_are_those_of_the_model(seen: CountedInterval) -> None:
    for cpu, before in seen.before.items():
        flops = seen.after[cpu].flops - before.flops
        # counts are whole numbers, and a machine with few counters reads them in turn
        assert seen.bed.cell(seen.frame, "GFLOP/s", cpu_row(cpu)) == pytest.approx(flops / 1e9, rel=1e-6, abs=1e-6), cpu


def test_larger_rows_are_the_sums_of_their_cpus(seen: CountedInterval) -> None:
    bed, frame = seen.bed, seen.frame
    for name in ("GFLOP/s", "CoreGB/s"):
        cells = [bed.cell(frame, name, cpu_row(cpu)) for cpu in bed.machine.topology.cpus]
        if name == "CoreGB/s":
            assert None not in cells
        assert bed.cell(frame, name, SYSTEM_ROW) == pytest.approx(sum(cell or 0.0 for cell in cells))
        package = frame.rows(Scope.PACKAGE)[0]
        members = bed.machine.topology.parts(package, Scope.CPU)
        assert bed.cell(frame, name, package) == pytest.approx(sum(cells[at] or 0.0 for at in members))
    intensity = bed.cell(frame, "AI", SYSTEM_ROW)
    flops, size = bed.cell(frame, "GFLOP/s", SYSTEM_ROW), bed.cell(frame, "CoreGB/s", SYSTEM_ROW)
    assert intensity is not None
    assert flops is not None
    assert size is not None
    assert intensity == pytest.approx(flops / size)


def test_a_core_that_counts_bytes_gives_the_models_bytes() -> None:
    bed = Bed("vera-2s")
    marks: list[float] = []

    def mark(_number: int) -> None:
        truth = truth_of(bed.host).truth(0)
        marks.append(truth.bytes_loaded + truth.bytes_stored)

    frame = bed.frames(1.0, 1, mark)[0]
    assert bed.cell(frame, "CoreGB/s", cpu_row(0)) == pytest.approx((marks[1] - marks[0]) / 1e9, rel=1e-6)


def test_efficiency_is_operations_by_joules() -> None:
    bed = Bed("sapphire-2s")
    joules: list[float] = []
    flops: list[float] = []

    def mark(_number: int) -> None:
        joules.append(truth_of(bed.host).package_truth(0).joules)
        cpus = bed.machine.topology.instances(Scope.PACKAGE)[0].cpus
        flops.append(sum(truth_of(bed.host).truth(cpu).flops for cpu in cpus))

    frame = bed.frames(1.0, 1, mark)[0]
    want = (flops[1] - flops[0]) / (joules[1] - joules[0]) / 1e9
    assert bed.cell(frame, "GFLOPS/W", frame.rows(Scope.PACKAGE)[0]) == pytest.approx(want, rel=1e-5)


def test_counters_read_in_turn_are_marked() -> None:
    bed = Bed("laptop-old")  # four counters, ten events
    frame = bed.frames(1.0, 1)[0]
    column = bed.catalog.get("GFLOP/s")
    assert column is not None
    assert frame.estimated(column, cpu_row(0))
    whole = Bed("vera-2s")
    frame = whole.frames(1.0, 1)[0]
    column = whole.catalog.get("AI")
    assert column is not None
    assert frame.estimated(column, cpu_row(0))  # eleven events on six counters


def test_a_machine_without_counters_says_which_and_why() -> None:
    bed = Bed("guest")
    for column in COLUMNS:
        why = why_absent(column, bed.capabilities, bed.machine.topology)
        assert why is not None
    assert bed.capabilities.why_missing(NO_FLOPS).reason is Reason.VIRTUALISED
    assert "cpu" in bed.capabilities.why_missing(NO_BYTES).detail


def test_kinds_of_core_have_metric_definitions_of_their_own() -> None:
    machine = known_machine(simulated_host("laptop-arrow", ManualClock(0), seed=1))
    result = {core_type.pmu.name: core_type.definition.slug for core_type in core_types_of(machine)}
    assert result == {"cpu_core": "lion-cove", "cpu_atom": "skymont", "cpu_lowpower": "client-e"}


def test_slugs_are_unique() -> None:
    assert len({definition.slug for definition in METRIC_DEFINITIONS}) == len(METRIC_DEFINITIONS)


def test_a_counter_of_one_kind_of_core_is_not_there_on_the_others() -> None:
    machine = known_machine(simulated_host("laptop", ManualClock(0)))
    every = set(machine.topology.cpus)
    kinds: dict[str, list[Signal]] = {}
    for signal in PerfRoofline().probe(machine).signals.values():
        if isinstance(signal, Signal) and signal.origin.startswith("perf ") and signal.absent:
            kinds.setdefault(signal.origin.split("/")[0], []).append(signal)
            assert {why.reason for why in signal.absent.values()} == {Reason.NO_HARDWARE}
    assert set(kinds) == {"perf cpu_core", "perf cpu_atom"}
    here = {pmu: {frozenset(every - set(signal.absent)) for signal in signals} for pmu, signals in kinds.items()}
    (large,), (small,) = here["perf cpu_core"], here["perf cpu_atom"]
    assert not large & small
    assert large | small == every


def test_a_width_that_is_not_counted_makes_bytes_unknown_but_not_operations() -> None:
    full = {event.key: 1e6 for event in INTEL_E.events}
    without = {key: value for key, value in full.items() if key != "avx double"}
    assert _sized(counted(INTEL_E, full, Sizing())) is not None
    result = counted(INTEL_E, without, Sizing())
    assert result is not None
    assert (result.flops, result.bytes) == (2e6, None)
    assert _sized(counted(INTEL_E, without, Sizing(WidthModel.GIVEN, 16.0))) == 32e6
    zen = counted(ZEN2_ZEN3, {"flops": 5.0, "loads": 1.0, "stores": 1.0}, Sizing())
    assert zen is not None
    assert zen.bytes is None


def _sized(result: Counted | None) -> float | None:
    return None if result is None else result.bytes


def test_an_intensity_divides_the_operations_of_cpus_whose_bytes_are_known() -> None:
    known = Speed(8.0, 4.0, 8.0, "AVX", WidthModel.MIX)
    without = Speed(100.0, None, 0.0, "SSE", None)
    both = sum_speeds((known, None, without))
    assert both is not None
    assert (both.flops, both.bytes, both.intensity, both.dominant) == (108.0, 4.0, 2.0, "SSE")
    assert sum_speeds((None, None)) is None


def _signals(*definitions: MetricDefinition) -> dict[str, Signal]:
    names = [name for definition in definitions for _, name in definition.signals]
    return {name: Signal(name, Scope.CPU, Unit.COUNT, Behavior.COUNTER, Reduce.SUM, "") for name in names}


def test_a_core_that_tells_no_width_counts_accesses_for_a_width_that_is_given() -> None:
    flops, bytes_, intensity, *_ = roofline_columns(_signals(ZEN2_ZEN3))
    assert set(flops.needs) == {"roofline.zen2.flops"}
    assert {"roofline.zen2.loads", "roofline.zen2.stores"} <= set(flops.wants)
    assert bytes_.needs == intensity.needs == (NO_BYTES,)


def test_every_definition_with_operations_makes_columns_of_its_own_signals() -> None:
    for definition in METRIC_DEFINITIONS:
        columns = roofline_columns(_signals(definition))
        if not definition.flops:
            assert columns == (*COLUMNS, *LEVEL_COLUMNS)
            continue
        own = {name for _, name in definition.signals} | {VECTOR_BITS, NO_BYTES, "energy.pkg"}
        for column in columns:
            # of cores without vectors of 512 bits, and without events of the lines of a level
            unknown = {NO_FLOPS} if column.id in {"V512/s", "L2GB/s", "L3GB/s"} else set()
            assert set(column.needs) | set(column.wants) <= own | unknown, (definition.name, column.id)
        assert measured_definitions(_signals(definition)) == (definition,)


def test_optional_events_may_be_missing_and_others_may_not() -> None:
    known = _signals(BROADWELL_ON)
    without = {name: signal for name, signal in known.items() if "avx512" not in name}
    assert roofline_columns(without)[0].needs == roofline_columns(known)[0].needs
    less = {name: signal for name, signal in known.items() if not name.endswith(".avx_double")}
    assert roofline_columns(less) == (*COLUMNS, *LEVEL_COLUMNS)


def test_a_vector_longer_than_128_bits_counts_for_more() -> None:
    row = Row({"roofline.neoverse.scale_flops": 100.0, "roofline.neoverse.fixed_flops": 7.0}, 2.0,
              {VECTOR_BITS: 256.0})
    speed = cpu_speed(row, (NEOVERSE,), Sizing())
    assert speed is not None
    assert speed.flops == (2 * 100 + 7) / 2.0
    assert speed.bytes is None


@dataclass
class Row:
    """Rates of a few signals, and constants."""

    deltas: dict[str, float]
    seconds: float
    values: dict[str, float]

    def rate(self, signal: str) -> float | None:
        result = self.deltas.get(signal)
        return None if result is None else result / self.seconds

    def value(self, signal: str) -> float | None:
        return self.values.get(signal)

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a speed asked a row for {name}")


_INTEL, _AMD = "GenuineIntel", "AuthenticAMD"


@pytest.mark.parametrize(("model", "slug"), [
    (CpuModel(vendor=_INTEL, family=6, model=0x2A), "ivybridge"),  # Sandy Bridge
    (CpuModel(vendor=_INTEL, family=6, model=0x3A), "ivybridge"),
    (CpuModel(vendor=_INTEL, family=6, model=0x3F), "haswell"),
    (CpuModel(vendor=_INTEL, family=6, model=0x4F), "broadwell"),  # Broadwell server
    (CpuModel(vendor=_INTEL, family=6, model=0x55), "skylake"),  # Skylake server, Cascade Lake
    (CpuModel(vendor=_INTEL, family=6, model=0x6A), "skylake"),  # Ice Lake server
    (CpuModel(vendor=_INTEL, family=6, model=0x8F), "sapphirerapids"),  # Sapphire Rapids
    (CpuModel(vendor=_INTEL, family=6, model=0xCF), "sapphirerapids"),  # Emerald Rapids
    (CpuModel(vendor=_INTEL, family=6, model=0xAD), "sapphirerapids"),  # Granite Rapids
    (CpuModel(vendor=_INTEL, family=6, model=0x97), "golden-cove"),  # Alder Lake's P cores
    (CpuModel(vendor=_INTEL, family=6, model=0xAF), "crestmont"),  # Sierra Forest
    (CpuModel(vendor=_INTEL, family=6, model=0xDD), "darkmont"),  # Clearwater Forest
    (CpuModel(vendor=_AMD, family=0x17, model=0x31), "zen2"),
    (CpuModel(vendor=_AMD, family=0x19, model=0x01), "zen2"),  # Zen 3
    (CpuModel(vendor=_AMD, family=0x19, model=0x11), "zen4"),
    (CpuModel(vendor=_AMD, family=0x1A, model=0x02), "zen5"),
    (CpuModel(vendor="Arm", implementer=0x41, part=0xD0C), "neoverse-n1"),
    (CpuModel(vendor="Arm", implementer=0x41, part=0xD40), "neoverse"),  # V1
    (CpuModel(vendor="Arm", implementer=0x41, part=0xD49), "neoverse"),  # N2
    (CpuModel(vendor="Arm", implementer=0x41, part=0xD4F), "neoverse"),  # V2, Grace
    (CpuModel(vendor="Arm", implementer=0x41, part=0xD84), "neoverse-later"),  # V3
    (CpuModel(vendor="NVIDIA", implementer=0x4E, part=0x010), "olympus"),
])
def test_every_family_that_is_claimed_has_its_metric_definition(model: CpuModel, slug: str) -> None:
    definition = metric_definition_of(model)
    assert definition is not None
    assert definition.slug == slug
    assert definition in METRIC_DEFINITIONS


@pytest.mark.parametrize(("number", "slug"), [
    (0x97, "gracemont"), (0xB7, "gracemont"), (0xAA, "client-e"), (0xB5, "client-e"),  # Meteor Lake, Arrow Lake U
    (0xBD, "skymont"), (0xC5, "skymont"), (0xC6, "skymont"), (0xCC, "darkmont"),  # Lunar, Arrow and Panther Lake
])
def test_e_cores_of_hybrids_have_metric_definitions_of_their_own(number: int, slug: str) -> None:
    definition = e_core_metric_definition(CpuModel(vendor=_INTEL, family=6, model=number))
    assert definition is not None
    assert definition.slug == slug
