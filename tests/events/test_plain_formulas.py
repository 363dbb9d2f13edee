"""Formulas as people type them become formulas of the grammar, and everything else stays as it is."""

from __future__ import annotations

import pytest

from turbotui.events.plain_formulas import as_formula
from turbotui.quantities.event_columns import parse_requests


@pytest.mark.parametrize(("typed", "written"), [
    ("cache-misses/instructions", "cache-misses_per_ins='cache-misses'/instructions"),
    ("instructions/cycles", "instructions_per_cyc=instructions/cycles"),
    ("1000*cache-misses/instructions", "cache-misses_instructions=1000*'cache-misses'/instructions"),
    ("LLC-load-misses/LLC-loads", "LLC-load-misses_per_LLC-loads='LLC-load-misses'/'LLC-loads'"),
    ("cycles:u/cycles", "cycles_per_cyc='cycles:u'/cycles"),
    ("MPKI=1000*cache-misses/instructions,decimals=1", "MPKI=1000*'cache-misses'/instructions,decimals=1"),
    ("page-faults/dt", "page-faults_per_dt='page-faults'/dt"),
])
def test_arithmetic_over_generic_events_is_a_formula(typed: str, written: str) -> None:
    assert as_formula(typed) == written
    (request,) = parse_requests(as_formula(typed))
    assert request.columns[0].formula is not None


@pytest.mark.parametrize("typed", [
    "cycles", "cache-misses", "cycles:u", "cpu/cycles/", "{cycles,instructions}", "CPI=cycles/instructions",
    "A='cache-misses'/instructions", "power/energy-pkg/", "set:ipc", "cycles,instructions", "cpu/event=0x3c,umask=0/",
    "no_event/instructions", "msr0x10", "/sys/devices/x", "", "a/b", "cycles-instructions", "sched:sched_switch",
])
def test_everything_else_is_unchanged(typed: str) -> None:
    assert as_formula(typed) == typed
