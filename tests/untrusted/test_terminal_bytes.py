"""The bytes that reach a terminal: the program in a pseudo-terminal, with hostile names everywhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from barepty import BarePty
from patience import PATIENCE

sys.path.insert(0, str(Path(__file__).parent))
from hostile import HOSTILE, UNSAFE, record

from bench.terminal import Terminal

ROOT = Path(__file__).parents[2]
_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
_TURBOTUI = (sys.executable, "-m", "turbotui")
THREADS = """
import ctypes, threading, time
def work(name):
    ctypes.CDLL(None).prctl(15, name, 0, 0, 0)  # PR_SET_NAME
    end = time.monotonic() + 0.6
    while time.monotonic() < end:
        sum(range(1000))
        time.sleep(0.002)
names = [b"\\x1b[2Jx", b"\\x1b]0;t\\x07", b"a\\nb\\tc", b"\\xff\\x9b", "\\u202eev\\u200b".encode(), "\\u009b2".encode()]
threads = [threading.Thread(target=work, args=(name,)) for name in names]
for thread in threads:
    thread.start()
open("/proc/self/comm", "wb").write(b"main\\x1b[31m\\rz")
for thread in threads:
    thread.join()
"""


def printed(words: Sequence[str], tmp_path: Path, **environment: str) -> str:
    """Return everything that a command writes to its terminal, without the terminal's own carriage returns and
    colours.
    """
    places = {"XDG_DATA_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    terminal = Terminal([*_TURBOTUI, *words], 160, 48, {**places, **environment})
    taken = bytearray()
    end = time.monotonic() + PATIENCE
    while data := terminal.drain(max(0.1, end - time.monotonic())):
        taken += data
    terminal.end()
    return _COLOUR.sub("", taken.decode("utf-8", "surrogateescape").replace("\r\n", "\n"))


def unsafe(text: str) -> list[str]:
    return [text[max(0, match.start() - 30) : match.end() + 10] for match in UNSAFE.finditer(text)]


@pytest.mark.real
@pytest.mark.parametrize("options", [(), ("--timeline",), ("--json",), ("--by", "process")], ids=" ".join)
def test_names_of_threads(options: tuple[str, ...], tmp_path: Path) -> None:
    text = printed(["tasks", *options, "--", sys.executable, "-c", THREADS], tmp_path)
    assert unsafe(text) == []
    assert "u001b[2Jx" in text if "--json" in options else "␛[2Jx" in text or "main␛[31m␍z" in text
    assert options or "a␊b␉c" in text


@pytest.mark.real
def test_the_name_of_a_program_s_file(tmp_path: Path) -> None:
    program = tmp_path / "\x1b]0;t\x07"
    program.symlink_to("/bin/sleep")
    text = printed(["tasks", "--", str(program), "0.1"], tmp_path)
    assert unsafe(text) == []
    assert "␛]0;t␇" in text


@pytest.mark.parametrize("words", [
    ("\x1b[2J",), ("stat", "--sysroot", "/\x1b]0;t\x07\n\udcff"), ("stat", "--show", "a\x1b[2J\nb"),
    ("stat", "-n", "1", "--", "/\x1b[2J\n\udcff"), ("tasks", "--", "/\x1b[2J\n\udcff"), ("info", "--\x1b[2J"),
    ("stat", "--out", "/\x1b[2J\n/x"), ("spy", "--config", "/\x9b2J\n"),
    ("stat", "-n", "1", "-i", "0.05", "--add", "\x1b[2J"), ("doctor", "--machine", "\x1b[2J"),
    ("tasks", "--pid", "\x1b[2J"), ("tasks", "--cgroup", "/\x1b[2J", "-n", "1"), ("roofs", "--threads", "\x1b[2J"),
    ("stat", "--machine", "laptop-old", "--add", "cycles,name=\x1b[2J"),
    ("events", "sets", "\x1b[2J"), ("events", "encode", "\x1b[2J"), ("--profile", "\x1b[2J"), ("--theme", "\x1b[2J"),
], ids=[str(number) for number in range(18)])
def test_words_of_the_command_line_in_errors(words: tuple[str, ...], tmp_path: Path) -> None:
    if "--add" in words and "laptop-old" in words:
        words = (*words, "-n", "1", "-i", "0.05")
    text = printed(words, tmp_path)
    assert unsafe(text) == []
    assert "␛" in text or "⟪9b⟫" in text
    assert text.count("turbotui: ") <= 2


def test_a_column_s_name_with_a_tab_stays_one_cell(tmp_path: Path) -> None:
    text = printed(["stat", "-q", "-n", "1", "-i", "0.05", "--machine", "laptop-old", "--show", "CPU,Busy%",
                    "--add", "cycles,name=a\tb\nc"], tmp_path)
    assert "CPU\tBusy%\ta␉b␊c\n" in text


@pytest.mark.real
def test_a_command_is_given_the_very_words(tmp_path: Path) -> None:
    for verb in (["stat", "-q", "-n", "1"], ["tasks"]):
        done = subprocess.run([  # noqa: S603 - ours
            *_TURBOTUI, *verb, "--", "printf", "%s", b"\x1b[2J\xff\x9b\t\n" + "␛⟪1b⟫".encode()],
                              check=True, capture_output=True, cwd=ROOT, timeout=PATIENCE)
        assert b"\x1b[2J\xff\x9b\t\n" + "␛⟪1b⟫".encode() in done.stdout


def test_a_history_that_somebody_wrote(tmp_path: Path) -> None:
    folder = tmp_path / "turbotui" / "scores"
    folder.mkdir(parents=True)
    hostile = "".join(f"\\u{ord(item):04x}" for item in HOSTILE)
    line = ('{"format":1,"when":"2026-01-01T00:00:00Z","node":"NAME","simulated":"","configuration":{"NAME":"NAME"},'
            '"load":"NAME","seconds":1.0,"ratio":0.5,"lowest_cpu":0,"busy_cpus":1,"busy":1.0,"state":"NAME",'
            '"throttling":{"active":null,"heat":1,"limited":null,"reasons":["NAME"]},"baseline":"NAME","unit":"NAME",'
            '"predicted":1.0,"error":0.1,"measured":1.0,"warnings":["NAME"],"key":"a"}\n').replace("NAME", hostile)
    (folder / f"{os.uname().nodename}.jsonl").write_text(line)
    (folder / "\x1b[2J.jsonl").write_text("{damaged\n" + line)
    for words in (["score", "history"], ["score", "history", "--node", "all"], ["score", "history", "--json"]):
        text = printed(words, tmp_path)
        assert unsafe(text) == []
        assert "owned" in text


@pytest.mark.parametrize("encoding", ["ascii", "iso-8859-1"])
def test_a_terminal_that_has_no_word_for_the_marks(encoding: str, tmp_path: Path) -> None:
    done = subprocess.run([  # noqa: S603 - ours
            *_TURBOTUI, "stat", "--show", "\x1b[2J"], check=False, capture_output=True, cwd=ROOT,
                          timeout=PATIENCE,
                          env={**os.environ, "PYTHONIOENCODING": encoding, "XDG_DATA_HOME": str(tmp_path)})
    assert b"\\u241b[2J" in done.stderr
    assert b"internal error" not in done.stderr


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> str:
    root = tmp_path_factory.mktemp("hostile")
    record("laptop-old", root)
    return str(root)


@pytest.mark.parametrize("words", [
    ("doctor",), ("info",), ("stat", "-n", "1", "-i", "0.1"), ("events", "list"), ("roofs",)])
def test_texts_of_a_recorded_machine(words: tuple[str, ...], tree: str, tmp_path: Path) -> None:
    text = printed([*words, "--sysroot", tree], tmp_path)
    assert unsafe(text) == []
    assert "␛]0;owned␇" in text.replace("\n", "").replace(" ", "")


def test_the_dashboard_on_every_screen(tree: str, tmp_path: Path) -> None:
    terminal = BarePty([*_TURBOTUI, "--sysroot", tree, "-i", "0.2"], size=(160, 48),
                       environment={"XDG_DATA_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path),
                                    "PYTHONPATH": str(ROOT), "TURBOTUI_TOUR": "0"})
    taken = b""
    two_frames = rb"over (\d[^\n]*)a reading.*over (?!\1)\d"  # the first may have been under way
    try:
        terminal.until(b"owned")
        for key in (b"2", b"3", b"4", b"5", b"6", b"7", b"8", b"9", b"1", b"C", b"\x1b", b"e", b"\x1b", b"?", b"\x1b"):
            taken += terminal.output
            terminal.press(key)
            # the window of columns covers the first line
            terminal.until(b"columns" if key == b"C" else two_frames)
        taken += terminal.output
        terminal.press(b"q")
        terminal.ended()
        taken += terminal.output
    finally:
        terminal.end()
    text = taken.decode("utf-8", "surrogateescape")
    assert "␛]0;owned␇" in text
    assert "\x1b]0;" not in text
    assert "\x1b[2J\x1b]" not in text
    assert re.findall("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]", text) == []
