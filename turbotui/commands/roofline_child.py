"""Command mode of `turbotui roofline`: the recipe's events over a command and all that it starts."""

from __future__ import annotations

import contextlib
import errno
import select
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from turbotui.analysis.roofline.event_sets import Interval
from turbotui.analysis.roofline.live import Spot
from turbotui.analysis.roofline.turns import joined_intervals
from turbotui.errors import MachineError
from turbotui.machine.host import Host, HostError, PerfAttr
from turbotui.machine.launching import Held
from turbotui.machine.machine import Machine
from turbotui.machine.perf_errors import circumstances, explain_perf
from turbotui.machine.roofline_banks import Bank, vector_bits
from turbotui.machine.signal_guard import guarded_signals
from turbotui.machine.tasks.counting import CommandCounters, Count, difference, estimate
from turbotui.quantities.recipe_sets import plan_sets
from turbotui.quantities.recipes import Event
from turbotui.quantities.roofline import Sizing, counted
from turbotui.quantities.scope import SYSTEM_ROW
from turbotui.quantities.speeds import Speed, sum_speeds

_TASK_CLOCK: Final = PerfAttr(1, 1)  # PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK: ns on any CPU
_HYBRID_SHIFT: Final = 32  # PERF_PMU_TYPE_SHIFT
_INSTRUCTIONS: Final = 1  # PERF_COUNT_HW_INSTRUCTIONS
TURN: Final = 0.05
"""Seconds in which a set counts before the next one does."""
_FIRST: Final = 0.005
"""The same until each has counted once: short commands are then seen by all."""


@dataclass(frozen=True, slots=True)
class Followed:
    """A command that has ended.

    Attributes:
        status: its exit status, or 128 and the number of the signal that ended it.
        spots: one for each interval.
        busy: CPUs that it kept busy, on average.
        user_only: whether the kernel's part was left out.
        sets: how many sets of events took turns at most; 1 where none did.
        interrupted: whether SIGINT came before its end.
    """

    status: int
    spots: tuple[Spot, ...]
    busy: float
    user_only: bool
    sets: int = 1
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class _Plan:
    """Sets in the order of their groups.

    Where sets take turns each begins with the instructions that they are joined by. Where none does, on machines with
    several kinds of core, the first set of each kind counts instructions, which have a counter of their own: it runs
    whenever the command is on such a core.
    """

    banks: tuple[Bank, ...]
    sets: tuple[tuple[tuple[Event, ...], ...], ...]

    @property
    def most(self) -> int:
        """Sets of the kind of core that has most."""
        return max(len(sets) for sets in self.sets)

    @property
    def firsts(self) -> tuple[int, ...]:
        """The group of each kind's first set, where sets take turns."""
        found = [1]
        for sets in self.sets[:-1]:
            found.append(found[-1] + len(sets))
        return tuple(found)

    @property
    def later(self) -> frozenset[int]:
        """Groups that have to wait for their turn."""
        if self.most == 1:
            return frozenset()
        return frozenset(first + at for first, sets in zip(self.firsts, self.sets, strict=True)
                         for at in range(1, len(sets)))

    def attrs(self) -> list[list[PerfAttr]]:
        found: list[list[PerfAttr]] = [[_TASK_CLOCK]]
        if self.most > 1:
            for bank, sets in zip(self.banks, self.sets, strict=True):
                found += [[bank.attr(event) for event in (_reference(bank), *events)] for events in sets]
            return found
        for bank, sets in zip(self.banks, self.sets, strict=True):
            if len(self.banks) > 1:
                found.append([PerfAttr(0, _INSTRUCTIONS | bank.pmu.type << _HYBRID_SHIFT)])
            found += [[bank.attr(event) for event in events] for events in sets]
        return found


def _reference(bank: Bank) -> Event:
    return Event("instructions", bank.recipe.instructions, "retired instructions")


def follow(machine: Machine, banks: tuple[Bank, ...], words: Sequence[str], interval: float, *, sizing: Sizing,
           ready: Callable[[], None] = lambda: None) -> Followed:
    """Run a command with its counters open from its first instruction.

    Args:
        machine: this one.
        banks: kinds of core, each with a recipe that counts operations.
        words: the command.
        interval: seconds between two readings.
        sizing: how accesses become bytes.
        ready: called before the command's first instruction.

    Raises:
        MachineError: the events of the recipe cannot be counted for this user; the command was not run.
        TurbotuiError: the command cannot be run.
    """
    held = Held(words)
    try:
        counters, plan = _open(machine, banks, held.pid)
        ready()
    except BaseException:
        held.give_up()
        raise
    try:
        if plan.most > 1:
            return _watch_turns(machine.host, counters, plan, held, words[0], interval=interval, sizing=sizing)
        return _watch(machine.host, counters, plan, held, words[0], interval=interval, sizing=sizing)
    finally:
        counters.close()


def _open(machine: Machine, banks: tuple[Bank, ...], pid: int) -> tuple[CommandCounters, _Plan]:
    """All events, else those without which there is no point."""
    first: HostError | None = None
    for optional in (True, False):
        absent = frozenset() if optional else frozenset(key for bank in banks for key in bank.recipe.optional)
        plan = _Plan(banks, tuple(plan_sets(bank.recipe, absent=absent) for bank in banks))
        try:
            return CommandCounters(machine.host, plan.attrs(), pid, plan.later), plan
        except HostError as error:
            first = first or error
            if error.errno not in (errno.ENOENT, errno.EINVAL, errno.EOPNOTSUPP):
                break
    names = ", ".join(bank.recipe.name for bank in banks)
    why = explain_perf(first or HostError(errno.EINVAL, "perf_event_open"), f"the floating-point events of {names}",
                       circumstances(machine), banks[0].pmu.type)
    raise MachineError(f"the command was not run: {why.sentence()}")


def _watch(host: Host, counters: CommandCounters, plan: _Plan, held: Held, name: str, *, interval: float,
           sizing: Sizing) -> Followed:
    how = Sizing(sizing.model, sizing.given, vector_bits(host))
    poll = select.poll()
    poll.register(held.descriptor, select.POLLIN)
    older = counters.read()
    held.go()
    began = before = time.monotonic()
    spots: list[Spot] = []
    status: int | None = None
    with _patient(held) as interrupts:
        while status is None:
            due = began + (len(spots) + 1) * interval
            poll.poll(max(0.0, due - time.monotonic()) * 1e3)
            status = held.status()
            now, newer = time.monotonic(), counters.read()
            if status is None and now < due:
                continue
            speed, estimated = speed_of(plan.banks, plan.sets, newer[1:], older[1:], now - before, sizing=how)
            if speed is not None and now > before:
                spots.append(Spot(SYSTEM_ROW, name, speed.flops / 1e9,
                                  None if speed.bytes is None else speed.bytes / 1e9, speed.intensity, speed.dominant,
                                  speed.width, now - began, now - before, estimated, single=speed.single,
                                  half=speed.half))
            older, before = newer, now
    busy = older[0][0].value / 1e9 / max(1e-9, before - began)
    return Followed(status, tuple(spots), busy, counters.user_only, interrupted=bool(interrupts))


class _Turns:
    """The sets of one kind of core, which take turns.

    Args:
        counters: all that are open.
        first: the group of its first set.
        sets: its sets.
        scaled: whether counts are brought to all the time that a set was on, where somebody else had its counters. On
            machines with several kinds of core a counter also stands while the command is on another kind.
    """

    def __init__(self, counters: CommandCounters, first: int, sets: Sequence[Sequence[Event]], *, scaled: bool) -> None:
        self._counters = counters
        self._first = first
        self._sets = sets
        self._scaled = scaled
        self._at = 0
        self._seen = [counters.read_set(first + at) for at in range(len(sets))]
        self.taken: list[tuple[int, Interval]] = []

    def take(self, number: int, seconds: float) -> None:
        """Note what the set that is on has counted, and let the next one count."""
        at = self._at
        newer = self._counters.read_set(self._first + at)
        changes = [difference(new, old) for new, old in zip(newer, self._seen[at], strict=True)]
        # What is counted between this reading and the change stays for the set's next turn, with its instructions.
        self._seen[at] = newer
        values = [estimate(change) if self._scaled else float(change.value) for change in changes]
        counts = {event.key: value for event, value in zip(self._sets[at], values[1:], strict=True)
                  if value is not None}
        self.taken.append((number, Interval(seconds, values[0] or 0.0, counts)))
        if len(self._sets) > 1:
            self._at = (at + 1) % len(self._sets)
            self._counters.turn(self._first + at, self._first + self._at)


def _watch_turns(host: Host, counters: CommandCounters, plan: _Plan, held: Held, name: str, *, interval: float,
                 sizing: Sizing) -> Followed:
    """As `_watch`, for sets that do not fit together: they take turns, and are joined by instructions at the end."""
    how = Sizing(sizing.model, sizing.given, vector_bits(host))
    poll = select.poll()
    poll.register(held.descriptor, select.POLLIN)
    kinds = [_Turns(counters, first, sets, scaled=len(plan.banks) == 1)
             for first, sets in zip(plan.firsts, plan.sets, strict=True)]
    held.go()
    began = before = time.monotonic()
    number = 0  # of the interval; a turn belongs to the one that it begins in
    turns = 0
    status: int | None = None
    with _patient(held) as interrupts:
        while status is None:
            due = min(before + (_FIRST if turns < plan.most else TURN), began + (number + 1) * interval)
            poll.poll(max(0.0, due - time.monotonic()) * 1e3)
            status = held.status()
            now = time.monotonic()
            if status is None and now < due:
                continue
            for kind in kinds:
                kind.take(number, now - before)
            before, turns = now, turns + 1
            number = int((before - began) / interval + 1e-9)
    busy = counters.read_set(0)[0].value / 1e9 / max(1e-9, before - began)
    spots = _joined_spots(plan.banks, [kind.taken for kind in kinds], name, sizing=how)
    return Followed(status, spots, busy, counters.user_only, plan.most, bool(interrupts))


def _joined_spots(banks: Sequence[Bank], taken: Sequence[Sequence[tuple[int, Interval]]], name: str, *,
                  sizing: Sizing) -> tuple[Spot, ...]:
    """A spot for each interval whose operations are known, of all kinds of core together."""
    each = [dict(joined_intervals(turns)) for turns in taken]
    spots: list[Spot] = []
    ended = 0.0
    for number, first in each[0].items():
        seconds = first.seconds
        ended += seconds
        speeds = []
        for bank, intervals in zip(banks, each, strict=True):
            one = intervals[number]
            speeds.append(_speed(bank, {key: count / seconds for key, count in one.counts.items()}, sizing))
        speed = sum_speeds(speeds)
        if speed is not None:
            spots.append(Spot(SYSTEM_ROW, name, speed.flops / 1e9, None if speed.bytes is None else speed.bytes / 1e9,
                              speed.intensity, speed.dominant, speed.width, ended, seconds,
                              estimated=any(intervals[number].estimated for intervals in each), single=speed.single,
                              half=speed.half))
    return tuple(spots)


def speed_of(banks: Sequence[Bank], sets: Sequence[Sequence[Sequence[Event]]], newer: Sequence[Sequence[Count]],
             older: Sequence[Sequence[Count]], seconds: float, *, sizing: Sizing) -> tuple[Speed | None, bool]:
    """What a command did each second between two readings, over all kinds of core; and whether counters took turns.

    Args:
        banks: kinds of core.
        sets: of each bank.
        newer: groups as read: of each bank its sets, before them one with instructions where there are several banks.
        older: the reading before.
        seconds: between them.
        sizing: how accesses become bytes.
    """
    if seconds <= 0:
        return None, False
    speeds: list[Speed | None] = []
    estimated = False
    at = 0
    for bank, mine in zip(banks, sets, strict=True):
        expected: int | None = None
        if len(banks) > 1:
            # A counter of one kind of core stands while the command is on another: it should have run as long as the
            # instructions of that kind did.
            expected = difference(newer[at][0], older[at][0]).running
            at += 1
        counts: dict[str, float] = {}
        for number, events in enumerate(mine, start=at):
            for event, new, old in zip(events, newer[number], older[number], strict=True):
                change = difference(new, old)
                value = estimate(change, expected)
                estimated |= change.running < (change.enabled if expected is None else expected)
                if value is not None:
                    counts[event.key] = value / seconds
        at += len(mine)
        speeds.append(_speed(bank, counts, sizing))
    return sum_speeds(speeds), estimated


def _speed(bank: Bank, rates: Mapping[str, float], sizing: Sizing) -> Speed | None:
    found = counted(bank.recipe, rates, sizing)
    if found is None:
        return None
    sized = found.flops if found.bytes is not None else 0.0
    return Speed(found.flops, found.bytes, sized, found.dominant, found.width, found.single, found.half)


@contextlib.contextmanager
def _patient(held: Held) -> Iterator[Sequence[int]]:
    """SIGINT and SIGTERM are the command's: it ends, and what was counted is still printed; yields those that came.

    The terminal sends SIGINT to the command itself; SIGTERM comes to this process alone, and is handed on.
    """
    came: list[int] = []

    def terminated(number: int) -> None:
        came.append(number)
        held.send(number)

    with guarded_signals({signal.SIGINT: came.append, signal.SIGTERM: terminated}):
        yield came
