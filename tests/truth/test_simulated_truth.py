"""Every simulated machine, through host, sources, snapshot and frame, compared with its model.

Tolerances: one unit in the last place that the source keeps (a 10 ms tick of /proc/stat, one energy unit, one degree),
else 1e-6 of the value. The simulation's clock stands still while a tick reads, so nothing else may differ.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest
from comparisons import Comparisons
from model_truth import CpuTruth, PackageTruth, SystemTruth, truth_of
from patience import PATIENCE
from sampled_machine import Watched

from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope, cpu_row
from turbotui.sampling.frame import Frame
from turbotui.simulated import SHAPES
from turbotui.simulated.shapes import Isa

SECONDS = 1.0


@dataclass(frozen=True)
class Marks:
    cpus: dict[int, CpuTruth]
    packages: dict[int, PackageTruth]
    system: SystemTruth


def marks(watched: Watched) -> Marks:
    topology, truth = watched.machine.topology, truth_of(watched.host)
    packages = range(len(topology.instances(Scope.PACKAGE)))
    return Marks({cpu: truth.truth(cpu) for cpu in topology.cpus}, {n: truth.package_truth(n) for n in packages},
                 truth.system_truth())


@dataclass(frozen=True)
class Seen:
    watched: Watched
    frame: Frame
    before: Marks
    after: Marks
    comparisons: Comparisons

    def cell(self, name: str, row: RowId) -> float | None:
        column = self.watched.catalog.get(name)
        assert column is not None, name
        self.comparisons.agreed("model", f"column {name}")  # else the test that asks fails
        provider = self.watched.capabilities.provider
        for source in {provider[need].id for need in column.needs if need in provider}:
            self.comparisons.agreed("model", f"source {source}")
        value = self.frame.cell(column, row)
        assert not isinstance(value, str)
        return value

    def has(self, name: str) -> bool:
        return any(column.id == name for column in self.watched.columns)


@pytest.fixture(scope="module", params=sorted(SHAPES))
def seen(request: pytest.FixtureRequest, comparisons: Comparisons) -> Seen:
    watched = Watched(request.param)
    result = [marks(watched)]
    frame = watched.frames(SECONDS, 1, lambda _number: result.append(marks(watched)))[0]
    return Seen(watched, frame, result[0], result[1], comparisons)


def near(got: float | None, want: float, absolute: float, relative: float = 1e-6) -> bool:
    return got is not None and abs(got - want) <= absolute + relative * abs(want)


def test_each_cpu_has_the_busy_share_and_clock_of_the_model(seen: Seen) -> None:
    if not seen.has("Busy%"):
        pytest.skip("this machine has no APERF and MPERF")
    for cpu, older in seen.before.cpus.items():
        newer, row = seen.after.cpus[cpu], cpu_row(cpu)
        share = 100.0 * (newer.c0_seconds - older.c0_seconds) / SECONDS
        assert near(seen.cell("Busy%", row), share, 1e-4), cpu
        assert near(seen.cell("Avg_MHz", row), (newer.aperf - older.aperf) / SECONDS / 1e6, 1e-4), cpu
        active = newer.c0_seconds - older.c0_seconds
        if active > 1e-3:
            clock = (newer.aperf - older.aperf) / active / 1e6
            assert near(seen.cell("Bzy_MHz", row), clock, 0.5, 1e-4), cpu


def test_the_summary_clock_is_recomputed_from_sums_and_not_averaged(seen: Seen) -> None:
    if not seen.has("Bzy_MHz"):
        pytest.skip("this machine has no APERF and MPERF")
    pairs = [(seen.before.cpus[cpu], seen.after.cpus[cpu]) for cpu in seen.before.cpus]
    active = sum(newer.c0_seconds - older.c0_seconds for older, newer in pairs)
    cycles = sum(newer.aperf - older.aperf for older, newer in pairs)
    assert near(seen.cell("Bzy_MHz", SYSTEM_ROW), cycles / active / 1e6, 0.5, 1e-4)
    assert near(seen.cell("Busy%", SYSTEM_ROW), 100.0 * active / SECONDS / len(pairs), 1e-3)


def test_the_lowest_ratio_is_that_of_the_slowest_busy_cpu_of_the_model(seen: Seen) -> None:
    if not seen.has("MinRatio"):
        pytest.skip("this machine has no APERF and MPERF")
    topology = seen.watched.machine.topology
    ratios: dict[int, float] = {}
    for cpu, older in seen.before.cpus.items():
        newer = seen.after.cpus[cpu]
        if newer.mperf > older.mperf:
            ratio = (newer.aperf - older.aperf) / (newer.mperf - older.mperf)
            assert near(seen.cell("Ratio", cpu_row(cpu)), ratio, 1e-4, 1e-4), cpu
            if newer.c0_seconds - older.c0_seconds >= 0.5 * SECONDS:
                ratios[cpu] = ratio
    lowest = seen.watched.catalog.by_id["MinCPU"]
    for instance in (*topology.instances(Scope.SYSTEM), *topology.instances(Scope.PACKAGE),
                     *topology.instances(Scope.CORE)):
        busy = {cpu: ratios[cpu] for cpu in instance.cpus if cpu in ratios}
        if not busy:
            assert seen.cell("MinRatio", instance.row) is None
            why = seen.frame.why(lowest, instance.row)
            assert why is not None
            assert "was busy for 50 %" in why.detail
            continue
        assert near(seen.cell("MinRatio", instance.row), min(busy.values()), 1e-4, 1e-4), instance.row
        number = seen.frame.cell(lowest, instance.row)
        assert isinstance(number, str)
        assert busy[int(number)] == pytest.approx(min(busy.values()), rel=1e-6)


def test_core_states_are_those_of_the_model(seen: Seen) -> None:
    for state in (1, 6, 7):
        name = f"CPU%c{state}"
        if not seen.has(name):
            continue
        for cpu, older in seen.before.cpus.items():
            newer = seen.after.cpus[cpu]
            spent = getattr(newer, f"c{state}_seconds") - getattr(older, f"c{state}_seconds")
            if state == 6 and seen.watched.machine.topology.places[cpu].core_type in ("E", "LP"):
                continue  # the efficiency cores' counter also counts C7 (docs/specs/turbostat.md 2.3, row 29)
            assert near(seen.cell(name, cpu_row(cpu)), 100.0 * spent / SECONDS, 0.01, 1e-3), (name, cpu)


def test_package_states_are_those_of_the_model(seen: Seen) -> None:
    topology = seen.watched.machine.topology
    for number, instance in enumerate(topology.instances(Scope.PACKAGE)):
        for state, older in seen.before.packages[number].states.items():
            name = f"Pkg%pc{state}" if state < 10 else "Pk%pc10"
            if seen.has(name):
                spent = seen.after.packages[number].states[state] - older
                assert near(seen.cell(name, instance.row), 100.0 * spent / SECONDS, 0.01, 1e-3), name


def test_watts_are_those_of_the_model(seen: Seen) -> None:
    topology = seen.watched.machine.topology
    domains = {"PkgWatt": "joules", "GFXWatt": "gpu_joules", "RAMWatt": "ram_joules"}
    totals = dict.fromkeys(domains, 0.0)
    for number, instance in enumerate(topology.instances(Scope.PACKAGE)):
        for name, field in domains.items():
            if not seen.has(name):
                continue
            older, newer = (getattr(mark.packages[number], field) for mark in (seen.before, seen.after))
            watts = (newer - older) / SECONDS
            totals[name] += watts
            assert near(seen.cell(name, instance.row), watts, 0.01, 2e-3), name
    for name, watts in totals.items():
        if seen.has(name):
            assert near(seen.cell(name, SYSTEM_ROW), watts, 0.1, 2e-3), name
    if seen.has("SysWatt"):
        watts = (seen.after.system.psys_joules - seen.before.system.psys_joules) / SECONDS
        # one joule is the unit of the platform counter on servers (docs/specs/turbostat.md 2.5)
        assert near(seen.cell("SysWatt", SYSTEM_ROW), watts, 1.01)


def test_temperatures_are_those_of_the_model(seen: Seen) -> None:
    topology = seen.watched.machine.topology
    if seen.has("PkgTmp"):
        for number, instance in enumerate(topology.instances(Scope.PACKAGE)):
            assert near(seen.cell("PkgTmp", instance.row), seen.after.packages[number].celsius, 1.01)
    if seen.has("CoreTmp"):
        for cpu, truth in seen.after.cpus.items():
            assert near(seen.cell("CoreTmp", cpu_row(cpu)), truth.celsius, 1.01), cpu


def test_interrupts_switches_and_load_are_those_of_the_model(seen: Seen) -> None:
    for cpu, older in seen.before.cpus.items():
        newer, row = seen.after.cpus[cpu], cpu_row(cpu)
        # each row of /proc/interrupts is a whole number: one count each may fall to the other interval
        assert near(seen.cell("IRQ", row), newer.interrupts - older.interrupts, 40.0), cpu
        assert near(seen.cell("CSW/s", row), (newer.switches - older.switches) / SECONDS, 1.01), cpu
        # /proc/stat counts in ticks of 10 ms, and eight rows of it are added
        busy = 100.0 * (newer.busy_seconds - older.busy_seconds) / SECONDS
        assert near(seen.cell("Load%", row), busy, 8.0), cpu


def test_idle_states_as_requested_are_those_of_the_model(seen: Seen) -> None:
    names = [column.id for column in seen.watched.columns if "pct_idle" in column.groups]
    for cpu, older in seen.before.cpus.items():
        newer = seen.after.cpus[cpu]
        for state, name in enumerate(names[: len(newer.idle_seconds)]):
            spent = newer.idle_seconds[state] - older.idle_seconds[state]
            assert near(seen.cell(name, cpu_row(cpu)), 100.0 * spent / SECONDS, 0.01, 1e-4), (name, cpu)


def test_instructions_per_cycle_are_those_of_the_model(seen: Seen) -> None:
    if not seen.has("IPC"):
        pytest.skip("this machine has no core PMU")
    for cpu, older in seen.before.cpus.items():
        newer = seen.after.cpus[cpu]
        if newer.aperf - older.aperf > 1e6:
            ratio = (newer.instructions - older.instructions) / (newer.aperf - older.aperf)
            assert near(seen.cell("IPC", cpu_row(cpu)), ratio, 0.01, 1e-3), cpu


def test_cache_references_are_those_of_the_level_in_the_columns_name(seen: Seen) -> None:
    if not seen.has("IPC"):
        pytest.skip("this machine has no core PMU")
    isa = seen.watched.host.shape.isa
    assert seen.has("LLCMRPS") == (isa is not Isa.AMD)
    for cpu, older in list(seen.before.cpus.items())[:24]:
        newer = seen.after.cpus[cpu]
        if seen.has("LLCMRPS"):
            grown = newer.cache_references - older.cache_references
            assert near(seen.cell("LLCMRPS", cpu_row(cpu)), grown / SECONDS / 1e6, 0.01, 1e-3), cpu
        if isa is Isa.AMD:
            grown, missed = newer.l2_references - older.l2_references, newer.l2_misses - older.l2_misses
            assert near(seen.cell("L2MRPS", cpu_row(cpu)), grown / SECONDS / 1e6, 0.01, 1e-3), cpu
            assert near(seen.cell("L2%hit", cpu_row(cpu)), 100 * (1 - missed / grown), 0.05, 1e-3), cpu


def test_nothing_that_is_available_is_left_unknown_without_a_reason(seen: Seen) -> None:
    for column in seen.watched.columns:
        for row in (SYSTEM_ROW, *seen.frame.rows(Scope.CPU)[:8]):
            if seen.frame.cell(column, row) is None:
                why = seen.frame.why(column, row)
                assert why is not None, (column.id, row)
                assert why.detail, (column.id, row)


def test_every_descriptor_is_closed_at_the_end(seen: Seen) -> None:
    end = time.monotonic() + PATIENCE
    while seen.watched.host.open_descriptors:
        assert time.monotonic() < end
        time.sleep(0.01)
