"""`turbotui tasks`: what each thread, process or command did, sampled at its switches, without a kernel patch."""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import time
from collections.abc import Iterator, Sequence
from types import FrameType

from turbotui.analysis.tasks.ledger import RUN, Ledger
from turbotui.analysis.tasks.tables import Grouping, TaskRow, difference, task_rows
from turbotui.commands.watching import parse_interval
from turbotui.errors import MachineError, UsageError
from turbotui.machine.events.encoder import encode_event
from turbotui.machine.host import HostError
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.machine.tasks.following import Follower, sentence
from turbotui.machine.tasks.launching import Held
from turbotui.machine.tasks.processes import cgroup_folder, name_of, processes, threads_of
from turbotui.machine.tasks.sets import (
    HARDWARE_COUNTERS,
    SOFTWARE_COUNTERS,
    Choice,
    Counter,
    Mode,
    choose,
    with_required,
)

_ROUND = 0.05  # seconds between two looks at the rings when none is half full


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--pid", metavar="N", type=int, action="append", help="this process; may be given several times")
    what.add_argument("--cgroup", metavar="PATH", help="the threads of a control group (cgroup2, or perf_event)")
    what.add_argument("--all", action="store_true", help="every thread, by watching whole CPUs (mode C)")
    parser.add_argument("-i", "--interval", metavar="SECONDS", help="a table for every interval, not only at the end")
    parser.add_argument("-n", "--intervals", metavar="N", type=int, help="end after so many (default interval: 1 s)")
    parser.add_argument("-e", "--event", metavar="EVENT", action="append", default=[],
                        help="count this too, in perf's words; instead of instructions, cycles and cache misses")
    parser.add_argument("--by", choices=[one.value for one in Grouping], default=Grouping.THREAD.value,
                        help="what a row stands for (default thread)")
    parser.add_argument("--json", action="store_true", help="one JSON object a table, in SI units")
    parser.add_argument("--pages", metavar="N", type=int, help="pages of each ring of samples, a power of two")
    parser.add_argument("command", nargs="*", metavar="command", help="after --: run this and watch it")


def run(arguments: argparse.Namespace) -> int:
    """Watch until the command or process ends, the intervals are over, or SIGINT."""
    targets = sum((bool(arguments.pid), arguments.cgroup is not None, arguments.all, bool(arguments.command)))
    if targets != 1:
        raise UsageError("say what to watch: --pid N, --cgroup PATH, --all, or a command after --")
    if arguments.intervals is not None and arguments.intervals < 1:
        raise UsageError(f"-n {arguments.intervals}: at least one interval")
    if arguments.pages is not None and (arguments.pages < 1 or arguments.pages & (arguments.pages - 1)):
        raise UsageError(f"--pages {arguments.pages}: a ring has a power of two of pages")
    return _Watch(arguments).run()


class _Watch:
    """One run of the command."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._arguments = arguments
        self._host = LinuxHost()
        self._host.raise_descriptors()
        listed = arguments.interval is not None or arguments.intervals is not None
        self._interval = parse_interval(arguments.interval or "1") if listed else None
        self._by = Grouping(arguments.by)
        self._ended = False
        self._older: list[TaskRow] = []

    def run(self) -> int:
        cpus = tuple(read_machine(self._host).topology.cpus)
        for pid in self._arguments.pid or ():
            if not threads_of(self._host, pid):
                raise MachineError(f"there is no process {pid}: it has ended, or this user cannot see it")
        choice = self._choose(cpus[0])
        follower = Follower(self._host, choice, cpus, self._arguments.pages)
        try:
            return self._watch(follower, Ledger(choice, follower.roots))
        finally:
            follower.close()

    def _choose(self, cpu: int) -> Choice:
        asked = [Counter(one.string, one.attr) for text in self._arguments.event
                 for one in encode_event(self._host, text)]
        names = [one.name for one in asked]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise UsageError(f"--event {twice} is given twice, or counted by several PMUs: name one PMU")
        whole = self._arguments.all or self._arguments.cgroup is not None
        target = (self._arguments.pid or [0])[0]
        what = "the whole machine" if whole else f"process {target}" if target else "a command"
        wanted = [*SOFTWARE_COUNTERS, *(() if asked else HARDWARE_COUNTERS)]
        try:
            choice = choose(self._host, cpu, wanted, whole_cpus=whole, target=target)
            return with_required(self._host, choice, cpu, asked, target) if asked else choice
        except HostError as error:
            raise MachineError(sentence(error, what, 2 + len(wanted) + len(asked))) from error

    def _watch(self, follower: Follower, ledger: Ledger) -> int:
        arguments = self._arguments
        held = Held(arguments.command) if arguments.command else None
        pids = tuple(arguments.pid or ()) if held is None else (held.pid,)
        try:
            folder = self._target(follower, ledger, pids, on_exec=held is not None)
        except BaseException:
            if held is not None:
                held.give_up()
            raise
        if held is not None:
            follower.watch(held.descriptor)
            held.go()
        status = 0
        number = 0
        began = time.monotonic()
        with self._signals():
            while not self._ended:
                due = None if self._interval is None else began + (number + 1) * self._interval
                pause = _ROUND if due is None else max(0.0, min(_ROUND, due - time.monotonic()))
                follower.wait(pause)
                code = None if held is None else held.status()
                ledger.feed(follower.take())
                follower.look(pids)
                self._ended |= code is not None or (held is None and self._gone(pids, folder))
                status = code or status
                if due is not None and (time.monotonic() >= due or self._ended):
                    number += 1
                    self._ended |= number == arguments.intervals
                    if not self._ended:
                        self._show(follower, ledger, number)
        follower.stop()
        ledger.feed(follower.take())
        ledger.close(follower.close_books())
        self._show(follower, ledger, None)
        return status

    def _target(self, follower: Follower, ledger: Ledger, pids: Sequence[int], *, on_exec: bool) -> str | None:
        """Open the counters; returns the cgroup's folder."""
        if self._arguments.all or self._arguments.cgroup is not None:
            for pid in processes(self._host):
                for tid in threads_of(self._host, pid):
                    ledger.name(tid, name_of(self._host, pid, tid))
        if self._arguments.all:
            follower.add_cpus()
            return None
        if self._arguments.cgroup is not None:
            folder = cgroup_folder(self._host, self._arguments.cgroup)
            descriptor = self._host.open_file(folder)
            try:
                follower.add_cpus(descriptor)
            finally:
                self._host.close(descriptor)
            return folder
        for pid in pids:
            follower.add_process(pid, on_exec=on_exec)
            for tid in threads_of(self._host, pid):
                ledger.name(tid, name_of(self._host, pid, tid))
        return None

    def _gone(self, pids: Sequence[int], folder: str | None) -> bool:
        """Whether what is watched has ended; a process that nobody has waited for yet has ended too."""
        if folder is not None:
            return not self._host.exists(folder)
        return bool(pids) and all(self._is_over(pid) for pid in pids)

    def _is_over(self, pid: int) -> bool:
        if len(threads_of(self._host, pid)) > 1:
            return False
        try:
            text = self._host.read_text(f"/proc/{pid}/stat")
        except HostError:
            return True
        return text.rpartition(") ")[2][:1] in ("Z", "X", "")  # proc(5): the state follows the name

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """SIGINT and SIGTERM end the watching, and the last table is still printed."""

        def end(_number: int, _frame: FrameType | None) -> None:
            self._ended = True

        before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _show(self, follower: Follower, ledger: Ledger, number: int | None) -> None:
        rows = task_rows(ledger, self._by)
        shown = rows if number is None else difference(rows, self._older)
        self._older = rows
        notes = _notes(follower, ledger)
        if self._arguments.json:
            print(json.dumps(_report(follower, ledger, shown, number, notes)), flush=True)
            return
        title = "whole run" if number is None else f"interval {number}"
        print(f"# {title}; mode {ledger.choice.mode.value}")
        print(f"# sampled {ledger.choice.when.value}")
        print("\n".join(_table(ledger, shown)))
        if any(row.incomplete for row in shown):
            print("# > marks counts that are too low: another profiler held the counters for a part of the time")
        for note in notes:
            print(f"# {note}")
        print(end="" if number is None else "\n", flush=True)


def _notes(follower: Follower, ledger: Ledger) -> list[str]:
    found = []
    if ledger.lost:
        harm = ("counts of the threads before and after are booked on one of them"
                if ledger.choice.mode is Mode.CPUS else "counts are complete, the times between are coarser")
        found.append(f"{ledger.lost} samples LOST for want of room in the ring ({harm}): --pages gives more")
    if ledger.throttled:
        found.append(f"the kernel held samples back {ledger.throttled} times (kernel.perf_event_max_sample_rate)")
    if follower.damaged:
        found.append(f"{follower.damaged} records could not be understood")
    if ledger.choice.mode is Mode.THREADS:
        unseen = len(ledger.forked - follower.followed)
        if unseen:
            found.append(f"{unseen} threads ended between two looks at /proc, or are of other processes: not counted")
    if ledger.read is not None and any(ledger.tail):
        rest = ", ".join(f"{name} {_plain(name, value)}"
                         for name, value in zip(ledger.names, ledger.tail, strict=True) if value)
        found.append(f"after the last samples of threads, in the final read only: {rest}")
    if not {"instructions", "cycles"} & set(ledger.names):
        found.append("instructions, cycles and misses are not counted: no core PMU answers here, or others were chosen")
    return found


def _plain(name: str, value: int) -> str:
    return f"{value / 1e6:.3f} ms" if name == RUN else str(value)


def _table(ledger: Ledger, rows: Sequence[TaskRow]) -> list[str]:
    counts = [name for name in ledger.names if name != RUN]
    ipc = any(row.ipc is not None for row in rows)
    lines = [["pid", "tid", "threads", "command", "run s", *counts, *(["IPC"] if ipc else []), "CPUs"]]
    for row in rows:
        mark = ">" if row.incomplete else ""
        lines.append([
            "" if row.pid is None else str(row.pid), "" if row.tid is None else str(row.tid), str(row.threads),
            row.name, f"{row.run_seconds:.6f}", *(f"{mark}{row.counts[name]}" for name in counts),
            *(["" if row.ipc is None else f"{row.ipc:.2f}"] if ipc else []), ",".join(map(str, row.cpus)),
        ])
    widths = [max(len(line[number]) for line in lines) for number in range(len(lines[0]))]
    left = lines[0].index("command")
    return ["  ".join(word.ljust(width) if number in (left, len(widths) - 1) else word.rjust(width)
                      for number, (word, width) in enumerate(zip(line, widths, strict=True))).rstrip()
            for line in lines]


def _report(follower: Follower, ledger: Ledger, rows: Sequence[TaskRow], number: int | None,
            notes: Sequence[str]) -> dict[str, object]:
    def plain(counts: dict[str, int]) -> dict[str, float]:
        return {("run_seconds" if name == RUN else name): value / 1e9 if name == RUN else value
                for name, value in counts.items()}

    def named(values: Sequence[int]) -> dict[str, float]:
        return plain(dict(zip(ledger.names, values, strict=True)))

    return {
        "interval": number,
        "mode": ledger.choice.mode.name,
        "sampled": ledger.choice.when.name,
        "tasks": [{"pid": row.pid, "tid": row.tid, "name": row.name, "threads": row.threads, "cpus": list(row.cpus),
                   "incomplete": row.incomplete, "ipc": row.ipc, **plain(row.counts)} for row in rows],
        "sum": named(ledger.sums()),
        "after_last_samples": named(ledger.tail),
        "final_read": None if ledger.read is None else named(ledger.read),
        "lost": ledger.lost,
        "throttled": ledger.throttled,
        "damaged": follower.damaged,
        "notes": list(notes),
    }
