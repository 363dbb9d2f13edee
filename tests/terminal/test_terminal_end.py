"""The dashboard ends if its terminal disappears or accepts no more bytes."""

from __future__ import annotations

import re
import signal
import termios
from collections.abc import Iterator

import pytest
from barepty import BarePty

LEFT = rb"\x1b\[9999;1H\x1b\[J\x1b\[\?1049l.*\x1b\[\?25h"
SHOWN = rb"#[1-9]"


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
    bare.until(rb"package 0.*#\d")
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
