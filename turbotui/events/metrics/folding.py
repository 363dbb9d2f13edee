"""Constant folding of metric expressions for one machine, so that only the needed events are counted.

The rules are perf's (kernel tools/perf/util/expr.y, which runs every expression once to find its events): a condition
that is constant chooses its branch, and only that branch's events are counted; 0 & x and 1 | x need no x; min() and
max() are never taken for constants. A division by a constant zero is unknown for ever.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import partial
from types import MappingProxyType
from typing import Final, Protocol

from turbotui.dataclass import dataclass
from turbotui.events.metrics.errors import MetricError
from turbotui.events.metrics.syntax import LEAVES, LITERAL, NAMES, MetricExpression
from turbotui.quantities.expressions import result_of
from turbotui.quantities.grammar import RATIO, Step, run_steps


class MetricConstants(Protocol):
    """The facts of a machine, beside its counters, that metric expressions use."""

    def literal(self, name: str) -> float:
        """Return the value of a literal such as "#num_cores".

        Raises:
            MetricError: the literal does not exist, or its value is unknown on this machine.
        """

    def has_event(self, event: str) -> bool:
        """Whether the machine knows an event."""

    def is_cpu(self, pattern: str) -> bool:
        """Tell whether an identifier's pattern matches this CPU.

        Raises:
            MetricError: the CPU does not tell its identifier.
        """

    def named(self, name: str) -> str:
        """Return the name by which an event is counted, with its PMU if the PMU is fixed."""

    def of_kind(self, pmu: str) -> MetricConstants:
        """Return the constants that apply to one core type, given by its PMU."""


@dataclass(frozen=True, slots=True)
class Folded:
    """An expression on one machine."""

    # in the kinds of `quantities.expressions`, beside "source_count" and "aggr_nr" of a name. Names are as the table
    # has them, without escapes.
    steps: tuple[Step, ...]
    names: tuple[str, ...]  # every name whose value or count is needed, without repetition
    literals: tuple[str, ...] = ()  # literals that were replaced by their values, such as "#num_packages"
    # names in branches that this machine does not take: "64 * EVENT if #has_pmem else 0", and events that it was asked
    # for and does not have
    dropped: tuple[str, ...] = ()


@dataclass(slots=True)
class _Operand:
    steps: list[Step]
    value: float | None = None
    names: dict[str, None] = field(default_factory=dict)


_UNKNOWN: Final = (Step("number", number=0.0), Step("number", number=0.0), Step("/"))
_LOGIC: Mapping[str, str] = MappingProxyType({"&": "and", "|": "or"})
_NEVER_CONSTANT: Final = frozenset({"min", "max"})


def fold(expression: MetricExpression, machine: MetricConstants) -> Folded:
    """Put the machine's constants into an expression.

    Raises:
        MetricError: a constant is unknown, or the expression divides by it where no remainder can be.
    """
    operand = run_steps(expression.steps, partial(_leaf, machine), partial(_joined, expression), leaves=LEAVES)
    literals = dict.fromkeys(step.name.lower() for step in expression.steps if step.kind == LITERAL)
    written = dict.fromkeys(step.name for step in expression.steps if step.kind in NAMES or (
        step.kind == "has_event" and not machine.has_event(step.name)))
    dropped = tuple(name for name in written if name not in operand.names)
    return Folded(tuple(operand.steps), tuple(operand.names), tuple(literals), dropped)


def _leaf(machine: MetricConstants, step: Step) -> _Operand:
    if step.kind == "number":
        return _constant(step.number)
    if step.kind == "unknown":
        return _Operand(list(_UNKNOWN))
    if step.kind == "literal":
        return _constant(machine.literal(step.name))
    if step.kind == "has_event":
        return _constant(float(machine.has_event(step.name)))
    if step.kind == "strcmp_cpuid_str":
        return _constant(float(machine.is_cpu(step.name)))
    return _Operand([step], None, {step.name: None})


def _constant(value: float) -> _Operand:
    if not math.isfinite(value):
        return _Operand(list(_UNKNOWN))
    number = [Step("number", number=abs(value))]
    return _Operand([*number, Step("negative", count=1)] if value < 0 else number, value)


def _joined(expression: MetricExpression, kind: str, operands: Sequence[_Operand]) -> _Operand:
    if kind == "if":
        return _chosen(*operands)
    values = [operand.value for operand in operands]
    if (decided := _decided(kind, values)) is not None:
        return decided
    if kind == "%" and values[1] == 0.0:
        raise MetricError(f"The metric expression {expression.text!r} divides by zero for a remainder.")
    if kind not in _NEVER_CONSTANT and None not in values:
        value = _value(kind, values)
        return _Operand(list(_UNKNOWN)) if value is None else _constant(value)
    return _union(kind, operands)


def _value(kind: str, values: Sequence[float | None]) -> float | None:
    if kind == "^":
        return float((values[0] == 0.0) is not (values[1] == 0.0))
    return result_of(_LOGIC.get(kind, kind), values)


def _union(kind: str, operands: Sequence[_Operand]) -> _Operand:
    """Combine operands that are known only after counting."""
    steps = operands[0].steps
    names = operands[0].names
    if kind == "^":
        steps += [Step("number"), Step("!=")]
    for operand in operands[1:]:
        steps += operand.steps
        names |= operand.names
    if kind == "^":
        steps += [Step("number"), Step("!="), Step("!=")]
    else:
        steps.append(Step(_LOGIC.get(kind, kind), count=len(operands)))
    return _Operand(steps, None, names)


def _chosen(value: _Operand, condition: _Operand, otherwise: _Operand) -> _Operand:
    if condition.value is not None:
        return otherwise if condition.value == 0.0 else value
    if value.value is not None and value.value == otherwise.value:
        return value
    return _union("if", (value, condition, otherwise))


def _decided(kind: str, values: Sequence[float | None]) -> _Operand | None:
    """The result of an operator that a single constant operand decides; None if none does."""
    if (kind == "&" and 0.0 in values) or (kind == RATIO and values[1] == 0.0):
        return _constant(0.0)
    if kind == "|" and any(values):
        return _constant(1.0)
    return _Operand(list(_UNKNOWN)) if kind == "/" and values[1] == 0.0 else None
