"""The metrics table of AMD's firmware: a table of known values, and invalid tables."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turbotui.features.info.machine_facts import MachineFacts
from turbotui.features.info.model import configuration
from turbotui.machine.hsmp_metrics import FILE, SIZE, checked, find_tables, metric_fields, read_table
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.quantities.unavailable import Reason, Unavailable

# struct hsmp_metric_table of uapi asm/amd_hsmp.h, as a C compiler lays it out under #pragma pack(4)
STRUCT = struct.Struct(
    "<I3I3Q3IQ5Q" "4I4I4I4I4I8Q96Q" "4I24I2I" "2I16Q" "3I3QIQ4Q" "6I" "8I")  # fmt: skip
POWER, LIMIT, MOST = 9, 7, 8
SOCKET_TEMP, VR_TEMP, HBM_TEMP = 1, 2, 3


def filled(**values: float) -> bytes:
    """Make a table of zeros except for these fields."""
    table = bytearray(SIZE)
    for name, value in values.items():
        field = metric_fields()[name]
        raw = round(value * (1 << field.fraction))
        struct.pack_into("<i" if field.signed else "<I", table, field.offset, raw)
    return bytes(table)


def machine(root: Path, tables: dict[str, bytes]) -> LinuxHost:
    cpu = root / "sys/devices/system/cpu"
    (cpu / "cpu0/topology").mkdir(parents=True)
    (cpu / "online").write_text("0\n")
    for name in ("physical_package_id", "core_id"):
        (cpu / "cpu0/topology" / name).write_text("0\n")
    for folder, table in tables.items():
        path = root / "sys/devices/platform" / folder
        path.mkdir(parents=True)
        (path / FILE).write_bytes(table)
    return LinuxHost(str(root))


def test_the_offsets_are_those_of_the_kernels_structure() -> None:
    assert STRUCT.size == SIZE
    numbers = list(range(STRUCT.unpack(bytes(SIZE)).__len__()))
    table = STRUCT.pack(*numbers)
    fields = metric_fields()
    result = {name: fields[name].raw(table) for name in (
        "max_socket_temperature", "max_vr_temperature", "max_hbm_temperature", "socket_power_limit",
        "max_socket_power_limit", "socket_power")}
    assert list(result.values()) == [SOCKET_TEMP, VR_TEMP, HBM_TEMP, LIMIT, MOST, POWER]
    clocks = [fields[name].raw(table) for name in (
        "cclk_frequency_limit", "gfxclk_frequency_limit", "fclk_frequency", "uclk_frequency")]
    assert clocks == [16, 17, 18, 19]
    assert fields["lclk_frequency"].raw(table) == 35  # the last of four
    assert fields["max_cclk_frequency"].raw(table) == 36 + 8 + 96
    after = 140 + 4 + 24 + 2 + 2 + 16
    assert [fields[name].raw(table) for name in ("socket_c0_residency", "socket_gfx_busy", "dram_bandwidth_utilization")
            ] == [after, after + 1, after + 2]


def test_what_a_table_of_known_values_says(tmp_path: Path) -> None:
    table = filled(socket_power=512.5, socket_power_limit=550, max_socket_power_limit=760, max_socket_temperature=61.25,
                   max_vr_temperature=-3.5, socket_c0_residency=37.5, fclk_frequency=1800, uclk_frequency=1300,
                   cclk_frequency_limit=3.7, dram_bandwidth_utilization=12.0)
    host = machine(tmp_path, {"AMDI0097:00": table, "AMDI0097:01": filled(socket_power=100)})
    facts = MachineFacts(read_machine(host))
    (section,) = [item for item in configuration(facts.machine) if item.title == "telemetry"]
    first, second = section.lines
    assert first.text.startswith(
        "HSMP metrics table of socket 0: 512.5 W, limited to 550 W, at most 760 W, socket 61.2 °C, "
        "voltage regulators -3.5 °C, HBM 0.0 °C, cores in C0 37.5 %")
    assert "fabric clock 1800 MHz, memory controllers 1300 MHz" in first.text
    assert "cores limited to 3.70 GHz" in first.text
    assert first.origin == "/sys/devices/platform/AMDI0097:00/metrics_bin"
    assert second.text.startswith("HSMP metrics table of socket 1: 100.0 W")


def test_tables_of_both_kinds_of_driver(tmp_path: Path) -> None:
    host = machine(tmp_path, {"amd_hsmp/socket0": filled(socket_power=1), "amd_hsmp/socket10": b""})
    assert find_tables(host) == ((0, "/sys/devices/platform/amd_hsmp/socket0/metrics_bin"),
                                 (10, "/sys/devices/platform/amd_hsmp/socket10/metrics_bin"))


@pytest.mark.parametrize(("table", "reason", "words"), [
    (b"", Reason.UNKNOWN_MODEL, "0 bytes"),
    (bytes(SIZE + 4), Reason.UNKNOWN_MODEL, "1408 bytes"),
    (bytes(SIZE), Reason.FAILED, "has not filled"),
], ids=["empty", "too long", "zeros"])
def test_what_is_no_table_says_why(tmp_path: Path, table: bytes, reason: Reason, words: str) -> None:
    host = machine(tmp_path, {"AMDI0097:00": table})
    result = read_table(host, find_tables(host)[0][1])
    assert isinstance(result, Unavailable)
    assert result.reason is reason
    assert words in result.detail


def test_a_table_that_is_not_there_says_so(tmp_path: Path) -> None:
    assert find_tables(machine(tmp_path, {})) == ()
    result = read_table(LinuxHost(str(tmp_path)), "/sys/devices/platform/AMDI0097:00/metrics_bin")
    assert isinstance(result, Unavailable)


@given(st.binary(min_size=SIZE, max_size=SIZE))
def test_any_table_gives_numbers(table: bytes) -> None:
    assert isinstance(checked(table, "x"), bytes) == any(table)
    for field in metric_fields().values():
        assert field.offset + 4 * field.count <= SIZE
        assert abs(field.value(table)) <= 1 << 32 - field.fraction
