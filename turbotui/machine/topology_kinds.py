"""Determines core types: P, E and LP on x86, capacity classes elsewhere, with the evidence.

Each classifier in `CLASSIFIERS` evaluates one sort of evidence and returns "several types", "one type", or nothing. The
strongest classifier with an answer is used, and named. Without an answer, the core types are unknown.

Some differences are not evidence, because cores of one type have them, too: of highest_perf (AMD's preferred cores), of
the top clock by some percent (Intel's Turbo Boost Max 3.0), and of base_frequency as set by an operator (Intel Speed
Select).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import field
from enum import Enum
from itertools import pairwise
from typing import Final, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.machine.cpulist import format_cpulist
from turbotui.machine.cpumodel import AMD_VENDORS, CpuModel
from turbotui.machine.host import Host, HostError
from turbotui.machine.platforms import processor_of
from turbotui.machine.reading import Leaf, cpuid_of
from turbotui.machine.topology_sysfs import CPUS, CpuFacts, SysfsReader
from turbotui.quantities.plain_numbers import hexadecimal, whole_number

_P6, _LAKEFIELD = 6, 0x8A
_OPEN: Final = frozenset({18, 19})
"""Intel families that still get new models; of family 6, numbers below Lakefield's are closed."""

_FIRST_ZEN: Final = 0x17
_ARCHITECTURES: Final = frozenset({"s390x", "ppc64", "loongarch64"})


def one_kind(model: CpuModel) -> str:
    """Name a model or architecture with one core type; "" if it may have several, or is unknown."""
    if model.architecture in _ARCHITECTURES:
        return f"the architecture ({model.architecture})"
    if model.family is None or model.model is None:
        return ""
    numbers = f"the model (family {model.family:#x} model {model.model:#x})"
    if (processor := processor_of(model)) is not None and processor.kinds:
        words = f"the model ({processor.symbol})" if processor.symbol else numbers
        return words if processor.kinds == "one" else ""
    if model.vendor == "GenuineIntel":
        return "" if model.family in _OPEN or (model.family == _P6 and model.model >= _LAKEFIELD) else numbers
    return numbers if model.vendor in AMD_VENDORS and model.family < _FIRST_ZEN else ""


_PMU_KINDS: Final = {"cpu_core": "P", "cpu_atom": "E", "cpu_lowpower": "LP"}
"""Core PMUs of hybrid x86 machines; each lists its CPUs in NAME/cpus (docs/specs/turbostat.md 3.6)."""
_PMU_FOLDERS: Final = ("/sys/devices", "/sys/bus/event_source/devices")

_STEP: Final = 1.2
"""A ratio between neighbours in a sorted list that is larger than between favoured cores of one type.

Favoured cores differ from their neighbours by 3 to 14 % (Turbo Boost Max 3.0, rankings of amd-pstate), E cores from P
cores by 24 % (Arrow Lake) to 70 %.
"""


@dataclass(frozen=True, slots=True)
class CoreTypeInputs:
    """The facts of a machine that classifiers examine."""

    host: Host
    read: SysfsReader
    facts: Mapping[int, CpuFacts]
    model: CpuModel


@dataclass(frozen=True, slots=True)
class Classification:
    """The core types that one kind of evidence gives."""

    by: str  # the evidence, in words that the user can check
    # the class of each CPU's core, by any word; one word for all means one type
    classes: Mapping[int, Hashable] = field(default_factory=dict)
    strength: Mapping[int, float] = field(default_factory=dict)  # the strength by CPU, which orders the types
    # the core type of each CPU, if the evidence itself has names; then there are several types
    names: Mapping[int, str] | None = None


Classifier: TypeAlias = "Callable[[CoreTypeInputs], Classification | None]"


def core_pmus(inputs: CoreTypeInputs) -> Classification | None:
    """Classify cores by their PMUs: two PMUs mean a hybrid, even if all CPUs of one type are offline."""
    lists = {pmu: path for pmu in _PMU_KINDS for folder in reversed(_PMU_FOLDERS)
             if inputs.read.text(path := f"{folder}/{pmu}/cpus") is not None}
    if len(lists) < 2:
        return None
    names = {cpu: _PMU_KINDS[pmu] for pmu, path in lists.items() for cpu in inputs.read.cpus(path) or ()}
    return Classification(f"the core PMUs {', '.join(lists)}", names=names)


_LEAF_FEATURES, _LEAF_HYBRID, _EXTENDED, _LEAF_TOPOLOGY = 0x7, 0x1A, 0x8000_0000, 0x8000_0026
_INTEL_TYPES: Final = {0x40: "P", 0x20: "E"}  # Intel SDM vol. 2, CPUID leaf 1AH, EAX[31:24]
_AMD_TYPES: Final = {0: "P", 1: "E"}  # EBX[31:28] (kernel arch/x86/kernel/cpu/topology_common.c)



def cpuid(inputs: CoreTypeInputs) -> Classification | None:
    """Classify cores by CPUID 7 and 0x1A of Intel, 0x80000026 of AMD, by the cpuid device of each CPU."""
    if (ask := {"GenuineIntel": _intel_type, "AuthenticAMD": _amd_type}.get(inputs.model.vendor)) is None:
        return None
    names: dict[int, str] = {}
    by = ""
    for cpu in inputs.facts:
        if (answer := ask(inputs.host, cpu)) is None:
            return None
        by, name = answer
        if not name:
            return Classification(by, dict.fromkeys(inputs.facts, by))
        names[cpu] = name
    return Classification(by, names=names) if names else None


def _intel_type(host: Host, cpu: int) -> tuple[str, str] | None:
    """Return the leaf that tells, and the type of a CPU's core; "" if the leaf tells that there is one type."""
    leaves = _leaves(host, cpu, (0, _LEAF_FEATURES, _LEAF_HYBRID))
    if leaves is None or leaves[0][0] < _LEAF_FEATURES:
        return None
    if not leaves[_LEAF_FEATURES][3] >> 15 & 1:
        return "CPUID 7, EDX[15] (not hybrid)", ""
    name = _INTEL_TYPES.get(leaves[_LEAF_HYBRID][0] >> 24)
    return None if name is None or leaves[0][0] < _LEAF_HYBRID else ("CPUID 0x1a", name)


def _amd_type(host: Host, cpu: int) -> tuple[str, str] | None:
    """Return an AMD core's type by CPUID; EAX[30] announces several types (AMD APM vol. 3, appendix E)."""
    leaves = _leaves(host, cpu, (_EXTENDED, _LEAF_TOPOLOGY))
    if leaves is None or leaves[_EXTENDED][0] < _LEAF_TOPOLOGY:
        return None
    eax, ebx, _ecx, _edx = leaves[_LEAF_TOPOLOGY]
    if not eax >> 30 & 1:
        return "CPUID 0x80000026, EAX[30] (not heterogeneous)", ""
    name = _AMD_TYPES.get(ebx >> 28)
    return None if name is None else ("CPUID 0x80000026", name)


def _leaves(host: Host, cpu: int, numbers: tuple[int, ...]) -> dict[int, Leaf] | None:
    """Return leaves of one CPU; None if its device cannot be opened or read."""
    try:
        with cpuid_of(host, cpu) as ask:
            return {number: ask(number) for number in numbers}
    except HostError:
        return None


def model(inputs: CoreTypeInputs) -> Classification | None:
    """Classify cores by a processor model or architecture that exists with one core type only."""
    known = one_kind(inputs.model)
    return Classification(known, dict.fromkeys(inputs.facts, known)) if known else None


def identity(inputs: CoreTypeInputs) -> Classification | None:
    """Classify cores by their identity registers: MIDR_EL1 on Arm, mvendorid and marchid on RISC-V.

    More than three values include revisions and islands; then capacities are better evidence, if available.
    """
    if inputs.model.x86:
        return None
    who = {cpu: _identity(inputs.read, cpu, fact) for cpu, fact in inputs.facts.items()}
    if not who or not all(who.values()):
        return None
    kinds = len(set(who.values()))
    if kinds > _MOST_KINDS and 1 < len({fact.capacity for fact in inputs.facts.values()}) <= _MOST_KINDS:
        return None
    by = "mvendorid and marchid" if inputs.model.architecture.startswith("riscv") else "MIDR_EL1"
    by += " of each core"
    return Classification(by, who, _strength(inputs))


_MOST_KINDS: Final = 3


def _identity(read: SysfsReader, cpu: int, fact: CpuFacts) -> str:
    """Return implementer and part number, without variant and revision, which may differ within a type."""
    if fact.part:
        return fact.part
    text = read.text(f"{CPUS}/cpu{cpu}/regs/identification/midr_el1") or ""
    try:
        midr = hexadecimal(text)
    except ValueError:
        return ""
    return f"{midr >> 24 & 0xFF:#x} {midr >> 4 & 0xFFF:#x}"


def _strength(inputs: CoreTypeInputs) -> dict[int, float]:
    """Return capacities, else top clocks, else nothing, which orders types by their first CPU."""
    capacities = {cpu: float(fact.capacity) for cpu, fact in inputs.facts.items()}
    if min(capacities.values()) > 0:
        return capacities
    return {cpu: float(value) for cpu, value in (_each(inputs, "cpufreq/cpuinfo_max_freq") or {}).items()}


def capacity(inputs: CoreTypeInputs) -> Classification | None:
    """Classify cores by classes of cpu_capacity (kernel Documentation/scheduler/sched-capacity.rst)."""
    capacities = {cpu: fact.capacity for cpu, fact in inputs.facts.items() if fact.capacity > 0}
    if not capacities:
        return None
    return Classification("cpu_capacity", capacities, {cpu: float(value) for cpu, value in capacities.items()})


def caches(inputs: CoreTypeInputs) -> Classification | None:
    """Classify cores by sizes of L1d, L1i and L2, in which Intel's P and E cores differ but AMD's dense do not."""
    if inputs.model.vendor != "GenuineIntel" or inputs.model.hypervisor:
        return None
    sizes = {cpu: _cache_sizes(inputs.read, cpu) for cpu in inputs.facts}
    if not sizes or not all(sizes.values()) or len(set(sizes.values())) > _MOST_KINDS:
        return None
    return Classification("the sizes of L1 and L2 caches", sizes, {cpu: float(own[0]) for cpu, own in sizes.items()})


def _cache_sizes(read: SysfsReader, cpu: int) -> tuple[int, ...]:
    """Return the KiB of L1d, L1i and L2; () if one is unknown."""
    sizes: dict[str, int] = {}
    for index in range(3):  # L1d, L1i, L2 come first (Documentation/ABI/testing/sysfs-devices-system-cpu)
        folder = f"{CPUS}/cpu{cpu}/cache/index{index}"
        if (size := whole_number((read.text(f"{folder}/size") or "").removesuffix("K"))) is not None:
            sizes[f"{read.text(f'{folder}/level')} {read.text(f'{folder}/type')}"] = size
    wanted = ("1 Data", "1 Instruction", "2 Unified")
    return tuple(sizes[name] for name in wanted) if sizes.keys() >= set(wanted) else ()


def cppc(inputs: CoreTypeInputs) -> Classification | None:
    """Classify cores by highest_perf of ACPI CPPC, if it has a step, or classes that nominal_perf confirms."""
    if inputs.model.hypervisor:
        return None
    highest, nominal = _each(inputs, "acpi_cppc/highest_perf"), _each(inputs, "acpi_cppc/nominal_perf")
    if highest is None:
        return None
    classes = _by_step(highest, nominal)
    if classes is None and nominal is not None and len(set(nominal.values())) == 1 and _steps(highest) == 0:
        classes = dict.fromkeys(inputs.facts, 0)  # at most preferred cores
    return None if classes is None else Classification("highest_perf and nominal_perf in acpi_cppc", classes,
                                                       dict(highest))


def cpufreq(inputs: CoreTypeInputs) -> Classification | None:
    """Classify cores by cpufreq's top clocks, if they have a step or base clocks confirm them."""
    if inputs.model.hypervisor:
        return None
    top, base = _each(inputs, "cpufreq/cpuinfo_max_freq"), _each(inputs, "cpufreq/base_frequency")
    if top is None:
        return None
    classes = _by_step(top, base)
    by = "cpuinfo_max_freq in cpufreq" if base is None else "base_frequency and cpuinfo_max_freq in cpufreq"
    return None if classes is None else Classification(by, classes, dict(top))


def _each(inputs: CoreTypeInputs, name: str) -> dict[int, int] | None:
    """Return a number of every CPU; None if one CPU lacks it, or has 0."""
    numbers: dict[int, int] = {}
    for cpu in inputs.facts:
        value = inputs.read.number(f"{CPUS}/cpu{cpu}/{name}")
        if value <= 0:
            return None
        numbers[cpu] = value
    return numbers or None


def _by_step(values: Mapping[int, int], base: Mapping[int, int] | None) -> dict[int, int] | None:
    """Return classes of values separated by steps, else those of `base` if the values follow it; else None.

    More steps than possible types are no evidence.
    """
    if not _steps(values):
        return None if base is None else _both(base, values)
    if _steps(values) >= _MOST_KINDS:
        return None
    order = sorted(set(values.values()))
    class_of = {order[0]: 0}
    for lower, upper in pairwise(order):
        class_of[upper] = class_of[lower] + (upper >= lower * _STEP)
    return {cpu: class_of[value] for cpu, value in values.items()}


def _steps(values: Mapping[int, int]) -> int:
    return sum(upper >= lower * _STEP for lower, upper in pairwise(sorted(set(values.values()))))


def _both(first: Mapping[int, int], second: Mapping[int, int]) -> dict[int, int] | None:
    """Return classes of the first values if the second ones differ in the same order; else None."""
    spans: dict[int, tuple[int, int]] = {}
    for cpu, value in first.items():
        least, most = spans.get(value, (second[cpu], second[cpu]))
        spans[value] = min(least, second[cpu]), max(most, second[cpu])
    order = [spans[value] for value in sorted(spans)]
    apart = all(lower[1] < upper[0] for lower, upper in pairwise(order))
    return dict(first) if apart and 1 < len(order) <= _MOST_KINDS else None


CLASSIFIERS: Final[tuple[Classifier, ...]] = (core_pmus, cpuid, model, identity, capacity, caches, cppc, cpufreq)
"""The classifiers, strongest first: kernel, processor, known models, caches, clocks."""


TYPE_ORDER = ("P", "E", "LP", "big", "mid", "little")
"""Core types, strongest first; classes c1, c2 ... follow by number."""

_X86_NAMES: Final = {2: ("P", "E"), 3: ("P", "E", "LP")}
_OTHER_NAMES: Final = {2: ("big", "little"), 3: ("big", "mid", "little")}


class KindsAnswer(Enum):
    """Whether a machine has more than one core type."""

    SEVERAL = "several kinds"
    ONE = "one kind"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class CoreKinds:
    """The core types of a machine, judged by all of its online CPUs."""

    answer: KindsAnswer = KindsAnswer.UNKNOWN  # whether there are several
    of: Mapping[int, str] = field(default_factory=dict)  # the type of each CPU; empty unless there are several
    by: str = ""  # the evidence, in words that the user can check; "" without evidence

    @property
    def several(self) -> bool:
        """Whether the machine is known to have several core types."""
        return self.answer is KindsAnswer.SEVERAL

    def sentence(self) -> str:
        """Describe the core types: "cores of 2 kinds: P (CPUs 0-11), E (CPUs 12-19), by CPUID 0x1a"."""
        if self.answer is KindsAnswer.ONE:
            return "all cores are of one kind" + (f", by {self.by}" if self.by else "")
        if self.answer is KindsAnswer.UNKNOWN:
            return "whether all cores are of one kind is unknown: nothing that can be read here says so"
        kinds = sorted(set(self.of.values()), key=type_rank)
        each = (f"{kind} (CPUs {format_cpulist(cpu for cpu, own in self.of.items() if own == kind)})" for kind in kinds)
        return f"cores of several kinds: {', '.join(each)}, by {self.by}"


def type_rank(core_type: str) -> tuple[int, int]:
    """Return a key that sorts core types, strongest first."""
    if core_type in TYPE_ORDER:
        return (TYPE_ORDER.index(core_type), 0)
    return (len(TYPE_ORDER), whole_number(core_type[1:]) or 0)


def core_kinds(host: Host, facts: Mapping[int, CpuFacts], model: CpuModel) -> CoreKinds:
    """Determine the core types of a machine by the strongest evidence."""
    inputs = CoreTypeInputs(host, SysfsReader(host), facts, model)
    for classifier in CLASSIFIERS:
        if (kinds := classifier(inputs)) is None:
            continue
        if kinds.names is not None:
            return CoreKinds(KindsAnswer.SEVERAL, kinds.names, kinds.by)
        if len(set(kinds.classes.values())) < 2:
            return CoreKinds(KindsAnswer.ONE, {}, kinds.by)
        return CoreKinds(KindsAnswer.SEVERAL, _named(kinds.classes, kinds.strength, x86=model.x86), kinds.by)
    return CoreKinds()


def _named(classes: Mapping[int, Hashable], strength: Mapping[int, float], *, x86: bool) -> dict[int, str]:
    """Name classes in the order of their strongest cores, or of their first CPUs if strengths are unknown."""
    strongest: dict[Hashable, float] = {}
    for cpu, own in classes.items():
        strongest[own] = max(strength.get(cpu, 0.0), strongest.get(own, 0.0))
    order = sorted(strongest, key=lambda own: -strongest[own])
    names = (_X86_NAMES if x86 else _OTHER_NAMES).get(len(order))
    if names is None or not strength:
        names = tuple(f"c{number}" for number in range(1, len(order) + 1))
    name_of = dict(zip(order, names, strict=True))
    return {cpu: name_of[own] for cpu, own in classes.items()}
