"""What tasks used over a span: sums of intervals, their energy, and the key that shows them."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from dashboard_driver import text_of
from hypothesis import given
from hypothesis import strategies as st
from test_tasks_screen import laptop, tasks

from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.journal_past import JournalPast
from turbotui.app.past import TimeCursor
from turbotui.app.player import Player
from turbotui.app.recorded_session import RecordedSession
from turbotui.features.tasks.applications import EVERYTHING, Application
from turbotui.features.tasks.columns import TASK_COLUMNS, TaskInputs
from turbotui.features.tasks.live import SnapshotRequest, TaskSnapshot
from turbotui.features.tasks.report import Apart, Report
from turbotui.features.tasks.screen import TasksScreen
from turbotui.features.tasks.screen_rows import PastTasks, TaskContent
from turbotui.features.tasks.screen_text import note_lines
from turbotui.features.tasks.spans import joined
from turbotui.features.tasks.tables import Grouping, TaskRow
from turbotui.features.tasks.totals_table import IDLE_PART
from turbotui.features.tasks.waits import Waits
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.recording import read
from turbotui.sampling.energy import Energy

TOPOLOGY = laptop().topology
NOT_YET = Unavailable(Reason.FIRST_TICK, "not read twice")


def thread(pid: int, tid: int, ran: int, *, name: str = "worker") -> TaskRow:
    """A thread that ran on CPU 0 for some ns."""
    return TaskRow(pid, tid, name, 1, (0,), 0, {"run": ran}, 0, {0: ran}, ran, incomplete=False)


def interval(rows: tuple[TaskRow, ...], joules: float | None, *, idle: int = 0, seconds: float = 1.0,
             by: Grouping = Grouping.THREAD) -> PastTasks:
    """An interval of all tasks; `joules` of the package, None where they are not known yet."""
    report = Report(EVERYTHING[0], rows=rows, seconds=seconds, names=("run",),
                    apart={IDLE_PART: Apart({"run": idle}, {0: idle})})
    spent = Energy({}, {}, 0.0, NOT_YET) if joules is None else Energy({0: joules}, {}, seconds)
    return PastTasks(TaskSnapshot(SnapshotRequest(by), (report,)), spent, 1)


def joules_of(past_tasks: PastTasks) -> dict[str, float]:
    assert past_tasks.joules is not None
    return {key: round(used, 9) for key, used in past_tasks.joules.items()}


def test_a_task_has_no_part_in_the_energy_of_an_interval_in_which_it_did_nothing() -> None:
    busy = interval((thread(1, 1, 10**9),), 6.0)
    calm = interval((thread(2, 2, 10**9),), 100.0)
    past_tasks = joined([busy, calm], Grouping.THREAD, TOPOLOGY)
    assert past_tasks is not None
    assert joules_of(past_tasks)[thread(1, 1, 0).key] == 6.0
    assert joules_of(past_tasks)[thread(2, 2, 0).key] == 100.0
    assert past_tasks.snapshot.reports[0].seconds == 2.0


@given(st.lists(st.tuples(st.integers(1, 10**9), st.integers(0, 10**9), st.integers(0, 10**9),
                          st.floats(0.1, 100.0)), min_size=1, max_size=6))
def test_rows_and_idle_time_have_the_whole_energy_and_all_counts(parts: list[tuple[int, int, int, float]]) -> None:
    past_tasks = joined([interval((thread(1, 1, first), thread(1, 2, second)), joules, idle=idle)
                         for first, second, idle, joules in parts], Grouping.PROCESS, TOPOLOGY)
    assert past_tasks is not None
    report, = past_tasks.snapshot.reports
    row, = report.rows
    assert row.counts["run"] == sum(first + second for first, second, _, _ in parts)
    assert (row.pid, row.tid, row.threads) == (1, None, 2)
    assert report.apart[IDLE_PART].counts["run"] == sum(idle for _, _, idle, _ in parts)


@given(st.lists(st.tuples(st.integers(1, 10**9), st.integers(0, 10**9), st.floats(0.1, 100.0)), min_size=1, max_size=6))
def test_shares_of_threads_and_the_idle_task_add_up(parts: list[tuple[int, int, float]]) -> None:
    value = joined([interval((thread(1, 1, ran),), joules, idle=idle) for ran, idle, joules in parts],
                   Grouping.THREAD, TOPOLOGY)
    assert value is not None
    assert value.joules is not None
    assert math.isclose(math.fsum(value.joules.values()), math.fsum(joules for _, _, joules in parts), rel_tol=1e-9)


def test_an_interval_without_energy_is_shared_out_with_the_next_and_left_out_at_the_end() -> None:
    unknown = interval((thread(1, 1, 10**9),), None)
    known = interval((thread(1, 1, 10**9),), 3.0)
    past_tasks = joined([unknown, known, unknown], Grouping.THREAD, TOPOLOGY)
    assert past_tasks is not None
    assert past_tasks.snapshot.reports[0].seconds == 2.0
    assert past_tasks.snapshot.reports[0].rows[0].counts["run"] == 2 * 10**9
    assert joules_of(past_tasks)[thread(1, 1, 0).key] == 6.0, "the meter's power stands for the time before it was read"


def test_without_any_energy_there_is_a_sum_with_the_reason() -> None:
    value = joined([interval((thread(1, 1, 5),), None), interval((thread(1, 1, 7),), None)], Grouping.THREAD, TOPOLOGY)
    assert value is not None
    assert value.joules is None
    assert value.spent.why == NOT_YET
    assert value.snapshot.reports[0].rows[0].counts["run"] == 12


def test_a_row_that_lacks_a_share_in_one_interval_has_no_sum() -> None:
    lost = replace(interval((thread(1, 1, 10**9), thread(2, 2, 10**9)), 1.0), spent=Energy({7: 1.0}, {}, 1.0))
    past_tasks = joined([interval((thread(1, 1, 10**9),), 1.0), lost], Grouping.THREAD, TOPOLOGY)
    assert past_tasks is not None
    assert thread(1, 1, 0).key not in joules_of(past_tasks)


@pytest.mark.parametrize(("of", "by", "able"), [
    (Grouping.THREAD, Grouping.COMMAND, True), (Grouping.PROCESS, Grouping.COMMAND, False),
    (Grouping.PROCESS, Grouping.THREAD, False), (Grouping.THREAD, Grouping.UNIT, False),
    (Grouping.UNIT, Grouping.UNIT, True),
])
def test_threads_make_processes_and_commands_and_nothing_else_is_made(of: Grouping, by: Grouping, able: bool) -> None:
    rows = thread(1, 1, 1, name="cc1"), thread(2, 2, 2, name="cc1"), thread(1, 3, 4, name="ld")
    past_tasks = joined([interval(rows, 1.0, by=of)], by, TOPOLOGY)
    assert (past_tasks is not None) is able
    if of is Grouping.THREAD and past_tasks is not None:
        assert [(row.name, row.pid, row.counts["run"]) for row in past_tasks.snapshot.reports[0].rows] == [
            ("ld", 1, 4), ("cc1", None, 3)]


@pytest.mark.parametrize(("by", "earlier", "later", "row"), [
    (Grouping.COMMAND, [thread(1, 1, 10, name="cc1")], [thread(2, 2, 20, name="cc1")], (None, "cc1", 30)),
    (Grouping.COMMAND, [thread(1, 1, 10, name="cc1")],
     [thread(1, 1, 15, name="cc1"), thread(2, 2, 5, name="cc1")], (None, "cc1", 30)),
    (Grouping.PROCESS, [thread(1, 2, 10, name="worker")],
     [thread(1, 1, 1, name="main"), thread(1, 2, 19, name="worker")], (1, "main", 30)),
    (Grouping.THREAD, [thread(1, 1, 10, name="sh")], [thread(1, 1, 20, name="cc1")], (1, "cc1", 30)),
    (Grouping.THREAD, [thread(1, 1, 10), thread(1, 1, 5)], [thread(1, 1, 15)], (1, "worker", 30)),
], ids=["another process", "one more process", "the first thread slept", "another name", "a number used again"])
def test_a_task_has_one_row_and_its_own_energy(by: Grouping, earlier: list[TaskRow], later: list[TaskRow],
                                               row: tuple[int | None, str, int]) -> None:
    past_tasks = joined([interval(tuple(rows), 1.0) for rows in (earlier, later)], by, TOPOLOGY)
    assert past_tasks is not None
    [sum_row] = past_tasks.snapshot.reports[0].rows
    assert (sum_row.pid, sum_row.name, sum_row.counts["run"]) == row
    assert joules_of(past_tasks) == {sum_row.key: 2.0, IDLE_PART: 0.0}
    # threads that did nothing in an interval have no row there: nobody knows what their process did since the beginning
    assert sum_row.whole_run == (later[-1].whole_run if by is Grouping.THREAD else None)


async def test_a_thread_is_one_thread_however_many_sets_counted_it() -> None:
    async with tasks(laptop()) as result:
        for _ in range(4):
            await result.next()
        await result.press("K")
        content = result.screen.table.content
        assert isinstance(content, TaskContent)
        assert {inputs.row.threads for inputs in content.whole.rows} == {1}


def test_waits_by_schedstat_are_of_the_whole_span() -> None:
    waits = Waits(None, 5 * 10**8, 4, why_no_records=NOT_YET, delayed=0.5)
    rows = replace(thread(1, 1, 10), waits=waits), replace(thread(2, 2, 10), waits=waits)
    past_tasks = joined([interval(rows, 1.0), interval(rows[:1], 1.0)], Grouping.THREAD, TOPOLOGY)
    assert past_tasks is not None
    [report] = past_tasks.snapshot.reports
    wait = next(column for column in TASK_COLUMNS if column.id == "Wait%")
    assert {row.tid: wait.compute(TaskInputs(row, report.seconds)) for row in report.rows} == {1: 50.0, 2: 25.0}


async def test_one_key_shows_the_amounts_of_the_last_minute_and_esc_each_interval_again() -> None:
    async with tasks(laptop()) as result:
        for _ in range(3):
            await result.next()
        before = result.titles
        await result.press("K")
        assert "LAST MINUTE, " in text_of(result.app, "heads")
        assert "s of it watched" in text_of(result.app, "heads")
        assert "Time_s" in result.titles
        assert re_sorted(result.titles) in {"~J", "Time_s"}
        await result.press("escape")
        assert "LAST MINUTE" not in text_of(result.app, "heads")
        assert result.titles == before


async def test_amounts_are_in_the_order_of_energy_before_it_was_read_twice() -> None:
    async with tasks(laptop()) as result:
        assert not result.rows
        await result.press("K")
        sort = result.screen.table.view.sort
        assert sort is not None
        assert sort.id == "~J"


@pytest.mark.parametrize(("keys", "order"), [(("K",), "~J"), (("K", "<", "<"), "Time_s")])
async def test_amounts_stand_in_order_beside_names_at_80_characters(keys: tuple[str, ...], order: str) -> None:
    async with tasks(laptop(), size=(80, 24)) as result:
        for _ in range(3):
            await result.next()
        await result.press(*keys)
        assert re_sorted(result.titles) == order
        assert {"Command", "Args"} <= set(result.titles.split())
        end = result.titles.index(f"{order}▼") + len(order) + 1
        amounts = [float(row[:end].split()[-1]) for row in result.rows[:8] if row.strip()]
        assert len(amounts) > 3
        assert amounts == sorted(amounts, reverse=True)


async def test_amounts_since_the_mark_begin_with_it() -> None:
    async with tasks(laptop()) as result:
        await result.next()
        await result.next()
        await result.press("M", "K")
        assert "SINCE THE MARK OF" in text_of(result.app, "heads")
        assert not result.rows
        await result.next()
        assert "SINCE THE MARK OF" in text_of(result.app, "heads")
        assert " in 1.00 s" in text_of(result.app, "heads")
        assert result.rows


async def test_a_span_that_ends_with_an_interval_without_tasks_has_those_before_it(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of a command ends so: the last minute was empty, without a word."""
    with read(str(Path(__file__).parents[2] / "recording" / "golden" / "version1.tasks.ttj")) as journal:
        past = JournalPast(journal)
        player = Player(TimeCursor(past, live=False))
        player.cursor.jump(past.times[-1])
        app = TurbotuiApp(RecordedSession(journal, 1.0), player=player)
        async with app.run_test(size=(120, 36)) as pilot:
            await pilot.press("7")
            await pilot.pause()
            screen = app.screen
            assert isinstance(screen, TasksScreen)
            of_moment = screen._of_moment
            monkeypatch.setattr(screen, "_of_moment", lambda frame: None if (
                frame.newer.wall_ns == past.times[-1]) else of_moment(frame))
            screen.show_again()
            assert not screen.tables[0].lines
            await pilot.press("K")
            await pilot.pause()
            assert "LAST MINUTE" in text_of(app, "heads")
            assert screen.tables[0].lines


def re_sorted(titles: str) -> str:
    """The title of the column by which rows are sorted."""
    return next(word.rstrip("▼▲") for word in titles.split() if word.endswith(("▼", "▲")))


async def test_b_compares_with_the_minute_before_and_amounts_with_those_of_an_interval() -> None:
    async with tasks(laptop()) as result:
        for _ in range(5):
            await result.next()
        await result.press("b")
        screen, moment = result.screen, result.screen.marked
        content, mark = screen.table.content, screen.table.view.mark
        assert content is not None
        assert mark is not None
        assert moment is not None
        assert moment.seconds == pytest.approx(5.0, abs=1.1)
        share, seconds = (next(column for column in screen.known_columns if column.id == name)
                          for name in ("CPU%", "Time_s"))
        row = max(content.rows, key=lambda row: float(str(content.value(seconds, row))))
        mean_share, mean_seconds = mark.value(share, row), mark.value(seconds, row)
        assert isinstance(mean_share, float)
        assert isinstance(mean_seconds, float)
        assert mean_seconds == pytest.approx(mean_share / 100, rel=0.01), "of an interval of 1 s"


def test_a_command_without_a_name_that_ended_is_called_the_command() -> None:
    kept = interval((thread(1, 1, 10**9),), 1.0)
    ended = replace(kept.snapshot, reports=tuple(replace(report, application=Application(""), ended=True)
                                                 for report in kept.snapshot.reports))
    assert "The command has ended" in [text for text, _role in note_lines(ended, None, 80, 24)]
