"""`turbotui spy`: event sets on each CPU, changed while they are counted (SpyMon)."""

from __future__ import annotations

import argparse
import queue
import signal
import sys
from collections.abc import Callable

from turbotui.commands.arguments import add_event_tables_argument, add_machine_arguments, whole
from turbotui.commands.formats import add_format_arguments, print_lines
from turbotui.commands.intervals import at_least_one
from turbotui.commands.sessions import open_host, parse_interval
from turbotui.dataclass import dataclass
from turbotui.errors import MachineError, UsageError
from turbotui.features.spies.intervals import Joiner, SpiedInterval, cost_words, joining_note, no_cpus_note, spied_table
from turbotui.machine.cpulist import parse_cpu_set
from turbotui.machine.host import HostKind
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.machine.signal_guard import ending_signals
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.scope import SYSTEM_ROW
from turbotui.quantities.spies import REFERENCE, SpyPlan, typed_spy
from turbotui.quantities.spy_signals import SpySignals
from turbotui.quantities.unavailable import Reason
from turbotui.sampling.frame import Frame
from turbotui.sampling.limits import INTERVAL_BOUNDS
from turbotui.sampling.own_cost import OwnCost, missed_words
from turbotui.sampling.sampled import raise_failure
from turbotui.sampling.session import Session
from turbotui.sampling.spy_file import SpyFile
from turbotui.sources import SOURCES
from turbotui.tables.envelope import Envelope
from turbotui.tables.formats import TEXT, Writer
from turbotui.tables.frame_table import FrameTable
from turbotui.tables.layout import Layout
from turbotui.threads import NamedThread
from turbotui.untrusted import one_line

_BESIDE = ("CorWatt", "PkgWatt", "RAMWatt")  # columns of power beside the events, if available
_EXAMPLE = "cycles,instructions"
_HOLD = 0.5  # seconds; shorter intervals are read by the spies' own clocks, and printed several at a time
_SOFTWARE = "--reference task-clock --events context-switches,page-faults"
_RATES = "events per second"
_NO_CPU = ": it names no CPU"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_machine_arguments(parser)
    add_event_tables_argument(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--config", metavar="FILE", help="event sets by CPU, in TOML; read again when the file changes")
    what.add_argument("--events", metavar="SETS", default="",
                      help=f"events by commas, sets by semicolons (default {_EXAMPLE}); one set that does not fit is "
                      "split, and sets are multiplexed")
    parser.add_argument("--on", metavar="CPUS", default="all",
                        help="with --events: 0-3,8, package 0, core 3 or all (default all)")
    parser.add_argument("--reference", metavar="EVENT",
                        help=f"with --events: counted in every set; sets are joined by it (default {REFERENCE})")
    parser.add_argument("-c", "--cpu", metavar="SET", help="watch these CPUs only: 0-3,8")
    parser.add_argument("-i", "--interval", metavar="SECONDS", default="1",
                        help=f"seconds between two samples, {INTERVAL_BOUNDS} (default 1)")
    parser.add_argument("-n", "--samples", metavar="N", type=whole, help="end after this many samples")
    parser.add_argument("--monitor-cpu", metavar="N", type=whole, help="bind everything but the spies to this CPU")
    add_format_arguments(parser)
    parser.add_argument("--joined", action="store_true",
                        help=f"counts instead of {_RATES}: each interval of each CPU with every event, interpolated "
                        "between the intervals that counted it; each is printed as many intervals later as there are "
                        "sets")
    parser.add_argument("--cost", action="store_true", help="print the cost of each sample on stderr")


def run(arguments: argparse.Namespace) -> int:
    """Print one table for each sample.

    Raises:
        UsageError: options or configuration are invalid.
        MachineError: no such machine, or a recorded one, on which nothing counts.
    """
    at_least_one(arguments.samples, what=" sample")
    host = open_host(arguments)
    if host.kind is HostKind.RECORDED:
        raise MachineError(f"{host.name} is a recorded machine, on which nothing counts; spies watch this machine "
                           "(without --machine) or a simulated one (--machine NAME)")
    cpus = None if arguments.cpu is None else parse_cpu_set(arguments.cpu)
    session = Session(read_machine(host, cpus), SOURCES, parse_interval(arguments.interval), LinuxHost(), cpus)
    if arguments.monitor_cpu is not None:
        session.bind(arguments.monitor_cpu)
    if arguments.config:
        session.spy_by(SpyFile(arguments.config))
    else:
        spy = typed_spy(arguments.on, arguments.events or _EXAMPLE)
        session.spy(SpyPlan((spy,), arguments.reference or REFERENCE))
    _check(session, arguments)
    notes = session.spy_notes
    spying = _SpyRun(session, arguments)
    spying.say(_notes(session))
    if not any(session.capabilities.signals.get(name) for column in session.spied for name in column.needs):
        raise UsageError(f"no event of these spies can be counted here{_instead(session) if notes else _NO_CPU}")
    return spying.run()


def _notes(session: Session) -> tuple[str, ...]:
    """Return notes that qualify the counts."""
    return (*session.spy_notes, *filter(None, [joining_note(session.spies, session.capabilities.signals)]))


def _check(session: Session, arguments: argparse.Namespace) -> None:
    """Refuse a request if its missing parts would leave nothing useful.

    Raises:
        UsageError: no entry names a CPU, or a reference or all events on the command line cannot be counted.
    """
    plan, capabilities = session.spies, session.capabilities
    nobody = [no_cpus_note(spy.on, session.machine.topology) for spy in plan.spies]
    if nobody and all(nobody):
        where = f"{arguments.config}:" if arguments.config else "--on"
        raise UsageError(f"{where} {'; '.join(dict.fromkeys(nobody))}")
    if arguments.config:
        return
    refused = {name: capabilities.why_missing(SpySignals(name).count)
               for name in plan.events if SpySignals(name).count not in capabilities.signals}
    if arguments.reference in refused:
        raise UsageError(f"--reference {arguments.reference}: {refused[arguments.reference].sentence()}")
    named = dict.fromkeys(name for spy in plan.spies for events in spy.sets for name in events)
    if all(name in refused and refused[name].reason is Reason.FAILED for name in named):
        raise UsageError("; ".join(refused[name].detail for name in named))


def _instead(session: Session) -> str:
    """Return a hint at software events on a machine without a core PMU."""
    if {"instructions", "cycles"} & set(session.capabilities.signals):
        return ""
    return f"; software events need no core PMU ({_SOFTWARE}), and a simulated machine has one (--machine laptop-old)"


@dataclass(frozen=True, slots=True)
class _Taken:
    """A frame with its plan, because the plan may have changed by the time of printing."""

    frame: Frame
    cost: OwnCost
    plan: SpyPlan
    spied: tuple[CounterColumn, ...]
    notes: tuple[str, ...]


class _SpyRun:
    def __init__(self, session: Session, arguments: argparse.Namespace) -> None:
        self._session = session
        self._arguments = arguments
        self._frames: queue.SimpleQueue[_Taken | None] = queue.SimpleQueue()
        self._note = ""
        self._notes: tuple[str, ...] = ()
        name = "table" if arguments.format == TEXT else arguments.format
        self._writer = Writer(name, print_lines, intervals=arguments.samples, marks=True)

    def run(self) -> int:
        """Print until the samples are over, or a signal; returns the exit status."""
        session = self._session
        beside = (*_BESIDE, "Call/s") if self._arguments.cost else _BESIDE
        session.want(name for name in ("CPU", *beside) if session.catalog.get(name))
        with ending_signals(lambda: session.stop(0.0),
                            {signal.SIGUSR1: lambda _number: session.end_interval()}) as ended:
            session.start(self._take, intervals=self._arguments.samples, on_end=lambda: self._frames.put(None),
                          hold=_HOLD)
            try:
                self._beside(self._print)
            finally:
                session.stop()
        raise_failure(session)
        if missed := missed_words(session.latest, session.interval):
            print(f"turbotui: {missed}", file=sys.stderr)
        return ended.status

    def _beside(self, call: Callable[[], None]) -> None:
        """Call on the monitor's CPU, without changing the first thread's affinity, which is the process's."""
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

        thread = NamedThread(target=bound, name="monitor")
        thread.start()
        thread.join()
        if failures:
            raise failures[0]

    def _take(self, frame: Frame) -> None:
        session = self._session
        self._frames.put(_Taken(frame, session.own_cost(), session.spies, session.spied, _notes(session)))

    def _print(self) -> None:
        joiner = Joiner(self._session.spies)
        last: _Taken | None = None
        while (taken := self._frames.get()) is not None:
            if (note := self._session.spy_note) != self._note:
                self._note = note
                if note:
                    print(f"turbotui: {one_line(note)}; the spies go on as before", file=sys.stderr, flush=True)
            if taken.frame.older is None:
                continue
            self.say(taken.notes)
            if last is not None and taken.plan is not last.plan:
                self._join(last, joiner.rest())
            if last is None or taken.plan is not last.plan:
                joiner = Joiner(taken.plan)
            if self._arguments.joined:
                self._join(taken, joiner.add(taken.frame))
            else:
                self._rates(taken)
            last = taken
            if self._arguments.cost:
                print(self._cost(taken.frame, taken.cost), file=sys.stderr, flush=True)
        if last is not None:
            self._join(last, joiner.rest())
        self._writer.end()

    def _rates(self, taken: _Taken) -> None:
        layout = self._layout(taken.spied)
        self._writer.write(self._envelope(taken, taken.frame.seconds, _RATES), (FrameTable(taken.frame, layout),))

    def _join(self, taken: _Taken, intervals: list[SpiedInterval]) -> None:
        """Write the joined intervals that a frame completed, each of its own length."""
        if intervals and self._arguments.joined:
            self._writer.write(self._envelope(taken, None, "counts"),
                               (spied_table(taken.plan, taken.frame.capabilities, intervals),))

    def _envelope(self, taken: _Taken, seconds: float | None, note: str) -> Envelope:
        host = self._session.machine.host
        return Envelope(host.name, host.kind, taken.frame.newer.wall_ns, seconds, note,
                        {"reference": taken.plan.reference}, taken.notes)

    def _layout(self, columns: tuple[CounterColumn, ...]) -> Layout:
        session = self._session
        catalog, capabilities = session.catalog, session.capabilities
        first = [column for name in ("CPU",) if (column := catalog.get(name)) is not None]
        beside = [column for name in _BESIDE if (column := catalog.get(name)) is not None
                  and all(need in capabilities.signals for need in column.needs)]
        return Layout((*first, *[column for column in columns if column.default], *beside))

    def say(self, notes: tuple[str, ...]) -> None:
        """Print notes that are new to stderr."""
        for note in notes:
            if note not in self._notes:
                print(f"turbotui: {one_line(note)}", file=sys.stderr, flush=True)
        self._notes = notes

    def _cost(self, frame: Frame, cost: OwnCost) -> str:
        """Format one line: system calls, wake-ups, time, and interrupts between CPUs."""
        calls = self._session.catalog.get("Call/s")
        rate = None if calls is None or not frame.seconds else frame.cell(calls, SYSTEM_ROW)
        count = rate * frame.seconds if isinstance(rate, float) and frame.seconds else None
        return f"# cost: {cost_words(cost, count)}"
