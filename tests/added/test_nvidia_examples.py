"""Every example command of the Tegra410 and Tegra241 documents as an --add argument, compared with the model."""

from __future__ import annotations

import pytest
from added_columns import SYSTEM_ROW, adding, cell, package

# What the simulated sockets do with their traffic: shares of root ports, root complexes, sources and destinations.
PORTS = (0.4, 0.25, 0.15, 0.1, 0.1)
COMPLEXES = (0.4, 0.2, 0.15, 0.1, 0.1, 0.05)
TO_CMEM = 0.8
BDF = 0.5  # of a root complex's traffic is one device's

# argument -> socket, what is counted for each byte of the traffic, which traffic (nvidia-tegra410-pmu.rst)
TEGRA410 = {
    # "Example usage", UCF: every code without a name counts the lines read
    "nvidia_ucf_pmu_0/event=0x0/": (0, "read", 1 / 64),
    "nvidia_ucf_pmu_0/event=0x0,src_loc_cpu=0x1,dst_loc_cmem=0x1/": (0, "read", 0.9 * 0.86 / 64),
    "nvidia_ucf_pmu_1/event=0x0,src_loc_noncpu=0x1,dst_rem=0x1/": (1, "read", 0.08 * 0.1 / 64),
    # PCIE
    "nvidia_pcie_pmu_0_rc_0/event=0x0,src_rp_mask=0x1/": (0, "io_read", COMPLEXES[0] * PORTS[0]),
    "nvidia_pcie_pmu_0_rc_1/event=0x1,src_rp_mask=0x3,dst_loc_cmem=0x1/": (
        0, "io_written", COMPLEXES[1] * (PORTS[0] + PORTS[1]) * TO_CMEM),
    "nvidia_pcie_pmu_1_rc_2/event=0x2,src_rp_mask=0x1/": (1, "io_read", COMPLEXES[2] * PORTS[0] / 128),
    "nvidia_pcie_pmu_1_rc_3/event=0x3,src_rp_mask=0x3,dst_loc_cmem=0x1/": (
        1, "io_written", COMPLEXES[3] * (PORTS[0] + PORTS[1]) * TO_CMEM / 128),
    # 01:01.0 by the document's formula, bus << 8 | device << 3 | function; its own 0x0180 is 01:10.0
    "nvidia_pcie_pmu_0_rc_4/event=0x4,src_bdf=0x0108,src_bdf_en=0x1/": (
        0, "io_read", COMPLEXES[4] * BDF / 128 * 640e-9 * 1.95e9),
    "nvidia_pcie_pmu_0_rc_4/event=0x4,src_bdf=0x0180,src_bdf_en=0x1/": (
        0, "io_read", COMPLEXES[4] * BDF / 128 * 640e-9 * 1.95e9),
    # PCIE-TGT
    "nvidia_pcie_tgt_pmu_0_rc_0/event=0x0,dst_rp_mask=0x3/": (
        0, "io_read", COMPLEXES[0] * 0.02 * (PORTS[0] + PORTS[1])),
    "nvidia_pcie_tgt_pmu_0_rc_1/event=0x1,dst_addr_base=0x10000,dst_addr_mask=0xFFF00,dst_addr_en=0x1/": (
        0, "io_written", COMPLEXES[1] * 0.03 * 0.25),
    # NVLink-C2C
    "nvidia_nvlink_c2c_pmu_0/in_rd_req/": (0, "read", 0.08 / 32),
    "nvidia_nvlink_c2c_pmu_0/in_rd_cum_outs,gpu_mask=0x1/": (0, "read", 0.5 * 0.08 / 32 * 410e-9 * 1.1e9),
    "nvidia_nvlink_c2c_pmu_0/in_rd_cum_outs,gpu_mask=0x2/": (0, "read", 0.5 * 0.08 / 32 * 410e-9 * 1.1e9),
    "nvidia_nvlink_c2c_pmu_0/out_rd_req/": (0, "read", 0.03 / 32),
    "nvidia_nvlink_c2c_pmu_0/out_rd_cum_outs,gpu_mask=0x1/": (0, "read", 0.5 * 0.03 / 32 * 520e-9 * 1.1e9),
    "nvidia_nvlink_c2c_pmu_0/out_rd_cum_outs,gpu_mask=0x2/": (0, "read", 0.5 * 0.03 / 32 * 520e-9 * 1.1e9),
    # NV-CLink
    "nvidia_nvclink_pmu_0/in_rd_req/": (0, "read", 0.08 / 32),
    "nvidia_nvclink_pmu_0/out_rd_req/": (0, "read", 0.03 / 32),
}
C2C0, C2C1, CNVLINK = 0.05, 0.01, 0.06
LOCAL = 0.8
# nvidia-tegra241-pmu.rst; sockets 2 and 3 of its examples are not on a machine of two
TEGRA241 = {
    "nvidia_scf_pmu_0/event=0x0/": (0, "read", 1 / 64),
    "nvidia_scf_pmu_1/event=0x0/": (1, "read", 1 / 64),
    "nvidia_nvlink_c2c0_pmu_0/event=0x0/": (0, "read", C2C0 * LOCAL),
    "nvidia_nvlink_c2c0_pmu_1/event=0x0/": (1, "read", C2C0 * LOCAL),
    "nvidia_nvlink_c2c0_pmu_0/event=0x0,port=0x1/": (0, "read", C2C0 * LOCAL * 0.5),
    "nvidia_nvlink_c2c0_pmu_0/event=0x0,port=0x3/": (0, "read", C2C0 * LOCAL),
    "nvidia_nvlink_c2c1_pmu_0/event=0x0/": (0, "read", C2C1 * LOCAL),
    "nvidia_nvlink_c2c1_pmu_1/event=0x0/": (1, "read", C2C1 * LOCAL),
    "nvidia_nvlink_c2c1_pmu_0/event=0x0,port=0x1/": (0, "read", C2C1 * LOCAL * 0.5),
    "nvidia_nvlink_c2c1_pmu_0/event=0x0,port=0x3/": (0, "read", C2C1 * LOCAL),
    "nvidia_cnvlink_pmu_0/event=0x0,rem_socket=0xE/": (0, "read", CNVLINK * 0.5 * 0.5),
    "nvidia_cnvlink_pmu_1/event=0x0,rem_socket=0xD/": (1, "read", CNVLINK * 0.5 * 0.5),
    "nvidia_pcie_pmu_0/event=0x0,root_port=0x3/": (0, "io_read", 0.9 * 0.5),
    "nvidia_pcie_pmu_1/event=0x0,root_port=0x3/": (1, "io_read", 0.9 * 0.5),
}
CASES = [("vera-2s", text) for text in TEGRA410] + [("grace-2s", text) for text in TEGRA241]


@pytest.mark.parametrize(("machine", "text"), CASES, ids=[text for _machine, text in CASES])
def test_an_example_counts_what_happened(machine: str, text: str) -> None:
    socket, traffic, share = {**TEGRA410, **TEGRA241}[text]
    with adding(machine) as here:
        (column,) = here.add(text)
        assert here.why(column) is None
        here.start()
        frame, before, after = here.interval(2.0)
        bytes_moved = getattr(after.packages[socket], f"{traffic}_bytes") - getattr(
            before.packages[socket], f"{traffic}_bytes")
        assert bytes_moved > 1e6
        expected = pytest.approx(bytes_moved * share, rel=1e-6, abs=2)
        assert cell(frame, column, package(frame, socket)) == expected
        assert cell(frame, column, SYSTEM_ROW) == expected
        other = package(frame, 1 - socket)
        assert frame.cell(column, other) is None
        why = frame.why(column, other)
        assert why is not None
        assert text.partition("/")[0] in why.detail
        assert "could not be read" not in why.detail


@pytest.mark.parametrize(("text", "latency"), [
    ("{nvidia_cmem_latency_pmu_0/rd_req/,nvidia_cmem_latency_pmu_0/rd_cum_outs/,nvidia_cmem_latency_pmu_0/cycles/}",
     145e-9),
    ("{nvidia_nvdlink_pmu_0/in_rd_req/,nvidia_nvdlink_pmu_0/in_rd_cum_outs/}", None),
])
def test_a_group_of_an_example_is_one_group_with_a_column_for_each_event(text: str, latency: float | None) -> None:
    with adding("vera-2s") as here:
        columns = here.add(text)
        here.start()
        frame, before, after = here.interval(2.0)
        values = [cell(frame, column, package(frame, 0)) for column in columns]
        if latency is None:  # no CXL memory on this machine
            assert values == [0.0, 0.0]
            return
        requests, outstanding, cycles = values
        moved = after.packages[0].read_bytes - before.packages[0].read_bytes
        assert requests == pytest.approx(moved / 32, rel=1e-6)
        assert cycles == pytest.approx(2.0 * 1.2e9, rel=1e-9)
        assert outstanding / requests / 1.2e9 == pytest.approx(latency, rel=1e-6)


@pytest.mark.parametrize("text", [
    "nvidia_nvlink_c2c0_pmu_2/event=0x0/", "nvidia_nvlink_c2c0_pmu_3/event=0x0/", "nvidia_nvlink_c2c1_pmu_2/event=0x0/",
    "nvidia_nvlink_c2c1_pmu_3/event=0x0/", "nvidia_cnvlink_pmu_2/event=0x0,rem_socket=0xB/",
    "nvidia_cnvlink_pmu_3/event=0x0,rem_socket=0x7/",
])
def test_an_example_of_a_socket_that_is_not_there_says_so(text: str) -> None:
    with adding("grace-2s", frozenset({0})) as here:
        (column,) = here.add(text)
        why = here.why(column)
        assert why is not None
        assert f"no PMU '{text.partition('/')[0]}'" in why.detail


def test_every_root_complex_of_a_socket_by_the_beginning_of_its_name() -> None:
    with adding("vera-2s") as here:
        (column,) = here.add("nvidia_pcie_pmu_0_rc/rd_bytes/,name=one")
        (both,) = here.add("nvidia_pcie_pmu_*/rd_bytes/,name=both")
        here.start()
        frame, before, after = here.interval(2.0)
        moved = [b.io_read_bytes - a.io_read_bytes for a, b in zip(before.packages, after.packages, strict=True)]
        assert cell(frame, column, package(frame, 0)) == pytest.approx(moved[0], rel=1e-6)
        assert cell(frame, both, package(frame, 1)) == pytest.approx(moved[1], rel=1e-6)
        assert cell(frame, both, SYSTEM_ROW) == pytest.approx(sum(moved), rel=1e-6)
        assert not frame.partial(column, SYSTEM_ROW)
