"""`turbotui uncore`: panels as text and JSON, filters and events from the command line, and what it refuses."""

from __future__ import annotations

import json

import pytest

from turbotui.cli import main


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["uncore", *words])
    told = capsys.readouterr()
    return status, told.out, told.err


FAST = ("-i", "0.05", "-n", "1")


def test_panels_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--machine", "vera-2s", *FAST, "-k", "cmem", "-k", "nvdlink")
    assert status == 0
    assert out.startswith("# SIMULATED machine vera-2s: nothing below was read from hardware\n")
    assert "CMEM: reads of the CPUs' memory (2 x nvidia_cmem_latency_pmu)" in out
    assert "145.0" in out
    assert "NV-DLink" in out
    assert "a divisor is zero" in out  # the reason of a dash
    assert "PCIE" not in out


def test_panels_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(
        capsys, "--machine", "vera-2s", "-i", "0.05", "-n", "2", "--json", "-k", "nvidia_pcie_pmu",
        "-f", "nvidia_pcie_pmu_0_rc_4/src_bdf=0005:c1:00.0,src_bdf_en/", "-e", "nvidia_pcie_pmu/wr_req/",
    )  # fmt: skip
    assert status == 0
    reports = [json.loads(line) for line in out.splitlines()]
    assert len(reports) == 2
    (panel,) = reports[-1]["panels"]
    assert reports[-1]["simulated"] is True
    assert panel["units"]["rd latency ns"] == "ns"
    assert panel["units"]["wr_req M/s"] == "M/s"
    assert panel["formulas"]["rd bandwidth GB/s"] == "rd_bytes / dt"
    rows = {row["row"]: row for row in panel["rows"]}
    assert rows["pkg 0 rc 4"]["filters"] == {"src_bdf": 0xC100, "src_bdf_en": 1}
    assert rows["pkg 0 Σ"]["sum"] is True
    assert len(rows["pkg 0 Σ"]["pmus"]) == 6
    assert rows["pkg 1 rc 5"]["values"]["rd latency ns"] == pytest.approx(640.0, rel=0.01)


def test_a_machine_without(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--machine", "guest")
    assert status == 0
    assert out.startswith("virtual machine: this virtual machine is given no uncore PMU; ")
    assert "--machine vera-2s" in out
    status, out, _ = run(capsys, "--machine", "guest", "--json")
    assert json.loads(out)["panels"] == []


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("-k", "nothing"), "no kind of uncore PMU here has that name"),
        (("-n", "0"), "at least one interval"),
        (("-i", "soon"), "not a number"),
        (("-e", "cycles"), "write PMU/.../"),
        (("-e", "no_pmu/cycles/"), "there is no uncore PMU 'no_pmu'"),
        (("-e", "nvidia_ucf_pmu/evnt=1/"), "no event and no field 'evnt'"),
        (("-f", "nvidia_ucf_pmu/src=1/"), "has no filter 'src'; it has src_loc_cpu"),
        (("-f", "nvidia_pcie_pmu/src_rp_mask=0x100/"), "the nearest value is 0xff"),
        (("-f", "nvidia_pcie_pmu/src_bdf=0x100/"), "src_bdf_en=1: add it"),
        (("-f", "nvidia_pcie_pmu_0_rc_1/src_rp_mask=1,src_bdf_en=1,src_bdf=1:0.0/"), "exclude each other"),
    ],
)
def test_what_is_refused(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], part: str) -> None:
    status, _, err = run(capsys, "--machine", "vera-2s", *words)
    assert status == 2
    assert part in err
    assert "Traceback" not in err
