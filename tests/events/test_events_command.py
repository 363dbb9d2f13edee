from __future__ import annotations

import json

import pytest

from turbotui.cli import main


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["events", *words])
    out, err = capsys.readouterr()
    return status, out, err


def test_the_json_has_the_shape_that_was_promised(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("encode", "cpu/event=0xc0,umask=1,ldlat=9/pp", "--machine", "sapphire-2s", "--json")
    status, out, _ = run(capsys, *words)
    row = json.loads(out)
    assert status == 0
    assert list(row)[:4] == ["string", "fstr", "idx", "attr"]
    assert row["attr"] == {
        "type": 4, "config": 0x1C0, "config1": 9, "config2": 0, "config3": 0, "precise_ip": 2,
    }  # fmt: skip
    assert (row["fstr"], row["idx"]) == ("cpu/event=0xc0,umask=0x1,ldlat=0x9/pp", None)
    assert row["machine"] == "SIMULATED machine sapphire-2s"


def test_an_object_a_line_for_each_counter(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "encode", "{cycles,instructions},cs", "--machine", "laptop", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["group"] for row in rows] == [0, 0, 1, 1, None]


def test_rings_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "encode", "cycles", "--machine", "turin-2s", "--plm", "u", "--json", "--engine", "own")
    attr = json.loads(out)["attr"]
    assert (attr.get("exclude_kernel"), attr.get("exclude_user")) == (1, None)


def test_codes_without_libpfm(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--machine", "sapphire-2s", "--os", "none", "--engine", "own", "--json")
    _, out, _ = run(capsys, "encode", "cpu/event=0xc0/u", *words)
    assert json.loads(out)["codes"] == [0x5100C0]
    status, _, err = run(capsys, "encode", "cycles", *words)
    assert status == 2
    assert "no register codes" in err


def test_text_says_that_it_is_simulated(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "encode", "power/energy-pkg/", "--machine", "sapphire-2s")
    assert out.startswith("# SIMULATED machine sapphire-2s\n")
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
    rows = [json.loads(line) for line in out.splitlines()]
    assert status == 0
    names = [f"nvidia_ucf_pmu_1/mem_{name}/" for name in ("access_rd", "access_wr", "bytes_rd", "bytes_wr")]
    assert [row["name"] for row in rows] == names
    assert all(row["opens"] and row["reason"] is None and row["machine"] for row in rows)


def test_the_list_knows_units_and_globs(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "list", "*energy-pkg*", "--machine", "sapphire-2s", "--json")
    (row,) = (json.loads(line) for line in out.splitlines())
    assert (row["unit"], row["pmu"], row["engine"]) == ("Joules", "power", "own")
