"""Columns of where a task's memory is beside where it ran: numa_maps, read only while one of them is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from turbotui.features.tasks.fact_columns import MeasuredCell, MeasuredFact
from turbotui.machine.cpulist import format_cpulist
from turbotui.machine.tasks.numa_balancing import MOST_THREADS, MovedPages
from turbotui.machine.tasks.numa_maps import NodeMemory
from turbotui.quantities.by_key import sums_by_key
from turbotui.quantities.unavailable import Reason, Unavailable

MAPS: Final = "numa_maps"
"""The word that columns of memory by node need."""
NOT_READ: Final = Unavailable(Reason.NOT_READ, "the memory of tasks was not read: it is while it is shown, and with "
                              "--nodes")
_IDLED: Final = Unavailable(Reason.NEVER_RAN, "the task did not run in this interval, so no node is its own")
_NO_PREFERENCE: Final = Unavailable(
    Reason.NEVER_RAN, "the kernel's balancing prefers no node for it (numa_preferred_nid is -1): it sampled too few "
    "accesses, or is off", "sysctl kernel.numa_balancing shows whether it is on")
_STRAY: Final = 0.1
"""The share of its run time below which a task was only passing through a node."""
_MOVE: Final = 50.0
"""Percent of its memory elsewhere from which a task is said to be in the wrong place."""


def nodes_where_it_ran(loads: Mapping[int, int], last_cpu: int, node_of: Mapping[int, int]) -> frozenset[int]:
    """Return the nodes that have at least a tenth of a row's run time; empty if it did not run.

    Args:
        loads: cycles or ns of the row by CPU.
        last_cpu: counts where no CPU has a load; -1 for none.
        node_of: the node of each CPU.
    """
    by_node = sums_by_key((node_of[cpu], max(0, load))
                          for cpu, load in (loads or {last_cpu: 1}).items() if cpu in node_of)
    least = _STRAY * sum(by_node.values())
    return frozenset(node for node, load in by_node.items() if load >= least and load)


def _elsewhere(memory: NodeMemory, nodes: frozenset[int]) -> MeasuredCell:
    if not nodes:
        return MeasuredCell(None, _IDLED)
    return MeasuredCell(100 * sum(size for node, size in memory.nodes.items() if node not in nodes) / memory.total)


_DOCUMENT: Final = "proc(5), numa_maps; kernel Documentation/filesystems/proc.rst"
_COST: Final = ("read while shown, of at most 8 processes in an interval, and of each at most every 10 s: MapAge; what "
                "it shares with others (libraries, shared memory) is in it")
MAP_FACTS: Final[tuple[MeasuredFact[NodeMemory, frozenset[int]], ...]] = (
    MeasuredFact("MemNode", "", 0, 7, f"NUMA node with most of its process's resident memory; {_COST}",
                 lambda memory, _nodes: MeasuredCell(memory.node), _DOCUMENT),
    MeasuredFact("Elsewhere%", "%", 1, 10, "share of its process's resident memory that lies on other nodes than those "
                 "where it had a tenth or more of its run time in the interval; e names the node to move to",
                 _elsewhere, _DOCUMENT),
    MeasuredFact("MapAge", "s", 0, 6, "seconds since the process's memory by node was read",
                 lambda memory, _nodes: MeasuredCell(memory.age_ns / 1e9), _DOCUMENT),
)


def _moved(pages: MovedPages, _none: None) -> MeasuredCell:
    if not pages.ns:
        return MeasuredCell(None, Unavailable(Reason.FIRST_TICK, f"read once: {pages.before:,} pages were moved for it "
                                              "since it began"))
    return MeasuredCell(1e9 * pages.pages / pages.ns)


def _preferred(pages: MovedPages, _none: None) -> MeasuredCell:
    return MeasuredCell(format_cpulist(pages.nodes)) if pages.nodes else MeasuredCell(None, _NO_PREFERENCE)


_SCHED: Final = "kernel/sched/debug.c (sched_show_numa) and fair.c (task_numa_fault)"
MOVE_FACTS: Final[tuple[MeasuredFact[MovedPages, None], ...]] = (
    MeasuredFact("NumaMigr/s", "/s", 1, 10, "pages a second that automatic NUMA balancing moved to the node of the "
                 "task's accesses, of a process those of the threads that live; read while shown, of "
                 f"{MOST_THREADS:,} threads in an interval", _moved, _SCHED),
    MeasuredFact("NumaNode", "", -1, 8, "NUMA nodes that the kernel's balancing prefers for the task, or for the "
                 "process's threads, by whose memory they touched", _preferred, _SCHED),
)
MOVE_BY_ID: Final = {fact.id: fact for fact in MOVE_FACTS}
"""By the names of the columns; while one of them is shown, what the scheduler says of threads is read."""
MAP_BY_ID: Final = {fact.id: fact for fact in MAP_FACTS}
"""By the names of the columns; while one of them is shown, numa_maps is read."""


def place_sentence(memory: NodeMemory, nodes: frozenset[int], node_of: Mapping[int, int], pid: int,
                   tid: int | None) -> str:
    """Say where a task's memory is and where it ran; where these differ, what brings them together."""
    parts = ", ".join(f"node {node} {size / 2**30:.3f} GiB" for node, size in sorted(memory.nodes.items()) if size)
    ran = ", ".join(f"node {node}" for node in sorted(nodes)) or "nowhere in this interval"
    text = (f"memory of process {pid}, {memory.age_ns / 1e9:.0f} s before, by /proc/{pid}/numa_maps: {parts}; it ran "
            f"on {ran}")
    elsewhere = _elsewhere(memory, nodes).value
    if not isinstance(elsewhere, float) or elsewhere < _MOVE or memory.node in nodes:
        return text
    cpus = format_cpulist(cpu for cpu, node in node_of.items() if node == memory.node)
    whole = tid is None or tid == pid
    run = f"to run it there: taskset -{'a' * whole}cp {cpus} {pid if whole else tid}; " if cpus else ""
    return (f"{text}. {elsewhere:.0f} % of it is elsewhere: it should move to node {memory.node}, or the memory to "
            f"where it runs. By hand, {run}to move the memory: migratepages {pid} {memory.node} {min(nodes)}")
