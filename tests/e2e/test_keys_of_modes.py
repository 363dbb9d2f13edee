"""Every key of the table in a recording, in the past and in windows: the program survives all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from string import ascii_letters

import pytest
from key_promises import LEAVING
from pressed_keys import NEEDS_TMUX, Terminal, dashboard, named
from watched_machines import frames_of_machine

from turbotui.app.actions import ACTIONS
from turbotui.app.screen_table import SCREENS
from turbotui.feature import EVERYWHERE, Action
from turbotui.recording.recorder import Recorder

pytestmark = NEEDS_TMUX

SIZE = (120, 36)
COLUMNS = ("Load%", "steal%", "iowait%", "RunQ", "IRQ/s")
FAILED = re.compile("Measuring goes on, and so do the other screens|Traceback")
"""What a screen says that has failed, and what the interpreter says."""
AWAY = {*LEAVING, "suspend"}
"""Rows whose keys leave the program."""
ELSEWHERE = {"next_screen", "previous_screen", "open", "point"}
"""Rows whose keys lead to another screen."""
CLOSE = ("Escape", next(letter for letter in ascii_letters if letter not in {
    *(key for action in ACTIONS for key in action.keys), *(spec.number for spec in SCREENS)}))
"""Escape, and a key of nothing, after which an Escape is a key at once, whatever comes next."""
WINDOWS = ("question_mark", "C", "c", "e", "g", "W", "exclamation_mark", "slash", "backslash", "at", "ctrl+p", "D", "a",
           "s")
"""What opens a window, a prompt or a list on the table of CPUs."""


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Record some seconds of a virtual machine."""
    machine, frames = frames_of_machine("guest", 12, seconds=1.0, columns=COLUMNS)
    path = str(tmp_path_factory.mktemp("modes") / "run.ttj")
    recorder = Recorder(path, machine, sync_seconds=0.0)
    for frame in frames:
        recorder.take(frame)
    recorder.close()
    return path


def rows_of(where: str) -> list[Action]:
    """The rows of the key table that work there."""
    return [action for action in ACTIONS if where in action.where and action.id not in AWAY]


def back(terminal: Terminal, number: str) -> None:
    """Close what is open, and show a screen again.

    The footer tells, where only the screen that is shown has a name (all have one on the first): a table's heading
    does not, which a key may have changed for good (rows by package).
    """
    terminal.press("Escape", "Escape", "Escape", number)
    assert terminal.until(partial(re.search, footer_of(number))), terminal.picture


def footer_of(number: str) -> str:
    """A pattern of the footer of a screen with no window open."""
    shown = " 0 overview 1 CPUs" if number == "0" else rf" 0 (?!overview)(.* )?{number} [A-Za-z]{{2}}"
    return rf"(?m)^ \?.*{shown}"


def followed(terminal: Terminal) -> None:
    """Wait until every key has done what it does: the sentence of the last one comes after all of them."""
    assert terminal.until(lambda text: "mean were reset" not in text), terminal.picture
    terminal.press("z")
    assert terminal.until(lambda text: "mean were reset" in text), terminal.picture


def press_all(terminal: Terminal, before: Callable[[], None]) -> None:
    """Press every key on every screen, and look whether the program goes on.

    Those that work everywhere are pressed on the first screen.

    Args:
        terminal: with the dashboard.
        before: brings the mode about, in which a key is to be pressed.
    """
    for spec in SCREENS:
        back(terminal, spec.number)
        for action in (*rows_of(spec.place), *(rows_of(EVERYWHERE) if spec is SCREENS[0] else ())):
            for key in action.keys:
                before()
                terminal.press(named(key), *CLOSE)
                # to draw the screen that is shown anew would cost as much as the key
                if action.id in ELSEWHERE or not terminal.soon(partial(re.search, footer_of(spec.number))):
                    back(terminal, spec.number)
                assert not FAILED.search(terminal.picture), f"{key} ({action.id}) on {spec.id}\n{terminal.picture}"


def press_everywhere(terminal: Terminal) -> None:
    """Press the keys that work everywhere on all screens but the first, and look once after all of one screen.

    A screen that has failed stays so.
    """
    for spec in SCREENS[1:]:
        back(terminal, spec.number)
        for action in rows_of(EVERYWHERE):
            for key in action.keys:
                terminal.press(named(key), *CLOSE, *([spec.number] if action.id in ELSEWHERE else ()))
        back(terminal, spec.number)
        followed(terminal)
        assert not FAILED.search(terminal.picture), f"a key of everywhere on {spec.id}\n{terminal.picture}"


def leave(terminal: Terminal) -> None:
    """Leave, and look at what the program says then: all that failed, seen before or not."""
    back(terminal, SCREENS[0].number)
    terminal.press("q")
    text = terminal.until(lambda text: text.rstrip().endswith("shell:"))
    assert text.split() == ["shell:"], text or terminal.picture


def test_in_a_recording(tmp_path: Path, recording: str) -> None:
    with dashboard(tmp_path, (), SIZE, words=("replay", recording)) as terminal:
        press_all(terminal, lambda: None)
        followed(terminal)
        press_everywhere(terminal)
        leave(terminal)


def test_in_the_past(tmp_path: Path) -> None:
    with dashboard(tmp_path, ("guest",), SIZE) as terminal:
        for _ in range(3):
            terminal.end_interval()

        def step_back() -> None:
            if "PAST" not in terminal.picture:
                terminal.press(",")
                assert terminal.until(lambda text: "PAST" in text), terminal.picture

        press_all(terminal, step_back)
        leave(terminal)


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """A dashboard in which one window after the other is opened: starting one takes longer than a window's keys."""
    with dashboard(tmp_path_factory.mktemp("windows"), ("guest",), SIZE) as terminal:
        yield terminal


@pytest.mark.parametrize("window", WINDOWS)
def test_in_a_window(guest: Terminal, window: str) -> None:
    keys = [named(key) for action in ACTIONS for key in action.keys
            if action.id not in AWAY and {EVERYWHERE, "cpus"} & set(action.where)]
    back(guest, "1")
    for key in keys:
        guest.press(named(window), key)
    guest.press("Escape", "Escape")
    back(guest, "1")
    followed(guest)
    assert not FAILED.search(guest.picture), guest.picture
