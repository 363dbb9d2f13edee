"""Groups in recordings: they are restored, intervals add up, and damage is reported."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from made_frames import NOON, SECOND

from turbotui import recording
from turbotui.cli import main
from turbotui.features.groups.engine import GroupInterval, mean_interval
from turbotui.features.groups.model import CGROUP, CONTROL, DOMAIN, Group, GroupRow, row_over
from turbotui.features.groups.recorded_groups import GroupRecord, group_record, record_of
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.recording.framing import DamagedError
from turbotui.recording.json_values import JsonValue
from turbotui.recording.rows import GROUPS_STREAM
from turbotui.sampling.energy import Energy
from turbotui.simulated.strain_files import GROUPS
from turbotui.untrusted import json_text

GOLDEN = Path(__file__).parents[2] / "recording" / "golden" / "version1.groups.ttj"
WHY = Unavailable(Reason.NOT_SET, "no limit", "sudo")
FILES = {"cpu_usec": "cpu.stat", "memory_bytes": "memory.current", "memory_max": "memory.max"}
ROWS = (
    GroupRow(Group(CGROUP, "/", "/"), {"cpu_usec": 9e6}, {"memory_bytes": 5}, {"Δt cpu.stat": 1.0},
             {"memory_max": WHY}, FILES),
    GroupRow(Group(CGROUP, "/a", "a"), {}, {"memory_bytes": 7}, {}, {"cpu_usec": WHY}, FILES),
    GroupRow(Group(CONTROL, "/", "default group"), {"L3 00 mbm_total_bytes": 3e9}, {},
             {"Δt L3 00 mbm_total_bytes": 1.0}, {}, {"L3 00 mbm_total_bytes": "L3 00 mbm_total_bytes"}),
)
RECORD = GroupRecord(17, 5, 1.0, ROWS)


def read_back(record: GroupRecord) -> GroupRecord:
    return group_record(JsonValue(json.loads(json.dumps(record.facts())), "test"), record.wall_ns)


def test_groups_of_a_file_of_version_1_are_read_for_ever() -> None:
    with recording.read(str(GOLDEN)) as journal:
        records = [group_record(rows.stored, rows.wall_ns) for rows in journal.rows(GROUPS_STREAM, 0, 2**62)]
        assert journal.check() == ()
    assert records == [replace(RECORD, wall_ns=NOON + at * SECOND, started_ns=0, seconds=float(at)) for at in (1, 2, 3)]


def test_what_was_written_comes_back() -> None:
    assert read_back(RECORD) == replace(RECORD, started_ns=0)
    assert [row.group.kind for row in read_back(RECORD).monitored] == [CONTROL, DOMAIN]
    assert record_of(GroupInterval(clocks=(1, 2), seconds=3.0, resctrl=RECORD.monitored)).rows == (
        replace(ROWS[2], domains=("L3 00",)),)


def test_a_name_with_a_line_break_still_fills_one_line() -> None:
    torn = RECORD.plus(replace(RECORD, rows=(replace(ROWS[1], group=Group(CGROUP, "/a␊b␉", "a␊b␉")),)))
    written = JsonValue(json.loads(json_text(torn.facts())), "test")
    assert any("\n" in path for path in written["path"].values(str)), "the recording holds what the kernel said"
    assert [row.group for row in group_record(written, 1).rows] == [row.group for row in torn.rows]


def test_intervals_add_up() -> None:
    both = RECORD.plus(replace(RECORD, wall_ns=18))
    assert (both.wall_ns, both.seconds) == (18, 2.0)
    row = both.rows[0]
    assert (row.increases["cpu_usec"], row.spans["Δt cpu.stat"], row.values["memory_bytes"]) == (18e6, 2.0, 5)
    assert row.rate("cpu_usec") == 9e6


def test_a_group_that_ended_keeps_what_it_used() -> None:
    first, *others = RECORD.rows
    both = RECORD.plus(replace(RECORD, rows=tuple(others)))
    assert [row.group for row in both.rows] == [*(row.group for row in others), first.group]
    ended = both.rows[-1]
    assert (ended.increases, ended.spans, ended.values) == (first.increases, first.spans, {})
    why = ended.why("memory_bytes")
    assert why is not None
    assert (why.reason, why.detail[:19]) == (Reason.NOT_READ, "the group had ended")


def test_what_is_known_of_a_part_is_not_taken_for_the_whole() -> None:
    files = {"cpu_usec": "cpu.stat", "throttled": "cpu.stat"}
    first = replace(ROWS[0], increases={"cpu_usec": 1.0, "throttled": 1.0}, files=files)
    later = replace(first, increases={"cpu_usec": 1.0}, absent={"throttled": WHY})
    row = replace(RECORD, rows=(first,)).plus(replace(RECORD, rows=(later,))).rows[0]
    assert "throttled" not in row.increases
    assert row.absent["throttled"] == WHY
    came = replace(RECORD, rows=(replace(first, increases={}, spans={}, absent={"cpu_usec": WHY}),))
    row = came.plus(replace(RECORD, rows=(first,))).rows[0]
    assert row.rate("cpu_usec") == 1.0, "its file was read in the later interval only"


def test_an_increase_and_a_span_of_different_intervals_make_no_rate() -> None:
    files = {"cpu_usec": "cpu.stat"}
    timed = replace(ROWS[0], increases={"cpu_usec": 5.0}, files=files)
    vague = replace(timed, spans={}, absent={"cpu_usec": WHY})
    unread = replace(timed, increases={}, absent={"cpu_usec": WHY})
    row = row_over((vague, unread))
    assert (row.rate("cpu_usec"), row.why("cpu_usec")) == (None, WHY)
    assert row_over((timed, vague, unread)).rate("cpu_usec") is None


def test_the_mean_of_intervals_is_as_long_as_the_newest_and_has_their_rates() -> None:
    files = {"cpu_usec": "cpu.stat"}
    short = replace(ROWS[0], increases={"cpu_usec": 4.0}, spans={"Δt cpu.stat": 1.0}, files=files)
    long = replace(short, increases={"cpu_usec": 5.0}, values={"memory_bytes": 8}, spans={"Δt cpu.stat": 2.0})
    came = replace(long, group=replace(long.group, path="/came"))
    energies = [Energy({0: 30.0}, {}, seconds) for seconds in (1.0, 2.0)]
    mean = mean_interval([GroupInterval((short,), seconds=1.0, energy=energies[0]),
                          GroupInterval((long, came), seconds=2.0, energy=energies[1])])
    assert mean.seconds == 2.0
    assert [row.rate("cpu_usec") for row in mean.rows] == [pytest.approx(3.0), 2.5], "the other came later"
    assert mean.rows[0].increases["cpu_usec"] == pytest.approx(6.0), "amounts are those of one such interval"
    assert mean.rows[0].values == {"memory_bytes": 6.5}
    assert mean.energy.total(1) == pytest.approx(40.0)
    assert mean.energy.span == pytest.approx(2.0)


@pytest.mark.parametrize("change", [
    {"path": ["/"]}, {"plan": [0, 0, 9]}, {"kind": ["cgroup", "cgroup", "nothing"]}, {"values": {"x": [1]}},
    {"absent": {"x": [None, None, 99]}}, {"reasons": [["not set"]]}, {"seconds": "long"}, {"plans": 3},
    {"increases": {"cpu_usec": ["much", None, None]}},
])
def test_damage_is_reported(change: Mapping[str, object]) -> None:
    facts = json.loads(json.dumps(RECORD.facts()))
    with pytest.raises(DamagedError):
        group_record(JsonValue({**facts, **change}, "test"), 1)


def test_a_recording_tells_of_groups_in_every_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "groups.ttj")
    assert main(["record", path, "--machine", "laptop", "--tables", "groups", "-n", "4", "-i", "0.1"]) == 0
    capsys.readouterr()
    assert main(["groups", "--replay", path, "--json", "-n", "2"]) == 0
    tables = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(tables) == 2
    for table in tables:
        assert table["kind"] == "RECORDED"
        values = {row["path"]: row["values"] for row in table["rows"]}
        assert values.keys() == {"/", *(f"/{name}" for name, _ in GROUPS)}
        assert values["/"]["CPU%"] > values["/user.slice"]["CPU%"] > 0
        assert values["/"]["Watt"] > 0
    assert main(["groups", "--replay", path, "--every", "0.2s", "--top", "2"]) == 0
    assert "SIMULATED" in capsys.readouterr().out


def test_a_recording_without_groups_says_how_they_get_there(tmp_path: Path,
                                                            capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "cpus.ttj")
    assert main(["record", path, "--machine", "laptop", "-n", "2", "-i", "0.1"]) == 0
    assert main(["groups", "--replay", path]) != 0
    assert "record --tables groups" in capsys.readouterr().err
