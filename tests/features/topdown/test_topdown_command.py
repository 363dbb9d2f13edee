"""The text and the numbers of `turbotui topdown`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from knownmachines import known_machine

from turbotui.cli import main
from turbotui.commands.intervals import IntervalOutput
from turbotui.features.topdown.bars import bar_text, lengths
from turbotui.features.topdown.engine import TopdownCounters
from turbotui.features.topdown.model import TopdownRow
from turbotui.features.topdown.places import RowLevel, places
from turbotui.features.topdown.printing import TopdownPrinter
from turbotui.features.topdown.tables import basis, columns_of, judge
from turbotui.features.topdown.trees import LEVELS, TSC, trees
from turbotui.features.topdown.verb import run_beside
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.sampling.session import Session
from turbotui.simulated import ManualClock, simulated_host

pytestmark = pytest.mark.usefixtures("few_cores")


def test_every_formula_names_what_there_is() -> None:
    for tree in (tree for tree in trees().values() if tree.pmus):  # others are parts of these
        known = {*tree.events, *tree.by_id, "threads", "width", TSC}
        for formula in (tree.slots, *(formula for node in tree.nodes for formula in node.formulas)):
            assert set(formula.names) <= known, (tree.name, formula.text)
        assert max(node.level for node in tree.nodes) <= LEVELS
        assert len({node.id for node in tree.nodes}) == len(tree.nodes)
        assert len(tree.children("")) >= 3
        letters = [node.words.letter for node in tree.children("")]
        assert len(set(letters)) == len(letters)
        for node in tree.nodes:
            assert node.words.sentence.endswith("."), node.id
            assert node.words.advice, node.id
            assert node.document, node.id
            assert not node.parent or node.parent in tree.by_id, node.id
        for below in tree.below.values():
            for text in ([node.words.letter for node in below], [node.words.column for node in below]):
                assert len(set(text)) == len(text), (tree.name, text)


def test_bars_are_full() -> None:
    assert lengths([24.9, 25.1, 25.0, 25.0], 10) in {(2, 3, 3, 2), (2, 3, 2, 3), (3, 3, 2, 2)}
    for shares in ([100.0, 0.0], [33.3, 33.3, 33.4], [99.6, 0.2, 0.2]):
        assert sum(lengths(shares, 40)) == 40
    assert lengths([0.0, 0.0], 40) == (0, 0)


def made(**counts: float) -> TopdownRow:
    """A row of a machine with Zen 5 cores that counted this."""
    machine = known_machine(simulated_host("turin-2s", ManualClock()))
    counters = TopdownCounters(machine)
    (place,) = places(machine.topology, RowLevel.MACHINE)
    return TopdownRow(place, counters.branches, counts)


WHOLE = {"cycles": 100.0, "retired": 300.0, "dispatched": 400.0, "no_ops": 100.0, "stalled": 200.0, "sibling": 100.0}


def test_shares_that_add_up_have_a_bar() -> None:
    row = made(**WHOLE)
    assert row.total() == pytest.approx(100.0)
    assert row.fault() == ""
    assert bar_text(row, 8) == "RRRSFBBT"
    hottest = row.hottest()
    assert hottest is not None
    assert hottest.id == "backend"


def test_shares_that_do_not_add_up_are_marked_and_have_no_bar() -> None:
    row = made(**{**WHOLE, "stalled": 100.0})
    assert row.total() == pytest.approx(87.5)
    assert "add up to 87.5 % and not to 100.0 %" in row.fault()
    assert bar_text(row, 8) == "????????"
    machine = known_machine(simulated_host("turin-2s", ManualClock()))
    column = next(item for item in columns_of(TopdownCounters(machine), 1) if item.id == "Retire%")
    cell = judge(column, row, column.compute(row))
    assert cell.value == pytest.approx(37.5)
    assert "87.5" in cell.disputed[0]


def test_less_than_nothing_is_marked() -> None:
    row = made(**{**WHOLE, "dispatched": 250.0, "no_ops": 250.0})
    assert "less than nothing" in row.fault()
    assert set(bar_text(row, 8)) == {"?"}


def test_what_was_not_counted_is_unknown_with_its_reason() -> None:
    row = made(cycles=100.0)
    assert row.percent("retiring") is None
    assert bar_text(row, 8) == ""
    assert made(**{**WHOLE, "cycles": 0.0}).percent("retiring") is None


def test_a_share_is_explained_with_its_numbers() -> None:
    row = made(**WHOLE)
    machine = known_machine(simulated_host("turin-2s", ManualClock()))
    column = next(item for item in columns_of(TopdownCounters(machine), 1) if item.id == "Retire%")
    evidence = basis(column, row)
    assert any("retired: 300" in line for lines in evidence.readings for line in lines)
    assert any("what to try" in remark for remark in evidence.remarks)


def test_the_watchdog_takes_a_counter() -> None:
    zen = [tree for tree in trees().values() if tree.name.startswith("zen5")]
    assert [tree.watchdog for tree in zen] == [True, False]
    assert len(zen[0].counted_for("")) == 6
    assert len(zen[1].counted_for("")) == 5


def test_text_says_what_is_hottest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topdown", "--machine", "server-psu+memory-bound", "-i", "0.1", "-n", "1", "--level", "2"]) == 0
    written = capsys.readouterr().out
    assert "SIMULATED machine server-psu+memory-bound" in written
    assert "RRBBBB" in written
    assert "# memory bound: " in written
    assert "Try: " in written


@pytest.mark.parametrize(("name", "said"), [
    ("laptop", ["Crestmont: has levels 1 to 3 only", "whose deeper levels differ; see kinds: --per kind"]),
    ("neoverse-2s", ["by stalled cycles: has level 1 only", "does not tell which of both"]),
    ("turin-2s", ["Zen 5: has levels 1 to 2 only"]),
])
@pytest.mark.usefixtures("all_cores")
def test_text_says_where_levels_end_and_promises_none_below(name: str, said: list[str],
                                                            capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topdown", "--machine", name, "-c", "0-13", "-i", "0.1", "-n", "1", "--level", "4"]) == 0
    written = capsys.readouterr().out
    for item in said:
        assert item in written
    assert "level 3 tells" not in written


def test_what_a_level_tells_is_part_of_the_advice_where_there_is_one() -> None:
    for tree in trees().values():
        for node in tree.nodes:
            promised = int(node.words.advice.split("level ")[1][0]) if "level " in node.words.advice else 0
            assert promised in (0, node.level + 1 if tree.children(node.id) else 0), (tree.name, node.id)
            assert "Slots" not in node.words.sentence or tree.unit == "slots", (tree.name, node.id)
    assert trees()["golden-cove"].by_id["l2_bound"].words.heading == "L2 bound"
    assert trees()["neoverse-n2"].by_id["within_l2"].words.heading == "Within L2, or units"


def test_threads_in_text_have_bars_and_those_asleep_are_mentioned(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["topdown", "--machine", "sapphire-2s", "--pid", "30000", "-i", "0.1", "-n", "1", "--level", "2"]
    assert main(words) == 0
    written = capsys.readouterr().out
    assert "SIMULATED machine sapphire-2s" in written
    assert "compiling" in written
    assert "Memory%" in written
    assert "threads did not run" in written
    assert "# - asleep" not in written
    assert main(["topdown", "--machine", "sapphire-2s", "--pid", "4"]) != 0
    assert "no process 4" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["csv", "openmetrics"])
@pytest.mark.usefixtures("all_cores")
def test_threads_in_every_format(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topdown", "--machine", "turin-2s", "--threads", "-i", "0.1", "-n", "1", "--format", form]) == 0
    written = capsys.readouterr().out
    assert "dense algebra" in written
    assert "simulated" in written.lower()


@pytest.mark.real
def test_a_command_is_not_run_where_nothing_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if TopdownCounters(read_machine(LinuxHost())).why_none is None:
        pytest.skip("this machine counts slots")
    assert main(["topdown", "--", "touch", str(tmp_path / "run")]) == 3
    assert capsys.readouterr().err.startswith("turbotui: the command was not run: ")
    assert not (tmp_path / "run").exists()


def test_a_machine_without_counters_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topdown", "--machine", "guest"]) == 3
    assert "there is no PMU of the cores" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "said"), [
    (["--level", "7"], "levels 1 to 6"),
    (["-n", "0"], "at least one interval"),
    (["--machine", "laptop", "--", "true"], "leave --machine"),
    (["--from", "+1s"], "go with --replay"),
    (["--threads", "--per", "core"], "leave --per core out"),
    (["--per", "command"], "needs a command"),
    (["--pid", "1", "--per", "core"], "leave --per and a command out"),
    (["--threads", "--cpu", "0"], "leave --cpu out"),
    (["--per", "command", "--replay", "run.tt", "--", "true"], "a command out"),
])
def test_options_that_cannot_be_meant(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topdown", *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("words", "said"), [
    (["--tables", "region-slots"], "a command marks them"),
    (["--tables", "topdown,region-slots", "--", "true"], "record one of them"),
    (["--tables", "threads,region-slots", "--", "true"], "record one of them"),
])
def test_slots_are_recorded_of_one_kind_of_row(words: list[str], said: str, tmp_path: Path,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["record", str(tmp_path / "run.tt"), *words]) == 2
    assert said in capsys.readouterr().err


def test_a_recording_tells_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                    capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["record", "run.tt", "--machine", "laptop-old", "-i", "0.5", "-n", "2", "--tables", "topdown"]) == 0
    assert main(["topdown", "--replay", "run.tt", "--per", "core", "--level", "2", "--json", "-n", "1"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["kind"] == "RECORDED"
    assert len(result["rows"]) == 4
    for row in result["rows"]:
        values = row["values"]
        whole = sum(values[name] for name in ("Retire%", "BadSpec%", "FrontEnd%", "BackEnd%"))
        assert whole == pytest.approx(100.0, abs=0.1)
        assert values["Light%"] + values["Heavy%"] == pytest.approx(values["Retire%"], abs=0.5)


def test_the_run_of_a_command_is_the_interval(capsys: pytest.CaptureFixture[str]) -> None:
    machine = known_machine(simulated_host("laptop-old"))
    counters = TopdownCounters(machine)
    session = Session(machine, (), 1e7, LinuxHost())
    session.read_also(counters.sources(), counters.signals())
    printer = TopdownPrinter(counters, RowLevel.MACHINE, 1, IntervalOutput(None))
    assert run_beside(session, ("sh", "-c", "sleep 0.2; exit 3"), printer) == 3
    assert "machine       R" in capsys.readouterr().out


def test_cores_that_count_for_two_cpus_have_nothing_to_say_of_a_command() -> None:
    assert TopdownCounters(known_machine(simulated_host("laptop-old", ManualClock()))).only_cores
    for name in ("sapphire-2s", "laptop", "guest"):
        assert not TopdownCounters(known_machine(simulated_host(name, ManualClock()))).only_cores


def test_a_recording_without_slots_says_how_to_get_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                        capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["record", "run.tt", "--machine", "laptop-old", "-i", "0.1", "-n", "1"]) == 0
    assert main(["topdown", "--replay", "run.tt"]) != 0
    assert "record --tables topdown" in capsys.readouterr().err
