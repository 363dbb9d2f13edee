"""The history of `turbotui score run`: no run is lost, and only similar runs are compared."""

from __future__ import annotations

import json
import multiprocessing
import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsontables import by, tables

from turbotui.cli import main
from turbotui.errors import TurbotuiError
from turbotui.features.score import baselines, history
from turbotui.features.score.history import KeptRun
from turbotui.features.score.model import BOUND, SHORTEST, Baseline, Throttling
from turbotui.features.score.past_tables import past_tables
from turbotui.features.score.text import past_lines
from turbotui.features.score.trend import sentences, trends
from turbotui.features.score.verb import DOUBTFUL, SLOWER
from turbotui.machine.host import HostKind
from turbotui.tables.envelope import Envelope
from turbotui.tables.formats import FORMATS, make_format

NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
HARDWARE = {"model": "A", "turbo": "on"}


def kept(days_ago: float = 0.0, ratio: float | None = 1.07346, **other: object) -> KeptRun:
    run = KeptRun(
        when=(NOW - timedelta(days=days_ago)).replace(microsecond=0), node="cn17", simulated="",
        configuration=HARDWARE, load="xhpl", seconds=5.0, ratio=ratio, lowest_cpu=3, busy_cpus=8, busy=0.99,
        state="turbo", throttling=Throttling(0, 0.0, ()), baseline="linpack", unit="GFLOPS", predicted=121.5,
        error=1.34, key=f"{days_ago}-{ratio}",
    )
    return replace(run, **other)  # type: ignore[arg-type]  # each test names the fields it changes


@pytest.fixture
def file(tmp_path: Path) -> str:
    return history.path_of({"XDG_DATA_HOME": str(tmp_path)}, "cn17")


def test_what_is_kept_is_read_back(file: str) -> None:
    runs = [
        kept(2), kept(1, None, lowest_cpu=None, busy=None, predicted=None, error=None, warnings=("too low",)),
        kept(0, throttling=Throttling(None, 0.25, ("PL1", "PROCHOT")), simulated="SIMULATED machine x", measured=120.8),
    ]
    assert history.load(file) == history.RunHistory()
    history.store(file, runs[:1])
    history.store(file, runs[1:])
    assert history.load(file).runs == tuple(runs)


def test_a_score_that_is_noted_later_belongs_to_its_run_and_the_last_one_holds(file: str) -> None:
    history.store(file, [kept(2), kept(1)])
    history.store_measured(file, kept(2).key, 119.0)
    history.store_measured(file, kept(2).key, 120.8)
    assert [run.measured for run in history.load(file).runs] == [120.8, None]


DAMAGE = ('{"format": 1', "[]", "null", "7", '{"format": 1, "when": 3}', '{"format": "x"}', '{"format": 1, "of": "a"}',
          json.dumps({**history.run_json(kept()), "format": 1, "ratio": "fast"}), "[" * 100_000,
          '{"format": 1e999}', '{"format": NaN}', f'{{"format": {"9" * 400}}}', '{"format": true}')


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_line_costs_itself_only_and_is_counted(file: str, damage: str) -> None:
    history.store(file, [kept(2)])
    with open(file, "a", encoding="utf-8") as out:
        out.write(damage)  # without an end of line, as after a crash
    history.store(file, [kept(1)])
    past = history.load(file)
    assert past.runs == (kept(2), kept(1))
    assert past.damaged == (2,)


_ANY = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.sampled_from([0, -1, 1e308, -1e308, 5e-324, 10**300]),
    st.text(), st.lists(st.integers(), max_size=2), st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
    st.sampled_from(["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "1970-01-01T00:00:00Z"]),
)


@given(st.sampled_from(sorted(history.run_json(kept()))), _ANY, st.sampled_from([1e-9, 7.0, 1e300]))
def test_whatever_a_line_holds_the_history_is_reported(key: str, value: object, days: float) -> None:
    """A person can write such a file: the line is used or is damage, and nothing that follows fails."""
    line = json.dumps({"format": 1, **history.run_json(kept()), key: value})
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "cn17.jsonl")
        history.store(file, [kept(60), kept(2)])
        with open(file, "a", encoding="utf-8") as out:
            out.write(f"{line}\n")
        past = history.load(file)
    assert len(past.runs) + len(past.damaged) == 3
    seen = trends(past.runs, days)
    envelope = Envelope("cn17", HostKind.REAL, 0)
    assert list(past_lines(envelope, past, seen, 20))
    for name in FORMATS:
        writer = make_format(name)
        lines = [line for table in past_tables(past.runs, seen) for line in writer.lines(envelope, table)]
        assert lines
        if name == "json":
            assert len(tables("\n".join(lines))) == 4


def test_a_history_that_is_no_regular_file_is_a_sentence(file: str) -> None:
    os.makedirs(os.path.dirname(file))
    os.mkfifo(file)
    with pytest.raises(TurbotuiError, match="a FIFO, not a regular file"):
        history.load(file)


@pytest.mark.parametrize("text", [
    "[]", "7", '{"format": 1}', '{"format": 1e999}', '{"format": 1, "baselines": []}', "[" * 100_000, "\xff",
    '{"format": 1, "baselines": {"a": {"unit": "", "value": "nan", "ratio": 1, "configuration": {}, "simulated": ""}}}',
    '{"format": 1, "baselines": {"a": {"unit": "x", "value": 1, "ratio": 0, "configuration": {}, "simulated": ""}}}',
])
def test_damaged_baselines_are_a_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "baselines.json"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(TurbotuiError, match=r"damaged"):
        baselines.load(str(path))
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(TurbotuiError, match="a FIFO"):
        baselines.load(str(path))


def test_bytes_that_are_no_text_are_damage(file: str) -> None:
    history.store(file, [kept(2)])
    with open(file, "ab") as out:
        out.write(b"\xff\xfe\x00\n")
    assert history.load(file) == history.RunHistory((kept(2),), (2,))


def test_lines_of_a_later_version_are_passed_over_and_kept(file: str) -> None:
    Path(file).parent.mkdir(parents=True)
    Path(file).write_text('{"format": 2, "new": true}\n')
    history.store(file, [kept()])
    past = history.load(file)
    assert (past.runs, past.later, past.damaged) == ((kept(),), 1, ())
    assert Path(file).read_text().startswith('{"format": 2, "new": true}\n')


def test_an_older_line_without_what_came_later_is_read(file: str) -> None:
    old = {key: value for key, value in history.run_json(kept()).items()
           if key not in {"baseline", "unit", "predicted", "error", "measured", "warnings"}}
    Path(file).parent.mkdir(parents=True)
    Path(file).write_text(json.dumps({"format": 1, **old}) + "\n")
    assert history.load(file).runs == (kept(baseline="", unit="", predicted=None, error=None),)


def _write_runs(file: str, writer: int) -> None:
    for number in range(40):
        history.store(file, [kept(key=f"{writer}-{number}")])


def _write_baselines(file: str, writer: int) -> None:
    for number in range(10):
        baselines.store(file, Baseline(f"{writer}-{number}", "u", 1.0, 1.0, {}))


def _together(work: object, file: str) -> None:
    processes = [multiprocessing.get_context("fork").Process(target=work, args=(file, writer))  # type: ignore[arg-type]
                 for writer in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0


def test_writers_at_the_same_time_lose_nothing(file: str) -> None:
    _together(_write_runs, file)
    past = history.load(file)
    assert not past.damaged
    assert {run.key for run in past.runs} == {f"{writer}-{number}" for writer in range(4) for number in range(40)}


def test_baselines_stored_at_the_same_time_are_all_there(tmp_path: Path) -> None:
    path = str(tmp_path / "turbotui" / "baselines.json")
    _together(_write_baselines, path)
    assert set(baselines.load(path)) == {f"{writer}-{number}" for writer in range(4) for number in range(10)}


def test_each_node_has_its_own_file_and_a_simulated_machine_is_no_node(tmp_path: Path) -> None:
    home = {"XDG_DATA_HOME": str(tmp_path)}
    files = {history.path_of(home, node, simulated) for node, simulated in
             (("a", ""), ("b", ""), ("a", "SIMULATED machine a"), ("a", "RECORDED machine a"), ("../../a/b", ""))}
    assert len(files) == 5
    assert {Path(item).parent for item in files} == {tmp_path / "turbotui" / "scores"}


# Trends

@given(st.lists(st.tuples(st.floats(0, 400), st.floats(0.5, 2)), min_size=1, max_size=30), st.floats(0.5, 60))
def test_every_run_is_now_before_or_older(points: list[tuple[float, float]], days: float) -> None:
    runs = sorted((kept(ago, ratio) for ago, ratio in points), key=lambda run: run.when)
    [trend] = trends(runs, days)
    [change] = trend.changes
    edge = runs[-1].when - timedelta(days=days)
    assert change.now.count == sum(run.when > edge for run in runs)
    older = [run for run in runs if run.when <= edge]
    assert (change.before is None) == (not older)
    if change.before is not None:
        assert change.before.last <= edge
        assert change.before.count == len(older) or change.month
        assert change.chance is not None
        assert change.chance >= BOUND


def spread(first: float, last: float, ratios: Sequence[float], **other: object) -> list[KeptRun]:
    """Return runs over a range of days before today."""
    step = (first - last) / max(1, len(ratios) - 1)
    return [kept(first - step * number, ratio, **other) for number, ratio in enumerate(ratios)]


MONTH = spread(35, 8, [1.0734, 1.0731, 1.0738, 1.0735, 1.0733])


@pytest.mark.parametrize(("now", "verdict"), [
    ([1.0733, 1.0736, 1.0730], "unchanged"),
    ([1.0512, 1.0508, 1.0515], "slower"),
    ([1.0933, 1.0936, 1.0930], "faster"),
    ([1.0650, 1.0652], "unchanged"),  # 0.8 %: less than what the method can tell
])
def test_a_node_is_slower_when_it_differs_by_more_than_the_method_can_err(now: list[float], verdict: str) -> None:
    [trend] = trends([*MONTH, *spread(6, 0, now)])
    assert trend.changes[0].verdict == verdict
    assert (verdict.upper() if verdict != "unchanged" else "unchanged within") in sentences(trend)[0]


def test_runs_that_differ_much_need_a_greater_change() -> None:
    before = spread(35, 8, [1.00, 1.06, 1.12, 1.18, 1.06])
    [trend] = trends([*before, *spread(6, 0, [1.03, 0.99, 1.08])])
    assert trend.changes[0].relative == pytest.approx(1.03 / 1.06 - 1)
    assert trend.changes[0].verdict == "unchanged"


@pytest.mark.parametrize(("now", "before"), [(1, 5), (3, 3), (5, 10), (7, 30)])
def test_of_nodes_on_which_nothing_changed_one_in_twenty_differs_by_chance(now: int, before: int) -> None:
    random, changed = Random(3), 0
    for _node in range(400):
        draws = [random.gauss(1.0, 0.05) for _run in range(now + before)]
        (trend,) = trends([*spread(35, 8, draws[now:]), *spread(6, 0, draws[:now])])
        changed += trend.changes[0].verdict != "unchanged"
    assert 0.01 < changed / 400 < 0.08, "it was 0.13 to 0.39"


def test_only_like_is_compared_with_like() -> None:
    other_turbo = spread(30, 20, [2.0, 2.0], configuration={"model": "A", "turbo": "off"})
    doubtful = spread(19, 15, [3.0, 3.0, 3.0], warnings=("the load was too low",))
    idle = spread(14, 13, [0.0], load="xhpl")
    other_load = spread(12, 11, [0.5, 0.5], load="stream", baseline="")
    runs = [*other_turbo, *doubtful, *(replace(run, ratio=None) for run in idle), *other_load,
            *spread(10, 9, [1.07, 1.07]), *spread(1, 0, [1.07, 1.07])]
    hpl, stream = trends(runs)
    assert (hpl.doubtful, hpl.otherwise, hpl.differing) == (4, 2, ("turbo",))
    assert hpl.changes[0].relative == pytest.approx(0.0)
    assert (stream.load, stream.changes[0].verdict) == ("stream", "nothing to compare with")
    assert sentences(hpl)[-1] == ("linpack with xhpl: left out 4 runs with warnings and 2 runs with another "
                                  "configuration (turbo)")


def test_one_busy_cpu_is_not_compared_with_all_of_them() -> None:
    runs = spread(10, 9, [1.40, 1.41], busy_cpus=1)
    lazy = spread(8, 7.5, [1.20, 1.21], busy=0.7)
    (trend,) = trends([*spread(35, 20, [1.07, 1.07]), *runs, *lazy, *spread(1, 0, [1.07, 1.07])])
    assert (trend.unlike, trend.doubtful, trend.changes[0].verdict) == (4, 0, "unchanged")
    assert "4 runs with another load" in sentences(trend)[-1]
    (alone,) = trends([*spread(35, 20, [1.07, 1.07]), *spread(1, 0, [1.40, 1.41], busy_cpus=1)])
    assert alone.changes[0].verdict == "nothing to compare with"


def test_measured_scores_have_a_trend_of_their_own() -> None:
    runs = [replace(run, measured=score) for run, score in zip(
        [*MONTH, *spread(6, 0, [1.0733, 1.0735])], [120.8, 120.9, 120.7, 120.8, 120.8, 110.0, 110.2], strict=True)]
    [trend] = trends(runs)
    ratio, measured = trend.changes
    assert (ratio.verdict, measured.verdict) == ("unchanged", "slower")
    assert "measured score: SLOWER by 8.9 %" in sentences(trend)[1]


def test_throttled_runs_are_counted_on_both_sides() -> None:
    hot = Throttling(heat=4)
    [trend] = trends([*MONTH, *spread(6, 0, [1.04, 1.04], throttling=hot)])
    assert "(2 runs, 2 throttled) against" in sentences(trend)[0]


# The command

@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return tmp_path


MACHINE = ("--machine", "laptop-old+calculix")


def test_every_run_is_kept_with_what_it_predicted(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "baseline", *MACHINE, "--name", "linpack", "--unit", "GFLOPS", "--value", "113.2"]) == 0
    assert main(["score", "run", *MACHINE, "-i", "0.2", "--runs", "3", "--baseline", "linpack", "--json"]) == 0
    capsys.readouterr()
    assert main(["score", "measured", *MACHINE, "150"]) == 0
    assert "measured 150 GFLOPS" in capsys.readouterr().out
    assert main(["score", "history", *MACHINE, "--json"]) == 0
    history, circumstances, trends_, loads = tables(capsys.readouterr().out)
    assert {(entry["machine"], entry["kind"]) for entry in (history, circumstances, trends_, loads)} == {
        ("laptop-old+calculix", "SIMULATED")}
    runs = by(history, "run")
    assert [run["measured"] for run in runs.values()] == [None, None, 150.0]
    known = [run for run in runs.values() if run["ratio"] is not None]  # not where the reader of a counter was held up
    assert known
    for item in known:
        assert item["predicted"] == pytest.approx(113.2 * item["ratio"])
        assert 6 <= item["busy CPUs"] <= 8  # or it was held up in some intervals
        assert item["busy"] == pytest.approx(96, abs=2)
    lengths = {run: entry["length"] for run, entry in by(circumstances, "run").items()}
    doubtful = {row["run"] for row in history["rows"] if "too short" in row.get("disputed", {}).get("ratio", "")}
    assert doubtful == {run for run, length in lengths.items() if length < SHORTEST}
    assert by(loads, "baseline")["linpack"]["doubtful"] == len(doubtful)
    assert all(entry["heat"] is not None for entry in by(circumstances, "run").values())
    assert main(["score", "history", *MACHINE]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# SIMULATED")
    assert text.count("linpack   GFLOPS") == 3
    assert main(["score", "history"]) == 1, "a simulated machine's runs are not this one's"


def history_of(home: Path, *runs: KeptRun, node: str = "cn17") -> None:
    history.store(history.path_of({"XDG_DATA_HOME": str(home)}, node),
                  [replace(run, node=node) for run in runs])


def test_the_check_of_a_trend_is_an_exit_status(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("score", "history", "--node", "cn17", "--slower", "1.5")
    history_of(home, *MONTH)
    assert main([*words, "--days", "60"]) == DOUBTFUL
    history_of(home, *spread(6, 0, [1.0512, 1.0508, 1.0515]))
    assert main([*words]) == SLOWER
    out = capsys.readouterr().out
    assert "linpack with xhpl, ratio: SLOWER by 2.1 %" in out
    assert main([*words[:-1], "3"]) == 0
    assert main(["score", "history", "--node", "cn17", "--baseline", "absent"]) == 1


def test_all_nodes_of_a_shared_home_are_looked_at(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    history_of(home, *MONTH, *spread(6, 0, [1.0733]), node="cn1")
    history_of(home, *MONTH, *spread(6, 0, [0.9]), node="cn2")
    assert main(["score", "history", "--node", "all", "--json", "--slower", "5"]) == SLOWER
    value = tables(capsys.readouterr().out)
    assert [(item["machine"], item["rows"][0]["values"]["verdict"]) for item in value if item["table"] == "trends"] == [
        ("cn1", "unchanged"), ("cn2", "slower")]
    (change,) = value[-2]["rows"]
    assert change["values"]["before is"] == "the month before"
    assert change["values"]["change"] == pytest.approx(100 * (change["values"]["now"] / 1.0734 - 1), abs=0.1)
    assert main(["score", "history", "--node", "all", "--format", "csv", "--table", "trends"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[2] for line in lines] == ["machine", "cn1", "cn2"]


def test_a_folder_that_cannot_be_written_is_reported_and_the_report_stands(home: Path,
                                                                           capsys: pytest.CaptureFixture[str]) -> None:
    (home / "turbotui").write_text("in the way")
    assert main(["score", "run", *MACHINE, "-i", "0.2"]) == 0
    out, error = capsys.readouterr()
    assert "lowest CPU" in out
    assert "cannot be kept" in error
    assert "set XDG_DATA_HOME" in error


def test_damage_is_reported_beside_what_could_be_read(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    history_of(home, kept())
    path = Path(history.path_of({"XDG_DATA_HOME": str(home)}, "cn17"))
    path.write_text(path.read_text() + 'cut off\n{"format": 9}\n')
    assert main(["score", "history", "--node", "cn17"]) == 0
    out = capsys.readouterr().out
    assert "1 damaged line passed over (line 2)" in out
    assert "1 of a later version" in out
    assert main(["score", "history", "--node", "cn17", "--json"]) == 0
    for table in tables(capsys.readouterr().out):
        assert table["facts"] == {"damaged lines": "2", "lines of a later version": 1}
        assert len(table["notes"]) == 2
