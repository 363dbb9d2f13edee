"""The metric definition of each core type of a machine, with events as counters of the PMU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.host import Host, PerfAttr
from turbotui.machine.machine import Machine
from turbotui.machine.platforms import processor_of
from turbotui.machine.pmus import Pmu, read_pmu
from turbotui.machine.small_files import line_of
from turbotui.quantities.metric_definitions import MetricDefinition, MetricEvent, without_half
from turbotui.quantities.metric_table import definition
from turbotui.quantities.plain_numbers import whole_number
from turbotui.quantities.roofline import VECTOR_UNIT

_HYBRID_E: Final = ("cpu_atom", "cpu_lowpower")
_VECTOR_LENGTH: Final = "/proc/sys/abi/sve_default_vector_length"  # bytes (kernel arch/arm64/sve.rst)


@dataclass(frozen=True, slots=True)
class CountedCoreType:
    """The CPUs of one type of core, with the PMU and the metric definition that count on them."""

    definition: MetricDefinition
    pmu: Pmu  # the PMU that counts its events
    cpus: frozenset[int] | None  # the CPUs of this type; None for all

    def attr(self, event: MetricEvent) -> PerfAttr:
        """Return the attribute of an event that counts at once in all modes."""
        return PerfAttr(self.pmu.type, event.config, event.config1)

    def title(self, event: MetricEvent) -> str:
        """Return the event in perf's and the vendor's words: "perf cpu/config=0x1c7/ (FP_ARITH...)"."""
        return f"perf {self.pmu.name}/{event.perf}/ ({event.name})"


def core_types_of(machine: Machine) -> Iterator[CountedCoreType]:
    """Return the measured core types that have a metric definition and a PMU in the kernel."""
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
    """Return the bits of a scalable vector, by which Arm's SCALE events count; 128 without such vectors."""
    size = whole_number(line_of(host, _VECTOR_LENGTH))
    return VECTOR_UNIT if size is None else 8 * size


def metric_definition_of(model: CpuModel) -> MetricDefinition | None:
    """Return the metric definition of a processor's cores (of a hybrid's P cores); None if there is none."""
    processor = processor_of(model)
    return None if processor is None or not processor.metrics else definition(processor.metrics)


def task_metric_definition_of(model: CpuModel) -> MetricDefinition | None:
    """Return the metric definition for tasks, with as few sets of events as possible."""
    metric_definition = metric_definition_of(model)
    return None if metric_definition is None else without_half(metric_definition)


def e_core_metric_definition(model: CpuModel, pmu: str = "cpu_atom") -> MetricDefinition | None:
    """Return the metric definition of a hybrid Intel processor's E cores with a PMU of this name."""
    if (processor := processor_of(model)) is None:
        return None
    slug = processor.metrics_lp if pmu == "cpu_lowpower" else processor.metrics_e
    return definition(slug) if slug else None
