"""Hold the times of a CPU against the interval: its states exclude each other, so they add up to it.

More than the interval is impossible: a counter was set, or belongs to another CPU. Less is time that the kernel booked
nowhere: in a guest without steal accounting while the hypervisor ran others, on a CPU of nohz_full until the next
second, over a suspension. Shares divide by the interval then, so that the time that nobody booked belongs to no state.

A kernel books busy time by the state that it finds at a tick, and idle time exactly. The two therefore add up to the
interval only on average: 50 samples of 1 s on a loaded CPU with 250 ticks a second were 113 ms below to 58 ms above it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.arithmetic import Numbers
from turbotui.sampling.differences import Differences, factor_of, scaled

CPU_TIMES: Final[tuple[SignalId, ...]] = tuple(
    f"stat.{name}" for name in ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"))
"""The states of a CPU in /proc/stat (proc_stat(5))."""
GUEST_TIMES: Final[tuple[SignalId, ...]] = ("stat.guest", "stat.guest_nice")
"""Parts of user and nice, booked at the same moments."""
BOOKED: Final[SignalId] = "stat.booked"
"""All states together."""
WHOLE: Final[SignalId] = "stat.whole"
"""What shares of a CPU's time are shares of: all that was booked, or the interval if that is longer."""

_CONSERVED: Final = frozenset((*CPU_TIMES, BOOKED, WHOLE))

_TICKS: Final = 0.02  # s, two ticks of USER_HZ: one for each end
_SAMPLED: Final = 0.13  # s, for an interval of 1 s: four standard deviations of 250 samples; grows with the square root
_READING: Final = 0.1  # s, the longest window of a reading that excuses anything
_IDLE_SHARE, _IDLE_SECONDS = 1.1, 0.02
"""How far idle states may exceed the interval. cpuidle books a period when it ends; the reader runs on the CPU itself
and ends it, but not in a container whose files and CPUs do not agree."""


def booked(interval: Differences) -> Numbers:
    """Seconds that the kernel booked on each CPU; None if one of the states that it has is unknown."""
    return _summed(interval, interval.capabilities.signals[BOOKED].made_of)


def whole(interval: Differences) -> Numbers:
    """`WHOLE` of each CPU in s; None if the times of its states are not believed."""
    # the time that the two readings took together, as far as it excuses anything
    window = min(_READING, sum(end.span_ns for end in (interval.older, interval.newer) if end is not None) * 1e-9)
    wholes: list[float | None] = []
    for time, span in zip(interval.measured(BOOKED), interval.spans(BOOKED), strict=True):
        allowed = slack(span or 0.0, window)
        if not time or not span or time > span + allowed:
            wholes.append(None)
        else:
            wholes.append(span if time < span - allowed else time)
    return wholes


DERIVED: Final[Mapping[SignalId, Callable[[Differences], Numbers]]] = {BOOKED: booked, WHOLE: whole}
"""The increases of counters that are computed from others."""


def slack(span: float, window: float) -> float:
    """Seconds by which the states of a CPU may miss an interval."""
    return _TICKS + window + _SAMPLED * math.sqrt(span)


def _summed(interval: Differences, names: Sequence[SignalId]) -> Numbers:
    """The increases of several counters of one scope and scale, added for each instance; None if one is unknown."""
    rises = [rose for name in names if (rose := interval.rose(name)) is not None]
    if rises and len(rises) == len(names):  # added up as they were read, without their conversion
        return scaled(list(map(sum, zip(*rises, strict=True))), factor_of(interval.capabilities.signals[names[0]]))
    return [None if None in items else math.fsum(cast("Sequence[float]", items))
            for items in zip(*[interval.measured(name) for name in names], strict=True)]


def is_conserved(interval: Differences, name: SignalId) -> bool:
    """Whether a time is held against the interval with the others of its CPU, and needs no bound of its own."""
    return name in _CONSERVED and interval.was_made(BOOKED)


def times_of_kernel(interval: Differences) -> Mapping[SignalId, Mapping[int, Unavailable]]:
    """The states of CPUs whose times in /proc/stat cannot be told apart or cannot be true, all of them."""
    if not interval.was_made(BOOKED):
        return {}
    wholes = interval.measured(WHOLE)
    if None not in wholes:
        return {}
    times, spans = interval.measured(BOOKED), interval.spans(BOOKED)
    unbooked_at = {at: why for at, (whole, time, span) in enumerate(zip(wholes, times, spans, strict=True))
                   if whole is None and (why := _why_not(interval, at, time, span))}
    return dict.fromkeys((*interval.capabilities.signals[BOOKED].made_of, *GUEST_TIMES, BOOKED, WHOLE), unbooked_at)


def _why_not(interval: Differences, at: int, time: float | None, span: float | None) -> Unavailable | None:
    cpu = interval.topology.cpus[at]
    if span is None:
        return None  # not read twice, which is a reason of its own
    if time is None:
        lost = [name for name in interval.capabilities.signals[BOOKED].made_of
                if interval.measured_at(name, (at,))[0] is None]
        return Unavailable(
            Reason.WENT_BACK,
            f"{' and '.join(lost)} of cpu {cpu} went down or is unknown (resume, hot-plug, a migrated guest), and the"
            " other states without it are no share of anything")
    if not time:
        return Unavailable(
            Reason.STANDS_STILL,
            f"/proc/stat booked no time on cpu {cpu} in {span:.3g} s: the kernel does so in ticks of 10 ms, with"
            " nohz_full each second; some sandboxes (gVisor) and a copy of files do not count at all")
    return Unavailable(
        Reason.CONTRADICTED,
        f"/proc/stat booked {time:,.2f} s on cpu {cpu} in {span:.3g} s: a state was set or holds the time before, as"
        " after a resume, when iowait is booked again as idle, or with nohz_full, which books each second")


def unbooked(interval: Differences) -> dict[SignalId, dict[int, str]]:
    """CPUs of which the kernel booked less than the interval, with a sentence for each."""
    if not interval.was_made(BOOKED):
        return {}
    times, wholes = interval.measured(BOOKED), interval.measured(WHOLE)
    lost = {
        at: f"cpu {interval.topology.cpus[at]}: /proc/stat booked {time:.2f} s of {whole:.3g} s; nobody knows what ran"
            " in the rest (a guest without steal accounting, nohz_full, a suspension), which is in no state's share"
        for at, (time, whole) in enumerate(zip(times, wholes, strict=True))
        if time is not None and whole is not None and time < whole
    }
    return dict.fromkeys((*interval.capabilities.signals[BOOKED].made_of, WHOLE), lost) if lost else {}


def times_of_idle_states(interval: Differences) -> Mapping[SignalId, Mapping[int, Unavailable]]:
    """The times of idle states of CPUs on which they add up to more than the interval."""
    signals = interval.capabilities.signals
    names = [name for name in interval.capabilities.idle_times
             if interval.was_read(name) and signals[name].scope is Scope.CPU]
    if not names:
        return {}
    spans = interval.spans(names[0])
    columns = [interval.measured(name) for name in names]
    unavailables: dict[int, Unavailable] = {}
    for at, (span, items) in enumerate(zip(spans, zip(*columns, strict=True), strict=True)):
        total = math.fsum(filter(None, items))
        if span is not None and total > span * _IDLE_SHARE + _IDLE_SECONDS:
            unavailables[at] = Unavailable(
                Reason.CONTRADICTED,
                f"cpuidle booked {total:.3g} s of idle states on cpu {interval.topology.cpus[at]} in {span:.3g} s: it"
                " books a sleep when it ends, and this holds time before the interval, or a counter was set")
    return dict.fromkeys(names, unavailables) if unavailables else {}
