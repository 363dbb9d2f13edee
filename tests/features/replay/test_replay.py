"""A recording in the dashboard: its moments, its session, and the verb in a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from barepty import BarePty
from made_frames import decoded, frames, said, topology_of_cpus
from made_frames import machine as made_machine
from replayed_machine import Recording, recording

from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.journal_past import JournalPast
from turbotui.app.past import TimeCursor
from turbotui.app.player import Player
from turbotui.app.recorded_session import RecordedSession
from turbotui.errors import UsageError
from turbotui.features.replay.verb import recording_path
from turbotui.features.tasks.screen import TasksScreen
from turbotui.features.uncore.screen import UncoreScreen
from turbotui.quantities.scope import SYSTEM_ROW, Scope
from turbotui.recording import read
from turbotui.recording.journal import Journal
from turbotui.recording.kept_runs import runs_folder
from turbotui.recording.recorder import Recorder
from turbotui.sampling.frame import Frame
from turbotui.widgets.listing import Listing

COUNT = 70


@pytest.fixture(scope="module")
def recorded() -> Recording:
    return recording("laptop", 20.0, COUNT)


@pytest.fixture
def path(recorded: Recording, tmp_path: Path) -> str:
    """A recording of the first half of the frames, as its writer left it when it was killed."""
    name = str(tmp_path / "night.ttj")
    recorder = Recorder(name, recorded.machine)
    for number, frame in enumerate(recorded.frames):
        recorder.take(frame)
        if number == 5:
            recorder.mark("a \x1b[2J mark")
    recorder.close()
    return name


@pytest.fixture
def journal(path: str) -> Iterator[Journal]:
    with read(path) as result:
        yield result


def test_without_a_file_the_last_run_is_replayed_and_a_file_comes_before_a_run_s_number(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {"XDG_STATE_HOME": str(tmp_path)}
    with pytest.raises(UsageError, match="no run of the dashboard is kept"):
        recording_path("", environment)
    folder = Path(runs_folder(environment))
    folder.mkdir(parents=True)
    for name in ("20260101-000001-7", "20260101-000002-7"):
        (folder / f"{name}.ttj").touch()
    assert recording_path("", environment) == str(folder / "20260101-000002-7.ttj")
    assert recording_path("2", environment) == str(folder / "20260101-000001-7.ttj")
    with pytest.raises(UsageError, match="no run is kept as 3"):
        recording_path("3", environment)
    monkeypatch.chdir(tmp_path)
    Path("2").touch()
    assert recording_path("2", environment) == "2"
    assert recording_path("gone.ttj", environment) == "gone.ttj"


def test_every_moment_is_there_and_is_the_frame_that_was_recorded(recorded: Recording, journal: Journal) -> None:
    past = JournalPast(journal)
    assert list(past.times) == [frame.newer.wall_ns for frame in recorded.frames[1:]]
    column = recorded.catalog.get("PkgWatt")
    assert column is not None
    for at in (40, 41, 3, 69, 0, 40):
        result, then = past.frame(past.times[at]), recorded.frames[at + 1]
        assert result is not None
        assert result.newer.values == then.newer.values
        assert result.cell(column, SYSTEM_ROW) == then.cell(column, SYSTEM_ROW)
    assert past.frame(12345) is None


def test_no_step_decodes_more_than_a_few_ticks_and_frames_that_are_kept_are_bounded(tmp_path: Path) -> None:
    """Each took those of 32 moments, whenever one was stepped on to: 40 ms of 224 CPUs."""
    recorder = Recorder(str(tmp_path / "a.ttj"), made_machine(topology_of_cpus(range(4))))
    for frame in frames(400):
        recorder.take(frame)
    recorder.close()
    with read(str(tmp_path / "a.ttj")) as journal:
        past = JournalPast(journal)
        times = list(past.times)
        result: list[Frame | None] = []

        def ticks(time_ns: int) -> int:
            return decoded(lambda: result.append(past.frame(time_ns)))

        ticks(times[-1])  # a jump
        back = [ticks(time_ns) for time_ns in reversed(times[:-1])]
        on = [ticks(time_ns) for time_ns in times[1:]]
        assert max(back) <= 4
        assert max(on[70:]) <= 4  # those before stand in the first stretches, and behind a turn
        assert sum(on) < 2 * len(times)
        assert [entry and entry.newer.wall_ns for entry in result] == [*reversed(times), *times[1:]]
        assert len(past._frames) <= 64
        for item, then in zip(result[-3:], list(frames(400))[-3:], strict=True):
            assert item is not None
            assert said(item)[0] == said(then)[0]
            assert item.deltas("work") == then.deltas("work")


def test_marks_are_events_and_nothing_in_them_reaches_a_terminal(journal: Journal) -> None:
    [event] = [event for event in JournalPast(journal).events if "mark" in event.text]
    assert "\x1b" not in event.text


def test_what_is_appended_is_found_when_it_is_looked_for_again(recorded: Recording, tmp_path: Path) -> None:
    name = str(tmp_path / "grows.ttj")
    recorder = Recorder(name, recorded.machine)
    for frame in recorded.frames[:10]:
        recorder.take(frame)
    with read(name) as journal:
        past = JournalPast(journal)
        assert len(past.times) == 9
        for frame in recorded.frames[10:15]:
            recorder.take(frame)
        past.look_again()
        assert past._looking is not None
        past._looking.join()
        assert len(past.times) == 14
        result = past.frame(past.times[-1])
        assert result is not None
        assert result.newer.values == recorded.frames[14].newer.values
    recorder.close()


def test_a_session_of_a_recording_refuses_what_was_not_recorded(journal: Journal) -> None:
    session = RecordedSession(journal, 1.0)
    with pytest.raises(UsageError, match="nothing can be added"):
        session.add_all("cycles")
    with pytest.raises(UsageError, match="temperature target"):
        session.set_tcc(90)
    assert session.machine.host.kind.value == "RECORDED"


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_every_screen_of_a_recording_says_that_it_is_one(journal: Journal, size: tuple[int, int]) -> None:
    past = JournalPast(journal)
    player = Player(TimeCursor(past, live=False))
    player.cursor.go_to(30)
    app = TurbotuiApp(RecordedSession(journal, 1.0), player=player)
    async with app.run_test(size=size) as pilot:
        for key in "123456789":
            await pilot.press(key)
            await pilot.pause()
            banner, bar = (app.screen.query_one(f"#{name}") for name in ("banner", "time"))
            assert "RECORDED" in banner.text  # type: ignore[attr-defined]
            assert "RECORDED" in bar.text  # type: ignore[attr-defined]
            assert banner.region.y < bar.region.y, "one below the other"
        assert app.watched.frame is past.frame(past.times[30])
        assert len(app.watched.frame.rows(Scope.CPU)) == 22  # type: ignore[union-attr]


async def test_the_banner_names_the_command_that_was_recorded(journal: Journal) -> None:
    player = Player(TimeCursor(JournalPast(journal), live=False), command="make -j2 " + "target " * 20)
    app = TurbotuiApp(RecordedSession(journal, 1.0), player=player)
    async with app.run_test(size=(100, 24)) as pilot:
        await pilot.pause()
        said = app.screen.query_one("#banner").text  # type: ignore[attr-defined]
        assert ", beside make -j2 target" in said
        assert "…: these numbers are of an earlier time" in said
        assert len(said) <= 100


async def test_a_step_stops_a_recording_that_plays_where_it_leads(journal: Journal) -> None:
    """At the end `,` was played over at once."""
    past = JournalPast(journal)
    player = Player(TimeCursor(past, live=False))
    player.cursor.jump(past.times[-1])
    player.playing = True
    app = TurbotuiApp(RecordedSession(journal, 1.0), player=player)
    async with app.run_test(size=(100, 24)) as pilot:
        await pilot.pause()
        assert player.state == "▶ 1x"
        await pilot.press("comma")
        await pilot.pause()
        assert player.state == "■ RECORDED"
        assert player.cursor.at == past.times[-2]
        await pilot.press("space")
        assert player.state == "▶ 1x"


async def test_the_uncore_screen_shows_what_was_counted_and_filters_nothing_more() -> None:
    with read(str(Path(__file__).parents[2] / "recording" / "golden" / "version1.uncore.ttj")) as journal:
        past = JournalPast(journal)
        player = Player(TimeCursor(past, live=False))
        player.cursor.go_to(1)
        app = TurbotuiApp(RecordedSession(journal, 2.0), player=player)
        async with app.run_test(size=(120, 36)) as pilot:
            await pilot.press("5")
            await pilot.pause()
            assert isinstance(app.screen, UncoreScreen)
            table = app.screen.tables[0]
            assert table.content is not None
            column = next(item for item in table.content.whole.columns if item.id == "rd bandwidth GB/s")
            whole, first = [line.row for line in table.lines][:2]
            cells = [table.content.cell(column, row) for row in (whole, first)]
            assert [(round(cell.value, 6), cell.why) for cell in cells] == [  # type: ignore[arg-type]
                (20.709427, None), (10.239345, None)]
            await pilot.press("f")
            await pilot.pause()
            assert isinstance(app.screen, UncoreScreen), "no form"
            await pilot.press("q")


async def test_the_tasks_screen_shows_what_was_recorded_of_each_moment() -> None:
    with read(str(Path(__file__).parents[2] / "recording" / "golden" / "version1.tasks.ttj")) as journal:
        player = Player(TimeCursor(JournalPast(journal), live=False))
        player.cursor.go_to(1)
        app = TurbotuiApp(RecordedSession(journal, 1.0), player=player)
        async with app.run_test(size=(120, 36)) as pilot:
            await pilot.press("7")
            await pilot.pause()
            screen = app.screen
            assert isinstance(screen, TasksScreen)
            assert screen.watcher is None, "nothing is counted"
            assert _runs(screen) == {7: 1002, 9: 5}
            await pilot.press("full_stop")
            await pilot.pause()
            assert _runs(screen) == {7: 1003, 9: 5}
            await pilot.press("t")
            await pilot.pause()
            assert _runs(screen) == {7: 1503, 9: 5}
            await pilot.press("s")
            await pilot.pause()
            assert screen.watcher is None
            await pilot.press("q")


def _runs(screen: TasksScreen) -> dict[int, int]:
    """The greatest run time of a row, in ns, by process."""
    content = screen.tables[0].content
    assert content is not None
    result: dict[int, int] = {}
    for key in content.rows:
        inputs = content.get(key)
        assert inputs is not None
        assert inputs.row.pid is not None
        result[inputs.row.pid] = max(result.get(inputs.row.pid, 0), inputs.row.counts["run"])
    return result


async def test_a_recording_without_tasks_says_how_to_record_them(journal: Journal) -> None:
    app = TurbotuiApp(RecordedSession(journal, 1.0), player=Player(TimeCursor(JournalPast(journal), live=False)))
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.press("7")
        await pilot.pause()
        assert isinstance(app.screen, TasksScreen)
        assert "turbotui record --tables tasks" in app.screen.readout()
        await pilot.press("q")


async def test_a_recording_without_uncore_counters_says_how_to_record_them(journal: Journal) -> None:
    app = TurbotuiApp(RecordedSession(journal, 1.0), player=Player(TimeCursor(JournalPast(journal), live=False)))
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.press("5")
        await pilot.pause()
        said = app.screen.query_one("#absent", Listing).text
        assert "this recording has no uncore counters" in said
        assert "turbotui record --tables uncore" in said
        await pilot.press("q")


def test_the_verb_plays_a_file_and_is_left_by_q(path: str) -> None:
    running = BarePty((sys.executable, "-m", "turbotui", "replay", "--speed", "1000", path))
    try:
        running.until(rb"RECORDED on laptop")
        running.until(rb"1000x [^\n]*?(\d\d:\d\d:\d\d)[^\n]* \1 ")
        running.press(b",")
        running.until(rb"\xe2\x96\xa0 RECORDED [^\n]*?(\d\d:\d\d:\d\d)[^\n]* (?!\1)\d\d:\d\d:\d\d ")
        running.press(b"q")
        assert running.ended() == 0
        assert running.restored
    finally:
        running.end()


@pytest.mark.parametrize(("words", "sentence"), [
    (("--speed", "0"), b"is no number from 0.1 to 1000"), (("--from", "noon"), b'"noon" is no time'),
])
def test_a_wrong_word_is_a_sentence(path: str, words: tuple[str, ...], sentence: bytes) -> None:
    running = BarePty((sys.executable, "-m", "turbotui", "replay", *words, path), forked=True)
    try:
        assert running.ended() == 2
        assert sentence in running.output
    finally:
        running.end()


def test_a_file_that_is_no_recording_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "no").write_text("no recording\n")
    for name in ("no", "absent"):
        running = BarePty((sys.executable, "-m", "turbotui", "replay", str(tmp_path / name)), forked=True)
        try:
            assert running.ended() not in (0, 70)
            assert b"turbotui: " in running.output
            assert b"Traceback" not in running.output
        finally:
            running.end()
