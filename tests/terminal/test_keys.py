"""Bytes of the terminal as keys."""

from __future__ import annotations

import string
import time

from every_row import of_every
from textual import events
from textual.message import Message

from turbotui.terminal.driver import KeyParser

LETTERS = string.ascii_letters + string.digits + string.punctuation + " é"


def keys(*readings: str) -> list[str]:
    """Names of the keys, when the terminal hands these over one after the other and then nothing for a while."""
    parser = KeyParser()
    found: list[Message] = [event for text in readings for event in parser.feed(text)]
    end = time.monotonic() + 10
    while parser._timeout_time is not None and time.monotonic() < end:
        found += parser.tick()
    return [event.key for event in found if isinstance(event, events.Key)]


@of_every(LETTERS, name=repr)
def test_escape_and_a_letter_are_two_keys(letter: str) -> None:
    alone = keys(letter)
    assert len(alone) == 1
    assert keys(f"\x1b{letter}") == keys("\x1b", letter) == ["escape", *alone]


def test_escape_and_enter_are_two_keys() -> None:
    assert keys("\x1b\r") == ["escape", "enter"]


def test_keys_without_letters_stay_what_they_are() -> None:
    assert keys("\x1b[B", "\x1bOP", "\x1b[Z", "\x1b[5~") == ["down", "f1", "shift+tab", "pageup"]
    assert keys("\x1b", "[", "B") == ["down"]
    assert keys("\x1b\x1b[B") == keys("\x1b", "\x1b[B") == ["escape", "down"]
    assert keys("\x1b[112;3u") == ["alt+p"]  # a terminal that has a name for it
