"""Runs a top-down analysis of threads, or of a command with its descendants, which move between CPUs."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import MachineError
from turbotui.features.topdown.command_counters import CommandTopdown, follow_command, follow_programs
from turbotui.features.topdown.engine import TopdownCounters
from turbotui.features.topdown.places import RowLevel
from turbotui.features.topdown.printing import TopdownPrinter
from turbotui.features.topdown.thread_counters import ThreadCounters, ThreadInterval
from turbotui.features.topdown.thread_rows import interval_notes, thread_rows
from turbotui.features.topdown.thread_search import BusyThreads, ProcessThreads
from turbotui.features.topdown.thread_watch import CHOOSING
from turbotui.machine.machine import Machine
from turbotui.machine.observing import Observation, observe
from turbotui.machine.region_pipes import GivenPipe, RegionPipe

LOOK: Final = 0.05
"""Seconds between two polls for new threads of processes."""
_UNSEEN: Final = 0.05  # share of a command's CPU time that may be in no row without a note
_UNSEEN_NS: Final = 50_000_000


@dataclass(frozen=True, slots=True)
class FollowRequest:
    """A request for an analysis of threads, a command, or programs."""

    command: Sequence[str]  # the command to run; empty for running programs
    pids: tuple[int, ...]  # processes; empty for the busiest threads of the machine
    seconds: float  # the length of an interval
    intervals: int | None  # the number of intervals; None until SIGINT, or until the processes have ended
    # the FIFO in which running programs mark regions; None if regions are not requested
    regions: GivenPipe | None = None


def run_followed(machine: Machine, counters: TopdownCounters, printer: TopdownPrinter, asked: FollowRequest) -> int:
    """Print the rows, and return the exit status of the command, if there is one.

    Raises:
        MachineError: there is no such process, or it may not be counted.
        TurbotuiError: the command cannot be run.
    """
    try:
        if asked.regions is not None:
            with asked.regions as pipe:
                _print(machine, printer, follow_programs(machine, counters, pipe, asked.seconds))
            return 0
        if not asked.command:
            with contextlib.suppress(KeyboardInterrupt):  # that is how a person ends it
                _watch(machine, counters, printer, asked)
            return 0
        if printer.level is RowLevel.COMMAND:
            return _follow(machine, counters, printer, asked.command)
        return _run_threads(machine, counters, printer, asked.command)
    finally:
        printer.end()


def _follow(machine: Machine, counters: TopdownCounters, printer: TopdownPrinter, command: Sequence[str]) -> int:
    with RegionPipe() as pipe, observe(command, prepare=pipe.announce) as seen:
        _print(machine, printer, follow_command(machine, counters, seen, pipe))
        return seen.commands[0].status or 0


def _print(machine: Machine, printer: TopdownPrinter, followed: CommandTopdown) -> None:
    printer.rows(machine, (followed.whole, *followed.kinds), followed.seconds, regions=followed.regions,
                 notes=followed.notes)


def _run_threads(machine: Machine, counters: TopdownCounters, printer: TopdownPrinter, command: Sequence[str]) -> int:
    with observe(command) as seen:
        finder = ProcessThreads(machine.host, (seen.commands[0].pid,), family=True)
        threads = ThreadCounters(machine, counters, finder)
        try:
            threads.look(on_exec=True)
            if threads.refused:
                refusals = "; ".join(refusal.sentence() for refusal in threads.refused)
                raise MachineError(f"the command was not run: {refusals}")
            seen.run()
            while not seen.wait(time.monotonic() + LOOK):
                threads.look()
            interval = threads.measure()
        finally:
            threads.close()
        _show(machine, counters, printer, interval, _unseen(interval, seen))
        return seen.commands[0].status or 0


def _unseen(interval: ThreadInterval, seen: Observation) -> tuple[str, ...]:
    """Return a note on threads that ended before they were found, by the command's CPU time in wait4(2)."""
    used = seen.commands[0].used_ns
    left = 0 if used is None else used - interval.enabled
    if used is None or left < max(_UNSEEN_NS, _UNSEEN * used):
        return ()
    text = (f"{100.0 * left / used:.0f} % of the command's CPU time is in no row: its threads ended before they were "
            "found (--per command counts it)")
    return (text,)


def _watch(machine: Machine, counters: TopdownCounters, printer: TopdownPrinter, asked: FollowRequest) -> None:
    host = machine.host
    finder = ProcessThreads(host, asked.pids) if asked.pids else BusyThreads(host)
    threads = ThreadCounters(machine, counters, finder)
    try:
        threads.look()
        if not asked.pids:
            time.sleep(CHOOSING)
        threads.measure()  # counted from now on
        number = 0
        while asked.intervals is None or number < asked.intervals:
            until = time.monotonic() + asked.seconds
            while (left := until - time.monotonic()) > 0 and not threads.ended:
                time.sleep(min(LOOK, left) if asked.pids else left)
                if asked.pids:
                    threads.look()
            number += 1
            _show(machine, counters, printer, threads.measure())
            if threads.ended:
                return
    finally:
        threads.close()


def _show(machine: Machine, counters: TopdownCounters, printer: TopdownPrinter, interval: ThreadInterval,
          more: Sequence[str] = ()) -> None:
    if not interval.threads and interval.refused:
        raise MachineError("; ".join(why.sentence() for why in interval.refused))
    printer.rows(machine, thread_rows(counters.branches, interval), interval.seconds,
                 notes=(*interval_notes(interval), *more))
