from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turbotui.errors import UsageError
from turbotui.machine.cpulist import format_cpulist, parse_cpu_set, parse_cpulist, parse_cpumask

CPU_SETS = st.frozensets(st.integers(min_value=0, max_value=8191), max_size=200)


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("", set()),
        ("\n", set()),
        ("(null)\n", set()),
        ("0\n", {0}),
        ("0-3,8\n", {0, 1, 2, 3, 8}),
        ("7,0-1", {0, 1, 7}),
        ("5-5", {5}),
        ("0-7:2/4", {0, 1, 4, 5}),
        ("0-3\0", {0, 1, 2, 3}),
    ],
)
def test_a_kernel_list_is_read(text: str, cpus: frozenset[int]) -> None:
    assert parse_cpulist(text) == cpus


@pytest.mark.parametrize(
    "text", ["abc", "3-1", "1-", "-1", "0,,1", "0x3", "1..3", "0-7:0/4", "0-7:5/4", "0-99999999999"]
)
def test_what_is_not_a_kernel_list_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="CPU list"):
        parse_cpulist(text)


@pytest.mark.parametrize(
    ("cpus", "text"),
    [(set(), ""), ({0}, "0"), ({0, 1}, "0-1"), ({1, 3, 4, 5, 9}, "1,3-5,9"), (set(range(1024)), "0-1023")],
)
def test_cpus_are_written_as_the_kernel_writes_them(cpus: frozenset[int], text: str) -> None:
    assert format_cpulist(cpus) == text


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("", set()),
        ("0", set()),
        ("3\n", {0, 1}),
        ("00000000,00000202\n", {1, 9}),
        ("ff,00000003", {0, 1, *range(32, 40)}),
        ("0000,00000fff", set(range(12))),  # the top group is as narrow as the kernel's CPU count
        ("80000000,00000000", {63}),
    ],
)
def test_a_kernel_mask_is_read(text: str, cpus: frozenset[int]) -> None:
    assert parse_cpumask(text) == cpus


@pytest.mark.parametrize("text", ["xyz", "1,,2", "123456789", "0x3", "-1"])
def test_what_is_not_a_mask_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="CPU mask"):
        parse_cpumask(text)


@given(CPU_SETS)
def test_lists_and_masks_say_the_same(cpus: frozenset[int]) -> None:
    assert parse_cpulist(format_cpulist(cpus)) == cpus
    bits = sum(1 << cpu for cpu in cpus)
    groups = [f"{bits >> shift & 0xFFFFFFFF:08x}" for shift in range(0, max(1, bits.bit_length()), 32)]
    assert parse_cpumask(",".join(reversed(groups))) == cpus
    assert parse_cpulist(format_cpulist(cpus) + "\n") == cpus


@given(st.text(max_size=30))
def test_any_text_is_a_list_or_a_value_error(text: str) -> None:
    try:
        cpus = parse_cpulist(text)
    except ValueError:
        return
    assert parse_cpulist(format_cpulist(cpus)) == cpus


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0", {0}),
        ("0,2-4", {0, 2, 3, 4}),
        ("0..3", {0, 1, 2, 3}),
        ("4-7,0,", {0, 4, 5, 6, 7}),
        ("8191", {8191}),
    ],
)
def test_a_typed_set_is_read(text: str, cpus: frozenset[int]) -> None:
    assert parse_cpu_set(text) == cpus


@pytest.mark.parametrize(
    "text", ["", ",", "1-0", "3-3", "0.1", "abc", "-1", "8192", "0-8192", "1,,2", "1,,", "0x1", "1...3"]
)
def test_a_malformed_set_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_cpu_set(text)
    sentence = str(raised.value)
    assert sentence.startswith(f"--cpu {text!r}: ")
    assert "\n" not in sentence
