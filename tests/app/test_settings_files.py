"""Settings files with mistakes, accidental or hostile: reading never fails, and names the wrong line."""

from __future__ import annotations

import argparse
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from dashboard_driver import dashboard, text_of
from hypothesis import given
from hypothesis import strategies as st
from scripted_machine import FakeSession

from turbotui.app.settings import VALUES, parse_settings, read_settings
from turbotui.diagnosis.diagnosis import MachineDiagnosis
from turbotui.diagnosis.rule_table import RULES, limited
from turbotui.diagnosis.rules import Certainty, NoFinding, Observed
from turbotui.features.dashboard.verb import with_own_profile
from turbotui.features.fleet.settings import SETTINGS, fleet_settings
from turbotui.widgets.profiles import Profile, Profiles

VIEW = Profile("cpus", ("CPU",), (), "", reverse=False, group=("cpu",), filter="", interval=1.0, theme="calm")
ROOT = Path(__file__).parents[2]
EXAMPLE = (ROOT / "docs" / "settings.example.toml").read_text(encoding="utf-8")
_VALUES = st.recursive(st.one_of(st.text(max_size=9), st.integers(-5, 300), st.booleans(), st.floats(allow_nan=False,
                       allow_infinity=False)), lambda inner: st.lists(inner, max_size=3), max_leaves=4)


def written(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, str):
        return '"' + "".join(f"\\U{ord(char):08x}" if not 0xD800 <= ord(char) < 0xE000 else "?" for char in value) + '"'
    return repr(value)


class TestExample:
    def test_nothing_is_wrong_in_it_and_every_setting_is(self) -> None:
        settings = parse_settings(EXAMPLE, "example")
        assert not settings.problems
        assert settings.tables
        assert [request.table for _, request in settings.alerts] == ["", "", "groups"]
        assert settings.row_thresholds["tasks"]
        assert all(re.search(rf"(?m)^(# )?{name} = ", EXAMPLE) for name in VALUES)
        assert not fleet_settings(settings).problems
        fleet = EXAMPLE.partition("[fleet]")[2].partition("\n[")[0]
        assert all(re.search(rf"(?m)^(# )?{name} = ", fleet) for name in SETTINGS)

    async def test_the_dashboard_takes_it(self) -> None:
        async with dashboard(FakeSession(), settings=parse_settings(EXAMPLE, "example")) as (app, _):
            unknown = "example, line"
            assert unknown not in text_of(app, "status")
            assert app.watched.why_limits == {"steal": 5.0, "quota": float("inf")}
            assert app.watched.alerts is not None

    def test_the_document_names_every_cause(self) -> None:
        text = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
        assert [rule.id for rule in RULES if f"`{rule.id}`" not in text] == []


class TestHostile:
    @given(table=st.sampled_from(["tables", "tables.cpus", "units", "thresholds", "why", "keys", "alert",
                                  "thresholds.PkgTmp"]),
           values=st.dictionaries(st.sampled_from(["order", "widths", "PkgTmp", "steal", "when", "temperature", "high",
                                                   "quit"]), _VALUES, max_size=3), many=st.booleans())
    def test_whatever_stands_in_a_table_is_taken_or_told_with_its_line(self, table: str, values: dict[str, object],
                                                                       *, many: bool) -> None:
        head = f"[[{table}]]" if many else f"[{table}]"
        lines = [head, *(f"{name} = {written(value)}" for name, value in values.items())]
        reply = parse_settings("\n".join(lines), "s.toml")
        assert all(re.match(r"s\.toml, (line \d+: |line \d+ is not TOML|it )", item) for item in reply.problems)

    @given(st.text(max_size=120))
    def test_any_text_is_settings_or_sentences(self, text: str) -> None:
        settings = parse_settings(text, "s.toml")
        assert all("\n" not in problem for problem in settings.problems)

    def test_control_characters_come_to_no_terminal(self) -> None:
        value = parse_settings('"\\u001b]0;x\\u0007" = 1\n[thresholds]\n"\\u001b[2J" = 5\n[[alert]]\nwhen = "\\u0007"\n'
                               'level = "\\u001bc"\n', "s.toml")
        assert len(value.problems) == 3
        assert all(char >= " " for problem in value.problems for char in problem)

    def test_a_file_that_cannot_be_one(self, tmp_path: Path) -> None:
        folder = tmp_path / "turbotui"
        folder.mkdir()
        file = folder / "settings.toml"
        environment = {"XDG_CONFIG_HOME": str(tmp_path)}
        file.symlink_to(file)
        assert len(read_settings(environment).problems) == 1
        file.unlink()
        file.mkdir()
        assert len(read_settings(environment).problems) == 1
        file.rmdir()
        os.mkfifo(file)
        assert len(read_settings(environment).problems) == 1
        file.unlink()
        file.write_bytes(b"\xff\xfe\x00")
        assert len(read_settings(environment).problems) == 1
        file.unlink()
        file.symlink_to("/dev/zero")
        assert len(read_settings(environment).problems) == 1

    def test_a_huge_file_is_refused_or_read(self, tmp_path: Path) -> None:
        folder = tmp_path / "turbotui"
        folder.mkdir()
        (folder / "settings.toml").write_text("".join(f'[tables."{at}"]\norder = ["a"]\n' for at in range(20_000)))
        settings = read_settings({"XDG_CONFIG_HOME": str(tmp_path)})
        assert settings.problems or len(settings.tables) == 20_000


class TestWhy:
    @pytest.mark.parametrize(("least", "lost", "told"), [(5.0, 0.06, True), (5.0, 0.04, False),
                                                         (float("inf"), 1.0, False)])
    def test_a_cause_is_reported_from_its_limit_on(self, least: float, lost: float, *, told: bool) -> None:
        observed = Observed(lost, "It waits", Certainty.CERTAIN)
        rule = replace(RULES[0], judge=lambda _frame: observed)
        others = limited((rule, RULES[1]), {rule.id: least})
        assert (others[0].judge(None) is observed) is told  # type: ignore[arg-type]  # the rule looks at no frame
        assert (others[0].judge(None) is NoFinding.CLEAR) is not told  # type: ignore[arg-type]  # as above
        assert others[1] is RULES[1]

    def test_who_silenced_a_cause_is_reminded_of_it(self) -> None:
        session = FakeSession()
        for least, reminded in (({}, False), ({"steal": 200.0}, True)):
            diagnosis = MachineDiagnosis(session.catalog, limited(RULES, least))
            diagnosis.push(session.frame())
            diagnosis.push(session.frame())
            assert ("above your limits of [why]" in diagnosis.verdict().quiet) is reminded

    def test_what_is_wrong_is_reported_with_its_line(self) -> None:
        settings = parse_settings('[why]\nsteal = "much"\nnosuch = 5\nquota = true\n', "s.toml")
        assert [problem.split(":")[0] for problem in settings.problems] == [f"s.toml, line {at}" for at in (2, 3, 4)]
        assert settings.why == {}


class TestProfile:
    def test_the_view_of_the_settings_is_taken_where_the_command_line_names_none(
            self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
        Profiles(os.environ).save("evening", VIEW)
        settings = parse_settings('profile = "evening"\n', "s.toml")
        for named, wanted in ((None, "evening"), ("morning", "morning")):
            arguments = argparse.Namespace(profile=named)
            assert with_own_profile(arguments, settings) is settings
            assert arguments.profile == wanted

    def test_one_that_is_not_there_is_reported_and_the_dashboard_starts(self, tmp_path: Path,
                                                                        monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
        arguments = argparse.Namespace(profile=None)
        settings = with_own_profile(arguments, parse_settings('\nprofile = "../x"\n', "s.toml"))
        assert arguments.profile is None
        assert settings.problems[0].startswith("s.toml, line 2: ")
