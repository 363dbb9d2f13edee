"""Event codes on machines with several core types: each type has its own event, and they are never added up."""

from __future__ import annotations

import pytest
from added_columns import SYSTEM_ROW, adding, cell, cpu_row

from turbotui.events.encoder import encode_event
from turbotui.events.kinds_of_core import are_unlike, with_pmu_names
from turbotui.machine.machine import read_machine
from turbotui.quantities.added import AddError
from turbotui.quantities.spies import SpyPlan, typed_spy
from turbotui.simulated import ManualClock, simulated_host
from turbotui.sources.spy_sets import arrange

HYBRID = simulated_host("laptop", ManualClock())
P_CPU, E_CPU = 0, 15


@pytest.mark.parametrize(("written", "strings"), [
    ("r1c2:u", ["cpu_atom/config=0x1c2,name=r1c2.atom/u", "cpu_core/config=0x1c2,name=r1c2.core/u"]),
    ("cpu/event=0xc2,umask=2/", ["cpu_atom/event=0xc2,umask=0x2,name=r2c2.atom/",
                                 "cpu_core/event=0xc2,umask=0x2,name=r2c2.core/"]),
    ("cpu/event=0xc2,name=mine/", ["cpu_atom/event=0xc2,name=mine.atom/", "cpu_core/event=0xc2,name=mine.core/"]),
    ("cpu_core/event=0xc2/", ["cpu_core/event=0xc2/"]),  # one PMU was named
    ("cycles", ["cycles", "cycles"]),  # one event by its name
    ("LLC-loads", ["LLC-loads", "LLC-loads"]),
])
def test_strings_that_name_one_kind(written: str, strings: list[str]) -> None:
    events = encode_event(HYBRID, written)
    apart = with_pmu_names(events)
    assert [event.string for event in apart] == strings
    for before, after in zip(events, apart, strict=True):  # and mean the same counter
        encoded_events = [event for event in encode_event(HYBRID, after.string) if event.pmu == before.pmu]
        assert [event.attr for event in encoded_events] == [before.attr]


def test_one_kind_of_core_is_left_alone() -> None:
    events = encode_event(simulated_host("sapphire-2s", ManualClock()), "r1c2")
    assert not are_unlike(events)
    assert with_pmu_names(events) == events


@pytest.mark.parametrize("text", ["rc0", "{rc0,cycles}"])
def test_each_kind_has_a_column_of_its_own(text: str) -> None:
    with adding("laptop", None) as here:
        columns = {column.id: column for column in here.add(text)}
        assert {"rc0.atom", "rc0.core"} <= set(columns)
        both = here.add("instructions,name=both")[0]
        here.start()
        frame, _before, _after = here.interval(1.0)
        atom, core = (cell(frame, columns[name], SYSTEM_ROW) for name in ("rc0.atom", "rc0.core"))
        assert atom + core == pytest.approx(cell(frame, both, SYSTEM_ROW), rel=1e-6)
        assert frame.cell(columns["rc0.atom"], cpu_row(P_CPU)) is None
        assert cell(frame, columns["rc0.atom"], cpu_row(E_CPU)) == pytest.approx(
            cell(frame, both, cpu_row(E_CPU)), rel=1e-6)


def test_a_formula_wants_one_of_them() -> None:
    with adding("laptop", None) as here, pytest.raises(AddError, match=r"rc0 stands for 2 events \(cpu_atom"):
        here.add("X=rc0/cycles")


@pytest.mark.parametrize(("cpus", "counted"), [("0-3", True), ("12-15", True), ("0,15", False), ("all", False)])
def test_spies_count_a_code_on_one_kind(cpus: str, counted: bool) -> None:
    plan = SpyPlan((typed_spy(cpus, "rc0,cycles"),), "instructions")
    arrangement = arrange(read_machine(simulated_host("laptop", ManualClock())), plan)
    assert ("rc0" not in arrangement.refused) == counted
    if not counted:
        assert "is another event on each kind of core (cpu_atom, cpu_core)" in arrangement.refused["rc0"].detail
    assert "cycles" not in arrangement.refused
