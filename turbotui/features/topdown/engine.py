"""The counters of a top-down analysis: each core PMU's tree, the events to open, and the counts of an interval."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.events.set_files import model_id
from turbotui.features.topdown.trees import TSC, Tree, tree_for
from turbotui.machine.calibration import tsc_hz
from turbotui.machine.machine import Machine
from turbotui.machine.perf_errors import circumstances
from turbotui.machine.pmus import DEVICES, Pmu, list_pmus, read_pmu
from turbotui.machine.small_files import line_of
from turbotui.machine.topology_sysfs import SysfsReader
from turbotui.quantities.event_columns import EventColumn, EventRequest
from turbotui.quantities.expressions import parse_expression
from turbotui.quantities.plain_numbers import integer_of_c
from turbotui.quantities.scope import RowId, Scope
from turbotui.quantities.signals import SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.frame import Frame
from turbotui.sampling.reasons import problem
from turbotui.sources.bases import PerCpuSource
from turbotui.sources.event_source import EventSource
from turbotui.sources.source import Probe, Reader, Source

RECORDED_LEVELS: Final = 2
"""The levels that are recorded; deeper ones are multiplexed."""
_CORE_PMUS: Final = re.compile(r"cpu|cpu_(core|atom|lowpower)|armv[89].*")
_WATCHDOG: Final = "/proc/sys/kernel/nmi_watchdog"
PART_OF_CORE: Final = Unavailable(
    Reason.NOT_READ, "slots are those of all CPUs of a core, and of this core one is not measured, gave no counts, or "
    "is offline while other cores have it", "bring up all CPUs of the core, and leave out --cpu")
"""Why a core of which not all CPUs are counted has no shares."""
_METRIC: Final = "topdown-"
"""The prefix of parts of the slots counter, which need no counter of their own (Intel SDM vol. 3, 20.3.9.3)."""


@dataclass(frozen=True)
class Branch:
    """The cores of one PMU, and their top-down tree."""

    tree: Tree
    pmu: str  # its name in sysfs
    cpus: tuple[int, ...]  # the watched CPUs of the PMU
    places: tuple[int, ...]  # positions of these CPUs in the topology's order
    threads: int  # the most CPUs of a core that are online, measured or not
    width: int  # slots per cycle; 0 if unknown
    kind: str = ""  # the core type, "P", "E" or "LP", else the PMU's name; "" if there is one type
    # the time stamp counter's clock in GHz; None if the tree does not ask for it
    tsc: float | Unavailable | None = None
    # for a tree of cores, the core of each CPU; None without all threads: one is not measured, or offline here alone
    cores: tuple[RowId | None, ...] = ()

    @cached_property
    def at(self) -> Mapping[int, int]:
        """The position of each CPU among those of the branch."""
        return {cpu: position for position, cpu in enumerate(self.cpus)}

    def event(self, name: str) -> str:
        """Return an event of the tree in perf's grammar."""
        terms = self.tree.events[name]
        return terms if self.tree.whole else f"{self.pmu}/{terms}/"

    @cached_property
    def constants(self) -> Mapping[str, float]:
        """The constants that formulas may use."""
        constants = {"threads": float(self.threads), "width": float(self.width)}
        if isinstance(self.tsc, float):
            constants[TSC] = self.tsc
        return {name: value for name, value in constants.items() if value}


@dataclass(frozen=True, slots=True)
class Drill:
    """The choice of nodes to count below level 1."""

    parents: tuple[str, ...] = ()  # the nodes whose children are counted
    cpus: frozenset[int] | None = None  # the CPUs on which they are counted; None for all


@dataclass(frozen=True)
class EventGroup:
    """The events behind the children of one node, counted together if they fit."""

    branch: Branch
    parent: str  # the node; "" for level 1
    names: tuple[str, ...]  # the events by their names in formulas

    @cached_property
    def request(self) -> EventRequest:
        """The request for the group's events."""
        events = tuple(self.branch.event(name) for name in self.names)
        title = f"topdown {self.branch.tree.name} {self.parent}".rstrip()
        column = EventColumn(title, formula=parse_expression(" + ".join(f"'{event}'" for event in events)))
        return EventRequest(f"{title} of {self.branch.pmu}", events, events, (column,), together=True)

    def signal(self, name: str) -> SignalId:
        """Return the id of an event's signal."""
        return self.request.signal(self.branch.event(name))


class TopdownSource(PerCpuSource):
    """The source of a group's counters on some CPUs.

    A recording keeps its readings under the names of their signals, from which `TopdownCounters` finds them again.
    """

    gives = "slots of the pipeline"
    counts_from_open = True

    def __init__(self, group: EventGroup, cpus: frozenset[int] | None) -> None:
        self._source = EventSource(group.request)
        self._cpus = cpus
        self.id = f"{self._source.id} on {'all' if cpus is None else sorted(cpus)}"
        self.title = group.request.text

    def probe(self, machine: Machine) -> Probe:
        """Return the events that can be opened; on CPUs that were not chosen there are none."""
        probe = self._source.probe(machine)
        if self._cpus is None:
            return probe
        why = Unavailable(Reason.NOT_READ, f"{self.title} is counted only for the row that was opened")
        others = {cpu: why for cpu in machine.topology.cpus if cpu not in self._cpus}
        return replace(probe, signals={name: signal if isinstance(signal, Unavailable)
            else replace(signal, absent={**others, **signal.absent}) for name, signal in probe.signals.items()})

    def descriptors(self, wanted: frozenset[SignalId], readers: int) -> int:
        return self._source.descriptors(wanted, readers)

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> Reader:
        return self._source.open(machine, cpu, wanted)


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """The counts of one group in a frame."""

    # event by its name in formulas -> increase on each CPU of the branch; None if unknown
    counts: Mapping[str, Sequence[float | None]]
    ran: Sequence[float | None] = ()  # the part of the interval in which the counters ran, on each CPU
    why: Unavailable | None = None  # the reason if no event has counts
    # the reason for each event that has no counts on any CPU, although others have
    missing: Mapping[str, Unavailable] = field(default_factory=dict)


class TopdownCounters:
    """The trees of a machine's cores, and the events counted for them.

    Attributes:
        branches: one for each core PMU that has a tree.
        drill: the nodes counted below level 1.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.branches: tuple[Branch, ...] = tuple(_branches(machine))
        self.drill = Drill()
        self._positions: dict[tuple[int, ...], Mapping[str, Sequence[int]]] = {}
        self._sources: dict[tuple[str, str, tuple[str, ...], frozenset[int] | None], TopdownSource] = {}
        self._grouped: tuple[object, dict[tuple[str, ...], tuple[EventGroup, ...]]] = (None, {})

    @property
    def why_none(self) -> Unavailable | None:
        """Return why nothing can be counted; None if something can."""
        return None if self.branches else _why_none(self._machine)

    @property
    def only_cores(self) -> bool:
        """Whether slots belong to cores and not to CPUs, on all cores."""
        return bool(self.branches) and all(branch.tree.core and branch.threads > 1 for branch in self.branches)

    def positions(self, cpus: tuple[int, ...]) -> Mapping[str, Sequence[int]]:
        """Return the positions of CPUs within their branches, by PMU, without branches that have none of them."""
        places = self._positions.get(cpus)
        if places is None:
            each = {branch.pmu: [branch.at[cpu] for cpu in cpus if cpu in branch.at] for branch in self.branches}
            places = self._positions[cpus] = {pmu: at for pmu, at in each.items() if at}
        return places

    def below(self, level: int) -> tuple[str, ...]:
        """Return the nodes, of all trees, whose children are on levels 2 to this one."""
        return tuple(dict.fromkeys(node.id for branch in self.branches for node in branch.tree.nodes
                                   if node.level < level and branch.tree.children(node.id)))

    def groups(self) -> tuple[EventGroup, ...]:
        """Return all groups to count, level 1 first.

        Level 2 of a slots counter needs no counter of its own, and so is counted in the group of level 1; a second
        group with the same leader would only be multiplexed with the first.
        """
        return self._known_groups(self.drill.parents)

    def first_groups(self) -> tuple[EventGroup, ...]:
        """Return the groups of level 1 alone."""
        return self._known_groups(())

    def _known_groups(self, parents: tuple[str, ...]) -> tuple[EventGroup, ...]:
        if self._grouped[0] is not self.branches:
            self._grouped = (self.branches, {})
        groups = self._grouped[1]
        if parents not in groups:
            groups.clear()  # what was opened before is not opened again in every frame
            groups.update({asked: self._groups(asked) for asked in ((), parents)})
        return groups[parents]

    def _groups(self, parents: tuple[str, ...]) -> tuple[EventGroup, ...]:
        groups: list[EventGroup] = []
        for branch in self.branches:
            tree = branch.tree
            names = {parent: tree.counted_for(parent) for parent in ("", *parents)
                     if not parent or tree.children(parent)}
            metrics = {name for every in names.values() for name in every if _of_slots(tree.events[name])}
            base = {*names[""], *metrics}
            groups.append(EventGroup(branch, "", tuple(name for name in tree.events if name in base)))
            for parent, needed in names.items():
                own = tuple(name for name in needed if not _of_slots(tree.events[name]))
                if parent and own:
                    groups.append(EventGroup(branch, parent, own))
        return tuple(groups)

    def sources(self) -> tuple[Source, ...]:
        """Return one source for each group; unchanged sources stay the same objects."""
        sources: dict[tuple[str, str, tuple[str, ...], frozenset[int] | None], TopdownSource] = {}
        for group in self.groups():
            cpus = self.drill.cpus if group.parent else None
            kind_cpus = frozenset(group.branch.cpus)
            if cpus is not None and not cpus & kind_cpus:
                continue
            key = (group.branch.pmu, group.parent, group.names, None if cpus is None else cpus & kind_cpus)
            sources[key] = self._sources.get(key) or TopdownSource(group, key[3])
        self._sources = sources
        return tuple(sources.values())

    def signals(self) -> frozenset[SignalId]:
        """Return the signals to read, with the running times of the counters."""
        signals = {group.signal(name) for group in self.groups() for name in group.names}
        return frozenset(signals | {f"{name}.{clock}" for name in signals for clock in ("enabled", "running")})

    def counted(self, frame: Frame | None, group: EventGroup) -> GroupCounts:
        """Return a group's increases on each CPU of its branch in an interval."""
        if frame is None or frame.older is None:
            return GroupCounts({}, why=Unavailable(Reason.NOT_READ, "waiting for the first interval"))
        counts: dict[str, Sequence[float | None]] = {}
        missing: dict[str, Unavailable] = {}
        places = _places(frame, group.branch)
        if all(at is None for at in places):
            return GroupCounts({}, why=PART_OF_CORE if group.branch.cores else Unavailable(
                Reason.OFFLINE, f"{group.request.text}: its CPUs are not there in this interval"))
        for name in group.names:
            signal = group.signal(name)
            known = frame.capabilities.signals.get(signal)
            if known is None:
                missing[name] = frame.capabilities.missing.get(signal) or Unavailable(
                    Reason.NOT_READ, f"{group.request.text} was not counted in this interval")
                continue
            increases = frame.deltas(signal)
            values = [None if at is None else increases[at] for at in places]
            if all(value is None for value in values):
                missing[name] = problem(frame, known, group.branch.cpus) or Unavailable(
                    Reason.NEVER_RAN, f"{known.origin} never got a counter in this interval",
                    "end other perf sessions, or turn the NMI watchdog off (sysctl kernel.nmi_watchdog=0)")
                continue
            counts[name] = values
        if not counts:
            return GroupCounts({}, why=next(iter(missing.values())), missing=missing)
        first = group.signal(next(iter(counts)))
        enabled, running = (frame.deltas(f"{first}.{clock}") if f"{first}.{clock}" in frame.capabilities.signals else ()
                            for clock in ("enabled", "running"))
        ran = [running[at] / enabled[at] if at is not None and running and enabled and enabled[at] and  # type: ignore[operator]
               running[at] is not None else None for at in places]
        return GroupCounts(counts, ran, None, missing)


def _of_slots(event: str) -> bool:
    """Tell whether an event is the slots counter or a part of it."""
    return event == "slots" or event.startswith(_METRIC)


def _places(frame: Frame, branch: Branch) -> Sequence[int | None]:
    """Return the positions of a branch's CPUs in a frame, whose CPUs may differ."""
    cpus = frame.topology.cpus
    if None in branch.cores:
        at = {cpu: place for place, cpu in enumerate(cpus)}
        return [None if core is None else at.get(cpu) for cpu, core in zip(branch.cpus, branch.cores, strict=True)]
    if len(cpus) > max(branch.places) and all(cpus[at] == cpu for at, cpu in zip(branch.places, branch.cpus,
                                                                                 strict=True)):
        return branch.places
    at = {cpu: place for place, cpu in enumerate(cpus)}
    return [at.get(cpu) for cpu in branch.cpus]


def _threads_by_cpu(machine: Machine) -> Mapping[int, frozenset[int]]:
    """Return the online CPUs of each measured CPU's core, measured or not."""
    topology = machine.topology
    measured = {cpu: frozenset(core.cpus) for core in topology.instances(Scope.CORE) for cpu in core.cpus}
    if topology.restricted is None:
        return measured
    read = SysfsReader(machine.host)
    return {cpu: core | (read.core_mask(cpu) - frozenset(topology.offline)) for cpu, core in measured.items()}


def _branches(machine: Machine) -> list[Branch]:
    model = model_id(machine.model)
    watchdog = line_of(machine.host, _WATCHDOG) == "1"
    branches = []
    threads_by_cpu = _threads_by_cpu(machine)
    for name in list_pmus(machine.host):
        pmu = read_pmu(machine.host, name) if _CORE_PMUS.fullmatch(name) else None
        if pmu is None:
            continue
        tree = tree_for(model, name, frozenset(pmu.events), watchdog=watchdog) or _vendor_tree(machine, pmu)
        topology = machine.topology
        cpus = tuple(cpu for cpu in topology.cpus if not pmu.cpus or cpu in pmu.cpus)
        if tree is None or not cpus:
            continue
        written = line_of(machine.host, f"{DEVICES}/{name}/caps/slots")
        try:
            width = tree.width or integer_of_c(written)
        except ValueError:
            width = 0
        if any("width" in node.share.names for node in tree.nodes) and not width:
            continue
        threads = max(len(threads_by_cpu[cpu]) for cpu in cpus)
        cores = tuple(topology.row(Scope.CORE, cpu) if len(threads_by_cpu[cpu]) == threads
                      and threads_by_cpu[cpu] <= topology.places.keys() else None for cpu in cpus)
        at = {cpu: place for place, cpu in enumerate(topology.cpus)}
        branches.append(Branch(tree, name, cpus, tuple(at[cpu] for cpu in cpus), threads, width,
                            topology.places[cpus[0]].core_type or (name if pmu.cpus else ""), _tsc_of(machine, tree),
                            cores if tree.core else ()))
    return branches


def _tsc_of(machine: Machine, tree: Tree) -> float | Unavailable | None:
    """Return the clock of the time stamp counter in GHz, if a formula of the tree asks for it."""
    if not any(TSC in node.share.names for node in tree.nodes):
        return None
    clock = tsc_hz(machine, circumstances(machine))
    return clock if isinstance(clock, Unavailable) else clock.value / 1e9


def _vendor_tree(machine: Machine, pmu: Pmu) -> Tree | None:
    from turbotui.features.topdown.vendor_trees import vendor_tree  # noqa: PLC0415 - reads thousands of rows

    return vendor_tree(machine, pmu)


def _why_none(machine: Machine) -> Unavailable:
    facts = circumstances(machine)
    core = [name for name in list_pmus(machine.host) if _CORE_PMUS.fullmatch(name)]
    if not core:
        return Unavailable(
            Reason.VIRTUALISED if facts.hypervisor else Reason.NO_HARDWARE,
            "there is no PMU of the cores, which counts slots",
            "let the hypervisor give the guest a virtual PMU (QEMU: -cpu host,pmu=on); run turbotui on the host; "
            "turbotui --machine sapphire-2s shows a simulated machine that has one"
            if facts.hypervisor else "use a kernel with CONFIG_PERF_EVENTS and the driver of this core's PMU")
    here = model_id(machine.model) or "a processor that does not say what it is"
    return Unavailable(Reason.UNKNOWN_MODEL, f"no top-down tree is known for {', '.join(core)} of {here}, and no "
                       "tables of its vendor with metrics of TopdownL1 were found",
                       "use perf's tables (install perf) or name others with --event-tables DIR; turbotui stat --add "
                       "set:ipc shows what its counters say")


class RecordedTopdown(TopdownCounters):
    """The counters of a recording, which has them under their original names."""

    def sources(self) -> tuple[Source, ...]:
        """Give none: a recording is not read by sources."""
        return ()

    def signals(self) -> frozenset[SignalId]:
        """Give none: a recording is not read by sources."""
        return frozenset()

    def has_any(self, frame: Frame) -> bool:
        """Tell whether slots were read at both ends of an interval."""
        read = frame.newer.values.keys()
        return any(group.signal(name) in read for group in self.groups() for name in group.names)
