from __future__ import annotations

import errno

from fakehost import FakeHost, machine, pmu_files

from turbotui.machine.cpumodel import CpuModel
from turbotui.quantities.signals import Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.perf_raw import PerfLicence

IDS = frozenset({"licence.0", "licence.1", "licence.2"})
ICELAKE = CpuModel(architecture="x86_64", vendor="GenuineIntel", family=6, model=0x6A)
SAPPHIRE = CpuModel(architecture="x86_64", vendor="GenuineIntel", family=6, model=0x8F)
COUNTS = {(4, 0x0728): 5e6, (4, 0x1828): 3e6, (4, 0x2028): 2e6}


def test_cycles_of_each_schedule_with_the_group_s_times() -> None:
    host = FakeHost(files=pmu_files("cpu", 4, {}), counters=COUNTS)
    here = machine(host, ICELAKE)
    source = PerfLicence()
    signals = source.probe(here).signals
    assert all(isinstance(signals[name], Signal) for name in (*IDS, "perf.hw.licence.enabled"))
    reader = source.open(here, 0, IDS)
    host.advance(1.0)
    read = dict(zip(reader.signals, reader.read(), strict=True))
    assert [read[name] for name in sorted(IDS)] == [5_000_000, 3_000_000, 2_000_000]


def test_a_processor_whose_events_mean_something_else() -> None:
    why = PerfLicence().probe(machine(FakeHost(files=pmu_files("cpu", 4, {}), counters=COUNTS), SAPPHIRE)).signals
    assert {type(why[name]) for name in IDS} == {Unavailable}
    assert all(isinstance(item, Unavailable) and item.reason is Reason.NO_HARDWARE for item in why.values())


def test_without_a_pmu_and_with_events_that_are_refused() -> None:
    for host in (FakeHost(), FakeHost(files=pmu_files("cpu", 4, {}), counters=dict.fromkeys(COUNTS, -errno.ENOENT))):
        probe = PerfLicence().probe(machine(host, ICELAKE))
        assert all(isinstance(signal, Unavailable) for signal in probe.signals.values())
