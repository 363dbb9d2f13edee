"""`turbotui events metrics`, and metrics in `stat`, over a folder of tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsontables import table

from turbotui.cli import main

pytestmark = pytest.mark.usefixtures("moved_time", "few_cores")

TABLES = str(Path(__file__).parents[2] / "tables" / "event_tables")
MACHINE = ("--machine", "sapphire-2s", "--event-tables", TABLES)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(list(words))
    out, err = capsys.readouterr()
    return status, out, err


def test_metrics_and_groups_with_what_is_counted_here(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "events", "metrics", "MADEL1", *MACHINE, "--json")
    assert status == 0
    rows = {row["metric"]: row for row in table(out, "metrics")["rows"]}
    assert set(rows) == {"made_ipc", "made_misses"}
    item = rows["made_misses"]["values"]
    assert (item["unit"], item["factor"], item["available"]) == ("%", 100.0, "yes")
    assert item["events"] == "cache-misses instructions cycles"  # the last for its threshold
    groups = {row["group"]: row["values"]["metrics"] for row in table(out, "metric_groups")["rows"]}
    assert groups == {"MadeL1": "made_ipc made_misses", "Work": "made_ipc"}


def test_text_says_why_one_cannot_be_counted(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "events", "metrics", "absent", *MACHINE)
    assert status == 0
    assert "✗ made_absent" in out
    assert "needs NOT_AN_EVENT" in out


@pytest.mark.parametrize(("words", "says"), [
    (("events", "metrics", "zzz", *MACHINE), "no metric with 'zzz'"),
    (("events", "metrics", "--machine", "sapphire-2s", "--event-tables", "none"), "switched off"),
    (("stat", "-q", "-n", "1", "-i", "0.1", *MACHINE, "--add", "metric:made_ipx"), "did you mean made_ipc"),
])  # fmt: skip
def test_what_there_is_not(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], says: str) -> None:
    status, _, err = run(capsys, *words)
    assert status != 0
    assert says in err


def test_stat_prints_a_metric_and_leaves_out_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "stat", "-q", "-S", "-n", "1", "-i", "0.2", *MACHINE, "--add", "metric:work",
                           "--show", "made_ipc,made_rate", "--format", "json")
    assert status == 0
    assert "made_absent is not added" in err
    (row,) = table(out, "cpus")["rows"]
    assert 0 < row["values"]["made_ipc"] < 6
    assert row["values"]["made_rate"] > 0


def test_what_is_past_its_threshold_is_marked_in_json_and_in_tables(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "core.json").write_text(json.dumps([
        {"MetricName": "fast", "MetricExpr": "instructions / cycles", "MetricThreshold": "fast > 0.01"},
        {"MetricName": "slow", "MetricExpr": "cycles / instructions", "MetricThreshold": "slow > 1000"},
        {"MetricName": "plain", "MetricExpr": "instructions / cycles"}]))
    words = ("stat", "-q", "-S", "-n", "1", "-i", "0.2", "--machine", "sapphire-2s", "--event-tables", str(tmp_path),
             "--add", "metric:fast,slow,plain", "--show", "fast,slow,plain")
    status, out, _ = run(capsys, *words, "--format", "json")
    assert status == 0
    (row,) = table(out, "cpus")["rows"]
    assert (set(row["values"]), row["outstanding"]) == ({"fast", "slow", "plain"}, ["fast"])
    _, out, _ = run(capsys, *words, "--format", "table")
    titles, numbers = (line.split() for line in out.splitlines()[-2:])
    assert {title: number[-1] == "▲" for title, number in zip(titles, numbers, strict=True)} == {
        "fast": True, "slow": False, "plain": False}
