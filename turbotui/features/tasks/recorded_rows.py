"""Task rows in the recording's layout, by column (docs/specs/journal.md 9)."""

from __future__ import annotations

import functools
import heapq
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from turbotui.features.tasks.loads import SampledLoads
from turbotui.features.tasks.tables import Grouping, TaskRow, with_own_keys
from turbotui.features.tasks.waits import MOST_BEHIND, Waits
from turbotui.machine.cpulist import format_cpulist, parse_cpulist
from turbotui.machine.tasks.load_records import LoadCounts, Served
from turbotui.machine.tasks.parallelism import ParallelTime
from turbotui.machine.tasks.run_queue import WaitSums
from turbotui.quantities.histograms import BUCKETS, Buckets
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.recording.framing import DamagedError
from turbotui.recording.json_values import JsonValue, reason_facts, reason_from, whole

_SUMS: Final = ("timed", "cycles", "squares")


def loads_facts(rows: Sequence[TaskRow]) -> dict[str, object] | None:
    """The sampled loads of rows as JSON; None if they were not requested or not sampled yet."""
    sampled = [row.sampled for row in rows if row.sampled is not None]
    if not sampled:
        return None
    known = next((each for each in sampled if each.counts is not None), sampled[0])
    counts = [None if row.sampled is None else row.sampled.counts for row in rows]
    return {"served": {served.name: [None if each is None else each.served[served] for each in counts]
                       for served in Served},
            **{name: [None if each is None else getattr(each, name) for each in counts] for name in _SUMS},
            "partial": [row.sampled is not None and row.sampled.partial for row in rows],
            "why": reason_facts(known.why)}


def loads_from(stored: JsonValue, count: int) -> list[SampledLoads | None]:
    """Read the loads of that many rows back from the JSON of `loads_facts`. Raises DamagedError if they are none."""
    columns = [stored["served"][served.name].values_or_none(int) for served in Served]
    columns += [stored[name].values_or_none(int) for name in _SUMS]
    stored.expect_columns(count, *columns)
    why = stored.optional("why", reason_from, None)
    if why is not None:
        return [SampledLoads(why=why)] * count
    partial = stored.optional("partial", lambda flags: flags.values(bool), [False] * count)  # of later versions
    stored.expect_columns(count, partial)
    return [_sampled_loads([column[at] for column in columns], partial=partial[at]) for at in range(count)]


def _sampled_loads(numbers: Sequence[int | None], *, partial: bool) -> SampledLoads | None:
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers):
        return None
    *served, timed, cycles, squares = known
    return SampledLoads(LoadCounts(served, timed, cycles, squares), partial=partial)


_PARALLEL: Final = ("ran", "weighed", "crowd", "alone")


def parallel_facts(rows: Sequence[TaskRow]) -> dict[str, object] | None:
    """Who ran beside the rows, as JSON; None if that was not requested or not measured yet."""
    times = [row.parallel for row in rows]
    if all(time is None for time in times):
        return None
    return {name: [None if time is None else round(getattr(time, name)) for time in times] for name in _PARALLEL}


def parallel_from(stored: JsonValue, count: int) -> list[ParallelTime | None]:
    """Read what `parallel_facts` wrote for that many rows. Raises DamagedError if it is none."""
    columns = [stored[name].values_or_none(int) for name in _PARALLEL]
    stored.expect_columns(count, *columns)
    return [None if ran is None or weighed is None or crowd is None or alone is None
            else ParallelTime(ran, weighed, crowd, alone) for ran, weighed, crowd, alone in zip(*columns, strict=True)]


_TIMES: Final = ("queued", "times", "longest", "pushed", "held", "storage", "asleep")
MOST_LENGTHS: Final = 300
"""Rows of each kind whose histograms of waits are kept: those that waited most often."""
_NO_LENGTHS: Final = Unavailable(Reason.NOT_READ, f"the recording has the lengths of the waits of the {MOST_LENGTHS} "
                                 "rows that waited most often alone, and older ones of none")
_PARTIAL, _DELAY_PARTIAL = 1, 2
_WHYS: Final = ("why_no_records", "why_no_wakeups", "why_no_delay")


def waits_facts(rows: Sequence[TaskRow]) -> dict[str, object] | None:
    """The waits of rows as JSON; None if they were not requested or not measured yet."""
    waits = [row.waits for row in rows]
    if all(wait is None for wait in waits):
        return None
    known = next((wait for wait in waits if wait is not None and (wait.waited, wait.delay) != (None, None)),
                 next(wait for wait in waits if wait is not None))
    waited = [None if wait is None else wait.waited for wait in waits]
    return {
        **{name: [None if sums is None else getattr(sums, name) for sums in waited] for name in _TIMES},
        "delay": [None if wait is None else wait.delay for wait in waits],
        "slices": [None if wait is None else wait.slices for wait in waits],
        "pusher": ["" if wait is None else wait.pusher for wait in waits],
        "sleeping": [None if wait is None else wait.sleeping for wait in waits],
        **{name: reason_facts(getattr(known, name)) for name in _WHYS},
        "lost": [None if wait is None else wait.lost for wait in waits],
        "delayed": [None if wait is None or wait.delayed is None else round(1e9 * wait.delayed) for wait in waits],
        "partial": [_PARTIAL * (wait is not None and wait.partial) + _DELAY_PARTIAL * (
            wait is not None and wait.delay_partial) for wait in waits],
        "behind": [[] if wait is None else [list(pushed) for pushed in wait.behind] for wait in waits],
        "lengths": _lengths_facts(waited),
    }


def _lengths_facts(waited: Sequence[WaitSums | None]) -> list[list[int] | None]:
    """Histograms of waits as lists of bucket, count, bucket, count; null beyond the rows that waited most."""
    most = heapq.nlargest(MOST_LENGTHS, ((sums.times, -at) for at, sums in enumerate(waited) if sums is not None))
    kept = {-at for _times, at in most}
    return [None if sums is None or (sums.lengths and at not in kept)
            else [number for pair in sorted(sums.lengths.items()) for number in pair] for at, sums in enumerate(waited)]


def _lengths(numbers: object) -> Buckets:
    """Read a histogram back. Raises DamagedError if it is none."""
    if not isinstance(numbers, list) or len(numbers) % 2 or len(numbers) > 2 * BUCKETS or any(
            type(number) is not int or number < 0 for number in numbers):
        raise DamagedError("a histogram of waits of the recording is none")
    lengths = dict(zip(numbers[::2], numbers[1::2], strict=True))
    if max(lengths, default=0) >= BUCKETS or 2 * len(lengths) != len(numbers):
        raise DamagedError("a histogram of waits of the recording has buckets that there are not")
    return lengths


def _behind(stored: JsonValue) -> tuple[tuple[str, int], ...]:
    """Read back who ran while a row waited. Raises DamagedError if it is none."""
    pairs = [value.items() for value in stored.items()]
    if len(pairs) > MOST_BEHIND or any(len(pair) != 2 for pair in pairs):
        raise DamagedError(f"{stored.where} of the recording does not say who ran during waits")
    return tuple((pair[0].text(), pair[1].integer()) for pair in pairs)


def waits_from(stored: JsonValue, count: int) -> list[Waits | None]:
    """Read the waits of that many rows back from the JSON of `waits_facts`. Raises DamagedError if they are none."""
    times = [stored[name].values_or_none(int) for name in _TIMES]
    delays, slices = (stored[name].values_or_none(int) for name in ("delay", "slices"))
    pushers, sleeping = stored["pusher"].lines(), stored["sleeping"].values_or_none(str)
    stored.expect_columns(count, *times, delays, slices, pushers, sleeping)
    records, wakeups, delay = (stored.optional(name, reason_from, None) for name in _WHYS)
    known = Waits(why_no_records=records, why_no_wakeups=wakeups)
    if delay is not None:
        known = replace(known, why_no_delay=delay)
    # later versions have these five
    histograms = stored.optional("lengths", lambda lengths: lengths.values_or_none(list), [None] * count)
    ran = stored.optional("behind", lambda rows: [_behind(row) for row in rows.items()],
                          [tuple[tuple[str, int], ...]()] * count)
    lost = stored.optional("lost", lambda numbers: numbers.values_or_none(int), [None] * count)
    delayed = stored.optional("delayed", lambda numbers: numbers.values_or_none(int), [None] * count)
    partial = stored.optional("partial", lambda numbers: numbers.values(int), [0] * count)
    stored.expect_columns(count, histograms, ran, lost, delayed, partial)
    waits: list[Waits | None] = []
    for at, asleep in enumerate(sleeping):
        waited, histogram = _waited([column[at] for column in times]), histograms[at]
        if waited is not None and histogram is not None:
            waited.lengths = _lengths(histogram)
        waits.append(None if asleep is None else replace(
            known, waited=waited, delay=delays[at], slices=slices[at], pusher=pushers[at], sleeping=asleep,
            behind=ran[at], lost=lost[at] or 0, partial=bool(partial[at] & _PARTIAL),
            delay_partial=bool(partial[at] & _DELAY_PARTIAL),
            delayed=None if (share := delayed[at]) is None else share / 1e9,
            why_no_lengths=_NO_LENGTHS if histogram is None else None))
    return waits


def _waited(numbers: Sequence[int | None]) -> WaitSums | None:
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers):
        return None
    queued, times, longest, pushed, held, storage, asleep = known
    return WaitSums(queued, times, longest, pushed, held, storage, asleep)


MOST_ROWS: Final = 2_000
"""Rows of each grouping of an application that are kept of an interval: those that ran most."""
_INCOMPLETE, _ENDED, _GUESSED = 1, 2, 4
_LISTS: Final = 4096  # of CPUs that are remembered: most rows are seen on the same ones


def rows_facts(rows: Sequence[TaskRow], names: Sequence[str]) -> dict[str, object]:
    """Task rows as JSON by column; a count that a row does not have is null."""
    columns_of: dict[str, object] = {
        "pid": [row.pid for row in rows], "tid": [row.tid for row in rows], "name": [row.name for row in rows],
        "threads": [row.threads for row in rows], "cpus": [format_cpulist(row.cpus) for row in rows],
        "last_cpu": [row.last_cpu for row in rows], "migrations": [row.migrations for row in rows],
        "whole_run": [row.whole_run for row in rows],
        "flags": [_INCOMPLETE * row.incomplete + _ENDED * row.ended + _GUESSED * row.guessed for row in rows],
        "loads": [{str(cpu): load for cpu, load in row.loads.items()} for row in rows],
        "counts": {name: [row.counts.get(name) for row in rows] for name in names},
    }
    if any(row.estimated for row in rows):
        columns_of["estimated"] = [sorted(row.estimated) for row in rows]
    beside = {"waits": waits_facts(rows), "sampled": loads_facts(rows), "parallel": parallel_facts(rows)}
    return {**columns_of, **{name: facts for name, facts in beside.items() if facts is not None}}


def rows_from(stored: JsonValue, names: Sequence[str], application: str, by: Grouping) -> tuple[TaskRow, ...]:
    """Read an application's task rows of a kind, with counts of these names, back from the JSON of `rows_facts`.

    Raises:
        DamagedError: they are none.
    """
    pids, tids = stored["pid"].values_or_none(int), stored["tid"].values_or_none(int)
    texts, lists = stored["name"].lines(), stored["cpus"].lines()
    threads, last, migrations, flags = (
        stored[name].values(int) for name in ("threads", "last_cpu", "migrations", "flags"))
    run = stored["whole_run"].values_or_none(int)
    loads, counts = stored["loads"].values(dict), {name: stored["counts"][name].values_or_none(int) for name in names}
    many = len(pids)
    if many > MOST_ROWS:
        raise DamagedError(f"{stored.where} of the recording has {many:,} rows, and none has more than {MOST_ROWS:,}")
    marked = stored.optional("estimated", _texts, [frozenset[str]()] * many)
    waited = stored.optional("waits", lambda waits: waits_from(waits, many), [None] * many)
    served = stored.optional("sampled", lambda loads: loads_from(loads, many), [None] * many)
    weighed = stored.optional("parallel", lambda times: parallel_from(times, many), [None] * many)
    stored.expect_columns(many, tids, texts, lists, threads, last, migrations, run, flags, loads, marked,
                          *counts.values())
    rows = [
        TaskRow(pids[at], tids[at], texts[at], threads[at], _cpus(lists[at]), last[at],
                {name: count for name, column in counts.items() if (count := column[at]) is not None}, migrations[at],
                _loads(loads[at]), run[at], bool(flags[at] & _INCOMPLETE), bool(flags[at] & _ENDED),
                application=application, by=by, guessed=bool(flags[at] & _GUESSED), estimated=marked[at],
                waits=waited[at], sampled=served[at], parallel=weighed[at])
        for at in range(many)]
    return tuple(with_own_keys(rows) if by is Grouping.THREAD else rows)


def _texts(stored: JsonValue) -> list[frozenset[str]]:
    """Lists of names as JSON, equal lists stored once."""
    known: dict[str, frozenset[str]] = {}
    texts = []
    for lengths in stored.values(list):
        key = repr(lengths)
        if key not in known:
            known[key] = frozenset(JsonValue(lengths, stored.where).lines())
        texts.append(known[key])
    return texts


def _loads(by_cpu: Mapping[str, object]) -> dict[int, int]:
    loads = {whole(cpu): load for cpu, load in by_cpu.items() if type(load) is int}
    if len(loads) != len(by_cpu):
        raise DamagedError("the loads of CPUs of the recording are no numbers")
    return loads


@functools.lru_cache(_LISTS)
def _cpus(text: str) -> tuple[int, ...]:
    try:
        return tuple(sorted(parse_cpulist(text))) if text else ()
    except ValueError:
        raise DamagedError(f"CPUs of the recording are none: {text[:40]!r}") from None
