"""Characters that a terminal cannot show are replaced by others of the same width: by locale, terminal and option."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from rich.cells import cell_len

from turbotui.repertoire import ASCII, CONSOLE, Abilities, Repertoire, abilities_of, screen_encoding, text_encoding

PACKAGE = Path(__file__).parents[1] / "turbotui"
OURS = sorted(set(re.findall(r"[^\x00-\x7f]", "".join(
    path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")))) - {"\u2400"})
"""Every character beyond ASCII in the program's own text."""


@pytest.mark.parametrize("encoding", [ASCII, CONSOLE, "iso8859-1"])
def test_all_of_our_own_characters_have_a_stand_in(encoding: str) -> None:
    repertoire = Repertoire(encoding)
    for char in (*OURS, *map(chr, range(0x2800, 0x2900))):
        shown = char.translate(repertoire)
        assert shown.encode(encoding)
        assert cell_len(shown) == cell_len(char)
        assert shown != "?", char


@pytest.mark.parametrize(("text", "shown"), [
    ("41 °C · 3 µs — ▲ 12", "41 'C . 3 us - ^ 12"),
    ("▁▂▃▄▅▆▇█", "_.-=+*%#"),
    ("·░▒▓█", ".:+%#"),
    ("┌─┐│└┘", "+-+|++"),
    ("é", "e"),
    ("solver --mesh wing.msh…", "solver --mesh wing.msh~"),
    ("by heat … solver 10000", "by heat.. solver 10000"),
    ("東京", "????"),
    ("e\u0301x", "ex"),
    ("\u2800\u2809\u28c0\u2836\u28ff", " '_:#"),
    ("\x1b[1m", "\x1b[1m"),
])
def test_what_stands_in(text: str, shown: str) -> None:
    assert Repertoire(ASCII).shown(text) == shown
    if "\u0301" not in text:
        assert cell_len(shown) == cell_len(text)


def test_printed_text_loses_nothing_that_came_from_outside() -> None:
    repertoire = Repertoire(ASCII, escaping=True)
    assert "— 41 °C ┌▁⣿".translate(repertoire) == "- 41 'C +_#"
    assert "\u27ea1b\u27eb é \u241b".translate(repertoire) == "\\u27ea1b\\u27eb \\xe9 \\u241b"


def test_steps_stay_apart() -> None:
    for ramp in ("▁▂▃▄▅▆▇█", "·░▒▓█"):
        assert len(set(ramp.translate(Repertoire(ASCII)))) == len(ramp)


def test_the_console_keeps_its_frames_and_shades() -> None:
    kept = "┌─┐│└┘├┤┬┴┼░▒▓█▄▀■·°±µ≤√"
    assert kept.translate(Repertoire(CONSOLE)) == kept
    assert Repertoire(CONSOLE).shown("▁▃▇ ✓ x… …● …") == "_▄█ √ x~..■.."


@pytest.mark.parametrize(("environment", "encoding"), [
    ({}, None),
    ({"LANG": "C.UTF-8"}, None),
    ({"LANG": "de_DE.utf8"}, None),
    ({"LANG": "C"}, ASCII),
    ({"LANG": "POSIX"}, ASCII),
    ({"LANG": "de_DE"}, ASCII),
    ({"LANG": "C.UTF-8", "LC_ALL": "C"}, ASCII),
    ({"LANG": "C", "LC_CTYPE": "en_US.UTF-8"}, None),
    ({"LANG": "C", "LC_ALL": "", "LC_CTYPE": ""}, ASCII),
    ({"LANG": "de_DE.ISO-8859-1"}, ASCII),
    ({"TERM": "vt100"}, ASCII),
    ({"TERM": "vt220-w"}, ASCII),
    ({"TERM": "linux"}, CONSOLE),
    ({"TERM": "linux", "LANG": "C"}, ASCII),
    ({"TERM": "xterm-256color"}, None),
    ({"TERM": "vte-256color"}, None),
    ({"TURBOTUI_ASCII": "1"}, ASCII),
    ({"TURBOTUI_ASCII": "0", "LANG": "C", "TERM": "vt100"}, None),
])
def test_locale_and_terminal_decide(environment: Mapping[str, str], encoding: str | None) -> None:
    assert screen_encoding(environment) == encoding


def test_text_has_what_its_stream_can_encode() -> None:
    assert text_encoding({"LANG": "C"}, "utf-8", terminal=False) is None
    assert text_encoding({"LANG": "C"}, "utf-8", terminal=True) == ASCII
    assert text_encoding({}, "ascii", terminal=False) == "ascii"
    assert text_encoding({}, "iso8859-1", terminal=True) == "iso8859-1"
    assert text_encoding({"TURBOTUI_ASCII": "1"}, "utf-8", terminal=False) == ASCII


@pytest.mark.parametrize(("environment", "expected"), [
    ({"TERM": "xterm-256color"}, Abilities()),
    ({"TERM": "vte-256color"}, Abilities()),
    ({"TERM": "xterm-256color", "NO_COLOR": "1"}, Abilities(colours=False)),
    ({"TERM": "xterm-256color", "NO_COLOR": ""}, Abilities()),
    ({"TERM": "vt100"}, Abilities(ASCII, colours=False)),
    ({"TERM": "linux"}, Abilities(CONSOLE, sixteen=True)),
])
def test_colours_by_terminal_and_wish(environment: Mapping[str, str], expected: Abilities) -> None:
    assert abilities_of(environment) == expected


@pytest.mark.skipif(shutil.which("tic") is None, reason="ncurses-bin compiles entries of terminfo")
@pytest.mark.parametrize(("term", "entry", "system"), [
    ("foot", "colors#256, RGB", "truecolor"), ("alacritty", "colors#256, Tc", "truecolor"),
    ("ghostty", "colors#256", "256"), ("foot", "colors#8", ""), ("ghostty", "", "256"), ("newterm", "", ""),
])
def test_colours_without_colorterm_are_those_of_terminfo(tmp_path: Path, term: str, entry: str, system: str) -> None:
    if entry:
        source = tmp_path / "entry.ti"
        source.write_text(f"{term}|a terminal,\n\tcols#80, {entry},\n", encoding="utf-8")
        subprocess.run(["tic", "-x", "-o", tmp_path, source], check=True, capture_output=True)  # noqa: S603, S607 - as written
    program = "import os; from turbotui.repertoire import abilities_of; print(abilities_of(os.environ).system)"
    environment = {name: value for name, value in os.environ.items() if name != "COLORTERM"}
    # a process of its own, because curses reads one entry
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True,  # noqa: S603 - as written
                           env={**environment, "TERM": term, "TERMINFO": str(tmp_path)})
    assert shown.stdout.strip() == system
