"""A recording keeps what the diagnosis needs: its verdict is that of the machine, for each cause alone and in pairs."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path

import pytest
from dashboard_driver import dashboard, text_of
from knownmachines import known_machine
from patience import PATIENCE
from simulated_session import SimulatedSession
from smallmachines import small_host
from watched_machines import focused_sources, frames_of_machine

from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.journal_past import JournalPast
from turbotui.app.past import TimeCursor
from turbotui.app.player import Player
from turbotui.app.recorded_session import RecordedSession
from turbotui.app.why_window import WhyWindow
from turbotui.cli import main
from turbotui.commands.long_work import long_work
from turbotui.commands.recording import kept_columns, open_recorder
from turbotui.diagnosis.diagnosis import MachineDiagnosis
from turbotui.diagnosis.looks import Looks
from turbotui.diagnosis.recorded_looks import LookRecord, RecordedLooks, look_results
from turbotui.diagnosis.rule_table import RULES
from turbotui.diagnosis.rules import LookResults, MemoryMover, PressedGroup, RankedBy, ThrottledGroup, UnseenTasks
from turbotui.diagnosis.verdict import Verdict
from turbotui.features.roofline.memory_watch import MemoryWatch
from turbotui.features.why.engine import read_recording
from turbotui.machine.machine import Machine
from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.recording.framing import RecordingError
from turbotui.recording.journal import Journal
from turbotui.recording.json_values import JsonValue
from turbotui.recording.rows import LOOKS_STREAM
from turbotui.sampling.capabilities import probe_sources
from turbotui.sampling.frame import Frame
from turbotui.sampling.selection import available_columns
from turbotui.simulated import SHAPES, ManualClock, SimulatedHost
from turbotui.simulated.causes import CALM, CAUSES
from turbotui.sources import SOURCES
from turbotui.sources.source import Source

SMALL = ("laptop-old", "laptop", "forest-1s", "icelake-2s", "grace-2s", "guest")
BESIDE = ("bandwidth", "host-clock")
"""The cause that is read beside columns, which the commands of the last test read, and the one that has a past."""
INTERVALS = 3
PAIRS = [pair for pair in combinations((name for name in CAUSES if name not in BESIDE), 2)
         if not CAUSES[pair[0]].at_odds(CAUSES[pair[1]])]
EVERY = 12
"""One pair in so many is tested here; `.ci/causes` tests all of them."""


def machine_for(*names: str) -> str:
    """The smallest machine that can have these causes, with them."""
    shape = next(item for item in SMALL if all(CAUSES[name].where(SHAPES[item]) for name in names))
    return "+".join((shape, *names))


def columns_of(machine: Machine) -> tuple[str, ...]:
    """The columns of a recording whose user shows none."""
    capabilities = probe_sources(machine, SOURCES)
    catalog = catalog_for(capabilities.signals)
    return tuple(column.id for column in kept_columns(catalog, capabilities, machine.topology))


def watched(name: str, intervals: int = INTERVALS,
            sources: Sequence[Source] = SOURCES) -> tuple[Machine, list[Frame], list[LookResults]]:
    """A machine with its frames, and what was seen beside each."""
    looks: list[Looks] = []
    seen: list[LookResults] = []

    def look(host: SimulatedHost, _number: int) -> None:
        if not looks:
            looks.append(Looks(host))
            looks[0].look()
        seen.append(looks[0].look())

    columns: list[str] = []

    def chosen(host: SimulatedHost, cpus: frozenset[int] | None) -> Machine:
        machine = known_machine(host, cpus)
        columns.extend(columns_of(machine))
        return machine

    machine, frames = frames_of_machine(name, intervals, columns=columns, small=True, between=look, facts=chosen,
                                        beside=MemoryWatch, sources=sources)
    return machine, frames, seen


def live(machine: Machine, frames: list[Frame], seen: list[LookResults]) -> Verdict:
    diagnosis = MachineDiagnosis(catalog_for(frames[0].capabilities.signals), kept=len(seen))
    diagnosis.memory = MemoryWatch(machine).share
    for frame, looked in zip(frames[1:], seen, strict=True):
        diagnosis.seen = looked
        diagnosis.push(frame)
    return diagnosis.verdict(over=0.25)


def replayed(path: str, machine: Machine, frames: list[Frame], seen: list[LookResults]) -> Verdict:
    recorder = open_recorder(path, machine, None)
    for number, frame in enumerate(frames):
        recorder.take(frame)
        if number:
            recorder.rows(LookRecord(*frame.clocks, seen[number - 1]))
    recorder.close()
    with Journal((path,)) as journal:
        return read_recording(journal, len(seen)).verdict


def facts(verdict: Verdict) -> Iterator[tuple[object, ...]]:
    """All that is shown of a verdict."""
    for finding in verdict.findings:
        yield (finding.rule.id, finding.sentence, finding.cost, finding.since, finding.who, finding.remedy)
    yield verdict.sentence, verdict.sure, verdict.reasons


def judged_twice(name: str, folder: Path, intervals: int = INTERVALS,
                 sources: Sequence[Source] = SOURCES) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    """What is shown of a machine's verdict, and of that of its recording."""
    machine, frames, seen = watched(name, intervals, sources)
    recorded = replayed(str(folder / "run.ttj"), machine, frames, seen)
    return list(facts(live(machine, frames, seen))), list(facts(recorded))


@pytest.mark.parametrize("names", [*((name,) for name in CAUSES if name not in BESIDE), *PAIRS[::EVERY]], ids="+".join)
def test_a_recording_says_what_was_said_of_the_machine(names: tuple[str, ...], tmp_path: Path) -> None:
    first, second = judged_twice(machine_for(*names), tmp_path)
    assert {cause for cause, *_ in first[:-1]} >= set(names)
    assert first == second


@pytest.mark.parametrize("name", [*SMALL, machine_for("quota")])
def test_a_recording_keeps_a_column_of_each_group_that_a_rule_reads(name: str) -> None:
    """A look at control groups may say the same without the column, so that verdicts alone do not show this."""
    machine = known_machine(small_host(name, ManualClock(), seed=1))
    capabilities = probe_sources(machine, SOURCES)
    catalog = catalog_for(capabilities.signals)
    available = {column.id for column in available_columns(catalog, capabilities, machine.topology)}
    kept = {column.id for column in kept_columns(catalog, capabilities, machine.topology)}
    for rule in RULES:
        for group in (*rule.needs, *((word,) for word in rule.wants)):
            assert available.isdisjoint(group) or not kept.isdisjoint(group), (rule.id, group)


def test_a_recording_says_that_the_host_lowered_the_clock(tmp_path: Path) -> None:
    first, second = judged_twice("guest+host-clock", tmp_path, 10, focused_sources())
    assert [cause for cause, *_ in first[:-1]] == ["host-clock"]
    assert first == second


@pytest.mark.parametrize("word", CALM)
def test_a_recording_of_a_calm_machine_is_as_sure(word: str, tmp_path: Path) -> None:
    first, second = judged_twice(f"laptop-old+{word}", tmp_path)
    assert first == second
    assert first[-1][1], "all that matters was read"


@pytest.mark.parametrize("machine", ["laptop-old+memory+storage", "laptop-old+idle-exits", "forest-1s+bandwidth"])
def test_by_default_the_commands_find_the_same(machine: str, tmp_path: Path,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    path, pace = str(tmp_path / "run.ttj"), ("-i", "0.1", "-n", "3")
    assert main(["why", "--machine", machine, *pace, "--json"]) == 7
    first = json.loads(capsys.readouterr().out)
    assert main(["record", path, "--machine", machine, *pace, "--show", "CPU,Load%"]) == 0
    capsys.readouterr()
    assert main(["why", "--replay", path, "--json"]) == 7
    second = json.loads(capsys.readouterr().out)
    named = [{row["cause"]: (row["values"]["who"] or "").split(" (")[0] for row in result["rows"]}
             for result in (first, second)]
    causes = machine.split("+")[1:]  # the two runs are of different moments, at which lesser ones come and go
    assert [named[0][cause] for cause in causes] == [named[1][cause] for cause in causes]
    assert second["facts"]["blind"] == first["facts"]["blind"]


def test_all_that_was_seen_is_kept() -> None:
    seen = LookResults(
        ("cc1 4711", 0.98), groups=True, throttled=ThrottledGroup("/a", 60.0, 2.0, None),
        pressed={"io": PressedGroup("/b", 12.5)}, placement="why", who={RankedBy.CPU: ("cc1 4711 (98 % CPU)",)},
        mover=MemoryMover("batch", 593e9, None, least=True), tail="p99 of web's waits for a CPU is 8.3 ms")
    for results in (seen, LookResults()):
        said = json.loads(json.dumps(LookRecord(0, 0, results).facts()))
        assert look_results(JsonValue(said, "looks")) == results


def test_looks_are_read_of_a_file_of_version_1_for_ever() -> None:
    path = Path(__file__).parents[2] / "recording" / "golden" / "version1.slots_looks.ttj"
    with Journal((str(path),)) as journal:
        looks = RecordedLooks(journal.rows)
        result = [looks.at(frame) for frame in journal.frames()]
        assert journal.check() == ()
    assert result == [LookResults(), LookResults(), LookResults(
        ("make é", 0.75), groups=True, throttled=ThrottledGroup("/a", 12.5, 2.0, None),
        pressed={"memory": PressedGroup("/b", 3.5)}, placement="held to CPU 1",
        who={RankedBy.CPU: ("make", "cc1"), RankedBy.IO: ()},
        unseen=UnseenTasks(Unavailable(Reason.NOT_PERMITTED, "belongs to another user", "run as root"), 0.25))]


def looks_in(folder: Path) -> int:
    """The number of looks in the recording in a folder."""
    try:
        with Journal((str(next(folder.iterdir())),)) as journal:
            return len(list(journal.rows(LOOKS_STREAM, 0, journal.last_ns)))
    except RecordingError:
        return 0  # it holds no reading yet


async def test_the_key_that_records_keeps_what_rules_need_whatever_is_shown(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    session = SimulatedSession("laptop-old+memory+idle-exits")
    async with dashboard(session) as (app, pilot):  # type: ignore[arg-type]  # has what is asked for
        app.keeps_whole = True
        await pilot.press("ctrl+r")
        await pilot.pause()
        await pilot.press("enter")
        for number in range(INTERVALS + 1):  # the first tick begins the first interval
            session.tick()
            end = time.monotonic() + PATIENCE
            while looks_in(tmp_path) < number:  # they are taken on a thread of their own
                assert time.monotonic() < end
                await pilot.pause()
        await pilot.press("ctrl+r")
        await pilot.pause()
    [path] = tmp_path.iterdir()  # noqa: ASYNC240 - nothing else runs any more
    with Journal((str(path),)) as journal:
        verdict = read_recording(journal, INTERVALS).verdict
    assert {finding.rule.id for finding in verdict.findings} == {"memory", "idle-exits"}
    assert "compiling 30000" in " ".join(verdict.findings[0].who)


@pytest.fixture
def hot_recording(tmp_path: Path) -> str:
    """A hot machine whose tasks wait for memory."""
    path = str(tmp_path / "run.ttj")
    replayed(path, *watched("laptop-old+memory+heat"))
    return path


def test_ctrl_c_judges_what_was_read_until_then(hot_recording: str) -> None:
    with Journal((hot_recording,)) as journal, long_work("reading") as work:
        whole = read_recording(journal, INTERVALS, "first", "last")

        def passed(frames: Iterable[Frame], begin_ns: int, end_ns: int) -> Iterator[Frame]:
            for number, frame in enumerate(work.frames(frames, begin_ns, end_ns)):
                if number == 1:
                    signal.raise_signal(signal.SIGINT)
                yield frame

        report = read_recording(journal, INTERVALS, "first", "last", passed=passed)
    assert work.status == 128 + signal.SIGINT
    assert work.until_ns == report.wall_ns < whole.wall_ns
    assert 0 < report.seconds < whole.seconds
    assert report.verdict.findings


async def test_on_a_recording_all_screens_say_what_its_verb_says(hot_recording: str) -> None:
    with Journal((hot_recording,)) as journal:
        first = read_recording(journal, 1).verdict
        player = Player(TimeCursor(JournalPast(journal), live=False))
        player.cursor.go_to(INTERVALS)
        app = TurbotuiApp(RecordedSession(journal, 1.0), player=player, screen="overview")
        async with app.run_test(size=(200, 60)) as pilot:
            await pilot.pause()
            verdict = app.watched.judge.verdict()
            assert (verdict.sentence, verdict.sure, verdict.reasons) == (first.sentence, first.sure, first.reasons)
            assert verdict.findings[0].who == first.findings[0].who != ()
            assert verdict.sentence in text_of(app, "summary")
            await pilot.press("4")
            await pilot.pause()
            assert verdict.sentence in text_of(app, "headline")
            await pilot.press("W")
            while not isinstance(app.screen, WhyWindow) or app.screen.is_at_work:
                await pilot.pause()
            assert app.watched.judge.verdict().sentence == first.sentence
            assert first.sentence in " ".join(app.screen.text.split())
