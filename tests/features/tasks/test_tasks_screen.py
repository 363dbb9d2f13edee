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
        found = self.app.screen_stack[0]
        assert isinstance(found, DrawnTasksScreen)
        return found

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
        found = Tasks(app, pilot, session)
        await asyncio.wait_for(found.screen.drawn.wait(), PATIENCE)
        yield found


def watching(screen: TasksScreen) -> bool:
    return screen.watcher is not None


def share(row: str) -> float:
    """CPU% of a line: its first number with a decimal."""
    found = re.search(r"\d+\.\d\b", row)
    assert found is not None
    return float(found[0])


def _column(name: str) -> TaskColumn:
    return next(one for one in TASK_COLUMNS if one.id == name)


def laptop() -> Machine:
    return known_machine(simulated_host("laptop-old", ManualClock()))


async def test_the_busiest_thread_is_on_top_with_what_it_does() -> None:
    async with tasks(laptop()) as found:
        await found.next()
        await found.next()
        assert "watching everything · no sample lost" in text_of(found.app, "heads")
        first, second = found.rows[:2]
        assert share(first) > share(second)
        assert "sampled when a thread leaves its CPU" in text_of(found.app, "notes")
        assert "Miss/s" not in found.titles


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
    async with tasks(laptop()) as found:
        await found.next()
        recorder = KeptRows()
        found.app.watched.recorder = recorder  # type: ignore[assignment] # as far as the screen goes
        await found.press("t")
        clocks = []
        for _ in range(3):
            await found.next()
            clocks.append(found.screen._clocks)
        found.app.watched.recorder = None
        await found.next()
        assert [(one.wall_ns, one.started_ns) for one in recorder.records] == clocks
        for one in recorder.records:
            assert isinstance(one, TaskRecord)
            assert {by: {row.tid is None for row in one.reports[by][0].rows} for by in RECORDED_BY} == {
                Grouping.THREAD: {False}, Grouping.PROCESS: {True}, Grouping.COMMAND: {True}}


async def test_a_row_is_explained_with_all_reasons_however_small_the_screen() -> None:
    hybrid = known_machine(simulated_host("laptop", ManualClock()))
    async with tasks(hybrid, (80, 24)) as found:
        await found.next()
        assert "not here: " in text_of(found.app, "notes")
        assert "e: why, what to do" in text_of(found.app, "notes")
        await found.press("e")
        window = found.app.screen
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
        await found.next(2.0)
        assert "counted for 2.00 s" in said()
        await found.press("e")
        assert found.app.screen is found.screen


async def test_rows_become_processes_a_tree_commands_and_units() -> None:
    async with tasks(laptop()) as found:
        await found.next()
        threads = len(found.rows)
        await found.press("t")
        await found.next()
        assert 0 < len(found.rows) < threads
        assert "processes ran" in text_of(found.app, "heads")
        assert " TID" not in found.titles
        await found.press("t")
        await found.next()
        assert any("▾ systemd" in row for row in found.rows)
        await found.press("home")
        assert "on 0 CPUs" in text_of(found.app, "status")  # it did not run itself
        await found.press("asterisk")
        assert len(found.rows) == 1
        assert "▸ systemd Σ" in found.rows[0]
        assert share(found.rows[0]) > 0
        await found.press("right")
        assert len(found.rows) > 1
        await found.press("left", "asterisk")
        assert any("▾ make" in row for row in found.rows)
        rows = len(found.rows)
        await found.press("right", "right", "left")
        assert len(found.rows) == rows  # with a column chosen, ← goes to the column before, and folds nothing
        await found.press("t")
        await found.next()
        assert " PID" not in found.titles
        assert any("background" in row for row in found.rows)
        await found.press("t")
        await found.next()
        assert "Unit" in found.titles
        assert any("session-3.scope" in row for row in found.rows)


async def test_before_the_first_samples_there_are_the_titles_of_threads() -> None:
    async with tasks(laptop()) as found:
        await found.next()
        known = found.titles.split()[:3]
        found.screen.restart(found.screen.applications)
        assert found.titles.split()[:3] == known == ["PID", "TID", "Command"]


async def test_sort_filter_and_search() -> None:
    async with tasks(laptop()) as found:
        await found.next()
        everything = found.rows
        await found.press("backslash", *"background", "enter")
        assert 0 < len(found.rows) < len(everything)
        assert all("background" in row for row in found.rows)
        assert "filter background" in text_of(found.app, "status")
        await found.press("backslash")
        found.app.screen.query_one(Input).value = "CPU%>1000"
        await found.press("enter")
        assert found.rows == []
        assert found.screen.readout() == "No row passes the filter CPU%>1000: \\ changes it"
        await found.press("backslash")
        found.app.screen.query_one(Input).value = "nonsense>1"
        await found.pilot.pause()
        assert found.rows == []
        await found.press("escape", "backslash")
        found.app.screen.query_one(Input).value = ""
        await found.press("enter")
        assert len(found.rows) == len(everything)
        await found.press("I")
        shares = [share(row) for row in found.rows]
        assert shares == sorted(shares)
        found.screen.on_table_widget_title_clicked(TableWidget.TitleClicked(found.screen.table, _column("TID")))
        tids = [int(row.split()[1]) for row in found.rows]
        assert tids == sorted(tids)
        await found.press("slash", *str(tids[3]), "enter")
        assert f"/{tids[3]}/" in str(found.screen.table.current)


async def test_the_timeline_has_numbers_of_cpus_and_zooms() -> None:
    async with tasks(laptop()) as found:
        await found.next()
        await found.press("v")
        await found.next()
        assert "|-10 s" in found.titles
        lane = next(row for row in found.rows if "background" in row)
        cpu = int(lane.split()[0]) % 10_000
        assert set(lane.split()[-1]) == {str(cpu), "·"}
        await found.press("left_square_bracket")
        await found.next()
        assert "|-5 s" in found.titles
        await found.press("v")
        await found.next()
        assert "CPU%" in found.titles


async def test_numbers_beside_the_timeline_are_of_the_interval() -> None:
    async with tasks(laptop()) as found:
        for _ in range(4):
            await found.next()
        await found.press("v")
        await found.next()
        assert "|-10 s" in found.titles
        content = found.screen.table.content
        assert content is not None
        busy = next(column for column in TASK_COLUMNS if column.id == "CPU%")
        shares = [content.value(busy, line.row) for line in found.screen.table.lines]
        known = [share for share in shares if isinstance(share, float)]
        assert known
        assert max(known) < 101  # of one CPU; since the beginning it would be five times as much
        await found.press("home")
        assert "· ran 1.0" in found.screen.readout() or "· ran 0." in found.screen.readout()


async def test_what_to_watch_is_chosen_by_a_prompt() -> None:
    async with tasks(laptop()) as found:
        await found.press("w")
        found.app.screen.query_one(Input).value = "dense:pid=10000:events=instructions idle:pid=40000:events=cycles"
        await found.pilot.pause()
        found.screen.drawn.clear()
        await found.press("enter")
        await asyncio.wait_for(found.screen.drawn.wait(), PATIENCE)
        await found.next()
        await found.next()
        assert {row.split()[0] for row in found.rows} <= {"dense", "idle"}
        assert any(row.split()[0] == "idle" for row in found.rows)
        assert "dense:pid=10000:events=instructions" in text_of(found.app, "heads")
        await found.press("w")
        found.app.screen.query_one(Input).value = "7"
        found.screen.drawn.clear()
        await found.press("enter")
        await asyncio.wait_for(found.screen.drawn.wait(), PATIENCE)
        await found.pilot.pause()
        assert "has no process 7" in text_of(found.app, "notes")
        assert "cannot watch process 7" in text_of(found.app, "heads")
        assert found.rows == []


async def test_a_wrong_word_is_said_while_it_is_typed_and_changes_nothing() -> None:
    async with tasks(laptop()) as found:
        before = found.screen.applications
        await found.press("w")
        found.app.screen.query_one(Input).value = "web"
        await found.press("enter")
        assert found.screen.applications == before
        assert "say one of pid=" in text_of(found.app, "status")


async def test_what_is_typed_after_w_takes_the_place_of_what_is_watched() -> None:
    async with tasks(laptop()) as found:
        await found.press("w", *"/x")
        assert found.app.screen.query_one(Input).value == "/x"
        await found.press("escape", "w", "end", *"/x")
        assert found.app.screen.query_one(Input).value == "all/x"


async def test_leaving_the_screen_closes_the_watch_and_coming_back_opens_one() -> None:
    async with tasks(laptop()) as found:
        screen, watcher = found.screen, found.screen.watcher
        assert watcher is not None
        await found.press("question_mark")  # a window over the screen changes nothing
        assert screen.watcher is watcher
        await found.press("escape", "1")
        assert not watcher.running
        screen.drawn.clear()
        await found.press("7")
        await asyncio.wait_for(screen.drawn.wait(), PATIENCE)
        again = screen.watcher
        assert again is not None
        assert again is not watcher
        await found.press("s")
        assert not again.running
        assert "stopped" in text_of(found.app, "heads")
        await found.press("1", "7")
        assert not watching(screen)  # who stopped it starts it
        await found.press("s")
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
    async with tasks(laptop()) as found:
        await found.next()
        before = found.rows
        await found.press("p")
        found.session.tick(3)
        await found.pilot.pause()
        assert found.rows == before
        assert "PAUSED" in text_of(found.app, "status")


async def test_without_rights_the_remedy_is_on_the_screen() -> None:
    host = simulated_host("laptop-old", ManualClock())
    host.set_privileges(uid=1000, capabilities=0)
    async with tasks(read_machine(host)) as found:
        await found.pilot.pause()
        assert "may not be sampled by this user" in text_of(found.app, "notes")
        assert "CAP_PERFMON" in text_of(found.app, "notes")


async def test_a_recorded_machine_says_that_its_tasks_are_elsewhere(tmp_path: Path) -> None:
    own = read_machine(LinuxHost())
    recorded = Machine(LinuxHost(str(tmp_path)), own.topology, own.model, own.platform, own.privileges)
    async with tasks(recorded) as found:
        await found.pilot.pause()
        assert "is a recorded machine" in text_of(found.app, "notes")


@pytest.mark.parametrize("size", [(80, 24), (200, 60), (40, 10)])
async def test_columns_fit_the_screen(size: tuple[int, int]) -> None:
    async with tasks(laptop(), size) as found:
        await found.next()
        assert all(len(row) <= size[0] for row in found.rows)
        assert "CPU%" in found.titles


async def test_the_table_has_the_keys_of_every_table() -> None:
    async with tasks(laptop(), (200, 60)) as found:
        await found.next()
        table = found.screen.table
        top = table.lines[0].row
        await found.press("x")
        assert list(table.view.pinned) == [top]
        await found.press("V")
        assert not list(table.view.pinned)
        await found.press("home", "right", "g")
        window = found.app.screen
        assert isinstance(window, Graph)
        await found.next()
        assert "over 2 intervals" in window.query_one(SegmentLines).text or "over 3 intervals" in window.query_one(
            SegmentLines).text
        await found.press("escape", "b")
        await found.next()
        assert "DIFFERENCES FROM" in found.screen.query_one("#compared", SegmentLines).text
        run = next(column for column in TASK_COLUMNS if column.id == "Run_s")
        mark, content = table.view.mark, table.content
        assert mark is not None
        assert content is not None
        assert f"{difference(run, content.value(run, top), mark.value(run, top)):+.3f}" in next(
            row for row in found.rows if f" {str(top).split('/')[2]} " in row)
        await found.press("b")
        assert table.view.mark is None


async def test_columns_are_chosen_and_rows_copied() -> None:
    async with tasks(laptop(), (240, 60)) as found:
        await found.next()
        assert " IPC" in found.titles
        await found.press("C", *"ipc", "space", "escape")
        assert " IPC" not in found.titles
        await found.press("C", *"migrations", "space", "escape")
        assert " Migrations" in found.titles
        await found.press("home", "Y")
        titles, row = found.app.clipboard.splitlines()
        assert "Migrations" in titles.split(",")
        assert "IPC" not in titles.split(",")
        assert str(found.screen.table.lines[0].row).split("/")[2] in row.split(",")


async def test_the_past_shows_the_tasks_of_its_moment_and_sampling_continues() -> None:
    async with tasks(laptop()) as found:
        frames: list[Frame] = []
        cursor = found.app.watched.cursor = TimeCursor(FramesTimeline(frames))
        shown: list[list[str]] = []
        for _ in range(4):
            await found.next()
            assert found.session.latest is not None
            frames.append(found.session.latest)
            shown.append(sorted(found.rows))  # equal rows keep the places that they have
        assert shown[1] != shown[2] != shown[3]
        await found.press("comma")
        assert cursor.at == frames[2].newer.wall_ns
        assert sorted(found.rows) == shown[2]
        await found.press("comma")
        assert sorted(found.rows) == shown[1]
        await found.press("t")
        assert "The past is kept as it was shown" in text_of(found.app, "status")
        await found.next()
        assert sorted(found.rows) == shown[1], "the picture is held"
        await found.press("backspace")
        assert sorted(found.rows) not in shown, "tasks were watched meanwhile"


async def test_a_moment_at_which_no_tasks_were_watched_says_so() -> None:
    async with tasks(laptop()) as found:
        await found.next()
        assert found.session.latest is not None
        frames = [found.session.latest]
        await found.press("1")
        for _ in range(2):
            found.session.tick()
            await found.pilot.pause()
            assert found.session.latest is not None
            frames.append(found.session.latest)
        found.app.watched.cursor = TimeCursor(FramesTimeline(frames))
        await found.press("7", "comma")
        assert found.rows == []
        assert "No tasks of this moment" in text_of(found.app, "status")


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
    kept = {second: found for second in range(1000) if (found := past.at(second - 1, second)) is not None}
    assert all(found.seq == second for second, found in kept.items())
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
