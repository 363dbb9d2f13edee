"""The table [fleet] of the user's settings: defaults of omitted options, and reported errors."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
from fleetbed import fleet_answer, nodes, stub
from hypothesis import given
from hypothesis import strategies as st

from turbotui.app.settings import parse_settings
from turbotui.cli import main
from turbotui.features.fleet.outliers import USUAL
from turbotui.features.fleet.settings import SETTINGS, FleetSettings, filled, fleet_settings

_VALUES = st.recursive(st.one_of(st.text(max_size=9), st.integers(-5, 300), st.booleans()),
                       lambda inner: st.lists(inner, max_size=3), max_leaves=4)


def own(text: str) -> FleetSettings:
    return fleet_settings(parse_settings(f"# mine\n[fleet]\n{text}\n", "s.toml"))


def options(given: dict[str, str] | None = None, text: str = "", *, server: str = "",
            is_text: bool = True) -> argparse.Namespace:
    value = argparse.Namespace(**{item.option: None for item in SETTINGS.values() if item.option} | (given or {}))
    filled(value, own(text), server=server, is_text=is_text)
    return value


def test_the_command_line_comes_first_the_settings_next() -> None:
    text = 'server = "http://a:1"\nwindow = "5m"\nnode = ["cluster", "instance"]\nrefresh = 30\nsort = "coretmp"'
    result = options({"window": "90s"}, text)
    assert (result.prometheus, result.window, result.node, result.interval, result.sort, result.peers) == (
        "http://a:1", "90s", "cluster,instance", "30", "CoreTmp", "model")
    assert options().window == "2m"
    assert options(text=text, is_text=False).sort == ""


@pytest.mark.parametrize(("given", "server"), [({"prometheus": "http://b:1"}, ""), ({}, "http://b:1")])
def test_no_other_server_is_told_who_asks(given: dict[str, str], server: str) -> None:
    text = 'server = "http://a:1"\nuser = "ann"\npassword_file = "/x"\nbearer_file = "/y"\ntenant = "t"\nca = "/z"'
    result = options(given, text, server=server)
    assert (result.prometheus, result.user, result.password_file, result.bearer_file, result.tenant, result.ca) == (
        given.get("prometheus", ""), None, None, None, "", "")
    assert options(text=text).tenant == "t"


def test_limits_are_those_of_the_settings() -> None:
    limits = own("throttled = 2.5\nslower = 8\nstale = 10").limits
    assert (limits.throttled, limits.below_baseline, limits.stale) == (2.5, 8.0, 600.0)
    assert own("").limits == USUAL


@pytest.mark.parametrize("text", [
    "nosuch = 1", "server = 7", 'window = "soon"', "window = 5", 'node = "1nstance"', "node = []", "refresh = 0",
    'refresh = "1"', 'sort = "NoSuch"', 'open = "\'"', "throttled = 0", 'stale = "long"', "timeout = -1"])
def test_what_is_wrong_is_reported_with_its_line_and_the_rest_holds(text: str) -> None:
    settings = own(f'peers = "rack"\n{text}')
    assert dict(settings.values) == {"peers": "rack"}
    assert len(settings.problems) == 1
    assert settings.problems[0].startswith("s.toml, line 4: "), settings.problems


@given(st.dictionaries(st.sampled_from([*SETTINGS, "x"]), _VALUES, max_size=4))
def test_whatever_stands_there_is_used_or_told(table: dict[str, object]) -> None:
    settings = parse_settings("", "s.toml")
    object.__setattr__(settings, "fleet", table)
    result = fleet_settings(settings)
    assert len(result.values) + len(result.problems) == len(table)


def test_the_verb_asks_the_server_of_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                  capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("TURBOTUI_PROMETHEUS", raising=False)
    file = tmp_path / "turbotui" / "settings.toml"
    file.parent.mkdir()
    with stub(fleet_answer(nodes(8, n3={"CoreTmp": 91.0}))) as server:
        file.write_text(f'[fleet]\nserver = "{server.url}"\nsort = "CoreTmp"\nwindow = "never"\n')
        assert main(["fleet", "-n", "1", "--top", "1", "--show", "CoreTmp"]) == 0
    output = capsys.readouterr()
    assert [line.split()[0] for line in output.out.splitlines() if line.startswith("n")] == ["n3"]
    assert "settings.toml, line 4: window" in output.err
