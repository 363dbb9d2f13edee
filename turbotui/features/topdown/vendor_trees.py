"""Level 1 of cores without a tree, by the metrics of the vendor's tables.

perf's tables and those of `--event-tables` have a group TopdownL1 for many cores (Broadwell, Neoverse E1, ...), whose
expressions are the shares. Deeper levels are not used, because the tables do not tell which metric divides which.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from turbotui.errors import UsageError
from turbotui.events.engines import open_engine
from turbotui.events.errors import NoTablesError
from turbotui.events.event_tables.model import DEFAULT_CORE, VendorMetric, VendorTables
from turbotui.events.event_tables.opening import open_vendor_tables
from turbotui.events.metrics.errors import MetricError
from turbotui.events.metrics.expansion import core_of, expand
from turbotui.events.metrics.machine_constants import MachineConstants
from turbotui.events.metrics.requests import TitledMetric, column_of
from turbotui.features.topdown.trees import Node, NodeWords, Tree, node_words
from turbotui.machine.machine import Machine
from turbotui.machine.pmus import Pmu
from turbotui.quantities.event_columns import ELAPSED, EventColumn, Parts
from turbotui.quantities.expression_text import text_of
from turbotui.quantities.expressions import Expression, parse_expression
from turbotui.quantities.grammar import Step

_GROUPS: Final = ("TopdownL1", "PipelineL1")
"""The groups of level 1: Intel's and Arm's, and AMD's."""
_NODES: Final = {"retiring": "retiring", "bad_spec": "bad_speculation", "frontend": "frontend", "backend": "backend",
                 "contention": "contention"}
"""Parts of metrics' names, with their nodes."""
_LEAST: Final = 3
"""The nodes that level 1 must have."""
_SLOTS: Final = ("tma_info_thread_slots", "tma_info_core_slots")
_CYCLES: Final = ("cpu-cycles", "cpu_cycles", "cycles")
_OF_A_CORE: Final = frozenset({"#smt_on", "#core_wide"})
"""Literals in expressions which show that slots belong to a core."""


def vendor_tree(machine: Machine, pmu: Pmu) -> Tree | None:
    """Return level 1 of a PMU's cores by the machine's tables; None if they have none."""
    try:
        return tree_of_tables(machine, pmu, open_vendor_tables(machine.host))
    except (NoTablesError, UsageError):
        return None


def tree_of_tables(machine: Machine, pmu: Pmu, tables: VendorTables) -> Tree | None:
    """Return level 1 of a PMU's cores by some tables.

    Raises:
        MetricError: a metric of the group cannot be computed here.
    """
    constants = MachineConstants(machine, open_engine(machine.host))
    metrics: dict[str, tuple[VendorMetric, EventColumn]] = {}
    of_a_core = False
    for metric in _metrics(tables, pmu, constants):
        node = next((node for part, node in _NODES.items() if part in metric.name.lower()), "")
        if not node or node in metrics:
            continue
        expanded = expand(metric, tables, constants)
        of_a_core |= not _OF_A_CORE.isdisjoint(literal.lower() for literal in expanded.literals)
        metrics[node] = metric, column_of(TitledMetric(expanded, metric.name, source=tables.source), constants)
    slots = _slots(tables, pmu, constants)
    if len(metrics) < _LEAST or "retiring" not in metrics or slots is None:
        return None
    words = node_words()
    nodes = tuple(_node(node, words[node], metric, column) for node, (metric, column) in metrics.items())
    names = dict.fromkeys(name for formula in (*(node.share for node in nodes), slots) for name in formula.names)
    nodes = tuple(node if node.rule is None or names.keys() >= set(node.rule.names) else replace(
        node, rule=None, threshold="") for node in nodes)  # no event is counted only for a threshold
    if ELAPSED in names or any(isinstance(constants.encoded(name), UsageError) for name in names):
        return None
    note = f"metrics {_GROUPS[0]} of {tables.source}: level 1 only"
    return Tree("vendor", note, (pmu.name,), "slots", slots, tables.source, {name: name for name in names}, nodes,
                core=of_a_core, whole=True)


def _metrics(tables: VendorTables, pmu: Pmu, constants: MachineConstants) -> Iterator[VendorMetric]:
    for group in _GROUPS:
        for metric in tables.group(group):
            if core_of(metric) in (pmu.name, DEFAULT_CORE) and constants.is_here(metric):
                yield metric


def _slots(tables: VendorTables, pmu: Pmu, constants: MachineConstants) -> Expression | None:
    """Return the formula of the slots, or of cycles if no metric has slots."""
    for name in _SLOTS:
        for metric in tables.metric(name):
            if core_of(metric) in (pmu.name, DEFAULT_CORE):
                try:
                    return _inlined(column_of(TitledMetric(expand(metric, tables, constants), name), constants))
                except MetricError:
                    continue
    cycles = next((name for name in _CYCLES if name in pmu.events), None)
    return None if cycles is None else parse_expression(f"'{pmu.name}/{cycles}/'")


def _node(name: str, words: NodeWords, metric: VendorMetric, column: EventColumn) -> Node:
    share = _inlined(column)
    if column.unit.startswith(("%", "percent")):
        share = _expression((*share.steps, Step("number", number=0.01), Step("*")))
    rule = None if column.rule is None else _over_events(column.rule, (*column.parts, *column.rule_parts))
    return Node(name, words, "", share, "slots", 1, metric=metric.name, document=column.document, rule=rule,
                threshold="" if rule is None else metric.threshold, threshold_document=column.document)


def _inlined(column: EventColumn) -> Expression:
    """Return a metric's formula over events alone."""
    assert column.formula is not None, "a metric is a formula"  # noqa: S101 - column_of made it
    return _over_events(column.formula, column.parts)


def _over_events(formula: Expression, named: Parts) -> Expression:
    """Replace references to other metrics in a formula, so that only events remain."""
    parts: dict[str, tuple[Step, ...]] = {}
    for name, part in named:  # each behind the metrics that it refers to
        parts[name] = _replaced(part.steps, parts)
    return _expression(_replaced(formula.steps, parts))


def _replaced(steps: Sequence[Step], parts: Mapping[str, tuple[Step, ...]]) -> tuple[Step, ...]:
    return tuple(inner for step in steps
                 for inner in (parts.get(step.name, (step,)) if step.kind == "name" else (step,)))


def _expression(steps: tuple[Step, ...]) -> Expression:
    return Expression(text_of(steps), tuple(dict.fromkeys(step.name for step in steps if step.kind == "name")), steps)
