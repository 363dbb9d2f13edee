"""Esc: it undoes the newest state of the view, one at a time, whatever the state is."""

from __future__ import annotations

import pytest
from dashboard_driver import cpus, dashboard, table, text_of
from replayed_machine import Recording, ReplayedSession, recording
from scripted_machine import FakeSession

from turbotui.app.view_states import StateOrder, ViewChoice, ViewState
from turbotui.app.watch import AddedColumns
from turbotui.quantities.scope import SYSTEM_ROW, cpu_row


def state(name: str, place: str = "1") -> ViewState:
    """A state that is undone by nothing."""
    return ViewState(place, name, lambda: None)


def names(states: object) -> list[object]:
    """Ids of states."""
    assert isinstance(states, list)
    return [item.id for item in states]


def test_states_stand_in_the_order_of_their_beginning_whatever_order_they_are_told_in() -> None:
    order = StateOrder()
    assert names(order.look("1", [state("filter")])) == ["filter"]
    assert names(order.look("1", [state("past", ""), state("filter")])) == ["filter", "past"]
    assert names(order.look("1", [state("past", ""), state("tags"), state("filter")])) == ["filter", "past", "tags"]


def test_a_state_that_ended_and_began_again_is_the_newest() -> None:
    order = StateOrder()
    order.look("1", [state("filter"), state("tags")])
    order.look("1", [state("tags")])
    assert names(order.look("1", [state("filter"), state("tags")])) == ["tags", "filter"]


def test_states_of_other_screens_keep_their_order() -> None:
    order = StateOrder()
    order.look("1", [state("filter"), state("tags")])
    order.look("7", [state("tags", "7")])
    assert names(order.look("1", [state("tags"), state("filter")])) == ["filter", "tags"]


def test_a_choice_that_is_not_as_it_was_at_first_is_a_state_until_it_is_or_is_settled() -> None:
    order, chosen = StateOrder(), list[str]()

    def look(value: str) -> list[object]:
        changed = order.changed([ViewChoice("1", "sort", value, chosen.append, "")])
        return names(order.look("1", [*changed, state("filter")]))

    assert look("load") == ["filter"]
    assert look("clock") == ["filter", ("sort", "clock")]
    assert look("watts") == ["filter", ("sort", "watts")]
    (state_of_sort,) = order.changed([ViewChoice("1", "sort", "watts", chosen.append, "")])
    state_of_sort.undo()
    assert chosen == ["load"]
    assert look("load") == ["filter"]
    assert look("clock") == ["filter", ("sort", "clock")]
    order.settle()
    assert look("clock") == ["filter"]


@pytest.fixture(scope="module")
def machine() -> Recording:
    return recording("laptop", 20.0, 4)


async def test_escape_undoes_filter_tag_past_pause_and_comparison_the_newest_first() -> None:
    async with dashboard(FakeSession(), ticks=6, size=(160, 36)) as (app, pilot):
        everything = cpus(app)
        await pilot.press("backslash", *"Busy%>80", "enter")
        await pilot.pause()
        assert "filter Busy%>80: 1 row (Esc: all)" in text_of(app, "status")
        table(app).select(cpu_row(3))
        await pilot.press("v")
        await pilot.pause()
        assert table(app).view.tags == (cpu_row(3),)
        await pilot.press("b", "comma", "comma")
        await pilot.pause()
        assert app.watched.in_past
        assert "now: Esc" in text_of(app, "time")
        assert "Esc ends it" in text_of(app, "compared")
        await pilot.press("p")
        assert "PAUSED (Esc: go on)" in text_of(app, "status")

        async def gone() -> list[str]:
            await pilot.press("escape")
            await pilot.pause()
            view = table(app).view
            on = {"pause": app.watched.paused, "past": app.watched.in_past, "comparison": app.watched.mark is not None,
                  "tags": bool(view.tags), "filter": bool(view.filter.text)}
            return [name for name, is_on in on.items() if is_on]

        assert await gone() == ["past", "comparison", "tags", "filter"]
        assert await gone() == ["comparison", "tags", "filter"]
        assert await gone() == ["tags", "filter"]
        assert await gone() == ["filter"]
        assert await gone() == []
        assert await gone() == []
        assert cpus(app) == everything


async def test_escape_goes_back_to_where_a_search_began() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        table(app).select(cpu_row(0))
        await pilot.press("slash", *"cpu13", "enter")
        await pilot.pause()
        assert table(app).current == cpu_row(13)
        assert "found cpu13 (n: next, Esc: back)" in text_of(app, "status")
        await pilot.press("escape")
        await pilot.pause()
        assert table(app).current == cpu_row(0)
        assert "found" not in text_of(app, "status")


async def test_escape_returns_from_a_screen_that_enter_opened_and_not_from_one_that_a_digit_showed(
        machine: Recording) -> None:
    async with dashboard(ReplayedSession(machine), screen="overview") as (app, pilot):
        await pilot.press("down", "down", "enter")
        await pilot.pause()
        assert app.current_mode == "cpus"
        await pilot.press("escape")
        await pilot.pause()
        assert app.current_mode == "overview"
        await pilot.press("enter", "4", "1", "escape")
        await pilot.pause()
        assert app.current_mode == "cpus"


async def test_escape_ends_following_the_hottest() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        table(app).select(SYSTEM_ROW)
        while table(app).view.follow not in table(app).view.targets:
            await pilot.press("F")
        await pilot.press("escape")
        assert table(app).view.follow not in table(app).view.targets


async def test_escape_undoes_order_groups_columns_and_widths_the_newest_first() -> None:
    async with dashboard(FakeSession(), ticks=4, size=(160, 36)) as (app, pilot):
        start = table(app).view.sort, table(app).view.levels, app.watched.columns, table(app).view.arrangement

        def now() -> list[bool]:
            view = table(app).view
            return [item == then for item, then in zip((view.sort, view.levels, app.watched.columns, view.arrangement),
                                                       start, strict=True)]

        await pilot.press("greater_than_sign", "t", "c", "k", "escape", "m", "right", "enter")
        await pilot.pause()
        assert now() == [False, False, False, False]
        for left in ([False, False, False, True], [False, False, True, True], [False, True, True, True],
                     [True, True, True, True]):
            await pilot.press("escape")
            await pilot.pause()
            assert now() == left
        await pilot.press("escape")
        await pilot.pause()
        assert now() == [True] * 4


async def test_escape_undoes_an_order_chosen_with_the_mouse_alone() -> None:
    async with dashboard(FakeSession(), ticks=4, size=(160, 36)) as (app, pilot):
        before = table(app).view.sort
        title = table(app).render_line(0).text
        await pilot.click("#table", offset=(title.index("Bzy_MHz") + 2, 0))
        await pilot.pause()
        assert table(app).view.sort != before
        await pilot.press("escape")
        await pilot.pause()
        assert table(app).view.sort == before


async def test_escape_removes_an_added_counter_and_adds_a_removed_one() -> None:
    session = FakeSession()
    async with dashboard(session, ticks=4, size=(160, 36)) as (app, pilot):
        columns = app.watched.chosen
        await pilot.press("a", *"msr0x10,Tsc", "enter", "escape")
        await pilot.pause()
        added = app.watched.added
        assert list(added.texts) == ["msr0x10,Tsc"]
        await pilot.press("escape")
        await pilot.pause()
        assert not app.watched.added.texts
        assert app.watched.chosen == columns
        assert not app.look_at_states()
        app.watched.show_added(added)
        assert app.watched.added == added
        app.watched.show_added(AddedColumns(frozenset(), ()))
        assert not app.watched.added.texts
