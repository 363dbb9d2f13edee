"""Rows of a made-up kind that come and go, tick by tick: cheap enough for thousands."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from made_frames import frames_of, snapshot

from turbotui.machine.machine import Machine
from turbotui.machine.topology import Topology
from turbotui.quantities.row_kinds import Form, Quantity, RowKind
from turbotui.quantities.signals import Behavior, Reduce
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sampling.frame import Frame
from turbotui.sampling.row_tables import KindDefinition, RowColumn
from turbotui.sampling.row_workers import RowReader
from turbotui.sampling.rows import Columns, Row, RowTick

SECOND = 10**9
NOON = 1_700_000_000 * SECOND
KIND = RowKind("jobs", "jobs", parent="machines", most=512)
QUANTITIES = {quantity.id: quantity for quantity in (
    Quantity("work", "jobs", Unit.COUNT, Behavior.COUNTER, Reduce.SUM, "/proc/jobs/{row}", "a book"),
    Quantity("time", "jobs", Unit.SECOND, Behavior.COUNTER, Reduce.SUM, "/proc/jobs", scale=1e-9, clock="slow"),
    Quantity("heat", "jobs", Unit.CELSIUS, Behavior.GAUGE, Reduce.MAX, "/proc/jobs", form=Form.DOUBLE),
    Quantity("words", "jobs", Unit.TEXT, Behavior.GAUGE, Reduce.SAME, "/proc/jobs", form=Form.TEXT),
    Quantity("on", "jobs", Unit.SECOND, Behavior.COUNTER, Reduce.SUM, "perf", scale=1e-9),
    Quantity("ran", "jobs", Unit.SECOND, Behavior.COUNTER, Reduce.SUM, "perf", scale=1e-9),
    Quantity("cycles", "jobs", Unit.CYCLE, Behavior.COUNTER, Reduce.SUM, "perf", enabled="on", running="ran"),
)}
"""A quantity of each form, on two clocks, one of them multiplexed."""



class Jobs:
    """A source of these rows: each of three jobs does a unit of work a reading."""

    kind = KIND
    quantities: Sequence[Quantity] = tuple(QUANTITIES.values())

    def __init__(self) -> None:
        self.work = 0

    def open(self, machine: Machine) -> RowReader | Unavailable:
        del machine
        return self

    def read(self, into: Columns) -> Unavailable | None:
        self.work += 1
        born = (into.birth(Row(key, 7, "m 0", f"job {key}")) for key in "abc" if not into.rows)
        slots = [*into.rows] or [slot for slot in born if slot is not None]
        for slot in slots:
            into.put(slot, "work", self.work * (slot + 1))
        into.read_at(slots, time.monotonic_ns())
        return None

    def close(self) -> None:
        self.work = 0


DEFINITION = KindDefinition(Jobs(), (
    RowColumn("Work", "", 0, ("work",), lambda row: row.delta("work")),
    RowColumn("Work/s", "/s", 2, ("work",), lambda row: row.rate("work")),
    RowColumn("Time", "s", 3, ("time",), lambda row: row.total("time")),
    RowColumn("Heat", "°C", 1, ("heat",), lambda row: row.value("heat")),
    RowColumn("Words", "", -1, ("words",), lambda row: row.text("words")),
    RowColumn("Cycles", "", 0, ("cycles",), lambda row: row.delta("cycles")),
), sort="Work")
"""A column of each form, one of them of a multiplexed counter."""

REASONS = (Unavailable(Reason.NOT_PERMITTED, "é is not yours", "run as root"), Unavailable(Reason.FAILED, "torn"))


def row_ticks(count: int, chosen: Random, *, most: int = 60, replaced: float = 0.2,
              known: bool = False) -> Iterator[RowTick]:
    """Ticks of one a second in which a share of the rows is replaced, often by one with the same key.

    Every counter of a row is a running sum that begins at 0 with the row. With `known`, no value is absent, and every
    row is known to have begun after the first tick.
    """
    columns = Columns(KIND, QUANTITIES.values())
    sums: dict[int, dict[str, int]] = {}
    serials = dict[str, int]()
    for number in range(1, count + 1):
        started = number * SECOND
        columns.begin(NOON + started, started)
        there = [*columns.rows]
        dying = [slot for slot in there if chosen.random() < replaced]
        for slot in dying:
            columns.death(slot)
        for _ in range(chosen.randint(0, max(1, most - len(there) + len(dying)))):
            key = str(chosen.randrange(2 * most))
            if any(row.key == key for row in columns.rows.values()):
                continue
            serials[key] = serials.get(key, (1 << 63) * (len(serials) % 2)) + 1
            began = number > 1 and (known or len(key) > 1)
            new = columns.birth(Row(key, serials[key], "m 0", f"job {key} é"), began=began)
            if new is not None:
                sums[new] = dict.fromkeys(("work", "time", "on", "ran", "cycles"), 0)
                columns.put(new, "words", chosen.choice(("", "idle", "run\tning é")))
        for slot in (*columns.rows, *dying):
            of_row = sums[slot]
            for name in of_row:
                of_row[name] += chosen.choice((0, 1, 1000, 10**9))
                columns.put(slot, name, of_row[name])
            columns.read_at([slot], started + 1000 + slot)
            if chosen.random() < 0.2:
                columns.read_at([slot], started + 5000, "slow")
            columns.put(slot, "heat", chosen.choice((0.0, -0.0, 41.5, -273.15, 1e300)))
            if not known and chosen.random() < 0.1:
                columns.put(slot, chosen.choice([*QUANTITIES]), chosen.choice(REASONS))
        if number % 3 == 0:
            columns.note(*(["both"] * (number % 2)), f"since {number // 6}")
        elif number % 7 == 0:
            columns.note()
        yield columns.tick()


def contents(tick: RowTick) -> tuple[object, ...]:
    """Everything in a tick, in a comparable form: -0.0 and 0.0 differ."""
    return (
        tick.wall_ns, tick.started_ns, [*tick.roster.rows.items()], tick.roster.capacity,
        {name: [*map(repr, column)] for name, column in tick.values.items()},
        {clock: [*column] for clock, column in tick.stamps.items()},
        {name: dict(absent) for name, absent in tick.absent.items() if absent}, tick.died, tick.omitted,
        tick.notes,
    )


def frames_with_rows(ticks: Sequence[RowTick], topology: Topology, *, first: int = 1) -> list[Frame]:
    """Frames of CPUs, one a second, with the rows of a tick each."""
    return frames_of([replace(snapshot(number, topology), rows={tick.kind.id: tick})
                      for number, tick in enumerate(ticks, first)])
