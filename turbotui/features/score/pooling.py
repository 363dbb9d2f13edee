"""A baseline from the runs of several nodes: medians and means over nodes, and the nodes that lie apart."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from turbotui.commands.formats import text_lines
from turbotui.dataclass import dataclass
from turbotui.errors import TurbotuiError, UsageError
from turbotui.features.score.history import KeptRun
from turbotui.features.score.model import (
    BOUND,
    Baseline,
    ConfigurationError,
    differing,
    percent,
    property_of,
    unlike_loads,
)
from turbotui.features.score.tables import scored
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.columns import Column
from turbotui.quantities.sentences import several
from turbotui.quantities.tables import AnyTable, RowTable
from turbotui.tables.envelope import Envelope

POOLED_TABLES: Final = ("baselines", "pooled", "nodes")
"""The names of the tables of a baseline from several runs."""
_FAR: Final = 3.5  # modified z-scores above it are outliers (Iglewicz and Hoaglin, How to Detect and Handle Outliers)
_TO_DEVIATION: Final = 1.4826  # factor from median absolute deviation to standard deviation of a normal distribution
_FEWEST: Final = 3  # nodes below which none lies apart
_QUANTITIES: Final = ("score", "ratio")


@dataclass(frozen=True, slots=True)
class NodeRuns:
    """The runs of one node."""

    node: str
    runs: int
    medians: Mapping[str, float]  # of its scores and ratios
    off: Mapping[str, float]  # their relative distances from the medians over nodes
    apart: tuple[str, ...]  # those of them that lie apart from the other nodes


@dataclass(frozen=True, slots=True)
class PooledQuantity:
    """The scores or the ratios of all nodes."""

    quantity: str  # "score" or "ratio"
    unit: str
    nodes: Sequence[NodeRuns]

    @property
    def values(self) -> list[float]:
        """The median of each node."""
        return [node.medians[self.quantity] for node in self.nodes]

    @property
    def outliers(self) -> list[NodeRuns]:
        """The nodes that lie apart."""
        return [node for node in self.nodes if self.quantity in node.apart]

    def sentence(self) -> str:
        """Describe it: "score of 4 nodes: median 113.2 GFLOPS, mean 112.8, from 101.3 to 114; apart: n3 (-10.5 %)"."""
        apart = ", ".join(f"{node.node} ({percent(node.off[self.quantity], '+.1f')})" for node in self.outliers)
        unit = f" {self.unit}".rstrip()
        of = several(len(self.nodes), "node")
        return (f"{self.quantity} of {of}: median {statistics.median(self.values):.6g}{unit}, mean "
                f"{statistics.fmean(self.values):.6g}, from {min(self.values):.6g} to {max(self.values):.6g}; "
                + (f"apart: {apart}" if apart else "none lies apart" if len(self.nodes) >= _FEWEST else
                   "too few nodes to say which lies apart"))


@dataclass(frozen=True, slots=True)
class PooledRuns:
    """A baseline, and the runs that it is the median of."""

    baseline: Baseline
    quantities: tuple[PooledQuantity, ...]  # scores and ratios
    nodes: tuple[NodeRuns, ...]
    notes: tuple[str, ...]  # which runs were left out, and what of the nodes' hardware differs

    def lines(self, envelope: Envelope) -> Iterator[str]:
        """Format the nodes for people, and what was left out."""
        yield ""
        yield from text_lines(envelope, self.tables()[1])
        yield from (quantity.sentence() for quantity in self.quantities)
        yield from self.notes

    def tables(self) -> tuple[AnyTable, ...]:
        """Return the tables beside the baseline's."""
        return (RowTable("pooled", "quantity", _POOLED, self.quantities),
                RowTable("nodes", "node", scored(_NODES, self.quantities[0].values), self.nodes))


def pool(runs: Sequence[KeptRun], name: str, unit: str, *, load: str | None = None, anyway: bool = False) -> PooledRuns:
    """Make a baseline of the medians over nodes, each of which counts by the medians of its runs.

    Args:
        name: of the benchmark.
        unit: of the scores.
        load: the command whose runs count; None if all runs are of one command.
        anyway: whether nodes may have hardware that is configured otherwise.

    Raises:
        UsageError: the runs are of several commands, and none was named, or of real and other machines.
        ConfigurationError: the hardware of some nodes is configured otherwise.
        TurbotuiError: no run has a score.
    """
    loads = sorted({run.load for run in runs})
    if load is None and len(loads) > 1:
        raise UsageError(f"the runs are of several loads ({', '.join(load or 'whatever ran' for load in loads)}): "
                         "name one with --load")
    same = [run for run in runs if load is None or run.load == load]
    labels = sorted({run.simulated for run in same})
    if len(labels) > 1:
        raise UsageError(f"the runs are of {' and of '.join(label or 'real machines' for label in labels)}")
    certain = [run for run in same if run.ratio is not None and not run.warnings]
    scored = [run for run in certain if run.measured is not None]
    if not scored:
        known = f": there are {', '.join(loads)}" if load is not None and not same else ""
        raise TurbotuiError(f"no run counts: of {several(len(same), 'run')}, {len(same) - len(certain)} with warnings "
                            f"or idle CPUs and {len(certain)} without a score{known}; give score run a --pattern, or "
                            "the score to score measured")
    newest = max(scored, key=lambda run: run.when)
    alike = [run for run in scored if not unlike_loads(newest.busy_cpus, newest.busy, run.busy_cpus, run.busy)]
    others = _other_hardware(newest, alike)
    if others and not anyway:
        raise ConfigurationError(f"{others}: --anyway takes these runs all the same, with a warning")
    nodes = _nodes(alike)
    counts = {"with warnings": len(same) - len(certain), "without a score": len(certain) - len(scored),
              "with another load": len(scored) - len(alike)}
    left = [f"{several(count, 'run')} {why}" for why, count in counts.items() if count]
    quantities = tuple(PooledQuantity(quantity, unit if quantity == "score" else "", nodes) for quantity in _QUANTITIES)
    score, ratio = (statistics.median(quantity.values) for quantity in quantities)
    busy = [run.busy for run in alike if run.busy is not None]
    baseline = Baseline(name, unit, score, ratio, newest.configuration, newest.simulated,
                        round(statistics.median(run.busy_cpus for run in alike)),
                        statistics.median(busy) if busy else None)
    return PooledRuns(baseline, quantities, nodes, (
        *([f"left out: {', '.join(left)}"] if left else []), *([f"warning: {others}"] if others else [])))


def _other_hardware(newest: KeptRun, runs: Sequence[KeptRun]) -> str:
    """Return what of other nodes' hardware differs from that of the newest run's; "" for nothing."""
    unlike: dict[str, None] = {}
    for run in runs:
        for key in differing(run.configuration, newest.configuration):
            unlike.setdefault(f"{key} is {property_of(run.configuration, key)} on {run.node} and "
                              f"{property_of(newest.configuration, key)} on {newest.node}")
    return "; ".join(unlike)


def _nodes(runs: Sequence[KeptRun]) -> tuple[NodeRuns, ...]:
    """The runs by node; all of them have a score and a ratio, which are above 0."""
    by_node = lists_by_key((run.node, run) for run in runs)
    medians = {node: {"score": statistics.median(run.measured for run in own if run.measured is not None),
                      "ratio": statistics.median(run.ratio for run in own if run.ratio is not None)}
               for node, own in by_node.items()}
    middle = {quantity: statistics.median(own[quantity] for own in medians.values()) for quantity in _QUANTITIES}
    off = {node: {quantity: own[quantity] / middle[quantity] - 1.0 for quantity in _QUANTITIES} for node,
           own in medians.items()}
    limits = {quantity: _limit([own[quantity] for own in off.values()]) for quantity in _QUANTITIES}
    return tuple(NodeRuns(node, len(by_node[node]), medians[node], off[node], tuple(
        quantity for quantity in _QUANTITIES if abs(off[node][quantity]) > limits[quantity]))
                 for node in sorted(by_node))


def _limit(off: Sequence[float]) -> float:
    """Return the relative distance beyond which a node lies apart, which is not below a prediction's error."""
    if len(off) < _FEWEST:
        return math.inf
    return max(BOUND, _FAR * _TO_DEVIATION * statistics.median(map(abs, off)))


def _off(quantity: str) -> Column[NodeRuns]:
    return Column(f"{quantity} off", "%", 1, (), lambda node: 100.0 * node.off[quantity],
                  help=f"distance of the {quantity} from the median over nodes")


_NODES: Final[tuple[Column[NodeRuns], ...]] = (
    Column("node", "", -1, (), lambda node: node.node, help="host name", identity=True),
    Column("runs", "", 0, (), lambda node: node.runs, help="runs that count"),
    Column("measured", "", 3, (), lambda node: node.medians["score"], help="median of the scores of its runs"),
    _off("score"),
    Column("ratio", "", 5, (), lambda node: node.medians["ratio"], help="median of the ratios of its runs"),
    _off("ratio"),
    Column("apart", "", -1, (), lambda node: ", ".join(node.apart), help="which of them lies apart from other nodes"),
)
_POOLED: Final[tuple[Column[PooledQuantity], ...]] = (
    Column("quantity", "", -1, (), lambda pooled: pooled.quantity, help="score or ratio", identity=True),
    Column("unit", "", -1, (), lambda pooled: pooled.unit, help="unit of the scores", identity=True),
    Column("nodes", "", 0, (), lambda pooled: len(pooled.nodes), help="number of nodes"),
    Column("runs", "", 0, (), lambda pooled: sum(node.runs for node in pooled.nodes),
           help="runs of all nodes that count"),
    Column("median", "", 5, (), lambda pooled: statistics.median(pooled.values),
           help="median over nodes: the baseline"),
    Column("mean", "", 5, (), lambda pooled: statistics.fmean(pooled.values), help="mean over nodes"),
    Column("lowest", "", 5, (), lambda pooled: min(pooled.values), help="lowest node"),
    Column("highest", "", 5, (), lambda pooled: max(pooled.values), help="highest node"),
    Column("outliers", "", 0, (), lambda pooled: len(pooled.outliers), help="number of nodes that lie apart"),
    Column("apart", "", -1, (), lambda pooled: ", ".join(node.node for node in pooled.outliers), help="these nodes"),
)
