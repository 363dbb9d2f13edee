"""`turbotui tasks`: what each thread, process or command did, sampled at its switches, without a kernel patch."""

from __future__ import annotations

import argparse
import contextlib
import math
import shutil
import signal
import sys
import time
from collections.abc import Mapping
from functools import partial

from turbotui.commands.arguments import add_event_tables_argument, whole
from turbotui.commands.elsewhere import add_host_arguments, check_host_arguments
from turbotui.commands.formats import (
    TRACE,
    add_format_arguments,
    add_output_argument,
    make_writer,
    print_lines,
    terminal_room,
    to_output,
)
from turbotui.commands.intervals import add_interval_arguments, at_least_one
from turbotui.commands.recorded import add_span_arguments, refuse_span
from turbotui.commands.regions import add_regions_argument, open_given_pipe
from turbotui.commands.sessions import named_host, parse_interval
from turbotui.errors import UsageError, signal_status
from turbotui.features.tasks.applications import GRAMMAR, Application, parse_application, refuse_duplicates
from turbotui.features.tasks.cpu_waits import CPU_WAITS
from turbotui.features.tasks.energy import share_out
from turbotui.features.tasks.report import Report
from turbotui.features.tasks.tables import Grouping
from turbotui.features.tasks.task_regions import REGIONS
from turbotui.features.tasks.task_table import TASKS, TOTALS
from turbotui.features.tasks.text import StartTotals, TaskInterval, as_text, notes, timeline_lines
from turbotui.features.tasks.thread_totals import RUN_MEANING
from turbotui.features.tasks.traced import LiveTrace
from turbotui.features.tasks.watched_applications import WatchedApplications
from turbotui.machine.host import HostKind
from turbotui.machine.launching import HeldCommand
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.machine.observing import Observation, observe
from turbotui.machine.region_pipes import MarkPipe, RegionPipe
from turbotui.machine.tasks.proc_facts import ProcFacts, TaskLooks
from turbotui.sampling.energy import ENERGY_SOURCES, Energy, EnergyMeter, energy_signals
from turbotui.sampling.session import Session
from turbotui.sources import SOURCES
from turbotui.tables.formats import SEVERAL

_PLACES = 5.0  # seconds in which the memory of eight processes is read, some 15 GiB of each in small pages
_PLACES_ROUND = 0.02  # seconds between two looks whether it is read
_FIRST = 0.05  # seconds of the first interval of the energy's session, and its shortest


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = f"CPU time is {RUN_MEANING}."
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--pid", metavar="N", type=whole, action="append", help="this process; several times for more")
    what.add_argument("--cgroup", metavar="PATH", help="the threads of a control group (cgroup2, or perf_event)")
    what.add_argument("--container", metavar="NAME",
                      help="the threads of a container or pod, by name or the beginning of its id (docker, podman, "
                           "containerd, cri-o, Kubernetes, lxc)")
    what.add_argument("--all", action="store_true", help="every thread, by watching whole CPUs instead of tasks")
    what.add_argument("--app", metavar="APP", action="append", default=[],
                      help=f"several applications at once, each with a name and events of its own: {GRAMMAR}; "
                           "events stand last; may be given several times")
    parser.add_argument("--machine", metavar="NAME", help="a simulated machine's tasks; every output says SIMULATED")
    add_host_arguments(parser)
    add_interval_arguments(parser, "seconds of an interval; print a table for every interval, not only at the end")
    parser.add_argument(
        "-e",
        "--event",
        metavar="EVENT",
        action="append",
        default=[],
        help="count this event, named as perf names it, in place of instructions, cycles and cache misses; may be "
        "given several times; flops stands for the events from which this processor's FLOPs and bytes are computed, "
        "double for those of double precision; sets that do not fit together are multiplexed and marked",
    )
    add_event_tables_argument(parser)
    parser.add_argument("--by", choices=[grouping.value for grouping in Grouping], default=Grouping.THREAD.value,
                        help="what a row represents (default thread)")
    parser.add_argument("--waits", action="store_true",
                        help="also show what tasks waited for: a CPU, storage, sleep, their quota; this costs a record "
                             "for each switch of the machine")
    parser.add_argument("--loads", action="store_true",
                        help="also sample loads: their latency and the memory level that served them, if a PMU "
                             "measures that (AMD IBS, Intel PEBS); each sample is an interrupt")
    parser.add_argument("--nodes", action="store_true",
                        help="also show on which NUMA node the memory of each process is, and which share of it is not "
                             "where it ran; this walks the page tables of up to 8 processes in an interval, some 40 ms "
                             "a GiB of small pages")
    add_regions_argument(parser)
    parser.add_argument("--timeline", action="store_true",
                        help="show where each thread ran: time from left to right, the CPU as a number and a colour")
    add_span_arguments(parser)
    add_format_arguments(parser, (TASKS, TOTALS, CPU_WAITS, REGIONS), traced="with --timeline")
    add_output_argument(parser)
    parser.add_argument("--pages", metavar="N", type=whole, help="pages of each ring of samples, a power of two")
    parser.add_argument("command", nargs="*", metavar="-- command", help="the command to run and watch")


@to_output
def run(arguments: argparse.Namespace) -> int:
    """Print a recording, or watch until the command ends, the intervals are over, or a signal comes.

    Commands get the signal too. The exit status is theirs, or the signal's if there is none or they go on.
    """
    at_least_one(arguments.intervals)
    if arguments.format == TRACE and not arguments.timeline:
        raise UsageError("--format trace shows when threads ran: give --timeline too")
    check_host_arguments(arguments)
    if arguments.host:
        refuse_span(arguments)
    if arguments.replay or arguments.host:
        from turbotui.features.tasks.replaying import replay  # noqa: PLC0415 - most runs watch a machine

        open_given_pipe(arguments)
        return replay(arguments)
    refuse_span(arguments)
    applications = _applications(arguments)
    if arguments.regions is not None and len(applications) > 1:
        raise UsageError("--regions: marks do not say which of several --app they are of: watch one")
    if arguments.pages is not None and (arguments.pages < 1 or arguments.pages & (arguments.pages - 1)):
        raise UsageError(f"--pages {arguments.pages}: a ring has a power of two of pages")
    return _Watch(arguments, applications).run()


def _applications(arguments: argparse.Namespace) -> list[Application]:
    targets = (bool(arguments.pid), arguments.cgroup is not None, arguments.container is not None, arguments.all,
               bool(arguments.app), bool(arguments.command))
    if arguments.command and sum(targets) > 1:
        raise UsageError("a command after -- is watched with all that it starts: leave out what else is to be watched")
    if sum(targets) != 1:
        raise UsageError("say what to watch: --pid N, --cgroup PATH, --container NAME, --all, --app APP, "
                         "or a command after --")
    if arguments.container == "":
        raise UsageError("--container needs a name, or the beginning of an id")
    if arguments.app:
        if arguments.event:
            raise UsageError("--event belongs to --pid, --cgroup, --all and a command: an --app has its own events=")
        applications = [parse_application(text) for text in arguments.app]
        refuse_duplicates(applications)
    else:
        applications = [Application("", tuple(arguments.pid or ()), arguments.cgroup, arguments.all,
                                    tuple(arguments.command),
                                    ",".join(arguments.event), arguments.container or "")]
    if arguments.machine is not None and any(application.command for application in applications):
        raise UsageError("a command runs on this machine, not on a simulated one: leave --machine out")
    return applications


class _Watch:
    def __init__(self, arguments: argparse.Namespace, applications: list[Application]) -> None:
        self._arguments = arguments
        self._applications = applications
        host = named_host(arguments.machine, "/", arguments.event_tables)
        self._machine = read_machine(host)
        listed = arguments.interval is not None or arguments.intervals is not None or host.kind is not HostKind.REAL
        self._interval = parse_interval(arguments.interval or "1") if listed else None
        self._by = Grouping.THREAD if arguments.timeline else Grouping(arguments.by)
        self._ended = False
        self._signal = 0
        self._printed: dict[str, set[str]] = {}
        self._spent = Energy({}, {})
        self._so_far: dict[str, StartTotals] = {}
        self._facts = ProcFacts(host, self._machine.topology if arguments.nodes else None)
        once = (not listed or arguments.intervals == 1) and len(applications) == 1
        intervals = 1 if once else arguments.intervals or (SEVERAL if arguments.command else None)
        self._trace = LiveTrace(host) if arguments.format == TRACE else None
        self._writer = None if self._trace is not None else make_writer(arguments, intervals, marks=True)

    def run(self) -> int:
        commands = {application.name: application.command for application in self._applications if application.command}
        watching = WatchedApplications(self._machine, self._arguments.pages, drawn=self._arguments.timeline)
        watching.watch_waits(self._arguments.waits)
        watching.watch_loads(self._arguments.loads)
        watching.watch_parallel(True)
        try:
            with contextlib.ExitStack() as stack:
                # marks do not say which of several commands they are of
                made = stack.enter_context(RegionPipe()) if commands and len(self._applications) == 1 else None
                given = open_given_pipe(self._arguments)
                pipe = made if given is None else stack.enter_context(given)
                prepare = None if made is None else made.announce
                seen = stack.enter_context(observe(*commands.values(), prepare=prepare))
                return self._run(watching, seen, dict(zip(commands, seen.commands, strict=True)), pipe)
        finally:
            watching.close()

    def _run(self, watching: WatchedApplications, seen: Observation, held: Mapping[str, HeldCommand],
             pipe: MarkPipe | None) -> int:
        for application in self._applications:
            watched = watching.add(application, child=held[application.name].pid if application.command else None)
            if pipe is not None:
                watched.mark_regions(pipe, self._machine.host)
        sources = tuple(source for source in SOURCES if source.id in ENERGY_SOURCES)
        session = Session(self._machine, sources, max(_FIRST, min(1.0, (self._interval or 4.0) / 4)), LinuxHost())
        meter = EnergyMeter(session.capabilities)
        signals = energy_signals(session.capabilities)
        session.want((), signals)
        if signals:
            session.start(meter.feed, first=_FIRST)
        try:
            for command in seen.commands:
                watching.waiting.add(command.descriptor)
            seen.run(partial(self._end_by, watching))
            return self._watch(watching, meter, seen, held)
        finally:
            if signals:
                session.stop()

    def _end_by(self, watching: WatchedApplications, number: int) -> None:
        """End the watching by a signal; the last table is still printed."""
        self._signal = number
        watching.waiting.wake()

    def _watch(self, watching: WatchedApplications, meter: EnergyMeter, seen: Observation,
               held: Mapping[str, HeldCommand]) -> int:
        def rounds(seconds: float) -> None:
            watching.round(min(seconds, watching.pause))
            note_ends()

        def note_ends() -> None:
            for application in watching.watched:
                command = held.get(application.application.name)
                if command is not None and command.poll() is not None:
                    application.used_ns = command.used_ns
                    watching.waiting.remove(command.descriptor)

        number = 0
        slot = 1  # an interval that a stall has eaten is not caught up: the one before is that much longer
        began = time.monotonic()
        while not self._ended and not self._signal:
            due = None if self._interval is None else began + slot * self._interval
            rounds(math.inf if due is None else max(0.0, due - time.monotonic()))
            self._ended |= all(watching.gone(watched) if watched.application.name not in held
                               else held[watched.application.name].poll() is not None for watched in watching.watched)
            if due is not None and (time.monotonic() >= due or self._ended):
                number += 1
                if self._interval is not None:
                    slot = max(slot, int((time.monotonic() - began) / self._interval)) + 1
                last = number == self._arguments.intervals
                # one interval alone is the whole run; one that was cut by the end is in the whole only
                if not self._ended and not self._signal and not (last and number == 1):
                    self._show(watching, meter, number)
                self._ended |= last
        if self._signal:
            seen.end(self._signal, rounds)
        note_ends()
        watching.finish()
        self._show(watching, meter, None)
        self._end_output()
        for running_command in seen.running if self._signal else ():
            print(f"turbotui: {running_command.name} (process {running_command.pid}) goes on: it did not end by "
                  f"{signal.Signals(self._signal).name}", file=sys.stderr)
        if self._signal and (seen.running or not seen.commands):
            # Ctrl-C is how people end what has no end of its own
            return signal_status(self._signal) if seen.running or self._signal != signal.SIGINT else 0
        return next((status for command in seen.commands if (status := command.status) is not None), 0)

    def _read_places(self, looks: TaskLooks, report: Report, watching: WatchedApplications, *, drain: bool) -> None:
        """Have the memory of the rows' processes by node read before they are printed, if it was asked for.

        Args:
            drain: whether counters are open, whose records have to be taken meanwhile.
        """
        if (memory := self._facts.memory) is None:
            return
        for row in report.rows:
            if row.pid is not None:
                looks.memory_of(row.pid)
        until = time.monotonic() + _PLACES
        while memory.reading and (left := until - time.monotonic()) > 0:
            if drain:
                watching.round(min(left, watching.pause, _PLACES_ROUND))
            else:
                memory.wait(left)

    def _end_output(self) -> None:
        if self._writer is not None:
            self._writer.end()
        if self._trace is not None:
            print_lines(self._trace.lines())

    def _show(self, watching: WatchedApplications, meter: EnergyMeter, number: int | None) -> None:
        energy = meter.take()
        self._spent = self._spent.plus(energy)
        energy = self._spent if number is None else energy
        if self._trace is not None and number is None:
            self._trace.begin(watched.aggregate.timeline for watched in watching.watched)
        for watched in watching.watched:
            report: Report = watching.report(watched, self._by, whole=number is None)
            joules = share_out(report, energy, self._machine.topology)
            earlier = StartTotals() if number is None else self._so_far.get(watched.application.name, StartTotals())
            looks = TaskLooks(self._facts)
            self._read_places(looks, report, watching, drain=number is not None)
            shown = TaskInterval(report, watched.aggregate, number, joules, energy, self._by, self._machine.host,
                                 earlier, looks, watched.parallel, watched.regions if number is None else None)
            self._so_far[watched.application.name] = shown.so_far()
            if self._trace is not None:
                if number is None:
                    self._trace.add(shown)
                continue
            if self._writer is not None:
                self._writer.write(shown.envelope, shown.tables)
                continue
            printed = self._printed.setdefault(watched.application.name, set())
            print("\n".join(as_text(shown, printed, terminal_room())))
            printed.update(notes(shown))
            if self._arguments.timeline:
                width = shutil.get_terminal_size((100, 24)).columns
                print("\n".join(timeline_lines(shown, width, colour=sys.stdout.isatty())))
            print(end="" if number is None else "\n", flush=True)
