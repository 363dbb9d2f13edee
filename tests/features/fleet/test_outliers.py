"""Which nodes are odd, and which are not."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from fleetbed import NORMAL, nodes
from hypothesis import given
from hypothesis import strategies as st

from turbotui.features.fleet.check import CheckLimits, failing, why_unsure
from turbotui.features.fleet.model import FleetNode
from turbotui.features.fleet.outliers import duration, judged


def _judged(values: Mapping[str, Mapping[str, float]], models: Mapping[str, str] | None = None) -> list[FleetNode]:
    fleet_nodes = [FleetNode(name, {"model": (models or {}).get(name, "EPYC 9754")}, selected, selected.get("Age"))
                   for name, selected in values.items()]
    return judged(fleet_nodes, lambda node: node.labels["model"])


def test_nothing_is_odd_about_equals() -> None:
    fleet_nodes = _judged(nodes(8))
    assert [node.name for node in fleet_nodes] == sorted(node.name for node in fleet_nodes)
    assert not any(node.findings for node in fleet_nodes)
    assert fleet_nodes[0].peers == "compared with 8 nodes of its model (EPYC 9754)"


@pytest.mark.parametrize(("values", "words"), [
    ({"Bzy_MHz": 2588.0}, "414 MHz slower than its peers (2,588, median 3,002)"),
    ({"CoreTmp": 75.0}, "15 °C hotter than its peers (75, median 60)"),
    ({"Throttled%": 23.0}, "23 % of the time held back by heat"),
    ({"Ratio%": 88.0}, "12 % slower than its own baseline"),
    ({"PkgWatt": 180.0}, "70 W less than its peers (180, median 250)"),
    ({"nJ/instr": 0.75}, "50 % more energy an instruction than its peers"),
    ({"Busy%": 20.0}, "idler than its peers (20 %, median 80 %)"),
    ({"Age": 900.0}, "its collector read nothing for 15 min"),
])
def test_the_odd_one_is_first_with_its_reason(values: Mapping[str, float], words: str) -> None:
    fleet_nodes = _judged(nodes(8, n5=values))
    assert fleet_nodes[0].name == "n5"
    assert words in fleet_nodes[0].why
    assert not any(node.findings for node in fleet_nodes[1:])


def test_a_cooler_node_or_a_faster_one_is_no_finding() -> None:
    assert not any(node.findings for node in _judged(nodes(8, n2={"CoreTmp": 40.0}, n3={"Bzy_MHz": 3600.0})))


def test_two_of_a_model_cannot_tell_which_is_odd() -> None:
    fleet_nodes = _judged(nodes(2, n1={"Bzy_MHz": 2000.0}))
    assert not any(node.findings for node in fleet_nodes)
    assert "nobody can say" in fleet_nodes[0].peers
    assert why_unsure(fleet_nodes, CheckLimits(slower=5.0)).startswith("none of 2 nodes could be compared")


def test_models_are_compared_among_themselves() -> None:
    values = nodes(8, **{f"n{at}": {"Bzy_MHz": 2000.0} for at in range(4)})
    models = {f"n{at}": "old" for at in range(4)}
    assert not any(node.findings for node in _judged(values, models))


def test_an_idle_node_s_clock_is_not_compared_with_busy_ones() -> None:
    values = nodes(9, **{f"n{at}": {"Busy%": 2.0, "Bzy_MHz": 1000.0} for at in range(3)})
    assert not any("slower" in node.why for node in _judged(values))


def test_a_single_idle_node_is_idle_and_nothing_else() -> None:
    fleet_nodes = _judged(nodes(8, n1={"Busy%": 2.0, "PkgWatt": 90.0, "nJ/instr": 2.0}))
    assert [oddity.column for oddity in fleet_nodes[0].findings] == ["Busy%"]


def test_a_node_of_unknown_load_is_not_taken_for_an_idle_one() -> None:
    values = {name: dict(selected) for name, selected in nodes(9).items()}
    for name in ("n0", "n1", "n2"):
        values[name] |= {"Busy%": 2.0, "CoreTmp": 30.0}
    del values["n8"]["Busy%"]
    fleet_nodes = {node.name: node for node in _judged(values)}
    assert "hotter" not in fleet_nodes["n8"].why


def test_an_idle_node_s_baseline_says_nothing() -> None:
    assert "baseline" not in _judged(nodes(4, n1={"Ratio%": 50.0, "Busy%": 1.0}))[0].why


def test_a_vanished_node_is_reported_and_compares_with_nobody() -> None:
    fleet_nodes = [FleetNode(name, {"model": "m"}, selected, 700.0 if name == "n3" else 1.0, gone=name == "n3")
                   for name, selected in nodes(4, n3={"Bzy_MHz": 1.0}).items()]
    first = judged(fleet_nodes, lambda node: node.labels["model"])[0]
    assert (first.name, first.why) == ("n3", "no samples for 12 min")


@given(st.integers(3, 30), st.integers(0, 29), st.floats(0.2, 0.9))
def test_one_slow_node_is_first_in_any_fleet(many: int, at: int, share: float) -> None:
    at %= many
    fleet_nodes = _judged(nodes(many, **{f"n{at}": {"Bzy_MHz": NORMAL["Bzy_MHz"] * share}}))
    assert fleet_nodes[0].name == f"n{at}"
    assert sum(bool(node.findings) for node in fleet_nodes) == 1


@given(st.lists(st.dictionaries(st.sampled_from(sorted(NORMAL)), st.floats(-1e12, 1e12)), max_size=12))
def test_any_numbers_are_judged(values: list[dict[str, float]]) -> None:
    fleet_nodes = _judged({f"n{at}": selected for at, selected in enumerate(values)})
    assert len(fleet_nodes) == len(values)
    assert [node.odd for node in fleet_nodes] == sorted((node.odd for node in fleet_nodes), reverse=True)


@pytest.mark.parametrize(("limits", "found"), [
    (CheckLimits(slower=5.0), {"n1", "n4"}),
    (CheckLimits(slower=20.0), set()),
    (CheckLimits(hotter=10.0), {"n2"}),
    (CheckLimits(hotter=20.0), set()),
    (CheckLimits(throttled=5.0), {"n3"}),
    (CheckLimits(watts=10.0), {"n3"}),
    (CheckLimits(stale=10.0), {"n5"}),
    (CheckLimits(), {"n1", "n2", "n3", "n4", "n5"}),
])
def test_limits_of_a_check(limits: CheckLimits, found: set[str]) -> None:
    values = nodes(9, n1={"Bzy_MHz": 2700.0}, n2={"CoreTmp": 75.0}, n3={"Throttled%": 8.0, "PkgWatt": 200.0},
                   n4={"Ratio%": 90.0}, n5={"Age": 1000.0})
    made = [FleetNode(name, {"model": "m"}, selected, selected["Age"]) for name, selected in values.items()]
    seen = failing(judged(made, lambda node: node.labels["model"], limits.rules(), limits.limits()), limits)
    assert {node.name for node in seen} == found


def test_durations() -> None:
    assert [duration(seconds) for seconds in (-1.0, 59.4, 119.0, 720.0, 7200.0, 300_000.0)] == [
        "0 s", "59 s", "119 s", "12 min", "2 h", "3 d"]
