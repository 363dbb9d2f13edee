"""A signal to `turbotui tasks` alone also ends the command that it started, and the last table is printed."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

import pytest
from patience import PATIENCE
from watchedtasks import started, switches_allowed

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not switches_allowed(), reason="perf does not sample switches here"),
]
SLEEPER = "echo $$; exec sleep 3600"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("target", [("--", "sh", "-c", SLEEPER), ("--app", f"one:run=sh -c '{SLEEPER}'")])
def test_a_signal_is_passed_on_to_the_command(number: signal.Signals, target: tuple[str, ...]) -> None:
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("ignored by whoever started the tests, and so by every command")
    process = started(*target)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    name = Path(f"/proc/{child}/comm")
    while name.read_text(encoding="ascii") != "sleep\n":  # the shell has yet to become it
        time.sleep(0.001)
    try:
        process.send_signal(number)
        out, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 128 + number
        assert not Path(f"/proc/{child}").exists()
        assert "whole run" in out
        assert "sleep" in out
    finally:
        process.kill()
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
