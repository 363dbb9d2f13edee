"""`turbotui -- COMMAND` in a pseudo-terminal: the command's end, its status, its output, and every way to leave."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from barepty import BarePty
from patience import until_gone

pytestmark = pytest.mark.real
_ENDS_SCREEN = b"\x1b[?1049l"


@contextmanager
def beside(*words: str, options: tuple[str, ...] = (), leader: tuple[str, ...] = (),
           size: tuple[int, int] = (120, 36)) -> Iterator[BarePty]:
    """Run a command with the dashboard beside it, from a program of the same terminal or detached."""
    running = BarePty((*leader, sys.executable, "-m", "turbotui", "-i", "0.2", *options, "--", *words),
                      controlling=bool(leader), size=size, forked=not leader)
    try:
        yield running
    finally:
        running.end()


def told(running: BarePty) -> str:
    """Return the text of the usual screen after the dashboard."""
    return running.output.rpartition(_ENDS_SCREEN)[2].decode(errors="replace").replace("\r\n", "\n")


def sleeper(folder: Path) -> str:
    """A script that says that it runs, and goes on for ever; its number is in a file."""
    return f"echo $$ > {folder}/pid; echo be''gun; i=0; while [ $i -lt 3000 ]; do sleep 0.1; i=$((i+1)); done"


def test_it_ends_with_the_command_and_tells_its_output_its_status_and_what_the_machine_did() -> None:
    with beside("sh", "-c", "echo first line; echo to stderr >&2; sleep 1; exit 3") as running:
        running.until(rb"first line|to stderr")
        assert running.ended() == 3
        text = told(running)
        assert running.restored
    assert re.search(r"first line\nto stderr\n", text)
    assert re.search(r"sh -c .* ended with status 3 after \d", text)
    assert "s of CPU time" in text
    assert re.search(r"(?m)^ *CPU +TSC_MHz|^.*\bCPU\b.*\n +-", text), text


def test_sentences_of_the_report_are_wrapped_between_words() -> None:
    words = "a title that is as long as a line of a narrow terminal"
    with beside("sh", "-c", "sleep 0.3", words, size=(60, 24)) as running:
        assert running.ended() == 0
        text = told(running)
    assert re.search(r"ended\s+with\s+status\s+0\s+after", text), text
    sentences = text[text.index("sh -c"):].partition("\n\n")[0].splitlines()
    assert len(sentences) > 2
    assert max(map(len, sentences)) <= 60, "no number is cut by the end of the line"


def test_its_tasks_are_counted_from_the_first_instruction_and_reported() -> None:
    with beside(sys.executable, "-c", "sum(range(10**7))") as running:
        assert running.ended() == 0
        text = told(running)
    assert re.search(r"(?m)^ +1 +python3?\S* ", text) or "cannot" in text or "permit" in text, text


def test_who_made_it_long_is_reported_and_stands_on_the_tasks_screen_of_its_replay() -> None:
    with beside(sys.executable, "-c", "sum(range(10**7))") as running:
        assert running.ended() == 0
        text = told(running)
    if not re.search(r"(?m)^ +1 +python3?\S* ", text) or "who makes it long is unknown" in text:
        pytest.skip("tasks are not counted here, or the machine was too busy to see every switch")
    sentence = re.search(r"(?m)^# (\d+ % of the time one thread ran alone)", text)
    assert sentence, text
    replay = BarePty((sys.executable, "-m", "turbotui", "replay"), size=(120, 36), forked=True)
    try:
        replay.until(rb"RECORDED")
        replay.press(b"7")
        replay.until(f"Who made it long: {sentence[1]}".encode())
    finally:
        replay.end()


def test_regions_that_it_marks_are_reported_at_the_end() -> None:
    marks = "echo B 1 $$ $$ 0 whole; echo B 2 $$ $$ 0 part; sleep 0.4; echo E 3 $$ $$ 0 part; echo B 4 $$ $$ 0 part"
    with beside("sh", "-c", f"exec 3>$TURBOTUI_REGIONS; {{ {marks}; }} >&3; sleep 0.2") as running:
        assert running.ended() == 0
        text = told(running)
    assert "Regions that the command marks:" in text
    assert re.search(r"(?m)^part +2 +\d+\.\d+", text)
    assert re.search(r"(?m)^whole +1 +\d+\.\d+", text)


def test_of_many_regions_the_report_has_those_that_took_most() -> None:
    marks = "i=0; while [ $i -lt 30 ]; do echo B 1 $$ $$ 0 r$i; echo E 2 $$ $$ 0 r$i; i=$((i+1)); done"
    with beside("sh", "-c", f"exec 3>$TURBOTUI_REGIONS; {{ {marks}; }} >&3; sleep 0.2") as running:
        assert running.ended() == 0
        text = told(running)
    assert len(re.findall(r"(?m)^r\d+ +1 ", text)) == 20
    assert "and 10 more regions" in text


@pytest.mark.parametrize(("word", "status"), [("/nowhere/command", 127), ("/etc/passwd", 126)])
def test_what_cannot_be_run_is_one_sentence_and_a_shells_status(word: str, status: int) -> None:
    with beside(word) as running:
        assert running.ended() == status
        assert re.fullmatch(rf"[\s\S]*turbotui: {word} cannot be run: [A-Z].*\n", told(running))
        assert running.restored


def test_ctrl_c_interrupts_the_command_whose_report_follows(tmp_path: Path) -> None:
    with beside("sh", "-c", sleeper(tmp_path)) as running:
        running.until(rb"begun")
        running.press(b"\x03")
        assert running.ended() == 128 + signal.SIGINT
        assert "ended by SIGINT after" in told(running)


def test_q_asks_what_is_to_happen_and_esc_changes_nothing(tmp_path: Path) -> None:
    with beside("sh", "-c", sleeper(tmp_path)) as running:
        running.until(rb"begun")
        running.press(b"q")
        running.until(rb"SIGTERM")
        running.press(b"\x1b")
        running.press(b"O")
        running.until(rb"scroll")
        running.press(b"\x1b")
        running.press(b"q")
        running.until(rb"SIGKILL")
        running.press(b"j\r")
        assert running.ended() == 128 + signal.SIGTERM
        assert "ended by SIGTERM" in told(running)


def test_the_screen_can_be_left_while_the_command_continues(tmp_path: Path) -> None:
    go = tmp_path / "go"
    with beside("sh", "-c", f"echo be''gun; i=0; while [ ! -e {go} ] && [ $i -lt 3000 ]; do sleep 0.1; "
                "i=$((i+1)); done; echo later") as running:
        running.until(rb"begun")
        running.press(b"q")
        running.until(rb"Close the screen")
        running.press(b"G\x1b[B\x1b[B\x1b[B\r")
        running.until(rb"1049l.*begun")
        go.touch()
        assert running.ended() == 0
        assert re.search(r"begun\nlater\n", told(running))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_handed_on_and_ends_both(tmp_path: Path, number: signal.Signals) -> None:
    with beside("sh", "-c", sleeper(tmp_path)) as running:
        running.until(rb"begun")
        running.process.send_signal(number)
        assert running.ended() == 128 + number
        assert f"ended by {number.name}" in told(running)
        assert running.restored


def test_a_terminal_that_is_closed_ends_the_command(tmp_path: Path) -> None:
    with beside("sh", "-c", sleeper(tmp_path)) as running:
        running.until(rb"begun")
        pid = int((tmp_path / "pid").read_text())
        running.close_master()
        assert running.ended(reading=False) == 128 + signal.SIGHUP
    until_gone(pid)


def test_stay_keeps_the_screen_until_q() -> None:
    with beside("sh", "-c", "exit 7", options=("--stay",)) as running:
        running.until(rb"ended with status 7")
        running.press(b"q")
        assert running.ended() == 7


def test_the_command_stops_and_continues_with_the_dashboard(tmp_path: Path) -> None:
    # without children: a shell that waits for the exec of its child, which was stopped before, is in the state D
    command = f"echo $$ > {tmp_path}/pid; echo be''gun; exec sleep 1000"
    with beside("sh", "-c", command, leader=(sys.executable, "-c", _SHELL)) as running:
        running.until(rb"begun")
        pid = int((tmp_path / "pid").read_text())

        def stopped(process: int) -> bool:
            return _fields(process)[0] in "tT"

        dashboard = int(_fields(pid)[1])
        os.kill(dashboard, signal.SIGTSTP)
        running.read_while(lambda: not stopped(pid), "the command did not stop")
        running.read_while(lambda: not stopped(dashboard), "the dashboard, which stops last, did not stop")
        os.kill(dashboard, signal.SIGCONT)
        running.read_while(lambda: stopped(pid), "the command did not go on")
        running.press(b"\x03")
        assert running.ended() == 128 + signal.SIGINT


_SHELL = """
import os, signal, subprocess, sys
program = subprocess.Popen(sys.argv[1:], process_group=0)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
os.tcsetpgrp(0, program.pid)
program.send_signal(signal.SIGCONT)  # it may have asked for the terminal before it had it (SIGTTOU)
sys.exit(program.wait())
"""
"""Puts a program in front of the terminal, as a shell does: without one in its session a program cannot be stopped."""


def _fields(pid: int) -> list[str]:
    """The state of a process, and who made it (proc_pid_stat(5))."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()


@pytest.mark.parametrize(("options", "sentence"), [
    (("--machine", "guest"), "turbotui: a command runs on this machine, not on a simulated one: leave --machine out\n"),
    (("--host", "node"), "turbotui: a command runs on this machine, not on another one: leave --host out\n"),
    (("--sysroot", "/usr"), "turbotui: a command runs on this machine, not on a recorded one: leave --sysroot out\n"),
])
def test_no_command_runs_on_another_machine(options: tuple[str, ...], sentence: str) -> None:
    with beside("true", options=options) as running:
        assert running.ended() == 2
        assert running.output.decode().replace("\r\n", "\n") == sentence


def test_without_a_terminal_it_names_what_needs_none() -> None:
    process = subprocess.run([sys.executable, "-m", "turbotui", "--", "true"], stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, check=False)
    assert process.returncode == 4
    assert "turbotui stat -- COMMAND" in process.stderr
