"""Kinds of core: P, E and LP on x86, capacity classes elsewhere. One resolver for all who ask, and what it goes by.

Each witness in `_WITNESSES` looks at one sort of evidence and says "several kinds", "one kind", or nothing. The
strongest one that speaks is believed, and named. Where none speaks, the answer is unknown.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import field
from enum import Enum
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.cpulist import format_cpulist
from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.host import Host
from turbotui.machine.kind_evidence import WITNESSES, Scene
from turbotui.machine.topology_sysfs import CpuFacts, SysfsReader

TYPE_ORDER = ("P", "E", "LP", "big", "mid", "little")
"""Kinds, strongest first; classes c1, c2 ... come after them by number."""

_X86_NAMES: Final = {2: ("P", "E"), 3: ("P", "E", "LP")}
_OTHER_NAMES: Final = {2: ("big", "little"), 3: ("big", "mid", "little")}


class KindsAnswer(Enum):
    """Whether a machine has more than one kind of core."""

    SEVERAL = "several kinds"
    ONE = "one kind"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class CoreKinds:
    """The core types of a machine, judged by all of its online CPUs.

    Attributes:
        answer: whether there are several.
        of: the kind of each CPU; empty unless there are several.
        by: the evidence that was believed, in words that a person can check; "" where there was none.
    """

    answer: KindsAnswer = KindsAnswer.UNKNOWN
    of: Mapping[int, str] = field(default_factory=dict)
    by: str = ""

    @property
    def several(self) -> bool:
        """Whether the machine is known to have more than one kind."""
        return self.answer is KindsAnswer.SEVERAL

    def sentence(self) -> str:
        """The kinds of core in a sentence: "cores of 2 kinds: P (CPUs 0-11), E (CPUs 12-19), by CPUID 0x1a"."""
        match self.answer:
            case KindsAnswer.ONE:
                return "all cores are of one kind" + (f", by {self.by}" if self.by else "")
            case KindsAnswer.UNKNOWN:
                return "whether all cores are of one kind is unknown: nothing that can be read here says so"
        kinds = sorted(set(self.of.values()), key=type_rank)
        each = (f"{kind} (CPUs {format_cpulist(cpu for cpu, own in self.of.items() if own == kind)})" for kind in kinds)
        return f"cores of several kinds: {', '.join(each)}, by {self.by}"


def type_rank(core_type: str) -> tuple[int, int]:
    """A key that sorts kinds of core, strongest first."""
    if core_type in TYPE_ORDER:
        return (TYPE_ORDER.index(core_type), 0)
    return (len(TYPE_ORDER), int(core_type[1:]) if core_type[1:].isdecimal() else 0)


def core_kinds(host: Host, facts: Mapping[int, CpuFacts], model: CpuModel) -> CoreKinds:
    """The kinds of core of a machine by the strongest evidence there is.

    Args:
        host: the machine.
        facts: its online CPUs.
        model: what its processor says it is.
    """
    scene = Scene(host, SysfsReader(host), facts, model)
    for witness in WITNESSES:
        said = witness(scene)
        if said is None:
            continue
        if said.names is not None:
            return CoreKinds(KindsAnswer.SEVERAL, said.names, said.by)
        if len(set(said.classes.values())) < 2:
            return CoreKinds(KindsAnswer.ONE, {}, said.by)
        return CoreKinds(KindsAnswer.SEVERAL, _named(said.classes, said.strength, x86=model.x86), said.by)
    return CoreKinds()


def _named(classes: Mapping[int, Hashable], strength: Mapping[int, float], *, x86: bool) -> dict[int, str]:
    """The names of classes in the order of their strongest cores; of their first CPUs where no strength is known."""
    strongest: dict[Hashable, float] = {}
    for cpu, own in classes.items():
        strongest[own] = max(strength.get(cpu, 0.0), strongest.get(own, 0.0))
    order = sorted(strongest, key=lambda own: -strongest[own])
    names = (_X86_NAMES if x86 else _OTHER_NAMES).get(len(order))
    if names is None or not strength:
        names = tuple(f"c{number}" for number in range(1, len(order) + 1))
    name_of = dict(zip(order, names, strict=True))
    return {cpu: name_of[own] for cpu, own in classes.items()}
