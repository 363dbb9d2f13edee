"""Moments as people write them."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turbotui.errors import UsageError
from turbotui.quantities.moments import (
    NS,
    age,
    is_moment,
    local_time,
    parse_duration,
    parse_moment,
    parse_span,
    parse_start,
    time_of_day,
)

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
    result = parse_moment(time_of_day(last), last, last - 1800 * NS, last)
    assert result == last


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


@pytest.fixture
def in_zone(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    """A process in the time zone that the test names."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def at(text: str) -> int:
    """A moment of UTC on 2026-10-25, when clocks in Berlin went from 03:00 back to 02:00 at 01:00 UTC."""
    return round(datetime.fromisoformat(f"2026-10-25T{text}").replace(tzinfo=UTC).timestamp()) * NS


BERLIN = pytest.mark.parametrize("in_zone", ["CET-1CEST,M3.5.0,M10.5.0/3"], indirect=True)


@BERLIN
@pytest.mark.usefixtures("in_zone")
@pytest.mark.parametrize("text", ["2026-10-25 02:30", "02:30"])
def test_the_hour_that_comes_twice_is_the_one_that_was_recorded(text: str) -> None:
    early, late = (at("00:10"), at("00:50")), (at("01:10"), at("01:50"))
    assert parse_moment(text, 0, *early) == at("00:30")
    assert parse_moment(text, 0, *late) == at("01:30")
    with pytest.raises(UsageError, match=r"twice.*write 2026-10-25 02:30:00\+02:00 or 2026-10-25 02:30:00\+01:00$"):
        parse_moment(text, 0, early[0], late[1])
    for offset, moment in (("+02:00", at("00:30")), ("+01:00", at("01:30"))):
        assert parse_moment(f"2026-10-25 02:30:00{offset}", 0, early[0], late[1]) == moment
    assert parse_span("02:20", "02:40", *late) == (at("01:20"), at("01:40"))


@BERLIN
@pytest.mark.usefixtures("in_zone")
def test_an_hour_that_was_left_out_is_no_time() -> None:
    with pytest.raises(UsageError, match="never was a time here"):
        parse_moment("2026-03-29 02:30", 0, FIRST, LAST)


@pytest.mark.parametrize("in_zone", ["UTC"], indirect=True)
@pytest.mark.usefixtures("in_zone")
@pytest.mark.parametrize("zone", ["Z", "-12:00", "-08:00", "+05:45", "+14:00"])
def test_a_time_in_another_zone_is_the_latest_such_time(zone: str) -> None:
    """There it may be yesterday or tomorrow already."""
    there = datetime.fromisoformat(f"2026-11-22T00:00{zone}").tzinfo
    for last_ns, hour in itertools.product(range(at("00:30"), at("23:31"), 3600 * NS), range(24)):
        moment_ns = parse_moment(f"{hour:02}:15{zone}", last_ns, last_ns, last_ns)
        shown = datetime.fromtimestamp(moment_ns // NS, there)
        assert (shown.hour, shown.minute) == (hour, 15)
        assert 0 <= last_ns - moment_ns < 24 * 3600 * NS


@pytest.mark.parametrize("in_zone", ["UTC+24", "UTC-24"], indirect=True)
@pytest.mark.usefixtures("in_zone")
def test_a_zone_that_datetime_cannot_hold_is_utc() -> None:
    assert local_time(at("00:10")).isoformat() == "2026-10-25T00:10:00+00:00"
    assert parse_moment("00:05", 0, at("00:00"), at("00:10")) == at("00:05")


@pytest.mark.parametrize(("begin", "end", "where"), [
    ("+2h", "", "after"), ("2026-01-01", "2026-01-02", "before"), ("", "2026-01-01", "before"),
])
def test_a_span_outside_of_the_recording_is_refused(begin: str, end: str, where: str) -> None:
    with pytest.raises(UsageError, match=f"lies {where} what was recorded: 2026-11-22 13:41:02 to 2026-11-22 14:41:02"):
        parse_span(begin, end, FIRST, LAST)
    if begin:
        with pytest.raises(UsageError, match=f"lies {where} what was recorded"):
            parse_start(begin, FIRST, LAST)


def test_a_span_may_reach_beyond_the_recording() -> None:
    assert parse_span("2026-01-01", "2027-01-01", FIRST, LAST)[0] < FIRST
    assert parse_start("last", FIRST, LAST) == LAST
    with pytest.raises(UsageError, match="ends before it begins"):
        parse_span("-5m", "-10m", FIRST, LAST)
    with pytest.raises(UsageError, match='from "last" to "last" has no length: both are'):
        parse_span("last", "", FIRST, LAST)


def test_all_of_a_recording_of_one_reading_is_that_moment() -> None:
    assert parse_span("", "", 7, 7) == (7, 7)
