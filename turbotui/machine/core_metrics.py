"""The metric definition of each type of core of a machine, and its events as counters of their PMU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.host import Host, HostError, PerfAttr
from turbotui.machine.machine import Machine
from turbotui.machine.platforms import processor_of
from turbotui.machine.pmus import Pmu, read_pmu
from turbotui.quantities.metric_definitions import MetricDefinition, MetricEvent, without_half
from turbotui.quantities.metric_table import definition
from turbotui.quantities.roofline import VECTOR_UNIT

_HYBRID_E: Final = ("cpu_atom", "cpu_lowpower")
_VECTOR_LENGTH: Final = "/proc/sys/abi/sve_default_vector_length"  # bytes (kernel arch/arm64/sve.rst)


@dataclass(frozen=True, slots=True)
class CountedCoreType:
    """The CPUs of one type of core, with the PMU and the metric definition that count on them.

    Attributes:
        definition: the events.
        pmu: that counts them.
        cpus: those that it covers; None for every one.
    """

    definition: MetricDefinition
    pmu: Pmu
    cpus: frozenset[int] | None

    def attr(self, event: MetricEvent) -> PerfAttr:
        """The event as perf_event_open(2) takes it, counting at once in all modes."""
        return PerfAttr(self.pmu.type, event.config, event.config1)

    def title(self, event: MetricEvent) -> str:
        """The event in perf's words and the maker's: "perf cpu/config=0x1c7/ (FP_ARITH...)"."""
        return f"perf {self.pmu.name}/{event.perf}/ ({event.name})"


def core_types_of(machine: Machine) -> Iterator[CountedCoreType]:
    """The types of core that are measured, have a metric definition, and whose PMU the kernel has."""
    measured = frozenset(machine.topology.cpus)
    main = metric_definition_of(machine.model)
    for name in _HYBRID_E:
        small = e_core_metric_definition(machine.model, name)
        pmu = read_pmu(machine.host, name)
        if pmu is not None and small is not None and measured & frozenset(pmu.cpus):
            yield CountedCoreType(small, pmu, frozenset(pmu.cpus))
    for name in () if main is None else main.pmu:
        pmu = read_pmu(machine.host, name)
        if pmu is not None and main is not None and name not in _HYBRID_E:
            cpus = frozenset(pmu.cpus) or None
            if cpus is None or measured & cpus:
                yield CountedCoreType(main, pmu, cpus)
            return


def vector_bits(host: Host) -> int:
    """The length of a scalable vector, 128 where there are none: what Arm's SCALE events and SVE widths count by."""
    try:
        return 8 * int(host.read_text(_VECTOR_LENGTH))
    except (HostError, ValueError):
        return VECTOR_UNIT


def metric_definition_of(model: CpuModel) -> MetricDefinition | None:
    """The metric definition of a processor's cores, of a hybrid's P cores; None where the table has none."""
    processor = processor_of(model)
    return None if processor is None or not processor.metrics else definition(processor.metrics)


def task_metric_definition_of(model: CpuModel) -> MetricDefinition | None:
    """The metric definition by which tasks are counted, whose sets of events are as few as they can be."""
    found = metric_definition_of(model)
    return None if found is None else without_half(found)


def e_core_metric_definition(model: CpuModel, pmu: str = "cpu_atom") -> MetricDefinition | None:
    """The metric definition of a hybrid Intel processor's E cores, which a PMU of this name counts."""
    processor = processor_of(model)
    if processor is None:
        return None
    slug = processor.metrics_lp if pmu == "cpu_lowpower" else processor.metrics_e
    return definition(slug) if slug else None
