"""perf sources on the machine that runs the tests; missing features are skipped with the reason."""

from __future__ import annotations

import os
import threading

import pytest

from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.host import PerfAttr
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import Machine, read_machine
from turbotui.machine.pmus import read_pmu
from turbotui.quantities.signals import Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.msr import Msr
from turbotui.sources.perf_cstate import PerfCstate
from turbotui.sources.perf_generic import PerfHardware, PerfSoftware
from turbotui.sources.perf_group import GroupEvent, PerfGroupReader
from turbotui.sources.perf_msr import PerfMsr
from turbotui.sources.perf_power import PerfPower
from turbotui.sources.platform_constants import PlatformConstants
from turbotui.sources.source import Source

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def here() -> Machine:
    return read_machine(LinuxHost())


def wait(seconds: float) -> None:
    threading.Event().wait(seconds)


def test_the_tsc_runs_at_one_rate_on_every_cpu(here: Machine) -> None:
    source = PerfMsr()
    result = source.probe(here).signals["tsc"]
    if isinstance(result, Unavailable):
        pytest.skip(result.sentence())
    bounds = []
    for cpu in here.topology.cpus[:4]:
        reader = source.open(here, cpu, frozenset({"tsc"}))
        outside, before, inside = here.host.now_ns(), reader.read()[0], here.host.now_ns()
        wait(0.2)
        until, after, end = here.host.now_ns(), reader.read()[0], here.host.now_ns()
        reader.close()
        delta = result.delta(before, after)
        assert delta is not None
        # whatever this thread waited for a CPU meanwhile, the time between the readings is between these two
        bounds.append((delta / (end - outside) * 1e9, delta / (until - inside) * 1e9))
    slowest, fastest = max(least for least, _ in bounds), min(most for _, most in bounds)
    assert slowest <= 1.01 * fastest, "one rate fits them all"
    assert 1e8 < slowest < 1e10
    with open("/proc/cpuinfo", encoding="ascii") as cpuinfo:
        shown = next((line.split(":")[1] for line in cpuinfo if line.startswith("cpu MHz")), "")
    if shown and here.model.hypervisor:
        # A guest's kernel shows the TSC's rate where it does not know a frequency.
        assert 0.99 * slowest <= float(shown) * 1e6 <= 1.01 * fastest


def test_software_events_count_and_continue_counting(here: Machine) -> None:
    source = PerfSoftware()
    result = source.probe(here).signals["switches"]
    if isinstance(result, Unavailable):
        pytest.skip(result.sentence())
    cpu = here.topology.cpus[0]
    reader = source.open(here, cpu, frozenset({"switches"}))
    readings: list[int] = []

    def work() -> None:
        here.host.pin_this_thread([cpu])
        for _ in range(3):
            value = reader.read()[0]
            assert isinstance(value, int)
            readings.append(value)
            for _ in range(10):
                wait(0.001)

    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    reader.close()
    assert readings[1] - readings[0] >= 10
    assert readings[2] - readings[1] >= 10


def test_events_of_two_pmus_all_count(here: Machine) -> None:
    pmu = read_pmu(here.host, "msr")
    result = PerfMsr().probe(here).signals["tsc"]
    if pmu is None or isinstance(result, Unavailable):
        pytest.skip("there is no msr/tsc/")
    cpu = here.topology.cpus[0]
    events = [
        GroupEvent("switches", PerfAttr(1, 3), "perf context-switches"),
        GroupEvent("tsc", PerfAttr(pmu.type, 0), "perf msr/tsc/"),
    ]
    reader = PerfGroupReader(here.host, cpu, [events], frozenset({"tsc", "switches"}))
    before = dict(zip(reader.signals, reader.read(), strict=True))

    def sleep_there() -> None:
        here.host.pin_this_thread([cpu])
        wait(0.05)

    sleeper = threading.Thread(target=sleep_there)
    sleeper.start()
    sleeper.join()
    after = dict(zip(reader.signals, reader.read(), strict=True))
    reader.close()
    for name in ("tsc", "switches"):
        older, newer = before[name], after[name]
        assert isinstance(older, int)
        assert isinstance(newer, int)
        assert newer > older, name


@pytest.mark.parametrize(
    "source",
    [PerfMsr(), PerfSoftware(), PerfHardware(), PerfPower(), PerfCstate(), PlatformConstants(), Msr()],
    ids=lambda source: source.id,
)
def test_every_signal_has_an_answer_and_nothing_stays_open(here: Machine, source: Source) -> None:
    before = len(os.listdir("/proc/self/fd"))
    probe = source.probe(here)
    assert len(os.listdir("/proc/self/fd")) == before
    assert probe.signals
    for name, result in probe.signals.items():
        if isinstance(result, Signal):
            assert result.id == name
            assert result.origin
            assert result.document
        else:
            assert result.sentence()


def test_a_guest_without_pmu_and_msr_driver_is_told_so(here: Machine) -> None:
    model: CpuModel = here.model
    if not model.hypervisor or read_pmu(here.host, "cpu") is not None:
        pytest.skip("this is not a guest without a core PMU")
    hardware = PerfHardware().probe(here).signals["instructions"]
    assert isinstance(hardware, Unavailable)
    assert "perf instructions" in hardware.detail
    if hardware.reason is not Reason.NOT_PERMITTED:  # what has a remedy is said first
        assert "no core PMU" in hardware.detail
