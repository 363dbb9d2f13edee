"""An exception in a window, screen, drawing or key closes only what failed; everything else continues."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from barepty import BarePty

LEFT = rb"\x1b\[9999;1H\x1b\[J\x1b\[\?1049l.*"
_START = """
import sys
import turbotui.app.key_gate
turbotui.app.key_gate._LONGEST = 1_000_000  # a key that waits for what has failed is never delivered
{breaking}
from turbotui.cli import main
sys.exit(main(["--machine", "guest", "-i", "0.2", "--screen", "cpus"]))
"""
_RAISES = "def broken(self, *rest, **more):\n    raise KeyError('lost')\n"
WINDOW_MOUNTS = _RAISES + "import turbotui.app.graph as at; at.Graph.on_mount = broken"
WINDOW_DRAWS = _RAISES + "import turbotui.app.graph as at; at.Explain.show_frame = broken"
WINDOW_IS_MADE = _RAISES + "import turbotui.app.graph as at; at.Graph.__init__ = broken"
WINDOW_COMPOSES = _RAISES + "import turbotui.app.graph as at; at.Graph.compose = broken"
WINDOW_KEY = _RAISES + "import turbotui.app.graph as at; at.Graph.action_explain = broken"
SCREEN_DRAWS = _RAISES + "import turbotui.features.cpus.map_screen as at; at.MapScreen.show_frame = broken"
SCREEN_IS_MADE = _RAISES + "import turbotui.features.cpus.map_screen as at; at.MapScreen.__init__ = broken"
WIDGET_RENDERS = _RAISES + "import turbotui.widgets.heat_map as at; at.HeatMap.render_line = broken"
WIDGET_RESIZES = _RAISES + "import turbotui.widgets.heat_map as at; at.HeatMap.on_resize = broken"
KEY = _RAISES + "import turbotui.features.cpus.screen as at; at.TableScreen.action_joules = broken"

Start = Callable[..., BarePty]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    running: list[BarePty] = []

    def begin(breaking: str, **environment: str) -> BarePty:
        words = (sys.executable, "-c", _START.format(breaking=breaking))
        bare_pty = BarePty(words, environment={"XDG_STATE_HOME": str(tmp_path), **environment}, size=(200, 30),
                           forked=True)
        running.append(bare_pty)
        bare_pty.until(rb"over \d")
        return bare_pty

    yield begin
    for pty in running:
        pty.end()


def reports(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "turbotui" / "failures").glob("*"))


@pytest.mark.parametrize(("breaking", "keys"), [
    (WINDOW_MOUNTS, b"g"), (WINDOW_DRAWS, b"e"), (WINDOW_IS_MADE, b"g"), (WINDOW_COMPOSES, b"g"), (WINDOW_KEY, b"ge"),
    (KEY, b"J"),
], ids=["mount", "draw", "init", "compose", "key of a window", "key of a screen"])
def test_a_window_that_fails_is_closed_with_a_sentence(start: Start, tmp_path: Path, breaking: str,
                                                       keys: bytes) -> None:
    running = start(breaking)
    running.press(keys)  # the second one reaches the window that the first one opens
    running.until(rb"failed: KeyError: 'lost'; the report is ")
    running.press(b"3")
    running.until(rb"package 0")
    running.press(b"?")
    running.until(rb"keys and columns")
    running.press(b"q")
    running.until(rb"over \d")
    running.press(b"q")
    assert running.ended() == 0
    assert running.restored
    assert b"turbotui: the window" in running.output or b"turbotui: screen" in running.output
    assert b"Traceback" not in running.output
    report, = reports(tmp_path)
    text = report.read_text()
    assert "in broken" in text
    assert "KeyError" in text
    assert os.stat(report).st_mode & 0o077 == 0


@pytest.mark.parametrize("breaking", [SCREEN_DRAWS, WIDGET_RENDERS, WIDGET_RESIZES, SCREEN_IS_MADE],
                         ids=["draw", "render", "resize", "init"])
def test_a_screen_that_fails_is_replaced_and_a_second_time_stays_closed(start: Start, tmp_path: Path,
                                                                        breaking: str) -> None:
    running = start(breaking)
    running.press(b"3")
    running.until(rb"failed: KeyError: 'lost'")
    for _ in range(2):  # one that cannot be made is reported below the screen before it
        running.press(b"2")
        running.until(rb"machine.*over \d")
        running.press(b"3")
        running.until(rb"failed: KeyError: 'lost'" if breaking == SCREEN_IS_MADE else
                      rb"map stays closed")
    running.press(b"q")
    assert running.ended() == 0
    assert running.restored
    assert b"KeyError: 'lost'" in running.output
    assert b"Traceback" not in running.output
    assert len(reports(tmp_path)) == 1


@pytest.mark.parametrize(("breaking", "key", "name"), [
    (WINDOW_MOUNTS, b"g", b"Graph"), (WINDOW_DRAWS, b"e", b"Explain"), (WINDOW_IS_MADE, b"g", b"Graph"),
    (WINDOW_COMPOSES, b"g", b"Graph"),
], ids=["mount", "draw", "init", "compose"])
def test_a_window_that_fails_twice_stays_closed(start: Start, tmp_path: Path, breaking: str, key: bytes,
                                                name: bytes) -> None:
    running = start(breaking)
    failed = rb"(?i)the window " + name + rb" failed: KeyError: 'lost'"
    for said in (failed, failed, failed if breaking == WINDOW_IS_MADE else name + b" stays closed"):
        running.press(key)
        running.until(said)
        running.press(b"3")
        running.until(rb"package 0")
        running.press(b"1")
        running.until(rb"Load%.*over \d")
    running.press(b"?")
    running.until(rb"keys and columns")
    running.press(b"q")
    running.press(b"q")
    assert running.ended() == 0
    assert len(reports(tmp_path)) == 1


def test_a_key_that_fails_again_and_again_leaves_its_screen(start: Start, tmp_path: Path) -> None:
    running = start(KEY)
    for _ in range(3):
        running.press(b"J")
        running.until(rb"failed: KeyError: 'lost'")
        running.press(b"3")
        running.until(rb"package 0")
        running.press(b"1")
        running.until(rb"Load%.*over \d")
    running.press(b"q")
    assert running.ended() == 0
    assert len(reports(tmp_path)) == 1


def test_what_is_shown_for_a_failed_screen_ends_the_program_if_it_fails(start: Start) -> None:
    running = start(SCREEN_DRAWS + "\nimport turbotui.app.failed_screen as at; at.FailedScreen.body = broken")
    running.press(b"3")
    assert running.ended() == 70
    assert re.search(LEFT, running.output, re.DOTALL)


def test_tracebacks_are_shown_on_request(start: Start) -> None:
    running = start(WINDOW_MOUNTS, TURBOTUI_TRACEBACK="1")
    running.press(b"g")
    running.until(rb"failed: KeyError: 'lost'")
    running.press(b"q")
    assert running.ended() == 0
    assert b"Traceback" in running.output
    assert b"in broken" in running.output


def test_no_more_than_ten_reports_are_kept(tmp_path: Path) -> None:
    from turbotui.app.failures import Failures  # noqa: PLC0415 - beside the subprocesses

    failures = Failures({"XDG_STATE_HOME": str(tmp_path)})
    for number in range(14):
        failure, again = failures.take(ValueError("x" * 5000), f"try {number}")
        assert not again
        same, again = failures.take(ValueError("y"), f"try {number}")
        assert again
        assert same is failure
    assert len(reports(tmp_path)) == 10
    assert failure.report == str(reports(tmp_path)[-1])
    assert len(failure.sentence) < 700
    assert all(path.stat().st_size < 70_000 for path in reports(tmp_path))
