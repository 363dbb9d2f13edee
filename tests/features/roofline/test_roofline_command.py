"""`turbotui roofline` on the command line."""

from __future__ import annotations

import csv
import json
import re
import signal
import threading
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from jsontables import by, table, tables

from turbotui.cli import main
from turbotui.features.roofline.live import RooflinePoint
from turbotui.features.roofline.result import Result
from turbotui.features.roofline.result_tables import result_tables, total_table
from turbotui.features.roofline.text import course_lines
from turbotui.features.roofline.theory import chip_roofs
from turbotui.features.roofline.verdicts import LevelRoofs
from turbotui.machine.host import HostKind
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.quantities.scope import SYSTEM_ROW
from turbotui.sources.roofline import why_uncounted
from turbotui.tables.envelope import Envelope
from turbotui.tables.json_lines import JsonLines

_QUICK = ["roofline", "--machine", "laptop-old", "-i", "0.1", "-n", "3"]


def test_a_simulated_application_in_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*_QUICK, "--", "tonto"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("# SIMULATED machine laptop-old+tonto")
    assert "theory at the highest clock, 4.00 GHz; not measured" in out
    row = next(line for line in out.splitlines() if line.startswith("machine"))
    assert re.search(r" 0\.18[678]\d~ ", row)  # 0.6 flop over 3.2 bytes, read in turn
    assert "of roof" in out
    assert "ridge points (o) [flop/byte]: L1" in out
    assert "by dominating width: s scalar" in out
    assert "GFLOP/s per W" in out
    assert "DRAM: 2 channels with 2 modules at 2400 MT/s" in out
    assert "\x1b" not in out


def _interrupt_when_heard(ended: threading.Event) -> None:
    """SIGINT for the main thread as soon as the command listens to it, unless it has ended."""
    before = signal.getsignal(signal.SIGINT)
    while signal.getsignal(signal.SIGINT) is before and not ended.wait(0.001):
        pass
    if not ended.is_set():
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


@pytest.mark.parametrize("words", [["--", "tonto"], []])
def test_an_interrupt_is_reported_and_is_the_status(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    ended = threading.Event()
    sender = threading.Thread(target=_interrupt_when_heard, args=(ended,))
    sender.start()
    try:
        result = main(["roofline", "--machine", "laptop-old", "-i", "0.1", "-n", "600", "--no-plot", *words])
    finally:
        ended.set()
        sender.join()
    assert result == 130
    assert "note: interrupted: this is what was counted until then" in capsys.readouterr().out


def _points(*each: tuple[float, float]) -> list[RooflinePoint]:
    """Intervals of 0.5 s at (GFLOP/s, GB/s)."""
    return [RooflinePoint(SYSTEM_ROW, "machine", flops, gbytes, flops / gbytes, "AVX", None, 0.5 * at, 0.5,
                          estimated=False)
            for at, (flops, gbytes) in enumerate(each, 1)]


def _result(*each: tuple[float, float]) -> Result:
    return Result(
        "cn17",
        HostKind.REAL,
        "a machine",
        tuple(_points(*each)),
        {"machine": LevelRoofs(None, "no roofs")},
        "",
        (),
        None,
        None,
        0.5 * len(each),
    )


def test_the_time_of_changes_between_behaviours_is_reported() -> None:
    low, between, high = (1.0, 10.0), (4.0, 7.0), (9.0, 4.0)
    result = _result(low, low, between, high, high, between, low, low)
    envelope = Envelope("cn17", HostKind.REAL, 0)
    lines = list(course_lines(envelope, result))
    seconds = [line.split()[4] for line in lines[3:5]]
    assert seconds == ["2.00", "1.00"]
    assert lines[5] == "1.00 s of change between them belong to none"
    assert lines[6] == "course: 0.0 s: 1, 1.5 s: 2, 3.0 s: 1"
    assert not any("belong to none" in line for line in course_lines(envelope, _result(low, low, high, high)))


def test_phases_say_of_which_behaviour_they_are() -> None:
    low, between, high = (1.0, 10.0), (4.0, 7.0), (9.0, 4.0)
    writer, envelope = JsonLines(), Envelope("cn17", HostKind.REAL, 0)
    text = "\n".join(line for result_table in result_tables(_result(low, low, between, high, high))
                     for line in writer.lines(envelope, result_table))
    phases, behaviours, energy = (table(text, name) for name in ("phases", "behaviours", "energy"))
    assert [row["values"]["behaviour"] for row in phases["rows"]] == [1, None, 2]
    assert "belongs to none" in phases["rows"][1]["why"]["behaviour"]
    assert [(row["behaviour"], row["why"]["bound"]) for row in behaviours["rows"]] == [
        (1, "unknown model: no roofs"), (2, "unknown model: no roofs")]
    assert energy["rows"][0]["values"] == {"energy": None, "power": None, "efficiency": None}


def test_efficiency_is_speed_by_power_where_energy_is_of_another_time() -> None:
    result = replace(_result((9.0, 1.0), (3.0, 1.0)), joules=90.0, energy_seconds=0.9)  # counts are of 1.0 s
    assert result.watts == pytest.approx(100.0)
    assert result.efficiency == pytest.approx(6.0 / 100.0)


def test_a_point_above_every_roof_is_disputed() -> None:
    result = replace(_result((1e6, 1e3)), roofs={"machine": LevelRoofs(chip_roofs("i7-3770K", "all"), "theory")})
    (line,) = JsonLines().lines(Envelope("cn17", HostKind.REAL, 0), total_table(result))
    (row,) = json.loads(line)["rows"]
    assert row["values"]["of roof"] > 100
    assert "too low" in row["disputed"]["of roof"]
    assert (row["values"]["below"], row["why"]["below"]) == (None, f"out of range: {row['disputed']['of roof']}")


def test_every_row_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*_QUICK, "--by", "package", "--json", "--", "calculix"]) == 0
    result = {item["table"]: item for item in tables(capsys.readouterr().out)}
    assert {(item["machine"], item["kind"]) for item in result.values()} == {("laptop-old+calculix", "SIMULATED")}
    totals = by(result["totals"], "name")
    assert list(totals) == ["package 0", "machine"]
    package, machine = totals.values()
    intervals = [row for row in result["roofline"]["rows"] if row["name"] == "machine"]
    assert 1 <= len(intervals) <= 3  # a machine under load may be late for one
    assert sum(row["values"]["length"] for row in intervals) == pytest.approx(machine["length"])
    assert machine["AI"] == pytest.approx(0.4 / 4.4, rel=0.02)
    assert package["GFLOP/s"] == machine["GFLOP/s"]
    assert 0 < machine["of roof"] < 100
    assert result["energy"]["rows"][0]["values"]["energy"] > 0
    assert by(result["working"], "name")["machine"]["memory"] > 0
    assert by(result["sets"], "threads").keys() == {"all"}


def test_points_and_drawing_go_to_new_files_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    points, drawing = tmp_path / "points.csv", tmp_path / "drawing.svg"
    words = [*_QUICK, "--no-plot", "--by", "cpu", "--csv", str(points), "--svg", str(drawing), "--", "tonto"]
    assert main(words) == 0
    capsys.readouterr()
    with points.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    whole = [row for row in rows if row["name"] == "machine"]
    assert 1 <= len(whole) <= 3
    assert {f"cpu {number}" for number in range(8)} <= {row["name"] for row in rows}
    assert {(row["machine"], row["kind"]) for row in rows} == {("laptop-old+tonto", "SIMULATED")}
    assert whole[0]["estimated"] == "AI;GFLOP/s;GB/s"
    assert float(rows[-1]["AI"]) == pytest.approx(0.1875, rel=0.02)
    root = ET.fromstring(drawing.read_text(encoding="utf-8"))  # noqa: S314 - our own file
    texts = " ".join(text.text or "" for text in root.iter("{http://www.w3.org/2000/svg}text"))
    assert "SIMULATED" in texts
    assert "AVX FMA double" in texts
    placed = [row for row in whole if row["AI"] and row["GFLOP/s"]]  # not where readers were held up
    assert len(list(root.iter("{http://www.w3.org/2000/svg}title"))) == len(placed) >= 1
    before = points.read_bytes()
    assert main(words) == 2
    assert "not written over" in capsys.readouterr().err
    assert points.read_bytes() == before


@pytest.mark.parametrize(("words", "status", "text"), [
    (["--machine", "guest", "-n", "1"], 3, "not given core counters"),
    (["--machine", "laptop-old", "--", "linpack"], 2, "cannot run 'linpack'; there are"),
    (["--machine", "laptop-old", "--", "sleep", "1"], 2, "one word after --"),
    (["--machine", "laptop-old", "--width", "wide"], 2, "neither mix nor precision"),
    (["--machine", "laptop-old", "--width", "-1"], 2, "neither mix nor precision"),
    (["--machine", "laptop-old", "--width", "1e-320"], 2, "neither mix nor precision"),
    (["--machine", "laptop-old", "-n", "0"], 2, "at least one"),
    (["--machine", "laptop-old", "-i", "x"], 2, "not a number of seconds"),
    (["-c", "0", "--", "true"], 2, "for whole machines"),
    (["--sysroot", "/sys", "--", "true"], 2, "not on a recorded one"),
])
def test_bad_words_are_one_sentence(words: list[str], status: int, text: str,
                                    capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["roofline", *words]) == status
    captured = capsys.readouterr()
    assert text in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


@pytest.mark.real
def test_without_counters_the_command_is_not_run_and_the_reason_said(tmp_path: Path,
                                                                     capsys: pytest.CaptureFixture[str]) -> None:
    if why_uncounted(read_machine(LinuxHost())) is None:
        pytest.skip("this machine counts floating-point operations")
    mark = tmp_path / "ran"
    assert main(["roofline", "--", "touch", str(mark)]) == 3
    err = capsys.readouterr().err
    assert "the command was not run" in err
    assert "turbotui roofline --machine laptop-old -- calculix" in err
    assert not mark.exists()


def test_a_width_that_is_given_takes_the_place_of_the_mix(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*_QUICK, "--width", "32", "--json", "--", "tonto"]) == 0
    out = capsys.readouterr().out
    assert by(table(out, "totals"), "name")["machine"]["AI"] == pytest.approx(0.6 / (0.4 * 32), rel=0.02)
    assert by(table(out, "sources"), "name")["machine"]["bytes by"] == "width as given"
    assert main([*_QUICK, "--width", "precision", "--json", "--", "tonto"]) == 0
    row = by(table(capsys.readouterr().out, "totals"), "name")["machine"]
    assert row["AI"] == pytest.approx(0.6 / (0.4 * 8), rel=0.02)
