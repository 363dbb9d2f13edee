from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsontables import by, table, tables
from model_truth import truth_of

from turbotui.cli import main
from turbotui.errors import TurbotuiError
from turbotui.features.score import baselines as score_baselines
from turbotui.features.score.engine import _throttling, measure, score_in
from turbotui.features.score.model import (
    BOUND,
    CLOCK,
    SAMPLED,
    SHORTEST,
    UNKNOWN,
    Baseline,
    CpuRatio,
    Throttling,
    differences,
    differing,
    judge,
    load_differences,
    predict,
    uncompared,
    unlike_loads,
)
from turbotui.features.score.verb import DOUBTFUL, SLOWER
from turbotui.machine.machine import read_machine
from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.scope import RowId, Scope
from turbotui.sampling.frame import Frame
from turbotui.sampling.session import Session
from turbotui.simulated import simulated_host

pytestmark = pytest.mark.usefixtures("moved_time", "few_cores")

LOADED = "laptop-old+calculix"  # every CPU busy for 96 %
LINPACK = Baseline("linpack", "GFLOPS", 113.2, 1.0, {"model": "A", "turbo": "off"})


def test_the_worked_example_of_the_literature() -> None:
    prediction = predict(LINPACK, 1.07346)
    assert prediction.value == pytest.approx(121.5, abs=0.05)
    assert abs(prediction.value / 120.8 - 1) == pytest.approx(0.006, abs=0.0005)
    assert abs(prediction.value - 120.8) < prediction.error


@given(st.floats(0.1, 10), st.floats(0.1, 10), st.floats(1, 1e6))
def test_at_the_ratio_of_the_baseline_the_score_is_the_baseline(ratio: float, factor: float, value: float) -> None:
    baseline = Baseline("b", "u", value, ratio, {})
    assert predict(baseline, ratio).value == pytest.approx(value)
    assert predict(baseline, ratio * factor).value == pytest.approx(value * factor)


def test_the_spread_of_several_runs_widens_the_error_bar() -> None:
    assert predict(LINPACK, 1.0, [0.98, 1.0, 1.02]).error == pytest.approx(113.2 * (0.011 + 0.02))


def test_the_lowest_busy_cpu_decides_and_idle_ones_do_not() -> None:
    run = judge(5.0, [CpuRatio(0, 1.2, 1.0), CpuRatio(1, 1.1, 0.99), CpuRatio(2, 0.4, 0.01), CpuRatio(3, None, 0.0)])
    assert run.lowest is not None
    assert (run.lowest.cpu, run.ratio, run.state, run.warnings) == (1, 1.1, "turbo", ())


@pytest.mark.parametrize(("ratio", "state"), [(1.2, "turbo"), (1.0, "base clock"), (0.9, "below base clock")])
def test_the_state_is_that_of_the_lowest_ratio(ratio: float, state: str) -> None:
    assert judge(5.0, [CpuRatio(0, ratio, 1.0)]).state == state


@pytest.mark.parametrize(("found", "active", "says"), [
    (Throttling(), None, "whether it was throttled is not known"),
    (Throttling(heat=0, limited=0.001, reasons=()), False, "not throttled"),
    (Throttling(heat=0), False, "not throttled"),
    (Throttling(heat=1), True, "throttled: heat once"),
    (Throttling(heat=3, limited=0.12, reasons=("PL1",)), True,
     "throttled: heat 3 times, power limit 12 % of the time, PL1 at the end"),
])
def test_throttling_is_what_the_machine_counts_of_it(found: Throttling, active: bool | None, says: str) -> None:
    assert (found.active, found.sentence()) == (active, says)


def test_a_cpu_that_could_not_be_read_may_be_the_slowest() -> None:
    cpus = [CpuRatio(0, 1.2, 1.0), CpuRatio(1, None, 0.0), CpuRatio(2, None, None), CpuRatio(3, None, 0.9)]
    assert judge(5.0, cpus[:2]).warnings == (), "one that never left idle has no ratio"
    assert judge(5.0, cpus).warnings == ("cpu 2-3 could not be read: the lowest ratio may be another",)
    assert judge(5.0, cpus[2:]).warnings == judge(5.0, cpus).warnings, "nobody knows how busy they were"


@dataclass
class _ReadFrame:
    """What columns said of the machine and of its packages; a column that is not there was not read."""

    cells: dict[str, tuple[float | str, ...]]

    def rows(self, _scope: Scope) -> Sequence[RowId]:
        return (RowId(Scope.PACKAGE, (0,)), RowId(Scope.PACKAGE, (1,)))

    def bare_cells(self, column: CounterColumn, rows: Sequence[RowId]) -> Sequence[float | str | None]:
        said = self.cells.get(column.id)
        return [None if said is None else said[row.key[0] if row.key else 0] for row in rows]


@pytest.mark.parametrize(("intervals", "expected"), [
    ([{"CoreThr": (1,), "PkgThr": (0,), "PKG_%": (0, 12)}, {"CoreThr": (2,), "PkgThr": (0,), "PKG_%": (0, 0)}],
     Throttling(heat=3, limited=0.06)),
    ([{"CoreThr": (0,), "PkgThr": (0,), "PKG_%": (0, 0)}] * 2, Throttling(heat=0, limited=0.0)),
    ([{"CoreThr": (0,), "PkgThr": (0,)}, {"CoreThr": (0,), "PkgThr": (0,), "PKG_%": (0, 0)}], Throttling()),
    ([{"PkgThr": (1,), "PKG_%": (0, 0)}, {"CoreThr": (0,), "PkgThr": (0,), "PKG_%": (0, 0)}],
     Throttling(heat=1, limited=0.0)),
])
def test_throttling_is_that_of_all_intervals_and_what_was_not_read_is_no_all_clear(
        intervals: list[dict[str, tuple[float | str, ...]]], expected: Throttling) -> None:
    columns = catalog_for({}).by_id
    session = SimpleNamespace(catalog=columns, capabilities=SimpleNamespace(signals=dict.fromkeys(
        need for name in ("CoreThr", "PkgThr", "PKG_%") for need in columns[name].needs)))
    frames = [cast("Frame", _ReadFrame(cells)) for cells in intervals]
    assert _throttling(cast("Session", session), frames) == expected


def test_the_load_is_that_of_the_busy_cpus() -> None:
    run = judge(5.0, [CpuRatio(0, 1.2, 1.0), CpuRatio(1, 1.1, 0.9), CpuRatio(2, 0.4, 0.01)])
    assert run.busy_cpus == 2
    assert run.load == pytest.approx(0.95)
    assert judge(5.0, [CpuRatio(0, 1.2, 0.1)]).load is None


@pytest.mark.parametrize(("pattern", "line", "score"), [
    (r"GFLOPS: ([0-9.]+)", "in all, GFLOPS: 120.8 of 140", 120.8),
    (r"[0-9][0-9.e+]*", "score 1.2e+3", 1200.0),
    (r"[0-9]+ MB/s", "10 MB/s", None),
    (r"([a-z]+)", "nan", None),
    (r"(x)?y", "y", None),
    (r"score", "nothing", None),
])
def test_a_score_is_found_in_what_a_benchmark_prints(pattern: str, line: str, score: float | None) -> None:
    assert score_in(line, re.compile(pattern)) == score


def test_what_is_doubtful_is_warned_of() -> None:
    assert "load was too low" in judge(5.0, [CpuRatio(0, 1.0, 0.1)]).warnings[0]
    assert "load was too low" in judge(5.0, [CpuRatio(0, 1.0, 0.7)]).warnings[0]
    assert "too short" in judge(0.2, [CpuRatio(0, 1.0, 1.0)]).warnings[0]
    assert differences(LINPACK, {"model": "A", "turbo": "on"}) == [
        "the configuration differs: turbo is on, the baseline was measured with off"
    ]
    assert differences(LINPACK, dict(LINPACK.configuration)) == []


def test_baselines_are_kept_and_a_damaged_file_is_reported_and_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "turbotui" / "baselines.json"
    assert score_baselines.load(str(path)) == {}
    score_baselines.store(str(path), LINPACK)
    other = Baseline("stream", "GB/s", 200.0, 1.5, {}, "SIMULATED machine x")
    score_baselines.store(str(path), other)
    assert score_baselines.load(str(path)) == {"linpack": LINPACK, "stream": other}
    for damage in ("{", "[]", '{"format": 1, "baselines": {"a": {}}}', '{"format": 9}'):
        path.write_text(damage)
        with pytest.raises(TurbotuiError):
            score_baselines.store(str(path), LINPACK)
        assert path.read_text() == damage


def test_a_simulated_machine_gives_the_ratio_that_its_model_knows() -> None:
    host = simulated_host("laptop-old")
    machine = read_machine(host)
    before = {cpu: truth_of(host).truth(cpu) for cpu in machine.topology.cpus}
    run, printed = measure(machine, 0.5)
    after = {cpu: truth_of(host).truth(cpu) for cpu in machine.topology.cpus}
    assert len(run.cpus) == len(before)
    assert printed is None
    for ratio in run.cpus:
        old, new = before[ratio.cpu], after[ratio.cpu]
        assert ratio.ratio == pytest.approx((new.aperf - old.aperf) / (new.mperf - old.mperf), rel=0.001)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return tmp_path


STORE = ("score", "baseline", "--machine", LOADED, "--name", "linpack", "--unit", "GFLOPS", "--value", "113.2")


def test_a_fleet_check_answers_by_exit_status_and_json(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = ("score", "run", "--machine", LOADED, "-i", "1.1", "--json", "--baseline", "linpack", "--slower", "5")
    result = []
    for ratio in ("0.01", "100"):  # far slower and far faster once than now
        assert main([*STORE, "--ratio", ratio]) == 0
        capsys.readouterr()
        status = main([*run])
        report = table(capsys.readouterr().out, "score")
        (row,) = report["rows"]
        values = row["values"]
        result.append((status, values["verdict"]))
        assert (report["kind"], row["baseline"], row["unit"]) == ("SIMULATED", "linpack", "GFLOPS")
        assert values["predicted"] == pytest.approx(113.2 * values["median"] / float(ratio))
        assert "notes" not in report, "nothing was doubtful"
    assert result == [(0, "ok"), (SLOWER, "slower")]


@pytest.mark.usefixtures("all_cores")
def test_a_fleet_check_of_doubtful_measurements_is_not_an_all_clear(home: Path,
                                                                    capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*STORE, "--ratio", "0.01"]) == 0
    capsys.readouterr()
    words = ("score", "run", "--machine", "sapphire-2s", "-i", "0.2", "--runs", "2", "--baseline", "linpack",
             "--slower", "5", "--anyway")
    assert main([*words]) == DOUBTFUL
    out = capsys.readouterr().out
    assert "the load is not that of the baseline" in out
    assert "no sure answer" in out
    assert main([*words, "--json"]) == DOUBTFUL
    score, runs, ratios = tables(capsys.readouterr().out)
    (row,) = score["rows"]
    assert row["values"]["verdict"] == "doubtful"
    assert "the load is not that of the baseline" in row["disputed"]["median"]
    assert [row["values"]["lowest"] <= item["ratio"] <= row["values"]["highest"]
            for item in by(runs, "run").values()] == [True, True]
    assert {(one["run"], one["cpu"]) for one in ratios["rows"]} == {(run, cpu) for run in (1, 2) for cpu in range(224)}


def test_a_ratio_that_nobody_gave_is_warned_about_where_turbo_is_not_off(home: Path,
                                                                         capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*STORE]) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[-1].split()[:6] == ["linpack", "GFLOPS", "113.200", "1.00000", "8", "-"]
    assert "warning: ratio 1 is stored, which is that of a run without turbo, and turbo is on here" in captured.err
    assert "turbotui score run -- COMMAND" in captured.err
    assert main([*STORE, "--ratio", "1"]) == 0
    assert capsys.readouterr().err == ""


def test_the_text_is_labelled_and_compares_configurations(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*STORE]) == 0
    assert main(["score", "list"]) == 0
    listed = capsys.readouterr().out
    assert listed.startswith(f"# SIMULATED machine {LOADED}")
    assert "linpack  GFLOPS  113.200  1.00000" in listed
    # a small machine: the model of a large one takes so long under load that its interval is long enough
    assert main(["score", "run", "--machine", "laptop", "-i", "0.1", "--baseline", "linpack", "--anyway"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("# SIMULATED")
    assert "the configuration differs: model" in out
    seconds = float(out.splitlines()[3].split()[1])  # longer than was asked for, on a busy machine
    assert ("too short" in out) == (seconds < SHORTEST)


@pytest.mark.parametrize(("words", "says", "status"), [
    (("score", "run", "--baseline", "absent"), 'no baseline "absent"', 2),
    (("score", "run", "--slower", "5"), "--baseline", 2),
    (("score", "run", "--runs", "0"), "--runs 0", 2),
    (("score", "run", "--machine", LOADED, "--", "true"), "loads this machine", 2),
    (("score", "baseline", "--name", "a", "--unit", "b", "--value", "x"), "--value", 2),
    (("score", "baseline", "--name", " ", "--unit", "b", "--value", "1"), "it needs a word", 2),
    (("score", "baseline", "--name", "a", "--unit", " ", "--value", "1"), '--unit " ": it needs a word', 2),
    (("score", "baseline", "--name", "a", "--unit", "b", "--value", "1", "--ratio", "nan"), "--ratio", 2),
    (("score",), "baseline|run|measured|history|list", 2),
    (("score", "run", "--pattern", "x"), "give one after --", 2),
    (("score", "run", "--pattern", "(", "--", "true"), "no regular expression", 2),
    (("score", "run", "--machine", "vera-2s"), "APERF cannot be had here (no hardware", 3),
    (("score", "measured", "--machine", LOADED, "0"), 'score "0" is no number from 1e-15 to 1e+15', 2),
    (("score", "measured", "--machine", LOADED, "5"), "turbotui score run first", 1),
    (("score", "history", "--machine", LOADED), "no run is kept", 1),
    (("score", "history", "--node", "all"), "no run is kept", 1),
    (("score", "history", "--days", "-1"), "--days", 2),
    (("score", "history", "-n", "0"), "-n 0", 2),
])
def test_bad_input_is_one_sentence(home: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], says: str,
                                   status: int) -> None:
    assert main([*words]) == status
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1


@given(st.integers(1, 512), st.integers(0, 512))
def test_as_many_cpus_have_to_be_busy_as_for_the_baseline(cpus: int, found: int) -> None:
    words = unlike_loads(cpus, None, found, 0.5)
    assert bool(words) == (abs(found - cpus) > 0.05 * max(cpus, found))
    assert unlike_loads(None, None, found, 0.5) == ()
    assert unlike_loads(cpus, 1.0, cpus, 0.85) == ("they were busy for 85 % of the time, not for 100 %",)


def test_a_baseline_that_says_nothing_is_of_all_cpus() -> None:
    every = Baseline("b", "u", 1.0, 1.0, {"CPUs": "22"})
    assert (every.cpus, LINPACK.cpus) == (22, None)
    run = judge(5.0, [CpuRatio(0, 1.4, 1.0), *(CpuRatio(cpu, None, 0.0) for cpu in range(1, 22))])
    assert load_differences(every, [run, run]) == ["the load is not that of the baseline: 1 CPU was busy, not 22"]
    assert load_differences(LINPACK, [run]) == []


def test_a_fleet_check_of_another_load_has_no_sure_answer(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """8 CPUs are busy. One alone runs faster: a baseline of one would call this node slow, one of all a node fast."""
    words = ["score", "baseline", "--machine", LOADED, "--unit", "u"]
    assert main([*words, "--name", "alone", "--value", "100", "--ratio", "3", "--busy-cpus", "1"]) == 0
    assert main([*words, "--name", "idle", "--value", "100", "--ratio", "0.5", "--busy", "60"]) == 0
    assert capsys.readouterr().out.splitlines()[3].split()[:5] == ["alone", "u", "100.000", "3.00000", "1"]
    check = ["score", "run", "--machine", LOADED, "-i", "1", "--slower", "5", "--baseline"]
    assert main([*check, "alone"]) == DOUBTFUL
    assert "warning: the load is not that of the baseline: 8 CPUs were busy, not 1" in capsys.readouterr().out
    assert main([*check, "idle", "--json"]) == DOUBTFUL
    report = table(capsys.readouterr().out, "score")
    assert report["rows"][0]["values"]["verdict"] == "doubtful"
    assert any("of the time, not for 60 %" in note for note in report["notes"])
    assert home.exists()


def test_a_baseline_has_the_load_of_the_run_with_its_ratio(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "run", "--machine", LOADED, "-i", "1", "--json"]) == 0
    ratio = table(capsys.readouterr().out, "score")["rows"][0]["values"]["median"]
    words = ["score", "baseline", "--machine", LOADED, "--unit", "u", "--value", "100", "--name"]
    assert main([*words, "same", "--ratio", f"{ratio:.5f}"]) == 0
    assert main([*words, "other", "--ratio", f"{ratio * 1.01:.5f}"]) == 0
    capsys.readouterr()
    assert main(["score", "list", "--json"]) == 0
    listed = by(table(capsys.readouterr().out, "baselines"), "name")
    assert (listed["same"]["busy CPUs"], listed["same"]["busy"]) == (8, pytest.approx(96, abs=2))
    assert (listed["other"]["busy CPUs"], listed["other"]["busy"]) == (8, None)
    known = score_baselines.load(score_baselines.path_of({"XDG_DATA_HOME": str(home)}))
    assert (known["same"].busy_cpus, known["other"].busy_cpus) == (8, None)


def test_in_a_guest_the_ratio_is_of_moments_and_its_error_is_said(home: Path,
                                                                  capsys: pytest.CaptureFixture[str]) -> None:
    machine = "guest+overload"
    assert main(["score", "run", "--machine", machine, "-i", "1", "--json"]) == 0
    output = capsys.readouterr()
    result = {item["table"]: item for item in tables(output.out)}
    assert "the ratio is the clock at moments over that of the time stamp counter, ± 0.3 % (rms)" in output.err
    run = result["runs"]["rows"][0]["values"]
    assert run["ratio"] == pytest.approx(1.0, abs=0.05)  # the guest runs at its TSC's clock, read beside other load
    assert run["ratio error"] == pytest.approx(0.3, abs=0.02)
    assert run["length"] > 0.9, "every interval counts: the first one was cut to nothing"
    ratio = str(run["ratio"])
    assert main(["score", "baseline", "--machine", machine, "--name", "it", "--unit", "s", "--value", "100", "--ratio",
                 ratio]) == 0
    known = score_baselines.load(score_baselines.path_of({"XDG_DATA_HOME": str(home)}))
    assert known["it"].configuration[CLOCK] == SAMPLED
    capsys.readouterr()
    assert main(["score", "run", "--machine", machine, "-i", "1", "--json", "--baseline", "it"]) == 0
    score = table(capsys.readouterr().out, "score")["rows"][0]["values"]
    assert score["error"] == pytest.approx(100 * (BOUND + 0.003), abs=0.05), "1.1 % of the method, 0.3 % of the moments"


def test_a_baseline_whose_clock_was_counted_is_not_compared_in_silence() -> None:
    counted = Baseline("b", "s", 100.0, 1.0, {"model": "m"})
    assert differences(counted, {"model": "m", CLOCK: SAMPLED}) == [
        "the configuration differs: clock is at moments, the baseline was measured with counted"]


def test_hardware_that_is_configured_otherwise_is_refused_before_anything_is_measured(
        home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*STORE, "--ratio", "1"]) == 0
    path = score_baselines.path_of({"XDG_DATA_HOME": str(home)})
    (known,) = score_baselines.load(path).values()
    assert known.configuration["DIMMs"] == "2 x 8 GiB DDR4 2400 MT/s 2 ranks"
    assert known.configuration["microcode"] == "0xf6"
    words = ("score", "run", "--machine", LOADED, "-i", "0.1", "--baseline", "linpack")
    for key, value in (("DIMMs", "1 x 16 GiB DDR4 2400 MT/s 2 ranks"), ("BIOS", "old 1.0"), ("microcode", "0xf4")):
        score_baselines.store(path, replace(known, configuration={**known.configuration, key: value}))
        capsys.readouterr()
        assert main([*words]) == DOUBTFUL
        out, err = capsys.readouterr()
        assert out == ""
        assert f"{key} is {known.configuration[key]}, the baseline was measured with {value}" in err
        assert "--anyway" in err
        assert main([*words, "--anyway"]) == 0
        assert f"warning: the configuration differs: {key}" in capsys.readouterr().out


def test_what_only_the_baseline_or_only_this_machine_knows_is_no_difference(
        home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = score_baselines.path_of({"XDG_DATA_HOME": str(home)})
    assert main([*STORE, "--ratio", "1"]) == 0
    (known,) = score_baselines.load(path).values()
    older = {key: value for key, value in known.configuration.items() if key not in {"DIMMs", "BIOS", "microcode"}}
    score_baselines.store(path, replace(known, configuration=older))
    capsys.readouterr()
    assert main(["score", "run", "--machine", LOADED, "-i", "0.1", "--baseline", "linpack"]) == 0
    out, err = capsys.readouterr()
    assert "the configuration differs" not in out
    assert "for the baseline does not have it: BIOS, DIMMs, microcode" in err
    assert uncompared(known, {**known.configuration, "DIMMs": UNKNOWN}) == [
        "not compared, for it cannot be read here: DIMMs"]
    assert differing(older, known.configuration) == []
    assert differing({"BIOS": "a", "turbo": "on"}, {"BIOS": "b", "turbo": UNKNOWN}) == ["BIOS"]


def test_what_a_hypervisor_takes_is_doubted() -> None:
    cpus = [CpuRatio(0, 1.6, 1.0)]
    assert judge(5.0, cpus, error=0.004, stolen=0.005).warnings == ()
    (warning,) = judge(5.0, cpus, error=0.004, stolen=0.03).warnings
    assert warning.startswith("a hypervisor gave 3.0 % of the CPU time")
    assert judge(5.0, [CpuRatio(0, 1.006, 1.0)], error=0.004).state == "base clock", "within the error"
    assert judge(5.0, [CpuRatio(0, 1.006, 1.0)]).state == "turbo"


def test_baselines_of_several_machines_are_not_mixed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = score_baselines.path_of({"XDG_DATA_HOME": str(home)})
    score_baselines.store(path, LINPACK)
    score_baselines.store(path, Baseline("stream", "GB/s", 0.00125, 1.5, {}, "SIMULATED machine laptop"))
    score_baselines.store(path, Baseline("mine", "x", 2.0, 1.5, {}, "written by hand"))
    assert main(["score", "list", "--json"]) == 0
    result = tables(capsys.readouterr().out)
    assert [(item["kind"], item["rows"][0]["name"]) for item in result] == [
        ("REAL", "linpack"), ("SIMULATED", "stream"), ("SIMULATED", "mine")]
    assert result[1]["machine"] == "laptop"
    assert main(["score", "list"]) == 0
    out = capsys.readouterr().out
    assert "0.00125" in out, "a small score keeps its digits"
    assert main(["score", "list", "--format", "openmetrics"]) == 0
    lines = capsys.readouterr().out.splitlines()
    families = [line for line in lines if line.startswith("# TYPE")]
    assert len(families) == len(set(families)), "one exposition of all machines"


@pytest.mark.parametrize(("words", "says"), [
    (("--busy-cpus", "9"), "this machine has 8 CPUs"), (("--busy-cpus", "0"), "this machine has 8 CPUs"),
    (("--busy", "101"), "more than 100 %"), (("--busy", "x"), "is no number from"),
])
def test_a_load_that_cannot_be_is_refused(home: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...],
                                          says: str) -> None:
    assert main(["score", "baseline", "--machine", LOADED, "--name", "a", "--unit", "u", "--value", "1", *words]) == 2
    assert says in capsys.readouterr().err
    assert not list(home.rglob("*.json"))


def test_scrapes_have_the_baselines_of_this_configuration_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                                                monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    machine = read_machine(simulated_host("guest"))
    here = score_baselines.configuration(machine)
    path = score_baselines.path_of({"XDG_DATA_HOME": str(tmp_path)})
    kind = f"SIMULATED machine {machine.host.name}"
    for baseline in (Baseline("linpack", "GFLOPS", 113.2, 1.25, here, kind), Baseline("real", "GB/s", 2.0, 1.5, here),
                     Baseline("other", "GB/s", 2.0, 1.5, {**here, "model": "another"}, kind)):
        score_baselines.store(path, baseline)
    once = ["export", "--once", "--machine", "guest", "-i", "0.2"]
    assert main(once) == 0
    name = "turbotui_machine_baseline_performance_ratio"
    samples = [line for line in capsys.readouterr().out.splitlines() if line.startswith(f"{name}{{")]
    assert [(re.findall('benchmark="([^"]*)"', line), line.split()[-1]) for line in samples] == [(["linpack"], "1.25")]
    Path(path).write_text("{")
    assert main(once) == 0, "the machine's present activity is exported all the same"
    printed = capsys.readouterr()
    assert "turbotui: no baseline is exported: " in printed.err
    assert "turbotui_machine_cpus" in printed.out
    assert f"{name}{{" not in printed.out
