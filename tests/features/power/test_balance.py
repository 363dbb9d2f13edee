"""The arithmetic of balances: no part counts twice, the rest, and contradictions."""

from __future__ import annotations

import pytest
from watched_machines import frames_of_machine

from turbotui.features.power.balance import balance_of, balanced, sentence
from turbotui.features.power.consumers import BalanceRole, Consumer
from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.unavailable import Reason, Unavailable

PLATFORM, COUNTED, INSIDE = BalanceRole.PLATFORM, BalanceRole.COUNTED, BalanceRole.INSIDE
ASLEEP = Unavailable(Reason.ASLEEP, "the card is suspended")


def part(name: str, watts: float | None, role: BalanceRole = COUNTED, inside: str = "", kind: str = "") -> Consumer:
    return Consumer(name, kind or name, name, role, watts, None if watts is not None else ASLEEP, inside)


def test_what_lies_inside_another_is_not_added() -> None:
    balance = balanced([part("package", 30.0), part("cores", 20.0, INSIDE, "package"),
                        part("graphics", 6.0, INSIDE, "package"), part("memory", 4.0),
                        part("psys", 50.0, PLATFORM)], 1.0)
    assert balance.counted == 34.0
    assert balance.elsewhere == 16.0
    assert balance.total == 50.0
    assert balance.contradictions == ()
    assert sentence(balance) == "50.0 W by psys: package 30.0, memory 4.0, elsewhere 16.0"


def test_supplies_are_added_up_and_one_that_is_silent_makes_them_silent() -> None:
    both = balanced([part("package", 30.0), part("PSU0", 40.0, PLATFORM, kind="psu"),
                     part("PSU1", 45.0, PLATFORM, kind="psu")], 1.0)
    assert both.elsewhere == 55.0
    balance = balanced([part("package", 30.0), part("PSU0", 40.0, PLATFORM, kind="psu"),
                        part("PSU1", None, PLATFORM, kind="psu")], 1.0)
    assert balance.elsewhere is None
    assert balance.total == 30.0
    assert balance.why is not None
    assert balance.why.reason is Reason.NOT_SET


def test_the_plug_is_believed_before_psys_and_psys_before_a_battery() -> None:
    consumers = [part("package", 30.0), part("Bat0", 44.0, PLATFORM, kind="battery"), part("psys", 42.0, PLATFORM),
                 part("PSU0", 50.0, PLATFORM, kind="psu")]
    assert balanced(consumers, 1.0).platform == balanced(consumers, 1.0).platforms[0]
    assert [figure.kind for figure in balanced(consumers, 1.0).platforms] == ["psu", "psys", "battery"]
    assert balanced(consumers, 1.0).elsewhere == 20.0


def test_a_battery_on_mains_says_nothing_of_the_machine() -> None:
    for watts in (0.0, -20.0):
        balance = balanced([part("package", 30.0), part("Bat0", watts, PLATFORM, kind="battery")], 1.0)
        assert balance.elsewhere is None
        assert balance.total == 30.0


def test_two_batteries_are_a_figure_of_the_machine() -> None:
    balance = balanced([part(name, 40.0, PLATFORM, kind="battery") for name in ("Bat0", "Bat1")], 1.0)
    assert [(figure.name, figure.watts) for figure in balance.platforms] == [("2 batteries", 80.0)]


def test_a_psys_below_the_parts_is_named_and_the_next_figure_asked() -> None:
    balance = balanced([part("package", 60.0), part("psys", 25.0, PLATFORM),
                        part("Bat0", 80.0, PLATFORM, kind="battery")], 1.0)
    assert balance.elsewhere == 20.0
    assert balance.contradictions == (
        "the parts, 60.0 W, exceed psys, 25.0 W: this board does not wire it to the whole platform",)


def test_where_every_figure_is_below_the_parts_the_rest_is_unknown() -> None:
    balance = balanced([part("package", 60.0), part("psys", 25.0, PLATFORM)], 1.0)
    assert balance.elsewhere is None
    assert balance.why is not None
    assert balance.why.reason is Reason.CONTRADICTED
    assert balance.total == 60.0


def test_readings_of_different_instants_are_no_contradiction() -> None:
    balance = balanced([part("package", 101.5), part("psys", 100.0, PLATFORM)], 1.0)
    assert balance.contradictions == ()
    assert balance.elsewhere == 0.0


def test_parts_inside_that_exceed_their_whole_are_named() -> None:
    balance = balanced([part("Socket0", 50.0), part("CPUrail0", 60.0, INSIDE, "Socket0")], 1.0)
    assert balance.contradictions == ("what lies inside Socket0, 60.0 W, exceeds its 50.0 W",)


def test_two_figures_of_the_machine_that_differ_are_named() -> None:
    balance = balanced([part("package", 30.0), part("Meter0", 100.0, PLATFORM, kind="meter"),
                        part("psys", 60.0, PLATFORM)], 1.0)
    assert balance.contradictions == ("Meter0 says 100.0 W of the whole machine, psys says 60.0 W",)


def test_a_figure_of_another_time_is_named() -> None:
    def meter(averaged: float | None, age: float | None) -> Consumer:
        return Consumer("Meter0", "meter", "", PLATFORM, 100.0, averaged=averaged, age=age)

    parts = [part("package", 30.0)]
    assert balanced([*parts, meter(30.0, None)], 1.0).contradictions == (
        "Meter0 averages over 30 s, the parts over 1.0 s",)
    assert balanced([*parts, meter(30.0, None)], 20.0).contradictions == ()
    assert balanced([*parts, meter(None, 12.0)], 1.0).contradictions == (
        "Meter0 has said the same for 12 s, the parts are of the last 1.0 s",)


def test_a_part_that_sleeps_is_reported_and_its_watts_are_elsewhere() -> None:
    balance = balanced([part("package", 30.0), part("GPU0", None, kind="gpu"), part("psys", 50.0, PLATFORM)], 1.0)
    assert [consumer.name for consumer in balance.unknown] == ["GPU0"]
    assert balance.elsewhere == 20.0
    assert sentence(balance).endswith("GPU0 asleep")


def test_a_figure_of_the_whole_is_the_total_where_no_part_is_counted() -> None:
    balance = balanced([part("Bat0", 12.5, PLATFORM, kind="battery")], 1.0)
    assert (balance.counted, balance.elsewhere, balance.total) == (None, None, 12.5)
    assert sentence(balance) == "12.5 W by Bat0: nothing counts its parts"


def test_where_nothing_tells_of_power_nothing_is_reported_of_it() -> None:
    balance = balanced([], 1.0)
    assert (balance.counted, balance.elsewhere, balance.total) == (None, None, None)
    assert sentence(balance) == "Nothing here tells of power"


@pytest.mark.parametrize("cpus", [None, frozenset({0, 1})])
def test_a_package_of_which_no_cpu_is_measured_is_not_elsewhere(cpus: frozenset[int] | None) -> None:
    machine, frames = frames_of_machine("sapphire-2s", 1, columns=("PkgWatt", "RAMWatt", "SysWatt"), cpus=cpus,
                                        small=True)
    catalog = catalog_for(frames[-1].capabilities.signals)
    balance = balance_of(frames[-1], catalog, (machine.model.family, machine.model.model))
    packages = {consumer.name: consumer for consumer in balance.parts if consumer.kind == "package"}
    assert list(packages) == ["package 0", "package 1"]
    assert (balance.elsewhere is None) is (cpus is not None)
    if cpus is not None:
        assert packages["package 1"].watts is None
        assert balance.why is not None
        assert balance.why.detail == "a part is unknown, package 1: none of its CPUs is measured"
        assert "elsewhere" not in sentence(balance)
        assert sentence(balance).endswith("package 1 not read")
