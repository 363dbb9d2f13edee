"""Whose waits for a CPU are longest, and who ran meanwhile, in a sentence; read only while CPUs are short."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Final

from turbotui.cell_widths import cut
from turbotui.dataclass import dataclass
from turbotui.machine.cpulist import format_cpulist
from turbotui.machine.host import Host
from turbotui.machine.tasks.group_names import group_of_task
from turbotui.machine.tasks.processes import name_of
from turbotui.machine.tasks.run_queue import WaitSums
from turbotui.quantities.histograms import Buckets, merged_buckets, quantile
from turbotui.sampling.frame import Frame

_ASKED: Final = 400  # threads whose group and name are read, those that waited longest
_SHARE: Final = 0.05  # of the waits, from which a CPU is named
_MOST_CPUS: Final = 20  # characters of their list
_ENDED: Final = "tasks that ended"


@dataclass(slots=True)
class NamedWaits:
    """The ended waits for a CPU of a task or group, in ns."""

    ended: int = 0
    lengths: Buckets = field(default_factory=dict)
    behind: Counter[str] = field(default_factory=Counter)  # ns that others ran meanwhile, by name
    cpus: Counter[int] = field(default_factory=Counter)  # ns by the CPU that the waits ended on; empty if unknown

    def add(self, waited: WaitSums, behind: Iterable[tuple[str, int]]) -> None:
        """Add the waits of a thread or a row, and who ran meanwhile."""
        self.ended += waited.ended
        self.lengths = merged_buckets((self.lengths, waited.lengths))
        for name, ran in behind:
            self.behind[name] += ran
        self.cpus.update(waited.cpus)


class RecordedWaits:
    """Waits of a recording's tasks (`feature.Feature.waits`), which is made of the recording.

    Attributes:
        recorded: whether any were met.
    """

    recorded = False

    def look(self, frame: Frame) -> str:
        """Add an interval; returns the sentence on the waits of all intervals so far, "" where none were recorded."""
        raise NotImplementedError


def tail_sentence(threads: Mapping[int, WaitSums], names: Callable[[int], str], *, wakeups: bool) -> str:
    """Who waited longest in sum, how long 1 % of these waits lasted at least, and behind whom; "" if nobody waited.

    Args:
        threads: the waits by thread.
        names: gives the group or the command of a thread.
        wakeups: whether waits after wake-ups are among them.
    """
    waited: dict[str, NamedWaits] = {}
    often = sorted(((tid, sums) for tid, sums in threads.items() if sums.ended), key=lambda item: -item[1].ended)
    for tid, wait_sums in often[:_ASKED]:
        waited.setdefault(names(tid), NamedWaits()).add(wait_sums,
                                                        ((names(other), ran) for other,
                                                         ran in wait_sums.behind.items()))
    return sentence_of(waited, wakeups=wakeups)


def sentence_of(waited: Mapping[str, NamedWaits], *, wakeups: bool) -> str:
    """The sentence on the one that waited longest in sum; "" if nobody waited.

    Args:
        waited: the waits by name.
        wakeups: whether waits after wake-ups are among them.
    """
    seen = {name: waits for name, waits in waited.items() if name != _ENDED and waits.ended} or {
        name: waits for name, waits in waited.items() if waits.ended}
    if not seen:
        return ""
    name = max(seen, key=lambda text: seen[text].ended)
    longest, behind = seen[name], seen[name].behind
    length = quantile(longest.lengths, 0.99)
    which = "waits for a CPU" if wakeups else "waits after losing a CPU"
    text = f"p99 of {name}'s {which} is {0.0 if length is None else length / 1e6:,.1f} ms"
    if not behind:
        return text
    pusher, ran = behind.most_common(1)[0]
    total = sum(longest.cpus.values())
    cpus = format_cpulist(sorted(cpu for cpu, part in longest.cpus.items() if part >= _SHARE * total))
    who = "its own tasks" if pusher == name else pusher
    where = f" on CPU{'s' * (not cpus.isdecimal())} {cut(cpus, _MOST_CPUS)}" if cpus else ""
    return f"{text}; {ran / behind.total():.0%} of it behind {who}{where}".replace("%", " %")


UNRECORDED: Final = "who ran meanwhile was not recorded: turbotui record --tables waits does"


class ThreadNames:
    """Names of threads: their container, pod, job or unit where there are several, else their commands."""

    def __init__(self, host: Host, tids: Mapping[int, WaitSums]) -> None:
        self._host = host
        self._groups: dict[int, str] = {}
        self._commands: dict[int, str] = {}
        names = {self._group(tid) for tid in sorted(tids, key=lambda tid: -tids[tid].ended)[:_ASKED]} - {_ENDED}
        self._by_group = len(names) > 1

    def _group(self, tid: int) -> str:
        known = self._groups.get(tid)
        if known is None:
            group = group_of_task(self._host, tid)
            known = self._groups[tid] = _ENDED if group is None else group.text
        return known

    def __call__(self, tid: int) -> str:
        if self._by_group:
            return self._group(tid)
        if tid not in self._commands:
            self._commands[tid] = name_of(self._host, tid, tid) or _ENDED
        return self._commands[tid]
