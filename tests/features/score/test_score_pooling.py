"""A baseline from the runs of several nodes: medians, means, outliers, and what is left out."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsontables import by, tables

from turbotui.cli import main
from turbotui.errors import TurbotuiError, UsageError
from turbotui.features.score import baselines, history
from turbotui.features.score.history import KeptRun
from turbotui.features.score.model import CLOCK, SAMPLED, ConfigurationError, Throttling
from turbotui.features.score.pooling import pool

HARDWARE = {"model": "A", "DIMMs": "8 x 32 GiB DDR5 4800 MT/s 2 ranks", "BIOS": "V 1.2", "turbo": "on"}


def run(node: str, score: float | None = 100.0, ratio: float | None = 1.1, *, minute: int = 0, load: str = "xhpl",
        busy_cpus: int = 8, warnings: tuple[str, ...] = (), configuration: dict[str, str] = HARDWARE) -> KeptRun:
    return KeptRun(
        when=datetime(2026, 11, 21, 12, minute, 0, tzinfo=UTC), node=node, simulated="", configuration=configuration,
        load=load, seconds=5.0, ratio=ratio, lowest_cpu=3, busy_cpus=busy_cpus, busy=0.99, state="turbo",
        throttling=Throttling(0, 0.0, ()), measured=score, warnings=warnings, key=f"{node}{minute}")


FLEET = [run("n1", 100.0, 1.10), run("n1", 102.0, 1.12, minute=1), run("n2", 103.0, 1.10), run("n3", 102.0, 1.11),
         run("n4", 90.0, 1.10), run("n5", 101.5, 1.0)]


def test_each_node_counts_once_and_the_baseline_is_the_median() -> None:
    runs = pool(FLEET, "linpack", "GFLOPS")
    score, ratio = runs.quantities
    assert score.values == [101.0, 103.0, 102.0, 90.0, 101.5]
    assert (runs.baseline.value, runs.baseline.ratio) == (101.5, 1.10)
    assert (runs.baseline.cpus, runs.baseline.configuration, runs.baseline.busy) == (8, HARDWARE, 0.99)
    assert [node.node for node in score.outliers] == ["n4"]
    assert [node.node for node in ratio.outliers] == ["n5"]
    assert score.sentence() == ("score of 5 nodes: median 101.5 GFLOPS, mean 99.5, from 90 to 103; apart: n4 (-11.3 %)")
    assert runs.notes == ()


def test_two_nodes_do_not_lie_apart_and_neither_do_near_ones() -> None:
    assert not any(node.apart for node in pool([run("a", 50.0), run("b", 100.0)], "x", "s").nodes)
    near = [run(name, score) for name, score in (("a", 100.0), ("b", 100.0), ("c", 100.0), ("d", 101.0))]
    assert not any(node.apart for node in pool(near, "x", "s").nodes), "less than the prediction's own error"


def test_what_does_not_count_is_left_out_and_said() -> None:
    runs = pool([*FLEET, run("n6", None), run("n7", warnings=("too short",)), run("n8", ratio=None),
                 run("n9", busy_cpus=1, minute=0)], "linpack", "GFLOPS")
    assert {node.node for node in runs.nodes} == {"n1", "n2", "n3", "n4", "n5"}
    assert runs.notes == ("left out: 2 runs with warnings, 1 run without a score, 1 run with another load",)


def test_other_hardware_is_refused_or_warned_of() -> None:
    other = run("n2", configuration={**HARDWARE, "BIOS": "V 1.3"})
    with pytest.raises(ConfigurationError, match=r"BIOS is V 1\.\d on n\d and V 1\.\d on n\d.*--anyway"):
        pool([run("n1"), other], "linpack", "GFLOPS")
    (note,) = pool([run("n1"), other], "linpack", "GFLOPS", anyway=True).notes
    assert note.startswith("warning: BIOS")
    less = {key: value for key, value in HARDWARE.items() if key != "DIMMs"}
    assert pool([run("n1"), run("n2", configuration=less)], "linpack", "GFLOPS").notes == ()
    with pytest.raises(ConfigurationError, match="clock"):
        pool([run("n1"), run("n2", configuration={**HARDWARE, CLOCK: SAMPLED})], "linpack", "GFLOPS")


def test_several_loads_and_kinds_of_machine_are_not_mixed() -> None:
    runs = [run("n1"), run("n1", load="stream")]
    with pytest.raises(UsageError, match=r"stream, xhpl.*--load"):
        pool(runs, "x", "s")
    assert pool(runs, "x", "s", load="stream").nodes[0].runs == 1
    with pytest.raises(TurbotuiError, match="there are stream, xhpl"):
        pool(runs, "x", "s", load="other")
    with pytest.raises(TurbotuiError, match="of 2 runs, 1 with warnings or idle CPUs and 1 without a score"):
        pool([run("n1", None), run("n1", warnings=("too short",))], "x", "s")
    with pytest.raises(UsageError, match="real machines and of SIMULATED"):
        pool([run("n1"), replace(run("n2"), simulated="SIMULATED machine laptop")], "x", "s")


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.floats(1.0, 1e6), st.floats(0.1, 3.0)), min_size=1,
                max_size=30))
def test_medians_lie_within_the_nodes_and_every_run_counts(items: list[tuple[str, float, float]]) -> None:
    runs = pool([run(node, score, ratio) for node, score, ratio in items], "x", "s")
    for quantity, value in zip(runs.quantities, (runs.baseline.value, runs.baseline.ratio), strict=True):
        assert min(quantity.values) <= value <= max(quantity.values)
    assert sum(node.runs for node in runs.nodes) == len(items)


def test_files_of_nodes_become_a_baseline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                          capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    environment = {"XDG_DATA_HOME": str(tmp_path)}
    for node in sorted({kept_run.node for kept_run in FLEET}):
        history.store(history.path_of(environment, node), [kept_run for kept_run in FLEET if kept_run.node == node])
    words = ["score", "baseline", "--name", "linpack", "--unit", "GFLOPS", "--from"]
    assert main([*words, "all", "--json"]) == 0
    stored, pooled, nodes = tables(capsys.readouterr().out)
    assert stored["rows"][0]["values"]["value"] == 101.5
    assert by(pooled, "quantity")["score"]["mean"] == pytest.approx(99.5)
    assert by(pooled, "quantity")["score"]["outliers"] == 1
    assert by(nodes, "node")["n4"]["apart"] == "score"
    known = baselines.load(baselines.path_of(environment))["linpack"]
    assert (known.value, known.ratio) == (101.5, 1.1)
    assert main([*words, history.path_of(environment, "n1")]) == 0
    assert "score of 1 node: median 101 GFLOPS" in capsys.readouterr().out
    assert main([*words, str(tmp_path / "absent")]) == 1
    assert "no run is kept" in capsys.readouterr().err
    assert main([*words, "all", "--value", "3"]) == 2
    assert main(words[:-1]) == 2
    assert "--from FILE" in capsys.readouterr().err
