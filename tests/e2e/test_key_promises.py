"""Each row of the key table has a promise on every screen that it claims, which other tests press in a terminal."""

from __future__ import annotations

import pytest
from key_places import PLACES
from key_promises import LEAVING, PROMISED_EVERYWHERE, Place
from pressed_keys import PLACES_APART, is_pressed

from turbotui.app.actions import ACTIONS
from turbotui.app.screen_table import SCREENS
from turbotui.feature import EVERYWHERE, ScreenSpec


@pytest.mark.parametrize("spec", SCREENS, ids=lambda spec: spec.id)
def test_each_row_has_a_promise_on_each_screen_it_claims(spec: ScreenSpec) -> None:
    places = [place for place in PLACES if place.number == spec.number]
    assert {place.where for place in places} == {spec.place}
    claimed = [action for action in ACTIONS if {EVERYWHERE, spec.place} & set(action.where)]
    unpressed = [action.id for action in claimed if all(place.promise(action) is None for place in places)]
    assert set(unpressed) == LEAVING, f"rows of the key table that nobody presses on screen {spec.number}"


@pytest.mark.parametrize("place", PLACES, ids=lambda place: f"{place.number}-{place.machine[0]}")
def test_no_promise_is_of_a_row_that_is_not_there(place: Place) -> None:
    there = {action.id for action in ACTIONS if {EVERYWHERE, place.where} & set(action.where)}
    assert set(place.keys) <= there, "a place may say what a key of every screen does there, as Enter"
    assert set(PROMISED_EVERYWHERE) <= {action.id for action in ACTIONS if EVERYWHERE in action.where}


def test_each_row_that_works_everywhere_is_pressed_on_several_screens() -> None:
    for action in ACTIONS:
        if EVERYWHERE in action.where and action.id not in LEAVING:
            pressed = {place.number for place in PLACES if place.promise(action) and is_pressed(action, place)}
            assert len(pressed) >= len(SCREENS) // PLACES_APART, action.id
