"""Measures the CPU time of spies at short intervals: eight events on two CPUs every 50 ms (target: 2 % of one CPU)."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.quantities.spies import SpyPlan, typed_spy
from turbotui.sampling.frame import Frame
from turbotui.sampling.session import Session
from turbotui.sources import SOURCES

INTERVAL = 0.05
_EVENTS = "context-switches,page-faults,minor-faults,major-faults,cpu-migrations,task-clock,msr/tsc/"
_REFERENCE = "cpu-clock"  # a core PMU's events cost the same to read: one group, one system call
_HOLD = 0.5  # seconds, as `turbotui spy` holds frames back
_WARM = 1.0  # seconds until every counter is open and nothing is done for the first time


@dataclass(frozen=True, slots=True)
class SpyCost:
    """The cost of spying.

    Attributes:
        cpus: spied on.
        events: counted on each.
        samples: taken.
        percent: of one CPU, by all threads of this process.
        microseconds: of CPU time a sample.
        span: median of ms from the first read's start to the last one's end.
        reads: group reads a sample.
    """

    cpus: int
    events: int
    samples: int
    percent: float
    microseconds: float
    span: float
    reads: float


def spy_cost(seconds: float) -> SpyCost:
    """Spy on the first two CPUs of this machine for some seconds."""
    host = LinuxHost()
    cpus = read_machine(host).topology.cpus[:2]
    machine = read_machine(host, frozenset(cpus))
    session = Session(machine, SOURCES, INTERVAL, host, frozenset(cpus))
    session.spy(SpyPlan((typed_spy("all", _EVENTS),), _REFERENCE))
    spans: list[float] = []
    reads: list[float] = []

    def take(frame: Frame) -> None:
        spans.append(frame.newer.span_ns / 1e6)
        reads.append(session.own_cost().reads)

    ended = threading.Event()
    session.start(take, on_end=ended.set, hold=_HOLD)
    ended.wait(_WARM)
    spans.clear()
    reads.clear()
    began, used = time.monotonic(), time.process_time()
    ended.wait(seconds)
    used, lasted = time.process_time() - used, time.monotonic() - began
    samples = max(1, len(spans))
    spans.sort()
    events = sum(1 for column in session.spied if column.id not in {"Samples", "Sets"})
    session.stop()
    return SpyCost(len(cpus), events, samples, 100.0 * used / lasted, 1e6 * used / samples,
                   spans[len(spans) // 2] if spans else 0.0, sum(reads) / samples)
