"""`turbotui diff` over recordings of simulated machines: formats, spans, intervals, limits, refusals."""

from __future__ import annotations

import csv
import functools
import io
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from jsontables import tables
from watched_machines import frames_of_machine

from turbotui.cli import main
from turbotui.commands.long_work import long_work
from turbotui.errors import signal_status
from turbotui.features.diff.spans import RecordedSpan, common_interval, open_span
from turbotui.features.diff.verb import _sides
from turbotui.machine.machine import Machine
from turbotui.quantities.moments import NS
from turbotui.quantities.scope import Scope
from turbotui.recording.recorder import Recorder
from turbotui.sampling.frame import Frame

COLUMNS = ("Busy%", "Bzy_MHz", "PkgWatt", "IRQ", "TSC_MHz", "PL1", "Governor")


@functools.cache
def watched(shape: str, seconds: float, intervals: int) -> tuple[Machine, list[Frame]]:
    return frames_of_machine(shape, intervals, seconds=seconds, columns=COLUMNS)


def recorded(folder: Path, name: str, shape: str = "laptop-old", seconds: float = 1.0, intervals: int = 24) -> str:
    machine, frames = watched(shape, seconds, intervals)
    path = str(folder / f"{name}.ttj")
    recorder = Recorder(path, machine, sync_seconds=0.0)
    for frame in frames:
        recorder.take(frame)
    recorder.close()
    return path


def test_other_machines_differ_in_every_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = recorded(tmp_path, "before"), recorded(tmp_path, "after", "sapphire-2s")
    words = ["diff", before, after, "--columns", ",".join(COLUMNS)]
    assert main(words) == 0
    text = capsys.readouterr().out
    lines = text.splitlines()
    assert lines[0] == "# diff, RECORDED machine laptop-old (SIMULATED), sapphire-2s (SIMULATED)"
    assert any(line.startswith("note: another processor: ") for line in lines)
    assert any(line.split()[:6] == ["PL1", "W", "15", "0", "700", "0"] for line in lines)
    assert main([*words, "--all", "--format", "json"]) == 0
    result = tables(capsys.readouterr().out)[0]
    assert (result["table"], result["kind"]) == ("diff", "RECORDED")
    assert result["facts"]["A intervals"] == 24
    rows = {row["column"]: row for row in result["rows"]}
    assert rows["PL1"]["values"]["verdict"] == "differs"
    assert rows["PL1"]["values"]["A"] == 15.0
    assert rows["Governor"]["values"]["reason"] == "a text: powersave in both"
    assert main([*words, "--all", "--format", "csv"]) == 0
    cells = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["column"] for row in cells} == set(COLUMNS)
    for name in ("table", "openmetrics"):
        assert main([*words, "--format", name]) == 0
        assert "RECORDED" in capsys.readouterr().out


def test_a_recording_does_not_differ_from_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = recorded(tmp_path, "run")
    assert main(["diff", path, path, "--format", "json", "--all"]) == 0
    rows = tables(capsys.readouterr().out)[0]["rows"]
    assert len(rows) > 4
    assert {row["values"]["effect"] for row in rows if row["values"]["effect"] is not None} == {0.0}
    assert "differs" not in {row["values"]["verdict"] for row in rows}


def test_rows_of_packages_and_cpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = recorded(tmp_path, "run")
    for level, places in (("package", {("package", "0")}), ("cpu", {("cpu", str(cpu)) for cpu in range(8)})):
        assert main(["diff", path, path, "--by", level, "--format", "json", "--all", "--columns", "Busy%,PkgWatt"]) == 0
        rows = tables(capsys.readouterr().out)[0]["rows"]
        busy = {(row["level"], row["instance"]) for row in rows if row["column"] == "Busy%"}
        assert busy == places
        watts = {(row["level"], row["instance"]) for row in rows if row["column"] == "PkgWatt"}
        assert watts == {("package", "0")}, "a value of a package is there once"


def test_a_broken_limit_is_the_exit_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = recorded(tmp_path, "before"), recorded(tmp_path, "after", "sapphire-2s")
    assert main(["diff", before, after, "--limit", "PL1 +5%", "--limit", "TSC_MHz -1%"]) == 5
    text = capsys.readouterr()
    assert '--limit "PL1 +5%" BROKEN: PL1 is 4566.7 % higher in B (median 15 to 700 W' in text.out
    assert '--limit "TSC_MHz -1%" kept: TSC_MHz is 0.4 % higher in B' in text.out
    assert main(["diff", before, after, "--limit", "PL1 +5%", "--format", "csv"]) == 5
    assert 'turbotui: --limit "PL1 +5%" BROKEN' in capsys.readouterr().err
    assert main(["diff", before, after, "--limit", "PL1 -5%", "--format", "json"]) == 0
    limits = tables(capsys.readouterr().out)[1]
    assert [row["values"]["verdict"] for row in limits["rows"]] == ["kept"]
    assert main(["diff", before, after, "--limit", "GFXWatt +5%"]) == 6


def test_spans_are_wholly_within_their_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = recorded(tmp_path, "run")
    spans = [open_span(f"{path}@{times}") for times in ("+2s..+6s", "-8s..", "..", "..+5s")]
    first = spans[2].journal.first_ns
    ends = [[(frame.newer.wall_ns - first) / NS for frame in span.frames(0.0)] for span in spans]
    assert ends[0] == [3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    assert ends[1] == [float(at) for at in range(17, 25)]
    assert len(ends[2]) == 24
    assert ends[3] == [1.0, 2.0, 3.0, 4.0, 5.0]
    for span in spans:
        span.journal.close()
    assert main(["diff", f"{path}@..+12s", f"{path}@+6s.."]) == 0
    assert "overlap" in capsys.readouterr().out


def test_other_intervals_are_compared_in_the_longer_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fine = recorded(tmp_path, "fine", seconds=1.0, intervals=60)
    coarse = recorded(tmp_path, "coarse", seconds=10.0, intervals=12)
    assert main(["diff", fine, coarse, "--columns", "IRQ,PL1", "--format", "json", "--all"]) == 0
    result = tables(capsys.readouterr().out)[0]
    assert "another interval: 1 s in A, 10 s in B; both are compared in intervals of 10 s" in result["notes"]
    assert result["facts"]["A seconds"] == result["facts"]["B seconds"] == 10.0
    irq = next(row["values"] for row in result["rows"] if row["column"] == "IRQ")
    assert 0.2 < irq["A"] / irq["B"] < 5.0, "counts of an interval are of intervals as long"
    with open_span(fine).journal as journal, open_span(coarse).journal as other:
        assert journal.machine.host.name == other.machine.host.name
    assert main(["diff", fine, fine, "--every", "5s", "--format", "json", "--all"]) == 0
    assert tables(capsys.readouterr().out)[0]["facts"]["A seconds"] == 5.0


def test_intervals_without_a_common_multiple_nearby(tmp_path: Path) -> None:
    spans = (open_span(recorded(tmp_path, "two", seconds=2.0)), open_span(recorded(tmp_path, "three", seconds=3.0)))
    seconds, first, second = common_interval(spans, 0.0)
    assert (seconds, first, second) == pytest.approx((6.0, 6.0, 6.0))
    for span in spans:
        span.journal.close()


@pytest.mark.parametrize(("words", "said"), [
    (["{run}", "{run}@14:03"], "write FILE@FROM..TO"),
    (["{run}", "{run}@noon..14:03"], "is no time"),
    (["{run}", "{run}@+9s..+0s"], "has no length"),
    (["{run}", "{run}@+2h..+1s"], "lies after what was recorded"),
    (["{run}", "{run}.gone"], "cannot be read"),
    (["{run}", __file__], "is no recording"),
    (["{run}", "{run}", "--limit", "PkgWatt"], "is no limit"),
    (["{run}", "{run}", "--limit", "PkgWat +5%"], "did you mean PkgWatt"),
    (["{run}", "{run}", "--columns", "Busi%"], "did you mean Busy%"),
    (["{run}", "{run}", "--every", "soon"], "is no length of time above 0"),
])
def test_what_is_refused_is_one_sentence(words: list[str], said: str, tmp_path: Path,
                                         capsys: pytest.CaptureFixture[str]) -> None:
    path = recorded(tmp_path, "run", intervals=6)
    assert main(["diff", *(word.format(run=path) for word in words)]) in {1, 2}
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_what_drifts_is_shown_and_said_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = recorded(tmp_path, "before"), recorded(tmp_path, "after", "sapphire-2s")
    assert main(["diff", before, after, "--columns", "PkgWatt,PL1", "--limit", "PkgWatt +5%"]) == 6
    lines = capsys.readouterr().out.splitlines()
    watts = next(line for line in lines if line.startswith("PkgWatt"))
    assert watts.split()[-2:] == ["large", "drifts"]
    assert "1 of 1 differ by more than chance (p < 0.05 among all of them)" in lines
    assert any(line.startswith("drifts: ") for line in lines)
    assert "NOT CHECKED: PkgWatt is " in lines[-1]
    assert not any("--all" in line for line in lines), "nothing is left to show"


def test_what_is_damaged_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = recorded(tmp_path, "run")
    damaged = tmp_path / "damaged.ttj"
    data = bytearray(Path(path).read_bytes())
    data[-300] ^= 0xFF
    damaged.write_bytes(data)
    assert main(["diff", path, str(damaged), "--columns", "PL1"]) == 0
    assert "note: B is damaged: " in capsys.readouterr().out
    assert main(["export", "--from", str(damaged), "--columns", "PL1"]) == 0
    assert "damaged.ttj: 1 reading from byte" in capsys.readouterr().err


def test_a_file_with_an_at_sign_is_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = recorded(tmp_path, "user@node..1", intervals=8)
    assert main(["diff", path, f"{path}@..", "--columns", "PL1", "--all"]) == 0
    assert "PL1" in capsys.readouterr().out


class StoppedSpan(RecordedSpan):
    """A span, while an interval of which Ctrl-C is pressed."""

    def frames(self, every: float) -> Iterator[Frame]:
        for number, frame in enumerate(super().frames(every)):
            if number == 12:
                signal.raise_signal(signal.SIGINT)
            yield frame


def test_ctrl_c_compares_as_much_of_both_sides_as_was_read(tmp_path: Path) -> None:
    spans = [open_span(recorded(tmp_path, name)) for name in ("before", "after")]
    first = StoppedSpan(*(getattr(spans[0], name) for name in ("name", "journal", "begin_ns", "end_ns")))
    columns = [[journal.catalog.by_id["Busy%"]] for journal in (spans[0].journal, spans[1].journal)]
    with long_work("reading") as work:
        sides = _sides((first, spans[1]), 0.0, Scope.SYSTEM, columns, work)
    side, other, notes = sides
    assert side.facts.intervals == 13
    assert other.facts.intervals in (12, 13)
    assert [note.partition(": ")[0] for note in notes if "stopped: whole until" in note] == ["A", "B"]
    assert work.status == signal_status(signal.SIGINT)
    for span in spans:
        span.journal.close()
