"""Memory of tasks by node in the recording's layout (docs/specs/journal.md 9.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from turbotui.machine.tasks.numa_balancing import MovedPages
from turbotui.machine.tasks.numa_maps import MOST_NODES, NodeMemory
from turbotui.machine.tasks.proc_facts import MemoryPlaces, TaskKey, TaskLooks
from turbotui.quantities.unavailable import Unavailable
from turbotui.recording.framing import DamagedError
from turbotui.recording.json_values import JsonValue, reason_facts, reason_from, whole

K = TypeVar("K")
V = TypeVar("V")
_MOST: Final = 20_000  # processes, threads and reasons of a record
_MOVED: Final = ("pages", "ns", "before")


def read_places(looks: TaskLooks, tasks: Sequence[TaskKey]) -> MemoryPlaces:
    """Look at the memory of tasks by node, and return what is known of it."""
    for pid, tid in tasks:
        looks.moved_for(pid, tid)
        if tid is None:
            looks.memory_of(pid)
    return looks.places


def places_facts(places: MemoryPlaces) -> dict[str, object]:
    """Memory by node as JSON: columns, and each reason once."""
    reasons = list(dict.fromkeys(why for known in (places.memory, places.moved) for why in known.values()
                                 if isinstance(why, Unavailable)))
    numbers = {why: at for at, why in enumerate(reasons)}
    memory = {pid: None if isinstance(node_memory, Unavailable) else node_memory
              for pid, node_memory in places.memory.items()}
    moved = {key: None if isinstance(pages, Unavailable) else pages for key, pages in places.moved.items()}
    return {
        "reasons": [reason_facts(why) for why in reasons],
        "memory": {
            "pid": list(memory), "why": [_number(node_memory, numbers) for node_memory in places.memory.values()],
            "age": [None if node_memory is None else node_memory.age_ns for node_memory in memory.values()],
            "nodes": [{} if node_memory is None else {str(node): size for node, size in node_memory.nodes.items()}
                      for node_memory in memory.values()],
        },
        "moved": {
            "pid": [pid for pid, _tid in moved], "tid": [tid for _pid, tid in moved],
            "why": [_number(pages, numbers) for pages in places.moved.values()],
            "nodes": [[] if pages is None else list(pages.nodes) for pages in moved.values()],
            **{name: [None if pages is None else getattr(pages, name) for pages in moved.values()] for name in _MOVED},
        },
    }


def _number(known: object, numbers: Mapping[Unavailable, int]) -> int | None:
    return numbers[known] if isinstance(known, Unavailable) else None


def places_from(stored: JsonValue) -> MemoryPlaces:
    """Read memory by node back from the JSON of `places_facts`. Raises DamagedError if it is none."""
    reasons = [reason_from(stored_reason) for stored_reason in stored["reasons"].items()]
    memory, moved = stored["memory"], stored["moved"]
    pids, ages, sizes = memory["pid"].values(int), memory["age"].values_or_none(int), memory["nodes"].items()
    memory.expect_columns(len(pids), ages, sizes, whys := memory["why"].values_or_none(int))
    by_process = {pid: _or_reason(None if age is None else NodeMemory(_sizes(nodes), age), why, reasons)
                  for pid, age, nodes, why in zip(pids, ages, sizes, whys, strict=True)}
    owners, tids = moved["pid"].values(int), moved["tid"].values_or_none(int)
    counts = [moved[name].values_or_none(int) for name in _MOVED]
    nodes_of = [nodes.integers() for nodes in moved["nodes"].items()]
    moved.expect_columns(len(owners), tids, nodes_of, *counts, whys := moved["why"].values_or_none(int))
    by_task: dict[TaskKey, MovedPages | Unavailable] = {}
    for pid, tid, nodes, pages, ns, before, why in zip(owners, tids, nodes_of, *counts, whys, strict=True):
        known = None if pages is None or ns is None or before is None else MovedPages(pages, ns, nodes, before)
        if known is not None and min(known.pages, known.ns, known.before, *nodes) < 0:
            raise DamagedError(f"{moved.where} of the recording has pages or times below zero")
        by_task[pid, tid] = _or_reason(known, why, reasons)
    if max(len(by_process), len(by_task)) > _MOST:
        raise DamagedError(f"{stored.where} of the recording has more than {_MOST:,} tasks")
    return MemoryPlaces(by_process, by_task)


def _sizes(nodes: JsonValue) -> dict[int, int]:
    sizes = {whole(node): size.integer() for node, size in nodes.entries().items()}
    if any(not 0 <= node < MOST_NODES for node in sizes) or min(sizes.values(), default=0) < 0 or not any(
            sizes.values()):
        raise DamagedError(f"{nodes.where} of the recording is no memory by node")
    return sizes


def _or_reason(value: V | None, why: int | None, reasons: Sequence[Unavailable]) -> V | Unavailable:
    if value is not None:
        return value
    if why is None or not 0 <= why < len(reasons):
        raise DamagedError("the recording has memory by node that is neither known nor has a reason")
    return reasons[why]


def joined_places(earlier: MemoryPlaces | None, later: MemoryPlaces | None, passed_ns: int) -> MemoryPlaces | None:
    """Join two consecutive intervals: the newest memory, and the sum of what was moved.

    Args:
        passed_ns: from the end of the first to that of the second.
    """
    if earlier is None or later is None:
        return later or earlier
    memory: dict[int, NodeMemory | Unavailable] = {
        pid: node_memory if isinstance(node_memory, Unavailable)
        else replace(node_memory, age_ns=node_memory.age_ns + passed_ns)
        for pid, node_memory in earlier.memory.items()}
    memory |= {pid: node_memory for pid, node_memory in later.memory.items()
               if isinstance(node_memory, NodeMemory) or not isinstance(memory.get(pid), NodeMemory)}
    moved = {**earlier.moved, **later.moved}
    for key, pages in later.moved.items():
        first = earlier.moved.get(key)
        if isinstance(pages, MovedPages) and isinstance(first, MovedPages):
            moved[key] = first.plus(pages)
    return MemoryPlaces(_newest(memory), _newest(moved))


def _newest(known: Mapping[K, V]) -> Mapping[K, V]:
    return known if len(known) <= _MOST else dict(list(known.items())[-_MOST:])
