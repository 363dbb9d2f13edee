from __future__ import annotations

import errno

import pytest
from prochost import machine_of

from turbotui.quantities.signals import Raw, Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.proc_system import LOADAVG, MEMINFO, VMSTAT, ProcLoadavg, ProcMeminfo, ProcVmstat
from turbotui.sources.system_files import SystemFiles

VM_TEXT = """\
nr_free_pages 2040394
pswpin 11
pswpout 22
allocstall_dma 1
allocstall_dma32 2
allocstall_normal 3
allocstall_movable 4
pgmajfault 555
oom_kill 1
swap_ra 9
"""
MEM_TEXT = "MemTotal:        8000000 kB\nMemFree: 1 kB\nMemAvailable:    2000000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n"


def read(source: SystemFiles, path: str, text: str | int) -> dict[str, Raw]:
    _, machine = machine_of({path: text})
    reader = source.open_shared(machine, frozenset(fact.signal for fact in source.facts))
    return {signal: values[0] for signal, values in zip(reader.signals, reader.read(), strict=True)}


def test_stalls_of_all_zones_are_added_up() -> None:
    assert read(ProcVmstat(), VMSTAT, VM_TEXT) == {
        "vm.swap_in": 11, "vm.swap_out": 22, "vm.major_faults": 555, "vm.direct_reclaims": 10, "vm.oom_kills": 1}


def test_kernels_before_4_9_have_one_row_of_stalls() -> None:
    assert read(ProcVmstat(), VMSTAT, "allocstall 7\npswpin 1\n")["vm.direct_reclaims"] == 7


def test_memory_is_given_in_bytes() -> None:
    assert read(ProcMeminfo(), MEMINFO, MEM_TEXT)["mem.available"] == 2_000_000
    signal = ProcMeminfo().probe(machine_of({MEMINFO: MEM_TEXT})[1]).signals["mem.available"]
    assert isinstance(signal, Signal)
    assert signal.value(2_000_000) == 2_048_000_000


def test_load_averages_are_hundredths() -> None:
    assert read(ProcLoadavg(), LOADAVG, "0.02 12.45 690.00 2/100 23803\n") == {
        "load.1": 2, "load.5": 1245, "load.15": 69_000}
    signal = ProcLoadavg().probe(machine_of({LOADAVG: "0.02 12.45 690.00 2/9 1\n"})[1]).signals["load.5"]
    assert isinstance(signal, Signal)
    assert signal.value(1245) == pytest.approx(12.45)


def test_damaged_words_are_unknown() -> None:
    assert read(ProcLoadavg(), LOADAVG, "0.02 nan\n") == {"load.1": 2, "load.5": None, "load.15": None}


def test_a_row_that_this_kernel_lacks_is_named_with_its_release() -> None:
    _, machine = machine_of({VMSTAT: VM_TEXT.replace("oom_kill 1\n", "")})
    absent = ProcVmstat().probe(machine).signals["vm.oom_kills"]
    assert isinstance(absent, Unavailable)
    assert "oom_kill" in absent.detail
    assert "4.13" in absent.remedy


@pytest.mark.parametrize(("source", "path"), [
    (ProcVmstat(), VMSTAT), (ProcMeminfo(), MEMINFO), (ProcLoadavg(), LOADAVG)], ids=lambda one: getattr(one, "id", ""))
def test_a_file_that_is_not_there(source: SystemFiles, path: str) -> None:
    signals = source.probe(machine_of({path: errno.ENOENT})[1]).signals
    assert set(signals) == {fact.signal for fact in source.facts}
    assert {value.reason for value in signals.values() if isinstance(value, Unavailable)} == {Reason.NO_DRIVER}
    assert set(read(source, path, errno.ENOENT).values()) == {None}
