"""Top-down trees from `trees.toml`: the formula over events for each node of a core's pipeline."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Final, cast

from turbotui.dataclass import dataclass
from turbotui.errors import InternalError
from turbotui.quantities.documents import parse_toml
from turbotui.quantities.expressions import Expression, parse_expression
from turbotui.quantities.rows import RowError, make_row

_FILE: Final = "trees.toml"
LEVELS: Final = 6
"""The deepest level of any tree."""
TSC: Final = "tsc"
"""The constant that a machine need not tell: the time stamp counter's clock in GHz."""


@dataclass(frozen=True, slots=True)
class NodeWords:
    """The meaning of a node on all cores."""

    title: str  # the title for people; `column` is the title in tables
    column: str
    letter: str  # the letter in bars
    sentence: str  # a description of the counts
    advice: str  # what to try if the node is large
    below: str = ""  # what deeper nodes tell; part of the advice if the core's tree has such nodes

    @property
    def heading(self) -> str:
        """The title with a capital letter; abbreviations stay unchanged."""
        return self.title[:1].upper() + self.title[1:]


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a tree."""

    id: str  # the id, unique in the tree
    words: NodeWords  # the meaning
    parent: str  # id of the node above; "" at level 1
    share: Expression  # formula of the share of all slots, or cycles, 0 to 1
    unit: str  # "slots", "cycles", or "operations" for retired ones
    level: int  # from 1
    # when, otherwise: if `when` is not above 0, `otherwise` is computed instead of `share`
    when: Expression | None = None
    otherwise: Expression | None = None
    metric: str = ""  # the vendor's name of the node; "" if there is none
    document: str = ""  # the source of the formula
    rule: Expression | None = None  # the vendor's threshold, which is not 0 if the share is past it; None if unknown
    threshold: str = ""  # the threshold in the vendor's words; `threshold_document` is the source
    threshold_document: str = ""

    @property
    def formulas(self) -> tuple[Expression, ...]:
        """All formulas that may be computed for the node."""
        return tuple(expression for expression in (self.share, self.when, self.otherwise) if expression is not None)


@dataclass(frozen=True, slots=True)
class Tree:
    """The tree of one family of cores.

    Attributes:
        models, pmus: patterns of the processors and core PMUs that the tree is for.
        needs: names of events that a PMU must have for this tree.
        watchdog: whether the kernel's NMI watchdog leaves too few counters.
        core: whether slots belong to a core, and not to a CPU of it.
        unit: what level 1 divides: "slots" or "cycles".
        slots: formula of the number of slots or cycles.
        width: slots per cycle; 0 for the PMU's own value.
        whole: whether events are whole strings in perf's grammar, and not terms of the PMU.
        events: name in formulas -> name or terms of the PMU's event.
        nodes: parents before children.
        by_id: the nodes by their ids; `below` holds the children of each.
    """

    name: str
    title: str
    pmus: tuple[str, ...]
    unit: str
    slots: Expression
    document: str
    events: Mapping[str, str]
    nodes: tuple[Node, ...]
    models: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    watchdog: bool = False
    core: bool = False
    width: int = 0
    whole: bool = False
    by_id: Mapping[str, Node] = field(init=False, repr=False, compare=False)
    below: Mapping[str, tuple[Node, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_id", {node.id: node for node in self.nodes})
        object.__setattr__(self, "below", {parent: tuple(node for node in self.nodes if node.parent == parent)
                                           for parent in dict.fromkeys(node.parent for node in self.nodes)})

    def children(self, parent: str) -> tuple[Node, ...]:
        """Return the children of a node; the nodes of level 1 for ""."""
        return self.below.get(parent, ())

    def groups_behind(self, parent: str) -> tuple[str, ...]:
        """Return the nodes whose groups may have the counts of a node's children: it, and those above it."""
        above = self.by_id.get(parent)
        return (parent,) if above is None else (parent, *self.groups_behind(above.parent))

    @property
    def deepest(self) -> int:
        """The deepest level of the tree."""
        return max(node.level for node in self.nodes)

    def adds_up(self, parent: str) -> bool:
        """Tell whether the children of a node add up to it; those in another unit need not."""
        above = self.unit if not parent else self.by_id[parent].unit
        below = self.children(parent)
        return bool(below) and all(node.unit == above for node in below) and below[0].level <= _DIVIDED

    def counted_for(self, parent: str) -> tuple[str, ...]:
        """Return the events, by their names in formulas, for the children of a node.

        Siblings are counted together, and the nodes above are computed from the same counts.
        """
        below = self.children(parent)
        names: dict[str, None] = {}
        for node in below:
            self._collect(node, parent, names)
        if not parent:
            names |= dict.fromkeys(name for name in self.slots.names if name in self.events)
        return tuple(name for name in self.events if name in names)

    def _collect(self, node: Node, parent: str, names: dict[str, None]) -> None:
        for formula in node.formulas:
            for name in formula.names:
                other = self.by_id.get(name)
                if name in self.events:
                    names[name] = None
                elif other is not None and (other.parent == parent or other.level > node.level):
                    self._collect(other, parent, names)


_METRIC: Final = re.compile(r"tma_\w+", re.ASCII)
_DIVIDED: Final = 2  # deeper nodes name causes, and a vendor's table need not have all of them


def suits(tree: Tree | WrittenTree, model: str, pmu: str, events: frozenset[str], *, watchdog: bool) -> bool:
    """Tell whether a tree is meant for a core PMU of a processor.

    Args:
        model: the processor's identifier by `events.set_files.model_id`.
        pmu: the PMU's name in sysfs.
        events: names in the PMU's events folder.
        watchdog: whether the NMI watchdog occupies a counter of the PMU.
    """
    return (any(re.fullmatch(pattern, pmu) for pattern in tree.pmus)
            and (not tree.models or any(re.fullmatch(pattern, model) for pattern in tree.models))
            and events.issuperset(tree.needs) and not (tree.watchdog and watchdog))


@dataclass(frozen=True, slots=True)
class _WrittenNode:
    id: str
    share: str
    parent: str = ""
    unit: str = ""
    when: str = ""
    otherwise: str = ""
    metric: str = ""
    document: str = ""
    words: str = ""


@dataclass(frozen=True, slots=True)
class WrittenTree:
    """A tree as the file has it, without its events and nodes."""

    title: str
    pmus: tuple[str, ...]
    document: str
    unit: str = ""
    slots: str = ""
    extends: str = ""
    models: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    watchdog: bool = False
    core: bool = False
    width: int = 0
    thresholds: str = ""


@functools.cache
def node_words() -> Mapping[str, NodeWords]:
    """Return each node's meaning by id, on a core whose tree has no nodes below it."""
    return {name: _words(name) for name in _written()["node"]}


@functools.cache
def trees() -> Mapping[str, Tree]:
    """Return all trees by name; of two that suit a PMU, the more specific one applies.

    Raises:
        InternalError: the table is malformed.
    """
    return {name: _tree(name) for name in _written()["tree"]}


def tree_for(model: str, pmu: str, events: frozenset[str], *, watchdog: bool) -> Tree | None:
    """Return the most specific tree that `suits` a core PMU, of equally specific ones the first; build no other."""
    fitting = [(name, row) for name, row in _plain_rows().items() if suits(row, model, pmu, events, watchdog=watchdog)]
    best = max(fitting, key=lambda candidate: (bool(candidate[1].models), len(candidate[1].needs)), default=None)
    return None if best is None else _tree(best[0])


@functools.cache
def _written() -> dict[str, dict[str, dict[str, Any]]]:
    with open(os.path.join(os.path.dirname(__file__), _FILE), encoding="utf-8") as file:
        return cast("dict[str, dict[str, dict[str, Any]]]", parse_toml(file.read()))


@functools.cache
def _words(name: str) -> NodeWords:
    table = _written()["node"][name]
    try:
        return make_row(NodeWords, {("advice" if key == "try" else key): value for key, value in table.items()})
    except RowError as error:
        raise _malformed(f"node.{name}", error) from error


def _malformed(table: str, error: Exception) -> InternalError:
    return InternalError(f"turbotui/features/topdown/{_FILE}, [{table}]: {error}")


@functools.cache
def _plain_rows() -> Mapping[str, WrittenTree]:
    return {name: _plain_row(name, table) for name, table in _written()["tree"].items()}


def _plain_row(name: str, table: Mapping[str, Any]) -> WrittenTree:
    try:
        return make_row(WrittenTree, {key: value for key, value in table.items() if key not in ("events", "nodes")})
    except RowError as error:
        raise _malformed(f"tree.{name}", error) from error


@functools.cache
def _tree(name: str) -> Tree:
    """Build a tree, and the tree that it extends. Raises InternalError if the table is malformed."""
    try:
        return _built(name, _plain_rows()[name], _written()["tree"][name])
    except (RowError, KeyError) as error:
        raise _malformed(f"tree.{name}", error) from error


def _built(name: str, plain: WrittenTree, table: Mapping[str, Any]) -> Tree:
    base = _tree(plain.extends) if plain.extends else None
    made = [] if base is None else list(base.nodes)
    for row in table.get("nodes", ()):
        made.append(_node(make_row(_WrittenNode, row), plain, made, base))
    if plain.thresholds:
        made = list(_with_thresholds(made, _written()["thresholds"][plain.thresholds]))
    events = dict(table["events"])
    return Tree(
        name, plain.title, plain.pmus, plain.unit or (base.unit if base else ""),
        parse_expression(plain.slots) if plain.slots else cast("Tree", base).slots, plain.document,
        events if base is None else {**base.events, **events}, tuple(_with_advice(made)), plain.models, plain.needs,
        plain.watchdog, plain.core, plain.width,
    )


def _node(row: _WrittenNode, tree: WrittenTree, made: Sequence[Node], base: Tree | None) -> Node:
    level = 1 if not row.parent else next(node.level for node in made if node.id == row.parent) + 1
    unit = row.unit or tree.unit or (base.unit if base else "")
    return Node(row.id, _words(row.words or row.id), row.parent, parse_expression(row.share), unit, level,
        parse_expression(row.when) if row.when else None, parse_expression(row.otherwise) if row.otherwise else None,
        row.metric, row.document or tree.document)


def _with_advice(nodes: Sequence[Node]) -> Iterator[Node]:
    """Return nodes whose advice includes what the nodes below tell, if there are any."""
    parents = {node.parent for node in nodes}
    for node in nodes:
        words = node.words
        yield node if not words.below or node.id not in parents else replace(
            node, words=replace(words, advice=f"{words.advice}; {words.below}", below=""))


def _with_thresholds(nodes: Sequence[Node], thresholds: Mapping[str, Any]) -> Iterator[Node]:
    """Return nodes with their vendor's thresholds, as expressions over ids of nodes."""
    ids = {node.metric: node.id for node in nodes if node.metric}  # other names are unknown, and decide nothing
    for node in nodes:
        rule = thresholds["metrics"].get(node.metric, "")
        text = _METRIC.sub(lambda name: ids.get(name[0], name[0]), rule).replace("&", "and").replace("|", "or")
        yield node if not rule else replace(
            node, rule=parse_expression(text), threshold=rule, threshold_document=thresholds["document"])
