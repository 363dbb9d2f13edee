"""One failed reading decides neither for all CPUs nor for ever."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Final

import pytest
from fakehost import FakeHost
from prochost import Content, ProcHost, machine_of

from turbotui.machine.host import HostError, PerfAttr
from turbotui.machine.machine import Machine
from turbotui.quantities.signals import Raw, Signal, SignalId
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.answers import Answer, ReadRequest
from turbotui.sampling.capabilities import probe_sources
from turbotui.sampling.held_readers import hold
from turbotui.sampling.plan import Task
from turbotui.sampling.workers import Worker
from turbotui.sources.cpufreq import Cpufreq
from turbotui.sources.cpuidle import Cpuidle
from turbotui.sources.energy_bias import EnergyBias
from turbotui.sources.graphics import Graphics
from turbotui.sources.hwmon import Hwmon
from turbotui.sources.perf_generic import PerfSoftware
from turbotui.sources.perf_group import GroupEvent, PerfGroupReader
from turbotui.sources.powercap import Powercap
from turbotui.sources.proc_stat import ProcStat
from turbotui.sources.proc_system import ProcMeminfo
from turbotui.sources.source import Incomplete, Source
from turbotui.sources.sysfs_files import FileReader, ValueFile
from turbotui.sources.thermal_throttle import ThermalThrottle
from turbotui.sources.uncore_frequency import UncoreFrequency

CPU = "/sys/devices/system/cpu"
RAPL = "/sys/class/powercap/intel-rapl:0"
HWMON = "/sys/class/hwmon/hwmon0"
CARD = "/sys/class/drm/card0"
UNCORE = f"{CPU}/intel_uncore_frequency/package_00_die_00"
PASSING: Final = (errno.EAGAIN, errno.EIO, errno.EINVAL, errno.EBUSY, errno.ETIMEDOUT)
LASTING: Final = (errno.EACCES, errno.EPERM, errno.ENODEV)
FILES: Final[Mapping[str, Content]] = {
    **{f"{CPU}/cpu{cpu}/cpufreq/{name}": text for cpu in (0, 1) for name, text in (
        ("scaling_driver", "intel_pstate\n"), ("scaling_cur_freq", "2000000\n"), ("base_frequency", "3000000\n"))},
    **{f"{CPU}/cpu{cpu}/power/energy_perf_bias": "6\n" for cpu in (0, 1)},
    f"{RAPL}/name": "package-0\n", f"{RAPL}/energy_uj": "41\n", f"{RAPL}/max_energy_range_uj": "262143328850\n",
    f"{HWMON}/name": "coretemp\n", f"{HWMON}/temp1_input": "50000\n", f"{HWMON}/temp1_label": "Package id 0\n",
    f"{HWMON}/temp2_input": "41000\n", f"{HWMON}/temp2_label": "Core 0\n",
    f"{CARD}/gt/gt0/rc6_residency_ms": "7\n", f"{CARD}/gt/gt0/rps_act_freq_mhz": "900\n",
    f"{UNCORE}/current_freq_khz": "1800000\n",
}
# Source, signal, the files that fail, and the value afterwards
LATER: Final[tuple[tuple[type[Source], SignalId, tuple[str, ...], Raw], ...]] = (
    (Cpufreq, "cpufreq.cur", tuple(f"{CPU}/cpu{cpu}/cpufreq/scaling_cur_freq" for cpu in (0, 1)), 2_000_000),
    (Cpufreq, "cpufreq.base", tuple(f"{CPU}/cpu{cpu}/cpufreq/base_frequency" for cpu in (0, 1)), 3_000_000),
    (EnergyBias, "epb", tuple(f"{CPU}/cpu{cpu}/power/energy_perf_bias" for cpu in (0, 1)), 6),
    (Powercap, "energy.pkg", (f"{RAPL}/energy_uj",), 41),
    (Hwmon, "temp.pkg", (f"{HWMON}/temp1_input",), 50_000),
    (Hwmon, "temp.core", (f"{HWMON}/temp2_input",), 41_000),
    (Graphics, "gfx.idle", (f"{CARD}/gt/gt0/rc6_residency_ms",), 7),
    (Graphics, "gfx.act", (f"{CARD}/gt/gt0/rps_act_freq_mhz",), 900),
    (UncoreFrequency, "uncore.cur", (f"{UNCORE}/current_freq_khz",), 1_800_000),
)


def value(reader: FileReader, signal: SignalId) -> Raw:
    return dict(zip(reader.signals, reader.read(), strict=True))[signal]


def lacks(reader: Incomplete) -> bool:
    return reader.incomplete


def opened(source: Source, machine: Machine, signal: SignalId, cpu: int = 0) -> FileReader:
    reader = source.open(machine, cpu, frozenset({signal}))
    assert isinstance(reader, FileReader)
    return reader


@pytest.mark.parametrize("number", PASSING)
def test_what_fails_at_first_is_offered_and_has_a_value_when_it_works(number: int) -> None:
    for kind, signal, paths, right in LATER:
        host, machine = machine_of({**FILES, **dict.fromkeys(paths, number)})
        source = kind()
        probe = source.probe(machine)
        assert isinstance(probe.signals[signal], Signal), (signal, probe.signals[signal])
        assert signal in probe.doubtful
        reader = opened(source, machine, signal)
        assert value(reader, signal) is None
        assert reader.incomplete
        host.files.update({path: FILES[path] for path in paths})
        reader.retry()
        assert value(reader, signal) == right, signal
        assert not reader.incomplete


@pytest.mark.parametrize("number", LASTING)
def test_what_fails_for_good_keeps_its_reason(number: int) -> None:
    for kind, signal, paths, _right in LATER:
        probe = kind().probe(machine_of({**FILES, **dict.fromkeys(paths, number)})[1])
        assert isinstance(probe.signals[signal], Unavailable), signal
        assert not probe.doubtful


def test_a_file_that_opens_and_cannot_be_read_at_first() -> None:
    """The kernel opens a file of sysfs whose driver fails to read; a value that is read once waits for its reading."""
    text = ["x"]

    def asked() -> str:
        if text[0] == "x":
            raise HostError(errno.EAGAIN, "read")
        return text[0]

    host = ProcHost({"/a": asked, f"{CPU}/cpu0/online": "1\n"})
    for once in (False, True):
        text[0] = "x"
        reader = FileReader(host, 0, [ValueFile("a", ("/a",), once=once)], inside_cpu=False)
        assert list(reader.read()) == [None]
        assert reader.incomplete is once
        text[0] = "5\n"
        reader.retry()
        assert list(reader.read()) == [5]
        assert not reader.incomplete
        reader.close()
        assert not host.descriptors


def test_one_failing_cpu_does_not_decide_for_the_others() -> None:
    for kind, signal, paths, right in LATER[:3]:
        _, machine = machine_of({**FILES, paths[0]: errno.EIO})
        source = kind()
        probe = source.probe(machine)
        assert isinstance(probe.signals[signal], Signal)
        assert not probe.doubtful
        assert value(opened(source, machine, signal, 1), signal) == right
        assert value(opened(source, machine, signal, 0), signal) is None


def test_an_idle_state_has_the_name_and_latency_that_another_cpu_tells() -> None:
    files: dict[str, Content] = {f"{CPU}/cpu{cpu}/cpuidle/state1/{name}": text for cpu in (0, 1)
                                 for name, text in (("name", "C6-SKX\n"), ("latency", "133\n"), ("usage", "4\n"))}
    files[f"{CPU}/cpu0/cpuidle/state1/name"] = files[f"{CPU}/cpu0/cpuidle/state1/latency"] = errno.EIO
    signals = Cpuidle().probe(machine_of(files)[1]).signals
    name, latency = signals["cpuidle.1.name"], signals["cpuidle.1.latency"]
    assert isinstance(name, Signal)
    assert name.constant == "C6"
    assert isinstance(latency, Signal)


def test_a_masked_folder_of_the_first_cpu_does_not_hide_throttling_of_the_others() -> None:
    host, machine = machine_of({f"{CPU}/cpu1/thermal_throttle/core_throttle_count": "3\n"})
    listed = host.list_dir

    def list_dir(path: str) -> tuple[str, ...]:
        return () if path == f"{CPU}/cpu0/thermal_throttle" else listed(path)

    host.list_dir = list_dir  # type: ignore[method-assign]
    assert isinstance(ThermalThrottle().probe(machine).signals["throttle.core.count"], Signal)


def test_files_of_the_whole_machine_are_offered_too() -> None:
    for source, path in ((ProcStat(), "/proc/stat"), (ProcMeminfo(), "/proc/meminfo")):
        probe = source.probe(machine_of({path: errno.EAGAIN})[1])
        assert probe.doubtful == probe.signals.keys()
        probe = source.probe(machine_of({path: errno.EACCES})[1])
        assert not probe.doubtful


def test_a_source_that_works_is_preferred_to_one_that_may_work_later() -> None:
    _, machine = machine_of({**FILES, **{f"{CPU}/cpu{cpu}/power/energy_perf_bias": errno.EAGAIN for cpu in (0, 1)}})
    alone = probe_sources(machine, [EnergyBias()])
    assert alone.provider["epb"].id == "energy-bias"

    class Works(EnergyBias):
        id = "works"

        def probe(self, machine: Machine):  # type: ignore[no-untyped-def]  # noqa: ANN202
            probe = super().probe(machine)
            return type(probe)(probe.signals)

    assert probe_sources(machine, [EnergyBias(), Works()]).provider["epb"].id == "works"
    assert probe_sources(machine, [Works(), EnergyBias()]).provider["epb"].id == "works"


EVENTS = [GroupEvent(name, PerfAttr(9, config), f"perf x/{name}/") for config, name in enumerate("ab")]


def test_a_pmu_that_another_program_holds_is_tried_again() -> None:
    host = FakeHost(counters={(9, 0): -errno.EBUSY, (9, 1): 100.0})
    reader = PerfGroupReader(host, 0, [EVENTS], frozenset("ab"))
    assert lacks(reader)
    host.advance(1)
    before = dict(zip(reader.signals, reader.read(), strict=True))
    assert before == {"a": None, "b": 100}
    reader.retry()
    assert lacks(reader)
    host.counters[9, 0] = 50.0
    reader.retry()
    assert not lacks(reader)
    host.advance(1)
    assert dict(zip(reader.signals, reader.read(), strict=True)) == {"a": 50, "b": 200}, "b goes on counting"
    reader.close()
    assert not host.open


def test_a_pmu_that_is_held_altogether_says_so_until_it_is_let_go() -> None:
    host = FakeHost(counters={(9, 0): -errno.EBUSY, (9, 1): -errno.EBUSY})
    reader = PerfGroupReader(host, 0, [EVENTS], frozenset("ab"))
    with pytest.raises(HostError, match="EBUSY"):
        reader.read()
    host.counters = {(9, 0): 1.0, (9, 1): 2.0}
    reader.retry()
    assert list(reader.read()) == [0, 0]


def test_software_events_are_offered_while_they_are_held() -> None:
    _, machine = machine_of({})

    class Held(ProcHost):
        def perf_event_open(self, attr: PerfAttr, pid: int, cpu: int, group: int) -> int:
            raise HostError(errno.EBUSY if cpu == 0 else errno.ENOENT, "perf_event_open")

    probe = PerfSoftware().probe(Machine(Held({}), machine.topology, machine.model, machine.platform,
                                         machine.privileges))
    assert all(isinstance(answer, Unavailable) for answer in probe.signals.values()), "another CPU has none"


def test_attempts_become_rarer() -> None:
    """The worker asks an incomplete reader again, with growing gaps, until it is complete."""
    host = ProcHost({"/a": errno.EAGAIN, f"{CPU}/cpu3/online": "1\n"})
    reader = FileReader(host, 3, [ValueFile("a", ("/a",))], inside_cpu=False)
    held = hold(Task(Cpufreq(), 3, frozenset("a")), reader, 0.0)
    gaps = []
    for _ in range(10):
        held.retry(held.retry_at)
        gaps.append(held.gap)
    assert gaps == sorted(gaps)
    assert gaps[-1] == 60.0
    host.files["/a"] = "5\n"
    held.retry(held.retry_at - 0.1)
    assert list(reader.read()) == [None], "it is not time yet"
    held.retry(held.retry_at)
    assert list(reader.read()) == [5]
    assert held.lacking is None


def test_a_worker_asks_again_for_what_could_not_be_opened() -> None:
    host, machine = machine_of({**FILES, f"{CPU}/cpu0/cpufreq/scaling_cur_freq": errno.EAGAIN})
    source = Cpufreq()
    source.probe(machine)
    answers: list[Answer] = []
    work = ReadRequest((Task(source, 0, frozenset({"cpufreq.cur"})),), (), machine, answers.append)
    worker = Worker("cpu0")
    assert [list(raw or ()) for raw in worker._serve(work).readings.raws] == [[None]]
    host.files[f"{CPU}/cpu0/cpufreq/scaling_cur_freq"] = "2000000\n"
    worker._readers["cpufreq", 0].retry_at = 0.0  # as if the time had come
    assert [list(raw or ()) for raw in worker._serve(work).readings.raws] == [[2_000_000]]
    worker._close_all()
    assert not host.descriptors
