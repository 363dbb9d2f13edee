from __future__ import annotations

import errno

from fakehost import FakeHost, machine, pmu_files

from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.topology import CpuPlace
from turbotui.quantities.signals import Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.perf_raw import PerfL2

IDS = frozenset({"cache.l2.references", "cache.l2.hits"})
SPR = CpuModel(architecture="x86_64", vendor="GenuineIntel", family=6, model=0x8F)
PANTHER_LAKE = CpuModel(architecture="x86_64", vendor="GenuineIntel", family=6, model=0xCC)
ARROW_LAKE_H = CpuModel(architecture="x86_64", vendor="GenuineIntel", family=6, model=0xC5)
BROADWELL = CpuModel(architecture="x86_64", vendor="GenuineIntel", family=6, model=0x4F)


def hybrid(*names: str) -> dict[str, str | int]:
    files: dict[str, str | int] = {}
    for number, name in enumerate(names):
        files |= pmu_files(name, 4 + number, {"cpus": f"{number}\n"})
    return files


def counted(host: FakeHost, model: CpuModel, cpus: int) -> list[dict[str, object]]:
    here = machine(host, model, [CpuPlace(cpu, 0, 0, 0, 0, cpu, cpu) for cpu in range(cpus)])
    source = PerfL2()
    source.probe(here)
    readers = [source.open(here, cpu, IDS) for cpu in range(cpus)]
    host.advance(1.0)
    return [dict(zip(reader.signals, reader.read(), strict=True)) for reader in readers]


def test_one_kind_of_core_by_the_plain_pmu() -> None:
    host = FakeHost(files=pmu_files("cpu", 4, {}), counters={(4, 0xFF24): 5e6, (4, 0xDF24): 4e6})
    assert counted(host, SPR, 2) == [{"cache.l2.references": 5_000_000, "cache.l2.hits": 4_000_000}] * 2


def test_defect_l2_extended_unit_mask_lost_in_32_bits() -> None:
    host = FakeHost(
        files=hybrid("cpu_core", "cpu_atom"),
        counters={
            (4, 0xFF24): 10.0, (4, 0x5F24): 7.0,
            (5, 0x1 << 40 | 0xFF24): 20.0, (5, 0x1 << 40 | 0xBF24): 16.0,
            (5, 0xFF24): 666.0, (5, 0xBF24): 666.0,  # what 32 bits of the same codes would count
        },
    )  # fmt: skip
    assert counted(host, PANTHER_LAKE, 2) == [
        {"cache.l2.references": 10, "cache.l2.hits": 7},
        {"cache.l2.references": 20, "cache.l2.hits": 16},
    ]


def test_three_kinds_of_core() -> None:
    host = FakeHost(
        files=hybrid("cpu_core", "cpu_atom", "cpu_lowpower"),
        counters={(4, 0xFF24): 1.0, (4, 0x5F24): 2.0, (5, 0x724): 3.0, (5, 0x224): 4.0, (6, 0x24): 5.0,
                  (6, 0x224): 6.0},
    )  # fmt: skip
    result = counted(host, ARROW_LAKE_H, 3)
    assert [tuple(row.values()) for row in result] == [(1, 2), (3, 4), (5, 6)]


def test_a_kind_of_core_that_cannot_count_costs_only_itself() -> None:
    host = FakeHost(
        files=hybrid("cpu_core", "cpu_atom"),
        counters={(4, 0xFF24): 10.0, (4, 0x5F24): 7.0, (5, 0x1 << 40 | 0xFF24): -errno.ENOENT},
    )  # fmt: skip
    here = machine(host, PANTHER_LAKE)
    probe = PerfL2().probe(here)
    assert isinstance(probe.signals["cache.l2.hits"], Signal)
    assert "not on every kind of core" in probe.note


def test_models_without_a_table_row() -> None:
    why = PerfL2().probe(machine(FakeHost(files=pmu_files("cpu", 4, {})), BROADWELL)).signals["cache.l2.hits"]
    assert isinstance(why, Unavailable)
    assert why.reason is Reason.NO_HARDWARE


def test_without_a_pmu() -> None:
    why = PerfL2().probe(machine(FakeHost(), SPR)).signals["cache.l2.hits"]
    assert isinstance(why, Unavailable)


def test_the_group_s_times_scale_it() -> None:
    host = FakeHost(files=pmu_files("cpu", 4, {}), counters={(4, 0xFF24): 5.0, (4, 0xDF24): 4.0})
    signals = PerfL2().probe(machine(host, SPR)).signals
    hits = signals["cache.l2.hits"]
    assert isinstance(hits, Signal)
    assert isinstance(signals[hits.enabled], Signal)
    assert isinstance(signals[hits.running], Signal)
