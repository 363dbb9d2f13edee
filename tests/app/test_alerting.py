"""Alerts: their syntax, their beginning and end, and every way in which the dashboard shows them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from dashboard_driver import dashboard, lines, text_of
from hypothesis import given
from hypothesis import strategies as st
from scripted_machine import FakeSession, Script, build_topology, load_of
from timelines import FramesTimeline

from turbotui.app.alerting import Alerting
from turbotui.app.past import TimeCursor
from turbotui.app.player import Player
from turbotui.app.settings import MOST_ALERTS, parse_settings
from turbotui.errors import UsageError
from turbotui.machine.host import HostKind
from turbotui.machine.own_files import append_bounded
from turbotui.quantities.alerts import AlertRequest, AlertRule, parse_alert
from turbotui.quantities.filters import FilterRow
from turbotui.quantities.scope import Scope, cpu_row
from turbotui.sampling.alerting import KEPT, Alert, AlertWatch
from turbotui.widgets.rows import row_words

HOT_SETTINGS = '[[alert]]\nwhen = "Busy%>90 for 3s"\n'


def busy_between(first: int, last: int, *cpus: int) -> FakeSession:
    """A machine whose CPUs have little to do but for these, which are busy in these intervals."""

    def load(cpu: int, tick: int) -> float:
        return 0.95 if cpu in cpus and first <= tick <= last else 0.1 + cpu / 1000

    topology = build_topology()
    return FakeSession(topology, script=Script(topology, load))


def rule_of(session: FakeSession, when: str, **more: str) -> AlertRule:
    names = {column.id.lower(): column for column in session.catalog.columns}
    return parse_alert(AlertRequest(when, **more), lambda name: names.get(name.lower()))  # type: ignore[arg-type]


def watched(session: FakeSession, count: int, *whens: str) -> list[tuple[Sequence[Alert], Sequence[Alert]]]:
    """Return the alerts that begin and end with each of a number of frames."""
    watch = AlertWatch([rule_of(session, when) for when in whens], row_words)
    return [watch.take(session.frame()) for _ in range(count)]


class TestRules:
    def test_rows_are_those_of_the_finest_column(self) -> None:
        session = FakeSession()
        scopes = [rule_of(session, when).scope for when in ("PkgTmp>95", "PkgTmp>95 and Busy%>5", "PkgWatt>1 for 2m")]
        assert scopes == [Scope.PACKAGE, Scope.CPU, Scope.PACKAGE]
        assert rule_of(session, "Busy%>5", rows="system").scope is Scope.SYSTEM

    def test_the_duration_and_the_column_whose_greatest_value_is_kept(self) -> None:
        rule = rule_of(FakeSession(), "Bzy_MHz<2000 and Busy%>90 for 1m30s")
        assert (rule.seconds, rule.column.id, rule.least, rule.filter.text) == (
            90.0, "Bzy_MHz", True, "Bzy_MHz<2000 and Busy%>90")

    @pytest.mark.parametrize("when", ["", "for 10s", "Busy%>", "Busy%", "cpu7", "Busy%>9 for soon", "Nosuch>4 for 1s",
                                      "Busy%>9 for 0s", "(" * 5000])
    def test_what_cannot_be_understood_is_a_sentence(self, when: str) -> None:
        with pytest.raises(UsageError):
            rule_of(FakeSession(), when)

    def test_what_is_compared_with_the_unknown_never_begins(self) -> None:
        seen = watched(FakeSession(), 3, "Busy%>1/0", "Busy%<1/0")
        assert not any(began or ended for began, ended in seen)

    @given(st.text(max_size=60))
    def test_any_text_is_an_alert_or_a_sentence(self, when: str) -> None:
        with contextlib.suppress(UsageError):
            assert rule_of(FakeSession(), when).filter.columns


class TestWatching:
    def test_it_begins_when_it_has_held_long_enough_and_ends_with_the_greatest_value(self) -> None:
        result = watched(busy_between(3, 7, 2, 5), 10, "Busy%>90 for 3s")
        assert [len(begun) for begun, _ in result] == [0, 0, 0, 0, 0, 1, 0, 0, 0, 0]  # intervals 3, 4 and 5
        assert [len(ended) for _, ended in result] == [0, 0, 0, 0, 0, 0, 0, 0, 1, 0]
        alert = result[8][1][0]
        assert alert.extreme == pytest.approx(95.0)
        assert (alert.most, alert.ended_ns) == (2, alert.since_ns + 6 * 10**9)

    def test_a_condition_that_holds_too_briefly_makes_no_alert(self) -> None:
        assert not any(begun for begun, _ in watched(busy_between(3, 4, 2), 8, "Busy%>90 for 3s"))

    def test_without_a_duration_it_begins_at_once(self) -> None:
        result = watched(busy_between(3, 3, 2), 6, "Busy%>90")
        assert [len(begun) for begun, _ in result] == [0, 0, 0, 1, 0, 0]
        assert result[3][0][0].rows == (cpu_row(2),)

    def test_many_rows_are_one_alert(self) -> None:
        result = watched(busy_between(2, 4, *range(16)), 4, "Busy%>90")
        assert [(len(begun), begun[0].most) for begun, _ in result if begun] == [(1, 16)]

    def test_the_least_value_is_kept_of_what_is_small(self) -> None:
        result = watched(busy_between(1, 3, *range(1, 16)), 6, "Busy%<50")
        assert result[1][0][0].extreme == pytest.approx(10.0)

    def test_an_unknown_value_passes_nothing(self) -> None:
        topology = build_topology()
        holes = frozenset({("mperf", cpu) for cpu in range(16)})
        session = FakeSession(topology, script=Script(topology, load_of, holes))
        assert not any(begun for begun, _ in watched(session, 4, "Busy%>-1", "Busy%<1000"))

    def test_what_follows_a_gap_begins_again(self) -> None:
        session = busy_between(1, 99, 2)
        watch = AlertWatch([rule_of(session, "Busy%>90 for 3s")], row_words)
        for _ in range(3):
            watch.take(session.frame())
        session.frame()  # nobody saw this one
        assert [len(watch.take(session.frame())[0]) for _ in range(3)] == [0, 0, 1]
        session.frame()
        assert [len(alerts) for alerts in watch.take(session.frame())] == [0, 1]

    def test_ended_alerts_are_bounded(self) -> None:
        topology = build_topology()
        session = FakeSession(topology, script=Script(topology, lambda cpu, tick: 0.95 if tick % 2 else 0.1))
        watch = AlertWatch([rule_of(session, "Busy%>90")], row_words)
        for _ in range(2 * KEPT + 50):
            watch.take(session.frame())
        assert len(watch.ended) == KEPT

    @pytest.mark.parametrize("when", ["Busy%>20 and Bzy_MHz>1500", "Busy%>20 or CPU=3", "not Busy%>20", "Busy%=97",
                                      "20<Busy%<60", "Busy%/2>10", "cpu3 Busy%>1", "Governor=performance Busy%>30"])
    def test_a_column_at_a_time_gives_what_one_row_at_a_time_does(self, when: str) -> None:
        session = FakeSession()
        rule = rule_of(session, when)
        watch = AlertWatch([rule], row_words)
        session.frame()
        frame = session.frame()
        begun, _ = watch.take(frame)
        one_by_one = [row for row in frame.rows(Scope.CPU)
                      if rule.filter.condition.holds(FilterRow(row_words(frame.topology, row),
                                                               lambda column, row=row: frame.cell(column, row)))]  # type: ignore[misc]
        assert list(begun[0].rows if begun else ()) == one_by_one


class TestSettings:
    def test_a_wrong_table_is_reported_with_its_line_and_the_others_hold(self) -> None:
        value = parse_settings('[[alert]]\nwhen = "Busy%>9"\n[[alert]]\nwhen = 5\n[[alert]]\nwhen = "a"\nlevel = "x"\n'
                               '[[alert]]\nbell = true\n', "s.toml")
        assert [request.when for _, request in value.alerts] == ["Busy%>9"]
        assert [problem.split(":")[0] for problem in value.problems] == [
            "s.toml, line 4", "s.toml, line 7", "s.toml, line 8"]

    def test_there_is_no_end_of_wrong_kinds(self) -> None:
        for text in ("alert = 5", "alert = []", "[alert]\nwhen = 'x'", "alert = [[]]", "tables = 3", "[tables]\na = 1"):
            assert len(parse_settings(text, "s.toml").problems) == (text != "alert = []")

    def test_hundreds_of_alerts_are_cut_and_that_is_reported(self) -> None:
        settings = parse_settings(HOT_SETTINGS * 500, "s.toml")
        assert len(settings.alerts) == MOST_ALERTS
        assert "only the first" in settings.problems[0]


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "turbotui" / "alerts.log"


def lines_of(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


class TestDashboard:
    async def test_line_cell_bell_mark_window_and_log_tell_of_it(self, log: Path,
                                                                 monkeypatch: pytest.MonkeyPatch) -> None:
        session, rings = busy_between(3, 9, 2), []
        settings = parse_settings(HOT_SETTINGS, "s.toml")
        async with dashboard(session, ticks=5, screen="cpus", settings=settings) as (app, pilot):
            monkeypatch.setattr(app, "bell", lambda: rings.append(1))
            assert text_of(app, "alert").strip() == ""
            session.tick()
            await pilot.pause()
            assert "SIMULATED ALERT Busy%>90 for 3s: cpu 2" in text_of(app, "alert")
            assert "!95.00" in next(line for line in lines(app) if line.split()[2:3] == ["2"])
            session.tick()
            await pilot.pause()
            assert rings == [1]
            await pilot.press("exclamation_mark")
            await pilot.pause()
            assert len(app.screen_stack) == 2
            await pilot.press("escape")
            assert app.watched.cursor is not None
            assert [mark.text for mark in app.watched.cursor.marks] == ["Alert Busy%>90 for 3s: cpu 2"]
            for _ in range(5):
                session.tick()
                await pilot.pause()
            assert text_of(app, "alert").strip() == ""
            assert rings == [1]
        logged = lines_of(log)
        assert [line.split()[1:4] for line in logged] == [["SIMULATED", "scripted", "begins"],
                                                          ["SIMULATED", "scripted", "ends"]]
        assert "greatest Busy% 95.00 %" in logged[1]
        assert "ended after 8 s" in logged[1]

    async def test_columns_that_are_not_shown_are_read_for_it(self, log: Path) -> None:
        session = FakeSession()
        settings = parse_settings('[[alert]]\nwhen = "CPU%c6>200"\n', "s.toml")
        async with dashboard(session, screen="doctor", settings=settings) as (app, _):
            assert "CPU%c6" in session.wanted
            assert app.watched.alerts is not None
        assert not lines_of(log)

    async def test_without_alerts_there_is_nothing(self, log: Path) -> None:
        async with dashboard(FakeSession()) as (app, pilot):
            assert app.watched.alerts is None
            assert not app.query("#alert")
            await pilot.press("exclamation_mark")
            await pilot.pause()
            assert len(app.screen_stack) == 2
        assert not lines_of(log)

    async def test_a_broken_condition_is_reported_with_its_line_and_an_absent_column_in_the_window(self) -> None:
        settings = parse_settings('[[alert]]\nwhen = "Busy%>1"\n[[alert]]\nwhen = "Nosuch>1"\n[[alert]]\n'
                                  'when = "RAMWatt>1"\n', "s.toml")
        async with dashboard(FakeSession(), settings=settings) as (app, _):
            assert "s.toml, line 4: when: " in text_of(app, "status")
            alerts = app.watched.alerts
            assert alerts is not None
            assert [rule.request.when for rule in alerts.rules] == ["Busy%>1"]
            assert any("RAMWatt is not here" in line for line in alerts.rule_lines())

    async def test_of_a_recording_it_is_reported_and_not_logged(self, log: Path) -> None:
        session = FakeSession()
        frames = [session.frame() for _ in range(12)]
        player = Player(TimeCursor(FramesTimeline(frames), live=False), 1.0)
        player.cursor.go_to(1)
        settings = parse_settings('[[alert]]\nwhen = "Busy%>0.01 for 2s"\n', "s.toml")
        async with dashboard(session, ticks=0, player=player, settings=settings) as (app, pilot):
            await pilot.pause()
            alerts = app.watched.alerts
            assert alerts is not None
            assert not alerts.watch.active
            for _ in range(4):
                player.cursor.step(1)
                app._show_moment(player.cursor, played=True)
            assert alerts.watch.active
            assert "ALERT Busy%>0.01" in text_of(app, "alert")
            player.cursor.step(-2)
            app._show_moment(player.cursor)
            assert not alerts.watch.active
            assert not alerts.watch.ended
        assert not lines_of(log)


def test_what_is_recorded_says_so(log: Path) -> None:
    session = busy_between(1, 9, 2)
    alerts = Alerting([rule_of(session, "Busy%>90")], (), HostKind.RECORDED, "far")
    session.frame()
    assert alerts.replay(session.frame(), played=True)
    assert "".join(text for text, _ in alerts.line(100)).startswith(" RECORDED ALERT Busy%>90: cpu 2")
    assert not log.exists()


def test_the_log_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "state" / "alerts.log"
    for at in range(100):
        append_bounded(str(path), b"line %02d\n" % at, 100)
    assert path.stat().st_size <= 100
    assert sorted(os.listdir(path.parent)) == ["alerts.log", "alerts.log.1"]
    assert path.read_bytes().endswith(b"line 99\n")


def test_an_unwritable_log_is_reported_and_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "turbotui").write_text("a file where the folder should be")
    session = busy_between(1, 9, 2)
    alerts = Alerting([rule_of(session, "Busy%>90")], (), HostKind.REAL, "here")
    session.frame()
    alerts.take(session.frame())
    alerts.close()
    assert "cannot be written" in alerts.rule_lines()[-1]
