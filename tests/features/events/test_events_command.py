from __future__ import annotations

import csv

import pytest
from jsontables import by, table

from turbotui.cli import main


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["events", *words])
    out, err = capsys.readouterr()
    return status, out, err


def test_members_of_the_attribute_are_columns(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("encode", "cpu/event=0xc0,umask=1,ldlat=9/pp", "--machine", "sapphire-2s", "--json")
    status, out, _ = run(capsys, *words)
    report = table(out, "encodings")
    assert (status, report["kind"]) == (0, "SIMULATED")
    (row,) = report["rows"]
    assert (row["row"], row["number"], row["string"]) == ("event", 0, words[1])
    assert row["values"] == {
        "fstr": "cpu/event=0xc0,umask=0x1,ldlat=0x9/pp", "idx": None, "pmu": "cpu", "engine": "own", "name": words[1],
        "type": 4, "config": 0x1C0, "config1": 9, "config2": 0, "config3": 0, "precise_ip": 2,
        "unit": "", "scale": 1.0, "cpus": "all", "group": None, "leader": "yes",
    }  # fmt: skip


def test_a_row_for_each_counter(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "encode", "{cycles:u,instructions}:W,cs", "--machine", "laptop", "--json")
    rows = [row["values"] for row in table(out, "encodings")["rows"]]
    assert [row["group"] for row in rows] == [0, 0, 1, 1, None]
    assert [row["exclude_kernel"] for row in rows] == [1, 0, 1, 0, 0], "what one of them has is told of all"
    assert [row["weak"] for row in rows] == ["yes"] * 4 + ["no"]
    assert not {"exclude_user", "sample_period", "options"} & rows[0].keys(), "what none of them has is no column"


def test_a_leader_that_counting_adds_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("encode", "topdown-retiring,{topdown-retiring,topdown-bad-spec},{topdown-retiring,slots},cycles",
             "--machine", "sapphire-2s")
    _, out, _ = run(capsys, *words, "--json")
    rows = [row["values"] for row in table(out, "encodings")["rows"]]
    assert [row["added_leader"] for row in rows] == ["cpu/slots/"] * 3 + [""] * 3
    _, out, _ = run(capsys, *words)
    assert out.count("counting adds the leader cpu/slots/") == 3


def test_braces_that_became_several_groups_are_said_to(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("encode", "{nvidia_ucf_pmu_0/cycles/,nvidia_ucf_pmu_1/cycles/},{cycles}", "--machine", "vera-2s")
    _, out, _ = run(capsys, *words, "--json")
    rows = [row["values"] for row in table(out, "encodings")["rows"]]
    assert [(row["group"], row["leader"], row["regrouped"]) for row in rows] == [
        (0, "yes", "yes"), (1, "yes", "yes"), (2, "yes", "no")]
    _, out, _ = run(capsys, *words)
    assert out.count("became a group for each") == 2


def test_rings_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "encode", "cycles", "--machine", "turin-2s", "--plm", "u", "--json", "--engine", "own")
    (row,) = table(out, "encodings")["rows"]
    assert row["values"]["exclude_kernel"] == 1
    assert "exclude_user" not in row["values"]


def test_a_metric_has_no_encoding_and_says_where_its_events_are(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "encode", " Metric:tma_retiring", "--machine", "laptop")
    assert status == 2
    assert "`turbotui events metrics tma_retiring`" in err


def test_codes_without_libpfm(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--machine", "sapphire-2s", "--os", "none", "--engine", "own")
    _, out, _ = run(capsys, "encode", "cpu/event=0xc0/u,cpu/event=0xcd,ldlat=9/u", *words, "--json")
    rows = [row["values"] for row in table(out, "codes")["rows"]]
    assert [(row["count"], row["code0"], row["code1"]) for row in rows] == [(1, 0x5100C0, None), (2, 0x5100CD, 9)]
    _, out, _ = run(capsys, "encode", "cpu/event=0xc0/u", *words)
    assert "  codes 0x5100c0  [own, cpu]" in out.splitlines()
    status, _, err = run(capsys, "encode", "cycles", *words)
    assert status == 2
    assert "no register codes" in err


@pytest.mark.parametrize(("form", "config", "scale"), [
    ("csv", "18446744073709551615", "2.3283064365386963e-10"),
    ("table", "0xffffffffffffffff", "2.3283064365386963e-10"),
    ("openmetrics", "18446744073709551615", 'value="2.3283064365386963e-10"'),
])
def test_words_of_64_bits_and_small_scales_are_reported_in_full(
        capsys: pytest.CaptureFixture[str], form: str, config: str, scale: str) -> None:
    words = ("encode", "power/energy-pkg/,cpu/config1=0xffffffffffffffff/", "--machine", "sapphire-2s")
    status, out, _ = run(capsys, *words, "--format", form)
    assert status == 0
    assert config in out
    assert scale in out
    if form == "csv":
        rows = list(csv.DictReader(out.splitlines()))
        assert [(row["unit"], row["cpus"]) for row in rows] == [("Joules", "0,56"), ("", "all")]


def test_text_says_that_it_is_simulated(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "encode", "power/energy-pkg/", "--machine", "sapphire-2s")
    assert out.startswith("# SIMULATED machine sapphire-2s: nothing here was measured\n")
    assert "unit Joules" in out
    assert "CPUs 0,56" in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("encode", "nvidia_ufc_pmu_0/cycles/"), "did you mean nvidia_ucf_pmu_0"),
        (("encode", "nvidia_ucf_pmu_0/event=0x200000000/"), "33 bits"),
        (("encode", "skx::INST_RETIRED"), "--force-pmu"),
        (("encode", "cycles,"), "position 8"),
    ],
)
def test_bad_words_are_one_sentence(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], says: str) -> None:
    status, out, err = run(capsys, *words, "--machine", "vera-2s")
    assert (status, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


def test_the_list_says_what_opens(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "list", "nvidia_ucf_pmu_1/mem", "--machine", "vera-2s", "--json")
    rows = by(table(out, "events"), "name")
    assert status == 0
    names = [f"nvidia_ucf_pmu_1/mem_{name}/" for name in ("access_rd", "access_wr", "bytes_rd", "bytes_wr")]
    assert list(rows) == names
    assert all((row["opens"], row["reason"]) == ("yes", "") for row in rows.values())
    _, out, _ = run(capsys, "list", "nvidia_ucf_pmu_1/mem", "--machine", "vera-2s", "--json", "--no-open")
    assert {row["opens"] for row in by(table(out, "events"), "name").values()} == {None}


def test_the_list_says_why_not(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "list", "cpu-cycles", "--machine", "guest", "--json")
    (row,) = by(table(out, "events"), "name").values()
    assert row["opens"] == "no"
    _, text, _ = run(capsys, "list", "cpu-cycles", "--machine", "guest")
    assert text.splitlines()[-2:] == [f"✗ cpu-cycles  {row['description']}", f"    {row['reason']}"]


def test_the_list_knows_units_and_globs(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "list", "*energy-pkg*", "--machine", "sapphire-2s", "--json")
    (row,) = by(table(out, "events"), "name").values()
    assert (row["unit"], row["pmu"], row["engine"]) == ("Joules", "power", "own")
