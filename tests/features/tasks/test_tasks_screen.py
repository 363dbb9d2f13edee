"""The tasks screen of a simulated machine with known tasks, and of machines that refuse."""

from __future__ import annotations

import asyncio
import re
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from dashboard_driver import text_of
from drawn_tasks import DrawnTasksScreen
from knownmachines import known_machine
from patience import PATIENCE
from scripted_machine import FakeSession
from textual.pilot import Pilot
from textual.widgets import Input, Static
from timelines import FramesTimeline

from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.graph import Explain, Graph
from turbotui.app.past import TimeCursor
from turbotui.features.tasks.applications import Application
from turbotui.features.tasks.columns import TASK_COLUMNS, TaskColumn
from turbotui.features.tasks.live import SnapshotRequest, TaskSnapshot
from turbotui.features.tasks.recorded_tasks import RECORDED_BY, TaskRecord
from turbotui.features.tasks.report import Report
from turbotui.features.tasks.screen import TasksScreen
from turbotui.features.tasks.screen_rows import PastTasks
from turbotui.features.tasks.screen_text import TasksView, head_line
from turbotui.features.tasks.tables import Grouping, TaskRow
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import Machine, read_machine
from turbotui.machine.tasks.sets import Mode, SamplingMoment, TaskSampling
from turbotui.recording.rows import IntervalRows
from turbotui.sampling.energy import Energy
from turbotui.sampling.frame import Frame
from turbotui.sampling.kept_intervals import KeptIntervals
from turbotui.simulated import simulated_host
from turbotui.simulated.clock import ManualClock
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.comparison import difference
from turbotui.widgets.segment_lines import SegmentLines
from turbotui.widgets.table_widget import TableWidget


class Tasks:
    """A dashboard on the tasks screen."""

    def __init__(self, app: TurbotuiApp, pilot: Pilot[int], session: FakeSession) -> None:
        self.app, self.pilot, self.session = app, pilot, session

    @property
    def screen(self) -> DrawnTasksScreen:
        screen = self.app.screen_stack[0]
        assert isinstance(screen, DrawnTasksScreen)
        return screen

    @property
    def rows(self) -> list[str]:
        return self.screen.lines()

    @property
    def titles(self) -> str:
        return self.screen.table.render_line(0).text

    async def next(self, seconds: float = 1.0) -> None:
        """The next interval, drawn."""
        clock = getattr(self.session.machine.host, "_clock", None)
        if isinstance(clock, ManualClock):
            clock.advance(seconds)
        await self.pilot.pause()
        self.screen.drawn.clear()
        self.session.tick()
        await asyncio.wait_for(self.screen.drawn.wait(), PATIENCE)
        await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.pilot.press(key)
            await self.pilot.pause()


@asynccontextmanager
async def tasks(machine: Machine, size: tuple[int, int] = (120, 36)) -> AsyncIterator[Tasks]:
    session = FakeSession(machine.topology)
    session.machine = machine
    app = TurbotuiApp(session, screen="tasks")
    await app.remove_mode("tasks")
    app.add_mode("tasks", lambda: DrawnTasksScreen(app.watched))
    async with app.run_test(size=size) as pilot:
        while session._on_frame is None:  # the session starts after the first picture
            await pilot.pause()
        session.tick()
        await pilot.pause()
        result = Tasks(app, pilot, session)
        await asyncio.wait_for(result.screen.drawn.wait(), PATIENCE)
        yield result


def watching(screen: TasksScreen) -> bool:
    return screen.watcher is not None


def share(row: str) -> float:
    """CPU% of a line: its first number with a decimal."""
    match = re.search(r"\d+\.\d\b", row)
    assert match is not None
    return float(match[0])


def _column(name: str) -> TaskColumn:
    return next(column for column in TASK_COLUMNS if column.id == name)


def laptop() -> Machine:
    return known_machine(simulated_host("laptop-old", ManualClock()))


async def test_the_busiest_thread_is_on_top_with_what_it_does() -> None:
    async with tasks(laptop()) as result:
        await result.next()
        await result.next()
        assert "watching everything · no sample lost" in text_of(result.app, "heads")
        first, second = result.rows[:2]
        assert share(first) > share(second)
        assert "sampled when a thread leaves its CPU" in text_of(result.app, "notes")
        assert "Miss/s" not in result.titles


class KeptRows:
    """A replacement for the recorder of Ctrl+R that keeps its rows."""

    flag = "REC"
    failure = ""

    def __init__(self) -> None:
        self.records: list[IntervalRows] = []

    def take(self, frame: Frame) -> None:
        """Ignore frames."""

    def rows(self, rows: IntervalRows) -> None:
        self.records.append(rows)

    def stop(self) -> str:
        return "stopped"


async def test_what_is_watched_is_recorded_for_each_interval_while_a_recording_is_made() -> None:
    async with tasks(laptop()) as result:
        await result.next()
        recorder = KeptRows()
        result.app.watched.recorder = recorder  # type: ignore[assignment] # as far as the screen goes
        await result.press("t")
        clocks = []
        for _ in range(3):
            await result.next()
            clocks.append(result.screen._clocks)
        result.app.watched.recorder = None
        await result.next()
        assert [(record.wall_ns, record.started_ns) for record in recorder.records] == clocks
        for rows in recorder.records:
            assert isinstance(rows, TaskRecord)
            assert {by: {row.tid is None for row in rows.reports[by][0].rows} for by in RECORDED_BY} == {
                Grouping.THREAD: {False}, Grouping.PROCESS: {True}, Grouping.COMMAND: {True}}


async def test_a_row_is_explained_with_all_reasons_however_small_the_screen() -> None:
    hybrid = known_machine(simulated_host("laptop", ManualClock()))
    async with tasks(hybrid, (80, 24)) as result:
        await result.next()
        assert "not here: " in text_of(result.app, "notes")
        assert "e: why, what to do" in text_of(result.app, "notes")
        await result.press("e")
        window = result.app.screen
        assert isinstance(window, Explain)

        def said() -> str:
            parts = (window.query_one(name, Static).content for name in ("#text", "#readings"))
            return " ".join(" ".join(map(str, parts)).split())

        before = said()
        assert before.startswith("CPU time in the interval")
        assert "100 is one CPU" in before
        assert before.count("100 is one CPU") == 1, "other numbers of the row have the first clause of their help"
        assert "/s number of times that it left its CPU" in before
        assert "in one group of perf_event_open(2): context-switches, the time that the group was on a CPU" in before
        assert "GB/s: " in before
        assert "several kinds of core, which count FLOPs by different events" in before
        assert "each CPU is counted" in before
        await result.next(2.0)
        assert "counted for 2.00 s" in said()
        await result.press("e")
        assert result.app.screen is result.screen


async def test_rows_become_processes_a_tree_commands_and_units() -> None:
    async with tasks(laptop()) as result:
        await result.next()
        threads = len(result.rows)
        await result.press("t")
        await result.next()
        assert 0 < len(result.rows) < threads
        assert "processes ran" in text_of(result.app, "heads")
        assert " TID" not in result.titles
        await result.press("t")
        await result.next()
        assert any("▾ systemd" in row for row in result.rows)
        await result.press("home")
        assert "on 0 CPUs" in text_of(result.app, "status")  # it did not run itself
        await result.press("asterisk")
        assert len(result.rows) == 1
        assert "▸ systemd Σ" in result.rows[0]
        assert share(result.rows[0]) > 0
        await result.press("right")
        assert len(result.rows) > 1
        await result.press("left", "asterisk")
        assert any("▾ make" in row for row in result.rows)
        rows = len(result.rows)
        await result.press("right", "right", "left")
        assert len(result.rows) == rows  # with a column chosen, ← goes to the column before, and folds nothing
        await result.press("t")
        await result.next()
        assert " PID" not in result.titles
        assert any("background" in row for row in result.rows)
        await result.press("t")
        await result.next()
        assert "Unit" in result.titles
        assert any("session-3.scope" in row for row in result.rows)


async def test_before_the_first_samples_there_are_the_titles_of_threads() -> None:
    async with tasks(laptop()) as result:
        await result.next()
        known = result.titles.split()[:3]
        result.screen.restart(result.screen.applications)
        assert result.titles.split()[:3] == known == ["PID", "TID", "Command"]


async def test_sort_filter_and_search() -> None:
    async with tasks(laptop()) as result:
        await result.next()
        everything = result.rows
        await result.press("backslash", *"background", "enter")
        assert 0 < len(result.rows) < len(everything)
        assert all("background" in row for row in result.rows)
        assert "filter background" in text_of(result.app, "status")
        await result.press("backslash")
        result.app.screen.query_one(Input).value = "CPU%>1000"
        await result.press("enter")
        assert result.rows == []
        assert result.screen.readout() == "No row passes the filter CPU%>1000: \\ changes it"
        await result.press("backslash")
        result.app.screen.query_one(Input).value = "nonsense>1"
        await result.pilot.pause()
        assert result.rows == []
        await result.press("escape", "backslash")
        result.app.screen.query_one(Input).value = ""
        await result.press("enter")
        assert len(result.rows) == len(everything)
        await result.press("I")
        shares = [share(row) for row in result.rows]
        assert shares == sorted(shares)
        result.screen.on_table_widget_title_clicked(TableWidget.TitleClicked(result.screen.table, _column("TID")))
        tids = [int(row.split()[1]) for row in result.rows]
        assert tids == sorted(tids)
        await result.press("slash", *str(tids[3]), "enter")
        assert f"/{tids[3]}/" in str(result.screen.table.current)


async def test_the_timeline_has_numbers_of_cpus_and_zooms() -> None:
    async with tasks(laptop()) as result:
        await result.next()
        await result.press("v")
        await result.next()
        assert "|-10 s" in result.titles
        lane = next(row for row in result.rows if "background" in row)
        cpu = int(lane.split()[0]) % 10_000
        assert set(lane.split()[-1]) == {str(cpu), "·"}
        await result.press("left_square_bracket")
        await result.next()
        assert "|-5 s" in result.titles
        await result.press("v")
        await result.next()
        assert "CPU%" in result.titles


async def test_numbers_beside_the_timeline_are_of_the_interval() -> None:
    async with tasks(laptop()) as result:
        for _ in range(4):
            await result.next()
        await result.press("v")
        await result.next()
        assert "|-10 s" in result.titles
        content = result.screen.table.content
        assert content is not None
        busy = next(column for column in TASK_COLUMNS if column.id == "CPU%")
        shares = [content.value(busy, line.row) for line in result.screen.table.lines]
        known = [share for share in shares if isinstance(share, float)]
        assert known
        assert max(known) < 101  # of one CPU; since the beginning it would be five times as much
        await result.press("home")
        assert "· ran 1.0" in result.screen.readout() or "· ran 0." in result.screen.readout()


async def test_what_to_watch_is_chosen_by_a_prompt() -> None:
    async with tasks(laptop()) as result:
        await result.press("w")
        result.app.screen.query_one(Input).value = "dense:pid=10000:events=instructions idle:pid=40000:events=cycles"
        await result.pilot.pause()
        result.screen.drawn.clear()
        await result.press("enter")
        await asyncio.wait_for(result.screen.drawn.wait(), PATIENCE)
        await result.next()
        await result.next()
        assert {row.split()[0] for row in result.rows} <= {"dense", "idle"}
        assert any(row.split()[0] == "idle" for row in result.rows)
        assert "dense:pid=10000:events=instructions" in text_of(result.app, "heads")
        await result.press("w")
        result.app.screen.query_one(Input).value = "7"
        result.screen.drawn.clear()
        await result.press("enter")
        await asyncio.wait_for(result.screen.drawn.wait(), PATIENCE)
        await result.pilot.pause()
        assert "has no process 7" in text_of(result.app, "notes")
        assert "cannot watch process 7" in text_of(result.app, "heads")
        assert result.rows == []


async def test_a_wrong_word_is_said_while_it_is_typed_and_changes_nothing() -> None:
    async with tasks(laptop()) as result:
        before = result.screen.applications
        await result.press("w")
        result.app.screen.query_one(Input).value = "web"
        await result.press("enter")
        assert result.screen.applications == before
        assert "say one of pid=" in text_of(result.app, "status")


async def test_what_is_typed_after_w_takes_the_place_of_what_is_watched() -> None:
    async with tasks(laptop()) as result:
        await result.press("w", *"/x")
        assert result.app.screen.query_one(Input).value == "/x"
        await result.press("escape", "w", "end", *"/x")
        assert result.app.screen.query_one(Input).value == "all/x"


async def test_leaving_the_screen_closes_the_watch_and_coming_back_opens_one() -> None:
    async with tasks(laptop()) as result:
        screen, watcher = result.screen, result.screen.watcher
        assert watcher is not None
        await result.press("question_mark")  # a window over the screen changes nothing
        assert screen.watcher is watcher
        await result.press("escape", "1")
        assert not watcher.running
        screen.drawn.clear()
        await result.press("7")
        await asyncio.wait_for(screen.drawn.wait(), PATIENCE)
        again = screen.watcher
        assert again is not None
        assert again is not watcher
        await result.press("s")
        assert not again.running
        assert "stopped" in text_of(result.app, "heads")
        await result.press("1", "7")
        assert not watching(screen)  # who stopped it starts it
        await result.press("s")
        last = screen.watcher
        assert last is not None
        assert last.running
    assert not last.running


async def test_nothing_is_opened_before_the_screen_is_shown() -> None:
    machine = laptop()
    session = FakeSession(machine.topology)
    session.machine = machine
    app = TurbotuiApp(session)
    async with app.run_test() as pilot:
        while session._on_frame is None:
            await pilot.pause()
        session.tick(2)
        await pilot.pause()
        assert not any(isinstance(screen, TasksScreen) for screen in app.screen_stack)


def test_lost_samples_are_on_top_of_the_screen() -> None:
    choice = TaskSampling(Mode.CPUS, SamplingMoment.SWITCHES, 11, ())
    everything = Application("all", everything=True)
    snapshot = TaskSnapshot(
        SnapshotRequest(), (Report(everything, choice, seconds=1.0, lost=1234, names=choice.names),)
    )
    segments = head_line((everything,), snapshot, TasksView(), watching=True)
    assert (" · 1,234 samples LOST", StyleRole.RED) in segments
    text = "".join(text for text, _ in head_line((everything,), replace(snapshot, lanes=(None,)),  # type: ignore[arg-type]
                                                 TasksView(timeline=True), watching=True))
    assert text.endswith(" · 1 thread that ran")


async def test_a_pause_holds_the_picture() -> None:
    async with tasks(laptop()) as result:
        await result.next()
        before = result.rows
        await result.press("p")
        result.session.tick(3)
        await result.pilot.pause()
        assert result.rows == before
        assert "PAUSED" in text_of(result.app, "status")


async def test_without_rights_the_remedy_is_on_the_screen() -> None:
    host = simulated_host("laptop-old", ManualClock())
    host.set_privileges(uid=1000, capabilities=0)
    async with tasks(read_machine(host)) as result:
        await result.pilot.pause()
        assert "may not be sampled by this user" in text_of(result.app, "notes")
        assert "CAP_PERFMON" in text_of(result.app, "notes")


async def test_a_recorded_machine_says_that_its_tasks_are_elsewhere(tmp_path: Path) -> None:
    own = read_machine(LinuxHost())
    recorded = Machine(LinuxHost(str(tmp_path)), own.topology, own.model, own.platform, own.privileges)
    async with tasks(recorded) as result:
        await result.pilot.pause()
        assert "is a recorded machine" in text_of(result.app, "notes")


@pytest.mark.parametrize("size", [(80, 24), (200, 60), (40, 10)])
async def test_columns_fit_the_screen(size: tuple[int, int]) -> None:
    async with tasks(laptop(), size) as result:
        await result.next()
        assert all(len(row) <= size[0] for row in result.rows)
        assert "CPU%" in result.titles


async def test_the_table_has_the_keys_of_every_table() -> None:
    async with tasks(laptop(), (200, 60)) as result:
        await result.next()
        table = result.screen.table
        top = table.lines[0].row
        await result.press("x")
        assert list(table.view.pinned) == [top]
        await result.press("V")
        assert not list(table.view.pinned)
        await result.press("home", "right", "g")
        window = result.app.screen
        assert isinstance(window, Graph)
        await result.next()
        assert "over 2 intervals" in window.query_one(SegmentLines).text or "over 3 intervals" in window.query_one(
            SegmentLines).text
        await result.press("escape", "b")
        await result.next()
        assert "DIFFERENCES FROM" in result.screen.query_one("#compared", SegmentLines).text
        run = next(column for column in TASK_COLUMNS if column.id == "Run_s")
        mark, content = table.view.mark, table.content
        assert mark is not None
        assert content is not None
        assert f"{difference(run, content.value(run, top), mark.value(run, top)):+.3f}" in next(
            row for row in result.rows if f" {str(top).split('/')[2]} " in row)
        await result.press("b")
        assert table.view.mark is None


async def test_columns_are_chosen_and_rows_copied() -> None:
    async with tasks(laptop(), (240, 60)) as result:
        await result.next()
        assert " IPC" in result.titles
        await result.press("C", *"ipc", "space", "escape")
        assert " IPC" not in result.titles
        await result.press("C", *"migrations", "space", "escape")
        assert " Migrations" in result.titles
        await result.press("home", "Y")
        titles, row = result.app.clipboard.splitlines()
        assert "Migrations" in titles.split(",")
        assert "IPC" not in titles.split(",")
        assert str(result.screen.table.lines[0].row).split("/")[2] in row.split(",")


async def test_the_past_shows_the_tasks_of_its_moment_and_sampling_continues() -> None:
    async with tasks(laptop()) as result:
        frames: list[Frame] = []
        cursor = result.app.watched.cursor = TimeCursor(FramesTimeline(frames))
        shown: list[list[str]] = []
        for _ in range(4):
            await result.next()
            assert result.session.latest is not None
            frames.append(result.session.latest)
            shown.append(sorted(result.rows))  # equal rows keep the places that they have
        assert shown[1] != shown[2] != shown[3]
        await result.press("comma")
        assert cursor.at == frames[2].newer.wall_ns
        assert sorted(result.rows) == shown[2]
        await result.press("comma")
        assert sorted(result.rows) == shown[1]
        await result.press("t")
        assert "The past is kept as it was shown" in text_of(result.app, "status")
        await result.next()
        assert sorted(result.rows) == shown[1], "the picture is held"
        await result.press("backspace")
        assert sorted(result.rows) not in shown, "tasks were watched meanwhile"


async def test_a_moment_at_which_no_tasks_were_watched_says_so() -> None:
    async with tasks(laptop()) as result:
        await result.next()
        assert result.session.latest is not None
        frames = [result.session.latest]
        await result.press("1")
        for _ in range(2):
            result.session.tick()
            await result.pilot.pause()
            assert result.session.latest is not None
            frames.append(result.session.latest)
        result.app.watched.cursor = TimeCursor(FramesTimeline(frames))
        await result.press("7", "comma")
        assert result.rows == []
        assert "No tasks of this moment" in text_of(result.app, "status")


def snapshot_of(rows: int) -> TaskSnapshot:
    made = tuple(TaskRow(pid, pid, f"task {pid}", 1, (0, 1), 1, {"run": pid * 1000 + 1, "switches": pid}, 0,
                         {1: pid * 1000 + 1}, pid, incomplete=False, serials=frozenset({pid})) for pid in range(rows))
    return TaskSnapshot(SnapshotRequest(), (Report(Application("all", everything=True), rows=made),))


def test_the_past_of_tasks_is_bounded_and_grows_coarser_with_age() -> None:
    past: KeptIntervals[PastTasks] = KeptIntervals()
    newest: PastTasks | None = None
    tracemalloc.start()
    for second in range(1000):
        newest = PastTasks(snapshot_of(99), Energy({}, {}), second)
        past.keep(second, 99, newest)
    used, _peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used < 4 << 20, "as objects they are 20 MB"
    kept = {second: past_tasks for second in range(1000) if (past_tasks := past.at(second - 1, second)) is not None}
    assert all(result.seq == second for second, result in kept.items())
    assert len(kept) * 100 == 20_000
    times = list(kept)
    assert kept[times[0]].snapshot == snapshot_of(99)
    assert times[-30:] == list(range(970, 1000)), "the newest are all there"
    assert times[0] < 700
    steps = [after - before for before, after in pairwise(times)]
    assert steps[0] >= steps[-1] == 1
    assert past.at(998, 999) is newest
    assert past.at(times[0], times[0] + 1) is None
    assert past.first_ns == times[0]
