"""Parse moments as people write them: a time of day, a date with a time, or an offset from another moment."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from turbotui.errors import UsageError

NS: Final = 1_000_000_000
_DAY_NS: Final = 86_400 * NS
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
    stripped = text.strip()
    return stripped.lower() in {"first", "last"} or any(form.fullmatch(stripped) for form in (_STEP, _TIME, _DATE))


def parse_moment(text: str, here_ns: int, first_ns: int, last_ns: int) -> int:
    """Parse a moment.

    A time without a date is the latest such time that is not after `last_ns`. Times are in this machine's time zone
    unless the text ends with another (Z, +02:00). Of the two moments of a local time in the hour that comes twice in
    autumn, the one between `first_ns` and `last_ns` is meant.

    Args:
        text: as the user writes it.
        here_ns: the moment from which offsets count, in ns since 1970.
        first_ns: what "first" means.
        last_ns: what "last" means.

    Returns:
        Nanoseconds since 1970; it may lie before `first_ns` or after `last_ns`.

    Raises:
        UsageError: the text has none of these forms, or both moments of a local time are possible.
    """
    stripped = text.strip()
    if stripped.lower() in {"first", "last"}:
        return first_ns if stripped.lower() == "first" else last_ns
    if (step := _STEP.fullmatch(stripped)) is not None:
        seconds = sum(float(number) * _SECONDS[unit.lower()] for number, unit in _PART.findall(step[2]))
        return here_ns + round((seconds if step[1] == "+" else -seconds) * NS)
    try:
        if _DATE.fullmatch(stripped):
            return _local(datetime.fromisoformat(stripped), text, first_ns, last_ns)
        if (match := _TIME.fullmatch(stripped)) is not None:
            return _time(match, text, first_ns, last_ns)
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

    Returns:
        Beginning and end in ns since 1970; one of them may lie outside the available span.

    Raises:
        UsageError: a text is no moment, the span ends before it begins, or it lies outside the available one.
    """
    if not begin and not end:  # of one reading, too, which begins and ends at the same moment
        return first_ns, last_ns
    start = _boundary(begin or "first", first_ns, first_ns, last_ns)
    stop = _boundary(end or "last", start, first_ns, last_ns)
    span = f'the time from "{begin or "first"}" to "{end or "last"}"'
    outside = stop < first_ns or start > last_ns
    if stop <= start and ((begin and end) or not outside):
        if stop == start:
            raise UsageError(f"{span} has no length: both are {time_of_day(start)}; begin earlier (-5m) or end later")
        raise UsageError(f"{span} ends before it begins: {time_of_day(start)} to {time_of_day(stop)}")
    if outside:
        raise _outside(span, first_ns, last_ns, before=stop < first_ns)
    return start, stop


def parse_start(text: str, first_ns: int, last_ns: int) -> int:
    """Parse the moment at which to begin.

    Raises:
        UsageError: the text is no moment, or it lies outside the available span.
    """
    start = parse_moment(text, first_ns, first_ns, last_ns)
    if not first_ns <= start <= last_ns:
        raise _outside(f'"{text}"', first_ns, last_ns, before=start < first_ns)
    return start


def _outside(what: str, first_ns: int, last_ns: int, *, before: bool) -> UsageError:
    there = " to ".join(f"{local_time(moment_ns):%Y-%m-%d %H:%M:%S}" for moment_ns in (first_ns, last_ns))
    return UsageError(f"{what} lies {'before' if before else 'after'} what was recorded: {there}")


def _boundary(text: str, here_ns: int, first_ns: int, last_ns: int) -> int:
    return parse_moment(text, last_ns if text.strip().startswith("-") else here_ns, first_ns, last_ns)


def _time(match: re.Match[str], text: str, first_ns: int, last_ns: int) -> int:
    date, hours, minutes, seconds, zone = match.groups()
    clock = f"{int(hours):02}:{minutes}:{seconds or '00'}"
    if date is not None and zone:
        return _ns(datetime.fromisoformat(f"{date}T{clock}{zone.replace('Z', '+00:00')}"))
    if date is not None:
        return _local(datetime.fromisoformat(f"{date}T{clock}"), text, first_ns, last_ns)
    today = datetime.fromisoformat(f"{local_time(last_ns).date().isoformat()}T{clock}")
    if zone:
        moment = _ns(datetime.fromisoformat(f"{today.isoformat()}{zone.replace('Z', '+00:00')}"))
        return last_ns - (last_ns - moment) % _DAY_NS  # today there may be yesterday or tomorrow here
    day = today if min(_moments(today), default=last_ns + 1) <= last_ns else today - timedelta(days=1)
    return _local(day, text, first_ns, last_ns)


def _local(moment: datetime, text: str, first_ns: int, last_ns: int) -> int:
    """The moment at which local clocks show a time; of two, the one between `first_ns` and `last_ns`."""
    moments = _moments(moment)
    there = [moment_ns for moment_ns in moments if first_ns <= moment_ns <= last_ns] or moments[:1]
    if len(there) > 1:
        both = " or ".join(local_time(moment_ns).isoformat(" ") for moment_ns in there)
        raise UsageError(f'"{text}" came twice here, as the clocks were put back: write {both}')
    if not there:
        raise UsageError(f'"{text}" never was a time here: the clocks were put forward over it')
    return there[0]


def _moments(moment: datetime) -> list[int]:
    """Every moment at which local clocks show a time: one, two in autumn, none in spring."""
    shown = moment.replace(microsecond=0)
    possible = {_ns(moment), _ns(moment.replace(fold=1)), _ns(moment.replace(tzinfo=UTC))}
    return sorted(moment_ns for moment_ns in possible if local_time(moment_ns).replace(tzinfo=None, fold=0) == shown)


def _ns(moment: datetime) -> int:
    return round(moment.replace(microsecond=0).timestamp()) * NS + moment.microsecond * 1000


def local_time(moment_ns: int) -> datetime:
    """A moment in this machine's time zone, in whole seconds; in UTC if that is a day or more away from it."""
    moment = datetime.fromtimestamp(moment_ns // NS, UTC)
    try:
        return moment.astimezone()
    except ValueError:  # POSIX allows TZ=UTC+24, whose offset datetime cannot hold
        return moment


def time_of_day(moment_ns: int) -> str:
    """Hours, minutes and seconds of a moment in this machine's time zone: "14:03:20"."""
    return f"{local_time(moment_ns):%H:%M:%S}"


def age(seconds: float) -> str:
    """A length of time in at most two units: "3 min 20 s", "2 h 5 min"."""
    whole = max(0, round(seconds))
    for unit, size, lesser, part in (("d", 86_400, "h", 3_600), ("h", 3_600, "min", 60), ("min", 60, "s", 1)):
        if whole >= size:
            rest = whole % size // part
            return f"{whole // size} {unit}" + (f" {rest} {lesser}" if rest else "")
    return f"{whole} s"
