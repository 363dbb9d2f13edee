"""Randomly changed recordings are read, or refused with a sentence; bench/fuzz.py tests a million."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_frames import NOON, frames, machine, topology_of_cpus

from bench.fuzz import Inputs, read_all, run
from turbotui import recording
from turbotui.recording.cpu_layout import topology_facts, topology_from
from turbotui.recording.framing import DamagedError, Record, RecordingError, RecordKind, RecordParser
from turbotui.recording.json_values import packed, unpacked
from turbotui.recording.machine_facts import header_facts, header_from, header_of
from turbotui.recording.recorder import Recorder
from turbotui.recording.stream_reader import KnownLayouts

COUNT = 400
TOPOLOGY = topology_of_cpus(range(2))


def test_no_input_makes_the_reader_fall() -> None:
    assert run(COUNT, Inputs(seed=5).__getitem__) == {}


def test_what_a_reader_did_not_foresee_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Users see damage, of the whole or of a part; the fuzzer sees whose fault it is."""
    monkeypatch.setattr("turbotui.recording.stream_reader.header_from", len)
    result = run(20, Inputs(seed=5).__getitem__)
    assert {key.partition(" at ")[0] for key in result} == {"TypeError"}
    assert all("/stream_reader.py:" in key for key in result)


def test_inputs_are_of_both_sorts_and_made_again_from_their_number() -> None:
    """Damaged recordings: some are refused at once, some are read in part."""
    inputs, refused = Inputs(seed=5), 0
    for number in range(60):
        assert inputs[number] == Inputs(seed=5)[number]
        try:
            read_all(inputs[number], 16 * number, KnownLayouts())
        except RecordingError:
            refused += 1
    assert 0 < refused < 60


def test_a_recording_without_an_index_is_read(tmp_path: Path) -> None:
    """A recording whose writer was killed behind the first key tick."""
    recorder = Recorder(str(tmp_path / "a.ttj"), machine(TOPOLOGY), sync_seconds=0.0)
    for frame in frames(3, TOPOLOGY):
        recorder.take(frame)
    recorder.close()
    whole = (tmp_path / "a.ttj").read_bytes()
    records = [item for item in RecordParser().feed(whole) if isinstance(item, Record)]
    index = next(record for record in records if record.kind == RecordKind.INDEX)
    (tmp_path / "b.ttj").write_bytes(whole[:index.offset])
    with recording.read(str(tmp_path / "b.ttj")) as journal:
        assert [frame.seq for frame in journal.frames()] == [0]
        assert journal.first_ns == journal.last_ns == NOON


def test_an_interval_that_is_no_time_is_damage() -> None:
    """The fuzzer found a header with 1e308 s between its readings: in ns that is infinite."""
    header = header_of(machine(TOPOLOGY))
    assert header_from(unpacked(packed(header_facts(header)), "a header")) == header
    for seconds in (1e308, -1.0):
        with pytest.raises(DamagedError, match="s between its readings"):
            header_from(unpacked(packed({**header_facts(header), "tier": [seconds, 12]}), "a header"))


def test_a_chiplet_without_a_name_is_damage() -> None:
    """The fuzzer found a list without anything in it, where the last item is a name."""
    facts = topology_facts(TOPOLOGY)
    assert topology_from(unpacked(packed({**facts, "chiplets": [[0, 0, 1, "CCD 1"]]}), "a")).chiplets == {
        (0, 0, 1): "CCD 1"}
    wrongs: tuple[list[list[object]], ...] = ([[]], [[0, 0, 1]], [["CCD 1", 0]])
    for wrong in wrongs:
        with pytest.raises(DamagedError, match="chiplets"):
            topology_from(unpacked(packed({**facts, "chiplets": wrong}), "a"))
