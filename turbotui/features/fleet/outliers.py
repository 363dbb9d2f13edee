"""Finds odd nodes by limits, by their own baselines, and by the median of the nodes of their model.

Distances from the median are measured in units of the median absolute deviation (MAD; times 1.4826 it is the standard
deviation of a normal distribution), which a few odd nodes do not move. A floor keeps tiny differences in a fleet of
equals from being findings. A node is odd beyond 3.5 such deviations (Iglewicz and Hoaglin 1993, "How to Detect and
Handle Outliers", section 3). Nodes are compared with nodes of similar load if there are three, because clocks depend on
load.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.fleet.model import FleetNode, Oddity
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.sentences import several

FEWEST: Final = 3
"""The least number of nodes for a comparison."""
FAR: Final = 3.5
"""Robust deviations from the median beyond which a value is odd."""
_NORMAL: Final = 1.4826
_ODDEST: Final = 10.0
_LOADS: Final[tuple[tuple[float, str], ...]] = ((10.0, "idle"), (70.0, "partly busy"), (101.0, "busy"))
"""Upper ends of Busy%, and the words for nodes of similar load."""
_WORKS: Final = 5.0
"""Busy% from which a node's clock is compared."""
_LIKE_LOAD: Final = 25.0
"""Percentage points of Busy% within which loads are similar."""
BUSY: Final = "Busy%"


@dataclass(frozen=True, slots=True)
class Peers:
    """The nodes that a node is compared with."""

    median: float  # the median of their values
    deviation: float  # the robust deviation, not below the floor
    count: int  # their number, the node itself included
    words: str  # a description of these nodes


@dataclass(frozen=True, slots=True)
class PeerRule:
    """The rule by which a column's values are compared between nodes."""

    column: str  # the column's id
    floor: float  # the least deviation, in the column's unit
    share: float  # the least deviation, as a share of the median
    low: str  # the words for a node far below the median, with "{by}" for the distance; "" if that is no finding
    high: str  # the words for a node far above the median
    weight: float = 1.0  # the weight of a finding relative to other rules
    working: bool = False  # whether the rule applies to busy nodes only

    def allowed(self, peers: Peers) -> float:
        """Return the allowed distance from the median."""
        return FAR * peers.deviation


PEER_RULES: Final[tuple[PeerRule, ...]] = (
    PeerRule("Bzy_MHz", 10.0, 0.01, "{by:,.0f} MHz slower than its peers ({value:,.0f}, median {median:,.0f})", "",
             working=True),
    PeerRule("CoreTmp", 2.0, 0.0, "", "{by:.0f} °C hotter than its peers ({value:.0f}, median {median:.0f})"),
    PeerRule("PkgWatt", 2.0, 0.04, "{by:.0f} W less than its peers ({value:.0f}, median {median:.0f})",
             "{by:.0f} W more than its peers ({value:.0f}, median {median:.0f})", 0.5),
    PeerRule("nJ/instr", 0.01, 0.06, "", "{percent:.0f} % more energy an instruction than its peers", 0.5,
             working=True),
    PeerRule(BUSY, 8.0, 0.0, "idler than its peers ({value:.0f} %, median {median:.0f} %)",
             "busier than its peers ({value:.0f} %, median {median:.0f} %)", 0.5),
)
"""The rules for values that nodes of one model should have in common."""


@dataclass(frozen=True, slots=True)
class NodeLimits:
    """Limits that hold for every node by itself."""

    throttled: float = 1.0  # percent of time for which heat may throttle a clock
    below_baseline: float = 5.0  # percent by which a node may be slower than its own baseline
    stale: float = 300.0  # seconds after which a node without samples is reported


USUAL: Final = NodeLimits()


def judged(nodes: Iterable[FleetNode], alike: Callable[[FleetNode], str], rules: Sequence[PeerRule] = PEER_RULES,
           limits: NodeLimits = USUAL) -> list[FleetNode]:
    """Return the nodes with their findings, the oddest first, equally odd ones by name.

    Args:
        alike: the labels of a model, whose nodes are compared with each other.
    """
    models = lists_by_key((alike(node), node) for node in nodes)
    judged_nodes: list[FleetNode] = []
    for model, members in models.items():
        peers, living = _all_peers(members, model, rules), sum(not member.gone for member in members)
        judged_nodes += [replace(node, findings=_findings(node, peers, rules, limits),
                                 peers=_in_words(model, living, node))
                         for node in members]
    return sorted(judged_nodes, key=lambda node: (-node.odd, node.name))


def _in_words(model: str, living: int, node: FleetNode) -> str:
    """Describe what a node is compared with, or why it is not."""
    if node.gone:
        return "a node without samples is compared with none"
    if not model:
        return "the server has no model of this node (turbotui_machine_info): it is compared with none"
    if living < FEWEST:
        return (f"{living} node{'s' * (living > 1)} of this model ({model}): with fewer than {FEWEST} nobody can say "
                "which is the odd one")
    return f"compared with {several(living, 'node')} of its model ({model})"


def _all_peers(members: Sequence[FleetNode], model: str, rules: Sequence[PeerRule]) -> Mapping[tuple[str, str], Peers]:
    """Return a model's peers by column and load, and by column and "" for all loads."""
    peers: dict[tuple[str, str], Peers] = {}
    if not model:
        return peers
    living = [node for node in members if not node.gone]
    for rule in rules:
        able = [node for node in living if rule.column in node.values and (not rule.working or _works(node))]
        groups = lists_by_key((load, node.values[rule.column]) for node in able
                              for load in ({"", _load(node)} if rule.column != BUSY else {""}))
        for load, values in groups.items():
            if len(values) >= FEWEST:
                median = statistics.median(values)
                spread = statistics.median([abs(value - median) for value in values]) * _NORMAL
                words = f"{len(values)} {load} nodes of its model" if load else f"{len(values)} nodes of its model"
                peers[rule.column, load] = Peers(median, max(spread, rule.floor, rule.share * abs(median)), len(values),
                                                 words)
    return peers


def _load(node: FleetNode) -> str:
    """Return the word for a node's load; "" if unknown, which compares the node with those of every load."""
    if (busy := node.values.get(BUSY)) is None:
        return ""
    return next((words for upper, words in _LOADS if busy < upper), "")


def _is_like_most(node: FleetNode, peers: Mapping[tuple[str, str], Peers]) -> bool:
    """Tell whether a node's load is similar to its peers', as comparisons of load-dependent values need."""
    usual, busy = peers.get((BUSY, "")), node.values.get(BUSY)
    return usual is None or busy is None or abs(busy - usual.median) <= _LIKE_LOAD


def _works(node: FleetNode) -> bool:
    return node.values.get(BUSY, 100.0) >= _WORKS


def _findings(node: FleetNode, peers: Mapping[tuple[str, str], Peers], rules: Sequence[PeerRule],
              limits: NodeLimits) -> tuple[Oddity, ...]:
    if node.gone:
        words = "no samples any more" if node.age is None else f"no samples for {duration(node.age)}"
        return (Oddity("Age", words, 4.0, "the server scraped it within the last hour, and has no current value"),)
    findings = [*_by_itself(node, limits)]
    for rule in rules:
        value = node.values.get(rule.column)
        known = peers.get((rule.column, _load(node))) or (
            peers.get((rule.column, "")) if _is_like_most(node, peers) or rule.column == BUSY else None)
        if value is None or known is None or (rule.working and not _works(node)):
            continue
        if (finding := _against(rule, value, known)) is not None:
            findings.append(finding)
    return tuple(sorted(findings, key=lambda oddity: -oddity.weight))


def _by_itself(node: FleetNode, limits: NodeLimits) -> Iterable[Oddity]:
    """Return the findings about a node that need no other nodes."""
    if (throttled := node.values.get("Throttled%")) is not None and throttled >= limits.throttled:
        yield Oddity("Throttled%", f"{throttled:.0f} % of the time held back by heat",
                     min(_ODDEST, throttled / limits.throttled), f"{limits.throttled:g} % and more is told")
    ratio = node.values.get("Ratio%")
    if ratio is not None and ratio <= 100.0 - limits.below_baseline and _works(node):
        yield Oddity("Ratio%", f"{100.0 - ratio:.0f} % slower than its own baseline",
                     min(_ODDEST, (100.0 - ratio) / limits.below_baseline),
                     f"{limits.below_baseline:g} % and more is told")
    if node.age is not None and node.age >= limits.stale:
        yield Oddity("Age", f"its collector read nothing for {duration(node.age)}", 4.0,
                     f"from {duration(limits.stale)} on is told")


def _against(rule: PeerRule, value: float, peers: Peers) -> Oddity | None:
    far = value - peers.median
    words = rule.high if far > 0 else rule.low
    allowed = rule.allowed(peers)
    if not words or abs(far) <= allowed:
        return None
    percent = abs(far) / abs(peers.median) * 100.0 if peers.median else 0.0
    sentence = words.format(by=abs(far), value=value, median=peers.median, percent=percent)
    basis = (f"median of {peers.words}: {peers.median:,.2f}; the usual distance from it is {peers.deviation:,.2f}, "
             f"beyond {allowed:,.2f} is told")
    return Oddity(rule.column, sentence, min(_ODDEST, abs(far) / allowed) * rule.weight, basis)


def duration(seconds: float) -> str:
    """Format a time shortly: "42 s", "12 min", "3 h", "2 d"."""
    for length, word in ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min")):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {word}"
    return f"{max(0.0, seconds):.0f} s"
