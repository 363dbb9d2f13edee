"""What a recording holds of uncore counters: those of every PMU, if it is asked for them."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Final

from turbotui.features.uncore.absence import why_none
from turbotui.features.uncore.counters import UncoreCounters
from turbotui.features.uncore.kinds import UncoreUnits, can_count
from turbotui.machine.machine import Machine
from turbotui.quantities.uncore.metric import Metric, metric_of
from turbotui.recording.recorded_tables import RecordedTables, SourcesBeside

_INTEL: Final = "kernel arch/x86/events/intel/uncore_snb.c, uncore_snbep.c"
_AMD: Final = "AMD PPR, UMC performance monitor events: umc_cas_cmd.rd and .wr, 64 bytes each"
_DMC620: Final = "kernel drivers/perf/arm_dmc620_pmu.c; Arm CoreLink DMC-620 TRM: bursts of 64 bytes"
_TEGRA410: Final = "kernel Documentation/admin-guide/perf/nvidia-tegra410-pmu.rst"
_TEGRA241: Final = ("kernel Documentation/admin-guide/perf/nvidia-tegra241-pmu.rst: lines of 64 bytes between "
                    "the system cache and memory")


def _all(document: str, pmu: str, formula: str) -> Metric:
    return metric_of(pmu, "memory", "GB/s", f"{formula} / dt", document=document)


TRAFFIC: Final[tuple[Metric, ...]] = (
    _all(_INTEL, "uncore_imc_free_running", "(data_read + data_write)"),
    _all(_INTEL, "uncore_imc_free_running", "(read + write)"),
    _all(_INTEL, "uncore_imc", "(cas_count_read + cas_count_write)"),
    _all(_INTEL, "uncore_imc",
         "(cas_count_read_sch0 + cas_count_read_sch1 + cas_count_write_sch0 + cas_count_write_sch1)"),
    _all(_INTEL, "uncore_imc", "(data_reads + data_writes)"),
    _all(_AMD, "amd_umc", "('event=0xa,rdwrmask=0x1' + 'event=0xa,rdwrmask=0x2') * 64"),
    _all(_DMC620, "arm_dmc620", "clkdiv2_rdwr * 64"),
    _all(_TEGRA410, "nvidia_ucf_pmu", "(mem_bytes_rd + mem_bytes_wr)"),
    _all(_TEGRA241, "nvidia_scf_pmu", "(scf_cache_refill + scf_cache_wb) * 64"),
)
"""Formulas of all bytes read and written, by kind of memory controller; the first kind that a machine has is used.

Free-running counters come first, because reading them takes no counter away from other users.
"""


WORD: Final = "uncore"


def memory_metrics(counters: UncoreCounters) -> Sequence[tuple[UncoreUnits, Metric]]:
    """Return the ways to count the memory's traffic here, the best first."""
    return [(units, metric) for metric in TRAFFIC for units in counters.kinds
            if units.kind.id == metric.pmu and all(can_count(units.pmu, name) for name in metric.needs)]


def _sources(machine: Machine, tables: Container[str]) -> SourcesBeside:
    if WORD not in tables:
        return SourcesBeside()
    counters = UncoreCounters(machine)
    notes = () if counters.kinds else (f"no uncore counters are recorded: {why_none(machine).sentence()}",)
    for units, metric in memory_metrics(counters)[:1]:
        counters.show(units, (*counters.shown(units), metric))
    return SourcesBeside(tuple(counters.sources()), counters.signals(), notes)


RECORDED: Final = (RecordedTables({WORD: "every uncore PMU"}, _sources),)
