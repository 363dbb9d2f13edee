"""What a reader can do beside reading is what `isinstance` finds, which takes longer."""

from __future__ import annotations

import contextlib

import pytest
from smallmachines import small_host, small_shapes

from turbotui.machine.host import HostError
from turbotui.machine.machine import read_machine
from turbotui.quantities.signals import Signal
from turbotui.sampling.held_readers import has_role
from turbotui.simulated import ManualClock
from turbotui.sources import SOURCES
from turbotui.sources.source import Adjustable, CpuGone, Incomplete, Momentary, Rotating

ROLES: tuple[type, ...] = (Adjustable, Incomplete, Momentary, Rotating)


@pytest.mark.parametrize("name", ["laptop-old", "sapphire-2s", "grace-2s"])
def test_every_reader_has_the_roles_of_its_protocols(name: str) -> None:
    assert name in small_shapes()
    machine = read_machine(small_host(name, ManualClock()))
    seen: set[type] = set()
    for source in SOURCES:
        wanted = frozenset(key for key, signal in source.probe(machine).signals.items() if isinstance(signal, Signal))
        if not wanted or source.shared:
            continue
        with contextlib.suppress(HostError, CpuGone), contextlib.closing(source.open(machine, 0, wanted)) as reader:
            seen |= {role for role in ROLES if has_role(reader, role)}
            assert {role for role in ROLES if isinstance(reader, role)} == {
                role for role in ROLES if has_role(reader, role)}, type(reader)
    assert Incomplete in seen
