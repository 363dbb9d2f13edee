"""A command beside the dashboard: held until its counters are open, then run, watched, and told of at its end."""

from __future__ import annotations

import contextlib
import shlex
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from turbotui.features.tasks.applications import Application
from turbotui.features.tasks.live import SnapshotRequest, TaskSnapshot, TaskWatcher
from turbotui.features.tasks.region_counting import MarkedPrograms, RegionCounting
from turbotui.features.tasks.watching import Watching
from turbotui.machine.command_output import CommandOutput, text_lines
from turbotui.machine.machine import Machine
from turbotui.machine.observing import Observation
from turbotui.machine.region_pipes import MarkPipe
from turbotui.machine.topology import Topology
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.signals import SignalId
from turbotui.sampling.energy import Energy, EnergyMeter
from turbotui.sampling.frame import Frame
from turbotui.sampling.sampled import raise_failure
from turbotui.sampling.selection import default_columns
from turbotui.sampling.session import Session
from turbotui.sampling.snapshot import Snapshot
from turbotui.untrusted import one_line


class RunSpan:
    """The frame from the beginning to the end of a run, of frames that are taken in their order.

    What began anew between them has no difference, and wraps that were missed make theirs unknown, as in a recording.
    """

    def __init__(self) -> None:
        self._first: Snapshot | None = None
        self._last: Frame | None = None
        self._fresh: dict[SignalId, frozenset[int]] = {}
        self._unsure: dict[SignalId, frozenset[int]] = {}
        self._topology: Topology | None = None

    def begin(self, frame: Frame) -> None:
        """Begin at the end of this frame."""
        self._first, self._last = frame.newer, None
        self._topology, self._fresh, self._unsure = frame.newer.topology, {}, {}

    def take(self, frame: Frame) -> None:
        """Go on to the end of this frame."""
        newer = frame.newer
        if self._first is None:
            return
        if newer.topology is not self._topology:  # positions are others; rows that stayed are found by their names
            self._topology, self._fresh, self._unsure = newer.topology, {}, {}
        self._fresh, self._unsure = _union(self._fresh, newer.fresh), _union(self._unsure, newer.unsure)
        self._last = frame

    @property
    def frame(self) -> Frame | None:
        """The frame of the span so far; None before it has an end."""
        if self._first is None or self._last is None:
            return None
        newer = replace(self._last.newer, fresh=self._fresh, unsure=self._unsure)
        return Frame(self._first, newer, self._last.capabilities)


def _union(known: Mapping[SignalId, frozenset[int]],
           more: Mapping[SignalId, frozenset[int]]) -> dict[SignalId, frozenset[int]]:
    return {**known, **{name: known.get(name, frozenset()) | found for name, found in more.items()}}


_LINE: Final = 400
"""Bytes of output that are looked through for each line that is asked for."""
_SECONDS: Final = (60, 3600)


class CommandBeside:
    """A command, and what is counted over its run. Made before there are threads.

    Args:
        seen: the held command.
        output: that the command writes to.
        words: of the command.
        stays: whether the screen stays when the command has ended.
        pipe: that its marks of regions come through.

    Attributes:
        applications: what the tasks screen shows of it.
        regions: counts what it does in the regions that it marks; None before `begin`.
        watcher: counts its threads from the first instruction on; None before `begin`.
        listener: takes the watcher's tables while a screen shows them.
        begun: whether it was let go.
        session: that watches the machine; None before `begin`.
        left_by: the signal that ended the dashboard before the command; 0 for none.
        has_terminal: whether there is one to write the report to.
        on_end: called on the sampler's thread once the command has ended and the last reading is there.
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
        self.begun = False
        self.left_by = 0
        self.has_terminal = True
        self.on_end: Callable[[], None] = _nothing
        self.output = output
        self.energy = Energy({}, {}, {})
        self._words = words
        self._seen = seen
        self._held = seen.commands[0]
        self.session: Session | None = None
        self._meter: EnergyMeter | None = None
        self._span = RunSpan()
        self._lock = threading.Lock()
        self._seq = -1
        self._frames = threading.Condition(self._lock)
        self._newest: Frame | None = None
        self._is_complete = False
        self._ended_ns = 0
        self._began = 0.0
        self._ended = threading.Event()
        self._paused = False

    # What screens show

    @property
    def title(self) -> str:
        """See `BesideCommand.title`."""
        return one_line(shlex.join(self._words))

    @property
    def over(self) -> bool:
        """See `BesideCommand.over`."""
        return self._ended.is_set()

    @property
    def seconds(self) -> float:
        """Seconds for which the command has run, or ran."""
        return self._seen.seconds if self.over else time.monotonic() - self._began if self.begun else 0.0

    @property
    def state(self) -> str:
        """See `BesideCommand.state`."""
        if self.over:
            return f"{self.ending} after {lasting(self.seconds)}"
        if not self.begun:
            return f"process {self._held.pid} · waits for its counters"
        return f"process {self._held.pid} · {'stopped' if self._paused else 'runs'} · {lasting(self.seconds)}"

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
        """CPU time of the command and of all that it waited for; None while it runs."""
        return None if self._held.used_ns is None else self._held.used_ns / 1e9

    def lines(self, most: int) -> list[str]:
        """See `BesideCommand.lines`."""
        return text_lines(self.output.tail(most * _LINE))[-most:]

    # The run

    def begin(self, session: Session) -> None:
        """Open the counters of its tasks beside those of a session that has started, and let it go.

        Raises:
            NotRunError: it cannot be run.
            TurbotuiError: what ended the sampling.
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
        session.end_interval()  # the span begins with the command, not with the counters
        self._wait_for_frame(session, lambda: self._seq > before)
        with self._lock:
            self._meter = meter
            self._span.begin(self._newest)  # type: ignore[arg-type]  # there is one by now
        self._began = time.monotonic()
        self._seen.begin()
        self.begun = True
        threading.Thread(target=self._await_end, args=(machine, session), name="command", daemon=True).start()

    def _wait_for_frame(self, session: Session, come: Callable[[], bool]) -> None:
        with self._frames:
            while not come():
                raise_failure(session)
                self._frames.wait(0.1)

    def choose_columns(self, session: Session) -> None:
        """Have the columns of the report read over the whole run."""
        self.columns = default_columns(session.catalog, session.capabilities, session.machine.topology, extras=False)

    def take(self, frame: Frame) -> None:
        """See `BesideCommand.take`."""
        with self._frames:
            if frame.seq <= self._seq:  # handed over again when the screens are there
                return
            self._seq, self._newest = frame.seq, frame
            self._frames.notify_all()
            if self._meter is None or self._is_complete:
                return
            self._span.take(frame)
            self._meter.feed(frame)
            if not self.over or frame.newer.started_ns < self._ended_ns:
                return
            self._is_complete = True
            self.energy = self._meter.take()
        self.on_end()

    def _await_end(self, machine: Machine, session: Session) -> None:
        self._seen.wait()
        if self.regions is not None:
            self.regions.stop()
        self._ended_ns = machine.host.now_ns()
        self.output.finish()
        self._ended.set()
        session.end_interval()

    def _publish(self, snapshot: TaskSnapshot) -> None:
        if self.listener is not None:
            self.listener(snapshot)

    @property
    def frame(self) -> Frame | None:
        """The frame of the whole run; None if it was too short, or left too early."""
        with self._lock:
            return self._span.frame

    def finish_tasks(self, told: Callable[[Watching], None]) -> None:
        """Stop counting its tasks; see `TaskWatcher.finish`."""
        def tell(watching: Watching) -> None:
            watching.watched[0].used_ns = self._held.used_ns
            told(watching)

        if self.watcher is not None:
            self.watcher.finish(tell)

    # The end of the screen

    def leave(self) -> None:
        """The screen is gone: counting ends with it, unless the command goes on."""
        if self.session is not None and self.over:
            self.session.stop(1.0)

    def left(self, number: int, *, has_terminal: bool) -> None:
        """Note what ended the dashboard: a signal or 0, and whether its terminal is still there."""
        self.left_by, self.has_terminal = number, has_terminal

    # Signals

    def send(self, number: int) -> None:
        """See `BesideCommand.send`."""
        self._held.send(number)

    def pause(self, stopped: bool) -> None:
        """See `BesideCommand.pause`. SIGSTOP: what leads a session does not stop by SIGTSTP (setpgid(2), orphaned)."""
        if self.begun and stopped != self._paused:
            self._paused = stopped
            self._held.send(signal.SIGSTOP if stopped else signal.SIGCONT)

    def wait(self, seconds: float) -> bool:
        """Wait for the command's end, for at most so many seconds; whether it has ended."""
        return self._ended.wait(seconds)

    def end(self, number: int) -> None:
        """Hand on a signal that ended the dashboard, and give the command a little time to end by it."""
        self.pause(False)
        self._seen.end(number, self._ended.wait)


def marked_programs(machine: Machine, pipe: MarkPipe) -> MarkedPrograms:
    """Count, from now on, the regions that programs mark in a FIFO which a person named."""
    found = MarkedPrograms(RegionCounting(machine, pipe))
    found.regions.start()
    return found


def lasting(seconds: float) -> str:
    """A time as people say it: 4.2 s, 3:07, 1:03:07."""
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
    """Nobody waits for the end."""
