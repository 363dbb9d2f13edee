"""`turbotui export`, read by other programs: the values are those of the recording's frames."""

from __future__ import annotations

import csv
import functools
import io
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsontables import tables
from watched_machines import frames_of_machine

from turbotui import recording
from turbotui.cli import main
from turbotui.commands.parser import Parser
from turbotui.errors import TurbotuiError
from turbotui.features.export.verb import add_arguments
from turbotui.machine.machine import Machine
from turbotui.machine.own_program import install_command
from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.scope import SYSTEM_ROW, Scope
from turbotui.quantities.signals import Behavior
from turbotui.quantities.units import Unit
from turbotui.recording.journal import Journal
from turbotui.recording.recorder import Recorder
from turbotui.sampling.frame import Frame
from turbotui.tables.envelope import timestamp
from turbotui.tables.saving import writing_new

COLUMNS = ("Busy%", "Bzy_MHz", "PkgWatt", "CoreTmp", "IRQ", "Governor")


BUSY = "SELECT epoch_ns(time), cpu, 100 * mperf / tsc FROM run WHERE row = 'cpu'"
TWEAKED_BUSY = """
    SELECT epoch_ns(run.time), run.cpu, 100 * run.mperf / (run.tsc * whole.tsc_tweak)
    FROM run JOIN run AS whole ON whole.time = run.time AND whole.row = 'system' WHERE run.row = 'cpu'
"""
"""On client processors MPERF ticks beside the TSC: tsc_tweak is the ratio, known once for the machine."""


def package(name: str) -> Any:
    return pytest.importorskip(name, reason=f"package {name.partition('.')[0]} is missing")


@functools.cache
def watched(shape: str, intervals: int) -> tuple[Machine, list[Frame]]:
    return frames_of_machine(shape, intervals, columns=COLUMNS)


def recorded(folder: Path, shape: str = "laptop-old", intervals: int = 21) -> str:
    machine, frames = watched(shape, intervals)
    path = str(folder / "run.ttj")
    recorder = Recorder(path, machine, sync_seconds=0.0)
    for frame in frames:
        recorder.take(frame)
    recorder.close()
    return path


def frames_of(path: str, every: float = 0.0) -> list[Frame]:
    with recording.read(path) as journal:
        return [frame for frame in journal.frames(every=every) if frame.older is not None]


def exported(folder: Path, *words: str, shape: str = "laptop-old") -> tuple[str, str]:
    """The recording, and the Parquet file made of it."""
    package("pyarrow")
    path, output = recorded(folder, shape), str(folder / "run.parquet")
    assert main(["export", "--from", path, "--output", output, *words]) == 0
    return path, output


@pytest.mark.parametrize("shape", ["laptop-old", "turin-2s"])
def test_busy_in_sql_is_ours(shape: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    duckdb = package("duckdb")
    path, output = exported(tmp_path, shape=shape)
    assert "RECORDED machine" in capsys.readouterr().out
    tweaked = "tsc_tweak" in watched(shape, 21)[1][-1].capabilities.signals
    result = duckdb.read_parquet(output).query("run", TWEAKED_BUSY if tweaked else BUSY).fetchall()
    ours = {}
    for frame in frames_of(path):
        column = catalog_for(frame.capabilities.signals).by_id["Busy%"]
        for row in frame.rows(Scope.CPU):
            ours[frame.newer.wall_ns, row.key[0]] = frame.cell(column, row)
    assert len(result) == len(ours) > 100
    assert {(time, cpu): busy for time, cpu, busy in result} == pytest.approx(ours, rel=1e-12)
    assert len({round(busy) for _time, _cpu, busy in result}) > 1, "the same all the time shows little"


def test_polars_reads_increments_and_gauges(tmp_path: Path) -> None:
    polars = package("polars")
    path, output = exported(tmp_path)
    table = polars.read_parquet(output)
    frames = frames_of(path)
    joules = sum(frame.whole_delta("energy.pkg") or 0.0 for frame in frames)
    packages = table.filter(polars.col("row") == "package")
    assert packages["energy.pkg"].sum() == pytest.approx(joules)
    assert packages["mperf"].null_count() == len(packages), "a CPU's counter is in rows of CPUs only"
    governors = table.filter(polars.col("row") == "cpu")["cpufreq.governor"]
    assert set(governors) == {"powersave"}
    assert table["time"].n_unique() == len(frames) == 21
    assert str(table.schema["time"]) == "Datetime(time_unit='ns', time_zone='UTC')"


def test_every_value_is_the_frame_s_and_says_what_it_is(tmp_path: Path) -> None:
    parquet = package("pyarrow.parquet")
    path, output = exported(tmp_path)
    file = parquet.ParquetFile(output)
    facts = {key.decode(): text.decode() for key, text in file.schema_arrow.metadata.items()}
    assert (facts["kind"], facts["was"], facts["machine"]) == ("RECORDED", "SIMULATED", "laptop-old (SIMULATED)")
    mperf = {key.decode(): text.decode() for key, text in file.schema_arrow.field("mperf").metadata.items()}
    assert (mperf["unit"], mperf["origin"], mperf["kind"], mperf["scope"]) == (
        "cycle", "perf msr/mperf/", "counter", "cpu")
    chunks = file.metadata.row_group(0)
    kinds = {chunks.column(at).path_in_schema: chunks.column(at) for at in range(chunks.num_columns)}
    assert {kinds[name].compression for name in kinds} == {"ZSTD"}
    for name in ("mperf", "energy.pkg", "seconds"):
        assert "BYTE_STREAM_SPLIT" in kinds[name].encodings
    table = file.read()
    times = table.column("time").cast("int64").to_pylist()
    rows = {(time, row["row"], row[row["row"]]): row for time, row in zip(times, table.to_pylist(), strict=True)
            if row["row"] in {"cpu", "package"}}
    looked_at = 0
    for frame in frames_of(path):
        for name in frame.newer.values:
            signal = frame.capabilities.signals[name]
            if signal.scope in {Scope.CPU, Scope.PACKAGE} and signal.unit is not Unit.TEXT:
                known = frame.deltas(name) if signal.behavior is Behavior.COUNTER else frame.levels(name)
                for row, value in zip(frame.rows(signal.scope), known, strict=True):
                    assert rows[frame.newer.wall_ns, signal.scope.value, row.key[0]][name] == value
                    looked_at += 1
    assert looked_at > 500


def test_longer_intervals_hold_the_same_increments(tmp_path: Path) -> None:
    polars = package("polars")
    path, fine = exported(tmp_path)
    coarse = str(tmp_path / "coarse.parquet")
    assert main(["export", "--from", path, "-o", coarse, "--every", "10s"]) == 0
    by_second, by_ten = (polars.read_parquet(name).filter(polars.col("row") == "cpu") for name in (fine, coarse))
    assert sorted(set(by_ten["seconds"])) == [1.0, 10.0]  # what is left is a shorter interval
    assert by_ten["aperf"].sum() == pytest.approx(by_second["aperf"].sum(), rel=1e-12)


def test_elapsed_is_the_time_between_the_readings(tmp_path: Path) -> None:
    duckdb = package("duckdb")
    _path, output = exported(tmp_path, "--elapsed", "--from-time", "+5s", "--to-time", "+3s")
    query = """SELECT seconds, "mperf.seconds" FROM run WHERE row = 'cpu'"""
    result = duckdb.read_parquet(output).query("run", query).fetchall()
    assert set(result) == {(1.0, 1.0)}
    assert len(result) == 3 * 8


def test_csv_has_the_cells_of_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = recorded(tmp_path)
    words = ["export", "--from", path, "--columns", "Busy%,PkgWatt,Governor,CPU"]
    assert main(words) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert list(rows[0])[:5] == ["time", "seconds", "machine", "kind", "row"]
    assert list(rows[0])[-3:] == ["Busy%", "Governor", "PkgWatt"]
    assert {row["kind"] for row in rows} == {"RECORDED"}
    frames = frames_of(path)
    columns = catalog_for(frames[-1].capabilities.signals).by_id
    last = [row for row in rows if row["time"] == rows[-1]["time"]]
    assert {int(row["cpu"]): float(row["Busy%"]) for row in last if row["row"] == "cpu"} == {
        row.key[0]: frames[-1].cell(columns["Busy%"], row) for row in frames[-1].rows(Scope.CPU)}
    (package_row,) = (row for row in last if row["row"] == "package")
    assert float(package_row["PkgWatt"]) == frames[-1].cell(columns["PkgWatt"], frames[-1].rows(Scope.PACKAGE)[0])
    assert package_row["Busy%"] == ""
    assert main([*words, "--by", "machine"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == len(frames)
    assert float(rows[-1]["Busy%"]) == frames[-1].cell(columns["Busy%"], SYSTEM_ROW)


def test_json_is_the_object_of_every_verb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, output = recorded(tmp_path), tmp_path / "run.json"
    assert main(["export", "--from", path, "--columns", "Busy%,PkgWatt", "--to-time", "+2s", "-o", str(output)]) == 0
    assert capsys.readouterr().out == ""
    result = tables(output.read_text())
    assert [(item["table"], item["kind"], len(item["rows"])) for item in result] == [
        ("package", "RECORDED", 1), ("cpu", "RECORDED", 8)] * 2


@pytest.mark.parametrize(("words", "said"), [
    (["--format", "parquet"], "name a file with --output"),
    (["--columns", "Busi%"], "did you mean Busy%"),
    (["--columns", "CPU,Core"], "names no column that measures something"),
    (["--columns", "Busy%", "--elapsed"], "--elapsed is of signals"),
    (["--from-time", "+2h", "--to-time", "+1s"], "lies after what was recorded"),
    (["--columns", "Busy%", "--from-time", "+2h", "--to-time", "+1s", "-o", "{new}.csv"], "lies after what was"),
    (["--every", "often"], "is no length of time above 0"),
    (["-o", "{run}"], "exists already"),
    (["-o", "{new}/deeper.csv"], "cannot be written"),
])
def test_what_is_refused_is_one_sentence(words: list[str], said: str, tmp_path: Path,
                                         capsys: pytest.CaptureFixture[str]) -> None:
    path, new = recorded(tmp_path), str(tmp_path / "new")
    assert main(["export", "--from", path, *(word.format(run=path, new=new) for word in words)]) in {1, 2}
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert [file.name for file in tmp_path.iterdir()] == ["run.ttj"], "nothing half done is left"


def test_without_pyarrow_a_sentence_says_how_to_get_it(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    path = recorded(tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "turbotui.features.export.parquet_file", raising=False)
    assert main(["export", "--from", path, "--output", str(tmp_path / "run.parquet")]) == 1
    assert f"which is not installed: {install_command('pyarrow')}" in capsys.readouterr().err
    assert not (tmp_path / "run.parquet").exists()
    assert main(["export", "--from", path, "--columns", "Busy%"]) == 0, "nothing else needs it"


def test_a_file_that_fails_half_way_is_not_left(tmp_path: Path) -> None:
    path = tmp_path / "half"

    def fail() -> None:
        with writing_new(str(path)) as file:
            file.write(b"half")
            raise OSError(28, "No space left on device")

    with pytest.raises(TurbotuiError, match="No space left"):
        fail()
    assert not path.exists()


def test_a_device_is_written_to_and_stays(tmp_path: Path) -> None:
    with writing_new(os.devnull) as file:
        file.write(b"nothing")
    assert os.path.exists(os.devnull)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    with writing_new(str(fifo)) as file:
        file.write(b"rows")
    assert os.read(reader, 9) == b"rows"
    os.close(reader)
    with pytest.raises(TurbotuiError, match="exists already"), writing_new(str(tmp_path)):
        pass


def test_options_of_metrics_and_of_tables_are_all_known_as_such() -> None:
    parser = Parser()
    add_arguments(parser)
    arguments = parser.parse_args([])
    names = {action.dest for action in parser._actions}
    both = {"help", "file", "listen", "printed", "textfile", "columns"}
    assert names == both | {*arguments.of_machine, *arguments.of_recording}
    assert {"once", "machine", "interval", "series", "allow_host"} <= arguments.of_machine.keys()
    assert arguments.of_recording.keys() == {"format", "output", "by", "elapsed", "every", "from_time", "to_time"}


@pytest.mark.parametrize("form", ["csv", "json", "parquet", "trace"])
def test_a_stopped_export_says_in_the_file_that_the_rest_is_missing(
        form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    if form == "parquet":
        package("pyarrow")
    path, output = recorded(tmp_path, intervals=6), str(tmp_path / f"run.{form}")
    third = [frame.newer.wall_ns for frame in frames_of(path)][2]
    frames = Journal.frames

    def interrupted(*words: Any, **options: Any) -> Iterator[Frame]:
        for frame in frames(*words, **options):
            if frame.newer.wall_ns == third:
                signal.raise_signal(signal.SIGINT)
            yield frame

    monkeypatch.setattr(Journal, "frames", interrupted)
    status = main(["export", "--from", path, "--columns", "Busy%", "--format", form, "-o", output])
    assert status == 128 + signal.SIGINT
    assert "stopped: whole until" in capsys.readouterr().err
    assert stopped_words(form, output) == f"stopped: whole until {timestamp(third)}, what follows is missing"


def stopped_words(form: str, path: str) -> object:
    """What a file that was ended early says of it, read as its format's readers do."""
    if form == "parquet":
        return package("pyarrow.parquet").read_metadata(path).metadata[b"stopped"].decode()
    text = Path(path).read_text(encoding="utf-8")
    if form == "trace":
        trace = json.loads(text)
        assert trace["traceEvents"][-1]["name"] == trace["otherData"]["stopped"]
        return trace["otherData"]["stopped"]
    if form == "json":
        *_rest, last = tables(text)
        assert (last["table"], last["rows"]) == ("stopped", [])
        return last["notes"][0]
    *_rest, row = csv.DictReader(io.StringIO(text), strict=True)
    assert (row["kind"], row["Busy%"], None in row) == ("RECORDED", "", False)
    return row["row"]
