"""The dashboard in a real terminal (tmux), and rows of the key table that are pressed there.

Intervals are an hour long, so that a picture that changes has been changed by the key: a shorter one ends between two
keys sooner or later, and rows are sorted anew. A picture is compared with another one once it stands still, for the
parts of a screen are not written at one instant. It stands still when the program sleeps and was not woken between some
looks: nothing wakes an idle dashboard between two intervals.
"""

from __future__ import annotations

import operator
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from key_promises import MARKS, Place, Promise
from patience import PATIENCE

from turbotui.app.actions import ACTIONS
from turbotui.app.screen_table import SCREENS
from turbotui.feature import EVERYWHERE, Action

NEEDS_TMUX = pytest.mark.skipif(shutil.which("tmux") is None, reason="the package tmux is not installed")

_POLL = 0.02
_ASLEEP = 3  # looks between which the program was not woken: all that it does at once is done
_STILL = 8  # looks at one that ran between them, all the same: some never sleep, for they sample tasks, and stand still
_DONE = 20  # such looks after which a key was followed, and nothing came of it
_SOON = 30.0  # seconds, in which a key before the one that is looked at may change the screen
_NAMES = {"exclamation_mark": "!", "vertical_line": "|",
          "question_mark": "?", "slash": "/", "backslash": "\\", "greater_than_sign": ">", "less_than_sign": "<",
          "asterisk": "*", "space": "Space", "enter": "Enter", "ctrl+j": "C-j", "plus": "+", "equals_sign": "=",
          "minus": "-", "underscore": "_", "tab": "Tab", "shift+tab": "BTab", "ctrl+p": "C-p", "ctrl+z": "C-z",
          "escape": "Escape", "ctrl+c": "C-c", "up": "Up", "down": "Down", "left": "Left", "right": "Right",
          "shift+left": "S-Left", "shift+right": "S-Right", "shift+up": "S-Up", "shift+down": "S-Down",
          "pageup": "PPage", "pagedown": "NPage", "ctrl+b": "C-b", "ctrl+f": "C-f", "home": "Home", "end": "End",
          "left_square_bracket": "[", "right_square_bracket": "]", "comma": ",", "full_stop": ".", "at": "@",
          "left_curly_bracket": "{", "right_curly_bracket": "}", "left_parenthesis": "(", "right_parenthesis": ")",
          "backspace": "BSpace", "ctrl+l": "C-l", "ctrl+r": "C-r", "ctrl+s": "C-s"}


_FORKING_SHELL = str(Path(__file__).with_name("forking_shell.py"))
_INTERVALS = ("longer", "shorter")
PLACES_APART = 4
"""A row that works everywhere is pressed on each screen of so many."""
_INTERVALS_TO_BE_READY = 10
_PAST_FRAMES = 4
"""Frames after which there is a past to step back into."""


def named(key: str) -> str:
    """The name that tmux has for a key."""
    return _NAMES.get(key, key.upper() if key[0] == "f" and key[1:].isdigit() else key)


class Terminal:
    """The dashboard of a simulated machine in a shell, seen through its terminal's screen.

    tmux is talked to in control mode (tmux(1), CONTROL MODE): a process of its own for each key and each look at the
    screen would cost more than the dashboard does.

    Args:
        folder: for the dashboard's own files.
        machine: simulated machine, with options.
        size: columns and lines.
        words: command line; "" for the dashboard of the machine.
        forked: the shell forks the dashboard, which saves most of a start, instead of running an interpreter.
    """

    def __init__(self, folder: Path, machine: tuple[str, ...], size: tuple[int, int],
                 words: tuple[str, ...] = (), *, forked: bool = False) -> None:
        words = words or ("--machine", *machine, "-i", "3600")
        program = ("env", "-u", "COLUMNS", "-u", "LINES", f"XDG_CONFIG_HOME={folder}", f"XDG_STATE_HOME={folder}",
                   f"XDG_DATA_HOME={folder}", sys.executable)
        self.command = shlex.join((*program, "-m", "turbotui", *words))
        shell = (*program, _FORKING_SHELL, *words) if forked else ("env", "PS1=shell:", "sh", "-i")
        self._tmux = ("tmux", "-S", str(folder / "tmux"), "-f", os.devnull)
        subprocess.run([*self._tmux, "new-session", "-d", "-x", f"{size[0]}", "-y", f"{size[1]}", "-c", str(folder),  # noqa: S603 - tmux
                        *shell], check=True, timeout=PATIENCE)
        self._control = subprocess.Popen([*self._tmux, "-C", "attach-session", "-f", "no-output,ignore-size"],  # noqa: S603 - tmux
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self._answer()
        self._ask("set-option", "-s", "escape-time", "0")
        self._sleep = Sleep(int(self._ask("display-message", "-p", "#{pane_pid}")))

    def _ask(self, *words: str) -> str:
        assert self._control.stdin is not None
        self._control.stdin.write(shlex.join(words) + "\n")
        return self._answer()

    def _answer(self) -> str:
        """Return the text between the next %begin and its %end; other lines report events."""
        assert self._control.stdout is not None
        lines: list[str] | None = None
        for line in self._control.stdout:
            if lines is None:
                lines = [] if line.startswith("%begin ") else None
            elif line.startswith("%end "):
                return "".join(lines)
            else:
                assert not line.startswith("%error "), lines
                lines.append(line)
        raise AssertionError("tmux has ended")

    def start(self) -> None:
        """Start the dashboard from the shell, and wait for its first numbers."""
        self._ask("send-keys", "-l", "--", f"clear; {self.command}")
        self.press("Enter")
        assert self.until(lambda text: re.search(r"over \d", text)), self.picture

    def press(self, *keys: str) -> None:
        """Type keys by tmux's names, and what has none letter by letter; all of it at once."""
        if keys:
            self._sleep.begin()
            self._ask("send-keys", "--", *keys)

    @property
    def picture(self) -> str:
        """The lines of the screen."""
        return self._ask("capture-pane", "-p")

    def until(self, passes: Callable[[str], object], seconds: float = PATIENCE) -> str:
        """The first picture that passes; "" if none does before long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            text = self.picture
            if passes(text):
                return text
            time.sleep(_POLL)
        return ""

    def soon(self, passes: Callable[[str], object]) -> str:
        """The first picture that passes; "" if none has once all of the last keys was done."""
        last, same, over = "", 0, False

        def decided(text: str) -> bool:
            nonlocal last, same, over
            asleep = self._sleep.looks() >= _ASLEEP
            same = same + self._sleep.ran if text == last else 0
            last = text
            over = asleep or same >= _DONE
            return over or bool(passes(text))

        text = self.until(decided, _SOON)
        text = self.picture if over else text  # what was written before the last look at the program
        return text if text and passes(text) else ""

    def still(self, passes: Callable[[str], object] = bool) -> str:
        """The first picture that passes and stands still; "" if none does before long."""
        last, same, alike = "", 0, False

        def stands(text: str) -> bool:
            nonlocal last, same, alike
            asleep = self._sleep.looks() >= _ASLEEP
            alike, same = text == last, same + self._sleep.ran if text == last else 0
            last = text
            return ((asleep and alike) or same >= _STILL) and bool(passes(text))

        return self.until(stands)

    def end_interval(self) -> None:
        """End an interval, and wait for its frame, which would otherwise sort rows anew between two keys."""
        seen = interval_of(self.picture)
        self.press("C-j")
        assert self.until(partial(has_another, seen)), self.picture

    def end(self) -> None:
        """Leave nothing behind."""
        subprocess.run([*self._tmux, "kill-server"], check=False, capture_output=True)  # noqa: S603 - tmux
        self._control.communicate()


class Sleep:
    """Whether the program in the foreground of a terminal sleeps, by the context switches of its threads.

    Args:
        shell: process that leads the terminal's session.

    Attributes:
        ran: whether a thread got or gave up a CPU between the last two looks. A program that works and had no CPU shows
            nothing of what it is going to show, however often one looks.
    """

    def __init__(self, shell: int) -> None:
        self._shell = shell
        self.ran = False
        self._last: object = None
        self._before = self._switches()
        self._begun: object = None
        self._asleep = 0

    def begin(self) -> None:
        """A key is sent: the program has to wake up before it sleeps again."""
        self._before = self._begun = self._switches()
        self._asleep = 0

    def looks(self) -> int:
        """Check once more, and return for how many checks the program has slept since the last keys woke it."""
        now = self._switches()
        self._asleep = self._asleep + 1 if now and now == self._before and now != self._begun else 0
        self._before = now
        return self._asleep

    def _switches(self) -> frozenset[str]:
        """Each thread with its switches (proc_pid_status(5)); nothing if one of them runs, or waits for a disk."""
        result, busy = set(), False
        try:
            with open(f"/proc/{self._shell}/stat", encoding="utf-8", errors="replace") as file:
                leader = file.read().rpartition(") ")[2].split()[5]  # tpgid: who has the terminal
            for thread in os.listdir(f"/proc/{leader}/task"):
                with open(f"/proc/{leader}/task/{thread}/status", encoding="utf-8", errors="replace") as file:
                    text = file.read()
                busy = busy or "\nState:\tS" not in text
                result.add(f"{thread} {text[text.index('voluntary_ctxt_switches'):]}")
        except OSError:  # it has just ended
            return frozenset()
        self.ran, self._last = result != self._last, result
        return frozenset() if busy else frozenset(result)


@contextmanager
def dashboard(folder: Path, machine: tuple[str, ...], size: tuple[int, int],
              words: tuple[str, ...] = (), *, forked: bool = False) -> Iterator[Terminal]:
    """Run a dashboard until it has numbers, on a simulated machine with options, or by another command line."""
    terminal = Terminal(folder, machine, size, words, forked=forked)
    try:
        terminal.start()
        yield terminal
    finally:
        terminal.end()


class Pressing:
    """Presses rows of the key table on one screen, and fails at the first without its expected effect."""

    def __init__(self, terminal: Terminal, place: Place) -> None:
        self.terminal = terminal
        self.place = place
        self._rest = self._before = ""
        self._begun = ""

    def come(self) -> None:
        """Go to the screen, and end intervals until there is a past, and the last has what the screen's keys act on."""
        self.terminal.press(self.place.number)
        assert self.terminal.until(lambda text: re.search(MARKS[self.place.number], text)), self.terminal.picture
        self._make_past()
        self._settle()
        assert re.search(self.place.ready, self._rest), self._rest

    def _make_past(self) -> None:
        """End intervals one after the other; those that are ended at once are one."""
        for _ in range(_PAST_FRAMES):
            self.terminal.end_interval()

    def _settle(self) -> None:
        """Wait until every key has been followed: a sentence that one begins is there, and gone again.

        What a key has begun anew (the tasks that are watched) may have its first numbers after the next interval only,
        and what a busy machine reads too late is unknown in this one.
        """
        self.terminal.press("z")
        assert self.terminal.until(lambda text: "mean were reset" in text), self.terminal.picture
        for _ in range(_INTERVALS_TO_BE_READY):
            self.terminal.press(*self.place.calm)
            if self.terminal.soon(lambda text: self._is_home(text) and re.search(self.place.ready, text)):
                break
            self.terminal.end_interval()
        # not the first such picture: the line that tells where the cursor is may be drawn before the table is scrolled
        self._rest = self.terminal.still(self._is_home)
        assert self._rest, self.terminal.picture

    def _is_home(self, picture: str) -> bool:
        return bool(re.search(self.place.home, picture))

    def press(self, action: Action, promise: Promise) -> None:
        """Press every key of one row, and come back after each."""
        for key in action.keys:
            words = f"{action.shown} ({key}) on screen {self.place.number}: {action.help}"
            shows = self._shows(named(key), promise)
            if not shows and interval_of(self.terminal.picture) != self._begun:
                self._come_back(promise)  # a frame came meanwhile: rows were sorted anew
                shows = self._shows(named(key), promise)
            assert shows, (
                f"{words} Not seen: {promise}\n{self._before}\n{self.terminal.picture}")
            self._come_back(promise)

    def _shows(self, key: str, promise: Promise) -> bool:
        """Press one key, and check that its expected effect appears and was not there before."""
        terminal, home = self.terminal, self.place.home
        self._begun = interval_of(terminal.picture)
        for key_before in promise.first:  # what the last shows is what the key is compared with
            was = terminal.still()
            terminal.press(key_before)
            terminal.soon(partial(operator.ne, was))
        before = self._before = terminal.still(
            lambda text: re.search(promise.now or home, text) and not promise.kept(text, text, home))
        terminal.press(key, *promise.typed)
        return bool(before and terminal.until(lambda text: promise.kept(before, text, home)))

    def _come_back(self, promise: Promise) -> None:
        """Undo the effect of the key."""
        self.terminal.press(*promise.undo, *self.place.calm)
        there = self.terminal.soon(lambda text: text == self._rest or (not self.place.exact and self._is_home(text))
                                   or (interval_of(text) != interval_of(self._rest) and self._is_home(text)))
        if there != self._rest and (self.place.exact or not there):
            self._settle()


def interval_of(picture: str) -> str:
    """The numbers of the interval on the screen, from its length to the end of the next line; "" if it has none."""
    numbers = re.search(r"over [\d.]+ s.*\n.*", picture)
    return numbers[0] if numbers else ""


def has_another(seen: str, picture: str) -> bool:
    """Whether a picture has the numbers of another interval."""
    return interval_of(picture) not in {"", seen}


def is_pressed(action: Action, place: Place) -> bool:
    """Whether a row is pressed on a screen: its own rows are, and of those that work everywhere each fourth.

    What these do is the dashboard's, whatever screen is shown; that no screen takes their keys is held by
    tests/app/test_key_table.py, and that none of them ends a screen by test_keys_of_modes.py.
    """
    if EVERYWHERE not in action.where or action.id in place.keys:
        return True
    everywhere = [other.id for other in ACTIONS if EVERYWHERE in other.where]
    # one of those that change the interval begins where the other has ended
    row = everywhere.index(_INTERVALS[0] if action.id in _INTERVALS else action.id)
    screen = [spec.number for spec in SCREENS].index(place.number)
    return (row + screen) % PLACES_APART == 0


def press_rows(folder: Path, place: Place) -> None:
    """Press the rows of the key table that are promised something on a screen."""
    with dashboard(folder, place.machine, place.size) as terminal:
        pressing = Pressing(terminal, place)
        pressing.come()
        # what ends intervals comes late, and what changes them last
        for action in sorted(ACTIONS, key=lambda row: (EVERYWHERE in row.where, row.id in _INTERVALS)):
            promise = place.promise(action)
            if promise is not None and is_pressed(action, place):
                pressing.press(action, promise)
