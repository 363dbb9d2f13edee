"""A banner tells that the numbers of the CPUs are a container's."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

from prochost import ProcHost, machine_of

from turbotui.app.sessions import WatchedSession, has_banner
from turbotui.machine.host import HostKind


def test_a_container_with_numbers_of_its_own_has_a_banner_and_a_plain_machine_has_none() -> None:
    machine = replace(machine_of({})[1], host=ProcHost({}, kind=HostKind.REAL))
    contained = replace(machine, privileges=replace(machine.privileges, renumbered=True))
    shown = [has_banner(cast("WatchedSession", SimpleNamespace(machine=item, collector=None)))
             for item in (machine, contained)]
    assert shown == [False, True]
