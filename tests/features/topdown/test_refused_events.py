"""Machines whose kernel refuses one event of a group: nodes that do without it are known, the others name the event."""

from __future__ import annotations

import errno
import functools
import json
from pathlib import Path

import pytest
from simulated_session import SimulatedSession
from test_recorded_threads import again, written
from test_regions_truth import MarkedBed
from test_threads_truth import ThreadBed
from test_topdown_screen import below, counted
from test_topdown_truth import LEVEL_ONE
from topdown_bed import TopdownBed

from turbotui import cli
from turbotui.app.dashboard import TurbotuiApp
from turbotui.events.engines import open_engine
from turbotui.features.topdown.bars import bar_text
from turbotui.features.topdown.command_counters import FamilyCounters
from turbotui.features.topdown.model import TopdownRow
from turbotui.features.topdown.places import RowLevel
from turbotui.features.topdown.recorded_threads import ThreadRecord, thread_record
from turbotui.features.topdown.region_interval_rows import interval_rows
from turbotui.features.topdown.screen import TopdownScreen
from turbotui.features.topdown.tables import TOTAL, judge
from turbotui.quantities.unavailable import Reason
from turbotui.recording.framing import DamagedError
from turbotui.recording.json_values import JsonValue
from turbotui.simulated.threads import process_of

pytestmark = pytest.mark.usefixtures("few_cores")

SAID = {errno.ENOENT: "this PMU has no such event on this CPU", errno.EINVAL: "the kernel does not offer it here",
        errno.EACCES: "refused although this process has the capability",
        errno.EOPNOTSUPP: "the PMU cannot count it this way"}
_BACK_END = (4, 0x1_0000_1EA0)  # type and config of Zen 5's event 0x1a0, umask 0x1e: no dispatch for the back end
_SECONDS = 0.04


def refuse(bed: TopdownBed, event: str, number: int) -> str:
    """Let the kernel refuse an event of the first tree; returns the event as reasons name it."""
    (encoded,) = open_engine(bed.machine.host).encode(bed.counters.branches[0].event(event))
    bed.host.fail(("perf", encoded.attr.type, encoded.attr.config), number)
    return encoded.fstr


@functools.cache
def of_all_events(name: str) -> tuple[TopdownRow, ...]:
    """The cores of a machine whose kernel refuses nothing."""
    bed = TopdownBed(name, 2)
    return bed.rows(bed.interval()[0], RowLevel.CORE)


def unknown(row: TopdownRow, level: int) -> set[str]:
    return {node.id for branch in row.branches for node in branch.tree.nodes
            if node.level <= level and row.fraction(node.id) is None}


@pytest.mark.parametrize("number", SAID)
@pytest.mark.parametrize(("name", "event", "lost"), [
    ("sapphire-2s", "heavy_ops", {"light", "heavy"}),
    ("turin-2s", "ucode", {"fastpath", "microcode"}),
    ("turin-2s", "stalled", {"backend", "memory_bound", "core_bound"}),
    ("turin-2s", "dispatched", {"bad_speculation", "mispredicts", "clears"}),
])
def test_nodes_of_cpus_that_do_without_the_event_are_those_of_a_kernel_that_refuses_none(
        name: str, event: str, lost: set[str], number: int) -> None:
    bed = TopdownBed(name, 2)
    refused = refuse(bed, event, number)
    for row, other in zip(of_all_events(name), bed.rows(bed.interval()[0], RowLevel.CORE), strict=True):
        assert unknown(other, 2) == unknown(row, 2) | lost
        for branch in row.branches:
            for node in branch.tree.nodes:
                if node.level <= 2 and node.id not in lost:
                    # without it fewer counters are multiplexed, so that estimates differ a little
                    assert other.percent(node.id) == pytest.approx(row.percent(node.id), abs=0.5)
        for node_id in lost:
            why = other.why(node_id)
            assert f"perf {refused}" in why.detail
            assert SAID[number] in why.detail


def test_a_leader_that_is_refused_is_the_reason_for_all_of_its_group() -> None:
    bed = TopdownBed("sapphire-2s", 2)
    leader = refuse(bed, "slots", errno.EINVAL)
    row = bed.rows(bed.interval()[0], RowLevel.PACKAGE)[0]
    assert unknown(row, 2) == {node.id for node in row.branches[0].tree.nodes if node.level <= 2}
    assert leader in row.why("retiring").detail
    assert leader in row.why("heavy").detail


def test_a_level_one_without_one_of_its_parts_is_no_whole() -> None:
    bed = TopdownBed("turin-2s")
    refuse(bed, "stalled", errno.ENOENT)
    for row in bed.rows(bed.interval()[0], RowLevel.CORE):
        shares = {node.id: value for node, value in row.shares()}
        assert row.total() is None
        assert "0x1a0" in (judge(TOTAL, row, None).why or row.why("retiring")).detail
        assert bar_text(row, 40) == ""
        rest = 100.0 - sum(shares.values())
        largest = row.largest()
        assert largest is not None
        assert row.hottest() is (largest if shares[largest.id] > rest else None)


def test_two_kinds_of_core_are_joined_only_where_both_are_known() -> None:
    bed = TopdownBed("laptop")
    kinds = {branch.kind: branch for branch in bed.counters.branches}
    bed.counters.branches = (kinds["E"], *(branch for kind, branch in kinds.items() if kind != "E"))
    event = next(name for name in kinds["E"].tree.counted_for("") if name not in kinds["E"].tree.slots.names)
    refused = refuse(bed, event, errno.ENOENT)
    frame, _truth = bed.interval()
    (package,) = bed.rows(frame, RowLevel.PACKAGE)
    of_kind = {row.branches[0].kind: row for row in bed.rows(frame, RowLevel.CORE)}
    lost = unknown(of_kind["E"], 1)
    assert lost
    assert not unknown(of_kind["P"], 1)
    for node_id in lost & set(kinds["P"].tree.by_id):
        assert package.fraction(node_id) is None
        assert refused in package.why(node_id).detail


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EINVAL, errno.EACCES])
@pytest.mark.parametrize(("name", "kind", "event", "lost"), [
    ("sapphire-2s", 1, "heavy_ops", {"light", "heavy"}),
    ("turin-2s", 0, "stalled", {"backend", "memory_bound", "core_bound"}),
])
def test_nodes_of_threads_that_do_without_the_event_are_known(
        name: str, kind: int, event: str, lost: set[str], number: int) -> None:
    whole, bed = ThreadBed(name, kind, 2), ThreadBed(name, kind, 2)
    before = bed.host.open_descriptors
    refused = refuse(bed, event, number)
    rows = {row.place.key: row for row in bed.thread_rows(bed.measured(_SECONDS)[0])}
    for thread_row in whole.thread_rows(whole.measured(_SECONDS)[0]):
        other = rows[thread_row.place.key]
        if thread_row.slots() is None:
            continue  # it did not run
        assert unknown(other, 2) == unknown(thread_row, 2) | lost
        assert all(f"perf {refused}" in other.why(node_id).detail for node_id in lost)
    bed.threads.close()
    assert bed.host.open_descriptors == before


def test_a_thread_of_another_user_is_refused_as_a_whole_after_few_calls() -> None:
    bed = ThreadBed("sapphire-2s", 2, 4)
    bed.host.set_privileges(uid=4711, capabilities=0, paranoid=2)
    bed.threads.look()
    interval = bed.threads.measure()
    assert not interval.threads
    assert all(why.reason is Reason.NOT_PERMITTED for why in interval.refused)


def test_a_command_and_its_regions_do_without_the_event() -> None:
    bed = MarkedBed("turin-2s", 1)
    refused = refuse(bed, "stalled", errno.ENOENT)
    rows = interval_rows(bed.counters.branches, bed.run())
    assert [row.place.name for row in rows] == ["the command", "solve", "write"]
    for row in rows:
        assert unknown(row, 1) == {"backend"}
        assert f"perf {refused}" in row.why("backend").detail
    assert bed.hold(rows, LEVEL_ONE, "") >= 9
    command = FamilyCounters(bed.machine, bed.counters, process_of(0))
    for parts in command.read().values():
        assert isinstance(parts, tuple)
        assert all(part.refused.keys() == {"stalled"} and "stalled" not in part.values for part in parts)
    command.close()


def interval_without(event: str) -> tuple[ThreadBed, ThreadRecord]:
    bed = ThreadBed("turin-2s", 0)
    refuse(bed, event, errno.ENOENT)
    return bed, ThreadRecord(1, 1, bed.measured(1.0)[0])


def test_recorded_threads_have_the_same_nodes_and_reasons() -> None:
    bed, record = interval_without("stalled")
    rows, restored = (bed.thread_rows(item.interval) for item in (record, again(record)))
    assert [(row.counts, row.missing) for row in restored] == [(row.counts, row.missing) for row in rows]
    assert any(row.missing for row in restored)
    both = bed.thread_rows(again(record.plus(record)).interval)
    assert [row.missing for row in both] == [row.missing for row in rows]


def test_a_reason_that_a_record_does_not_have_is_damage() -> None:
    _bed, record = interval_without("stalled")
    document = json.loads(json.dumps(record.facts()))
    refused = document["groups"][0]["parts"][0]["refused"]["stalled"]
    refused[next(at for at, number in enumerate(refused) if number is not None)] = 7
    with pytest.raises(DamagedError, match="reasons that are none"):
        thread_record(JsonValue(document, "threads"), 1)


def test_a_recording_of_cpus_and_threads_names_the_event(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bed, record = interval_without("stalled")
    path = written(tmp_path / "refused.ttj", bed, record.interval)
    for level in ("core", "thread"):
        assert cli.main(["topdown", "--replay", str(path), "--per", level]) == 0
        said = capsys.readouterr().out
        assert "BackEnd%" in said
        assert "FrontEnd%" in said
        assert "# - no hardware: perf cpu/event=0x1a0,umask=0x1e/" in said


async def test_the_screen_shows_the_other_nodes_and_names_the_event() -> None:
    session = SimulatedSession("turin-2s", small=True)
    session.host.fail(("perf", *_BACK_END), errno.ENOENT)
    async with TurbotuiApp(session, screen="topdown").run_test(size=(120, 36)) as pilot:
        while not session.started:
            await pilot.pause()
        screen = pilot.app.screen
        assert isinstance(screen, TopdownScreen)
        await counted(session, screen, pilot)
        row = screen.row_at_cursor
        assert row is not None
        assert unknown(row, 1) == {"backend"}
        assert "back-end bound is unknown: no hardware: perf cpu/event=0x1a0,umask=0x1e/" in below(screen)
