"""A verdict in one line: what stays where there is little room."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turbotui.diagnosis.findings import Finding
from turbotui.diagnosis.rules import Certainty, NoFinding, Observed, SlownessRule
from turbotui.diagnosis.verdict import Verdict


def verdict(sentence: str, who: str = "", seconds: float = 9.5) -> Verdict:
    rule = SlownessRule("a", "a", (), lambda _: NoFinding.CLEAR, "a", "1", "")
    observed = Observed(0.4, sentence, Certainty.CERTAIN)
    return Verdict((Finding(rule, observed, seconds, 1.0, seconds, (who,) if who else ()),), "")


HELD = verdict("Package 1 is held at 2,900 MHz by its power limit", "db.service")
BUSY = verdict("12 tasks want to run on 4 CPUs, which are 100 % busy; a task waits for a CPU 97 % of time",
               "compiling 30000 (session-3.scope, 400 % CPU)")


def test_all_is_reported_where_there_is_room() -> None:
    assert HELD.fitted(200) == f"{HELD.sentence} (certain, 40 % lost; for 10 s). Most of it: db.service"


def test_who_it_is_stays_longest() -> None:
    assert HELD.fitted(76) == f"{HELD.sentence}. Most of it: db.service"
    assert HELD.fitted(40).endswith(" … db.service")


@pytest.mark.parametrize(("room", "text"), [
    (147, f"{BUSY.sentence}. Most of it: compiling 30000 (session-3.scope, 400 % CPU)"),
    (120, f"{BUSY.sentence}. Most of it: compiling 30000"),
    (100, "12 tasks want to run on 4 CPUs, which are 100 % busy … compiling 30000 (session-3.scope, 400 % CPU)"),
    (74, "12 tasks want to run on 4 CPUs, which are 100 % busy … compiling 30000"),
    (60, "12 tasks want to run on 4 CPUs … compiling 30000"),
])
def test_parts_leave_whole(room: int, text: str) -> None:
    assert BUSY.fitted(room) == text


def test_no_number_is_cut() -> None:
    result = verdict("Package 0 is held at 2,103 of 4,300 MHz by heat (109 °C, tj_max 110 °C)", "dense algebra 10000")
    assert result.fitted(74) == "Package 0 is held at 2,103 of 4,300 MHz by heat … dense algebra 10000"
    for room in range(8, 74):
        kept = result.fitted(room).partition("…")[0].split()
        assert kept == result.sentence.split()[:len(kept)], room


def test_the_cause_stays_longer_than_the_task() -> None:
    value = verdict("Package 0 is held at 2,691 of 4,300 MHz by a power limit (56 of 28 W, PL1)", "dense algebra 10000")
    assert value.fitted(78) == "Package 0 is held at 2,691 of 4,300 MHz by a power limit … dense algebra 10000"
    assert value.fitted(72) == "Package 0 is held at 2,691 of 4,300 MHz by a power limit …"
    assert HELD.fitted(55) == HELD.sentence


def test_the_responsible_task_is_not_named_twice() -> None:
    result = verdict("A CPU quota was used up in 60 % of its periods: /a (2.00 CPUs), whose tasks stood still", "/a")
    assert result.fitted(100) == result.sentence
    assert result.fitted(70) == "A CPU quota was used up in 60 % of its periods: /a (2.00 CPUs) …"
    thread = verdict("One thread, mypy 29911, uses 100 % of a CPU", "mypy 29911 (100 % CPU)")
    assert thread.fitted(100) == f"{thread.sentence} (certain, 40 % lost; for 10 s)"


def test_what_cannot_be_read_stays_before_the_numbers() -> None:
    unsure = Verdict((), "Nothing found; clock and limits, memory bandwidth cannot be read here (8 of 21 causes): "
                         "100 % busy")
    assert unsure.fitted(74) == "Nothing found; clock and limits, memory bandwidth cannot be read here …"


@given(st.integers(0, 120))
def test_never_more_than_there_is_room_for(room: int) -> None:
    assert len(HELD.fitted(room)) <= max(room, 1)
