"""Values of filters as people write them, and names of PCI devices as lspci shows them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from uncoretree import EIGHT, INTEL_INFO, machine

from turbotui.events.uncore.fields import fields_of, read_value, settings_in_words
from turbotui.events.uncore.pci_names import PciDevice, names_of, parse_ids
from turbotui.features.uncore.kinds import can_count
from turbotui.machine.linux import LinuxHost
from turbotui.machine.pmus import EventError, Pmu, read_pmu
from turbotui.simulated import ManualClock, simulated_host


def pmu_of(shape: str, name: str) -> Pmu:
    pmu = read_pmu(simulated_host(shape, ManualClock()), name)
    assert pmu is not None
    return pmu


PCIE = pmu_of("vera-2s", "nvidia_pcie_pmu_0_rc_1")
FIELDS = {field.name: field for field in fields_of(PCIE)}


def test_every_field_of_every_nvidia_pmu_has_a_meaning() -> None:
    for shape in ("vera-2s", "grace-2s"):
        host = simulated_host(shape, ManualClock())
        for name in host.list_dir("/sys/bus/event_source/devices"):
            if name.startswith("nvidia_"):
                for field in fields_of(pmu_of(shape, name)):
                    assert field.meaning.part != "other", (name, field.name)


def test_what_selects_an_event_is_no_filter(tmp_path: Path) -> None:
    host = machine(
        tmp_path, {"uncore_cha_0": {**EIGHT, "format/tid_en": "config:16", "cpumask": "0"}}, INTEL_INFO, ((0,),)
    ).host
    pmu = read_pmu(host, "uncore_cha_0")
    assert pmu is not None
    assert [field.name for field in fields_of(pmu)] == ["tid_en"]


def test_a_name_that_would_end_its_quotation_is_not_counted(tmp_path: Path) -> None:
    events = {"events/clockticks": "event=0x1", "events/x' * 1000 + 'clockticks": "event=0x1",
              "events/y'{`": "event=0x1"}
    result = machine(tmp_path, {"uncore_cha_0": {**EIGHT, **events, "cpumask": "0"}}, INTEL_INFO, ((0,),))
    pmu = read_pmu(result.host, "uncore_cha_0")
    assert pmu is not None
    assert len(pmu.events) == 3
    assert [name for name in pmu.events if can_count(pmu, name)] == ["clockticks"]


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ("src_rp_mask", "0x3", 3), ("src_rp_mask", " 255 ", 255), ("src_rp_mask", "", 0), ("src_rp_mask", "—", 0),
        ("src_bdf", "27:01.1", 0x2709), ("src_bdf", "0005:c1:00.0", 0xC100), ("src_bdf", "0x2709", 0x2709),
        ("dst_rem", "on", 1), ("dst_rem", "off", 0), ("dst_rem", "1", 1),
    ],
)  # fmt: skip
def test_values(field: str, text: str, value: int) -> None:
    assert read_value(PCIE, FIELDS[field], text) == value


@given(st.sampled_from(sorted(FIELDS)), st.text(max_size=24))
def test_any_text_is_a_value_or_one_error(name: str, text: str) -> None:
    try:
        value = read_value(PCIE, FIELDS[name], text)
    except EventError:
        return
    assert 0 <= value < 1 << FIELDS[name].width


def test_values_said() -> None:
    assert settings_in_words(PCIE, {"src_rp_mask": 0b101,
                                    "dst_rem": 1}) == "src_rp_mask 0x5 = root port 0, 2, dst_rem on"
    assert settings_in_words(PCIE, {"src_bdf": 0x2709}) == "src_bdf 0x2709 = 27:01.1"
    assert settings_in_words(PCIE, {}) == ""


IDS = """#
15b3  Mellanox Technologies
\t1023  CX8 Family [ConnectX-8]
\t\t15b3 0001  A counters
\t1024  Another one
10de  NVIDIA Corporation
\t22d0  A bridge
C 02  Network controller
\t00  Ethernet controller
C 06  Bridge
\t04  PCI bridge
\t\t00  Normal decode
"""


def test_names_from_the_list_of_ids(tmp_path: Path) -> None:
    files = {
        "sys/bus/pci/devices/0001:01:00.0/vendor": "0x15b3",
        "sys/bus/pci/devices/0001:01:00.0/device": "0x1023",
        "sys/bus/pci/devices/0001:01:00.0/class": "0x020000",
        "sys/bus/pci/devices/0001:02:00.0/vendor": "0x10de",
        "sys/bus/pci/devices/0001:02:00.0/device": "0xffff",
        "sys/bus/pci/devices/0001:02:00.0/class": "0x060400",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n", encoding="utf-8")
    host = LinuxHost(str(tmp_path))
    asked = ("0001:01:00.0", "0001:02:00.0", "0001:03:00.0")
    assert names_of(host, asked) == {
        "0001:01:00.0": "0001:01:00.0 15b3:1023",
        "0001:02:00.0": "0001:02:00.0 10de:ffff",
    }
    ids = tmp_path / "usr/share/misc/pci.ids"
    ids.parent.mkdir(parents=True)
    ids.write_text(IDS, encoding="utf-8")
    assert names_of(host, asked) == {
        "0001:01:00.0": "0001:01:00.0 Ethernet controller: Mellanox Technologies CX8 Family [ConnectX-8]",
        "0001:02:00.0": "0001:02:00.0 PCI bridge: NVIDIA Corporation Device ffff",
    }


@given(st.text(max_size=200))
def test_any_list_of_ids_is_read(text: str) -> None:
    assert len(parse_ids(text, [PciDevice("0001:01:00.0", "15b3", "1023", "020000")])) <= 3
