"""`turbotui roofs` on the command line."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from jsontables import by, table, tables
from patience import PATIENCE

from turbotui.cli import main
from turbotui.machine.code.isas import why_not_runnable
from turbotui.machine.cpumodel import read_cpu_model
from turbotui.machine.linux import LinuxHost

_WHY_NOT = why_not_runnable(read_cpu_model(LinuxHost()))
_runs = pytest.mark.skipif(bool(_WHY_NOT), reason=_WHY_NOT or "they run here")


def test_the_theory_of_the_papers_chip(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["roofs", "--theory", "i7-3770K", "--threads", "all"]) == 0
    out = capsys.readouterr().out
    assert "THEORY, not measured; 4 cores at 3.500 GHz" in out
    meetings = [line.split() for line in out.splitlines() if line.startswith("  all      AVX ADD+MUL double")]
    assert [words[4] for words in meetings] == ["L1", "L2", "L3", "DRAM"]
    assert [words[-6] for words in meetings] == ["0.1667", "0.2500", "0.2500", "3.7513"]
    assert meetings[-1][-5:] == ["1.87", "7.46", "29.86", "112.00", "theory"]
    assert "AVX ADD+MUL double 112 GFLOP/s" in out
    assert "arithmetic intensity [flop/byte]" in out
    assert "\x1b" not in out


def test_the_theory_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["roofs", "--theory", "i7-3770K", "--json"]) == 0
    peaks, _integers, bandwidths, ridges, sets, cores = tables(capsys.readouterr().out)
    assert [row["threads"] for row in sets["rows"]] == ["one", "all"]
    assert max(row["values"]["GFLOP/s"] for row in peaks["rows"] if row["threads"] == "all") == 224.0
    dram = next(row for row in bandwidths["rows"] if (row["threads"], row["level"]) == ("all", "DRAM"))
    assert dram["values"]["GB/s"] == pytest.approx(29.856)
    assert {row["origin"] for item in (peaks, bandwidths, ridges, sets) for row in item["rows"]} == {"theory"}
    assert by(cores, "threads")["all"] == {"cores": 4, "clock": 3500.0}
    assert any("Cache-aware Roofline Model" in note for note in peaks["notes"])


def test_notes_say_which_set_they_are_of(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["roofs", "--machine", "laptop-arrow", "--json"]) == 0
    notes = table(capsys.readouterr().out, "peaks")["notes"]
    assert "clock: base clock (base_frequency); turbo and vector licences move it" in notes, "it is of all of them"
    assert [note.partition(": ")[0] for note in notes if "Lion Cove" in note] == ["one P and all"]


def test_a_chip_is_found_by_its_microarchitecture(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["roofs", "--theory", "ivy bridge", "--threads", "all", "--no-plot"]) == 0
    assert "Roofs of i7-3770K: THEORY, not measured; 4 cores at 3.500 GHz" in capsys.readouterr().out


def test_a_simulated_machine_is_labelled_and_never_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["roofs", "--machine", "sapphire-2s", "--no-plot"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("# SIMULATED machine sapphire-2s")
    assert out.count("THEORY, not measured") == 2
    assert "measured 2" not in out
    assert main(["roofs", "--machine", "sapphire-2s", "--json"]) == 0
    assert {item["kind"] for item in tables(capsys.readouterr().out)} == {"SIMULATED"}


@pytest.mark.parametrize(("words", "status", "text"), [
    (["--theory", "6502"], 2, "no spec sheet"),
    (["--theory", "i7-3770K", "--threads", "0-1"], 2, "--threads one or all"),
    (["--threads", "8191"], 2, "CPU 8191 is not there"),
    (["--machine", "sapphire-2s", "--threads", "foo"], 2,
     '--threads "foo" is neither one nor all nor a set of CPUs such as 0-3,8'),
    (["--machine", "sapphire-2s", "--threads", "3-1"], 2, '--threads "3-1" is neither'),
    (["--machine", "sapphire-2s", "--threads", "P"], 2,
     "--threads: no P cores here, all cores are of one kind, by "),
    (["--machine", "laptop", "--threads", "LP"], 2, "--threads: no LP cores here, only P, E; there are one, all, P, E"),
    (["--machine", "laptop", "--threads", "LPE"], 2, '--threads "LPE" is neither one nor all nor P nor E nor'),
    (["--theory", "zen 4"], 2, "Zen 4 is a microarchitecture, which has no clock"),
    (["--machine", "nothing"], 2, "nothing"),
])
def test_bad_words_are_one_sentence(words: list[str], status: int, text: str,
                                    capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["roofs", *words]) == status
    captured = capsys.readouterr()
    assert text in captured.err
    assert captured.out == ""


def test_a_processor_without_a_sheet_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "cpuinfo").write_text("processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\n"
                                               "model\t\t: 1\nmodel name\t: Pentium Pro\nflags\t\t: fpu lm\n\n")
    assert main(["roofs", "--sysroot", str(tmp_path)]) == 3
    captured = capsys.readouterr()
    assert "no spec sheet for Pentium Pro" in captured.err
    assert captured.out == ""


def test_a_hybrid_shows_one_core_of_each_kind_and_all_together(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["roofs", "--machine", "laptop-arrow", "--no-plot"]) == 0
    out = capsys.readouterr().out
    headings = [line for line in out.splitlines() if "THEORY" in line]
    assert [line.split("; ")[1] for line in headings] == [
        "1 P core at 1.400 GHz", "1 E core at 0.900 GHz", "1 LP core at 0.700 GHz",
        "6 P cores at 1.400 GHz, 8 E cores at 0.900 GHz, 2 LP cores at 0.700 GHz",
    ]
    assert main(["roofs", "--machine", "laptop-arrow", "--threads", "E", "--no-plot"]) == 0
    out = capsys.readouterr().out
    assert "THEORY, not measured; 8 E cores at 0.900 GHz" in out
    assert "134.40       18.67  theory, at most" in out
    assert "the maximum of the family" in out


@pytest.mark.real
@_runs
def test_measured_here_quickly_and_not_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert main(["roofs", "--quick", "--threads", "one", "--json"]) == 0
    peaks, _integers, bandwidths, _ridges, sets, cores = tables(capsys.readouterr().out)
    (item,) = sets["rows"]
    assert (item["origin"], item["threads"], item["values"]["cores"], cores["rows"]) == ("measured", "one", 1, [])
    (peak,) = (row["values"] for row in peaks["rows"])
    rates = {level: values["GB/s"] for level, values in by(bandwidths, "level").items()}
    assert peak["rounds"] >= 7
    # no core does more than 64 double operations or moves more than 256 bytes in a cycle
    assert 0 < peak["GFLOP/s"] < 64 * 10
    assert all(0 < rate < 256 * 10 for rate in rates.values())
    assert rates["L1"] > rates["DRAM"]
    assert list(tmp_path.iterdir()) == []


def _ticks(stat: str) -> int:
    """User and system time in clock ticks (proc_pid_stat(5), fields 14 and 15)."""
    words = Path(stat).read_text().rpartition(")")[2].split()
    return int(words[11]) + int(words[12])


def _thread_ticks(pid: int) -> int | None:
    """CPU time of a process's threads without the first, the ended ones too, in ticks; None before there are any.

    The two files last as long as the process; a file of a measuring thread is gone with its round.
    """
    first = _ticks(f"/proc/{pid}/task/{pid}/stat")
    others = max(0, _ticks(f"/proc/{pid}/stat") - first)
    return others if others or len(os.listdir(f"/proc/{pid}/task")) > 1 else None


def _home(folder: Path) -> Mapping[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    return {**kept, "HOME": str(folder)}


@pytest.mark.real
@_runs
@pytest.mark.parametrize(("number", "ticks"), [
    (signal.SIGINT, None), (signal.SIGINT, 0), (signal.SIGINT, 40), (signal.SIGINT, 250), (signal.SIGTERM, 40),
])
def test_a_signal_ends_measuring_with_what_there_is(number: signal.Signals, ticks: int | None, tmp_path: Path) -> None:
    """Before the first thread, when threads begin, within peaks of one core, and with one thread on each."""
    words, pause = [sys.executable, "-m", "turbotui", "roofs", "--no-plot"], threading.Event()
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=_home(tmp_path)) as run:  # noqa: S603 - ourselves
        assert run.stderr is not None
        assert run.stderr.readline().startswith("turbotui: measuring roofs: 0%")
        end = time.monotonic() + PATIENCE
        while ticks is not None and time.monotonic() < end:
            spent = _thread_ticks(run.pid)
            if spent is not None and spent >= ticks:
                break
            pause.wait(0.001)
        run.send_signal(number)
        out, err = run.communicate(timeout=PATIENCE)
    assert run.returncode == 128 + number, err
    assert "Traceback" not in err
    said = err.splitlines()[-1]
    if out:
        assert said.startswith("turbotui: stopped: what was measured until then is below")
        assert re.search(r"note: STOPPED: \d+ of \d+ roofs were measured", out)
        assert "flat roofs" in out
    else:
        assert said == "turbotui: measuring roofs was stopped before there was anything to keep"
    assert "slanted roofs" in out or not list(tmp_path.rglob("*.json")), "only whole sets are stored"
