"""Files of each version of the format, written when it was new: every later turbotui reads them."""

from __future__ import annotations

from pathlib import Path

from turbotui import recording
from turbotui.machine.host import HostKind
from turbotui.quantities.row_kinds import Form
from turbotui.quantities.scope import Scope
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sampling.row_differences import RowDifferences
from turbotui.sampling.rows import Row

GOLDEN = Path(__file__).parent / "golden"
NOON = 1_700_000_000_000_000_000
SECOND = 1_000_000_000


def test_a_file_of_version_1_is_read_for_ever() -> None:
    with recording.read(str(GOLDEN / "version1.ttj")) as journal:
        frames = list(journal.frames())
        assert journal.check() == ()
        assert [frame.seq for frame in frames] == [*range(80), 100, 101, 102]
        assert journal.header.version == "0.2.0"
        assert journal.machine.host.kind is HostKind.RECORDED
        assert journal.machine.host.name == "made (SIMULATED) (RECORDED)"
        assert journal.machine.model.model == 85
        assert [(event.kind, event.text) for event in journal.events()] == [
            ("mark", "a mark, é"), ("topology", "CPUs 3 went")]
        assert [(gap.reason, gap.seconds, gap.frames) for gap in journal.gaps()] == [
            ("clock", 5.0, 0), ("lost", 0.0, 3)]
        assert (journal.first_ns, journal.last_ns) == (NOON, NOON + 102 * SECOND)
    signal = frames[0].capabilities.signals["energy"]
    assert (signal.scope, signal.width_bits, signal.scale, signal.wrap_seconds) == (Scope.PACKAGE, 32, 0.5, 60.0)
    last = frames[79].newer
    assert last.values["work"] == [79_000, 79_079, 79_158]
    assert last.values["energy"] == [553]
    assert last.values["heat"] == [-79, 40_004]
    assert last.values["word"] == ["odd", None, "odd"]
    assert last.stamps["work"] == [79_000_001_000, 79_000_001_001, 79_000_001_002]
    assert last.wraps["energy"] == [0]
    assert (last.wall_ns, last.started_ns) == (NOON + 84 * SECOND, 79 * SECOND)
    assert frames[79].deltas("work") == [1000, 1001, 1002]
    assert frames[10].deltas("work") == [1000, 1001, None, 1003]
    assert frames[70].topology.cpus == (0, 1, 2)
    assert frames[80].older is None


def test_a_tier_of_version_1_is_read_for_ever() -> None:
    with recording.read(str(GOLDEN / "version1.10s.ttj")) as journal:
        frames = list(journal.frames())
        assert journal.check() == ()
    assert [frame.seq for frame in frames] == list(range(0, 80, 10))
    assert [frame.seconds for frame in frames[1:]] == [10.0] * 7
    assert frames[2].newer.values["work"] == [20_000, 20_022, 20_040, 20_062]  # 12 bits of 10,010 and of 10,030
    assert frames[1].deltas("work") == [10_000, 10_010, None, 10_030]


def test_rows_of_version_2_are_read_for_ever() -> None:
    with recording.read(str(GOLDEN / "version2.ttj")) as journal:
        frames = list(journal.frames())
        assert journal.check() == ()
        assert [event.text for event in journal.events()] == ["a mark, é"]
    assert [frame.newer.rows["jobs"].started_ns // SECOND for frame in frames] == [*range(1, 9)]
    first, last = frames[0].newer.rows["jobs"], frames[7].newer.rows["jobs"]
    assert (last.kind.title, last.kind.parent, last.kind.most) == ("jobs", "machines", 512)
    cycles, heat = last.quantities["cycles"], last.quantities["heat"]
    assert (cycles.unit, cycles.enabled, cycles.running, heat.form) == (Unit.CYCLE, "on", "ran", Form.DOUBLE)
    assert (last.quantities["time"].scale, last.quantities["time"].clock) == (1e-9, "slow")
    assert first.roster.rows == {0: Row("18", 1, "m 0", "job 18 é"), 1: Row("8", 2**63 + 1, "m 0", "job 8 é")}
    assert [*last.roster.rows] == [1, 0, 2, 3, 5, 8, 4, 6, 7, 9, 10]
    assert last.roster.rows[8] == Row("12", 2**63 + 1, "m 0", "job 12 é", 6 * SECOND)
    assert (last.roster.capacity, last.died, last.omitted) == (16, frozenset({1, 4, 5}), 0)
    assert [*last.values["work"]][:6] == [1000002000, 2000002001, 3002, 2000001002, 1000000001, 2000002000]
    assert [*last.values["heat"]][2:4] == [41.5, -273.15]
    assert last.values["words"][:6] == ("run\tning é", "", "", "", "idle", "idle")
    assert last.absent == {"words": {3: Unavailable(Reason.FAILED, "torn")}}
    assert [*last.stamps[""]][10:12] == [8000001010, 0]
    assert [*last.stamps["slow"]][1:4] == [0, 7000005000, 8000005000]
    assert RowDifferences(first, last).deltas("work")[1] == 1000002001
