"""Rows of the key table are pressed in a real terminal (tmux), and show there what they say.

Intervals are a minute long, so that a picture that changes has been changed by the key.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from key_promises import EVERYWHERE, MARKS, PLACES, Place, Promise
from patience import PATIENCE

from turbotui.screens.actions import ACTIONS, Action, Where
from turbotui.screens.screen_table import SCREENS

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="the package tmux is not installed")

_NAMES = {"question_mark": "?", "slash": "/", "backslash": "\\", "greater_than_sign": ">", "less_than_sign": "<",
          "asterisk": "*", "space": "Space", "enter": "Enter", "ctrl+j": "C-j", "plus": "+", "equals_sign": "=",
          "minus": "-", "underscore": "_", "tab": "Tab", "shift+tab": "BTab", "ctrl+p": "C-p", "ctrl+z": "C-z",
          "escape": "Escape", "ctrl+c": "C-c", "up": "Up", "down": "Down", "left": "Left", "right": "Right",
          "shift+left": "S-Left", "shift+right": "S-Right", "shift+up": "S-Up", "shift+down": "S-Down",
          "pageup": "PPage", "pagedown": "NPage", "ctrl+b": "C-b", "ctrl+f": "C-f", "home": "Home", "end": "End",
          "left_square_bracket": "[", "right_square_bracket": "]"}


class Tmux:
    """The dashboard of a simulated machine in a shell, by its screen as a person sees it."""

    def __init__(self, folder: Path, machine: tuple[str, ...], size: tuple[int, int]) -> None:
        self.socket = str(folder / "tmux")
        self.command = shlex.join(("env", "-u", "COLUMNS", "-u", "LINES", f"XDG_CONFIG_HOME={folder}",
                                   f"XDG_STATE_HOME={folder}", f"XDG_DATA_HOME={folder}", sys.executable,
                                   "-m", "turbotui", "--machine", *machine, "-i", "60"))
        self._run("-f", os.devnull, "new-session", "-d", "-x", f"{size[0]}", "-y", f"{size[1]}", "-c", str(folder),
                  "env", "PS1=shell:", "sh", "-i")
        self._run("set-option", "-s", "escape-time", "0")

    def _run(self, *words: str) -> str:
        return subprocess.run(["tmux", "-S", self.socket, *words], check=True, capture_output=True,  # noqa: S603, S607 - tmux
                              text=True, timeout=PATIENCE).stdout

    def start(self) -> None:
        """Start the dashboard from the shell, and wait for its first numbers."""
        self._run("send-keys", "-l", "--", f"clear; {self.command}")
        self.press("Enter")
        assert self.until(lambda text: "#1" in text), self.picture

    def press(self, *keys: str) -> None:
        """Type keys by tmux's names."""
        for key in keys:
            self._run("send-keys", *(["-l"] if len(key) == 1 else []), "--", key)

    @property
    def picture(self) -> str:
        """What stands on the screen, line by line."""
        return self._run("capture-pane", "-p")

    def until(self, passes: Callable[[str], object], seconds: float = PATIENCE) -> str:
        """The first picture that passes; "" if none does before long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            text = self.picture
            if passes(text):
                return text
            time.sleep(0.01)
        return ""

    def end(self) -> None:
        """Leave nothing behind."""
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], check=False, capture_output=True)  # noqa: S603, S607 - tmux


class Pressing:
    """Presses rows of the key table on one screen, and keeps a list of those that do not show what they promise."""

    def __init__(self, terminal: Tmux, place: Place) -> None:
        self.terminal = terminal
        self.place = place
        self.broken: list[str] = []

    def come(self) -> None:
        """Go to the screen, and end intervals until it has what its keys are about."""
        self.terminal.press(self.place.number)
        assert self.terminal.until(lambda text: re.search(MARKS[self.place.number], text)), self.terminal.picture
        for _ in range(10):
            before = sequence(self.terminal.picture)
            self.terminal.press("Enter")
            self.terminal.until(partial(later, before))
            self.terminal.press(*self.place.calm)
            if self.terminal.until(lambda text: re.search(self.place.home, text), seconds=1.0):
                return
        raise AssertionError(self.terminal.picture)

    def press(self, action: Action, promise: Promise) -> None:
        """Press every key of one row."""
        for key in action.keys:
            self._press(named(key), promise, f"{action.shown} ({key}) on screen {self.place.number}: {action.help}")

    def _press(self, key: str, promise: Promise, words: str) -> None:
        terminal, home = self.terminal, self.place.home
        terminal.press(*promise.first)
        before = terminal.until(lambda text: re.search(promise.now or home, text) and not promise.kept(text, text))
        if not before:
            self.broken.append(f"{words} What has to be there before it is not:\n{terminal.picture}")
        terminal.press(key, *promise.typed)
        if not terminal.until(lambda text: promise.kept(before, text)):
            self.broken.append(f"{words} Not seen: {promise}\n{terminal.picture}")
        for _ in range(8):  # around until what goes in a ring is as before
            terminal.press(*promise.undo)
            if "Escape" in promise.undo:
                terminal.until(lambda text: not promise.kept(before, text))
            terminal.press(*self.place.calm)
            if terminal.until(lambda text: re.search(home, text), seconds=2.0):
                return
        self.broken.append(f"{words} The screen does not come back:\n{terminal.picture}")
        pytest.fail("\n".join(self.broken))


def named(key: str) -> str:
    """The name that tmux has for a key."""
    return _NAMES.get(key, key.upper() if key[0] == "f" and key[1:].isdigit() else key)


def later(number: int, picture: str) -> bool:
    """Whether a frame after one of this number is on the screen."""
    return sequence(picture) > number


def sequence(picture: str) -> int:
    """Number of the frame on the screen."""
    found = re.search(r"#(\d+)", picture)
    return int(found[1]) if found else 0


@pytest.fixture
def terminal(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Tmux]:
    place: Place = request.param
    running = Tmux(tmp_path, place.machine, place.size)
    try:
        running.start()
        yield running
    finally:
        running.end()


def on_every_place(places: tuple[Place, ...] = PLACES) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("terminal", "place"), [(place, place) for place in places], indirect=["terminal"],
                                   ids=[f"{place.number}-{place.machine[0]}" for place in places])


@on_every_place()
def test_rows_of_the_key_table_show_what_they_say(terminal: Tmux, place: Place) -> None:
    pressing = Pressing(terminal, place)
    pressing.come()
    for action in ACTIONS:
        if {Where.APP, place.where}.isdisjoint(action.where):
            continue
        if promise := {**EVERYWHERE, **place.keys}.get(action.id):
            pressing.press(action, promise)
    assert not pressing.broken, "\n".join(pressing.broken)


@on_every_place((PLACES[0],))
@pytest.mark.parametrize(("key", "by"), [("Tab", 1), ("BTab", -1)])
def test_tab_changes_the_screen_on_every_screen(terminal: Tmux, place: Place, key: str, by: int) -> None:
    assert place in PLACES
    for at in range(len(SCREENS)):
        terminal.press(key)
        number = SCREENS[(at + 1) * by % len(SCREENS)].number
        assert terminal.until(partial(re.search, MARKS[number])), (number, terminal.picture)


@on_every_place((PLACES[0],))
@pytest.mark.parametrize("key", ["q", "F10", "C-c"])
def test_the_keys_that_leave_do(terminal: Tmux, place: Place, key: str) -> None:
    assert place in PLACES
    terminal.press(key)
    assert terminal.until(lambda text: text.rstrip().endswith("shell:")), terminal.picture

