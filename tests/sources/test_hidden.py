"""Files that a container or service hides are not called missing drivers or hardware."""

from __future__ import annotations

from dataclasses import replace

from prochost import Content, machine_of
from treehost import TreeHost

from turbotui.machine.machine import Machine
from turbotui.machine.view import MOUNTS, read_view
from turbotui.quantities.signals import Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.capabilities import probe_sources
from turbotui.sources import SOURCES
from turbotui.sources.bases import source_facts

BASE = ("1 0 0:1 / / rw - overlay o rw\n2 1 0:2 / /proc rw - proc proc rw\n3 1 0:3 / /sys ro - sysfs sysfs ro\n"
        "4 1 0:4 / /dev rw - devtmpfs d rw\n")
MASKS = (("/proc/interrupts", "proc-interrupts"), ("/sys/devices/virtual/powercap", "powercap"),
         ("/sys/class/hwmon", "hwmon"), ("/sys/devices/system/cpu/cpu1/thermal_throttle", "thermal-throttle"),
         ("/sys/devices/system/cpu/cpufreq", "cpufreq"), ("/sys/bus/event_source", "perf-hardware"),
         ("/proc/pressure", "proc-pressure"), ("/sys/class/drm", "graphics"),
         ("/sys/devices/system/cpu/intel_uncore_frequency", "uncore-frequency"))
FORBIDDEN = ("modprobe", "mount -t proc", "no driver", "x86 only", "use Linux", "use a kernel")


def machine_behind(mounts: str, files: dict[str, Content] | None = None) -> Machine:
    return replace(machine_of(files or {})[1], view=read_view(TreeHost({MOUNTS: mounts})))


def test_every_source_is_in_the_table() -> None:
    assert {source.id for source in SOURCES} == source_facts().keys()


def test_a_masked_source_is_hidden_and_the_others_keep_their_reasons() -> None:
    for path, source in MASKS:
        line = f"9 {2 if path.startswith('/proc') else 3} 0:9 / {path} ro - tmpfs t ro\n"
        probes = probe_sources(machine_behind(BASE + line), SOURCES).probes
        for name, probe in probes.items():
            for answer in probe.signals.values():
                if name != source or isinstance(answer, Signal):
                    continue
                assert answer.reason is Reason.HIDDEN, (path, answer)
                assert path in answer.detail
                assert "Podman" in answer.remedy
                assert not any(word in answer.sentence() for word in FORBIDDEN), answer
        assert any(isinstance(answer, Unavailable) and answer.reason is not Reason.HIDDEN
                   for answer in probes["pmt"].signals.values()), path


def test_a_service_without_the_files_of_proc_blames_no_driver() -> None:
    mounts = BASE.replace("proc proc rw", "proc proc rw,subset=pid")
    for name, probe in probe_sources(machine_behind(mounts), SOURCES).probes.items():
        for answer in probe.signals.values():
            if name != "own-cgroup" and isinstance(answer, Unavailable) and answer.reason is not Reason.HIDDEN:
                assert not any(word in answer.sentence() for word in FORBIDDEN), (name, answer)


def test_links_that_lead_nowhere_are_hidden_zones() -> None:
    host = TreeHost({"/proc/stat": "cpu0 1\n"}, links={"/sys/class/powercap/intel-rapl": "../nowhere/intel-rapl",
                                                       "/sys/class/powercap/intel-rapl:0": "../nowhere/intel-rapl:0"})
    probe = probe_sources(replace(machine_of({})[1], host=host), SOURCES).probes["powercap"]
    answer = probe.signals["energy.pkg"]
    assert isinstance(answer, Unavailable)
    assert answer.reason is Reason.HIDDEN
    assert "leads nowhere" in answer.detail
    assert not probe.note


def test_what_works_is_not_called_hidden() -> None:
    """The masks of one CPU's folder do not take the signals of the others."""
    files: dict[str, Content] = {f"/sys/devices/system/cpu/cpu{cpu}/cpuidle/state0/{name}": "7\n"
                                 for cpu in (0, 1) for name in ("name", "usage", "time")}
    mask = "9 3 0:9 / /sys/devices/system/cpu/cpu1/cpuidle ro - tmpfs t ro\n"
    signals = probe_sources(machine_behind(BASE + mask, files), SOURCES).probes["cpuidle"].signals
    assert isinstance(signals["cpuidle.0.usage"], Signal)
