"""Readings in two steps: captured at their ticks, decoded later, in order and without loss."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from moved_clock import frames_of
from scripted import FakeHost, FakeReader, FakeSource, column, counter, machine_of

from turbotui.machine.machine import Machine
from turbotui.quantities.scope import cpu_row
from turbotui.quantities.signals import Raw, SignalId
from turbotui.sampling.capabilities import probe_sources
from turbotui.sampling.frame import Frame
from turbotui.sampling.sampler import Sampler
from turbotui.sources.source import Capture, CpuGone, Reader

X = column("x", ("x",))


class TwoSteps(FakeReader):
    """Counts its captures; each settles to what was captured then."""

    def __init__(self, source: Deferrable, cpu: int, wanted: frozenset[SignalId]) -> None:
        super().__init__(source, cpu, wanted)
        self.kept = source
        self.count = 0

    @property
    def deferrable(self) -> bool:
        return self.kept.deferrable

    def read(self) -> Sequence[Raw]:
        raise AssertionError("what has two steps is read in two steps")

    def capture(self) -> Capture:
        host, seen = self.kept.host, self.kept
        with seen.lock:
            host.now += 1_000  # a read of a microsecond
            seen.done.append((self.cpu, "capture"))
            seen.captures[self.cpu] += 1
            if self.cpu in seen.leaves and seen.captures[self.cpu] == seen.leaves[self.cpu]:
                raise CpuGone("captured")
        self.count += 1
        return [self.count.to_bytes(8, "little")]

    def decode(self, captured: Capture, started: int, ended: int) -> Sequence[Raw]:
        assert started < ended
        assert captured[0] is not None
        count = int.from_bytes(captured[0], "little")
        with self.kept.lock:
            self.kept.done.append((self.cpu, "decode"))
            if self.kept.spoilt.get(self.cpu) == count:
                del self.kept.spoilt[self.cpu]
                raise CpuGone("decoded")
        return [count for _name in self.signals]

    def rotate(self, *, more: bool = False) -> None:
        with self.kept.lock:
            self.kept.done.append((self.cpu, "stay" if more else "rotate"))


@dataclass
class Deferrable(FakeSource):
    """Readers in two steps.

    Attributes:
        deferrable: whether their captures may lie.
        leaves: CPU -> number of the capture that finds it gone.
        spoilt: CPU -> the count that turns out to be of a CPU that was gone.
        done: CPU and what its reader did, in order.
    """

    host: FakeHost = field(default_factory=FakeHost)
    lock: threading.Lock = field(default_factory=threading.Lock)
    deferrable: bool = True
    leaves: dict[int, int] = field(default_factory=dict)
    spoilt: dict[int, int] = field(default_factory=dict)
    captures: Counter[int] = field(default_factory=Counter)
    done: list[tuple[int, str]] = field(default_factory=list)

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> Reader:
        self.opened.append((cpu, wanted))
        return TwoSteps(self, cpu, wanted)

    def of(self, cpu: int) -> list[str]:
        return [what for whose, what in self.done if whose == cpu]


def sampled(source: Deferrable, count: int) -> list[Frame]:
    machine = machine_of(source.host)
    sampler = Sampler(machine, probe_sources(machine, [source]), frozenset("x"), 0.05, clock=source.host.clock)
    sampler.hold = 0.2
    return frames_of(sampler, count)


def deferrable(**how: object) -> Deferrable:
    return Deferrable([counter("x")], lambda _cpu, _name: 0, **how)  # type: ignore[arg-type]  # fields by name


def test_captures_wait_until_the_last_tick_and_are_decoded_in_order() -> None:
    source = deferrable()
    frames = sampled(source, 8)
    assert [frame.cell(X, cpu_row(1)) for frame in frames[1:]] == [1.0] * 8
    first = ["capture", "decode", "rotate"]
    four = ["capture"] * 4 + ["decode", "stay"] * 3 + ["decode", "rotate"]
    assert source.of(1) == first + 2 * four


def test_a_reader_that_changes_what_it_counts_is_decoded_at_every_tick() -> None:
    source = deferrable(deferrable=False)
    frames = sampled(source, 8)
    assert [frame.cell(X, cpu_row(2)) for frame in frames[1:]] == [1.0] * 8
    assert source.of(2) == 9 * ["capture", "decode", "rotate"]


@pytest.mark.parametrize("goes", [2, 3, 5])
def test_a_cpu_that_goes_between_ticks_takes_none_of_its_earlier_counts_along(goes: int) -> None:
    source = deferrable(leaves={3: goes})
    frames = sampled(source, 8)
    assert [frame.seq for frame in frames] == list(range(9))
    gone = [frame.seq for frame in frames if frame.newer.failed]
    assert gone == [goes - 1]
    known = [frame.cell(X, cpu_row(3)) for frame in frames[1:]]
    assert known[:goes - 2] == [1.0] * (goes - 2)
    assert known[-1] == 1.0, "it was there again, and counts on"
    assert [frame.cell(X, cpu_row(0)) for frame in frames[1:]] == [1.0] * 8
    assert source.closed.count(3) == 2
    assert source.closed.count(0) == 1


def test_what_turns_out_to_be_of_a_cpu_that_was_gone_ends_its_reader_once() -> None:
    source = deferrable(spoilt={3: 3})
    frames = sampled(source, 8)
    assert [frame.seq for frame in frames if frame.newer.failed] == [2, 3, 4]
    assert [frame.seq for frame in frames[1:] if frame.cell(X, cpu_row(3)) is not None] == [1, 6, 7, 8]
    assert source.closed.count(3) == 2
    assert len([item for item in source.opened if item[0] == 3]) == 2
