"""Updates of the screen reduced to the cells that change: the picture is the same, and a digit costs a digit."""

from __future__ import annotations

import os
import signal
import sys
import termios
import threading
from collections.abc import Iterator, Sequence
from typing import cast

import pytest
from barepty import BarePty
from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style
from terminal_picture import TerminalPicture
from textual import events
from textual.app import App
from textual.geometry import Size

from turbotui.cell_widths import cell_count
from turbotui.terminal.driver import TerminalDriver
from turbotui.terminal.shown_cells import ShownCells
from turbotui.terminal.writer import TerminalWriter

WIDTH, HEIGHT = 24, 4
STYLES = ("", "1;38;2;230;235;240;48;2;16;21;26", "38;2;185;195;204;48;2;16;21;26", "38;5;12", "7", "31;44", "4;48;5;3")


def line(y: int, x: int, parts: Sequence[tuple[str, str]]) -> str:
    """An update of one line, as Rich writes segments."""
    return f"\x1b[{y};{x}H" + "".join(f"\x1b[{style}m{text}\x1b[0m" if style else text for text, style in parts)


PARTS = st.lists(st.tuples(st.text("ab 01█▄·日", min_size=1, max_size=9), st.sampled_from(STYLES)), max_size=4)
LINES = st.lists(st.tuples(st.integers(1, HEIGHT), st.integers(1, WIDTH), PARTS), min_size=1, max_size=6)


@given(st.lists(st.tuples(LINES, st.sampled_from(("text", "segments", "lost"))), min_size=1, max_size=8))
def test_the_picture_is_that_of_whole_updates(updates: list[tuple[list[tuple[int, int, list[tuple[str, str]]]], str]],
                                              ) -> None:
    """Whatever lines are written, where, how, in which styles and after which loss of what was known."""
    whole, reduced, shown = TerminalPicture(), TerminalPicture(), ShownCells()
    for lines, way in updates:
        update = "\n".join(line(y, x, parts) for y, x, parts in lines)
        if way == "lost":
            shown.forget()
        whole.feed(update.encode())
        reduced.feed((shown.changes(update) if way == "text" else segments_of(shown, lines)).encode())
        assert reduced.rows == whole.rows


def segments_of(shown: ShownCells, lines: Sequence[tuple[int, int, Sequence[tuple[str, str]]]]) -> str:
    """What is sent of lines of segments, whose styles are the SGR of `STYLES`."""
    names = {text: Style(meta={"place": place}) for place, text in enumerate(STYLES)}
    drawn = [(y - 1, x - 1, [(text, names[style]) for text, style in parts]) for y, x, parts in lines]
    return shown.changes_of(drawn, lambda style: "" if style is None else STYLES[style.meta["place"]])


def test_a_digit_costs_a_digit() -> None:
    """The line around it is not sent again, and nothing at all of a line that did not change."""
    shown = ShownCells()
    shown.changes(line(2, 1, (("Busy% ", STYLES[1]), ("  99.1 of a CPU", STYLES[2]))))
    assert shown.changes(line(2, 1, (("Busy% ", STYLES[1]), ("  99.2 of a CPU", STYLES[2])))) == (
        f"\x1b[2;12H\x1b[{STYLES[2]}m2\x1b[0m")
    assert not shown.changes(line(2, 1, (("Busy% ", STYLES[1]), ("  99.2 of a CPU", STYLES[2]))))


def test_segments_are_sent_again_after_something_else_was_written_on_their_line() -> None:
    """By text, or by other segments that overlap."""
    for written in ("text", "segments"):
        shown, lines = ShownCells(), [(2, 3, [("load", STYLES[1]), (" 0.5", STYLES[2])])]
        assert "load" in segments_of(shown, lines)
        assert not segments_of(shown, lines)
        other = [(2, 1, [("other words", STYLES[3])])]
        assert "other" in (segments_of(shown, other) if written == "segments" else shown.changes(line(*other[0])))
        assert "load" in segments_of(shown, lines)


@pytest.mark.parametrize("text", ["日本", "e\u0301", "👩\u200d💻"])
def test_wide_and_combining_characters_are_always_sent(text: str) -> None:
    """Half of one may be gone, and what follows is written by its position."""
    shown = ShownCells()
    update = line(1, 3, ((f"{text} ", ""), ("ok", "31")))
    assert shown.changes(update) == shown.changes(line(1, 3, ((f"{text} ", ""), ("OK", "31")))).replace("OK", "ok")
    assert text in shown.changes(update)
    behind = f"\x1b[1;{3 + cell_count(text + ' ')}H\x1b[31mNO"
    assert behind in shown.changes(line(1, 3, ((f"{text} ", ""), ("NO", "31")))) or not text.isprintable()


@pytest.mark.parametrize("sequence", ["\x1b[2J", "\x1b]8;;http://x\x1b\\", "\x1b[?1049h", "\x07", "\x1b[31mred", "a\nb",
                                      "\x1b[3A"])
def test_what_is_not_known_is_sent_as_it_is_and_nothing_is_known_after_it(sequence: str) -> None:
    """A cleared screen shows nothing of what was written before."""
    shown = ShownCells()
    update = line(1, 1, (("load", "31"),))
    shown.changes(update)
    assert not shown.changes(update)
    assert shown.changes(sequence) == sequence
    assert "load" in shown.changes(update)


def test_an_update_that_the_terminal_shows_at_once_stays_one() -> None:
    """The marks of a synchronized update are around its changes."""
    shown = ShownCells()
    update = f"\x1b[?2026h{line(1, 1, (('load', '31'),))}\x1b[5;6H\x1b[?2026l"
    assert shown.changes(update) == "\x1b[?2026h\x1b[1;1H\x1b[31mload\x1b[0m\x1b[5;6H\x1b[?2026l"
    assert not shown.changes(update)


class Accepted:
    """A writer to a terminal, with what it accepted."""

    def __init__(self) -> None:
        self.updates: list[str] = []
        self.accepts = True

    def write(self, data: bytes, *, must: bool = False) -> bool:
        if self.accepts or must:
            self.updates.append(data.decode())
        return self.accepts

    def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize("event", ["nothing", "size", "modes", "dropped", "age", "question"])
async def test_all_cells_are_sent_after_whatever_may_have_changed_them(event: str) -> None:
    """Another size, SIGCONT or fg, an update that was dropped, a minute, and what the thread of keys writes."""
    driver, accepted, (front, behind) = TerminalDriver(App[object](), size=(90, 30)), Accepted(), os.openpty()
    try:
        driver._writer, driver.fileno = cast("TerminalWriter", accepted), behind
        driver._entered = True
        update = line(1, 1, (("load", "31"),))
        for _time in range(2):
            driver.write(update)
        assert [words for words in accepted.updates if "load" in words] == ["\x1b[1;1H\x1b[31mload\x1b[0m"]
        if event == "size":
            driver.send_message(events.Resize(Size(80, 24), Size(80, 24)))
        elif event == "modes":
            driver._enter("")
        elif event == "dropped":
            accepted.accepts = False
            driver.write(line(2, 1, (("lost", "32"),)))
            accepted.accepts = True
        elif event == "age":
            driver._remembered -= 61.0
        elif event == "question":
            driver._key_thread = threading.current_thread()
            driver.write("\x1b[?2026$p")
            driver._key_thread = None
        accepted.updates.clear()
        driver.write(update)
        assert "load" in "".join(accepted.updates) or event == "nothing"
        assert event != "nothing" or not accepted.updates
    finally:
        driver.close()
        os.close(front)
        os.close(behind)


@pytest.fixture
def still() -> Iterator[BarePty]:
    """A dashboard whose screen stands still, with its first numbers."""
    running = BarePty((sys.executable, "-m", "turbotui", "--machine", "guest", "-i", "3600"), controlling=True,
                      forked=True, environment={"TURBOTUI_TOUR": "0"})
    running.until(rb"over \d")
    yield running
    running.end()


@pytest.mark.parametrize("redraw", ["key", "resize", "continue"])
def test_what_another_program_wrote_is_gone_once_the_screen_is_drawn_anew(still: BarePty, redraw: str) -> None:
    """By Ctrl+L, another size of the terminal and SIGCONT every cell is sent, whatever had been sent before."""
    def differs() -> bool:
        return "XXX" in still.picture.text or "over " not in still.picture.text

    still.picture.rows = {y: dict.fromkeys(range(1, 101), ("X", ("", "", ""))) for y in range(1, 31)}
    still.forget()
    if redraw == "key":
        still.press(b"\x0c")
        still.until(rb"The screen was drawn anew")
    elif redraw == "resize":
        termios.tcsetwinsize(still.master, (32, 104))
    else:
        still.process.send_signal(signal.SIGCONT)
    still.read_while(differs, "it stays written over")
