"""Points of threads: from their own counters, and the notes if those do not suffice."""

from __future__ import annotations

import csv
import functools
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from knownmachines import known_machine
from model_truth import CpuTruth, truth_of
from replayed_frames import ReplayedSession, roofline
from textual.pilot import Pilot

from turbotui.app.text_window import TextWindow
from turbotui.features.roofline.live import total_of
from turbotui.features.roofline.screen import RooflineScreen
from turbotui.features.roofline.screen_tasks import ThreadsReady
from turbotui.features.roofline.screen_view import MOST
from turbotui.features.roofline.task_points import EVERY_THREAD, task_points
from turbotui.features.roofline.verdict_text import verdict_text
from turbotui.features.roofline.verdicts import LevelRoofs, roofs_for
from turbotui.features.tasks.live import TaskWatcher
from turbotui.features.tasks.report import Report
from turbotui.features.tasks.tables import Grouping
from turbotui.features.tasks.watched_applications import WatchedApplications
from turbotui.quantities.roofline import Sizing, WidthModel
from turbotui.quantities.scope import SYSTEM_ROW, Scope, cpu_row
from turbotui.simulated import ManualClock, simulated_host
from turbotui.widgets.segment_lines import SegmentLines

pytestmark = pytest.mark.usefixtures("few_cores")


@functools.cache
def threads(name: str) -> tuple[tuple[CpuTruth, ...], Report]:
    """All threads of a simulated machine over two seconds, and what each CPU really did before and in all."""
    clock = ManualClock(0)
    host = simulated_host(name, clock, seed=7)
    machine = known_machine(host)
    watching = WatchedApplications(machine)
    try:
        before = [truth_of(host).truth(cpu) for cpu in machine.topology.cpus]
        application = watching.add(EVERY_THREAD)
        for _ in range(20):
            clock.advance(0.1)
            watching.round(0.0)
        after = [truth_of(host).truth(cpu) for cpu in machine.topology.cpus]
        return (*before, *after), watching.report(application, Grouping.THREAD)
    finally:
        watching.close()


@pytest.mark.parametrize(("name", "intensity"), [("sapphire-2s+tonto", 0.1875), ("grace-2s+tonto", 0.1875),
                                                 ("turin-2s+tonto", 0.1875)])
def test_threads_stand_where_their_work_puts_them(name: str, intensity: float) -> None:
    _truth, report = threads(name)
    points = task_points(report, Sizing(), 2.0)
    rows = [row for row in report.rows if row.run_seconds > 0]
    assert len(points.points) == len(rows)
    working = [point for point in points.points if point.gflops > 0.1]
    assert len(working) >= 4
    for point in working:
        assert point.has_place
        assert point.intensity == pytest.approx(intensity, rel=0.02)
        assert point.row.scope is Scope.CPU
    assert len({point.identity for point in points.points}) == len(points.points)


@pytest.mark.parametrize("name", ["sapphire-2s+tonto", "grace-2s+tonto", "turin-2s+tonto"])
def test_threads_together_did_what_the_machine_did(name: str) -> None:
    truth, report = threads(name)
    half = len(truth) // 2
    points = task_points(report, Sizing(), 2.0).points
    flops = sum(point.gflops * point.length for point in points) * 1e9
    moved = sum((point.gbytes or 0.0) * point.length for point in points) * 1e9
    assert flops == pytest.approx(sum(two.flops - one.flops for one, two in zip(truth[:half], truth[half:],
                                                                                strict=True)), rel=0.02)
    assert moved == pytest.approx(sum(two.bytes_loaded + two.bytes_stored - one.bytes_loaded - one.bytes_stored
                                      for one, two in zip(truth[:half], truth[half:], strict=True)), rel=0.02)


def test_operations_are_divided_by_the_time_in_which_the_thread_ran() -> None:
    _truth, report = threads("sapphire-2s")
    definition = report.numerics.definition
    assert definition is not None
    by_key = {point.identity: point for point in task_points(report, Sizing(), 2.0).points}
    assert any(row.run_seconds < 0.9 * report.seconds for row in report.rows)
    for row in report.rows:
        flops = sum(term.weight * row.counts.get(term.event, 0) for term in definition.flops)
        if row.run_seconds > 0:
            point = by_key[row.key]
            assert point.gflops * row.run_seconds * 1e9 == pytest.approx(flops)
            assert point.estimated == (report.set_count > 1)
            assert point.length == row.run_seconds
    whole = total_of(tuple(by_key.values()))
    assert whole is not None
    assert whole.length == pytest.approx(sum(row.run_seconds for row in report.rows))


def test_a_given_width_moves_threads_as_it_moves_cores() -> None:
    _truth, report = threads("sapphire-2s+tonto")
    eight, sixteen = (task_points(report, Sizing(WidthModel.GIVEN, size), 2.0).points for size in (8.0, 16.0))
    for one, two in zip(eight, sixteen, strict=True):
        if one.has_place:
            assert one.intensity == pytest.approx(2 * (two.intensity or 0.0))


@pytest.mark.parametrize(("name", "placed", "words"), [
    ("laptop-old+calculix", True, "threads: 3 multiplexed sets of events, joined by instructions (~)"),
    ("laptop", False, "several kinds of core"), ("guest", False, "no core PMU"),
    ("sapphire-2s+tonto", True, "threads: 2 multiplexed sets of events"),
    ("grace-2s+tonto", True, "threads: 2 multiplexed sets of events"),
])
def test_what_threads_lack_is_reported(name: str, placed: bool, words: str) -> None:
    _truth, report = threads(name)
    points = task_points(report, Sizing(), 2.0)
    assert any(point.has_place for point in points.points) == placed
    assert words in points.why
    assert bool(points.why) == bool(words)


def test_a_watch_that_is_refused_and_counters_that_are_shared_are_reported() -> None:
    refused = task_points(Report(EVERY_THREAD, error="not permitted"), Sizing(), 0.0)
    assert refused.points == ()
    assert refused.why == "threads are not watched: not permitted"
    _truth, report = threads("grace-2s+tonto")
    first = replace(report.rows[0], incomplete=True)
    shared = task_points(replace(report, rows=(first, *report.rows[1:])), Sizing(), 2.0)
    assert shared.why.startswith("1 thread with shared counters: counts too low; ")


def _watches(screen: RooflineScreen) -> bool:
    return screen._threads.watches


async def _threads_shown(pilot: Pilot[int], screen: RooflineScreen, report: Report) -> None:
    """The screen with a report of this test's own: the watch that it began is ended, and one that is silent put in."""
    while not screen.view.tasks:
        await pilot.press("t")
        await pilot.pause()
    begun = screen._threads._watcher
    assert begun is not None
    screen._threads.end()
    assert not begun.running
    silent = TaskWatcher(screen.watch_state.session.machine, (EVERY_THREAD,), lambda _snapshot: None)
    screen._threads._watcher = silent
    screen.on_threads_ready(ThreadsReady(report, silent))
    await pilot.pause()


async def test_the_screen_places_threads_and_closes_their_counters_when_it_is_left() -> None:
    _truth, report = threads("sapphire-2s+tonto")
    async with roofline(ReplayedSession("sapphire-2s+tonto", 8)) as (app, pilot, screen):
        await _threads_shown(pilot, screen, report)
        point = screen.view.under_cursor
        assert point is not None
        assert point.task
        assert f"{point.name}: AI" in screen.readout()
        assert "of the" in screen.readout()
        side = app.screen_stack[0].query_one("#side", SegmentLines).text
        assert "a second of a thread's own run" in " ".join(side.split())
        before = screen.view.cursor
        await pilot.press("n")
        assert screen.view.cursor != before
        assert isinstance(screen.view.cursor, str)
        assert point.name in {roofline_point.name for roofline_point in screen.view.past}
        choice = screen.view.choice
        assert choice.roofs is not None
        assert len(choice.roofs.cpus) == 1  # a thread is on one core at a time
        await pilot.press("1")
        await pilot.pause()
        assert not _watches(screen)
        await pilot.press("6")
        await pilot.pause()
        assert _watches(screen)
        await pilot.press("t")
        await pilot.pause()
        assert not _watches(screen)


async def test_a_report_of_a_watch_that_has_ended_is_not_shown() -> None:
    _truth, report = threads("sapphire-2s+tonto")
    async with roofline(ReplayedSession("sapphire-2s+tonto", 6)) as (_app, pilot, screen):
        await _threads_shown(pilot, screen, replace(report, rows=()))
        ended = TaskWatcher(screen.watch_state.session.machine, (EVERY_THREAD,), lambda _snapshot: None)
        screen.on_threads_ready(ThreadsReady(report, ended))
        assert screen.view.points == ()


async def test_why_threads_have_no_place_is_whole_on_a_narrow_screen() -> None:
    _truth, report = threads("laptop")
    async with roofline(ReplayedSession("laptop", 6), size=(80, 24)) as (app, pilot, screen):
        await _threads_shown(pilot, screen, report)
        below = " ".join(app.screen_stack[0].query_one("#below", SegmentLines).text.split())
        assert "one set cannot hold a thread that moves between them" in below


def _saved(folder: Path) -> list[dict[str, str]]:
    table, = folder.glob("*.csv")
    with table.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


async def test_the_data_file_holds_threads_that_have_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _truth, report = threads("turin-2s+calculix")
    gone, stays = (row for row in report.rows[:2])
    later = replace(report, rows=tuple(row for row in report.rows if row.key != gone.key))
    session = ReplayedSession("turin-2s+calculix", 6)
    async with roofline(session) as (_app, pilot, screen):
        await _threads_shown(pilot, screen, report)
        watcher = screen._threads._watcher
        assert watcher is not None
        session.tick()
        await pilot.pause()
        screen.on_threads_ready(ThreadsReady(later, watcher))
        assert gone.key not in {point.task for point in screen.view.points}
        await pilot.press("X")
        await pilot.pause()
    rows = _saved(tmp_path)
    of_gone = [row for row in rows if row["name"] == f"{gone.name} {gone.tid}"]
    assert len(of_gone) == 1
    assert float(of_gone[0]["length"]) == pytest.approx(gone.run_seconds)
    assert of_gone[0]["rates per"] == "second of the thread's run time"
    assert len([row for row in rows if row["name"] == f"{stays.name} {stays.tid}"]) == 2


async def test_of_too_many_threads_the_longest_gone_are_forgotten_and_counted(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _truth, report = threads("laptop-old+calculix")
    row = report.rows[0]
    session = ReplayedSession("laptop-old+calculix", 8)
    async with roofline(session) as (app, pilot, screen):
        await _threads_shown(pilot, screen, report)
        for wave in range(3):
            session.tick()
            await pilot.pause()
            rows = tuple(replace(row, pid=5, tid=1_000 * (wave + 10) + number) for number in range(900))
            screen.view.take_tasks(replace(report, rows=rows))
        kept = {point.task for point in screen.view.past}
        assert len(kept) > MOST - 20  # beside the threads there are the CPUs' rows
        assert {task_row.key for task_row in rows} <= kept
        assert screen.view.forgotten == 2_700 + len(report.rows) - len(kept)
        await pilot.press("X")
        await pilot.pause()
        status = app.screen_stack[0].query_one("#status", SegmentLines).text
    assert f"Saved without {screen.view.forgotten} threads of long ago: " in status


async def test_the_trails_of_many_rows_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """The trails of all rows are bounded together: 600 intervals of 337 rows would be 60 MB."""
    monkeypatch.setattr("turbotui.features.roofline.screen_view.MOST_KEPT", 1_500)
    _truth, report = threads("laptop-old+calculix")
    session = ReplayedSession("laptop-old+calculix", 10)
    async with roofline(session) as (_app, pilot, screen):
        await _threads_shown(pilot, screen, report)
        rows = tuple(replace(report.rows[0], pid=5, tid=1_000 + number) for number in range(300))
        for _wave in range(7):
            session.tick()
            await pilot.pause()
            screen.view.take_tasks(replace(report, rows=rows))
        trails = Counter(point.task for point in screen.view.past)
        assert {trails[row.key] for row in rows} == {4}
        assert len(screen.view._past[SYSTEM_ROW]) > 5


def _without(report: Report, *events: str) -> Report:
    """The first two rows, and the first of them without these counts: it did not run while they were counted."""
    one, two = report.rows[:2]
    counts = {name: count for name, count in one.counts.items() if name not in events}
    return replace(report, rows=(replace(one, counts=counts), two))


@pytest.mark.parametrize(("events", "points"), [(("loads",), 2), (("ops 512",), 2), (("packed double",), 1)])
def test_a_thread_that_missed_a_time_slice_is_counted_apart(events: tuple[str, ...], points: int) -> None:
    _truth, report = threads("turin-2s+calculix")
    assert set(events) <= set(report.names)
    whole = task_points(report, Sizing(), 2.0)
    result = task_points(_without(report, *events), Sizing(), 2.0)
    assert whole.few == 0
    assert "time slice" not in whole.why
    assert not any(point.not_scheduled for point in whole.points)
    assert result.few == 1
    assert "1 thread did not run in each set's time slice" in result.why
    assert [point.not_scheduled for point in result.points] == [True, False][-points:]
    assert [point.has_place for point in result.points] == [False, True][-points:]
    if points == 2:
        sentence = verdict_text(result.points[0], LevelRoofs(None, ""))
        assert "each set's time slice" in sentence
        assert "not counted" not in sentence
        assert "no floating-point work" not in sentence


def test_a_thread_whose_widths_are_not_all_known_has_none_and_a_place_by_a_given_one() -> None:
    _truth, report = threads("turin-2s+calculix")
    points = task_points(_without(report, "ops 512"), Sizing(WidthModel.GIVEN, 8.0), 2.0)
    assert [point.has_place for point in points.points] == [True, True]
    assert [bool(point.dominant) for point in points.points] == [False, True]
    assert points.few == 0


async def test_threads_that_missed_a_time_slice_are_not_called_idle() -> None:
    _truth, report = threads("turin-2s+calculix")
    async with roofline(ReplayedSession("turin-2s+calculix", 6), size=(200, 60)) as (app, pilot, screen):
        await _threads_shown(pilot, screen, _without(report, "loads"))
        side = " ".join(app.screen_stack[0].query_one("#side", SegmentLines).text.split())
        assert "1 thread did not run in each set's time slice" in side
        assert "without floating-point work" not in side
        screen.table.select(report.rows[0].key)
        await pilot.pause()
        assert "each set's time slice" in screen.readout()


@pytest.mark.parametrize(("size", "name"), [((80, 24), "below"), ((120, 36), "side"), ((200, 60), "side")])
async def test_that_sets_are_multiplexed_and_points_lie_outside_is_seen_at_any_size(size: tuple[int, int],
                                                                                    name: str) -> None:
    _truth, report = threads("turin-2s+calculix")
    async with roofline(ReplayedSession("turin-2s+calculix", 6), size=size) as (app, pilot, screen):
        await _threads_shown(pilot, screen, report)
        await pilot.press("right_square_bracket", *"LLLLLLLLLLLL")
        await pilot.pause()
        assert screen.roof_plot.outside
        panel = app.screen_stack[0].query_one(f"#{name}", SegmentLines)
        lines = panel.text.splitlines()
        assert len(lines) <= panel.size.height
        assert all(len(line) <= panel.size.width for line in lines)
        seen = " ".join(panel.text.split())
        sets = report.set_count
        assert f"~ {sets} sets multiplexed" in seen or f"{sets} multiplexed sets of events" in seen
        assert f"{screen.roof_plot.outside} outside the axes: A" in seen
        assert "theory at the highest clock" in seen


def test_a_verdict_without_a_width_says_what_it_was_compared_with() -> None:
    machine = known_machine(simulated_host("turin-2s+calculix", ManualClock(0), seed=7))
    roofs = roofs_for(machine, cpu_row(0), {}, theory=True)
    _truth, report = threads("turin-2s+calculix")
    points = task_points(_without(report, "ops 512"), Sizing(WidthModel.GIVEN, 8.0), 2.0)
    unknown, known = (verdict_text(point, roofs) for point in points.points)
    assert unknown.endswith("; width not counted: compared with the highest roof")
    assert "compared with" not in known


async def test_a_threads_point_is_explained_by_its_counts() -> None:
    _truth, report = threads("turin-2s+calculix")
    row = report.rows[0]
    point = task_points(report, Sizing(), 2.0).points[0]
    async with roofline(ReplayedSession("turin-2s+calculix", 6)) as (app, pilot, screen):
        await _threads_shown(pilot, screen, report)
        screen.table.select(row.key)
        await pilot.press("e")
        await pilot.pause()
        window = app.screen
        assert isinstance(window, TextWindow)
        title, lines = window.tell(90)
        text = " ".join(" ".join(lines).split())
        assert title == f"GFLOP/s · {point.name} · {point.gflops:.3f} GFLOP/s"
        assert f"loads: ~{row.counts['loads']:,}" in text
        assert f"instructions: {row.counts['instructions']:,}" in text
        assert f"ran: {row.run_seconds:.3f} s of {report.seconds:.3f} s" in text
        assert f"FLOPs: ~{point.gflops * point.length * 1e9:,.0f}" in text
        assert "by: mean width of the floating-point instructions" in text
        assert f"{report.set_count} multiplexed sets are joined" in text
        shown = next(roofline_point for roofline_point in screen.view.points if roofline_point.identity == row.key)
        assert verdict_text(shown, screen.view.roofs(shown.row)) in text
        assert shown.working is not None
        watcher = screen._threads._watcher
        assert watcher is not None
        screen.on_threads_ready(ThreadsReady(replace(report, rows=report.rows[1:]), watcher))
        assert "the row is not there in this interval" in " ".join(window.tell(90)[1])
