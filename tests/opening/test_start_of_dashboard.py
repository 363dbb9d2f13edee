"""The dashboard on a machine that never answers, and the imports of a start."""

# ruff: noqa: S603 - the program under test
from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from barepty import BarePty
from patience import PATIENCE

OPENING = "turbotui.opening"


SILENT = """
import sys, threading
from turbotui.machine import linux

class SilentHost(linux.LinuxHost):
    def read_text(self, path):
        threading.Event().wait()

linux.LinuxHost = SilentHost
from turbotui.cli import main
sys.exit(main([]))
"""
"""The dashboard on a machine whose first read never returns."""


@pytest.fixture
def silent() -> Iterator[BarePty]:
    """The dashboard on that machine."""
    terminal = BarePty((sys.executable, "-c", SILENT), controlling=True)
    yield terminal
    terminal.end()


@pytest.mark.parametrize("key", [b"q", b"\x03"])
def test_it_is_painted_and_can_be_left_before_the_first_reading(silent: BarePty, key: bytes) -> None:
    silent.until(rb"Looking at what can be read.*quit")
    silent.press(b"?")
    silent.until(rb"Show the keys")
    silent.press(b"\x1b")
    silent.until(rb"Looking at what can be read")
    silent.press(key)
    assert silent.ended() == 0
    assert silent.restored
    assert silent.output.count(b"\x1b[?1049l") == 1


def test_a_key_typed_before_there_are_screens_goes_to_its_screen() -> None:
    terminal = BarePty((sys.executable, "-m", "turbotui", "--machine", "guest"), controlling=True)
    try:
        terminal.until(rb"Looking at what can be read")
        os.write(terminal.master, b"9")
        terminal.until(rb"from turbotui|capabilit|source")
        assert terminal.output.count(b"\x1b[?1049h") == 1, "the driver takes the screen over as it is"
        terminal.press(b"q")
        assert terminal.ended() == 0
        assert terminal.restored
        assert terminal.output.count(b"\x1b[?1049l") == 1
    finally:
        terminal.end()


def test_what_is_wrong_is_said_below_the_shells_own_lines() -> None:
    terminal = BarePty((sys.executable, "-m", "turbotui", "--machine", "nosuch"), controlling=True)
    try:
        assert terminal.ended() == 2
        screens, _, said = terminal.output.rpartition(b"\x1b[?25h")
        assert screens.endswith(b"\x1b[?1049l")
        assert b"turbotui: there is no simulated machine" in said
        assert terminal.restored
    finally:
        terminal.end()


def test_a_terminal_that_can_only_print_is_not_drawn_on_by_the_opening() -> None:
    terminal = BarePty((sys.executable, "-m", "turbotui", "--machine", "nosuch"), controlling=True,
                       environment={"TERM": "dumb"})
    try:
        assert terminal.ended() in (2, 4)
        assert b"\x1b" not in terminal.output
    finally:
        terminal.end()


def _imported(program: str) -> set[str]:
    """The modules that a program has imported when it ends, one of turbotui's own a word."""
    shown = "\nprint(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", f"import sys\n{program}{shown}"], capture_output=True, text=True,
                          check=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
    return set(done.stdout.splitlines()[-1].split())


FIRST_PAINT = """
import turbotui.cli, turbotui.features.dashboard.verb
import turbotui.opening.waiting, turbotui.opening.readings, turbotui.opening.terminal
"""
VERSION = "from turbotui.cli import main\nmain(['stat', '--version'])"
ONE_LINE = "from turbotui.cli import main\nmain(['stat', '-q', '-S', '-n', '1', '-i', '0.01', '--machine', 'guest'])"
BELOW = {"turbotui", "turbotui.cli", "turbotui.dataclass", "turbotui.errors", "turbotui.feature",
         "turbotui.feature_list", "turbotui.installed_features", "turbotui.machine", "turbotui.machine.signal_guard",
         "turbotui.untrusted",
         "turbotui.repertoire", "turbotui.tables", "turbotui.tables.terminal_text"}
"""What every command line imports, beside the lists of verbs and screens of `turbotui.features`."""


def _own(modules: set[str]) -> set[str]:
    return {name for name in modules if name.partition(".")[0] == "turbotui"
            and not (name.startswith("turbotui.features") and name.count(".") < 3)}


def test_the_first_paint_imports_this_and_nothing_else() -> None:
    modules = _imported(FIRST_PAINT)
    assert _own(modules) - BELOW == {
        "turbotui.commands", "turbotui.commands.arguments", "turbotui.commands.regions", "turbotui.commands.screens",
        "turbotui.features.dashboard.verb", "turbotui.machine.uname",
        "turbotui.opening", "turbotui.opening.keys", "turbotui.opening.picture",
        "turbotui.opening.readings", "turbotui.opening.terminal", "turbotui.opening.waiting", "turbotui.region_marks",
        "turbotui.sampling",
        "turbotui.sampling.limits", "turbotui.terminal", "turbotui.terminal.handover",
        "turbotui.terminal.sequences", "turbotui.terminal.writer", "turbotui.threads",
    }
    assert modules.isdisjoint({"asyncio", "textual", "rich", "ctypes", "logging", "ssl", "subprocess", "json"})


def test_the_help_of_the_opening_imports_no_textual() -> None:
    modules = _imported("from turbotui.app.plain_help import plain_help\nplain_help()")
    assert not {name for name in modules if name.partition(".")[0] in {"textual", "rich", "asyncio"}}


def test_the_version_of_stat_imports_this_and_nothing_else() -> None:
    modules = _imported(VERSION)
    assert _own(modules) - BELOW == {
        "turbotui.features.stat.getopt", "turbotui.features.stat.options", "turbotui.features.stat.streams",
        "turbotui.features.stat.verb", "turbotui.machine.cpulist", "turbotui.quantities",
        "turbotui.quantities.plain_numbers", "turbotui.quantities.units", "turbotui.sampling",
        "turbotui.sampling.limits", "turbotui.tables.formats", "turbotui.threads",
    }
    assert modules.isdisjoint({"asyncio", "textual", "rich", "ctypes", "logging", "ssl", "subprocess", "json"})


def test_a_line_of_stat_imports_no_screen() -> None:
    modules = _imported(ONE_LINE)
    packages = {name.split(".")[1] for name in _own(modules) if "." in name}
    assert packages.isdisjoint({"app", "widgets", "opening", "terminal", "diagnosis"})
    assert modules.isdisjoint({"textual", "rich", "tomllib", "plotext"})


LIVE_VERBS = """
from turbotui.cli import main
for verb in ("why", "power", "topdown", "uncore", "groups", "tasks --all"):
    status = main([*verb.split(), "--machine", "laptop-old", "-n", "1", "-i", "0.1"])
    assert status in (0, 7), (verb, status)
assert main(["info", "--machine", "laptop-old"]) == 0
"""


def test_verbs_that_watch_a_machine_import_no_recording() -> None:
    modules = _imported(LIVE_VERBS)
    assert {f"turbotui.features.{name}.verb" for name in ("why", "topdown", "tasks", "info")} <= modules
    assert modules.isdisjoint({"compression.zstd", "turbotui.recording.zstd", "turbotui.recording.journal",
                               "turbotui.recording.compression"})
    assert not {name for name in modules if name.partition(".")[0] in {"textual", "asyncio"}}


DASHBOARD = """
from turbotui.app.loading import load_asyncio
load_asyncio()
import importlib, pkgutil
from turbotui import app, widgets
from turbotui.app.screen_table import SCREENS
for screen in SCREENS:
    importlib.import_module(screen.module)
for package in (app, widgets):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
"""


def test_no_screen_window_or_widget_imports_tls_http_mail_or_zip() -> None:
    modules = _imported(DASHBOARD)
    assert {"asyncio", "textual", "turbotui.features.roofline.screen", "turbotui.widgets.drawn_screen"} <= modules
    assert modules.isdisjoint({"ssl", "_ssl", "http.client", "urllib.request", "email", "zipfile", "xml"})


def test_tls_can_be_imported_after_asyncio_without_it() -> None:
    modules = _imported("from turbotui.app.loading import load_asyncio\nload_asyncio()\n"
                        "assert 'ssl' not in sys.modules\nimport ssl\nssl.create_default_context()")
    assert {"asyncio", "ssl"} <= modules


def test_asyncio_that_has_tls_keeps_it() -> None:
    _imported("import ssl\nfrom turbotui.app.loading import load_asyncio\nload_asyncio()\n"
              "import asyncio.sslproto\nassert asyncio.sslproto.ssl is ssl")


@pytest.mark.parametrize("words", [["doctor"], ["doctor", "-v"], ["doctor", "--format", "json"]], ids=" ".join)
def test_the_doctor_needs_rich_on_a_terminal_alone(words: list[str]) -> None:
    modules = _imported(f"from turbotui.cli import main\nassert main({[*words, '--machine', 'guest']!r}) == 0")
    assert not {name for name in modules if name.partition(".")[0] in {"rich", "textual"}}


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="this C library is not glibc")
def test_the_dashboards_threads_share_one_arena() -> None:
    """Each further one would have holes of its own; glibc aligns its first block to 64 MiB (malloc/arena.c)."""
    terminal = BarePty((sys.executable, "-m", "turbotui", "--machine", "guest"), controlling=True)
    try:
        terminal.until(rb"help")
        maps = [line.split() for line in Path(f"/proc/{terminal.process.pid}/maps").read_text().splitlines()]
        assert not [words for words in maps if words[1] == "rw-p" and int(words[0].split("-")[0], 16) % (64 << 20) == 0]
        terminal.press(b"q")
        assert terminal.ended() == 0
    finally:
        terminal.end()
