"""Spikes: reported once if the whole machine did much more than in the minute before."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence

from made_frames import NOON, SECOND, topology_of_cpus

from turbotui.machine.topology import Topology
from turbotui.quantities.signals import Raw, SignalId
from turbotui.recording.event_detection import Changes, Spikes
from turbotui.recording.stream_writer import Event
from turbotui.sampling.snapshot import Snapshot

TWO = topology_of_cpus(range(2))


def told(columns: Iterable[Mapping[SignalId, Sequence[Raw]]], topologies: Mapping[int, Topology] | None = None,
         ) -> dict[int, list[str]]:
    """Return the reported spikes by the number of the second."""
    spikes, result = Spikes(), dict[int, list[str]]()
    for number, values in enumerate(columns):
        topology = (topologies or {}).get(number, TWO)
        texts = list(spikes.take(Snapshot(number, NOON + number * SECOND, number * SECOND, topology, values, {})))
        if texts:
            result[number] = texts
    return result


def counted(name: SignalId, rates: Iterable[int]) -> list[Mapping[SignalId, Sequence[Raw]]]:
    """A counter of two CPUs that grow by half of each rate in the seconds behind the first."""
    result: list[Mapping[SignalId, Sequence[Raw]]] = [{name: [0, 7]}]
    whole = 0
    for rate in rates:
        whole += rate // 2
        result.append({name: [whole, whole + 7]})
    return result


def test_a_burst_of_interrupts_is_reported_once_and_what_continues_is_not() -> None:
    noise = random.Random(1)
    rates = [2000 + noise.randrange(300) for _ in range(40)]
    assert told(counted("irq.total", rates)) == {}
    [(number, [text])] = told(counted("irq.total", [*rates, 20_000, 21_000, *rates[:10]])).items()
    assert number == 41
    assert text.startswith("spike of interrupts: 9.")
    assert text.endswith(" times the median of before")
    assert list(told(counted("irq.total", [*rates, *[20_000] * 100]))) == [41]


def test_little_is_no_spike_however_much_more_it_is_and_the_beginning_is_none() -> None:
    assert told(counted("irq.total", [*[10] * 40, 1500])) == {}
    assert told(counted("irq.total", [*[10] * 15, 90_000])) == {}
    assert told(counted("irq.total", [*[0] * 40, 90_000])) == {41: ["spike of interrupts: none before"]}


def test_energy_and_cpu_time_have_spikes_by_their_own_measure() -> None:
    assert list(told(counted("energy.pkg", [*[500, 520] * 20, 1200]))) == [41]
    assert told(counted("energy.pkg", [*[500, 520] * 20, 900])) == {}
    seconds = [{"stat.idle": [100 * at, 100 * at], "stat.user": [at, at]} for at in range(40)]
    last = {"stat.idle": [3900 + 20, 3900 + 20], "stat.user": [39 + 80, 39 + 80]}
    [text] = told([*seconds, last])[40]
    assert text.startswith("spike of CPU time: 80.")
    lazy = {"stat.idle": [3900 + 85, 3900 + 85], "stat.user": [39 + 15, 39 + 15]}
    assert told([*seconds, lazy]) == {}, "15 % of the time is not much"


def test_what_is_unknown_or_begins_again_or_is_of_other_cpus_is_left_out() -> None:
    usual = counted("irq.total", [2000] * 40)
    assert told([*usual, {"irq.total": [None, 10**6]}, {"irq.total": [10**6, 10**6]}, {}]) == {}
    assert told([*usual, {"irq.total": [0, 0]}, {"irq.total": [1000, 1000]}]) == {}
    assert told([*usual, {"irq.total": [10**6, 10**6]}], {41: topology_of_cpus(range(2))}) == {}


def test_they_are_events_beside_alerts() -> None:
    changes = Changes(lambda: 0)
    result = [item for number, values in enumerate(counted("switches", [*[2000, 2200] * 20, 50_000]))
              for item in changes.take(Snapshot(number, NOON + number * SECOND, number * SECOND, TWO, values, {}))]
    assert [(item.kind, item.text) for item in result if isinstance(item, Event)] == [
        ("alert", "spike of switches: 23.8 times the median of before")]
