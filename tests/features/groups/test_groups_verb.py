"""`turbotui groups`: its tables and refusals."""

from __future__ import annotations

import json
import re

import pytest

from turbotui.cli import main
from turbotui.simulated.strain_files import GROUPS

FAST = ("groups", "--machine", "laptop", "-i", "0.1", "-n", "1")


def out(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main([*FAST, *words]) == 0
    return capsys.readouterr().out


def test_json_has_every_group_with_its_known_share(capsys: pytest.CaptureFixture[str]) -> None:
    table = json.loads(out(capsys, "--json"))
    assert (table["table"], table["kind"]) == ("groups", "SIMULATED")
    rows = {row["path"]: row for row in table["rows"]}
    assert rows.keys() == {"/", *(f"/{path}" for path, _ in GROUPS)}
    whole = rows["/"]["values"]["CPU%"]
    for path, _share in GROUPS:
        values = rows[f"/{path}"]["values"]
        assert values["Watt"] == pytest.approx(values["CPU%"] / whole * rows["/"]["values"]["Watt"], rel=1e-6, abs=1e-9)
        assert "Watt" in rows[f"/{path}"]["estimated"]
    assert rows["/init.scope"]["why"]["RunDelay%"]


def test_text_is_a_tree_without_columns_of_which_nothing_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    result = out(capsys)
    assert re.search(r"(?m)^/ .*\n· init\.scope .*\n· system\.slice .*\n· · db\.service ", result)
    assert "RunDelay%" not in result.splitlines()[1]
    assert re.search(r"(?m)^# no Quota, Quota%: not set", result)
    assert "of packages'" in result


def test_rows_and_columns_are_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    result = out(capsys, "--filter", "service", "--sort", "CPU%", "-s", "cpu%,User%")
    lines = [line for line in result.splitlines() if line and not line.startswith("#")]
    assert lines[0].split() == ["%", "%"] or lines[0].split()[:1] == ["Group"]
    assert [line.split()[0] for line in lines[-2:]] == ["db.service", "web.service"]
    assert len(out(capsys, "--top", "2", "--format", "csv").splitlines()) == 3


@pytest.mark.parametrize(("words", "said"), [
    (("--show", "Nothing"), "there is no column 'Nothing'"),
    (("--filter", "CPU% >"), "--filter"),
    (("--top", "0"), "at least one row"),
    (("-n", "0"), "at least one interval"),
])
def test_what_cannot_be_meant_is_refused(words: tuple[str, ...], said: str,
                                         capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*FAST, *words]) == 2
    assert said in capsys.readouterr().err
