"""Recorded uncore counters: the tables, formulas and filters of every interval as they were live."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import jsontables
import pytest
from uncorewatch import UncoreWatch

from turbotui import recording
from turbotui.cli import main
from turbotui.commands.recording import kept_answers
from turbotui.features.uncore.counters import Reading
from turbotui.features.uncore.kinds import typed_metric
from turbotui.features.uncore.recorded import RecordedCounters
from turbotui.features.uncore.tables import uncore_table
from turbotui.features.uncore.traffic import find_edges, metrics_by_kind, traffic_of
from turbotui.recording.recorder import Recorder
from turbotui.sampling.frame import Frame
from turbotui.sampling.sampler import Sampler
from turbotui.simulated import SHAPES, MachineShape

pytestmark = pytest.mark.usefixtures("few_cores")

EXPECTED = {"rd bandwidth GB/s": 10.239345, "wr bandwidth GB/s": 4.607705, "clockticks GHz": 2.4}
Readings = list[tuple[str, str, str, Reading]]
GOLDEN = Path(__file__).parents[2] / "recording" / "golden" / "version1.uncore.ttj"


def live_readings(watch: UncoreWatch, frame: Frame) -> Readings:
    return [(units.kind.id, row.key, metric.id, watch.counters.reading(frame, units, row, metric))
            for units in watch.counters.kinds for row in units.rows for metric in watch.counters.shown(units)]


def written(path: Path, watch: UncoreWatch, count: int = 3, *, change: bool = False) -> list[Readings]:
    """Record frames; with `change` another event and a filter are chosen after two of them."""
    result: list[Readings] = []
    recorder = Recorder(str(path), watch.machine, kept=kept_answers(watch.machine), sync_seconds=0.0)

    def between(sampler: Sampler, ticks: int) -> None:
        if change and ticks == 3:
            units = watch.units_of("nvidia_pcie_pmu")
            watch.counters.show(units, (*watch.counters.shown(units), typed_metric(units, "event=0x5")))
            watch.counters.set_filters((units.pmu.name,), {"src_bdf": 0xC100, "src_bdf_en": 1})
            watch.hand_over(sampler)

    try:
        for frame in watch.frames(count, between, also_first=True):
            recorder.take(frame)
            result.append(live_readings(watch, frame) if frame.older is not None else [])
    finally:
        recorder.close()
    return result[1:]


@pytest.mark.parametrize("shape", ["sapphire-2s", "turin-2s", "grace-2s", "neoverse-2s", "granite-2s"])
def test_every_reading_of_a_recording_is_the_live_one(shape: str, tmp_path: Path) -> None:
    watch = UncoreWatch(shape)
    live = written(tmp_path / "u.ttj", watch)
    with recording.read(str(tmp_path / "u.ttj")) as journal:
        counters = RecordedCounters(journal.machine, journal.definitions())
        assert [units.kind for units in counters.kinds] == [
            units.kind for units in watch.counters.kinds if watch.counters.shown(units)]
        frames = [frame for frame in journal.frames() if frame.older is not None]
        for frame, readings in zip(frames, live, strict=True):
            assert counters.has_any(frame)
            result = {(kind.kind.id, row.key, metric.id): uncore_table(counters, kind, frame).reading(row, metric)
                      for kind in counters.kinds for row in kind.rows for metric in counters.shown(kind)}
            assert {key[:3]: key[3] for key in readings} == result
        assert any(reading.value for reading in result.values())
        assert (counters.sources(), counters.signals()) == ((), frozenset())
        units = counters.kinds[0]
        table = uncore_table(counters, units, frames[-1])
        column = counters.shown(units)[0]
        assert f"= {column.formula}" in table.evidence(column, units.rows[0]).arithmetic


@pytest.mark.parametrize("shape", [
    pytest.param(replace(SHAPES["turin-2s"], family=25, model=0x11), id="zen4"),
    *(pytest.param(SHAPES[name], id=name) for name in ("turin-2s", "granite-2s", "neoverse-2s", "vera-2s"))])
def test_the_map_of_a_recording_is_the_live_one(shape: MachineShape, tmp_path: Path) -> None:
    """What tables show at first counts everything that edges need, but what no counter says is unknown in both."""
    watch = UncoreWatch(shape)
    edges = find_edges(watch.machine, watch.counters.kinds)
    watch.counters.count_beside(metrics_by_kind(edges))
    recorder = Recorder(str(tmp_path / "u.ttj"), watch.machine, kept=kept_answers(watch.machine), sync_seconds=0.0)
    live = []
    for frame in watch.frames(2, also_first=True):
        recorder.take(frame)
        live.append([(row.edge.key, row.inward.value, row.outward.value, row.total.value, row.peak.value)
                     for row in traffic_of(watch.counters, frame, edges)])
    recorder.close()
    with recording.read(str(tmp_path / "u.ttj")) as journal:
        counters = RecordedCounters(journal.machine, journal.definitions())
        again = find_edges(journal.machine, counters.kinds)
        *_first, last = [frame for frame in journal.frames() if frame.older is not None]
        traffics = {row.edge.key: row for row in traffic_of(counters, last, again)}
        assert [(key, row.inward.value, row.outward.value, row.total.value, row.peak.value)
                for key, row in traffics.items()] == [item for item in live[-1] if item[0] in traffics]
        assert traffics.keys() >= {key for key, *values in live[-1] if any(value is not None for value in values)}
        assert any(row.total.value for row in traffics.values())


def test_a_recording_gives_every_value_that_its_counts_make(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    watch = UncoreWatch("grace-2s")
    path = tmp_path / "u.ttj"
    written(path, watch)
    with recording.read(str(path)) as journal:
        counters = RecordedCounters(journal.machine, journal.definitions())
        units = next(kind for kind in counters.kinds if kind.kind.id == "nvidia_scf_pmu")
        before = counters.shown(units)
        counters.show_all()
        assert [metric.id for metric in counters.shown(units) if metric not in before] == ["refill bandwidth GB/s"]
    words = ["uncore", "--replay", str(path), "-k", "scf", "-n", "1", "--format", "json"]
    values = []
    for more in ([], ["--all"]):
        assert main([*words, *more]) == 0
        table = jsontables.table(capsys.readouterr().out, "nvidia_scf_pmu")
        values.append(table["rows"][0]["values"])
    assert values[1]["refill bandwidth GB/s"] > 0
    assert {name: values[1][name] for name in values[0]} == values[0]


def test_the_verb_draws_the_map_of_a_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    path = str(tmp_path / "u.ttj")
    # units of all packages are counted beside one CPU
    words = ["--machine", "granite-2s", "--cpu", "0", "-s", "Busy%", "-i", "0.5", "-n", "3", "--tables", "uncore"]
    assert main(["record", path, *words]) == 0
    capsys.readouterr()
    assert main(["uncore", "--replay", path, "--map"]) == 0, "a worker may be late for one of them"
    out = capsys.readouterr().out
    assert out.startswith("# RECORDED machine granite-2s (SIMULATED)")
    assert "[  memory 1  ]" in out
    assert "UPI 5 to package 1" in out
    assert "% of 845" in out, "12 channels of MRDIMM-8800"


def test_what_was_counted_changes_with_the_moment(tmp_path: Path) -> None:
    watch = UncoreWatch("vera-2s")
    written(tmp_path / "u.ttj", watch, 5, change=True)
    with recording.read(str(tmp_path / "u.ttj")) as journal:
        counters = RecordedCounters(journal.machine, journal.definitions())
        units = next(kind for kind in counters.kinds if kind.kind.id == "nvidia_pcie_pmu")
        typed = next(metric for metric in counters.shown(units) if metric.needs == ("event=0x5",))
        pmu = units.pmu.name
        first, *_others, last = [frame for frame in journal.frames() if frame.older is not None]
        table = uncore_table(counters, units, first)
        why = table.cell(typed, units.rows[1]).why
        assert why is not None
        assert "was not recorded at this time" in why.detail
        assert counters.settings(pmu) == {}
        table = uncore_table(counters, units, last)
        assert table.cell(typed, units.rows[2]).value is not None
        assert counters.settings(pmu) == {"src_bdf": 0xC100, "src_bdf_en": 1}
        assert "filters" in [column.id for column in table.columns]


def test_tables_of_a_file_of_version_1_are_read_for_ever(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["uncore", "--replay", str(GOLDEN), "--format", "json"]) == 0
    result = jsontables.tables(capsys.readouterr().out)
    assert [(item["table"], item["kind"], item["seconds"]) for item in result] == [("uncore_imc", "RECORDED", 2.0)] * 2
    rows = {row["place"]: row["values"] for row in result[1]["rows"]}
    assert len(rows) == 1 + 2 + 16
    assert {name: round(value, 6) for name, value in rows["pkg 0 Σ"].items()} == EXPECTED


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("uncore") / "u.ttj"
    written(path, UncoreWatch("vera-2s"), 6)
    return str(path)


def test_every_format_says_recorded(recorded: str, capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("text", "csv", "json", "openmetrics"):
        assert main(["uncore", "--replay", recorded, "-n", "1", "-k", "cmem", "--format", form]) == 0
        assert "RECORDED" in capsys.readouterr().out, form
    assert main(["uncore", "--replay", recorded, "-k", "cmem", "--format", "csv"]) == 0
    rows = list(csv.DictReader(line for line in capsys.readouterr().out.splitlines() if not line.startswith("#")))
    assert len(rows) == 6 * 3


def test_times_and_longer_intervals(recorded: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["uncore", "--replay", recorded, "-k", "cmem", "--format", "json"]
    assert main([*words, "--from", "+5s", "--to=-1s"]) == 0
    assert [table["seconds"] for table in jsontables.tables(capsys.readouterr().out)] == [2.0] * 3
    assert main([*words, "--every", "4s"]) == 0
    longer = jsontables.tables(capsys.readouterr().out)
    assert {item["seconds"] for item in longer} == {4.0}
    assert len(longer) >= 2


@pytest.mark.parametrize(("words", "why"), [
    (["-i", "2"], "--every"), (["-e", "nvidia_ucf_pmu/cycles/"], "-e and -f"), (["--machine", "guest"], "leave"),
    (["-k", "nothing"], "no kind of uncore PMU"),
])
def test_what_a_recording_cannot_do_is_refused(
    words: list[str], why: str, recorded: str, capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["uncore", "--replay", recorded, *words]) != 0
    assert why in capsys.readouterr().err


def test_a_recording_without_uncore_counters_says_how_to_have_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str],
) -> None:
    path = str(tmp_path / "cpus.ttj")
    assert main(["record", path, "--machine", "guest", "-i", "0.05", "-n", "1", "--tables", "uncore"]) == 0
    assert "no uncore counters are recorded: " in capsys.readouterr().err
    assert main(["uncore", "--replay", path]) == 1
    assert "--tables uncore" in capsys.readouterr().err
    assert main(["uncore", "--machine", "guest", "--from", "+1s"]) == 2
    assert "go with --replay" in capsys.readouterr().err
    assert main(["record", path, "--tables", "cpus,planets"]) == 2
    assert '"planets" cannot be recorded; there are cpus' in capsys.readouterr().err


def test_the_verb_records_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "u.ttj")
    words = ["--machine", "sapphire-2s", "--cpu", "0,1", "-i", "0.2", "-n", "2", "-s", "Busy%",
             "--tables", "cpus,uncore"]
    assert main(["record", path, *words]) == 0
    assert main(["uncore", "--replay", path, "--format", "json"]) == 0
    assert {table["table"] for table in jsontables.tables(capsys.readouterr().out)} == {
        "uncore_imc", "uncore_cha", "uncore_upi", "uncore_iio", "uncore_m2m", "uncore_cxlcm", "uncore_cxldp"}
    assert main(["stat", "--replay", path, "-q", "-S", "-s", "Busy%"]) == 0


def test_what_is_damaged_is_reported_and_the_rest_is_shown(recorded: str, tmp_path: Path,
                                                           capsys: pytest.CaptureFixture[str]) -> None:
    data = bytearray(Path(recorded).read_bytes())
    data[data.rindex(b"\xabTTJ", 0, len(data) - 2000) + 60] ^= 1
    path = tmp_path / "damaged.ttj"
    path.write_bytes(data)
    assert main(["uncore", "--replay", str(path), "-k", "cmem", "--format", "json"]) == 0
    output = capsys.readouterr()
    assert 0 < len(jsontables.tables(output.out)) < 6
    assert "damaged.ttj: " in output.err
