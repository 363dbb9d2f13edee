"""Alerts of recordings: what begins between two snapshots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import pytest
from made_frames import topology_of_cpus

from turbotui.machine.topology import Topology
from turbotui.quantities.signals import Raw, SignalId
from turbotui.recording.event_detection import Alerts, Changes
from turbotui.sampling.snapshot import Snapshot

FOUR = topology_of_cpus(range(4))  # two cores of two CPUs


def told(*ticks: Mapping[SignalId, Sequence[Raw]]) -> list[list[str]]:
    """What is told at each tick after the first."""
    alerts = Alerts()
    snapshots = [Snapshot(number, number, number, FOUR, values, {}) for number, values in enumerate(ticks)]
    return [list(alerts.between(before, now)) for before, now in pairwise(snapshots)]


def counts(*cores: int | None) -> Mapping[SignalId, Sequence[Raw]]:
    return {"throttle.core.count": cores}


def test_throttling_is_reported_when_it_begins_and_again_when_it_begins_again() -> None:
    assert told(counts(5, 5), counts(5, 5), counts(5, 6), counts(5, 9), counts(5, 9), counts(6, 10)) == [
        [], ["throttled for heat: 1 of 2 cores, from CPU 2 on"], [], [], ["throttled for heat: all cores"]]


@pytest.mark.parametrize("newer", [counts(None, 5), counts(4, 4), {}])
def test_what_is_unknown_or_goes_back_is_no_throttling(newer: Mapping[SignalId, Sequence[Raw]]) -> None:
    assert told(counts(5, 5), newer) == [[]]


def test_a_governor_that_changes_is_reported_with_its_cpus() -> None:
    slow, fast = ("powersave",) * 4, ("powersave", "performance", "performance", None)
    assert told({"cpufreq.governor": slow}, {"cpufreq.governor": fast}) == [
        ["governor powersave became performance: CPUs 1-2"]]
    assert told({"cpufreq.governor": slow}, {"cpufreq.governor": slow}) == [[]]


def test_counters_that_are_lost_are_reported_once() -> None:
    alerts = Alerts()
    fine = Snapshot(0, 0, 0, FOUR, {}, {})
    lost = Snapshot(1, 1, 1, FOUR, {}, {}, failures={("msr", 1): "EIO", ("msr", 2): "EIO", ("files", -1): "ENOENT"})
    assert list(alerts.between(fine, lost)) == ["counters lost: files", "counters lost: msr of CPUs 1-2"]
    assert list(alerts.between(lost, lost)) == []


def test_a_changed_topology_is_reported_as_such_and_alerts_are_events() -> None:
    def changes(topology: Topology, values: Sequence[int]) -> list[tuple[str, str]]:
        result = Changes(lambda: 0)
        result.take(Snapshot(0, 0, 0, FOUR, counts(5, 5), {}))
        snapshot = Snapshot(1, 10**9, 10**9, topology, {"throttle.core.count": values}, {})
        return [(getattr(item, "kind", "gap"), getattr(item, "text", "")) for item in result.take(snapshot)]

    assert changes(FOUR, (6, 6)) == [("alert", "throttled for heat: all cores")]
    assert changes(topology_of_cpus(range(2)), (6,)) == [("topology", "CPUs 2-3 went")]
