"""Configurations of spies as text: their meaning, and one sentence for each error."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spy_files import plan_text

from turbotui.quantities.spies import (
    Spy,
    SpyError,
    SpyPlan,
    Target,
    parse_events,
    parse_plan,
    parse_target,
    typed_spy,
)
from turbotui.untrusted import visible

_FILE = """
reference = "cycles"

[[spy]]
on = "0-1,4"
events = ["branches", "cpu/event=0x3c,umask=0/u"]

[[spy]]
on = "package 1"
sets = [["cycles", "LLC-loads"], ["branches"]]

[[spy]]
on = 3
events = []
"""


def test_a_file_says_what_is_counted_where() -> None:
    plan = parse_plan(_FILE)
    assert plan.reference == "cycles"
    first, second, third = plan.spies
    assert first == Spy(Target("0-1,4", frozenset({0, 1, 4})), (("branches", "cpu/event=0x3c,umask=0/u"),), split=True)
    assert second.on == Target("package 1", package=1)
    assert second.sets == (("LLC-loads",), ("branches",))  # the reference is in every set already
    assert not second.split
    assert third.on.cpus == frozenset({3})
    assert plan.events == ("cycles", "branches", "cpu/event=0x3c,umask=0/u", "LLC-loads")


@pytest.mark.parametrize(("text", "target"), [
    ("all", Target("all")),
    (" core  7 ", Target("core 7", core=7)),
    ("package 0 core 3", Target("package 0 core 3", package=0, core=3)),
    ("0,2-3", Target("0,2-3", frozenset({0, 2, 3}))),
])
def test_targets(text: str, target: Target) -> None:
    assert parse_target(text) == target


@pytest.mark.parametrize(("text", "says"), [
    ("x =", "not TOML"),
    ("spy = 3", "[[spy]]"),
    ("nothing = 1", "nothing"),
    ("reference = 3", "reference"),
    ('[[spy]]\non = "socket 1"\nevents = ["cycles"]', "number 1"),
    ('[[spy]]\non = "3-1"\nevents = ["cycles"]', "3-1"),
    ('[[spy]]\non = "all"', "either events or sets"),
    ('[[spy]]\nevents = ["a"]\nsets = [["b"]]', "either events or sets"),
    ("[[spy]]\nevents = 3", "list of texts"),
    ('[[spy]]\nevents = [""]', "without a name"),
    ("[[spy]]\nsets = []", "list of lists"),
    ('[[spy]]\nevents = ["a"]\ncolour = "red"', "colour"),
    (f"[[spy]]\nsets = [{', '.join(['[]'] * 65)}]", "65 sets"),
])
def test_what_is_wrong_is_reported_in_one_sentence(text: str, says: str) -> None:
    with pytest.raises(SpyError) as caught:
        parse_plan(text)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_typed_events_keep_commas_between_slashes() -> None:
    assert parse_events("cycles, cpu/event=1,umask=2/u ;branches") == (
        ("cycles", "cpu/event=1,umask=2/u"), ("branches",),
    )  # fmt: skip
    with pytest.raises(SpyError, match="no event"):
        parse_events(" ; ,")


def test_an_entry_for_the_same_cpus_takes_the_place_of_the_old_one() -> None:
    plan = SpyPlan().with_spy(typed_spy("all", "cycles")).with_spy(typed_spy("0", "branches"))
    plan = plan.with_spy(typed_spy("all", "cycles;branches"))
    assert [spy.on.text for spy in plan.spies] == ["0", "all"]
    assert plan.without("0").spies == (typed_spy("all", "cycles;branches"),)


_NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12).map(
    lambda text: " ".join(visible(text).split())
).filter(lambda text: text not in ("", "instructions"))
_SETS = st.lists(st.lists(_NAMES, max_size=4, unique=True).map(tuple), min_size=1, max_size=4).map(tuple)


@given(st.lists(st.tuples(st.sampled_from(["all", "0-3,8", "package 1", "core 2"]), _SETS, st.booleans()), max_size=4))
def test_a_plan_comes_back_from_its_own_text(entries: list[tuple[str, tuple[tuple[str, ...], ...], bool]]) -> None:
    plan = SpyPlan(tuple(
        Spy(parse_target(on), sets, split=split and len(sets) == 1) for on, sets, split in entries
    ))
    assert parse_plan(plan_text(plan)) == plan


@given(st.text())
def test_any_text_is_a_plan_or_one_error(text: str) -> None:
    with contextlib.suppress(SpyError):
        assert isinstance(parse_plan(text), SpyPlan)
