"""Chooses the counters of an application: one event set if they fit together, multiplexed sets otherwise."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from dataclasses import replace

from turbotui.dataclass import dataclass
from turbotui.errors import MachineError, UsageError
from turbotui.events.engines import open_engine
from turbotui.features.tasks.application_totals import REFERENCE
from turbotui.features.tasks.applications import Application
from turbotui.features.tasks.numerics import DOUBLE, FLOPS, Numerics, definition_counters, in_order, needed, numerics_of
from turbotui.machine.core_metrics import task_metric_definition_of
from turbotui.machine.host import Host, HostError, HostKind
from turbotui.machine.machine import Machine
from turbotui.machine.tasks.memory import locks_freely
from turbotui.machine.tasks.processes import has_ended, threads_of
from turbotui.machine.tasks.sets import (
    HARDWARE_COUNTERS,
    SOFTWARE_COUNTERS,
    Mode,
    SamplingMoment,
    TaskCounter,
    TaskSampling,
    choose,
    with_required,
    with_wanted,
)
from turbotui.machine.tasks.tracer import sentence
from turbotui.quantities.unavailable import Reason, Unavailable

_MOST_END_RINGS = 256  # each thread's sets have one a CPU; with more, ends are timed by records of switches instead


@dataclass(frozen=True, slots=True)
class ChosenSets:
    """The event sets chosen for an application, and the counters that were left out."""

    sets: tuple[TaskSampling, ...]  # of which one counts at a time
    numerics: Numerics  # what FLOPs and bytes are made of
    # counters of the definition that this machine has, or why there are none
    has: tuple[TaskCounter, ...] | Unavailable = ()

    def first_only(self, machine: Machine) -> ChosenSets:
        """The choice with the first set only, which is not multiplexed then."""
        first = self.sets[0]
        return ChosenSets((first,), numerics_of(machine, self.has, frozenset(first.names)), self.has)


def choose_sets(machine: Machine, application: Application, pids: Sequence[int]) -> ChosenSets:
    """Choose the event sets of an application by opening them on this machine.

    Sets are multiplexed where FLOPs or bytes are asked for by a word, and over whole CPUs where nothing is: there are
    few sets of those. Every thread and process has sets of its own, which would be too many.

    Raises:
        MachineError: no such process, not permitted, or not enough descriptors or memory.
        UsageError: an event is unknown or given twice.
        EventError: an event cannot be understood.
    """
    host, cpu = machine.host, machine.topology.cpus[0]
    floating = definition_counters(machine)
    asked, word = _asked(host, application)
    known = task_metric_definition_of(machine.model)
    definition: tuple[TaskCounter, ...] = ()
    if not isinstance(floating, Unavailable) and known is not None and (word or not asked):
        definition = in_order(known, floating, double=word == DOUBLE)
    software = SOFTWARE_COUNTERS if application.whole_cpus and not asked else ()
    first: Sequence[TaskCounter] = HARDWARE_COUNTERS[:2]
    last = () if asked or word else HARDWARE_COUNTERS[2:]
    if asked:  # multiplexed sets are joined by instructions
        named = {counter.name for counter in asked}
        first = [counter for counter in first if word and counter.name == REFERENCE and REFERENCE not in named]
    wanted = (*software, *first, *definition, *last)
    target = _living_thread(host, pids, application) if host.kind is HostKind.REAL else 0
    whole = application.whole_cpus or host.kind is not HostKind.REAL
    left: tuple[TaskCounter, ...] = ()
    try:
        choice = bare = choose(host, cpu, (), whole_cpus=whole, target=target, command=bool(application.command))
        if bare.last and not application.command:
            threads = sum(len(threads_of(host, pid)) for pid in pids)
            few = locks_freely(host) and threads * len(machine.topology.cpus) <= _MOST_END_RINGS
            choice = bare = replace(bare, last=few)
        if asked:  # what was asked for by name comes before what a word stands for
            choice, left = _with_asked(host, bare, cpu, asked, target)
        choice = with_wanted(host, choice, cpu, [counter for counter in wanted if counter.name not in choice.names],
                             target)
    except HostError as error:
        if error.errno in _REFUSALS and whole_or_pids(application) and host.kind is HostKind.REAL:
            return _of_proc(error)
        what = ("the whole machine" if application.everything
                else f"control group {application.cgroup}" if application.cgroup is not None
                else f"process {target}" if target else "a command")
        raise MachineError(sentence(error, what, 2 + len(wanted) + len(asked))) from error
    has = floating
    if not isinstance(floating, Unavailable):
        has = tuple(counter for counter in floating
                    if counter.name in choice.names or with_wanted(host, bare, cpu, (counter,), target).counters)
    if known is not None and not isinstance(has, Unavailable) and (word or (application.whole_cpus and not asked)):
        necessary = needed(known, frozenset(counter.name for counter in has))
        left += tuple(counter for counter in definition if counter.name in necessary)
    if application.whole_cpus:
        left += tuple(last)
    sets = (choice, *_further(host, choice, left, cpu, target))
    names = frozenset(name for sampling in sets for name in sampling.names)
    return ChosenSets(sets, numerics_of(machine, has, names, asked_double=word == DOUBLE), has)


def _living_thread(host: Host, pids: Sequence[int], application: Application) -> int:
    """Return a thread of the processes to try event sets on; 0, which is the caller, for a command.

    Raises:
        MachineError: one of the processes has ended.
    """
    for pid in pids:
        if has_ended(host, pid):
            raise MachineError(f"there is no process {pid}: it has ended, or this user cannot see it")
    if not pids or application.command:
        return 0
    # The first thread may have ended before the others; the kernel then keeps it, and opens no counter for it.
    return max(threads_of(host, pids[0]), default=pids[0])


_REFUSALS = (errno.EACCES, errno.EPERM, errno.ENOSYS)
"""Errors of perf_event_open(2) to a user who may not, in a sandbox that forbids it, of a kernel without it."""


def whole_or_pids(application: Application) -> bool:
    """Whether /proc alone can show what an application is, and no event is asked for."""
    return (application.everything or bool(application.pids)) and not application.events


def _of_proc(error: HostError) -> ChosenSets:
    why = Unavailable(Reason.NOT_PERMITTED, f"perf does not watch these tasks for this user ({error}), so that all "
                      "there is comes from /proc",
                      "run as root, or with CAP_PERFMON, or lower kernel.perf_event_paranoid")
    choice = TaskSampling(Mode.PROC, SamplingMoment.LOOKS, 0, ())
    return ChosenSets((choice,), Numerics(why=why, refused=why), why)


def _with_asked(host: Host, bare: TaskSampling, cpu: int, asked: Sequence[TaskCounter],
                target: int) -> tuple[TaskSampling, tuple[TaskCounter, ...]]:
    """Extend a set by the events asked for by name; return what did not fit, for a set of its own.

    Raises:
        HostError: an event cannot be had, or they do not fit together and there are no instructions to join them by.
    """
    try:
        return with_required(host, bare, cpu, asked, target), ()
    except HostError:
        for asked_counter in asked:
            with_required(host, bare, cpu, (asked_counter,), target)  # each alone has to be there
        anchor = [counter for counter in HARDWARE_COUNTERS if counter.name == REFERENCE and counter.name not in
                  {own.name for own in asked}]
        choice = with_wanted(host, bare, cpu, anchor, target)
        if anchor and REFERENCE not in choice.names:
            raise  # before the others are tried one on top of the other, which takes time by their square
        choice = with_wanted(host, choice, cpu, asked, target)
        if REFERENCE not in choice.names:
            raise
        return choice, tuple(counter for counter in asked if counter not in choice.counters)


def _further(host: Host, first: TaskSampling, wanted: Sequence[TaskCounter], cpu: int,
             target: int) -> Iterator[TaskSampling]:
    """Further sets for the counters that did not fit into the first one."""
    anchors = tuple(counter for counter in first.counters if counter.free or counter.name in (REFERENCE, "cycles"))
    left = [counter for counter in wanted if counter.name not in first.names]
    while left and REFERENCE in first.names:
        more = with_wanted(host, replace(first, counters=anchors), cpu, left, target)
        if not (counters := more.counters[len(anchors):]):
            return  # they open nowhere
        yield more
        left = [counter for counter in left if counter not in counters]


def _asked(host: Host, application: Application) -> tuple[tuple[TaskCounter, ...], str]:
    """The events asked for by name, and the definition's counters among them."""
    if not application.events:
        return (), ""
    words = [word.strip() for word in application.events.split(",")]
    if {DOUBLE, FLOPS} <= set(words):
        raise UsageError(f"--event {FLOPS} has all precisions, {DOUBLE} has one of them: give one of the two")
    definition = DOUBLE if DOUBLE in words else FLOPS if FLOPS in words else ""
    text = ",".join(word for word in words if word not in (FLOPS, DOUBLE))
    encoded = open_engine(host).encode(text) if text else ()
    led = next((event for event in encoded if event.needs_leader is not None), None)
    if led is not None:
        raise UsageError(f"--event {led.string}: the kernel counts it below the event slots only, and a task's "
                         "counters are led by its switches: add it as a column of CPUs (--add)")
    if (scaled := next((event for event in encoded if event.scale != 1.0 or event.snapshot), None)) is not None:
        what = "a level" if scaled.snapshot else f"a count with the scale {scaled.scale:g}"
        raise UsageError(f"--event {scaled.string}: its PMU says that it is {what}, and tasks have plain counts alone: "
                         "add it as a column of CPUs (--add)")
    asked = [TaskCounter(event.string, event.attr) for event in encoded]
    names = [counter.name for counter in asked]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"--event {twice} is given twice, or counted by several PMUs: name one PMU")
    return tuple(asked), definition
