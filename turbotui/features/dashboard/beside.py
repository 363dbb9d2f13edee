"""A command beside the dashboard: held until its counters are open, then run, watched, and reported."""

from __future__ import annotations

import contextlib
import shlex
import signal
import threading
import time
from collections.abc import Callable
from typing import Final

from turbotui.features.dashboard.run_keeper import RunKeeper
from turbotui.features.tasks.applications import Application
from turbotui.features.tasks.live import SnapshotRequest, TaskSnapshot, TaskWatcher
from turbotui.features.tasks.region_counting import MarkedPrograms, RegionCounting
from turbotui.features.tasks.watched_applications import WatchedApplications
from turbotui.machine.command_output import CommandOutput, text_lines
from turbotui.machine.machine import Machine
from turbotui.machine.observing import Observation
from turbotui.machine.region_pipes import MarkPipe
from turbotui.quantities.columns import CounterColumn
from turbotui.sampling.energy import Energy, EnergyMeter
from turbotui.sampling.frame import Frame
from turbotui.sampling.restarts import Restarts
from turbotui.sampling.sampled import raise_failure
from turbotui.sampling.selection import default_columns
from turbotui.sampling.session import Session
from turbotui.sampling.snapshot import Snapshot
from turbotui.threads import NamedThread
from turbotui.untrusted import one_line


class RunSpan:
    """The frame from the beginning to the end of a run, built from frames in order.

    Counters that began anew in between have no difference, and missed wraps make differences unknown, as in recordings.
    """

    def __init__(self) -> None:
        self._first: Snapshot | None = None
        self._last: Frame | None = None
        self._restarts = Restarts()

    def begin(self, frame: Frame) -> None:
        """Begin the span at the end of this frame."""
        self._first, self._last = frame.newer, None
        self._restarts = Restarts()

    def take(self, frame: Frame) -> None:
        """Extend the span to the end of this frame."""
        if self._first is not None:
            self._restarts.skip(frame.newer)
            self._last = frame

    @property
    def frame(self) -> Frame | None:
        """The frame of the span so far; None before its first extension."""
        if self._first is None or self._last is None:
            return None
        return Frame(self._first, self._restarts.added_to(self._last.newer), self._last.capabilities)


_LINE: Final = 400
"""Bytes of output that are searched for each requested line."""
_SECONDS: Final = (60, 3600)


class CommandBeside:
    """A command, and the counts over its run; must be created before there are threads.

    Args:
        stays: whether the screen stays when the command has ended.
        pipe: the FIFO of its marks.

    Attributes:
        applications: the command's applications for the tasks screen.
        regions: counts the regions that it marks; None before `begin`.
        watcher: counts its threads from the first instruction on; None before `begin`.
        listener: takes the watcher's tables while a screen shows them.
        keeper: keeps the run, with the command's tasks; None if nothing does.
        left_by: the signal that ended the dashboard before the command; 0 for none.
        has_terminal: whether there is a terminal for the report.
        on_end: called on the sampler's thread after the command's end and the last reading.
    """

    def __init__(self, seen: Observation, output: CommandOutput, words: tuple[str, ...], *, stays: bool,
                 pipe: MarkPipe | None = None) -> None:
        self.stays = stays
        self.regions: RegionCounting | None = None
        self._pipe = pipe
        self.columns: tuple[CounterColumn, ...] = ()
        self.applications = (Application("", command=words),)
        self.watcher: TaskWatcher | None = None
        self.listener: Callable[[TaskSnapshot], None] | None = None
        self.keeper: RunKeeper | None = None
        self.begun = False
        self.left_by = 0
        self.has_terminal = True
        self.on_end: Callable[[], None] = _nothing
        self.output = output
        self.energy = Energy({}, {})
        self._words = words
        self._seen = seen
        self._held = seen.commands[0]
        self.session: Session | None = None
        self._meter: EnergyMeter | None = None
        self._span = RunSpan()
        self._session: Session | None = None
        self._lock = threading.Lock()
        self._seq = -1
        self._frames = threading.Condition(self._lock)
        self._newest: Frame | None = None
        self._is_complete = False
        self._ended_ns = 0
        self._began = 0.0
        self._ended = threading.Event()
        self._paused = False

    # For screens

    @property
    def title(self) -> str:
        return one_line(shlex.join(self._words))

    @property
    def over(self) -> bool:
        return self._ended.is_set()

    @property
    def seconds(self) -> float:
        """The seconds for which the command has run, or ran."""
        return self._seen.seconds if self.over else time.monotonic() - self._began if self.begun else 0.0

    @property
    def state(self) -> str:
        if self.over:
            return f"{self.ending} after {duration_text(self.seconds)}"
        if not self.begun:
            return f"process {self._held.pid} · waits for its counters"
        return f"process {self._held.pid} · {'stopped' if self._paused else 'runs'} · {duration_text(self.seconds)}"

    @property
    def ending(self) -> str:
        """How the command ended, in words."""
        status = self._held.poll()
        if status is not None and status < 0:
            return f"ended by {_signal_name(-status)}"
        return f"ended with status {status}"

    @property
    def status(self) -> int | None:
        """The command's exit status as a shell gives it; None while it runs."""
        return self._held.status

    @property
    def cpu_seconds(self) -> float | None:
        """The CPU time of the command and of the children that it waited for; None while it runs."""
        return None if self._held.used_ns is None else self._held.used_ns / 1e9

    def lines(self, most: int) -> list[str]:
        return text_lines(self.output.tail(most * _LINE))[-most:]

    # The run

    def begin(self, session: Session) -> None:
        """Open the counters of the command's tasks beside a started session, and start the command.

        Raises:
            NotRunError: the command cannot be run.
            TurbotuiError: the sampling failed.
        """
        self.session = session
        machine = session.machine
        meter = EnergyMeter(session.capabilities)
        self.watcher = TaskWatcher(machine, self.applications, self._publish, {"": self._held.pid})
        self.watcher.start(SnapshotRequest())
        self.watcher.opened.wait()
        if self._pipe is not None:
            self.regions = RegionCounting(machine, self._pipe)
            self.regions.open(self._held.pid)
            self.regions.start()
        self._wait_for_frame(session, lambda: self._newest is not None)
        before = self._seq
        session.end_interval()  # the span begins with the command, not when the counters were opened
        self._wait_for_frame(session, lambda: self._seq > before)
        with self._lock:
            self._meter = meter
            self._span.begin(self._newest)  # type: ignore[arg-type]  # there is one by now
        self._began = time.monotonic()
        self._seen.begin()
        self.begun = True
        self._session = session
        NamedThread(target=self._await_end, args=(machine, session), name="command", daemon=True).start()

    def _wait_for_frame(self, session: Session, come: Callable[[], bool]) -> None:
        with self._frames:
            while not come():
                raise_failure(session)
                self._frames.wait(0.1)

    def choose_columns(self, session: Session) -> None:
        """Request the report's columns for the whole run."""
        self.columns = default_columns(session.catalog, session.capabilities, session.machine.topology, extras=False)

    def take(self, frame: Frame) -> None:
        with self._frames:
            if frame.seq <= self._seq:  # published again when the screens exist
                return
            self._seq, self._newest = frame.seq, frame
            self._frames.notify_all()
            if self._meter is None or self._is_complete:
                return
            self._span.take(frame)
            self._meter.feed(frame)
            if self.keeper is not None and self.watcher is not None and self.listener is None:
                self.watcher.snapshot(SnapshotRequest(clocks=frame.clocks))
            if not self.over or frame.newer.started_ns < self._ended_ns:
                return
            self._is_complete = True
            self.energy = self._meter.take()
        if self._session is not None:
            self._session.waits = False
        self.on_end()

    def _await_end(self, machine: Machine, session: Session) -> None:
        self._seen.wait()
        if self.regions is not None:
            self.regions.stop()
        self._ended_ns = machine.host.now_ns()
        self.output.finish()
        self._ended.set()
        session.waits = True  # the last reading is for the printed report
        session.end_interval()

    def _publish(self, snapshot: TaskSnapshot) -> None:
        if self.listener is not None:
            self.listener(snapshot)
        elif self.keeper is not None and snapshot.record is not None:
            self.keeper.rows(snapshot.record)

    @property
    def frame(self) -> Frame | None:
        """The frame of the whole run; None if the run was too short, or left too early."""
        with self._lock:
            return self._span.frame

    def finish_tasks(self, publish: Callable[[WatchedApplications], None]) -> None:
        """Stop counting the tasks."""
        def tell(watching: WatchedApplications) -> None:
            watching.watched[0].used_ns = self._held.used_ns
            publish(watching)

        if self.watcher is not None:
            self.watcher.finish(tell)

    # The end of the screen

    def leave(self) -> None:
        """End counting with the screen, unless the command continues."""
        if self.session is not None and self.over:
            self.session.stop(1.0)

    def left(self, number: int, *, has_terminal: bool) -> None:
        """Record what ended the dashboard: a signal or 0, and whether its terminal still exists."""
        self.left_by, self.has_terminal = number, has_terminal

    # Signals

    def send(self, number: int) -> None:
        self._held.send(number)

    def pause(self, stopped: bool) -> None:
        """Stop the command by SIGSTOP, because SIGTSTP does not stop a session leader (setpgid(2)).

        One that is still held is stopped too: it may be let go before this process stops.
        """
        if stopped != self._paused:
            self._paused = stopped
            self._held.send(signal.SIGSTOP if stopped else signal.SIGCONT)

    def wait(self, seconds: float) -> bool:
        """Wait at most that many seconds for the command's end, and tell whether it has ended."""
        return self._ended.wait(seconds)

    def end(self, number: int) -> None:
        """Pass on a signal that ended the dashboard, and give the command a little time to end."""
        self.pause(False)
        self._seen.end(number, self._ended.wait)


def marked_programs(machine: Machine, pipe: MarkPipe) -> MarkedPrograms:
    """Count, from now on, the regions that programs mark in a FIFO named by the user."""
    programs = MarkedPrograms(RegionCounting(machine, pipe))
    programs.regions.start()
    return programs


def duration_text(seconds: float) -> str:
    """Format a time for people: 4.2 s, 3:07, 1:03:07."""
    minute, hour = _SECONDS
    if seconds < minute:
        return f"{seconds:.1f} s"
    whole = int(seconds)
    if whole < hour:
        return f"{whole // minute}:{whole % minute:02}"
    return f"{whole // hour}:{whole % hour // minute:02}:{whole % minute:02}"


def _signal_name(number: int) -> str:
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"


def _nothing() -> None:
    """Do nothing at the end, by default."""
