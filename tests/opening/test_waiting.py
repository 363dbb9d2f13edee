"""The opening draws and handles keys even if what it waits for never comes."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

import pytest
from opening_terminal import Screen, a_screen

from turbotui.app.plain_help import plain_help
from turbotui.errors import UsageError
from turbotui.machine.signal_guard import ENDING
from turbotui.opening.readings import OpeningReading
from turbotui.opening.waiting import Opening, UserLeftError

MACHINE = OpeningReading("node7", "6.12.1", "Intel(R) Xeon(R) w9-3595X", (1.5, 0.5, 0.25), "3/412", (1 << 20, 4 << 20),
                         {0: (50, 100), 1: (10, 100)})


def _look() -> OpeningReading:
    return MACHINE


def _never() -> None:
    threading.Event().wait()


def _beside(screen: Screen, acts: Callable[[], None]) -> threading.Thread:
    """Act as a person on another thread, for signals come to the first one, where the opening runs."""
    person = threading.Thread(target=acts)
    person.start()
    return person


@pytest.mark.parametrize("keys", [b"q", b"\x03", b"7q", b"\x1b[21~", b"\x1b[Bq", b"/qemu\x03"])
def test_a_key_leaves_though_the_machine_never_answers(keys: bytes) -> None:
    with a_screen() as screen:

        def person() -> None:
            if b"\x03" in keys:  # of which a terminal in its usual modes makes a signal
                screen.until(b"Looking")
            screen.type(keys)

        early = b"\x03" not in keys
        if early:
            person()  # before anybody listens
        with Opening(screen.terminal, _look, plain_help) as opening:
            acting = _beside(screen, (lambda: None) if early else person)
            with pytest.raises(UserLeftError) as left:
                opening.wait_for(_never, "Looking")
        acting.join()
        assert left.value.exit_status == 0
        assert b"node7" in screen.until(b"\x1b[9999;1H\x1b[J\x1b[?1049l")
        assert screen.restored


def test_the_machine_and_its_load_are_drawn_before_it_is_probed() -> None:
    with a_screen() as screen, Opening(screen.terminal, _look, plain_help):
        shown = screen.until(b"quit").decode()
        for words in ("node7", "Xeon", "2 CPUs", "Linux 6.12.1", "1.50  0.50  0.25", "3 of 412 run", "3.0 of 4.0 GiB"):
            assert words in shown
        screen.type(b"x")
    assert screen.terminal.handover.taken is False


def test_help_opens_and_closes_though_the_machine_never_answers() -> None:
    with a_screen() as screen:

        def person() -> None:
            screen.type(b"?")
            screen.until(b"Show the keys and what the columns mean.")
            screen.output = b""
            screen.type(b"\x1b[6~")
            screen.until(b"scroll")
            screen.output = b""
            screen.type(b"q")  # closes the help, and does not leave
            screen.until(b"Looking")
            screen.type(b"q")

        with Opening(screen.terminal, _look, plain_help) as opening:
            acting = _beside(screen, person)
            with pytest.raises(UserLeftError):
                opening.wait_for(_never, "Looking")
        acting.join()


@pytest.mark.parametrize(
    ("keys", "kept"),
    [(b"7", b"7"), (b"\x1b[B\x1b[C", b"\x1b[B\x1b[C"), (b"/q?\r", b"/q?\r"), (b"/\xc3\xa9q", b"/\xc3\xa9q"),
     (b"8?", b"8?"), (b"??8", b"8"), (b"", b""),
     (b"\x1b\x1b?", b"\x1b\x1b?"), (b"\x1b?? ", b"\x1b "), (b"?\x1b?7", b"?"), (b"\x1b[?62;22c8\x1bP>|q\x1b\\", b"8"),
     (b"\x1b]11;rgb:0/q/0\x078", b"8"), (b"\x9bB\xff8\x1b[", b"\x1b[B8")],
)
def test_other_keys_are_kept_for_their_screen(keys: bytes, kept: bytes) -> None:
    with a_screen() as screen:
        typed = threading.Event()
        with Opening(screen.terminal, _look, plain_help) as opening:
            if keys:
                screen.type(keys)

                def until_typed() -> str:
                    typed.wait()
                    return "opened"

                def person() -> None:
                    # with the help open its last line is drawn, else that of the screen
                    screen.until(b"scroll" if kept[-1:] == b"?" else b"keys wait")
                    typed.set()

                acting = _beside(screen, person)
                assert opening.wait_for(until_typed, "Looking") == "opened"
                acting.join()
            handover = opening.hand_over()
            assert "".join(handover.typed).encode() == kept
            if keys.endswith(b"["):  # what has begun goes on with the driver
                assert handover.sequences.feed(b"B") == ["\x1b[B"]
            assert screen.terminal.handover.modes is not None
            assert not screen.restored  # for whoever takes over
        assert screen.restored  # for nobody did


def test_what_fails_is_raised_with_the_terminal_restored() -> None:
    def fails() -> None:
        raise UsageError("no such machine")

    with a_screen() as screen:
        with pytest.raises(UsageError, match="no such machine"), Opening(screen.terminal, None, plain_help) as opening:
            opening.wait_for(fails, "Looking")
        assert screen.restored
        assert b"\x1b[?1049l" in screen.until(b"\x1b[?25h")


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_leaves_with_the_terminal_restored(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with a_screen() as screen:

        def person() -> None:
            screen.until(b"Looking")
            os.kill(os.getpid(), number)

        with Opening(screen.terminal, _look, plain_help) as opening:
            acting = _beside(screen, person)
            with pytest.raises(UserLeftError) as left:
                opening.wait_for(_never, "Looking")
        assert left.value.exit_status == 128 + number
        acting.join()
        assert opening.left_by() == number
        assert screen.restored
    assert signal.getsignal(number) == before


def test_a_signal_between_two_waits_is_not_forgotten() -> None:
    with a_screen() as screen, Opening(screen.terminal, _look, plain_help) as opening:
        assert opening.wait_for(lambda: 1, "Looking") == 1
        assert not opening.left_by()
        os.kill(os.getpid(), signal.SIGTERM)
        assert opening.left_by() == signal.SIGTERM


def test_a_command_stops_before_the_opening_and_goes_on_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with a_screen() as screen, Opening(screen.terminal, _look, plain_help) as opening:
        order: list[object] = []
        opened = threading.Event()
        opening.pause = order.append

        def stop() -> None:
            order.append("stop")
            opened.set()

        monkeypatch.setattr(screen.terminal, "stop", stop)
        os.kill(os.getpid(), signal.SIGTSTP)
        opening.wait_for(opened.wait, "Looking")
        assert order == [True, "stop", False]
        assert not opening.hand_over().stops


def test_a_stop_between_two_waits_is_left_to_the_driver() -> None:
    with a_screen() as screen, Opening(screen.terminal, _look, plain_help) as opening:
        opening.wait_for(lambda: 1, "Looking")
        os.kill(os.getpid(), signal.SIGTSTP)
        assert opening.hand_over().stops


def test_a_terminal_that_is_gone_ends_it() -> None:
    screen = Screen()
    with Opening(screen.terminal, _look, plain_help) as opening:
        os.close(screen.master)
        with pytest.raises(UserLeftError) as left:
            opening.wait_for(_never, "Looking")
    assert left.value.exit_status == 4
    os.close(screen.slave)


def test_the_bars_move_while_it_waits() -> None:
    looks = iter([MACHINE, OpeningReading("node7", "6.12.1", ticks={0: (125, 200), 1: (10, 200)})])
    last = OpeningReading("node7", "6.12.1", ticks={0: (125, 300), 1: (10, 300)})
    with a_screen() as screen:

        def person() -> None:
            screen.until(b"75.0 %")
            screen.type(b"q")

        with Opening(screen.terminal, lambda: next(looks, last), plain_help) as opening:
            acting = _beside(screen, person)
            with pytest.raises(UserLeftError):
                opening.wait_for(_never, "Looking")
        acting.join()
