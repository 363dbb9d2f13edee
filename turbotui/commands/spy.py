"""`turbotui spy`: event sets on each CPU, changed while they are counted (SpyMon)."""

from __future__ import annotations

import argparse
import contextlib
import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType

from turbotui.analysis.spying import Joiner, SpiedInterval, cost_words, joining_note, nobody_note
from turbotui.commands.arguments import add_machine_arguments
from turbotui.commands.watching import label, open_host, parse_interval
from turbotui.errors import UsageError
from turbotui.machine.cpulist import parse_cpu_set
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.output.frame_table import make_frame_format
from turbotui.output.layout import Layout
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.scope import SYSTEM_ROW
from turbotui.quantities.spies import REFERENCE, SpyPlan, typed_spy
from turbotui.quantities.spy_signals import SpySignals
from turbotui.quantities.unavailable import Reason
from turbotui.sampling.frame import Frame
from turbotui.sampling.own_cost import OwnCost, missed_words
from turbotui.sampling.session import Session
from turbotui.sampling.spy_file import SpyFile
from turbotui.sources import SOURCES
from turbotui.untrusted import json_text, one_line

_FORMATS = ("table", "csv", "json")
_BESIDE = ("CorWatt", "PkgWatt", "RAMWatt")  # power beside the events, where there is any
_EXAMPLE = "cycles,instructions"
_HOLD = 0.5  # seconds: shorter intervals are read by the spies' own clocks, and printed several at a time
_SOFTWARE = "--reference task-clock --events context-switches,page-faults"
_RATES = "events per second"
_NO_CPU = ": it names no CPU"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_machine_arguments(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--config", metavar="FILE", help="event sets by CPU, in TOML; followed when it changes")
    what.add_argument("--events", metavar="SETS", default="",
                      help=f"events by commas, sets by semicolons (default {_EXAMPLE}); one set that does not fit is "
                      "split, and sets take turns")
    parser.add_argument("--on", metavar="CPUS", default="all",
                        help="with --events: 0-3,8, package 0, core 3 or all (default all)")
    parser.add_argument("--reference", metavar="EVENT",
                        help=f"with --events: counted in every set; sets are joined by it (default {REFERENCE})")
    parser.add_argument("-c", "--cpu", metavar="SET", help="watch these CPUs only: 0-3,8")
    parser.add_argument("-i", "--interval", metavar="SECONDS", default="1",
                        help="seconds between two samples, from 0.05 (default 1)")
    parser.add_argument("-n", "--samples", metavar="N", type=int, help="end after so many samples")
    parser.add_argument("--monitor-cpu", metavar="N", type=int, help="bind everything but the spies to this CPU")
    parser.add_argument("--format", choices=_FORMATS, help=f"{_RATES} (default {_FORMATS[0]})")
    parser.add_argument("--joined", action="store_true",
                        help="JSON lines with counts, each interval of each CPU with every event, drawn between the "
                        "intervals that counted it; they come as many intervals later as sets take turns")
    parser.add_argument("--cost", action="store_true", help="after each sample what taking it cost, on stderr")


def run(arguments: argparse.Namespace) -> int:
    """Print one table a sample.

    Raises:
        UsageError: options or configuration that cannot be followed.
        MachineError: no such machine.
    """
    if arguments.samples is not None and arguments.samples < 1:
        raise UsageError(f"-n {arguments.samples}: at least one sample")
    if arguments.joined and arguments.format not in (None, "json"):
        raise UsageError(f"--joined prints JSON lines: it goes with --format json or none, not {arguments.format}")
    host = open_host(arguments)
    cpus = None if arguments.cpu is None else parse_cpu_set(arguments.cpu)
    machine = read_machine(host, cpus)
    session = Session(machine, SOURCES, parse_interval(arguments.interval), LinuxHost(), cpus)
    if arguments.monitor_cpu is not None:
        session.bind(arguments.monitor_cpu)
    if arguments.config:
        session.spy_by(SpyFile(arguments.config))
    else:
        one = typed_spy(arguments.on, arguments.events or _EXAMPLE)
        session.spy(SpyPlan((one,), arguments.reference or REFERENCE))
    _check(session, arguments)
    notes = session.spy_notes
    for note in (*notes, *filter(None, [joining_note(session.spies, session.census.signals)])):
        print(f"turbotui: {one_line(note)}", file=sys.stderr)
    if not any(session.census.signals.get(name) for column in session.spied for name in column.needs):
        raise UsageError(f"no event of these spies can be counted here{_instead(session) if notes else _NO_CPU}")
    _Spying(session, arguments).run()
    return 0


def _check(session: Session, arguments: argparse.Namespace) -> None:
    """Refuse what was asked for and is not here, where nothing of use would be left.

    Raises:
        UsageError: no entry names a CPU, or a reference or all events on the command line cannot be counted.
    """
    plan, census = session.spies, session.census
    nobody = [nobody_note(spy.on, session.machine.topology) for spy in plan.spies]
    if nobody and all(nobody):
        where = f"{arguments.config}:" if arguments.config else "--on"
        raise UsageError(f"{where} {'; '.join(dict.fromkeys(nobody))}")
    if arguments.config:
        return
    refused = {name: census.why_missing(SpySignals(name).count)
               for name in plan.events if SpySignals(name).count not in census.signals}
    if arguments.reference in refused:
        why = refused[arguments.reference]
        raise UsageError(f"--reference {arguments.reference}: {why.sentence()}")
    named = dict.fromkeys(name for spy in plan.spies for events in spy.sets for name in events)
    if all(name in refused and refused[name].reason is Reason.FAILED for name in named):
        raise UsageError("; ".join(refused[name].detail for name in named))


def _instead(session: Session) -> str:
    """What can be counted without a core PMU, where there is none."""
    if {"instructions", "cycles"} & set(session.census.signals):
        return ""
    return f"; software events need no core PMU ({_SOFTWARE}), and a simulated machine has one (--machine laptop-old)"


@dataclass(frozen=True, slots=True)
class _Taken:
    """A frame as it came, with what was in force when it was read: by the time it is printed that may have changed."""

    frame: Frame
    cost: OwnCost
    plan: SpyPlan
    spied: tuple[CounterColumn, ...]


class _Spying:
    """One run of the command."""

    def __init__(self, session: Session, arguments: argparse.Namespace) -> None:
        self._session = session
        self._arguments = arguments
        self._frames: queue.SimpleQueue[_Taken | None] = queue.SimpleQueue()
        self._note = ""

    def run(self) -> None:
        session = self._session
        beside = (*_BESIDE, "Call/s") if self._arguments.cost else _BESIDE
        session.want(name for name in ("CPU", *beside) if session.catalog.get(name))
        with self._signals():
            session.start(self._take, intervals=self._arguments.samples, on_end=lambda: self._frames.put(None),
                          hold=_HOLD)
            try:
                self._beside(self._print)
            finally:
                session.stop()
        if session.failure is not None:
            raise session.failure
        missed = missed_words(session.latest, session.interval)
        if missed:
            print(f"turbotui: {missed}", file=sys.stderr)

    def _beside(self, call: Callable[[], None]) -> None:
        """Call on the monitor's CPU. The first thread's affinity is what others give the process: it is left alone."""
        cpu = self._arguments.monitor_cpu
        if cpu is None:
            call()
            return
        failures: list[BaseException] = []

        def bound() -> None:
            try:
                LinuxHost().pin_this_thread([cpu])
                call()
            except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
                failures.append(error)

        thread = threading.Thread(target=bound, name="monitor")
        thread.start()
        thread.join()
        if failures:
            raise failures[0]

    def _take(self, frame: Frame) -> None:
        session = self._session
        self._frames.put(_Taken(frame, session.own_cost(), session.spies, session.spied))

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """SIGINT and SIGTERM end after the sample under way; SIGUSR1 ends the interval."""

        def end(_number: int, _frame: FrameType | None) -> None:
            self._session.stop(0.0)

        def early(_number: int, _frame: FrameType | None) -> None:
            self._session.end_interval()

        handlers = {signal.SIGINT: end, signal.SIGTERM: end, signal.SIGUSR1: early}
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _print(self) -> None:
        plan = self._session.spies
        joiner = Joiner(plan)
        spied: tuple[CounterColumn, ...] = ()
        writer = None
        while (taken := self._frames.get()) is not None:
            frame = taken.frame
            self._say_note()
            if frame.older is None:
                continue
            if taken.plan is not plan:
                self._join(joiner.rest())
                plan = taken.plan
                joiner = Joiner(plan)
            if self._arguments.joined:
                self._join(joiner.add(frame))
            else:
                if writer is None or taken.spied is not spied:
                    spied = taken.spied
                    writer = make_frame_format(self._arguments.format or _FORMATS[0], self._layout(spied),
                                               self._arguments.samples, marks=True)
                print("\n".join(writer.lines(frame)), flush=True)
            if self._arguments.cost:
                print(self._cost(frame, taken.cost), file=sys.stderr, flush=True)
        self._join(joiner.rest())

    def _layout(self, columns: tuple[CounterColumn, ...]) -> Layout:
        session = self._session
        catalog, census = session.catalog, session.census
        first = [column for name in ("CPU",) if (column := catalog.get(name)) is not None]
        beside = [
            column
            for name in _BESIDE
            if (column := catalog.get(name)) is not None and all(need in census.signals for need in column.needs)
        ]
        spied = [column for column in columns if column.default]
        host = session.machine.host
        return Layout((*first, *spied, *beside), machine=host.name, kind=host.kind, said=_RATES)

    def _say_note(self) -> None:
        note = self._session.spy_note
        if note != self._note:
            self._note = note
            if note:
                print(f"turbotui: {one_line(note)}; the spies go on as before", file=sys.stderr, flush=True)

    def _join(self, intervals: list[SpiedInterval]) -> None:
        if not self._arguments.joined:
            return
        kind = label(self._session.machine.host)
        for one in intervals:
            line = {"seq": one.seq, "cpu": one.cpu, "seconds": round(one.seconds, 9), "counts": dict(one.counts),
                    "estimated": sorted(one.estimated), **({"machine": kind} if kind else {})}
            print(json_text(line), flush=True)

    def _cost(self, frame: Frame, cost: OwnCost) -> str:
        """One line: system calls, wake-ups, time, and the interrupts that CPUs sent each other."""
        calls = self._session.catalog.get("Call/s")
        rate = None if calls is None or not frame.seconds else frame.cell(calls, SYSTEM_ROW)
        count = rate * frame.seconds if isinstance(rate, float) and frame.seconds else None
        return f"# cost: {cost_words(cost, count)}"
