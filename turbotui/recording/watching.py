"""Events between two snapshots: skipped ticks, a set clock, CPUs that came or went, alerts, spikes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from turbotui.machine import suspend_clock
from turbotui.machine.cpulist import format_cpulist
from turbotui.recording.alerts import Alerts
from turbotui.recording.spikes import Spikes
from turbotui.recording.stream_writer import Event, Gap
from turbotui.sampling.snapshot import Snapshot

_STEP_SECONDS: Final = 0.1  # of the wall clock against the monotonic one: more than an NTP daemon slews in a tick
_SLEW: Final = 0.001  # of the time between two ticks; the kernel slews by 0.05 % at most


class Changes:
    """Compares each snapshot with the one before.

    Args:
        suspended_ns: the time for which this machine has been suspended since it was started.
    """

    def __init__(self, suspended_ns: Callable[[], int] | None = None) -> None:
        self._suspended_ns = suspended_ns or suspend_clock.suspended_ns
        self._suspended = self._suspended_ns()
        self._last: Snapshot | None = None
        self._alerts, self._spikes = Alerts(), Spikes()

    def take(self, snapshot: Snapshot) -> Sequence[Gap | Event]:
        """Events before a snapshot, in the order of telling."""
        before, self._last = self._last, snapshot
        spikes = tuple(self._spikes.take(snapshot))
        if before is None:
            return ()
        wall, started = snapshot.wall_ns, snapshot.started_ns
        found: list[Gap | Event] = []
        slept = self._suspended_ns()
        asleep, self._suspended = (slept - self._suspended) / 1e9, slept
        passed = (started - before.started_ns) / 1e9
        if asleep > _STEP_SECONDS:
            found.append(Gap(wall, started, "suspend", asleep))
        step = (wall - before.wall_ns) / 1e9 - passed
        if abs(step) > max(_STEP_SECONDS, passed * _SLEW):
            found.append(Gap(wall, started, "clock", step))
        if snapshot.overruns > before.overruns:
            found.append(Gap(wall, started, "missed", passed, snapshot.overruns - before.overruns))
        if snapshot.topology is not before.topology:
            found.append(Event(wall, started, "topology", _came_or_went(before, snapshot)))
        texts = (*self._alerts.between(before, snapshot), *spikes)
        found += [Event(wall, started, "alert", text) for text in texts]
        return found


def _came_or_went(before: Snapshot, now: Snapshot) -> str:
    old, new = set(before.topology.cpus), set(now.topology.cpus)
    gone, come = format_cpulist(old - new), format_cpulist(new - old)
    parts = [f"CPUs {gone} went" if gone else "", f"CPUs {come} came" if come else ""]
    return ", ".join(filter(None, parts)) or "the topology changed"
