"""Checks a fleet against limits given by the user, for scripts and a cluster's CI."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from turbotui.dataclass import dataclass
from turbotui.features.fleet.model import FleetNode, Oddity
from turbotui.features.fleet.outliers import BUSY, PEER_RULES, NodeLimits, PeerRule, Peers


@dataclass(frozen=True, slots=True)
class FixedLimit(PeerRule):
    """A rule with a limit given by the user, whatever the nodes' own spread."""

    most: float = 0.0  # the allowed distance from the median, in the column's unit
    percent_of: bool = False  # whether `most` is a percentage of the median

    def allowed(self, peers: Peers) -> float:
        return self.most / 100.0 * abs(peers.median) if self.percent_of else self.most


@dataclass(frozen=True, slots=True)
class CheckLimits:
    """The limits given by the user; None for values that are not checked."""

    slower: float | None = None  # percent below the median clock of the model, and below the node's own baseline
    hotter: float | None = None  # degrees above the median of the model
    watts: float | None = None  # percent above or below the median of the model
    throttled: float | None = None  # percent of time for which heat may throttle a node
    stale: float | None = None  # minutes without samples

    @property
    def given(self) -> bool:
        """Whether any limit is given."""
        return any(value is not None for value in (self.slower, self.hotter, self.watts, self.throttled, self.stale))

    def rules(self) -> Sequence[PeerRule]:
        """Return the rules by which nodes are compared; those of the screen if no limit is given."""
        if not self.given:
            return tuple(rule for rule in PEER_RULES if rule.column != BUSY)
        by_column = {rule.column: rule for rule in PEER_RULES}
        wanted = (("Bzy_MHz", self.slower, True), ("CoreTmp", self.hotter, False), ("PkgWatt", self.watts, True))
        return tuple(_fixed(by_column[name], most, percent) for name, most, percent in wanted if most is not None)

    def limits(self) -> NodeLimits:
        """Return the limits that hold for each node by itself."""
        if not self.given:
            return NodeLimits()
        never = float("inf")
        return NodeLimits(
            throttled=never if self.throttled is None else self.throttled,
            below_baseline=never if self.slower is None else self.slower,
            stale=never if self.stale is None else self.stale * 60.0)


def _fixed(rule: PeerRule, most: float, percent: bool) -> FixedLimit:
    return FixedLimit(rule.column, rule.floor, rule.share, rule.low, rule.high, 1.0, rule.working, most, percent)


def failing(nodes: Iterable[FleetNode], limits: CheckLimits) -> list[FleetNode]:
    """Return the nodes that fail a check, among nodes judged by its rules."""
    return [node for node in nodes if any(_counts(node, finding, limits) for finding in node.findings)]


def _counts(node: FleetNode, finding: Oddity, limits: CheckLimits) -> bool:
    """Tell whether a finding fails a check; a vanished node fails only if its age is checked and too high."""
    if not node.gone or not limits.given:
        return True
    if finding.column != "Age" or limits.stale is None:
        return False
    return node.age is None or node.age >= limits.stale * 60.0


def why_unsure(nodes: Iterable[FleetNode], limits: CheckLimits) -> str:
    """Return why a check without findings has no sure answer; "" if it has one."""
    able = [node for node in nodes if not node.gone]
    if not able:
        return "no node has current values"
    compared = [node for node in able if node.peers.startswith("compared")]
    needs_peers = not limits.given or any(value is not None for value in (limits.slower, limits.hotter, limits.watts))
    if needs_peers and not compared:
        return f"none of {len(able)} nodes could be compared: {able[0].peers}"
    return ""
