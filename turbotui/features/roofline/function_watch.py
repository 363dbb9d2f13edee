"""Samples the functions of CPUs or of a thread while a window shows them, on a thread of its own."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.roofline.function_points import Functions, SampledEvent, function_points, sampled_events
from turbotui.machine.core_metrics import core_types_of, vector_bits
from turbotui.machine.elf_symbols import FunctionTable
from turbotui.machine.host import ForwardedHost, Host, HostError, HostKind
from turbotui.machine.ip_records import CodeFile
from turbotui.machine.ip_sampling import CPU_CLOCK, DRAIN, IpSampler, SampledCode
from turbotui.machine.machine import Machine
from turbotui.machine.perf_errors import circumstances, explain_perf
from turbotui.machine.small_files import text_of
from turbotui.quantities.roofline import Sizing
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.threads import NamedThread
from turbotui.untrusted import one_line

LONGEST: Final = 10.0
"""The seconds of one sampling, enough for shares within a percent; it ends by itself."""
_EVERY: Final = 1.0  # seconds between two published tables
_TASKS: Final = 6
_ENDED: Final = "(ended)"


@dataclass(frozen=True, slots=True)
class SampledFunctions:
    """The result of a sampling so far."""

    seconds: float = 0.0  # the duration so far
    cost: float = 0.0  # CPU seconds of the sampling thread: emptying rings, reading symbol tables
    over: bool = False  # whether the sampling has ended
    functions: Functions = Functions()  # the functions with their shares
    tasks: tuple[tuple[str, float], ...] = ()  # processes with their share of the timed samples, the busiest first
    why: Unavailable | None = None  # why nothing is sampled; None if something is
    uncounted: Unavailable | None = None  # why operations and bytes are not sampled; None if they are


def why_not_sampled(host: Host) -> Unavailable | None:
    """Return why functions cannot be sampled on a kind of machine; None if the kernel decides."""
    if host.kind is HostKind.REAL:
        return None if not isinstance(host, ForwardedHost) else Unavailable(
            Reason.NOT_READ, f"{host.read_by}, which takes no samples of functions", "run turbotui on it")
    word = "a simulated machine runs no code" if host.kind is HostKind.SIMULATED else "a recording has no samples"
    return Unavailable(Reason.NOT_READ, f"{word}: functions are sampled on a real machine, as it runs")


class FunctionWatch:
    """Samples from `start` to `stop`, or for `LONGEST`.

    Args:
        publish: called on the watch's thread about once a second, and at the end.
        uncounted: why the events of operations and bytes are not sampled; None if they are.
    """

    def __init__(self, machine: Machine, code: SampledCode, sizing: Sizing,
                 publish: Callable[[SampledFunctions], None], uncounted: Unavailable | None = None, *,
                 longest: float = LONGEST) -> None:
        self._machine = machine
        self._code = code
        self._sizing = sizing
        self._publish = publish
        self._uncounted = uncounted
        self._longest = longest
        self._stop = threading.Event()
        self._names: dict[int, str] = {}
        self._thread = NamedThread(target=self._run, name="functions", daemon=True)

    def start(self) -> None:
        """Begin to sample."""
        self._thread.start()

    def stop(self) -> None:
        """End without waiting; nothing is published any more."""
        self._stop.set()

    def wait(self, seconds: float) -> bool:
        """Wait for the end, and tell whether it came."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        if (why := why_not_sampled(self._machine.host)) is not None:
            self._publish(SampledFunctions(over=True, why=why))
            return
        events: tuple[SampledEvent, ...] = ()
        if self._uncounted is None:
            events = sampled_events([core_type
                                     for core_type in core_types_of(self._machine) if core_type.definition.flops])
        try:
            sampler = IpSampler(self._machine.host, self._code, [event.sampled for event in events])
        except HostError as error:
            refused = explain_perf(error, "samples of instruction pointers", circumstances(self._machine),
                                   CPU_CLOCK.type)
            self._publish(SampledFunctions(over=True, why=refused))
            return
        try:
            self._sample(sampler, events)
        finally:
            sampler.stop()

    def _sample(self, sampler: IpSampler, events: Sequence[SampledEvent]) -> None:
        tables: dict[CodeFile, FunctionTable] = {}
        began = published = time.monotonic()
        used = time.thread_time()
        how = Sizing(self._sizing.model, self._sizing.given, vector_bits(self._machine.host))
        over = False
        while not over:
            if self._stop.wait(DRAIN):
                return
            sampler.drain()
            now = time.monotonic()
            over = now - began >= self._longest
            if over or now - published >= _EVERY:
                published = now
                # another inode means another file: in a container, or replaced since it was mapped
                functions = function_points(sampler, events, how, 0.0, tables)
                self._publish(SampledFunctions(now - began, time.thread_time() - used, over, functions,
                                               self._tasks(sampler), uncounted=self._uncounted))

    def _tasks(self, sampler: IpSampler) -> tuple[tuple[str, float], ...]:
        by_time: Counter[int] = Counter()
        for (identifier, pid), number in sampler.spaces.tasks.items():
            if sampler.keys.get(identifier) == -1:
                by_time[pid] += number
        total = by_time.total()
        return tuple((f"{self._name(pid)} {pid}", number / total) for pid, number in by_time.most_common(_TASKS))

    def _name(self, pid: int) -> str:
        if pid not in self._names:
            self._names[pid] = one_line(text_of(self._machine.host, f"/proc/{pid}/comm")) or _ENDED
        return self._names[pid]
