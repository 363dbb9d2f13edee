"""Programs inside a fake machine: unmodified, with real open, pread and perf_event_open.

Needs root, /dev/fuse and seccomp user notification; `why_not` says what is missing.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from call_supervisor import Supervisor
from fuse_wire import FuseServer
from instruction_tracer import InstructionTracer
from model_truth import CpuTruth, PackageTruth, truth_of
from patience import PATIENCE
from served_tree import ServedTree

from turbotui.simulated import SHAPES, ManualClock, RealClock, SimulatedHost
from turbotui.simulated.filesystem import leaves

_PROJECT: Final = Path(__file__).parents[2]


def why_not() -> str:
    """Return what is missing for a fake machine; "" if nothing is."""
    if os.geteuid() != 0:
        return "a fake machine needs root: it mounts"
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "a fake machine needs /dev/fuse, which cannot be opened"
    if platform.machine() not in ("x86_64", "aarch64"):
        return f"the numbers of the system calls of {platform.machine()} are not in the table"
    with open("/proc/self/status", encoding="ascii") as file:
        capabilities = next(int(line.split()[1], 16) for line in file if line.startswith("CapEff"))
    if not capabilities >> 21 & 1:
        return "a fake machine needs CAP_SYS_ADMIN: it mounts"
    return ""


def shape_of(name: str, cores: int = 0, packages: int = 0) -> SimulatedHost:
    """A simulated machine on real time; fewer cores a package, or fewer packages, than its namesake on request."""
    shape = SHAPES[name]
    if cores:
        shape = replace(shape, blocks=(replace(shape.blocks[0], cores=cores, l3=min(cores, shape.blocks[0].l3)),))
    if packages:
        shape = replace(shape, packages=packages)
    return SimulatedHost(shape, RealClock(), seed=3)


@dataclass(frozen=True, slots=True)
class Mark:
    """The model's true values when a CPU was read."""

    cpu: CpuTruth
    package: PackageTruth


Ends = tuple[Mark, Mark]
"""The truth at the first and at the last read of one tick."""


@dataclass(slots=True)
class Marks:
    """The truth at the reads of each tick on the CPUs that are watched.

    Whoever tells the program to read says when a tick begins and ends: by the clock alone they cannot be told apart on
    a machine that has other things to do.
    """

    host: SimulatedHost
    watched: frozenset[int]
    _ticks: list[dict[int, Ends]] = field(default_factory=list)
    _bounds: list[dict[int, Ends]] = field(default_factory=list)
    _within: bool = False

    def _now(self, cpu: int) -> Mark:
        truth = truth_of(self.host)
        return Mark(truth.truth(cpu), truth.package_truth(self.host.model.layout.places[cpu].package))

    def begin(self) -> None:
        """From now on every read belongs to one more tick."""
        self._ticks.append({})
        self._bounds.append({cpu: (mark, mark) for cpu in self.watched for mark in (self._now(cpu),)})
        self._within = True

    def end(self) -> None:
        """Note that all reads of the tick are done."""
        self._within = False
        self._bounds[-1] = {cpu: (first, self._now(cpu)) for cpu, (first, _) in self._bounds[-1].items()}

    def read(self, cpu: int) -> None:
        if self._within and cpu in self.watched:
            mark = self._now(cpu)
            first, _ = self._ticks[-1].get(cpu, (mark, mark))
            self._ticks[-1][cpu] = first, mark

    def interval(self, cpu: int, number: int) -> list[tuple[Mark, Mark]]:
        """The truth before and after the interval `number`, from 1: every way to choose two of the CPU's reads."""
        return [(before, after) for before in self._ticks[number - 1][cpu] for after in self._ticks[number][cpu]]

    def around(self, cpu: int, number: int) -> list[tuple[Mark, Mark]]:
        """Return the true values around a read by another thread for this CPU, somewhere within the ticks."""
        return [(before, after) for before in self._bounds[number - 1][cpu] for after in self._bounds[number][cpu]]


@dataclass(slots=True)
class Ended:
    """A program that has ended."""

    status: int
    output: str
    errors: str
    marks: Marks
    requests: int
    opened: int
    left_open: int

    def reports(self) -> list[dict[str, Any]]:
        """Its output, one JSON object a line."""
        return [json.loads(line) for line in self.output.splitlines()]


@dataclass(frozen=True, slots=True)
class Rights:
    """The rights of the program; None keeps all rights of the test."""

    uid: int = 0
    capabilities: int | None = None
    paranoid: int = 2
    files: tuple[int, int] | None = None


@dataclass(slots=True)
class Running:
    """A program inside the machine."""

    process: subprocess.Popen[str]
    marks: Marks
    tree: ServedTree
    fuse: FuseServer
    supervisor: Supervisor

    def ended(self) -> Ended:
        """Wait for its end; its output is what has not been taken yet."""
        output, errors = self.process.communicate(timeout=PATIENCE)
        until = time.monotonic() + PATIENCE
        while self.tree.open_files and time.monotonic() < until:  # which the kernel tells when it comes to it
            threading.Event().wait(0.01)
        return Ended(self.process.returncode, output, errors, self.marks, self.fuse.requests,
                     self.supervisor.opened, self.tree.open_files)


@dataclass(slots=True)
class SteppedStat:
    """A `turbotui stat` whose intervals the test ends, however long they take on a busy machine.

    Attributes:
        running: the program.
        span: seconds that an interval lasts at least.
        reports: what it has printed, one JSON object for each interval.
    """

    running: Running
    span: float
    reports: list[dict[str, Any]] = field(default_factory=list)
    _since: float = field(default_factory=time.monotonic)

    def report(self) -> dict[str, Any]:
        """End the interval, and return its printed report."""
        threading.Event().wait(self._since + self.span - time.monotonic())
        process, marks = self.running.process, self.running.marks
        assert process.stdin is not None
        assert process.stdout is not None
        marks.begin()
        process.stdin.write("\n")
        process.stdin.flush()
        line = process.stdout.readline()
        marks.end()
        self._since = time.monotonic()
        assert line, f"it has ended: {process.communicate()[1]}"
        self.reports.append(json.loads(line))
        return self.reports[-1]

    def ended(self) -> Ended:
        """Ask the program to end, and wait for it."""
        process = self.running.process
        assert process.stdin is not None
        process.stdin.write("q\n")
        return self.running.ended()


def held_up(row: Mapping[str, Any], *names: str) -> bool:
    """Whether one of a row's cells is unknown because this machine's own load held up the thread that reads it."""
    return any(row["values"][name] is None and row["why"][name].startswith(("late", "interrupted")) for name in names)


@dataclass(frozen=True, slots=True)
class FakeMachine:
    """A machine that programs can be started in.

    Attributes:
        host: what it is made of.
        rights: what programs may do.
        watched: CPUs whose truth is kept at every tick.
        plugging: CPUs come and go while a program runs.
        no_perf: errno of every perf_event_open, 0 for the machine's own answer.
        lenient: registers that the machine does not have read as zero, and setting limits seems to succeed: for
            programs that read registers whatever the machine has.
        traced: CPUID and RDTSC of the program are answered by the machine, and so is the time where the machine's
            clock is moved by hand: a sleep moves it.
        cpuid: what CPUID gives a traced program, by CPU, leaf and subleaf; None for what the model says.
        libraries: folder of the dynamic linker and the libraries that programs are loaded with; "" for the system's.
    """

    host: SimulatedHost
    rights: Rights = Rights()
    watched: frozenset[int] = frozenset()
    plugging: bool = False
    no_perf: int = 0
    lenient: bool = False
    traced: bool = False
    cpuid: Callable[[int, int, int], tuple[int, int, int, int]] | None = None
    libraries: str = ""

    @contextlib.contextmanager
    def started(self, command: Sequence[str], *, typing: bool = False) -> Iterator[Running]:
        """Start a program; it is killed at the end if it still runs.

        Args:
            command: its words.
            typing: whether somebody types on its stdin.
        """
        rights = self.rights
        if rights.capabilities is not None:
            self.host.set_privileges(uid=rights.uid, capabilities=rights.capabilities)
        self.host.set_privileges(paranoid=rights.paranoid)
        with tempfile.TemporaryDirectory(prefix="fake-machine-") as base:
            for name in ("served", "dev"):
                os.mkdir(f"{base}/{name}")
            ours, theirs = socket.socketpair()
            wanted = {"base": base, "uid": rights.uid, "capabilities": rights.capabilities, "files": rights.files,
                      "libraries": self.libraries,
                      "lenient": self.lenient, "held": self.traced,
                      "timed": self.traced and isinstance(self.host._clock, ManualClock), "command": list(command),
                      "paths": sorted({sys.base_prefix, sys.prefix, str(_PROJECT)})}
            environment = os.environ | {"PYTHONPATH": str(_PROJECT), "PYTHONDONTWRITEBYTECODE": "1"}
            with ours, subprocess.Popen(  # noqa: S603 - the launcher beside this file
                [sys.executable, str(Path(__file__).with_name("bed_launcher.py")), str(theirs.fileno()),
                 json.dumps(wanted)],
                pass_fds=(theirs.fileno(),), stdin=subprocess.PIPE if typing else subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd="/",
            ) as process:
                theirs.close()
                ours.settimeout(PATIENCE)
                try:
                    yield from self._serve(process, ours, command[0])
                finally:
                    process.kill()

    def _trace(self, process: subprocess.Popen[str], program: str, supervisor: Supervisor) -> InstructionTracer:
        model = self.host.model

        def cpuid(pid: int, leaf: int, subleaf: int) -> tuple[int, int, int, int]:
            cpu = supervisor.cpu_of(pid)
            if self.cpuid is not None:
                return self.cpuid(cpu, leaf, subleaf)
            return leaves(model.shape, model.layout.places[cpu]).get(leaf, (0, 0, 0, 0))

        return InstructionTracer(process.pid, program, cpuid, lambda: model.tsc(model.now()))

    def _serve(self, process: subprocess.Popen[str], ours: socket.socket, program: str) -> Iterator[Running]:
        marks = Marks(self.host, self.watched)
        tree = ServedTree(self.host, marks.read, plugging=self.plugging, blank=self.lenient)
        (fuse,) = _received(ours, 1, process)
        server = FuseServer(fuse, tree)
        files = threading.Thread(target=server.serve, name="fuse", daemon=True)
        files.start()
        counters, listener = _received(ours, 2, process)
        supervisor = Supervisor(listener, counters, self.host, tree, self.no_perf)
        calls = threading.Thread(target=supervisor.serve, name="supervisor", daemon=True)
        calls.start()
        tracer = self._trace(process, program, supervisor) if self.traced else None
        if tracer is not None:
            ours.send(b"g")
        try:
            yield Running(process, marks, tree, server, supervisor)
        finally:
            process.kill()
            process.wait()
            if tracer is not None:
                tracer.join()
            calls.join(PATIENCE)
            os.close(listener)
            os.close(counters)  # the last that holds the mount
            files.join(PATIENCE)
            os.close(fuse)
            assert not calls.is_alive()
            assert not files.is_alive()

    def run(self, *words: str) -> Ended:
        """Run `turbotui` with these words to its end."""
        with self.started([sys.executable, "-m", "turbotui", *words]) as running:
            return running.ended()

    @contextlib.contextmanager
    def stepped(self, *words: str, span: float = 0.25) -> Iterator[SteppedStat]:
        """Run `turbotui stat` with these words; the test ends its intervals, each after `span` seconds or more.

        A quarter of a second is what the program needs to look for CPUs that came or went in each of them.
        """
        command = [sys.executable, "-m", "turbotui", "stat", "--format", "json", "-q", "-i", "3600", *words]
        with self.started(command, typing=True) as running:
            hangs = threading.Timer(PATIENCE, running.process.kill)
            hangs.start()
            try:
                yield SteppedStat(running, span)
            finally:
                hangs.cancel()


def _received(ours: socket.socket, count: int, process: subprocess.Popen[str]) -> list[int]:
    """Descriptors that the launcher sends.

    Raises:
        RuntimeError: it has failed, and says why.
    """
    _word, descriptors, _flags, _address = socket.recv_fds(ours, 1, count)
    if len(descriptors) != count:
        _output, errors = process.communicate(timeout=PATIENCE)
        raise RuntimeError(f"the launcher failed: {errors}")
    return descriptors
