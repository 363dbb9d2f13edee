from __future__ import annotations

import errno

import pytest
from fakehost import FakeHost, machine
from hypothesis import given
from hypothesis import strategies as st

from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.topology import CpuPlace
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Raw, Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.pmt import CLASS, Pmt, find_regions

METEOR_LAKE = CpuModel(architecture="x86_64", vendor="GenuineIntel", family=6, model=0xAA)
CLEARWATER = CpuModel(architecture="x86_64", vendor="GenuineIntel", family=6, model=0xDD)
CRYSTAL = {0: (0x20, 0, 0, 0), 0x15: (2, 140, 38_400_000, 0)}


def region(number: int, guid: int, words: dict[int, int], size: int = 32768) -> dict[str, str | int]:
    data = bytearray(size)
    for offset, value in words.items():
        data[offset : offset + 8] = value.to_bytes(8, "little")
    base = f"{CLASS}/telem{number}"
    return {f"{base}/guid": f"{guid:#x}\n", f"{base}/size": f"{size}\n", f"{base}/offset": "0\n",
            f"{base}/telem": data.decode("latin-1")}  # fmt: skip


def clearwater(cpus: int, words: dict[int, dict[int, int]]) -> tuple[FakeHost, Pmt, list[list[Raw]]]:
    files: dict[str, str | int] = {}
    for number, content in words.items():
        files |= region(number, 0x14421519, content)
    host = FakeHost(files=files)
    here = machine(host, CLEARWATER, [CpuPlace(cpu, 0, 0, 0, 0, cpu // 4, cpu) for cpu in range(cpus)])
    source = Pmt()
    read = [list(source.open(here, cpu, frozenset({"pmt.module.c1e"})).read()) for cpu in range(cpus)]
    return host, source, read


def test_die_c6_counts_crystal_ticks() -> None:
    files = {**region(2, 0x999, {120: 1}), **region(10, 0x1A067102, {120: 7}), "/dev/cpu/0/cpuid": ""}
    here = machine(FakeHost(files=files, leaves=CRYSTAL), METEOR_LAKE)
    source = Pmt()
    signal = source.probe(here).signals["pmt.die.c6"]
    assert isinstance(signal, Signal)
    assert signal.scope is Scope.PACKAGE
    assert signal.delta(0, 19_200_000) == pytest.approx(0.5)
    assert list(source.open(here, 0, frozenset({"pmt.die.c6"})).read()) == [7]


def test_module_c1e_walks_modules_and_then_files_in_numeric_order() -> None:
    words = {
        2: {20936: 100, 20936 + 24 * 11: 111},
        10: {20936: 200},
    }
    _, _, read = clearwater(52, words)
    assert [row[0] for row in read[:4]] == [100] * 4
    assert [row[0] for row in read[44:48]] == [111] * 4
    assert [row[0] for row in read[48:52]] == [200] * 4  # the last CPUs too: an older turbostat skipped them


def test_a_cpu_without_a_region_has_no_value() -> None:
    _, _, read = clearwater(52, {2: {20936: 100}})
    assert read[51] == [None]


@given(st.integers(0, 2**64 - 1))
def test_defect_pmt_mask_of_32_bits_words_keep_all_64(value: int) -> None:
    _, _, read = clearwater(1, {0: {20936: value}})
    assert read == [[value]]


def test_defect_pmt_integer_division_a_fraction_of_a_second_counts() -> None:
    host, source, _ = clearwater(4, {0: {20936: 0}})
    here = machine(host, CLEARWATER)
    signal = source.probe(here).signals["pmt.module.c1e"]
    assert isinstance(signal, Signal)
    assert signal.delta(0, 400_000_000) == pytest.approx(0.5)  # of 800 MHz; whole seconds only would be 0


def test_regions_are_in_numeric_order_and_need_a_guid() -> None:
    files = {**region(10, 3, {}, 16), **region(9, 2, {}, 16), **region(0, 1, {}, 16), f"{CLASS}/telem1/guid": "what\n"}
    assert [find_region.guid for find_region in find_regions(FakeHost(files=files))] == [1, 2, 3]


def test_a_region_too_small_for_the_counter() -> None:
    host = FakeHost(files={**region(0, 0x1A067102, {}, 64), "/dev/cpu/0/cpuid": ""}, leaves=CRYSTAL)
    why = Pmt().probe(machine(host, METEOR_LAKE)).signals["pmt.die.c6"]
    assert isinstance(why, Unavailable)
    assert why.reason is Reason.NO_HARDWARE


def test_root_only() -> None:
    files = {**region(0, 0x1A067102, {}), "/dev/cpu/0/cpuid": "", f"{CLASS}/telem0/telem": errno.EACCES}
    why = Pmt().probe(machine(FakeHost(files=files, leaves=CRYSTAL), METEOR_LAKE)).signals["pmt.die.c6"]
    assert isinstance(why, Unavailable)
    assert (why.reason, why.remedy) == (Reason.NOT_PERMITTED, "run as root")


def test_without_a_crystal_there_is_no_time() -> None:
    host = FakeHost(files=region(0, 0x1A067102, {}))
    why = Pmt().probe(machine(host, METEOR_LAKE)).signals["pmt.die.c6"]
    assert isinstance(why, Unavailable)
    assert why.remedy == "modprobe cpuid"


def test_without_regions() -> None:
    why = Pmt().probe(machine(FakeHost(), METEOR_LAKE)).signals["pmt.die.c6"]
    assert isinstance(why, Unavailable)
    assert why.reason is Reason.NO_DRIVER


def test_everything_is_closed() -> None:
    host, source, _ = clearwater(1, {0: {20936: 1}})
    here = machine(host, CLEARWATER)
    held = len(host.open)
    reader = source.open(here, 0, frozenset({"pmt.module.c1e"}))
    assert len(host.open) - held == source.descriptors(frozenset({"pmt.module.c1e"}), 1)
    reader.close()
    source.probe(here)
    assert len(host.open) == held
