"""Recorded waits of tasks (docs/specs/journal.md 9): columns beside those of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from turbotui.features.tasks.tables import TaskRow
from turbotui.features.tasks.waits import Waits
from turbotui.machine.tasks.run_queue import Waited
from turbotui.recording.framing import DamagedError
from turbotui.recording.reasons import reason_facts, reason_from
from turbotui.recording.said import Said

_TIMES: Final = ("queued", "times", "longest", "pushed", "held", "storage", "asleep")
_WHYS: Final = ("why_no_records", "why_no_wakeups", "why_no_delay")


def waits_facts(rows: Sequence[TaskRow]) -> dict[str, object] | None:
    """The waits of rows as JSON has them; None where nobody asked for them, or not yet."""
    waits = [row.waits for row in rows]
    known = next((one for one in waits if one is not None), None)
    if known is None:
        return None
    waited = [None if one is None else one.waited for one in waits]
    return {
        **{name: [None if one is None else getattr(one, name) for one in waited] for name in _TIMES},
        "delay": [None if one is None else one.delay for one in waits],
        "slices": [None if one is None else one.slices for one in waits],
        "pusher": ["" if one is None else one.pusher for one in waits],
        "sleeping": [None if one is None else one.sleeping for one in waits],
        **{name: reason_facts(getattr(known, name)) for name in _WHYS},
    }


def waits_from(said: Said, count: int) -> list[Waits | None]:
    """The waits of so many rows, of `waits_facts`.

    Raises:
        DamagedError: they are none.
    """
    times = [said[name].values_or_none(int) for name in _TIMES]
    delays, slices = (said[name].values_or_none(int) for name in ("delay", "slices"))
    pushers, sleeping = said["pusher"].values(str), said["sleeping"].values_or_none(str)
    lengths = {*map(len, times), len(delays), len(slices), len(pushers), len(sleeping)}
    if lengths != {count}:
        raise DamagedError(f"{said.where} of the recording has columns of different lengths")
    records, wakeups, delay = (None if (why := said.get(name)) is None else reason_from(why) for name in _WHYS)
    known = Waits(why_no_records=records, why_no_wakeups=wakeups)
    if delay is not None:
        known = replace(known, why_no_delay=delay)
    return [None if asleep is None else replace(
        known, waited=_waited([column[at] for column in times]), delay=delays[at], slices=slices[at],
        pusher=pushers[at], sleeping=asleep) for at, asleep in enumerate(sleeping)]


def _waited(numbers: Sequence[int | None]) -> Waited | None:
    known = [one for one in numbers if one is not None]
    if len(known) < len(numbers):
        return None
    queued, times, longest, pushed, held, storage, asleep = known
    return Waited(queued, times, longest, pushed, held, storage, asleep)
