"""Numbers on command lines and in files: ASCII digits only, and no more of them than a number can have."""

from __future__ import annotations

import argparse

import pytest

from turbotui.commands.addresses import parse_address
from turbotui.commands.arguments import whole
from turbotui.commands.sessions import parse_interval
from turbotui.errors import UsageError
from turbotui.features.record.verb import parse_size
from turbotui.features.stat.options import StatError, parse_options
from turbotui.features.tasks.applications import parse_targets
from turbotui.machine.cpulist import parse_cpu_set
from turbotui.machine.pmus import parse_format
from turbotui.machine.topology_sysfs import cpuinfo_blocks
from turbotui.quantities.added import AddError, parse_added
from turbotui.quantities.plain_numbers import (
    decimal,
    decimal_number,
    hexadecimal,
    integer,
    integer_of_c,
    integer_or_none,
    numbers_among,
    numbers_by_name,
    whole_number,
    whole_numbers,
)
from turbotui.sampling.limits import LONGEST_INTERVAL

ENDLESS = "9" * 5000  # more digits than Python's int takes


def test_what_python_reads_and_nobody_writes_is_no_number() -> None:
    assert [whole_number(text) for text in ("12", "007", "", "-1", "1_0", "٣", "²", ENDLESS)] == [12, 7, *[None] * 6]
    assert [decimal_number(text) for text in (" 1.5 ", ".5", "2.", "-1e3")] == [1.5, 0.5, 2.0, -1000.0]
    assert {decimal_number(text) for text in ("", "1_0", "١", "nan", "inf", "1e400", "5s", "0x1", ".")} == {None}


@pytest.mark.parametrize(("words", "status"), [
    (("-n", ENDLESS), 255), (("-N", ENDLESS), 255), (("-c", ENDLESS), 255), (("-c", f"0-{ENDLESS}"), 255),
    (("-i", "1_0"), 2), (("-i", "١"), 2), (("-i", "1,5"), 2), (("-i", "1m"), 2), (("-i", ENDLESS), 2),
], ids=lambda part: str(part)[:20])
def test_stat_refuses_it_with_turbostats_status(words: tuple[str, ...], status: int) -> None:
    with pytest.raises(StatError) as refused:
        parse_options(words)
    assert refused.value.exit_status == status


def test_an_interval_may_end_with_its_unit() -> None:
    assert parse_options(("-i", "2.5s")).interval == 2.5
    with pytest.raises(UsageError):
        parse_interval("1_0")


def test_an_interval_ends_before_the_kernels_waits_overflow() -> None:
    assert parse_interval("1e6") == parse_options(("-i", "1e6")).interval == LONGEST_INTERVAL < (1 << 31) / 1000
    with pytest.raises(UsageError, match="too long: the longest is 1,000,000 seconds"):
        parse_interval("1000001")
    with pytest.raises(StatError) as refused:
        parse_options(("-i", "1e7"))
    assert refused.value.exit_status == 2


@pytest.mark.parametrize(("text", "why"), [
    ("1_0", "is no whole number"), ("\u0663", "is no whole number"), ("-1", "is below 0"),
    ("1.5", "is no whole number"), (ENDLESS, "is too large"), (f"{1 << 63}", "is too large"),
], ids=lambda text: text[:20])
def test_a_count_on_a_command_line_is_a_whole_number(text: str, why: str) -> None:
    assert whole(" 12 ") == 12
    with pytest.raises(argparse.ArgumentTypeError, match=why):
        whole(text)


def test_ports_sizes_and_process_ids_are_as_plain() -> None:
    assert (parse_address("127.0.0.1:80")[1], parse_size("5M"), parse_targets("7 8")[1].pids) == (80, 5_000_000, (8,))
    for parse, text in ((parse_address, "127.0.0.1:8_0"), (parse_size, f"{ENDLESS}M"), (parse_targets, ENDLESS),
                        (parse_targets, "x:pid=\u0663")):
        with pytest.raises(UsageError):
            parse(text)


def test_endless_digits_are_no_fault_of_ours() -> None:
    with pytest.raises(UsageError, match="out of range"):
        parse_cpu_set(ENDLESS)
    with pytest.raises(AddError, match="not the address"):
        parse_added(f"msr{ENDLESS}")
    assert parse_format("event", f"config:0-{ENDLESS}") is None
    assert cpuinfo_blocks(f"processor : {ENDLESS}\nmodel : 1\nprocessor : 1\nmodel : 2\n") == {1: {"model": "2"}}


def test_a_number_of_a_file_has_64_bits_at_most() -> None:
    assert [integer(text) for text in ("12", b" -5\n", "18446744073709551615", b"-9223372036854775808")] == [
        12, -5, (1 << 64) - 1, -(1 << 63)]
    others = ("", "-", "--1", "+5", "1_0", "1 2", "\u0663", b"\xd9\xa3", b"1_0", "nan", "1.0", f"{1 << 64}",
              f"-{(1 << 63) + 1}", "9" * 400, ENDLESS, None)
    assert {integer_or_none(text) for text in others} == {None}
    assert [hexadecimal(text) for text in ("ff", "0xFF\n", b"0" * 30 + b"1", "f" * 16)] == [255, 255, 1, (1 << 64) - 1]
    assert [integer_of_c(text) for text in ("0x10", "16")] == [16, 16]
    for parse, text in ((hexadecimal, "1_0"), (hexadecimal, "-1"), (hexadecimal, "f" * 17), (hexadecimal, ""),
                        (integer_of_c, "010x"), (decimal, "nan"), (decimal, "1e999"), (decimal, "1_0")):
        with pytest.raises(ValueError, match="is no"):
            parse(text)


@pytest.mark.parametrize("text", ["", "x", "1_0", "\u0663", "+5", "-5", "1" * 25], ids=lambda text: text[:5])
def test_several_numbers_are_as_good_as_one(text: str) -> None:
    assert whole_numbers(["1", text, f"{1 << 63}"]) == [1, None, 1 << 63]
    assert whole_numbers(["1", "20"]) == [1, 20]
    assert numbers_among(["1", text, "3"]) == (1, 3)
    assert numbers_by_name([("a", "1"), ("b", text)]) == {"a": 1}
