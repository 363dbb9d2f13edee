"""The dashboard ends if its terminal disappears or accepts no more bytes."""

from __future__ import annotations

import re
import signal
import sys
import termios
import time
from collections.abc import Iterator

import pytest
from barepty import BarePty
from patience import PATIENCE

LEFT = rb"\x1b\[9999;1H\x1b\[J\x1b\[\?1049l.*\x1b\[\?25h"
SHOWN = rb"over \d"
KEPT_BY_A_KEY = """
import os, sys
{keeping}
import turbotui.app.dashboard
import turbotui.features.cpus.screen as at
at.TableScreen.action_joules = kept
from turbotui.cli import main
sys.exit(main(["--machine", "guest", "-i", "0.2", "--screen", "cpus"]))
"""
WAITS = "import asyncio\nasync def kept(self):\n    os.write(1, b'kept')\n    await asyncio.Event().wait()"
RUNS = "def kept(self):\n    os.write(1, b'kept')\n    while True: pass"


@pytest.fixture
def bare() -> Iterator[BarePty]:
    """Run a dashboard without a controlling terminal, so that no SIGHUP reports the terminal's end."""
    running = BarePty(forked=True)
    yield running
    running.end()


def test_the_end_of_a_terminal_that_is_nobodys_ends_the_program(bare: BarePty) -> None:
    bare.until(SHOWN)
    bare.close_master()
    assert bare.ended(reading=False) == 4


def test_the_end_of_the_controlling_terminal_ends_the_program() -> None:
    running = BarePty(controlling=True, forked=True)
    try:
        running.until(SHOWN)
        running.close_master()
        assert running.ended(reading=False) in {128 + signal.SIGHUP, 4}  # SIGHUP and the end of input arrive at once
    finally:
        running.end()


@pytest.mark.parametrize("key", [b"q", b"\x03", b"\x11"], ids=["q", "Ctrl+C", "Ctrl+Q"])
@pytest.mark.parametrize("lines", [1, 2, 3, 5])
def test_a_terminal_that_is_too_small_can_be_left(lines: int, key: bytes) -> None:
    running = BarePty(size=(80, lines), forked=True)
    try:
        running.until(rb"too small")
        running.press(key)
        assert running.ended() == 0
        assert running.restored
    finally:
        running.end()


@pytest.fixture(params=[WAITS, RUNS], ids=["waits", "runs"])
def kept(request: pytest.FixtureRequest) -> Iterator[BarePty]:
    """Run a dashboard in which a key is handled for ever."""
    running = BarePty((sys.executable, "-c", KEPT_BY_A_KEY.format(keeping=request.param)), forked=True)
    running.until(SHOWN)
    running.press(b"J")
    running.until(rb"kept")
    yield running
    running.end()


def test_the_end_of_the_terminal_ends_what_a_key_keeps(kept: BarePty) -> None:
    kept.close_master()
    assert kept.ended(reading=False) in {128 + signal.SIGTERM, 4}


def test_a_second_signal_ends_what_a_key_keeps_and_restores_the_terminal(kept: BarePty) -> None:
    kept.process.send_signal(signal.SIGTERM)
    end = time.monotonic() + PATIENCE
    while kept.process.poll() is None and time.monotonic() < end:
        kept.take(1.2)  # longer than a signal is taken for the same
        kept.process.send_signal(signal.SIGTERM)
    assert kept.ended() == 128 + signal.SIGTERM
    assert kept.restored
    assert b"Traceback" not in kept.output


def test_however_fast_keys_come_a_signal_ends_it_soon(bare: BarePty) -> None:
    bare.until(SHOWN)
    for _ in range(100):
        bare.press(b"\x1b[B" * 1000)
        bare.take(0.01)
    bare.process.send_signal(signal.SIGTERM)
    assert bare.ended() == 128 + signal.SIGTERM


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_it_while_the_terminal_takes_no_bytes(bare: BarePty, number: signal.Signals) -> None:
    bare.until(SHOWN)
    termios.tcflow(bare.slave, termios.TCOOFF)
    bare.press(b"3")
    bare.process.send_signal(number)
    assert bare.ended(reading=False) == 128 + number
    assert bare.restored
    bare.until(LEFT)


def test_q_ends_it_while_the_terminal_takes_no_bytes(bare: BarePty) -> None:
    bare.until(SHOWN)
    termios.tcflow(bare.slave, termios.TCOOFF)
    bare.press(b"3?q")  # q closes the help, the next one leaves
    bare.press(b"q")
    assert bare.ended(reading=False) == 0
    assert bare.restored


def test_a_terminal_that_takes_bytes_again_is_drawn_again(bare: BarePty) -> None:
    bare.until(SHOWN)
    termios.tcflow(bare.slave, termios.TCOOFF)
    for number in b"123456789" * 12:  # some hundred kilobytes of screens
        bare.press(bytes([number]))
    bare.press(b"3")
    termios.tcflow(bare.slave, termios.TCOON)
    bare.until(rb"package 0.*over \d")
    bare.press(b"q")
    assert bare.ended() == 0
    assert bare.restored


@pytest.mark.parametrize("pasted", [b"\x1b[1114112u", b"\x1b[97;5:3u", b"\x1b[48;30;100;0;0t\x1b[<0;1;1M",
                                    b"\x1bP1$r2 q\x1b\\", b"\x1b[" + b"1" * 20_000 + b"q"])
def test_what_looks_like_a_key_and_is_none_neither_ends_it_nor_its_keys(bare: BarePty, pasted: bytes) -> None:
    bare.until(SHOWN)
    bare.press(pasted)
    bare.press(b"?")
    bare.until(rb"keys and columns")
    bare.press(b"q")
    bare.press(b"q")
    assert bare.ended() == 0
    assert b"Traceback" not in bare.output


@pytest.mark.parametrize("way", [b"q", b"\x03", signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT])
def test_every_way_out_ends_on_an_empty_last_row(bare: BarePty, way: bytes | signal.Signals) -> None:
    bare.until(SHOWN)
    if isinstance(way, bytes):
        bare.press(way)
    else:
        bare.process.send_signal(way)
    assert bare.ended() == (0 if isinstance(way, bytes) else 128 + way)
    after = bare.output.rpartition(b"\x1b[9999;1H\x1b[J\x1b[?1049l")[2]
    assert after != bare.output
    assert re.fullmatch(rb"(\x1b\[\?\d+[hl])*", after)  # modes move no cursor


def test_no_size_takes_all_memory() -> None:
    running = BarePty(environment={"COLUMNS": "99999999", "LINES": "40"}, forked=True)
    try:
        running.until(SHOWN)
        running.press(b"q")
        assert running.ended() == 0
        assert running.restored
    finally:
        running.end()
