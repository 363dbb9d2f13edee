"""Merges what a thread did in several slices, where there are too many to look at each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from operator import itemgetter, sub

from turbotui.machine.perf_records import NOBODY, SWITCH_OUT, Switched, switched


def whole_slices(rows: Sequence[Sequence[int]]) -> Iterator[Switched]:
    """Records of switches with a thread's slices merged, if they start and end among these.

    Each thread then has one slice with the sum of their lengths, at the end of the last one.
    """
    since: dict[tuple[int, int], Sequence[int]] = {}
    ran: dict[tuple[int, int], int] = {}
    last: dict[tuple[int, int], Sequence[int]] = {}
    for words in rows:
        thread = (words[8], words[4])
        if not words[1] & SWITCH_OUT:
            since[thread] = words
        elif thread in since:
            ran[thread] = ran.get(thread, 0) + words[5] - since.pop(thread)[5]
            last[thread] = words
        else:
            yield switched(words)  # it started before these
    for thread, words in last.items():
        yield Switched(words[3], words[4], words[6], out=False, time=words[5] - ran[thread], event=words[8])
        yield switched(words)
    yield from map(switched, since.values())


def by_thread(tids: Sequence[int], columns: Sequence[Sequence[int]],
              before: Sequence[int]) -> list[tuple[int, list[int]]]:
    """Samples of a CPU's counters merged to one sample per thread, with the sum of its slices' counts.

    Args:
        tids: the threads of consecutive samples.
        columns: the counts of these samples, by counter.
        before: the counts of the sample before them.

    Returns:
        The place of each thread's last sample, in order, and counts whose successive differences, starting from
        `before`, are those sums; the last ones are those of the last sample. Slices of threads that have given back
        their numbers are not merged, because they are not one thread.
    """
    places: defaultdict[int, list[int]] = defaultdict(list)
    for place, tid in enumerate(tids):
        places[tid].append(place)
    slices = [[place] for place in places.pop(NOBODY, ())]
    spent = [list(map(sub, column, [count, *column])) for column, count in zip(columns, before, strict=True)]
    total, merged = list(before), []
    for own in sorted([*places.values(), *slices], key=itemgetter(-1)):
        total = [count + sum([column[place] for place in own]) for count, column in zip(total, spent, strict=True)]
        merged.append((own[-1], total))
    return merged
