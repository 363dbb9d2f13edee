from __future__ import annotations

from treehost import TreeHost

from turbotui.features.info.machine_facts import MachineFacts
from turbotui.features.info.model import configuration
from turbotui.features.info.telemetry import LAYOUTS
from turbotui.machine.machine import read_machine

_CPU = {"/sys/devices/system/cpu/online": "0", "/sys/devices/system/cpu/cpu0/topology/physical_package_id": "0",
        "/sys/devices/system/cpu/cpu0/topology/core_id": "0"}


def lines(files: dict[str, str]) -> list[str]:
    facts = MachineFacts(read_machine(TreeHost({**_CPU, **files})))
    (section,) = [section for section in configuration(facts.machine) if section.title == "telemetry"]
    return [line.text for line in section.lines]


def test_regions_by_their_layouts() -> None:
    base = "/sys/class/intel_pmt"
    regions = {"telem0": ("0x1a067102", "200"), "telem1": ("0x14421519", "100"), "telem2": ("0xdeadbeef", "64")}
    files = {f"{base}/{name}/guid": guid for name, (guid, _size) in regions.items()}
    files |= {f"{base}/{name}/size": size for name, (_guid, size) in regions.items()}
    assert lines(files) == [
        "Telemetry region telem0: guid 0x1a067102, 200 bytes, Meteor Lake Fixed in DMU",
        ("Telemetry region telem1: guid 0x14421519, 100 bytes, Clearwater Forest core, but of 21552 bytes as Intel "
         "describes it"),
        "Telemetry region telem2: guid 0xdeadbeef, 64 bytes, of a layout that Intel has not described",
    ]


def test_every_layout_has_a_name_and_whole_words() -> None:
    rows = dict(LAYOUTS.tables())
    assert len(rows) >= 25
    assert all(row.keys() == {"name", "size"} and int(str(row["size"])) % 8 == 0 for row in rows.values())


def test_what_sockets_answer() -> None:
    base = "/sys/devices/platform/AMDI0097:01"
    files = {f"{base}/protocol_version": "7", f"{base}/ddr_max_bw": "576", f"{base}/prochot_status": "0",
             f"{base}/pwr_current_active_freq_limit_source": "cHTC-Active\nPPT-Limit"}
    (first,) = lines(files)
    assert first.startswith("HSMP of socket 1: protocol 7, DRAM at most 576 GB/s, by cHTC-Active")
    assert first.endswith("thermal threshold: not reached")
