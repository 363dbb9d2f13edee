"""Every verb writes its tables in every format, in one envelope that names the machine."""

from __future__ import annotations

import argparse
import csv
import io
import re
from pathlib import Path
from typing import Final

import pytest
from jsontables import tables

from turbotui.cli import main
from turbotui.commands.formats import print_tables
from turbotui.commands.parser import verb_of
from turbotui.feature_list import COMMANDS
from turbotui.features.why.verb import FOUND
from turbotui.machine.host import HostKind
from turbotui.quantities.columns import Column
from turbotui.quantities.tables import RowTable
from turbotui.sampling.row_tables import known_kinds
from turbotui.tables.csv_lines import HEADER
from turbotui.tables.envelope import Envelope
from turbotui.tables.formats import FORMATS, NAMES

pytestmark = pytest.mark.usefixtures("few_cores")

MACHINE = ("--machine", "laptop")
TABLES = str(Path(__file__).with_name("event_tables"))
VERBS: dict[str, tuple[str, ...]] = {
    "cpus": ("stat", "-q", "-i", "0.1", "-n", "1", *MACHINE),
    "counters": ("stat", "-q", "-D", *MACHINE),
    "machines": ("machines",),
    "columns": ("columns", *MACHINE),
    "sources": ("doctor", *MACHINE),
    "configuration": ("info", *MACHINE),
    "roofline": ("roofline", *MACHINE, "-i", "0.1", "-n", "2", "--no-plot"),
    "topdown": ("topdown", *MACHINE, "-i", "0.1", "-n", "1", "--per", "cpu", "--level", "2"),
    "tasks": ("tasks", "--machine", "laptop-old", "--all", "-n", "1", "-i", "0.1"),
    "peaks": ("roofs", *MACHINE, "--no-plot"),
    "score": ("score", "run", *MACHINE, "-i", "0.1"),
    "encodings": ("events", "encode", "{cycles,instructions:u},power/energy-pkg/", *MACHINE),
    "codes": ("events", "encode", "cpu/event=0xc0/u", "--os", "none", "--engine", "own", "--machine", "laptop-old"),
    "events": ("events", "list", "cycles", *MACHINE),
    "known_events": ("events", "show", "instructions", "--event-tables", TABLES, *MACHINE),
    "sets": ("events", "sets", *MACHINE),
    "metrics": ("events", "metrics", "work", "--event-tables", TABLES, *MACHINE),
    "spied_intervals": ("spy", "-i", "0.05", "-n", "1", "--joined", "--machine", "laptop-old"),
    "gathered": ("gather", "--list", "--seconds", "1", "--machine", "guest"),
    "groups": ("groups", "-i", "0.1", "-n", "1", *MACHINE),
    **{kind: (kind, "-i", "0.1", "-n", "1", "--machine", "icelake-2s" if kind == "memory" else "laptop-gpu")
       for kind in known_kinds()},
    "power": ("power", "-i", "0.1", "-n", "1", "--machine", "laptop-gpu"),
    "findings": ("why", "-i", "0.2", "-n", "1", "--machine", "laptop"),
    "root_ports": ("uncore", "--ports", "--machine", "vera-2s"),
    "nvidia_scf_pmu": ("uncore", "-i", "0.05", "-n", "1", "--machine", "grace-2s"),
}
"""The first table of each verb, and a command line that writes it."""
_ELSEWHERE = {
    "diff": "tests/features/diff/test_diff_command.py",
    "export": "tests/features/export/test_export_command.py",
    "fleet": "tests/features/fleet/test_fleet_readings.py",
    "runs": "tests/features/replay/test_runs.py",
}
"""Verbs of recordings and of servers that write JSON, and the tests that check theirs against the schema."""
_MARKS = {"bytes", "why", "disputed", "estimated", "partial", "outstanding"}
_RESERVED = {"row", "values", "time", "seconds", "machine", "kind"} | _MARKS


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the files of verbs in a folder of the test."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two intervals of a simulated laptop, with every table."""
    path = str(tmp_path_factory.mktemp("recorded") / "laptop.ttj")
    assert main(["record", path, "-n", "2", "-i", "0.1", "--tables", "uncore,waits,groups,topdown", *MACHINE]) == 0
    return path


_OUTPUTS: Final[dict[tuple[str, str], str]] = {}


def _written(verb: str, name: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return what a verb prints in a format; several tests look at it."""
    if (verb, name) not in _OUTPUTS:
        assert main([*VERBS[verb], "--format", name]) in (0, FOUND)
        _OUTPUTS[verb, name] = capsys.readouterr().out
    return _OUTPUTS[verb, name]


def _writes_json(parser: argparse.ArgumentParser) -> bool:
    """Whether --format takes "json", in a verb or in a word below it."""
    below = [action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return (any("--format" in action.option_strings and "json" in (action.choices or ()) for action in parser._actions)
            or any(_writes_json(item) for parsers in below for item in parsers.values()))


def test_every_verb_that_writes_json_is_checked() -> None:
    result = {"stat"}  # it reads its words itself
    for command in COMMANDS:
        parser = argparse.ArgumentParser()
        if not command.reads_words:
            verb_of(command).add_arguments(parser)
        if _writes_json(parser):
            result.add(command.name)
    assert result == {words[0] for words in VERBS.values()} | _ELSEWHERE.keys()
    assert all("jsontables" in Path(name).read_text(encoding="utf-8") for name in _ELSEWHERE.values())


def test_no_verb_takes_two_formats(capsys: pytest.CaptureFixture[str]) -> None:
    for words in VERBS.values():
        for two in (("--format", "json", "--format", "csv"), ("--format", "text", "--format", "json"),
                    *([] if words[0] == "stat" else [("--json", "--format", "table")])):
            assert main([*words, *two]) in (1, 2), words
            said = capsys.readouterr()
            assert not said.out
            assert "are two formats of one output: give one of them" in said.err


@pytest.mark.parametrize("verb", VERBS)
def test_json_is_the_schema_s_object(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = tables(_written(verb, "json", capsys))
    assert result[0]["table"] == verb
    assert result[0]["rows"], "a table without rows shows nothing"
    for item in result:
        assert item["kind"] == "SIMULATED"
        for row in item["rows"]:
            names = row.keys() - {"row", "values"} - _MARKS
            assert not names & _RESERVED, "a word that names a row hides a word of the envelope"
        assert not {column["id"] for column in item["columns"]} & set(HEADER), "CSV would have two columns of one name"


@pytest.mark.parametrize("verb", VERBS)
def test_csv_is_one_header_and_whole_rows(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(csv.reader(io.StringIO(_written(verb, "csv", capsys))))
    assert rows[0][:5] == ["time", "seconds", "machine", "kind", "row"]
    assert len(set(rows[0])) == len(rows[0]), "a reader by name sees one of two columns"
    assert {len(row) for row in rows} == {len(rows[0])}
    assert len(rows) > 1
    assert {row[3] for row in rows[1:]} == {"SIMULATED"}


@pytest.mark.parametrize("verb", VERBS)
def test_openmetrics_is_one_exposition(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = _written(verb, "openmetrics", capsys).splitlines()
    assert lines.index("# EOF") == len(lines) - 1
    families = [line.split()[2] for line in lines if line.startswith("# TYPE ")]
    assert len(families) == len(set(families)) > 0
    for line in lines:
        if not line.startswith("#"):
            assert re.match(r'[a-z0-9_]+\{.*simulated="true".*\} \S+\Z', line), line


@pytest.mark.parametrize("verb", VERBS)
def test_prometheus_reads_the_exposition(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    parser = pytest.importorskip("prometheus_client.openmetrics.parser", reason="package prometheus-client is missing")
    text = _written(verb, "openmetrics", capsys)
    samples = [sample for family in parser.text_string_to_metric_families(text) for sample in family.samples]
    assert len(samples) == len([line for line in text.splitlines() if not line.startswith("#")])
    assert {sample.labels["simulated"] for sample in samples} == {"true"}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", [name for name in NAMES if name not in FORMATS or name == "table"])
def test_text_says_that_nothing_was_measured(verb: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "SIMULATED" in _written(verb, name, capsys).splitlines()[0]


@pytest.mark.parametrize("verb", ["roofline", "topdown", "uncore"])
@pytest.mark.parametrize("form", ["text", "json", "csv"])
def test_a_verb_whose_counters_are_not_there_says_so_on_stderr_with_status_3(
        verb: str, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "--machine", "guest", "-n", "1", "--format", form]) == 3
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "virtual machine: " in err


def test_a_recording_of_a_simulated_machine_is_simulated_in_metrics(
        recording: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stat", "--replay", recording, "--format", "openmetrics"]) == 0
    samples = [line for line in capsys.readouterr().out.splitlines() if "{" in line and not line.startswith("#")]
    assert samples
    assert all('simulated="true",kind="RECORDED"' in line for line in samples)


@pytest.mark.parametrize("verb", ["stat", "tasks", "groups", "uncore", "power", "topdown"])
def test_all_intervals_of_a_recording_are_one_exposition(
        verb: str, recording: str, capsys: pytest.CaptureFixture[str]) -> None:
    parser = pytest.importorskip("prometheus_client.openmetrics.parser", reason="package prometheus-client is missing")
    assert main([verb, "--replay", recording, "--format", "openmetrics"]) == 0
    families = list(parser.text_string_to_metric_families(capsys.readouterr().out))
    lengths = next(family for family in families if family.name.endswith("interval_seconds"))
    assert len({str(sample.timestamp) for sample in lengths.samples}) == len(lengths.samples) == 2


@pytest.mark.parametrize(("kind", "first"), [(HostKind.SIMULATED, "# SIMULATED machine m: nothing here was measured"),
                                             (HostKind.REAL, "   n")])
def test_tables_whose_verb_has_no_text_say_what_machine_they_are_of(
    kind: HostKind, first: str, capsys: pytest.CaptureFixture[str],
) -> None:
    table = RowTable("numbers", "number", (Column[int]("n", "", 0, (), lambda row: row, help="it", width=4),), (7,))
    print_tables(argparse.Namespace(format="text", table=""), Envelope("m", kind, 0), (table, table))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == first
    assert lines[-5:] == ["   n", "   7", "", "   n", "   7"]
