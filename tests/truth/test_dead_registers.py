"""Machines one of whose CPUs' registers cannot be read: what stands bare in a coarser row is the whole row's number."""

from __future__ import annotations

import errno
import functools
from collections.abc import Sequence

import pytest
from knownmachines import known_machine
from watched_machines import frames_of_machine

from turbotui.machine.host import HostError, msr_device
from turbotui.machine.machine import Machine
from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.columns import CounterColumn, Value
from turbotui.quantities.scope import RowId, Scope
from turbotui.sampling.frame import Frame
from turbotui.sampling.selection import available_columns
from turbotui.simulated import SimulatedHost

SHAPES = ("sapphire-2s", "laptop", "turin-2s")
DEAD = 1
COARSE = (Scope.CORE, Scope.MODULE, Scope.L3, Scope.DIE, Scope.PACKAGE, Scope.SYSTEM)


class Registers:
    """Takes a CPU's registers and counters away from a host."""

    def __init__(self) -> None:
        self.dead = False
        self._mine: set[int] = set()

    def of(self, host: SimulatedHost, cpus: frozenset[int] | None) -> Machine:
        machine = known_machine(host, cpus)
        opened, counted, read, count = host.open_file, host.perf_event_open, host.read_at, host.read_counter

        def noted(descriptor: int, cpu: int) -> int:
            (self._mine.add if cpu == DEAD else self._mine.discard)(descriptor)
            return descriptor

        def alive(descriptor: int) -> None:
            if self.dead and descriptor in self._mine:
                raise HostError(errno.EIO, f"CPU {DEAD}")

        def read_at(descriptor: int, size: int, offset: int = 0) -> bytes:
            alive(descriptor)
            return read(descriptor, size, offset)

        def read_counter(descriptor: int, size: int) -> bytes:
            alive(descriptor)
            return count(descriptor, size)

        host.open_file = lambda path: noted(  # type: ignore[method-assign]
            opened(path), DEAD if path == msr_device(DEAD) else -1)
        host.perf_event_open = lambda attr, pid, cpu, group: noted(  # type: ignore[method-assign]
            counted(attr, pid, cpu, group), cpu)
        host.read_at, host.read_counter = read_at, read_counter  # type: ignore[method-assign]
        return machine


@functools.cache
def frames(shape: str, dead_from: int | None) -> Sequence[Frame]:
    """Three intervals of a machine whose CPU 1 cannot be read from a tick on; None: never."""
    registers = Registers()
    registers.dead = dead_from == 0

    def between(_host: SimulatedHost, number: int) -> None:
        registers.dead = dead_from is not None and number >= dead_from

    return frames_of_machine(shape, 3, small=True, between=between, facts=registers.of)[1][1:]


def columns_of(frame: Frame) -> Sequence[CounterColumn]:
    columns = available_columns(catalog_for(frame.capabilities.signals), frame.capabilities, frame.topology)
    return [column for column in columns if not column.identity]


def coarse_cells(frame: Frame, column: CounterColumn) -> dict[RowId, Value]:
    """What stands bare in the rows that are no CPUs."""
    rows = [row for scope in COARSE if scope.rank >= column.scope.rank for row in frame.rows(scope)]
    return {row: frame.bare_cells(column, (row,))[0] for row in rows}


@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_of_a_machine_that_is_read_whole_is_partial(shape: str) -> None:
    """A core without a counter, as an efficiency core has fewer, is no lost part of a row."""
    for frame in frames(shape, None):
        for column in columns_of(frame):
            assert [row for scope in COARSE for row in frame.rows(scope) if frame.partial(column, row)] == [], column.id


@pytest.mark.parametrize("dead_from", [0, 2])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_bare_number_is_of_the_whole_row_or_unknown(shape: str, dead_from: int) -> None:
    hidden: set[str] = set()
    for at, (whole, lacking) in enumerate(zip(frames(shape, None), frames(shape, dead_from), strict=True), 1):
        for column in columns_of(whole):
            wanted = coarse_cells(whole, column)
            for row, value in coarse_cells(lacking, column).items():
                if value is None and wanted[row] is not None:
                    hidden.add(column.id)
                    assert at >= dead_from, column.id
                    why = lacking.why(column, row) or lacking.lacking(column, row)
                    assert why is not None
                    assert why.detail, column.id
                else:
                    assert value == (wanted[row] if isinstance(value, str) or value is None else
                                     pytest.approx(wanted[row], rel=1e-6, abs=1e-6)), (column.id, row)
    assert {"Busy%", "Bzy_MHz", "Avg_MHz"} <= hidden
    assert "PkgWatt" not in hidden  # CPU 0 reads it
