"""Moments as people write them."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turbotui.errors import UsageError
from turbotui.quantities.moments import NS, age, is_moment, parse_duration, parse_moment, parse_span, time_of_day

LAST = round(datetime(2026, 11, 22, 14, 41, 2).timestamp()) * NS  # noqa: DTZ001 - of this machine's time zone
FIRST = LAST - 3600 * NS
HERE = LAST - 600 * NS


def parsed(text: str) -> float:
    """Seconds before the last moment."""
    return (LAST - parse_moment(text, HERE, FIRST, LAST)) / NS


@pytest.mark.parametrize(("text", "before"), [
    ("first", 3600), ("Last", 0), ("-5m", 900), ("+90s", 510), ("-90", 690), ("-1h30m", 6000), ("- 5m", None),
    ("14:41:02", 0), ("14:40", 62), ("14:41:03", 86_399), ("2026-11-22 14:41", 2), ("2026-11-21T14:41:02", 86_400),
    ("14:41:01.5", 0.5), (" 14:40 ", 62),
])
def test_every_form_is_understood(text: str, before: float | None) -> None:
    if before is None:
        assert not is_moment(text)
        return
    assert is_moment(text)
    assert parsed(text) == before


def test_a_time_may_name_its_zone() -> None:
    text = datetime.fromtimestamp((LAST - 30 * NS) / NS).astimezone().isoformat()
    assert parsed(text) == 30


@pytest.mark.parametrize("text", ["", "25:00", "14:61", "2026-02-30 10:00", "Busy%>50", "five", "-", "99999-01-01"])
def test_what_is_no_moment_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(UsageError, match=r"is no time: .*first or last"):
        parse_moment(text, HERE, FIRST, LAST)


@given(st.integers(0, 4_000_000_000))
def test_a_time_of_day_is_found_again_within_the_day_before(seconds: int) -> None:
    last = max(seconds, 90_000) * NS
    found = parse_moment(time_of_day(last), last, 0, last)
    assert found == last


@pytest.mark.parametrize(("seconds", "text"), [
    (-3, "0 s"), (0.4, "0 s"), (59.6, "1 min"), (200, "3 min 20 s"), (7500, "2 h 5 min"), (90_000, "1 d 1 h"),
])
def test_an_age_has_two_units_at_most(seconds: float, text: str) -> None:
    assert age(seconds) == text


@pytest.mark.parametrize(("begin", "end", "seconds"), [
    ("", "", (0, 3600)), ("+5m", "+1m", (300, 360)), ("-5m", "", (3300, 3600)), ("-5m", "-1m", (3300, 3540)),
    ("14:00:02", "14:10:02", (1140, 1740)), ("", "+90s", (0, 90)), ("first", "last", (0, 3600)),
    ("-2h", "+1h", (-3600, 0)),
])
def test_a_span_counts_its_end_from_its_beginning(begin: str, end: str, seconds: tuple[int, int]) -> None:
    assert parse_span(begin, end, FIRST, LAST) == (FIRST + seconds[0] * NS, FIRST + seconds[1] * NS)


@pytest.mark.parametrize(("begin", "end"), [("+5m", "+0s"), ("last", "first"), ("soon", ""), ("", "later")])
def test_what_is_no_span_is_refused(begin: str, end: str) -> None:
    with pytest.raises(UsageError):
        parse_span(begin, end, FIRST, LAST)


@pytest.mark.parametrize(("text", "seconds"), [
    ("10s", 10), ("10", 10), ("1m30s", 90), ("0.5h", 1800), (" 2d ", 172_800),
])
def test_lengths_of_time(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "0s", "-5s", "+5s", "five", "5x", "10s s"])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no length of time"):
        parse_duration(text)


def test_the_option_of_a_refused_length_is_named() -> None:
    with pytest.raises(UsageError, match='--keep: "0" is no length of time above 0'):
        parse_duration("0", "--keep")
