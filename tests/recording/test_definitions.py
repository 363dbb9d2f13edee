"""Recordings keep what the user added, and the words of the recorded command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import jsontables
import pytest
from made_frames import CAPABILITIES, frames, machine, topology_of_cpus

from turbotui import recording
from turbotui.cli import main
from turbotui.quantities.added import AddedCounter, EventAt, FileAt, RegisterAt, Shape, TelemetryAt, Ticks
from turbotui.quantities.definition import CountedEvents, CountedUnits, Definition
from turbotui.quantities.event_columns import parse_requests
from turbotui.quantities.event_traits import EventTraits
from turbotui.quantities.scope import Scope
from turbotui.quantities.spies import Spy, SpyPlan, Target
from turbotui.recording import capability_facts, machine_facts
from turbotui.recording.definition_facts import definition_facts, definition_from
from turbotui.recording.framing import DamagedError
from turbotui.recording.json_values import JsonValue, packed, unpacked
from turbotui.recording.machine_facts import Header, header_facts, header_of
from turbotui.recording.recorded_source import RecordedSource, definitions_of, recorded_catalog
from turbotui.recording.recorder import Recorder
from turbotui.sampling.capabilities import Capabilities
from turbotui.sources.source import Source

TOPOLOGY = topology_of_cpus(range(2))
REGION = TelemetryAt(0x1A067102, 1, "", 0x3F8, 3, 63)
FORMULA = "instructions/'cpu/event=0x3c/'*dt*energy.pkg"
EVENTS = tuple(CountedEvents(request, {"cpu/event=0x3c/": EventTraits(Scope.CORE, "MiB", scaled=True)})
               for text in ("cpu/event=0x3c/,name=Cycles,rate,faults", f"PerC={FORMULA},unit=x,decimals=2")
               for request in parse_requests(text))
DEFINITIONS: tuple[Definition, ...] = (
    AddedCounter("reg", RegisterAt(0xFFFF_FFFF_0000_0010), Scope.PACKAGE, 32, Ticks.USEC, Shape.PERCENT),
    AddedCounter("file", FileAt("/sys/ä␛"), shape=Shape.RAW),
    AddedCounter("event", EventAt("power", "energy-pkg"), Scope.CORE, shape=Shape.AVERAGE),
    AddedCounter("pmt", REGION, ticks=Ticks.CRYSTAL, by_instance={0: REGION, 7: replace(REGION, offset=8)}),
    *EVENTS,
    CountedUnits("uncore_imc_0", 3, ("uncore_imc_0@0.-1.4",), (("cas_count_read", "clockticks"), ("event=0x1",)),
                 (("threshold", 2**64 - 1),)),
    SpyPlan((Spy(Target("0-1", frozenset({0, 1})), (("cycles", "r01c2"), ("branches",)), split=True),
             Spy(Target("package 1 core 2", None, 1, 2), (("LLC-loads",),), split=False)), "cycles"),
)


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda item: type(item).__name__)
def test_every_definition_is_the_same_again(definition: Definition) -> None:
    payload = packed({"definition": definition_facts(definition)})
    assert definition_from(unpacked(payload, "a source")["definition"]) == definition


def test_a_definition_of_a_later_version_is_none_and_a_wrong_one_is_damage() -> None:
    assert definition_from(JsonValue({"later": {"any": 1}}, "a source")) is None
    seen = set()
    for definition in DEFINITIONS:
        facts = definition_facts(definition)
        for path in _paths(facts):
            wrong: object
            for wrong in (None, [], {}, "{(", -1, 2.5):
                said = JsonValue(_with(facts, path, wrong), "a source")
                try:
                    definition_from(said)
                except DamagedError as error:
                    seen.add(str(error))
    assert len(seen) > 40


def _paths(value: object) -> list[tuple[str | int, ...]]:
    inner: list[tuple[str | int, object]] = []
    if isinstance(value, Mapping):
        inner = [(str(key), item) for key, item in value.items()]
    elif isinstance(value, list | tuple):
        inner = list(enumerate(value))
    return [(), *((key, *rest) for key, item in inner for rest in _paths(item))]


def _with(value: object, path: tuple[str | int, ...], wrong: object) -> object:
    if not path:
        return wrong
    if isinstance(value, Mapping):
        return {key: _with(item, path[1:], wrong) if key == path[0] else _plain(item) for key, item in value.items()}
    assert isinstance(value, list | tuple)
    return [_with(item, path[1:], wrong) if at == path[0] else _plain(item) for at, item in enumerate(value)]


def _plain(value: object) -> object:
    """A value as it is after a round trip through JSON, which makes lists of tuples."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _defined(*definitions: Definition) -> Capabilities:
    sources: tuple[Source, ...] = tuple(
        RecordedSource(f"added-{at}", "added", "numbers", shared=False, counts_from_open=True,
                       probed=CAPABILITIES.probes["made"], definition=item) for at, item in enumerate(definitions))
    return replace(CAPABILITIES, sources=(*CAPABILITIES.sources, *sources),
                   probes={**CAPABILITIES.probes, **{source.id: CAPABILITIES.probes["made"] for source in sources}})


def test_the_columns_of_definitions_are_those_of_the_catalog_and_theirs() -> None:
    catalog = recorded_catalog(_defined(*DEFINITIONS))
    plain = recorded_catalog(CAPABILITIES)
    assert set(catalog.by_id) - set(plain.by_id) == {
        "reg", "file", "event", "pmt", "Cycles", "faults", "PerC", "cycles", "r01c2", "branches", "LLC-loads",
        "Samples", "Sets"}
    assert catalog.by_id["Cycles"].unit == "MiB/s"
    assert catalog.by_id["PerC"].unit == "x"
    busy = AddedCounter("Busy%", FileAt("/x"))  # came with a later version
    assert recorded_catalog(_defined(busy)) is not None
    assert recorded_catalog(_defined(busy)).by_id["Busy%"].document == plain.by_id["Busy%"].document


def test_names_that_a_later_version_adds_to_documents_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    real, real_facts = capability_facts._source_facts, capability_facts.capability_facts

    def later(source: Source, sources: tuple[Source, ...]) -> dict[str, object]:
        return {**real(source, sources), "later": [1], "definition": {"later": 1}}

    def reason(capabilities: Capabilities) -> dict[str, object]:
        facts = real_facts(capabilities)
        signals = [{**signal, "unit": "parsec"} for signal in facts["signals"]]  # type: ignore[attr-defined]
        return {**facts, "signals": signals, "reasons": [["later", "of a later version", ""]], "missing": {"warp": 0}}

    def header(item: Header) -> dict[str, object]:
        return {**header_facts(item), "later": {"a": 1}}

    monkeypatch.setattr(capability_facts, "_source_facts", later)
    monkeypatch.setattr("turbotui.recording.stream_writer.header_facts", header)
    monkeypatch.setattr("turbotui.recording.cpu_layout.capability_facts", reason)
    recorder = Recorder(str(tmp_path / "later.ttj"), machine(TOPOLOGY), sync_seconds=0.0)
    for frame in frames(4, TOPOLOGY):
        recorder.take(frame)
    recorder.close()
    with recording.read(str(tmp_path / "later.ttj")) as journal:
        assert len(list(journal.frames())) == 4
        assert journal.check() == ()
        assert journal.capabilities.why_missing("warp").detail == "of a later version"


def test_the_words_of_a_command_are_those_that_were_given() -> None:
    words = ("sh", "-c", "echo 'ä' \\ \"x\"; exit", "")
    header = header_of(machine(TOPOLOGY), words)
    said = unpacked(packed(header_facts(header)), "the header")
    assert machine_facts.header_from(said).command == words


def test_definitions_in_a_file_of_version_1_are_read_for_ever() -> None:
    with recording.read(str(Path(__file__).parent / "golden" / "version1.added.ttj")) as journal:
        assert len(list(journal.frames())) == 3
        assert journal.check() == ()
        assert journal.header.command == ("make", "-j 4", "ä")
        assert tuple(definitions_of(journal.capabilities)) == DEFINITIONS
        assert journal.catalog.by_id["PerC"].formula == FORMULA


def test_a_replay_has_the_columns_that_were_added(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "added.ttj")
    formula = "GIPS=instructions/dt/1e9,unit=GIPS,decimals=4"
    words = ["--machine", "laptop", "-i", "0.05", "-n", "3", "--add", formula, "--add", "branches,rate"]
    assert main(["record", path, *words]) == 0
    capsys.readouterr()
    assert main(["stat", "--replay", path, "-q", "-S", "--format", "json", "-s", "Busy%"]) == 0
    result = jsontables.tables(capsys.readouterr().out)
    assert len(result) == 3
    for item in result:
        units = {column["id"]: column["unit"] for column in item["columns"]}
        assert units["GIPS"] == "GIPS"
        assert item["rows"][0]["values"]["GIPS"] > 0
        assert item["rows"][0]["values"]["branches"] > 0
    with recording.read(path) as journal:
        assert journal.catalog.by_id["GIPS"].formula == "instructions/dt/1e9"
        frame = list(journal.frames())[-1]
        column = journal.catalog.by_id["GIPS"]
        evidence = frame.why(column, frame.rows(Scope.CPU)[0])
    assert evidence is None
    assert main(["info", "--replay", path]) == 0
    assert "Columns that were added: branches, GIPS" in capsys.readouterr().out.replace("GIPS, branches",
                                                                                        "branches, GIPS")


def test_diff_and_info_tell_the_command_that_was_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = str(tmp_path / "a.ttj"), str(tmp_path / "b.ttj")
    for path, command in ((first, ("sleep", "0.6")), (second, ("sh", "-c", "sleep 0.6"))):
        recorder = Recorder(path, machine(TOPOLOGY), sync_seconds=0.0, command=command)
        for frame in frames(4, TOPOLOGY):
            recorder.take(frame)
        recorder.close()
    assert main(["info", "--replay", second]) == 0
    assert "  Recorded command: sh -c 'sleep 0.6'\n" in capsys.readouterr().out
    assert main(["diff", first, second]) == 0
    assert "another recorded command: sleep 0.6 in A, sh -c 'sleep 0.6' in B" in capsys.readouterr().out
    assert main(["diff", first, first]) == 0
    assert "recorded command" not in capsys.readouterr().out


def test_each_session_of_a_recording_has_its_own_command(tmp_path: Path) -> None:
    path = str(tmp_path / "a.ttj")
    for command in (("sleep", "0.01"), ("sleep", "0.02")):  # the second session behind the first
        assert main(["record", path, "-i", "0.05", "-s", "Busy%", "--", *command]) == 0
    with recording.read(path) as journal:
        assert journal.header.command == ("sleep", "0.01")
        assert journal.header_at(journal.first_ns).command == ("sleep", "0.01")
        assert journal.header_at(journal.last_ns).command == ("sleep", "0.02")
