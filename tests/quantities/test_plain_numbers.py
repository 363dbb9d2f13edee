"""Numbers on command lines and in files: ASCII digits, and no more of them than a number can have."""

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
from turbotui.quantities.plain_numbers import decimal_number, whole_number
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


@pytest.mark.parametrize("text", ["1_0", "\u0663", "-1", "1.5", ENDLESS, f"{1 << 63}"], ids=lambda text: text[:20])
def test_a_count_on_a_command_line_is_a_whole_number(text: str) -> None:
    assert whole(" 12 ") == 12
    with pytest.raises(argparse.ArgumentTypeError, match="is no whole number"):
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
