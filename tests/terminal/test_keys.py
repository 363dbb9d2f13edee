"""Bytes of the terminal as keys."""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence
from itertools import pairwise

import pytest
from every_row import of_every
from hypothesis import example, given
from hypothesis import strategies as st
from textual import events, messages
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.message import Message

from turbotui.opening.keys import is_key
from turbotui.terminal.keys import InputMessages
from turbotui.terminal.sequences import InputSequences, escape_wait

LETTERS = string.ascii_letters + string.digits + string.punctuation + " é"

ANSWERS = {
    "DA1": b"\x1b[?62;22c", "DA1 of another terminal": b"\x1b[?6c", "DA2": b"\x1b[>41;370;0c",
    "DA3": b"\x1bP!|00000000\x1b\\", "DA3 ended by BEL": b"\x1bP!|7E565445\x07",
    "XTVERSION": b"\x1bP>|tmux 3.5a\x1b\\", "XTGETTCAP": b"\x1bP1+r544e=787465726d\x1b\\",
    "XTGETTCAP, unknown": b"\x1bP0+r\x1b\\", "DECRQSS": b"\x1bP1$r2 q\x1b\\", "DECRQSS, refused": b"\x1bP0$r\x1b\\",
    "DECRPTUI": b"\x1bP!|q\x9c", "OSC 4": b"\x1b]4;1;rgb:cdcd/0000/0000\x1b\\",
    "OSC 10": b"\x1b]10;rgb:ffff/ffff/ffff\x07", "OSC 11": b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\",
    "OSC 52": b"\x1b]52;c;cXVpdA==\x1b\\", "title": "\x1b]lqÜber\x1b\\".encode(), "icon": b"\x1b]Lq\x1b\\",
    "kitty keyboard": b"\x1b[?5u", "kitty graphics": b"\x1b_Gi=1;OK\x1b\\", "colour scheme": b"\x1b[?997;1n",
    "status": b"\x1b[0n", "position": b"\x1b[12;40R", "position like F3": b"\x1b[1;2R",
    "position, DEC": b"\x1b[?1;1;1R",
    "window's size": b"\x1b[8;30;110t", "window's pixels": b"\x1b[4;600;1200t", "cell's pixels": b"\x1b[6;20;10t",
    "mode": b"\x1b[?1049;2$y", "ANSI mode": b"\x1b[4;2$y", "DECREPTPARM": b"\x1b[3;1;1;120;120;1;0x",
    "sixel": b"\x1b[?1;0;256S", "xterm modifiers": b"\x1b[>4;2m", "locator": b"\x1b[1;2;3;4;0&w",
    "mouse, first encoding": b"\x1b[M \xb6\x30", "mouse, UTF-8": b"\x1b[M !\xc2\xb6", "mouse, urxvt": b"\x1b[35;10;5M",
    "8-bit DA1": b"\x9b?62;22c", "8-bit DCS": b"\x90>|q\x9c", "8-bit OSC": b"\x9d11;rgb:0/0/0\x9c",
    "C1 in UTF-8": "\x9b?62;22c\x90q\x9c\x9dq\x9c\x9eq\x9c\x9fq\x9c\x98q\x9c".encode(),
    "PM": b"\x1b^quit\x1b\\", "SOS": b"\x1bXquit\x1b\\", "no UTF-8": b"\xff\xe9\xc3", "alone in C1": b"\x84\x9c\x81",
    "release of a key": b"\x1b[113;1:3u", "a key that nobody has": b"\x1b[57344u", "no number": b"\x1b[99;1~",
    "beyond Unicode": b"\x1b[9999999u", "a surrogate": b"\x1b[55296u", "text of a control": b"\x1b[0;;3u",
    "no end": b"\x1b[1;5", "no end of a string": b"\x1bP1$r2 q", "20 kB": b"\x1b[" + b"1" * 20_000 + b"q",
    "20 kB of a string": b"\x1b]0;" + b"q" * 20_000 + b"\x07", "end of no paste": b"\x1b[201~",
    "end of no string": b"\x1b\\", "VT52": b"\x1b/Z",
}
"""XTerm Control Sequences; the kitty keyboard and graphics protocols; contour's VT extensions."""


def read(*readings: bytes) -> list[Message]:
    """Messages, when the terminal hands these over one after the other and then nothing for a while."""
    typed = InputMessages(InputSequences())
    return [message for data in readings for message in typed.feed(data)] + list(typed.expire())


def keys(*readings: bytes) -> list[str]:
    """Names of the keys of what is read."""
    return [event.key for event in read(*readings) if isinstance(event, events.Key)]


def split(data: bytes, places: Iterable[int]) -> Sequence[bytes]:
    """The bytes in pieces."""
    cuts = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:end] for start, end in pairwise(cuts)]


@of_every(LETTERS.replace("\\", ""), name=repr)
def test_escape_and_a_letter_are_two_keys(letter: str) -> None:
    data = letter.encode()
    alone = keys(data)
    assert len(alone) == 1
    assert keys(b"\x1b" + data) == keys(b"\x1b", data) == ["escape", *alone]


def test_escape_and_a_search_are_keys_though_a_vt52_answers_so() -> None:
    assert keys(b"\x1b/") == ["escape", "slash"]
    assert keys(b"\x1b/a\x1b/\x1b[A", b"\x1b", b"/", b"Y") == [
        "escape", "slash", "a", "escape", "slash", "up", "escape", "slash", "Y"]


def test_escape_and_enter_are_two_keys() -> None:
    assert keys(b"\x1b\r") == ["escape", "enter"]


def test_keys_without_letters_stay_what_they_are() -> None:
    assert keys(b"\x1b[B", b"\x1bOP", b"\x1b[Z", b"\x1b[5~") == ["down", "f1", "shift+tab", "pageup"]
    assert keys(b"\x1b", b"[", b"B") == ["down"]
    assert keys(b"\x1b\x1b[B") == keys(b"\x1b", b"\x1b[B") == ["escape", "down"]
    assert keys(b"\x1b[112;3u") == ["alt+p"]  # a terminal that has a name for it
    assert keys(b"\x9bB\x8fP") == ["down", "f1"]


KITTY = {b"\x1b[97u": "a", b"\x1b[97:65;2:1;65u": "A", b"\x1b[97;5u": "ctrl+a", b"\x1b[27u": "escape",
         b"\x1b[13u": "enter", b"\x1b[0;;233u": "é", b"\x1b[13;2~": "shift+f3", b"\x1b[1;2P": "shift+f1",
         b"\x1b[27;5;97~": "ctrl+a", b"\x1b[57399u": "0"}


@of_every(KITTY, name=repr)
def test_keys_of_the_kitty_protocol(sequence: bytes) -> None:
    assert keys(sequence) == [KITTY[sequence]]


@of_every(ANSWERS)
def test_what_a_terminal_answers_is_no_key(name: str) -> None:
    answer = ANSWERS[name]
    whole = [message for message in read(answer) if not isinstance(message, events.MouseEvent)]
    assert whole == []
    assert keys(*split(answer, range(min(len(answer), 200)))) == []
    sequences = InputSequences()
    assert not [unit for unit in sequences.feed(answer) + sequences.expire() if is_key(unit) and unit[0] != "\x1b"]


@of_every([name for name in ANSWERS if not name.startswith("no ")])
def test_the_key_after_an_answer_is_itself(name: str) -> None:
    assert keys(ANSWERS[name] + b"j") == keys(ANSWERS[name], b"j") == ["j"]


_SEVEN_BIT = st.sampled_from([b"\x1bP", b"\x1bX", b"\x1b]", b"\x1b^", b"\x1b_"])
_EIGHT_BIT = st.sampled_from([b"\x90", b"\x98", b"\x9d", b"\x9e", b"\x9f"])
_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=40).map(str.encode)
_STRINGS = st.tuples(_SEVEN_BIT | _EIGHT_BIT, _TEXT, st.sampled_from([b"\x1b\\", b"\x07", b"\x9c"])).map(b"".join)
_CONTROLS = st.tuples(
    st.sampled_from([b"\x1b[", b"\x9b"]),
    st.binary(max_size=60).map(lambda data: bytes(0x30 + byte % 16 for byte in data)),
    st.binary(max_size=3).map(lambda data: bytes(0x20 + byte % 16 for byte in data)),
    st.integers(0x40, 0x7e).map(lambda byte: bytes([byte])),
).map(b"".join)


def _normal(sequence: bytes) -> str:
    return "\x1b[" + sequence.removeprefix(b"\x1b[").removeprefix(b"\x9b").decode()


def _is_in_table(sequence: bytes) -> bool:
    """Whether ECMA-48's form of this sequence is a key, or what it begins with is one of another form."""
    text = _normal(sequence)
    return (text in ANSI_SEQUENCES_KEYS or text.startswith(("\x1b[[", "\x1b[M", "\x1b[200~"))
            or any(text.startswith(f"\x1b[{number}$") for number in (3, 7, 8, 23, 24))
            or (text[-1] in "u~ABCDEFHPQS" and all(letter in "0123456789:;" for letter in text[2:-1])))


@given(st.lists(_STRINGS | _CONTROLS.filter(lambda sequence: not _is_in_table(sequence)), min_size=1, max_size=5),
       st.lists(st.integers(0, 500), max_size=8))
@example([b"\x90\xc3\x9cq\x9c"], [2])
def test_no_sequence_outside_the_table_of_keys_is_a_key(sequences: list[bytes], places: list[int]) -> None:
    assert keys(*split(b"".join(sequences), places)) == []


@given(st.sampled_from([sequence for sequence in ANSI_SEQUENCES_KEYS if sequence[:2] in ("\x1b[", "\x1bO")]),
       st.lists(st.integers(0, 20), max_size=4), st.sampled_from([b"", b"j", b"\x1b[B"]))
def test_a_key_is_itself_wherever_its_bytes_are_split(sequence: str, places: list[int], then: bytes) -> None:
    data = sequence.encode() + then
    assert keys(*split(data, places)) == keys(data) == keys(sequence.encode()) + keys(then)


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=5))
def test_any_bytes_are_messages(data: bytes, places: list[int]) -> None:
    assert keys(*split(data, places), b"\x18\x1b[201~") == keys(data + b"\x18\x1b[201~")


@pytest.mark.parametrize("begun", [b"\x1b]0;", b"\x1bPq", b"\x9bq\x1b_", b"\x1b[1;", b"\x1b[M", b"\x1bO"])
def test_ctrl_c_is_obeyed_within_what_has_no_end(begun: bytes) -> None:
    assert keys(begun + b"\x03q") == ["ctrl+c", "q"]


def test_a_paste_is_one_message_however_it_comes() -> None:
    data = b"\x1b[200~" + "q\x1b[Bä\r".encode() + b"\x1b[201~j"
    for place in range(len(data)):
        paste, key = read(data[:place], data[place:])
        assert isinstance(paste, events.Paste)
        assert isinstance(key, events.Key)
        assert (paste.text, key.key) == ("q\x1b[Bä\r", "j")
    unended, = read(b"\x1b[200~q\xff")
    assert isinstance(unended, events.Paste)
    assert unended.text == "q�"


def test_the_mouse_the_focus_sizes_and_modes_are_reports() -> None:
    down, up, here, gone, size, synchronous = read(
        b"\x1b[<0;150;7M\x1b[<0;150;7m\x1b[I\x1b[O\x1b[48;30:2;110;600;1100t\x1b[?2026;2$y")
    assert isinstance(down, events.MouseDown)
    assert (down.x, down.y, down.button) == (149, 6, 1)
    assert isinstance(up, events.MouseUp)
    assert isinstance(here, events.AppFocus)
    assert isinstance(gone, events.AppBlur)
    assert isinstance(size, events.Resize)
    assert size.size == (110, 30)
    assert isinstance(synchronous, messages.TerminalSupportsSynchronizedOutput)
    assert read(b"\x1b[48;0;0;0;0t\x1b[<0;5;5M")[1:]  # a size of nothing divides nothing


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_begun_sequence_is_waited_for_longer_than_an_escape() -> None:
    clock = Clock()
    sequences = InputSequences(0.3, clock)
    waits = []
    for data in (b"j", b"\x1b", b"[", b"1;5", b"A", b"\x1bP", b"x\x1b", b"\\", b"\x1b[200~", b"x", b"\x1b[201~"):
        sequences.feed(data)
        waits.append(sequences.wait)
    lone, begun, paste = 0.3, 1.0, 3.0
    assert waits == pytest.approx([None, lone, begun, begun, None, begun, begun, None, paste, paste, None])
    sequences.feed(b"\x1b")
    clock.now += 0.2
    assert sequences.wait == pytest.approx(0.1)
    clock.now += 5
    assert sequences.wait == 0


def test_a_string_without_an_end_does_not_keep_the_keys() -> None:
    clock = Clock()
    sequences = InputSequences(clock=clock)
    assert sequences.feed(b"\x1b]") == []
    taken = []
    for _ in range(90):
        clock.now += 0.5
        taken += sequences.feed(b"j")
    assert 25 < len(taken) < 35


@of_every(ANSWERS, name=str)
def test_an_answer_that_comes_byte_by_byte_is_no_key(name: str) -> None:
    data = ANSWERS[name]
    clock, pause = Clock(), 0.29  # seconds, less than the wait for a lone Escape
    typed = InputMessages(InputSequences(0.3, clock))
    came: list[Message] = []
    for number in range(len(data)) if len(data) < 100 else ():
        came += typed.feed(data[number : number + 1])
        clock.now += pause
        came += typed.expire() if typed.sequences.wait == 0 else ()
    came += typed.expire()
    assert not [message for message in came if isinstance(message, events.Key | events.Paste)]


def test_what_is_kept_of_a_sequence_and_of_a_paste_is_bounded() -> None:
    sequences = InputSequences()
    for _ in range(100):
        sequences.feed(b"1" * 4096 if sequences.wait else b"\x1b[")
    assert len(sequences._sequence) < 1000
    assert sequences.feed(b"Aj") == ["j"]
    paste, key = sequences.feed(b"\x1b[200~" + b"x" * 1_500_000 + b"\x1b[201~j")
    assert len(paste) == (1 << 14) + 12
    assert key == "j"


def test_escdelay_sets_the_wait_for_a_lone_escape() -> None:
    assert escape_wait({"ESCDELAY": "25"}) == 0.025
    assert escape_wait({}) == escape_wait({"ESCDELAY": "x"}) == escape_wait({"ESCDELAY": "1" * 30})
