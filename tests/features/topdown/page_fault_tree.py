"""A tree of events that every kernel counts: page faults stand in for slots, so that any machine counts commands."""

from __future__ import annotations

from turbotui.features.topdown.engine import Branch, TopdownCounters
from turbotui.features.topdown.trees import Node, NodeWords, Tree
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import Machine, read_machine
from turbotui.quantities.expressions import parse_expression


def _node(name: str, letter: str, formula: str, parent: str = "") -> Node:
    words = NodeWords(name, f"{name}%", letter, f"Slots of {name}.", "nothing")
    return Node(name, words, parent, parse_expression(formula), "slots", 2 if parent else 1,
                document="perf_event_open(2)")


TREE = Tree(
    "faults", "page faults", ("software",), "slots", parse_expression("all"), "perf_event_open(2)",
    {"all": "config=2", "minor": "config=5", "major": "config=6"},
    (_node("retiring", "R", "minor / all"), _node("backend", "B", "major / all"),
     _node("memory", "M", "major / all", "backend")),
)  # fmt: skip


class StandIn(TopdownCounters):
    """The stand-in's counters on this machine."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        cpus = machine.topology.cpus
        self.branches = (Branch(TREE, "software", cpus, tuple(range(len(cpus))), 1, 1),)


def this_machine() -> Machine:
    """The real one."""
    return read_machine(LinuxHost())
