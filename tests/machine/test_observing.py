"""Observed commands: none runs before it is started, signals reach them, and their ends are reported alike."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from patience import PATIENCE

from turbotui.machine.launching import NotRunError
from turbotui.machine.linux import LinuxHost
from turbotui.machine.observing import observe

ROOT = Path(__file__).parents[2]


def test_nothing_runs_before_it_is_let_go_and_what_is_not_let_go_never_does(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    before = LinuxHost().list_dir("/proc/self/fd")
    with observe(["touch", str(mark)], ["touch", str(mark)]) as seen:
        assert len(seen.running) == 2
        assert not seen.wait(time.monotonic())
    assert not mark.exists()
    with observe(["touch", str(mark)]) as seen:
        seen.run()
        assert seen.wait()
        assert seen.seconds > 0
    assert mark.exists()
    assert len(LinuxHost().list_dir("/proc/self/fd")) == len(before)


@pytest.mark.parametrize(("script", "code", "status"), [("exit 3", 3, 3), ("kill -TERM $$", -15, 143)])
def test_an_end_is_reported_as_waitpid_and_as_a_shell_has_it(script: str, code: int, status: int) -> None:
    with observe(["sh", "-c", script]) as seen:
        seen.run()
        assert seen.wait()
    assert (seen.commands[0].poll(), seen.commands[0].status) == (code, status)


def test_sigterm_is_handed_on_and_sigint_is_the_commands_own() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with observe(["sleep", "1000"]) as seen:
        seen.run()
        os.kill(os.getpid(), signal.SIGINT)
        assert not seen.wait(time.monotonic() + 0.05)
        os.kill(os.getpid(), signal.SIGTERM)
        assert seen.wait()
        os.kill(os.getpid(), signal.SIGTERM)  # it has ended: there is nobody to hand it on to
    assert seen.signals == [signal.SIGINT, signal.SIGTERM, signal.SIGTERM]
    assert seen.commands[0].status == 128 + signal.SIGTERM
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_whoever_ends_the_watching_hands_the_signal_on() -> None:
    came: list[int] = []
    with observe(["sleep", "1000"], ["sleep", "1000"]) as seen:
        seen.run(came.append)
        os.kill(os.getpid(), signal.SIGHUP)
        assert came == [signal.SIGHUP]
        seen.end(signal.SIGHUP, lambda seconds: seen.wait(time.monotonic() + min(seconds, 0.01)))
        assert [command.status for command in seen.commands] == [128 + signal.SIGHUP] * 2


def test_where_one_cannot_be_run_the_others_end() -> None:
    with observe(["sleep", "1000"], ["/no/such/program"]) as seen:
        with pytest.raises(NotRunError, match="/no/such/program"):
            seen.run()
        assert seen.wait()
        assert seen.commands[0].status == 128 + signal.SIGTERM


def test_held_commands_end_with_whoever_holds_them(tmp_path: Path) -> None:
    script = (
        "import os, signal\n"
        "from turbotui.machine.observing import observe\n"
        f"words = ['touch', {str(tmp_path / 'ran')!r}]\n"
        "seen = observe(words, words)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    # communicate returns when the last of them has closed its stdout
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, timeout=PATIENCE,  # noqa: S603 - ours
                          check=False)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "ran").exists()


@pytest.mark.real
def test_a_signal_to_stat_ends_its_command_and_the_table_is_printed() -> None:
    turbotui = subprocess.Popen([sys.executable, "-m", "turbotui", "stat", "--quiet", "--show", "CPU",
                                 "sh", "-c", "echo up; exec sleep 1000"], cwd=ROOT, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
    with turbotui:
        assert turbotui.stdout is not None
        assert turbotui.stdout.readline() == "up\n"
        turbotui.terminate()
        _, text = turbotui.communicate(timeout=PATIENCE)
    assert turbotui.returncode == 128 + signal.SIGTERM
    assert " sec\n" in text
