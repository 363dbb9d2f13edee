"""Features of other packages: the example of docs/plugins.md as it is installed, and packages that are wrong."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from barepty import BarePty
from patience import PATIENCE, least_disturbed

from turbotui.installed_features import EntryPoint, entry_points, trusted_folders

PLUGIN = Path(__file__).parent / "plugin"


def run(*words: str, path: Path = PLUGIN) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "turbotui", *words], capture_output=True, text=True, check=False,  # noqa: S603 - ours
                          timeout=PATIENCE, stdin=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(path)})


def package(folder: Path, name: str, line: str, module: str = "") -> None:
    (folder / f"{name}-1.0.dist-info").mkdir(parents=True)
    (folder / f"{name}-1.0.dist-info" / "entry_points.txt").write_text(
        f"[console_scripts]\nx = y:z\n\n[turbotui.features]\n{line}\n\n[other]\na = b:C\n")
    if module:
        (folder / f"{name}.py").write_text(module)


class TestExample:
    def test_its_verb_is_in_the_help_and_has_every_format(self) -> None:
        assert "how long the machine is up" in run("--help").stdout
        text, csv = (run("uptime", "-i", "0.1", "-n", "1", "--format", name).stdout.splitlines()
                     for name in ("json", "csv"))
        table = json.loads(text[0])
        assert [row["clock"] for row in table["rows"]] == ["up", "idle"]
        assert table["rows"][0]["values"]["time"] > 0
        assert ",clock,time,pace," in csv[0]
        assert len(csv) == 3

    def test_its_column_is_recorded_and_replayed(self, tmp_path: Path) -> None:
        file = str(tmp_path / "recording")
        done = run("record", "--show", "Busy%", "-n", "2", "-i", "0.2", file)
        assert done.returncode == 0, done.stderr
        words = ("stat", "--replay", file, "--show", "Uptime", "--quiet", "--Summary", "--format", "csv")
        replayed = run(*words).stdout.splitlines()
        times = [float(line.split(",")[-1]) for line in replayed[1:]]
        assert len(times) == 2
        assert 0 < times[0] <= times[1] < times[0] + PATIENCE
        without = run(*words, path=tmp_path)
        assert "'Uptime' can not be added: there is no such column here" in without.stderr

    @least_disturbed
    def test_its_rows_are_recorded_replayed_and_exported(self, tmp_path: Path) -> None:
        file = str(tmp_path / "recording")
        Path(file).unlink(missing_ok=True)
        done = run("record", "--show", "Busy%", "-n", "2", "-i", "1", file, "--tables", "clocks")
        assert done.returncode == 0, done.stderr
        tables = [json.loads(line) for line in run("uptime", "--replay", file, "--json").stdout.splitlines()]
        assert len(tables) == 2
        for table in tables:
            (up,) = [row["values"] for row in table["rows"] if row["clock"] == "up"]
            assert up["pace"] == pytest.approx(1, abs=0.3)
        lines = run("export", "--once", "-i", "0.1", "--rows", "clocks").stdout.splitlines()
        assert [line for line in lines if line.startswith('turbotui_clock_time_seconds_total{clock="up"')]

    def test_its_family_is_exported(self) -> None:
        lines = run("export", "--once", "-i", "0.1").stdout.splitlines()
        [value] = [line for line in lines if line.startswith("turbotui_machine_uptime_seconds")]
        assert float(value.split()[-1]) > 0

    def test_its_source_is_a_line_of_doctor(self) -> None:
        assert "proc-uptime" in run("doctor", "--format", "json").stdout

    def test_its_screen_its_key_and_an_alert_on_its_column(self, tmp_path: Path) -> None:
        settings = tmp_path / "turbotui" / "settings.toml"
        settings.parent.mkdir()
        settings.write_text('[[alert]]\nwhen = "Uptime>0"\n\n[[alert]]\nwhen = "pace>0.5 and up"\ntable = "clocks"\n')
        with_plugin = {"PYTHONPATH": str(PLUGIN), "XDG_CONFIG_HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
        terminal = BarePty((sys.executable, "-m", "turbotui", "-i", "0.2", "--screen", "uptime"),
                           environment=with_plugin)
        terminal.until(b"ALERT Uptime>0")
        terminal.until(b"a.{1,40} days")
        terminal.press(b"a")
        terminal.until(rb"0\.[0-9]+ d\b")
        log = tmp_path / "turbotui" / "alerts.log"
        terminal.read_while(lambda: log.read_text().count(" begins ") < 2, "never logged two alerts")
        terminal.press(b"q")
        assert terminal.ended() == 0
        assert "begins Uptime>0: " in log.read_text()
        assert "begins pace>0.5 and up: up" in log.read_text()


@pytest.mark.parametrize(("line", "module", "why"), [
    ("bad = bad:FEATURE", "raise OSError('no disk')", "OSError: no disk"),
    ("bad = bad:FEATURE", "raise SystemExit(3)", "SystemExit: 3"),
    ("bad = bad:FEATURE", "FEATURE = 1", "bad:FEATURE is no Feature of that name"),
    ("bad = missing_module:FEATURE", "", "ModuleNotFoundError"),
    ("bad = bad:FEATURE", "from turbotui.feature import *\nFEATURE = Feature('bad', (Command('stat', 'bad', ''),))",
     "another feature has the verb stat"),
    ("bad = bad:FEATURE", "from turbotui.feature import *\nKEYS = (1,)\nFEATURE = Feature('bad', sources='bad:KEYS')",
     "bad:KEYS of the package bad-1.0 failed: TypeError: it has members that are no Source"),
    ("bad = bad:FEATURE", "from turbotui.feature import *\nFEATURE = Feature('bad', commands=5)", "TypeError"),
])
def test_one_that_fails_is_a_line_of_doctor(tmp_path: Path, line: str, module: str, why: str) -> None:
    package(tmp_path, "bad", line, module)
    assert run("stat", "-q", "-n", "1", "-i", "0.05", "-s", "Busy%", path=tmp_path).returncode == 0
    assert why in run("doctor", "--machine", "guest", path=tmp_path).stdout


GOLDEN = Path(__file__).parent / "recording" / "golden" / "version1.tasks.ttj"
_STAT = ("stat", "-q", "-n", "1", "-i", "0.05", "--Summary", "-s", "Uptime,TSC_MHz", "--format", "json")
_RECORD = ("record", "--show", "TSC_MHz", "-n", "1", "-i", "0.05", "recording")
_UPTIME = ("uptime", "-n", "1", "-i", "0.05", "--format", "json")
_EXPORT = ("export", "--once", "-i", "0.05", "--rows", "clocks")
_DIVIDED = "ZeroDivisionError: division by zero"
_READER = """()


class Failing(ProcUptime):
    signals = ("uptime",)
    def open_shared(self, machine, wanted): return self
    def read(self): 1 / 0
    def close(self): [][0]


SOURCES = (Failing(),)
"""


def broken(folder: Path, module: str, old: str, new: str) -> Path:
    """A copy of the example in which something is wrong."""
    shutil.copytree(PLUGIN, folder / "packages")
    path = folder / "packages" / "turbotui_uptime" / f"{module}.py"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    return path.parent.parent


class Fault(NamedTuple):
    """A line of the example that is wrong, and what turbotui makes of it."""

    module: str
    old: str
    new: str
    words: tuple[str, ...]
    place: str  # what is said to have failed
    error: str = _DIVIDED
    shown: str = ""  # on stdout
    status: int = 0


FAULTS = {
    "probe": Fault("measured", "str) -> Mapping[str, int]:", "str) -> Mapping[str, int]:\n        1 / 0", _STAT,
                   "measured.ProcUptime.parse", shown='"TSC_MHz":'),
    "reader": Fault("measured", "(ProcUptime(),)", _READER, _STAT, "measured.Failing.read",
                    shown="could not be read this time: turbotui_uptime.measured.Failing.read of the package"),
    "close": Fault("measured", "(ProcUptime(),)", _READER, _STAT, "measured.Failing.close", "IndexError"),
    "column": Fault("measured", 'row.value("uptime")', "1 / 0", _STAT, "measured.<lambda>",
                    shown='"Uptime":"out of range: turbotui_uptime.measured.<lambda> of the package'),
    "value": Fault("measured", 'row.value("uptime")', "[1]", _STAT, "measured", "TypeError: a value is list",
                   '"Uptime":null'),
    "kept": Fault("measured", "return [", "return 1 / 0, [", _RECORD, "measured.kept"),
    "kept class": Fault("measured", "return [", "return 3, [", _RECORD, "measured:kept",
                        "TypeError: it returns what is no CounterColumn"),
    "gathers": Fault("__init__", "kept=", 'gathers="turbotui_uptime.measured:no", kept=', _RECORD, "measured:no",
                     "AttributeError"),
    "recorded": Fault("__init__", "kept=", 'recorded="turbotui_uptime.measured:no", kept=', _RECORD, "measured:no",
                      "AttributeError"),
    "waits": Fault("__init__", "kept=", 'waits="turbotui_uptime.measured:no", kept=', (
        "why", "--replay", str(GOLDEN), "--json"), "measured:no", "AttributeError", '"verdict":', 6),
    "traced": Fault("__init__", "kept=", 'traced="turbotui_uptime.measured:no", kept=', (
        "export", "--from", str(GOLDEN), "--format", "trace"), "measured:no", "AttributeError", '"traceEvents":['),
    "report": Fault("__init__", "kept=", 'report="turbotui_uptime.measured:no", kept=', ("gather", "--list"),
                    "measured:no", "AttributeError", "doctor.json"),
    "rows open": Fault("rows", "return ClockReader", "return 1 / 0, ClockReader", _UPTIME, "rows.Clocks.open",
                       shown='"rows":[],"notes":["failed: turbotui_uptime.rows.Clocks.open of'),
    "rows read": Fault("rows", "at_ns, words =", "1 / 0; at_ns, words =", _EXPORT, "rows.ClockReader.read",
                       shown="turbotui_machine_uptime_seconds "),
    "rows close": Fault("rows", "        pass", "        1 / 0", _UPTIME, "rows.ClockReader.close",
                        shown='"clock":"up"'),
    "row column": Fault("rows", 'row.rate("time")', "1 / 0", _UPTIME, "rows.<lambda>",
                        shown='"pace":"out of range: turbotui_uptime.rows.<lambda> of the package'),
    "rows module": Fault("rows", 'sort="time")', 'sort="no")', _UPTIME, "rows.<module>", "ValueError", status=70),
    "exported": Fault("families", "FAMILIES = (", "FAMILIES = (3, ", _EXPORT, "families:FAMILIES", "TypeError",
                      'turbotui_clock_time_seconds_total{clock="up"}'),
    "verb": Fault("__init__", 'rows:CLOCKS"),)', 'rows:NO"),)', _UPTIME, "rows:NO", "AttributeError", status=70),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_fails_in_a_package_is_a_sentence_that_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                             name: str) -> None:
    fault = FAULTS[name]
    path = broken(tmp_path, fault.module, fault.old, fault.new)
    monkeypatch.chdir(tmp_path)
    done = run(*fault.words, path=path)
    assert done.returncode == fault.status, done.stderr
    assert f"turbotui: turbotui_uptime.{fault.place} of the package turbotui_uptime-1.0 failed: {fault.error}" in (
        done.stderr)
    assert "Traceback" not in done.stderr
    assert fault.shown in done.stdout


@pytest.mark.parametrize(("module", "where", "error"), [
    ("def add_arguments(parser): 1 / 0", "bad.add_arguments", "ZeroDivisionError"),
    ("def add_arguments(parser): pass", "bad", "AttributeError"),
])
def test_a_verb_with_a_module_of_its_own_that_fails_is_named(tmp_path: Path, module: str, where: str,
                                                             error: str) -> None:
    package(tmp_path, "bad", "bad = bad:FEATURE", "from turbotui.feature import *\n"
            f"FEATURE = Feature('bad', (Command('fails', 'bad', 'fails'),))\n{module}\n")
    done = run("fails", path=tmp_path)
    assert done.returncode == 70
    assert f"turbotui: {where} of the package bad-1.0 failed: {error}: " in done.stderr


@pytest.mark.parametrize(("old", "new", "key", "shown"), [
    ("class UptimeScreen", "1 / 0\n\nclass UptimeScreen", b"", b"uptime stays closed"),
    ("    definition = CLOCKS", "    definition = CLOCKS\n    def body(self): return 1 / 0", b"", b"this screen anew"),
    ("        self.definition =", "        1 / 0; self.definition =", b"a", b"package turbotui_uptime-1.0 failed"),
], ids=["module", "body", "key"])
def test_a_screen_that_fails_ends_nothing_else(tmp_path: Path, old: str, new: str, key: bytes,
                                               shown: bytes) -> None:
    path = broken(tmp_path, "screen", old, new)
    terminal = BarePty((sys.executable, "-m", "turbotui", "-i", "0.2", "--machine", "guest", "--screen", "cpus"),
                       environment={"PYTHONPATH": str(path), "XDG_CONFIG_HOME": str(tmp_path),
                                    "XDG_STATE_HOME": str(tmp_path)})
    terminal.until(b"columns")
    terminal.press(b"U")
    if key:
        terminal.until(b"days")
        terminal.press(key)
    terminal.until(shown)
    terminal.press(b"1")
    terminal.until(b"columns")
    terminal.press(b"q")
    assert terminal.ended() == 0


def test_an_action_whose_key_is_taken_is_left_out(tmp_path: Path) -> None:
    package(tmp_path, "bad", "bad = bad:FEATURE", "from turbotui.feature import *\n"
            "KEYS = (Action('x', 'x', ('q',), 'q', 'X.'),)\nFEATURE = Feature('bad', keys='bad:KEYS')")
    program = "import turbotui.app.actions, turbotui.feature_list; print(*turbotui.feature_list.refusals())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True,  # noqa: S603 - ours
                          timeout=PATIENCE, stdin=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert done.stdout == "the action x of the feature bad is left out: quit has its key or name\n"


def test_the_first_of_two_packages_of_a_name_counts(tmp_path: Path) -> None:
    package(tmp_path / "one", "p", "p = p.q:F")
    package(tmp_path / "two", "p", "p = other:F")
    package(tmp_path / "two", "q", "no line of an entry point")
    (tmp_path / "two" / "r-1.dist-info").mkdir()
    folders = [str(tmp_path / name) for name in ("gone", "one", "two")]
    assert list(entry_points(folders)) == [EntryPoint("p", "p.q:F", "p-1.0")]


def test_packages_of_the_working_folder_are_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert list(trusted_folders(["", ".", str(tmp_path), str(PLUGIN)])) == [str(PLUGIN)]
