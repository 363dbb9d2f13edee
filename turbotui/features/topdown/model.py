"""Rows of a top-down analysis: their counts, and the shares computed from them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.topdown.engine import Branch
from turbotui.features.topdown.places import MOVING, CpuSet, RowLevel
from turbotui.features.topdown.trees import TSC, Node
from turbotui.quantities.expressions import Expression
from turbotui.quantities.unavailable import Reason, Unavailable

TOLERANCE: Final = 2.0
"""Percentage points by which shares may miss their whole: PERF_METRICS have 8 bits each (Intel SDM vol. 3, 20.3.9.3),
and counters of one group are read one after the other."""
_USEFUL: Final = ("retiring", "running")
_WHOLE: Final = 100.0


UNSPLIT: Final = Unavailable(
    Reason.OUT_OF_RANGE, "what ran on several kinds of core was counted by multiplexed events, so that nobody knows "
    "for how long it ran on each",
    "see level 1 alone, whose events are not multiplexed; rows of a kind have their shares")
"""Why slots, CPU time and shares over several core types are unknown while deeper levels are counted."""


@dataclass(frozen=True, slots=True)
class RegionPart:
    """The extent of a region within a command."""

    entries: int  # how often threads entered the region
    seconds: float  # time for which the region was open in at least one thread
    of_time: float  # share of the command's run, 0 to 1
    of_slots: float | None = None  # share of the command's slots; None if unknown
    # share of the region's time whose counts were apportioned by time, because they cover other work
    apportioned: float = 0.0


@dataclass(frozen=True)  # without slots, because tracing replaces the numbers
class TopdownRow:
    """A row over one interval."""

    place: CpuSet
    branches: tuple[Branch, ...]  # the trees of these CPUs
    counts: Mapping[str, float]  # the counts, by `count_key`
    # by group, the part of the interval in which its counters ran
    ran: Mapping[tuple[str, str], float] = field(default_factory=dict)
    whys: Mapping[tuple[str, str], Unavailable] = field(default_factory=dict)  # by group, why it is unknown
    partial: frozenset[tuple[str, str]] = frozenset()  # groups of which some CPUs of the row are missing
    busy: float | None = None  # CPU time in percent of the interval; None for rows of CPUs
    extent: RegionPart | None = None  # the extent of a region of a command
    # whether the row ran on several core types with multiplexed counters. Then its time and slots on each type are
    # unknown, but shares are known, because their divisors were counted equally long.
    unsplit: bool = False
    # why single events are unknown, by `count_key`, although others of their group are known
    missing: Mapping[str, Unavailable] = field(default_factory=dict)
    _known: dict[str, float | None] = field(default_factory=dict, init=False, compare=False, repr=False)
    _shares: dict[str, tuple[tuple[Node, float], ...]] = field(
        default_factory=dict, init=False, compare=False, repr=False)
    _faults: dict[str, str] = field(default_factory=dict, init=False, compare=False, repr=False)

    @property
    def several(self) -> bool:
        """Whether the row's cores have more than one tree."""
        return len(self.branches) > 1

    # Values: fractions, of floats or of numbers that remember their arithmetic

    def fraction(self, node_id: str) -> float | None:
        """Return the share of a node, 0 to 1; None if unknown.

        For cores with several trees, shares of level 1 are weighted by slots; deeper ones differ in meaning.
        """
        if node_id not in self._known:
            self._known[node_id] = self._fraction(node_id)
        return self._known[node_id]

    def _fraction(self, node_id: str) -> float | None:
        if not self.several:
            return None if not self.branches else self._of(self.branches[0], node_id)
        fractions: list[tuple[float, float]] = []
        if self.unsplit or len({branch.tree.unit for branch in self.branches}) > 1:
            return None
        for branch in self.branches:
            node = branch.tree.by_id.get(node_id)
            weight = self._evaluate(branch, branch.tree.slots, "")
            if weight is None or (node is not None and node.level > 1):
                return None
            share = 0.0 if node is None or not weight else self._of(branch, node_id)  # asleep: no slots, no weight
            if share is None:
                return None
            fractions.append((share, weight))
        total = math.fsum(weight for _share, weight in fractions)
        return math.fsum(share * weight for share, weight in fractions) / total if total else None

    def slots(self) -> float | None:
        """Return the number of slots, or cycles, in the interval."""
        values = [self._evaluate(branch, branch.tree.slots, "") for branch in self.branches]
        return None if not values or None in values else math.fsum(value for value in values if value is not None)

    def _of(self, branch: Branch, node_id: str) -> float | None:
        node = branch.tree.by_id.get(node_id)
        if node is None or (self.refused is not None):
            return None
        formula = node.share
        if node.when is not None and node.otherwise is not None:
            if (decided := self._evaluate(branch, node.when, node.parent)) is None:
                return None
            formula = node.share if decided > 0 else node.otherwise
        return self._evaluate(branch, formula, node.parent)

    def _evaluate(self, branch: Branch, formula: Expression, parent: str) -> float | None:
        if not parent and not self.several:  # most formulas of level 1 use counts only, for every CPU
            value = formula.evaluate(self.counts)
            if value is not None:
                return value
        values: dict[str, float | None] = {}
        for name in formula.names:
            if name in branch.tree.events:
                values[name] = self.count(branch, parent, name)
            elif name in branch.tree.by_id:
                values[name] = self._of(branch, name)
            else:
                values[name] = branch.constants.get(name)
        return formula.evaluate(values)

    def count(self, branch: Branch, parent: str, name: str) -> float | None:
        """Return an event's count in the group of a node's children, or of the next node above that counted it."""
        within: str | None = parent
        while within is not None:
            key = count_key(self, branch, within, name)
            if (value := self.counts.get(key)) is not None or (self.missing and key in self.missing):
                return value
            within = branch.tree.by_id[within].parent if within else None
        return None

    @property
    def refused(self) -> Unavailable | None:
        """Why a row of these CPUs can have no shares at all; None if it can."""
        for branch in self.branches:
            if branch.tree.core and branch.threads > 1 and self.place.level in MOVING:
                return Unavailable(Reason.NO_HARDWARE, f"the slots of {branch.tree.title} belong to a core, and what "
                                   "runs on one of its CPUs has no own", "see cores: --per core, or t on the screen")
            if branch.tree.core and self.place.level is RowLevel.CPU and branch.threads > 1:
                return Unavailable(Reason.NO_HARDWARE, f"the slots of {branch.tree.title} belong to a core, and a CPU "
                                   "that shares it has no own", "see cores: --per core, or t on the screen")
        if not self.branches:
            return Unavailable(Reason.UNKNOWN_MODEL, "no top-down tree is known for these cores")
        return None

    def why(self, node_id: str) -> Unavailable:
        """Return why a node's share is unknown."""
        if self.refused is not None:
            return self.refused
        nodes = [branch.tree.by_id[node_id] for branch in self.branches if node_id in branch.tree.by_id]
        if not nodes:
            return Unavailable(Reason.NO_HARDWARE, f"{self.branches[0].tree.title}: has no such category")
        if self.several and len({branch.tree.unit for branch in self.branches}) > 1:
            return Unavailable(Reason.OUT_OF_RANGE, "some cores of the row count slots and others cycles",
                               "see kinds: --per kind, or t on the screen")
        if self.several and self.unsplit:
            return UNSPLIT
        if self.several and nodes[0].level > 1:
            if self.place.level in (RowLevel.COMMAND, RowLevel.REGION):
                return Unavailable(Reason.OUT_OF_RANGE, f"{self.place.name} ran on several kinds of core, whose deeper "
                                   "levels differ", "see the rows of its kinds")
            return Unavailable(Reason.OUT_OF_RANGE, "the row has several kinds of core, whose deeper levels differ",
                               "see kinds: --per kind, or t on the screen")
        for branch in self.branches:
            for parent in dict.fromkeys((*(node.parent for node in nodes), "")):
                if (branch.pmu, parent) in self.whys:
                    return self.whys[branch.pmu, parent]
        lacks = (self._lacks(branch, node) for branch in self.branches for node in nodes) if self.missing else ()
        return next((why for why in lacks if why is not None), None) or self._why_not_computed(nodes)

    def _lacks(self, branch: Branch, node: Node) -> Unavailable | None:
        """Return why an event that a node's share needs is unknown; None if no such event is missing by itself."""
        whole = (branch.tree.slots,) if self.several else ()
        for name in dict.fromkeys(name for formula in (*node.formulas, *whole) for name in formula.names):
            reason = (self._lacks(branch, branch.tree.by_id[name]) if name in branch.tree.by_id
                      else self._why_missing(branch, node.parent, name))
            if reason is not None:
                return reason
        return None

    def _why_missing(self, branch: Branch, parent: str, name: str) -> Unavailable | None:
        within: str | None = parent
        while within is not None:
            if (key := count_key(self, branch, within, name)) in self.missing or key in self.counts:
                return self.missing.get(key)
            within = branch.tree.by_id[within].parent if within else None
        return None

    def _why_not_computed(self, nodes: Sequence[Node]) -> Unavailable:
        """Return why formulas have no value although their group was counted."""
        for branch in self.branches:
            if isinstance(branch.tsc, Unavailable) and any(TSC in node.share.names for node in nodes):
                return branch.tsc
        if not self.several and self._is_uncounted(self.branches[0], nodes[0]):
            return Unavailable(Reason.NOT_READ, f"{nodes[0].words.title}: not counted in this interval")
        if nodes[0].level > 1 and self.slots():
            return Unavailable(Reason.OUT_OF_RANGE, f"{nodes[0].words.title}: the formula divides by a count that "
                               "was 0 in this interval")
        return Unavailable(Reason.OUT_OF_RANGE, "there were no slots in this interval: the CPUs of the row slept")

    def _is_uncounted(self, branch: Branch, node: Node) -> bool:
        names = {name for formula in node.formulas for name in formula.names if name in branch.tree.events}
        return any(self.count(branch, node.parent, name) is None for name in names)

    # Derived facts

    def stands_out(self, node_id: str) -> bool:
        """Tell whether a share is past its vendor's threshold, in all trees that have one."""
        values = [self._threshold(branch, node) for branch in self.branches
                  for node in [branch.tree.by_id.get(node_id)] if node is not None and node.rule is not None]
        return bool(values) and all(values)

    def _threshold(self, branch: Branch, node: Node) -> float | None:
        """Evaluate a node's rule; a rule over shares uses the row's shares, which are computed once."""
        rule = node.rule
        if rule is None or self.several or not branch.tree.by_id.keys() >= set(rule.names):
            return None if rule is None else self._evaluate(branch, rule, node.parent)
        return rule.evaluate({name: self.fraction(name) for name in rule.names})

    def percent(self, node_id: str) -> float | None:
        """Return the share of a node in percent."""
        value = self.fraction(node_id)
        return None if value is None else 100.0 * value

    def nodes(self, parent: str = "") -> tuple[Node, ...]:
        """Return the nodes below a node, of all trees of the row."""
        if not self.several:
            return self.branches[0].tree.children(parent) if self.branches else ()
        nodes = {node.id: node for branch in self.branches for node in branch.tree.children(parent)}
        return tuple(nodes.values())

    def is_divided(self, node: Node) -> bool:
        """Tell whether a node is divided in the same way in all trees of the row."""
        return not self.several and any(branch.tree.children(node.id) for branch in self.branches)

    def shares(self, parent: str = "") -> tuple[tuple[Node, float], ...]:
        """Return the known shares below a node in percent."""
        if parent not in self._shares:
            shares = [(node, self.fraction(node.id)) for node in self.nodes(parent)]
            self._shares[parent] = tuple([(node, 100.0 * value) for node, value in shares if value is not None])
        return self._shares[parent]

    def hottest(self, parent: str = "") -> Node | None:
        """Return the largest node below a node, except useful work; None if an unknown one may be larger."""
        largest = self.largest(parent)
        if largest is None or not self.missing:
            return largest
        shares = self.shares(parent)
        known = {node.id for node, _value in shares}
        if not any(self._may_count(node) for node in self.nodes(parent) if node.id not in (*known, *_USEFUL)):
            return largest
        whole = _WHOLE if not parent else self.percent(parent)
        if whole is None or not all(branch.tree.adds_up(parent) for branch in self.branches):
            return None
        rest = whole - math.fsum(value for _node, value in shares)
        return largest if (self.percent(largest.id) or 0.0) > rest else None

    def _may_count(self, node: Node) -> bool:
        """Tell whether a node's share is unknown because of an event that is missing."""
        return any(self._lacks(branch, branch.tree.by_id[node.id]) is not None for branch in self.branches
                   if node.id in branch.tree.by_id)

    def largest(self, parent: str = "") -> Node | None:
        """Return the largest known node below a node, except useful work."""
        values = [(value, node) for node, value in self.shares(parent) if node.id not in _USEFUL]
        return max(values, key=lambda pair: pair[0])[1] if values else None

    def first_unknown(self) -> Node | None:
        """Return the first node of level 1 whose share is unknown; without any, the first node."""
        nodes = self.nodes("")
        return next((node for node in nodes if self.fraction(node.id) is None), next(iter(nodes), None))

    def hottest_path(self) -> tuple[Node, ...]:
        """Return the hottest node of level 1, the hottest below it, and so on while shares are known and not 0."""
        nodes: list[Node] = []
        node = self.hottest()
        while node is not None and self.fraction(node.id):
            nodes.append(node)
            node = self.hottest(node.id)
        return tuple(nodes)

    def total(self, parent: str = "") -> float | None:
        """Return the sum of the nodes below a node in percent; None if one is unknown, or if they need not add up."""
        if not self.branches or not all(branch.tree.adds_up(parent) for branch in self.branches):
            return None
        children = self.shares(parent)
        return math.fsum(value for _node, value in children) if len(children) == len(self.nodes(parent)) else None

    def fault(self, parent: str = "") -> str:
        """Describe what is wrong with the shares below a node; "" if nothing is."""
        if parent not in self._faults:
            self._faults[parent] = self._fault(parent)
        return self._faults[parent]

    def _fault(self, parent: str) -> str:
        total, whole = self.total(parent), _WHOLE if not parent else self.percent(parent)
        if total is None or whole is None:
            return ""
        least = min(self.shares(parent), key=lambda pair: pair[1])
        if least[1] < -TOLERANCE:
            return (f"{least[0].words.title} is {least[1]:.1f} %, less than nothing: the counters contradict each "
                    "other, and no bar is drawn")
        if abs(total - whole) > TOLERANCE:
            return (f"the shares add up to {total:.1f} % and not to {whole:.1f} %: the counters contradict each other, "
                    "and no bar is drawn")
        return ""


def count_key(row: TopdownRow, branch: Branch, parent: str, name: str) -> str:
    """Return the name of a row's count for explanations."""
    return count_name(branch, parent, name, several=row.several)


def count_name(branch: Branch, parent: str, name: str, *, several: bool) -> str:
    """Return the name of a count, with its PMU if a row has several."""
    within = f"{parent}.{name}" if parent else name
    return f"{branch.pmu} {within}" if several else within
