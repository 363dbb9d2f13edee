"""Reads a fleet: a few queries return every node's values, and turbotui judges which nodes are odd."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.fleet.columns import (
    AGE,
    CPUS,
    INFO,
    MEASURED,
    POSSIBLE,
    FleetColumn,
    combined,
    filled,
    query_of,
)
from turbotui.features.fleet.model import FleetCost, FleetNode, FleetReading
from turbotui.features.fleet.outliers import PEER_RULES, USUAL, NodeLimits, PeerRule, judged
from turbotui.features.fleet.server import SeriesAnswer, Server, ServerError
from turbotui.untrusted import original

_LABELS_SECONDS: Final = 60.0
"""Seconds between queries for labels, a third of all bytes; a node without labels causes a query at once."""
_FORGET_SECONDS: Final = 86_400.0
"""Seconds after which a vanished node is no longer reported."""
_OWN: Final = ("__name__", "c")


@dataclass(frozen=True, slots=True)
class FleetQuestion:
    """A question to a server."""

    by: tuple[str, ...] = ("instance",)  # the labels that name a node
    window: str = "2m"  # the window of rates in PromQL, at least two scrapes
    seconds: float = 120.0  # the window in seconds
    select: str = ""  # matchers that nodes have to pass, 'rack="r7",env="prod"'; "" for all
    alike: tuple[str, ...] = ("model",)  # labels; nodes with the same values are compared with each other
    rules: Sequence[PeerRule] = PEER_RULES  # the rules of the comparison
    limits: NodeLimits = USUAL  # limits that hold for each node by itself

    @property
    def labels(self) -> str:
        """The labels that name a node, as a list in PromQL."""
        return ",".join(self.by)

    def query(self, column: FleetColumn) -> str:
        """Return the PromQL of a column for all nodes."""
        return query_of(column, self.labels, self.window, self.select)


def judged_by(question: FleetQuestion, nodes: Iterable[FleetNode]) -> list[FleetNode]:
    """Return nodes with their findings by a question's rules, the oddest first."""
    def alike(node: FleetNode) -> str:
        return " ".join(filter(None, (node.labels.get(label, "") for label in question.alike)))

    return judged(nodes, alike, question.rules, question.limits)


class FleetReader:
    """Reads a fleet periodically, and remembers nodes that vanish."""

    def __init__(self, server: Server, question: FleetQuestion, clock: Callable[[], float] = time.monotonic) -> None:
        self.server, self.question = server, question
        self._clock = clock
        self._labels: dict[str, Mapping[str, str]] = {}
        self._labels_at: float | None = None
        self._seen: dict[str, tuple[float, FleetNode]] = {}
        self._doubled: tuple[str, ...] = ()
        self._keys: dict[str, tuple[str, ...]] = {}

    def read(self) -> FleetReading:
        """Query the server once.

        Returns:
            The nodes, the oddest first; nodes without current samples keep their last values.

        Raises:
            ServerError: the server did not answer, or knows no node.
        """
        begun = self._clock()
        question = self.question
        queries = {column.id: question.query(column) for column in MEASURED}
        rounded = {column.id: f"round({queries[column.id]}, {10.0 ** -(column.decimals + 1):g})"
                   for column in MEASURED}
        answers = [self.server.instant(combined(rounded))]
        values = self._values(answers[0])
        is_old = self._labels_at is None or begun - self._labels_at >= _LABELS_SECONDS
        if is_old or not values.keys() <= self._labels.keys():
            answers.append(self._read_labels(begun))
        if not (nodes := self._nodes(values)):
            raise ServerError(f"{self.server.name} answers, and knows of no node: does it scrape turbotui export "
                              f"--listen{f' with {question.select}' if question.select else ''}?")
        cost = FleetCost(len(answers), sum(answer.sent for answer in answers),
                         sum(answer.unpacked for answer in answers),
                         self._clock() - begun)
        notes = tuple(dict.fromkeys((*(note for answer in answers for note in answer.notes), *self._notes(values))))
        return FleetReading(self.server.name, judged_by(question, nodes), time.time_ns(), question.seconds, notes, cost,
                            queries)

    def past(self, column: FleetColumn, nodes: Iterable[str], start: float, end: float, points: int) -> Mapping[
            str, Sequence[tuple[float, float]]]:
        """Return a column's values over a time, by node: pairs of seconds since 1970 and value.

        Args:
            column: one of `MEASURED`.
            nodes: names of the wanted nodes.
            start: seconds since 1970.
            end: likewise.
            points: the most values of each node.

        Raises:
            ServerError: the server did not answer.
        """
        question = self.question
        keys = [self._keys[name] for name in nodes if name in self._keys]
        matchers = (f"{label}=~{_one_of(key[at] for key in keys)}" for at, label in enumerate(question.by))
        select = ",".join((*matchers, *filter(None, (question.select,))))
        query = query_of(column, question.labels, question.window, select)
        return {self._name(series.labels): tuple(pair for pair in series.values if _is_possible(column.id, pair[1]))
                for series in self.server.over(query, start, end, (end - start) / max(1, points)).result}

    def _values(self, answer: SeriesAnswer) -> dict[str, dict[str, float]]:
        """Return values by node and column."""
        values: dict[str, dict[str, float]] = {}
        for series in answer.result:
            for _at, number in series.values:
                values.setdefault(self._name(series.labels), {})[series.labels.get("c", "")] = number
        return values

    def _name(self, labels: Mapping[str, str]) -> str:
        key = tuple(labels.get(label, "") for label in self.question.by)
        name = " ".join(filter(None, key)) or "?"
        self._keys[name] = key
        return name

    def _read_labels(self, begun: float) -> SeriesAnswer:
        question = self.question
        answer = self.server.instant(filled(INFO, question.labels, question.window, question.select))
        labels: dict[str, Mapping[str, str]] = {}
        doubled: list[str] = []
        for series in answer.result:
            if (name := self._name(series.labels)) in labels:
                doubled.append(name)
            else:
                labels[name] = {key: value for key, value in series.labels.items() if key not in _OWN}
        self._labels, self._labels_at, self._doubled = labels, begun, tuple(doubled)
        return answer

    def _nodes(self, values: Mapping[str, Mapping[str, float]]) -> list[FleetNode]:
        now, nodes = self._clock(), list[FleetNode]()
        for name in sorted({*values, *self._labels}):
            current = values.get(name, {})
            age, labels = current.get(AGE), self._labels.get(name, {})
            if any(key != AGE for key in current) and (CPUS in current or not self._is_known(name)):
                node = _node(name, labels, current, age)
                self._seen[name] = now, node
            else:
                node = self._vanished(name, labels, age, now)
            nodes.append(node)
        for name, (at, node) in list(self._seen.items()):
            if name not in values and name not in self._labels:
                if now - at > _FORGET_SECONDS:
                    del self._seen[name]
                else:
                    nodes.append(self._vanished(name, node.labels, None, now))
        return nodes

    def _is_known(self, name: str) -> bool:
        """Tell whether the node was once seen alive, with its number of CPUs."""
        return name in self._seen and CPUS in self._seen[name][1].values

    def _vanished(self, name: str, labels: Mapping[str, str], age: float | None, now: float) -> FleetNode:
        """Make a node without current values from its last values and their age."""
        if name not in self._seen:
            return FleetNode(name, labels, {} if age is None else {AGE: age}, age, gone=True)
        at, node = self._seen[name]
        age = now - at + (node.age or 0.0) if age is None else age
        return replace(node, labels=labels or node.labels, values={**node.values, AGE: age}, age=age, gone=True)

    def _notes(self, values: Mapping[str, Mapping[str, float]]) -> Iterable[str]:
        if self._doubled:
            yield (f"{len(self._doubled)} nodes have two series of one name, as {self._doubled[0]}: their values are "
                   f"added up; --node {','.join(self.question.by)},LABEL tells them apart")
        living = [node for node in values.values() if CPUS in node]
        if living and not any("Busy%" in node for node in living):
            yield (f"no node has a rate over {self.question.window}: where nodes are scraped more seldom than twice in "
                   "that time, --window 10m")


def _node(name: str, labels: Mapping[str, str], values: Mapping[str, float], age: float | None) -> FleetNode:
    """Return a node, with the values that no machine can have apart from the others."""
    wrong = {column: value for column, value in values.items() if not _is_possible(column, value)}
    if not wrong:
        return FleetNode(name, labels, values, age)
    return FleetNode(name, labels, {column: value for column, value in values.items() if column not in wrong},
                     None if AGE in wrong else age, impossible=wrong)


def _is_possible(column: str, value: float) -> bool:
    least, most = POSSIBLE.get(column, (-math.inf, math.inf))
    return least <= value <= most


def _one_of(values: Iterable[str]) -> str:
    """Return a PromQL string with a regular expression (RE2, anchored) that matches these label values."""
    special = frozenset("\\.+*?()|[]{}^$")
    alternatives = "|".join("".join(f"\\{letter}" if letter in special else letter for letter in original(value))
                            for value in values)
    escaped = alternatives.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
