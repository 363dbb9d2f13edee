"""The clock of busy CPUs at moments of the interval, by chains of instructions that the CPU's own thread executes.

For virtual machines, which are given no counter of cycles: there turbotui knows the nominal clock only. A moment is not
a mean (`quantities/clock_moments.py`), so its signals never stand for APERF. An idle CPU has no clock and is not timed:
that would wake it.
"""

from __future__ import annotations

import contextlib
import errno
import math
import threading
import time
from collections import deque
from collections.abc import Collection, Sequence
from typing import Final

from turbotui.machine.code.chains import CHAINS, ChainSet, ClockMoment, judge
from turbotui.machine.cpu_times import PATH, read_cpu_times, times_in
from turbotui.machine.host import ChainHost, HostError, HostKind
from turbotui.machine.machine import Machine
from turbotui.quantities.clock_moments import (
    CLOCK,
    COUNT,
    ERROR,
    KEPT,
    SPREAD,
    VERDICT,
    MomentVerdict,
    moment_error,
)
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.bases import PerCpuSource
from turbotui.sources.source import Probe, Reader
from turbotui.sources.timestamp import refused, unpinned
from turbotui.threads import NamedThread

_BUSY: Final = 0.05  # share of the last interval from which a CPU is timed
_WITHOUT_CLOCK: Final = (MomentVerdict.IDLE, MomentVerdict.FIRST)
_TRIES: Final = 3  # the clock may change between two chains
_MIGRATED: Final = ClockMoment(MomentVerdict.MIGRATED)
_OLD_NS: Final = 50_000_000  # age of /proc/stat up to which CPUs share a reading: a tick of theirs reads it once
_ROW_BYTES: Final = 256  # of a CPU in /proc/stat, at most; the rows of interrupts behind them are not read
_LEAST_BYTES: Final = 16384  # that are read, for CPUs that come later
_APART: Final = 0.002  # seconds between two moments; clocks change about every millisecond
_PPM: Final = 1e-6
_WHAT: Final = "chains of instructions"
_ORIGIN: Final = f"{_WHAT} of known latency on CPU {{cpu}}"
_DOCUMENT: Final = "InstLatx64 results (github.com/InstLatx64/InstLatx64): latencies by core"
_SIGNALS: Final = {
    signal.id: signal for signal in (
        Signal(CLOCK, Scope.CPU, Unit.HERTZ, Behavior.GAUGE, Reduce.MEAN, f"{_ORIGIN}; 0 while it is idle", _DOCUMENT),
        Signal(VERDICT, Scope.CPU, Unit.COUNT, Behavior.GAUGE, Reduce.MAX, f"{_ORIGIN}: why there is no clock"),
        Signal(COUNT, Scope.CPU, Unit.COUNT, Behavior.GAUGE, Reduce.SUM, f"{_ORIGIN}: moments in the interval"),
        Signal(SPREAD, Scope.CPU, Unit.RATIO, Behavior.GAUGE, Reduce.MAX,
               f"{_ORIGIN}: relative standard deviation of the last {KEPT} moments; 0 while fewer are known",
               scale=_PPM),
        Signal(ERROR, Scope.CPU, Unit.RATIO, Behavior.GAUGE, Reduce.MAX,
               f"{_ORIGIN}: expected relative error (rms) as the mean of the interval; 0 while it is idle", _DOCUMENT,
               scale=_PPM),
    )
}


class _CpuTimes:
    """The newest /proc/stat: one reading for all CPUs of a tick, by a file that their readers share."""

    def __init__(self, host: ChainHost, highest: int) -> None:
        self.host = host
        self._size = max(_LEAST_BYTES, _ROW_BYTES * (2 + highest))
        self._lock = threading.Lock()
        self._holders = 0
        self._descriptor = -1
        self._stat, self._read_at = b"", -_OLD_NS

    def hold(self) -> None:
        """Keep the file open until `release`."""
        with self._lock:
            self._holders += 1

    def release(self) -> None:
        """Close the file if this was the last of its readers."""
        with self._lock:
            self._holders -= 1
            if not self._holders and self._descriptor >= 0:
                self.host.close(self._descriptor)
                self._descriptor = -1

    def at(self, now: int) -> bytes:
        """The text of the file at about a time of the host; empty if it cannot be read."""
        with self._lock:
            if not 0 <= now - self._read_at < _OLD_NS:
                self._stat, self._read_at = self._read(), now
            return self._stat

    def _read(self) -> bytes:
        try:
            if self._descriptor < 0:
                self._descriptor = self.host.open_file(PATH)
            return self.host.read_at(self._descriptor, self._size)
        except HostError:
            return b""


def _timed(host: ChainHost, cpu: int | None, chains: ChainSet) -> ClockMoment:
    """Time a moment on the thread's CPU.

    Args:
        cpu: the CPU to which the thread is pinned; None: any.

    Raises:
        HostError: this process cannot execute the chains.
    """
    tries = _TRIES
    while True:
        before, stamps, after = host.time_chains(0 if cpu is None else cpu)
        moment = judge(stamps, chains) if before == after and (cpu is None or cpu == after) else _MIGRATED
        tries -= 1
        if moment.hertz is not None or not tries:
            return moment


def _deviation(moments: Sequence[float]) -> float:
    """The relative standard deviation; the standard library's takes ten times as long, as it works with fractions."""
    mean = math.fsum(moments) / len(moments)
    return math.dist(moments, (mean,) * len(moments)) / math.sqrt(len(moments)) / mean


def clock_now(machine: Machine, cpu: int) -> float | None:
    """The mean clock of a CPU in Hz at ten moments of the next 20 ms, busy or not; None if it cannot be timed.

    A thread of its own does it, because the caller's may run on other CPUs.
    """
    host, clocks = machine.host, list[float]()
    if not isinstance(host, ChainHost) or _why_not(machine) is not None:
        return None

    def work() -> None:
        with contextlib.suppress(HostError):
            host.pin_this_thread((cpu,))
            for _ in range(KEPT):
                moment = _timed(host, cpu, CHAINS[machine.model.architecture])
                clocks.extend([] if moment.hertz is None else [moment.hertz])
                if host.pins:
                    time.sleep(_APART)

    thread = NamedThread(target=work, name=f"clock of cpu{cpu}")
    thread.start()
    thread.join()
    return math.fsum(clocks) / len(clocks) if clocks else None


class _MomentReader:
    """Times moments of one CPU at every tick, and between two ticks if its source was asked to."""

    def __init__(self, source: CoreClock, times: _CpuTimes, cpu: int, wanted: frozenset[SignalId],
                 chains: ChainSet) -> None:
        self.signals: tuple[SignalId, ...] = ()
        self.choose(wanted)
        self._source = source
        self._host = times.host
        self._times = times
        self._cpu = cpu
        self._row = b"cpu%d " % cpu
        self._chains = chains
        self._between: list[float] = []
        self._last: deque[float] = deque(maxlen=KEPT)
        self._spread_ppm = 0  # of the last moments; 0: fewer than ten are known
        self._ticks: tuple[int, int] | None = None  # all, and those without work
        self._busy: bool | None = None
        self._read_at = 0
        self.pause: float | None = None
        times.hold()

    def close(self) -> None:
        """Release the times that all readers share."""
        self._times.release()

    def choose(self, wanted: frozenset[SignalId]) -> bool:
        """Return other signals, without forgetting the last moments."""
        self.signals = tuple(name for name in _SIGNALS if name in wanted)
        self._places = tuple(place for place, name in enumerate(_SIGNALS) if name in wanted)
        return True

    def look(self) -> None:
        """Time one moment between two ticks."""
        moment = _timed(self._host, self._cpu, self._chains)
        if moment.hertz is not None:
            self._between.append(moment.hertz)

    def read(self) -> Sequence[Raw]:
        now = self._host.now_ns()
        since, self._read_at = now - self._read_at, now
        verdict, moments, self._between = self._idle(now), self._between, []
        if verdict is None:
            often = self._source.looks_often_at(self._cpu)
            verdict = MomentVerdict.KNOWN
            for _ in range(KEPT if often and not self._host.pins else 1):
                moment = _timed(self._host, self._cpu, self._chains)
                if moment.hertz is not None:
                    moments.append(moment.hertz)
                elif not moments:
                    verdict = moment.verdict
            self.pause = since / KEPT / 1e9 if often and self._host.pins else None
        else:
            moments, self.pause = [], None
        values: Sequence[Raw]
        if moments:
            self._last.extend(moments)
            if len(self._last) == KEPT:
                self._spread_ppm = max(1, round(_deviation(self._last) / _PPM))
            values = (round(math.fsum(moments) / len(moments)), MomentVerdict.KNOWN.value, len(moments),
                      self._spread_ppm, round(moment_error(len(moments), self._spread_ppm * _PPM) / _PPM))
        else:
            nothing = 0 if verdict in _WITHOUT_CLOCK else None
            values = nothing, verdict.value, 0, self._spread_ppm, nothing
        return [values[place] for place in self._places]

    def _idle(self, now: int) -> MomentVerdict | None:
        """Why the CPU is not timed in this tick; None if it is."""
        before, self._ticks = self._ticks, times_in(self._times.at(now), self._row)
        if self._ticks is None:
            return MomentVerdict.UNREAD
        if before is None:
            self._busy = None
        elif (passed := self._ticks[0] - before[0]) > 0:  # a tick of the kernel's is 10 ms; until the next one the
            self._busy = 1 - (self._ticks[1] - before[1]) / passed >= _BUSY  # last share holds
        if self._busy is None:
            return MomentVerdict.FIRST
        return None if self._busy else MomentVerdict.IDLE


class CoreClock(PerCpuSource):
    """The `Source` of clocks at moments."""

    id = "core-clock"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._times: _CpuTimes | None = None
        self._often: Collection[int] | None = ()

    def look_often(self, cpus: Collection[int] | None) -> None:
        """Time ten moments an interval on these CPUs from the next tick on, and one on the others; None: on all."""
        self._often = cpus

    def own(self) -> CoreClock:
        """Return a source that another session may focus elsewhere."""
        return CoreClock()

    def looks_often_at(self, cpu: int) -> bool:
        """Whether ten moments an interval are timed on a CPU."""
        often = self._often
        return often is None or cpu in often

    def probe(self, machine: Machine) -> Probe:
        """Execute the chains once, on the CPU of the thread."""
        why = _why_not(machine)
        return Probe(_SIGNALS if why is None else dict.fromkeys(_SIGNALS, why))

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> Reader:
        """Make a reader for the worker's thread, which is pinned to the CPU."""
        if not isinstance(machine.host, ChainHost):
            raise HostError(errno.ENOSYS, _WHAT)
        with self._lock:
            times = self._times
            if times is None or times.host is not machine.host:
                times = self._times = _CpuTimes(machine.host, max(machine.topology.cpus))
        return _MomentReader(self, times, cpu, wanted, CHAINS[machine.model.architecture])

    def descriptors(self, wanted: frozenset[SignalId], readers: int) -> int:
        """One for all readers."""
        return 1 if wanted and readers else 0


def _why_not(machine: Machine) -> Unavailable | None:
    """Why no clock can be timed on a machine; None if one can."""
    host, chains = machine.host, CHAINS.get(machine.model.architecture)
    if chains is None or chains.flag not in machine.model.flags:
        return Unavailable(Reason.NO_HARDWARE, f"{_WHAT}: none are known for this processor, or it has no CRC32C")
    if host.kind is HostKind.RECORDED:
        return Unavailable(Reason.RECORDED, f"{_WHAT}: nothing can be executed on a copy of a machine's files")
    if not isinstance(host, ChainHost):
        return Unavailable(Reason.NO_HARDWARE, f"{_WHAT}: nothing is executed on a machine elsewhere")
    if host.kind is HostKind.REAL and not host.pins:
        return unpinned(machine, _WHAT)
    if machine.topology.cpus[0] not in read_cpu_times(host):
        return Unavailable(Reason.FAILED, f"{_WHAT}: /proc/stat does not tell which CPUs are busy, and idle ones would "
                                          "be woken")
    try:
        moment = _timed(host, None, chains)
    except HostError as error:
        return refused(error)
    product, checksum = moment.ratios
    if moment.verdict is MomentVerdict.EMULATED:
        return Unavailable(Reason.VIRTUALISED, f"{_WHAT}: an emulator runs them: multiplications take {product:.1f} "
                                               f"times as long as exclusive ors, and CRC32C {checksum:.0f} times")
    if moment.verdict is MomentVerdict.UNKNOWN_CORE:
        return Unavailable(Reason.UNKNOWN_MODEL, f"{_WHAT}: no core is known whose multiplications take {product:.0f} "
                                                 f"cycles and whose CRC32C takes {checksum:.0f}")
    return None
