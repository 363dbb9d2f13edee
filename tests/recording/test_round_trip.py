"""A recording gives the same as the live session: every reading bit by bit, every cell, reason and evidence."""

from __future__ import annotations

import functools
from dataclasses import fields
from pathlib import Path

import pytest
from watched_machines import frames_of_machine

from turbotui import recording
from turbotui.machine.host import HostKind
from turbotui.machine.machine import Machine
from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.scope import Scope
from turbotui.recording.recorder import Recorder
from turbotui.sampling.evidence import cell_arithmetic, evidence
from turbotui.sampling.frame import Frame
from turbotui.sampling.snapshot import Snapshot
from turbotui.simulated import SimulatedHost

MACHINES = ("laptop", "laptop-old", "turin-2s", "grace-2s", "guest")
"""Hybrid cores, narrow registers, energy by core, another architecture, next to nothing."""

_SOME = {"turin-2s": frozenset({0, 1, 8, 191, 192, 200, 383}), "grace-2s": frozenset({0, 1, 71, 72, 143})}


def facts_of(snapshot: Snapshot) -> dict[str, object]:
    """Everything that a snapshot says, with types; the columns of mappings as lists."""
    result: dict[str, object] = {field.name: getattr(snapshot, field.name) for field in fields(snapshot)}
    for name in ("values", "stamps", "wraps"):
        result[name] = {
            key: [(type(cell), cell) for cell in column] for key, column in getattr(snapshot, name).items()
        }
    return result


def answers_of(frame: Frame) -> dict[tuple[str, Scope], object]:
    """Return everything that a frame says of every column, in the first and last row of every scope."""
    result: dict[tuple[str, Scope], object] = {}
    for column in catalog_for(frame.capabilities.signals).columns:
        for scope in (Scope.CPU, Scope.CORE, Scope.PACKAGE, Scope.SYSTEM):
            rows = frame.topology.rows(scope)
            result[column.id, scope] = [
                (frame.cell(column, row), frame.why(column, row), frame.estimated(column, row),
                 frame.partial(column, row), frame.disputed(column, row)) for row in (rows[0], rows[-1])
            ]
        row = frame.topology.rows(column.scope)[0]
        result[f"evidence of {column.id}", column.scope] = (cell_arithmetic(frame, column, row), evidence(frame, column,
                                                                                                          row))
    return result


@functools.cache
def recorded(shape: str) -> tuple[Machine, list[Frame]]:
    return frames_of_machine(shape, 2, cpus=_SOME.get(shape))


@pytest.mark.parametrize("shape", MACHINES)
def test_a_recorded_machine_answers_as_it_did(shape: str, tmp_path: Path) -> None:
    machine, live = recorded(shape)
    path = str(tmp_path / "machine.ttj")
    recorder = Recorder(path, machine)
    for frame in live:
        recorder.take(frame)
    recorder.close()
    with recording.read(path) as journal:
        again = list(journal.frames())
        assert journal.check() == ()
        assert journal.machine.host.kind is HostKind.RECORDED
        assert "SIMULATED" in journal.machine.host.name
        assert journal.machine.model == machine.model
        assert journal.machine.platform == machine.platform
        assert journal.machine.topology == machine.topology
    assert len(again) == len(live)
    for ours, theirs in zip(again, live, strict=True):
        assert facts_of(ours.newer) == facts_of(theirs.newer)
        assert (ours.older is None) is (theirs.older is None)
    assert answers_of(again[-1]) == answers_of(live[-1])
    assert answers_of(again[0]) == answers_of(live[0])


def test_cpus_that_leave_and_come_back_in_a_recording_answer_as_they_did(tmp_path: Path) -> None:
    plugged = {2: (1, False), 3: (2, False), 5: (1, True), 6: (2, True)}

    def between(host: SimulatedHost, number: int) -> None:
        if number in plugged:
            host.set_online(plugged[number][0], online=plugged[number][1])

    names = ("Busy%", "Bzy_MHz", "IRQ", "IPC", "Load%", "CPU%c1", "PkgWatt")
    machine, live = frames_of_machine("laptop-old", 8, columns=names, between=between)
    recorder = Recorder(str(tmp_path / "plugged.ttj"), machine)
    for frame in live:
        recorder.take(frame)
    recorder.close()
    with recording.read(str(tmp_path / "plugged.ttj")) as journal:
        again = list(journal.frames())
    assert {len(frame.topology.cpus) for frame in live} == {6, 7, 8}
    for ours, theirs in zip(again, live, strict=True):
        assert facts_of(ours.newer) == facts_of(theirs.newer)
        assert ours.topology.cpus == theirs.topology.cpus
        for name in names:
            columns = [catalog_for(frame.capabilities.signals).by_id[name] for frame in (ours, theirs)]
            for scope in (Scope.CPU, Scope.CORE, Scope.PACKAGE, Scope.SYSTEM):
                cells = [[(frame.cell(column, row), frame.why(column, row), frame.partial(column, row))
                          for row in frame.topology.rows(scope)]
                         for frame, column in zip((ours, theirs), columns, strict=True)]
                assert cells[0] == cells[1], (theirs.seq, name, scope)
