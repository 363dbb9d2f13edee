"""Parse moments as people write them: a time of day, a date with a time, or an offset from another moment."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

from turbotui.errors import UsageError

NS: Final = 1_000_000_000
_NUMBER: Final = r"\d{1,15}(?:\.\d{1,15})?"
# Only the last part may lack its unit: otherwise digits could be split into parts in 2^n ways.
_STEP: Final = re.compile(rf"([+-])((?:{_NUMBER}[dhms]\s*)*(?:{_NUMBER}\s*)?)(?<![+-])", re.IGNORECASE | re.ASCII)
_PART: Final = re.compile(rf"({_NUMBER})([dhms]?)", re.IGNORECASE | re.ASCII)
_SECONDS: Final = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "": 1.0}
_TIME: Final = re.compile(r"(?:(\d{4}-\d{2}-\d{2})[ T])?(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?(Z|[+-]\d{2}:?\d{2})?")
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_HELP: Final = "write a time (14:03:20), a date with a time (2026-11-22 14:03), a step (-5m, +90s), first or last"


def is_moment(text: str) -> bool:
    """Whether a text looks like a moment."""
    found = text.strip()
    return found.lower() in {"first", "last"} or any(form.fullmatch(found) for form in (_STEP, _TIME, _DATE))


def parse_moment(text: str, here_ns: int, first_ns: int, last_ns: int) -> int:
    """Parse a moment.

    A time without a date is the latest such time that is not after `last_ns`. Times are in this machine's time zone
    unless the text ends with another (Z, +02:00).

    Args:
        text: as the user writes it.
        here_ns: the moment from which offsets count, in ns since 1970.
        first_ns: what "first" means.
        last_ns: what "last" means.

    Returns:
        Nanoseconds since 1970; it may lie before `first_ns` or after `last_ns`.

    Raises:
        UsageError: the text has none of these forms.
    """
    found = text.strip()
    if found.lower() in {"first", "last"}:
        return first_ns if found.lower() == "first" else last_ns
    step = _STEP.fullmatch(found)
    if step is not None:
        seconds = sum(float(number) * _SECONDS[unit.lower()] for number, unit in _PART.findall(step[2]))
        return here_ns + round((seconds if step[1] == "+" else -seconds) * NS)
    try:
        if _DATE.fullmatch(found):
            return _ns(datetime.fromisoformat(found).astimezone())
        if (match := _TIME.fullmatch(found)) is not None:
            return _time(match, last_ns)
    except (ValueError, OverflowError) as error:
        raise UsageError(f'"{text}" is no time: {error}; {_HELP}') from error
    raise UsageError(f'"{text}" is no time: {_HELP}')


def parse_duration(text: str, option: str = "") -> float:
    """Parse a length of time in seconds: "10s", "1m30s", "2h"; a number alone is in seconds.

    Args:
        text: as it was written.
        option: the option that has the value, such as "--keep", for the message.

    Raises:
        UsageError: the text is no length of time, or is 0.
    """
    step = _STEP.fullmatch(f"+{text.strip()}")
    parts = [] if step is None else _PART.findall(step[2])
    seconds = sum(float(number) * _SECONDS[unit.lower()] for number, unit in parts)
    if not seconds:
        of = f"{option}: " if option else ""
        raise UsageError(f'{of}"{text}" is no length of time above 0: write 10s, 5m, 1h30m')
    return seconds


def parse_span(begin: str, end: str, first_ns: int, last_ns: int) -> tuple[int, int]:
    """Parse the span between two moments.

    A forward offset counts from the first available moment for the beginning, and from the beginning for the end; a
    backward offset counts from the last available moment.

    Args:
        begin: "" for the first available moment.
        end: "" for the last available moment.
        first_ns: the first available moment, in ns since 1970.
        last_ns: the last available moment.

    Returns:
        Beginning and end in ns since 1970; they may lie outside the available span.

    Raises:
        UsageError: a text is no moment, or the span ends before it begins.
    """
    start = _boundary(begin or "first", first_ns, first_ns, last_ns)
    stop = _boundary(end or "last", start, first_ns, last_ns)
    if stop <= start:
        raise UsageError(f'the time from "{begin or "first"}" to "{end or "last"}" ends before it begins')
    return start, stop


def _boundary(text: str, here_ns: int, first_ns: int, last_ns: int) -> int:
    return parse_moment(text, last_ns if text.strip().startswith("-") else here_ns, first_ns, last_ns)


def _time(match: re.Match[str], last_ns: int) -> int:
    date, hours, minutes, seconds, zone = match.groups()
    last = datetime.fromtimestamp(last_ns / NS).astimezone()
    day = date or last.date().isoformat()
    text = f"{day}T{int(hours):02}:{minutes}:{seconds or '00'}"
    moment = datetime.fromisoformat(text + zone.replace("Z", "+00:00")) if zone else datetime.fromisoformat(text)
    if date is None and _ns(moment.astimezone()) > last_ns:
        moment -= timedelta(days=1)
    return _ns(moment.astimezone())


def _ns(moment: datetime) -> int:
    whole = moment.replace(microsecond=0)
    return round(whole.timestamp()) * NS + moment.microsecond * 1000


def time_of_day(moment_ns: int) -> str:
    """Hours, minutes and seconds of a moment in this machine's time zone: "14:03:20"."""
    return datetime.fromtimestamp(moment_ns // NS).astimezone().strftime("%H:%M:%S")


def age(seconds: float) -> str:
    """A length of time in at most two units: "3 min 20 s", "2 h 5 min"."""
    whole = max(0, round(seconds))
    for unit, size, lesser, part in (("d", 86_400, "h", 3_600), ("h", 3_600, "min", 60), ("min", 60, "s", 1)):
        if whole >= size:
            rest = whole % size // part
            return f"{whole // size} {unit}" + (f" {rest} {lesser}" if rest else "")
    return f"{whole} s"
