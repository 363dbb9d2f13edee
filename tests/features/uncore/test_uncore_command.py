"""`turbotui uncore`: tables in every format, filters and events from the command line, and what it refuses."""

from __future__ import annotations

import csv

import pytest
from jsontables import by, table, tables
from patience import least_disturbed

from turbotui.cli import main
from turbotui.features.uncore.ports import ports_table, reasons_of
from turbotui.simulated import ManualClock, simulated_host

pytestmark = pytest.mark.usefixtures("moved_time", "few_cores")


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["uncore", *words])
    output = capsys.readouterr()
    return status, output.out, output.err


FAST = ("-i", "0.05", "-n", "1")


def known(capsys: pytest.CaptureFixture[str], *words: str, mark: str) -> str:
    """Return the output of an interval with every number, because a busy machine delays readers."""
    while True:
        status, out, _ = run(capsys, *words)
        assert status == 0
        of_units = "\n".join(line for line in out.splitlines() if ",machine," not in line)
        if mark not in of_units:
            return out


FILTERED = ("-k", "nvidia_pcie_pmu", "-f", "nvidia_pcie_pmu_0_rc_4/src_bdf=0005:c1:00.0,src_bdf_en/")


def test_tables_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--machine", "vera-2s", *FAST, "-k", "cmem", "-k", "nvdlink")
    assert status == 0
    assert out.startswith("# SIMULATED machine vera-2s: nothing here was measured\n")
    assert "CMEM: reads of the CPUs' memory (2 x nvidia_cmem_latency_pmu)" in out
    what, unit, *_rows = out.splitlines()[2:]
    assert what.split() == ["rd", "rd", "lat", "rd", "lat", "clock"]
    assert unit.split() == ["place", "GB/s", "cycles", "ns", "GHz"]
    assert "145.0" in out
    assert "NV-DLink" in out
    assert "a divisor is zero" in out  # the reason of a dash
    assert "PCIE" not in out


def test_a_table_is_a_kind_of_pmu(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--machine", "vera-2s", "-i", "0.05", "-n", "2", "--json", *FILTERED, "-e", "nvidia_pcie_pmu/wr_req/")
    status, out, _ = run(capsys, *words)
    assert status == 0
    result = tables(out)
    assert [item["table"] for item in result] == ["nvidia_pcie_pmu"] * 2, "one table an interval"
    last = result[-1]
    assert (last["kind"], last["facts"]) == ("SIMULATED", {"nvidia_pcie_pmu": "PCIE: what PCI devices read and write"})
    columns = {column["id"]: column for column in last["columns"]}
    assert columns["rd latency ns"]["unit"] == "ns"
    assert columns["wr_req M/s"]["unit"] == "M/s"
    assert columns["rd bandwidth GB/s"]["formula"] == "rd_bytes / dt"
    rows = {row["place"]: row for row in last["rows"]}
    assert rows["pkg 0 rc 4"]["values"]["filters"] == "src_bdf 0xc100 = c1:00.0, src_bdf_en on"
    assert rows["pkg 0 rc 4"] | {"values": {}} == {
        "row": "unit", "place": "pkg 0 rc 4", "package": 0, "pmu": "nvidia_pcie_pmu_0_rc_4", "cpu": 0, "values": {},
    }  # fmt: skip
    assert (rows["pkg 0 Σ"]["row"], rows["pkg 0 Σ"]["values"]["filters"]) == ("package", "1 of 6 filtered")
    assert "pmu" not in rows["pkg 0 Σ"]
    assert rows["machine Σ"] | {"values": {}} == {"row": "machine", "place": "machine Σ", "values": {}}
    assert rows["machine Σ"]["values"]["filters"] == "1 of 12 filtered"
    assert len([row for row in last["rows"] if row.get("package") == 0]) == 1 + 6
    assert by(last, "place")["pkg 1 rc 5"]["rd latency ns"] == pytest.approx(640.0, rel=0.01)


def test_estimates_are_marked_in_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--machine", "vera-2s", *FAST, "-k", "nvidia_ucf_pmu")
    (table,) = tables(known(capsys, *words, "--json", mark='"why"'))
    assert [set(row["estimated"]) for row in table["rows"]] == [{item["id"] for item in table["columns"]}] * 3
    out = known(capsys, *words, "--format", "csv", mark=",,,,,")
    marks = [row["estimated"].split(";") for row in csv.DictReader(out.splitlines())]
    assert marks == [[item["id"] for item in table["columns"]]] * 3
    out = known(capsys, *words, mark="—")
    assert sum(line.count("~") for line in out.splitlines()) == 3 * len(table["columns"])


@least_disturbed
def test_metrics_have_base_units_and_no_sum_twice(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--machine", "vera-2s", *FAST, *FILTERED, "--format", "openmetrics")
    assert status == 0
    lines = out.splitlines()
    assert lines[-1] == "# EOF"
    name = "turbotui_nvidia_pcie_pmu_rd_latency_seconds"
    samples = [line for line in lines if line.startswith(f"{name}{{")]
    assert len(samples) == 12, "the units, not the sums"
    assert [float(line.rpartition(" ")[2]) for line in samples] == pytest.approx([640e-9] * 12, rel=0.01)
    assert f"# HELP {name} rd latency (rd latency ns, rd_cum_outs / rd_req * dt / cycles)" in lines
    assert any(line.startswith("turbotui_nvidia_pcie_pmu_rd_bandwidth_bytes_per_second{") for line in lines)
    assert any(line.startswith("turbotui_nvidia_pcie_pmu_frequency_hertz{") for line in lines)


def test_comma_separated_values_are_of_the_first_kind(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "--machine", "vera-2s", *FAST, "-k", "nvlink", "-k", "cmem", "--format", "csv")
    rows = list(csv.DictReader(out.splitlines()))
    assert [(row["place"], row["pmu"], row["rd latency ns"]) for row in rows] == [
        ("machine Σ", "", "145.0"),
        ("pkg 0", "nvidia_cmem_latency_pmu_0", "145.0"), ("pkg 1", "nvidia_cmem_latency_pmu_1", "145.0")]


@pytest.mark.parametrize(("words", "expected"), [
    (("-k", "imc", "-e", "cha/event=0x50,umask=3/"), ["uncore_imc", "uncore_cha"]),
    (("-k", "imc", "-e", "uncore_cha/event=0x50/", "-e", "uncore_cha/event=0x51/"), ["uncore_imc", "uncore_cha"]),
    (("-k", "imc", "-f", "uncore_cha/thresh=1/"), ["uncore_imc", "uncore_cha"]),
    (("-k", "imc"), ["uncore_imc"]), (("-k", "imc", "-e", "imc/cas_count_read/"), ["uncore_imc"]),
])  # fmt: skip
def test_what_is_named_is_seen_though_its_kind_is_not_chosen(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], expected: list[str]
) -> None:
    status, out, _ = run(capsys, "--machine", "sapphire-2s", *FAST, *words, "--json")
    assert status == 0
    result = tables(out)
    assert [item["table"] for item in result] == expected
    events = [word.partition("/")[2].rstrip("/") for word in words if "event=" in word]
    if events:  # and nothing else of that kind
        assert [column["id"] for column in result[1]["columns"]] == [f"{event} M/s" for event in events]


def test_a_machine_without(capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("text", "json"):
        status, out, err = run(capsys, "--machine", "guest", "--format", form)
        assert (status, out) == (3, "")
        assert err.startswith("turbotui: virtual machine: this virtual machine is given no uncore PMU; ")
        assert "--machine vera-2s" in err


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("-k", "nothing"), "no kind of uncore PMU here has that name"),
        (("-n", "0"), "at least one interval"),
        (("-i", "soon"), "not a number"),
        (("-e", "cycles"), "have it; write PMU/.../"),
        (("-e", "evnt"), "no uncore PMU here has it; write PMU/.../"),
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


def test_ports_are_a_table_with_a_row_for_every_root_port(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["uncore", "--ports", "--machine", "vera-2s", "--json"]) == 0
    report = table(capsys.readouterr().out, "root_ports")
    assert len(report["rows"]) == 21
    values = by(report, "address")["000d:c0:00.0"]
    assert [values[name] for name in ("segment", "RP", "RC", "socket", "PMU", "target PMU")] == [
        0xD, 2, 4, 1, "nvidia_pcie_pmu_1_rc_4", "nvidia_pcie_tgt_pmu_1_rc_4"]
    assert main(["uncore", "--ports", "--machine", "vera-2s", "--format", "csv"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert [row["address"] for row in rows if row["socket"] == "1"][:2] == ["0009:00:00.0", "000a:80:00.0"]
    assert main(["info", "--machine", "vera-2s"]) == 0
    assert ("  Root port 0002:e0:00.0: segment 0x2, RP 4, RC 1, socket 0: nvidia_pcie_pmu_0_rc_1"
            in capsys.readouterr().out.splitlines())


def test_ports_without_rights_say_why_once() -> None:
    host = simulated_host("vera-2s", ManualClock())
    host.set_privileges(uid=1000, capabilities=0)
    unknown = ports_table(host)
    (reason,) = reasons_of(unknown)
    assert "run as root" in reason
    assert {unknown.cell(column, row).value for row in unknown.rows for column in unknown.columns
            if column.id in {"segment", "RP", "RC", "socket", "PMU"}} == {None}


def test_a_machine_without_root_ports_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["uncore", "--ports", "--machine", "grace-2s"]) == 0
    assert "no root port of NVIDIA's" in capsys.readouterr().out
    assert main(["uncore", "--ports", "-k", "ucf", "--machine", "vera-2s"]) == 2
    assert "counts nothing" in capsys.readouterr().err
