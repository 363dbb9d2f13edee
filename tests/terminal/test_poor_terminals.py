"""Every screen in terminals with few characters: each byte that is written can be shown there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
from barepty import BarePty
from patience import PATIENCE

from turbotui.app.screen_table import SCREENS
from turbotui.repertoire import SWITCH

TURBOTUI = (sys.executable, "-m", "turbotui")
PLAIN = dict.fromkeys(("LC_ALL", "LC_CTYPE", "LANG", "NO_COLOR", SWITCH), "")
TERMINALS = {
    "vt100": ({"TERM": "vt100"}, (), "ascii"),
    "C": ({"LANG": "C", "TERM": "xterm-256color"}, (), "ascii"),
    "by hand": ({"TERM": "xterm-256color"}, ("--ascii",), "ascii"),
    "console": ({"TERM": "linux"}, (), "cp437"),
}
SEQUENCE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[()].|[=>78])")
STYLE = re.compile(rb"\x1b\[([0-9;]*)m")
EVERY_SCREEN = ("vt100", "console")
"""Terminals on which all screens are drawn, one of each set of characters; the first screen tells it of others."""
COLOURS = {*range(30, 39), *range(40, 49), *range(90, 98), *range(100, 108)}
"""SGR numbers that set a colour (ECMA-48 8.3.117, XTerm Control Sequences); 39 and 49 are the terminal's own."""
REVERSE = 7


def shown(terminal: BarePty) -> str:
    """Return the output since the last key, without control sequences."""
    return SEQUENCE.sub(b"", terminal.output).decode("utf-8", "ignore")  # it may end within a character


@pytest.mark.parametrize("kind", TERMINALS)
def test_every_byte_can_be_shown(kind: str) -> None:
    environment, options, encoding = TERMINALS[kind]
    terminal = BarePty((*TURBOTUI, "--machine", "laptop", "-i", "1", *options), size=(120, 36),
                       environment={**PLAIN, **environment})
    try:
        terminal.until(rb"over \d")
        written = shown(terminal)
        for spec in (*SCREENS[1:], SCREENS[0]) if kind in EVERY_SCREEN else ():  # it begins on the first
            terminal.press(spec.number.encode())
            # the footer is drawn anew, with the screen's own tab in another style
            terminal.until(rb"m ?" + spec.number.encode() + rb" " + spec.word.encode())
            written += shown(terminal)
        terminal.press(b"1")
        terminal.until(rb"Busy%")
        terminal.press(b"g")
        terminal.until(rb"intervals")
        written += shown(terminal)
        terminal.press(b"\x03")
        terminal.ended()
    finally:
        terminal.end()
    assert written.encode(encoding)
    assert len(re.findall(r"[-#=|+]" if encoding == "ascii" else "[─█│]", written)) > 100


def test_a_terminal_without_colours_gets_none() -> None:
    terminal = BarePty((*TURBOTUI, "--machine", "laptop", "-i", "1"), environment={**PLAIN, "TERM": "vt100"})
    try:
        terminal.until(rb"over \d")
        terminal.press(b"3")
        terminal.until(rb"unknown")
        styles = {int(word) for result in STYLE.findall(terminal.output) for word in result.split(b";") if word}
        assert not styles & COLOURS
        assert REVERSE in styles  # the cursor is there all the same
    finally:
        terminal.end()


def test_a_terminal_that_cannot_move_its_cursor_is_told_what_to_do() -> None:
    terminal = BarePty(TURBOTUI, environment={"TERM": "dumb"})
    try:
        assert terminal.ended() == 4
        assert b"turbotui stat" in terminal.output
        assert b"\x1b" not in terminal.output
    finally:
        terminal.end()


@pytest.mark.parametrize("words", [
    ("info", "--machine", "laptop"), ("doctor", "--machine", "laptop"), ("columns",), ("machines",),
    ("stat", "--machine", "guest", "-n", "1", "-i", "0.1"), ("columns", "--help"),
], ids=" ".join)
def test_text_has_only_what_its_stream_can_encode(words: tuple[str, ...]) -> None:
    done = subprocess.run([*TURBOTUI, *words], check=False, capture_output=True, timeout=PATIENCE,  # noqa: S603 - ours
                          env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert done.stderr.isascii()
    assert not re.search(rb"\\u[0-9a-f]{4}|\\x[0-9a-f]{2}", done.stdout)  # nothing of ours had to be escaped


def test_json_loses_nothing_where_it_cannot_be_shown() -> None:
    def tables(encoding: str) -> object:
        done = subprocess.run([*TURBOTUI, "columns", "--json"], check=True, capture_output=True,  # noqa: S603 - ours
                              timeout=PATIENCE, env={**os.environ, "PYTHONIOENCODING": encoding})
        assert done.stdout.isascii() is (encoding == "ascii")
        parts = [json.loads(line) for line in done.stdout.decode(encoding).splitlines() if line]
        return [{name: value for name, value in part.items() if name != "time"} for part in parts]

    assert tables("ascii") == tables("utf-8")
