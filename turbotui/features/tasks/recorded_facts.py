"""Recorded facts from /proc about tasks and their parents (docs/specs/journal.md 9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from turbotui.features.tasks.ancestry import Ancestry
from turbotui.machine.tasks.group_names import GroupName
from turbotui.machine.tasks.proc_facts import Stat, TaskFacts, TaskKey
from turbotui.recording.framing import DamagedError
from turbotui.recording.json_values import JsonValue, whole

_MOST_WORDS: Final = 256
"""Characters of a command line that are kept: it is written with each interval in which its process ran."""
_GROUP: Final = ("kind", "name", "container", "pod", "path")


def facts_facts(facts: Mapping[TaskKey, TaskFacts]) -> dict[str, object]:
    """Facts from /proc as JSON: processes, their threads, and each control group once."""
    processes = {pid: one for (pid, tid), one in facts.items() if tid is None}
    threads = {key: one.stat for key, one in facts.items() if key[1] is not None and key[1] != key[0]}
    groups = list(dict.fromkeys(one.group for one in processes.values() if one.group is not None))
    numbers = {group: at for at, group in enumerate(groups)}
    return {
        "processes": {
            "pid": list(processes), "name": [one.process for one in processes.values()],
            "arguments": [one.arguments[:_MOST_WORDS] for one in processes.values()],
            "user": [one.user for one in processes.values()],
            "group": [None if one.group is None else numbers[one.group] for one in processes.values()],
            **_stats_facts([one.stat for one in processes.values()]),
        },
        "threads": {"pid": [pid for pid, _tid in threads], "tid": [tid for _pid, tid in threads],
                    **_stats_facts(list(threads.values()))},
        "groups": [[getattr(group, name) for name in _GROUP] for group in groups],
    }


def facts_from(said: JsonValue) -> dict[TaskKey, TaskFacts]:
    """Read facts from /proc back from the JSON of `facts_facts`. Raises DamagedError if it is none."""
    processes, threads = said["processes"], said["threads"]
    groups = [_group_from(one) for one in said["groups"].items()]
    pids, names, arguments, users = (processes["pid"].values(int), *(
        processes[name].lines() for name in ("name", "arguments", "user")))
    chosen = processes["group"].values_or_none(int)
    if not len(pids) == len(names) == len(arguments) == len(users) == len(chosen) or any(
            at is not None and not 0 <= at < len(groups) for at in chosen):
        raise DamagedError(f"{said.where} of the recording has columns of different lengths, or groups of no number")
    found: dict[TaskKey, TaskFacts] = {}
    for at, (pid, stat) in enumerate(zip(pids, _stats_from(processes, names), strict=True)):
        group = chosen[at]
        found[pid, None] = found[pid, pid] = TaskFacts(stat, names[at], arguments[at], users[at],
                                                       None if group is None else groups[group])
    tids, owners = threads["tid"].values(int), threads["pid"].values(int)
    threads.expect_columns(len(tids), owners)
    for pid, tid, stat in zip(owners, tids, _stats_from(threads, [""] * len(tids)), strict=True):
        process = found.get((pid, None))
        if process is not None:
            found[pid, tid] = TaskFacts(stat, process.process, process.arguments, process.user, process.group)
    return found


def ancestry_facts(ancestry: Ancestry) -> dict[str, object]:
    """The parents of processes as JSON."""
    return {"parents": {str(pid): parent for pid, parent in ancestry.parents.items()},
            "names": {str(pid): name for pid, name in ancestry.names.items()}}


def ancestry_from(said: JsonValue) -> Ancestry:
    """Read the parents back from the JSON of `ancestry_facts`. Raises DamagedError if it is none."""
    return Ancestry({whole(pid): parent.integer() for pid, parent in said["parents"].entries().items()},
                    {whole(pid): name.text() for pid, name in said["names"].entries().items()})


def _stats_facts(stats: list[Stat]) -> dict[str, object]:
    return {"state": [one.state for one in stats], "parent": [one.parent for one in stats],
            "priority": [one.priority for one in stats], "nice": [one.nice for one in stats],
            "policy": [one.policy for one in stats]}


def _stats_from(said: JsonValue, names: list[str]) -> list[Stat]:
    states, policies = said["state"].lines(), said["policy"].lines()
    parents, priorities, nices = (said[name].values(int) for name in ("parent", "priority", "nice"))
    said.expect_columns(len(names), states, policies, parents, priorities, nices)
    return [Stat(name, state, parent, 0, kernel=False, priority=priority, nice=nice, policy=policy)
            for name, state, parent, priority, nice, policy in zip(
                names, states, parents, priorities, nices, policies, strict=True)]


def _group_from(said: JsonValue) -> GroupName:
    words = said.texts()
    if len(words) != len(_GROUP):
        raise DamagedError(f"{said.where} of the recording is no control group")
    return GroupName(**dict(zip(_GROUP, words, strict=True)))
