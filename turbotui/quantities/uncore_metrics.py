"""What is derived from the events of NVIDIA's Tegra410 PMUs, one row each (nvidia-tegra410-pmu.rst).

Names in the formulas are events of one PMU and `dt`, the interval in ns. Bytes in a nanosecond are decimal GB/s. Cycles
come from one instance of what a PMU sums, so they are not divided by the number of instances.
"""

from __future__ import annotations

from dataclasses import dataclass

from turbotui.quantities.expressions import Expression, parse_expression


@dataclass(frozen=True, slots=True)
class Metric:
    """One derived value.

    Attributes:
        pmu: kind of PMU: its name without socket and root complex.
        unit: as people read it.
        formula: over increases of the events in one interval. The events of a latency belong in one group.
    """

    pmu: str
    title: str
    unit: str
    formula: Expression

    @property
    def events(self) -> tuple[str, ...]:
        """The events it needs."""
        return tuple(name for name in self.formula.names if name != "dt")


def _metric(pmu: str, title: str, unit: str, formula: str) -> Metric:
    return Metric(pmu, title, unit, parse_expression(formula))


def _clock(pmu: str) -> Metric:
    return _metric(pmu, "frequency", "GHz", "cycles / dt")


def _latency(pmu: str, way: str) -> tuple[Metric, Metric]:
    """Cycles that requests were under way for, by requests; "in_rd" is a way of a link, "rd" of what has only one."""
    outstanding, requests = f"{way}_cum_outs", f"{way}_req"
    return (
        _metric(pmu, f"{way} latency", "cycles", f"{outstanding} / {requests}"),
        _metric(pmu, f"{way} latency", "ns", f"{outstanding} / {requests} * dt / cycles"),
    )


def _traffic(pmu: str) -> tuple[Metric, ...]:
    return tuple(
        row
        for way in ("rd", "wr")
        for row in (
            _metric(pmu, f"{way} bandwidth", "GB/s", f"{way}_bytes / dt"),
            _metric(pmu, f"{way} requests", "1/cycle", f"{way}_req / cycles"),
        )
    )


_FABRIC = "nvidia_ucf_pmu"
_PCIE = "nvidia_pcie_pmu"
_TARGET = "nvidia_pcie_tgt_pmu"
_MEMORY = "nvidia_cmem_latency_pmu"
_LINK = "nvidia_nvlink_c2c_pmu"
_CPU_LINK = "nvidia_nvclink_pmu"
_CXL_LINK = "nvidia_nvdlink_pmu"

METRICS: tuple[Metric, ...] = (
    _clock(_FABRIC),
    *(
        row
        for part in ("slc", "mem")
        for way in ("rd", "wr")
        for row in (
            _metric(_FABRIC, f"{part} {way} bandwidth", "GB/s", f"{part}_bytes_{way} / dt"),
            _metric(_FABRIC, f"{part} {way} requests", "1/cycle", f"{part}_access_{way} / cycles"),
        )
    ),
    _metric(_FABRIC, "slc rd hits", "%", "100 * slc_hit_rd / slc_access_rd"),
    _clock(_PCIE),
    *_traffic(_PCIE),
    *_latency(_PCIE, "rd"),
    _clock(_TARGET),
    *_traffic(_TARGET),
    _clock(_MEMORY),
    _metric(_MEMORY, "rd bandwidth", "GB/s", "rd_req * 32 / dt"),  # a request is 32 bytes
    *_latency(_MEMORY, "rd"),
    _clock(_LINK),
    *(row for way in ("in_rd", "in_wr", "out_rd", "out_wr") for row in _latency(_LINK, way)),
    _clock(_CPU_LINK),
    *(row for way in ("in_rd", "out_rd") for row in _latency(_CPU_LINK, way)),
    _clock(_CXL_LINK),
    *_latency(_CXL_LINK, "in_rd"),
)
"""In the order they are shown."""
