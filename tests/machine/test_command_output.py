"""A command's output is read as it comes, kept within a bound, and shown without effect on the terminal."""

from __future__ import annotations

import os

import pytest
from patience import until_gone

from turbotui.machine.command_output import CommandOutput, text_lines
from turbotui.machine.launching import NotRunError
from turbotui.machine.observing import observe


def _run(script: str, limit: int = 1 << 20) -> tuple[CommandOutput, int | None]:
    """A shell script that ran apart to its end; its output, read to the end, and its status."""
    output = CommandOutput(limit)
    with observe(["sh", "-c", script], output=output.write_end, apart=True) as seen:
        output.start()
        seen.begin()
        seen.wait()
        output.finish()
        return output, seen.commands[0].status


def test_both_streams_are_kept_in_the_order_in_which_they_were_written() -> None:
    output, status = _run("echo one; echo two >&2; echo three; exit 5")
    assert output.take() == b"one\ntwo\nthree\n"
    assert status == 5
    assert output.take() == b""
    output.close()


def test_of_much_output_the_newest_is_kept_and_the_rest_is_counted() -> None:
    output, _ = _run("i=0; while [ $i -lt 6000 ]; do echo 0123456789abcdef0123456789abcdef0123456789abcdef; "
                     "i=$((i+1)); done; echo last", 70_000)
    kept = output.take()
    assert kept.endswith(b"last\n")
    assert 70_000 <= len(kept) < 70_000 + (2 << 16)  # whole readings are forgotten
    assert output.lost == output.written - len(kept) == 6000 * 49 + 5 - len(kept)
    assert output.tail(5) == b"last\n"
    output.close()


def test_a_line_that_is_not_finished_is_taken_when_it_is() -> None:
    output = CommandOutput()
    writer = os.dup(output.write_end)
    output.start()
    os.write(writer, b"whole\npart")
    taken = b""
    while not taken:
        taken = output.take()
    assert taken == b"whole\n"
    os.write(writer, b" two\n")
    os.close(writer)
    output.finish()
    assert output.take() == b"part two\n"
    output.close()


def test_what_a_command_leaves_running_does_not_keep_its_output_open() -> None:
    output, status = _run("sleep 1000 & echo $!")
    os.kill(int(output.take()), 9)
    assert status == 0
    output.close()


def test_a_command_apart_has_no_terminal_and_no_input_and_leads_its_group() -> None:
    output, _ = _run("cat; true 2>/dev/null </dev/tty || echo none; ps -o pid=,sid=,pgid= -p $$")
    *said, numbers = output.take().decode().splitlines()
    assert said[-1] == "none"
    pid, session, group = numbers.split()
    assert pid == session == group
    output.close()


def test_a_signal_reaches_all_that_a_command_apart_has_started() -> None:
    output = CommandOutput()
    with observe(["sh", "-c", "sleep 1000 & echo $!; wait"], output=output.write_end, apart=True) as seen:
        output.start()
        seen.begin()
        child = b""
        while not child:
            child = output.take()
        seen.send(15)
        seen.wait()
        assert seen.commands[0].status == 143
    output.close()
    until_gone(int(child))


def test_a_command_that_is_not_there_is_identified_by_its_number() -> None:
    output = CommandOutput()
    with observe(["/nowhere/at/all"], output=output.write_end, apart=True) as seen:
        output.start()
        with pytest.raises(NotRunError) as info:
            seen.begin()
    assert info.value.number == 2
    output.close()


def test_what_a_terminal_would_obey_is_left_out_or_marked() -> None:
    data = b"\x1b[31mred\x1b[0m\x1b[2J\x1b]0;title\x07\n 10 %\r 20 %\r100 %\r\nback\x08space\ta\xff\n"
    assert text_lines(data) == ["red", "100 %", "back␈space      a⟪xff⟫"]
    assert text_lines(data, colours=True)[0] == "\x1b[31mred\x1b[0m"
    assert text_lines(b"") == []
