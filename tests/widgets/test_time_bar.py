"""The time bar."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turbotui.quantities.moments import NS
from turbotui.widgets.time_bar import Moments, TimeBar, place_of, time_at, time_bar

START = 1_800_000_000 * NS


def bar(width: int, *, at: int = 60, live: bool = True, state: str = "", note: str = "",
        events: tuple[int, ...] = ()) -> TimeBar:
    times = [START + second * NS for second in range(101)]
    return time_bar(Moments(times, [START + one * NS for one in events], START + at * NS, times[-1], live, state, note),
                    width)


def text_of(shown: TimeBar) -> str:
    return "".join(text for text, _role in shown.segments)


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("note", ["", "mark 1"])
def test_a_bar_fills_its_line_and_says_how_long_ago(width: int, note: str) -> None:
    result = text_of(bar(width, note=note))
    assert len(result) == width
    assert result.startswith(" PAST 40 s ago · ")


def test_the_moment_stands_at_its_part_of_the_line_and_events_are_ticks() -> None:
    shown = bar(120, events=(0, 100))
    line = text_of(shown)[shown.start:shown.start + shown.size]
    assert line.index("●") == place_of(60, 0, 100, shown.size)
    assert line[0] == line[-1] == "┴"
    assert line.count("┴") == 2


def test_a_recording_has_no_now() -> None:
    assert "now" not in text_of(bar(120, live=False, state="▶ 2x"))
    assert text_of(bar(120, live=False, state="▶ 2x")).startswith(" ▶ 2x · ")
    assert text_of(bar(120, live=False)).startswith(" RECORDED · ")


def test_older_moments_that_are_kept_at_longer_steps_say_so() -> None:
    times = [START + 10 * second * NS for second in range(50)]
    result = text_of(time_bar(Moments(times, (), times[20], times[-1], live=True), 120))
    assert " by 10 s " in result


@given(st.integers(2, 300), st.integers(0, 10**12), st.integers(1, 10**12), st.data())
def test_a_click_leads_to_the_character_that_was_clicked(size: int, first: int, length: int,
                                                         data: st.DataObject) -> None:
    place = data.draw(st.integers(0, size - 1))
    result = place_of(time_at(place, first, first + length, size), first, first + length, size)
    assert abs(result - place) <= (1 if length >= size else size)
    assert 0 <= result < size
