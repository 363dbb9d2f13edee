"""getopt_long_only as turbostat's scripts rely on it (docs/specs/turbostat.md 1.1)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turbotui.features.stat.getopt import GivenOption, Option, OptionError, read_options
from turbotui.features.stat.help_text import help_text
from turbotui.features.stat.options import (
    OPTIONS,
    Rows,
    StatError,
    StatOptions,
    StatTask,
    parse_options,
)

# docs/specs/turbostat.md 1.1: long name, letter that works, whether it takes an argument
SPECIFIED = [
    ("add", "", True), ("cpu", "c", True), ("debug", "d", False), ("Dump", "D", False), ("enable", "e", True),
    ("force", "", False), ("header_iterations", "N", True), ("help", "h", False), ("hide", "H", True),
    ("interval", "i", True), ("IPC", "I", False), ("Joules", "J", False), ("list", "", False), ("no-msr", "M", False),
    ("no-perf", "P", False), ("num_iterations", "n", True), ("out", "o", True), ("quiet", "q", False),
    ("show", "", True), ("Summary", "S", False), ("TCC", "T", True), ("version", "v", False), ("", "C", True),
]


def test_every_option_of_turbostat_is_there_and_in_the_help() -> None:
    result = [(option.name, option.letter, bool(option.argument)) for option in OPTIONS if not option.own]
    assert sorted(result) == sorted(SPECIFIED)
    text = help_text()
    for name, letter, _argument in SPECIFIED:
        assert not name or f"--{name}" in text
        assert not letter or f"-{letter}" in text
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize(("letter", "name"), [("a", "add"), ("f", "force"), ("l", "list"), ("s", "show")])
def test_letters_that_work_as_prefixes_are_in_the_help_like_short_forms(letter: str, name: str) -> None:
    assert f"  -{letter}, --{name} " in help_text()
    words = [f"-{letter}", "x"] if name in {"add", "show"} else [f"-{letter}"]
    given = next(iter(read_options(words, OPTIONS)))
    assert isinstance(given, GivenOption)
    assert given.option.name == name


@given(st.sampled_from([option for option in OPTIONS if option.name]), st.integers(1, 30), st.sampled_from(["-", "--"]),
       st.booleans())
def test_every_unambiguous_prefix_means_its_option(option: Option, length: int, dashes: str, joined: bool) -> None:
    prefix = option.name[:length]
    rivals = [item for item in OPTIONS if item.name.startswith(prefix) and item.name != prefix
              and (item.own <= option.own)]
    clear = option.name == prefix or rivals == [option]
    letter = dashes == "-" and len(prefix) == 1 and any(item.letter == prefix for item in OPTIONS)
    if not clear or letter or (option.own and any(o.name.startswith(prefix) for o in OPTIONS if not o.own)):
        return
    word = dashes + prefix
    words = [f"{word}=7"] if option.argument and joined else [word, "7"] if option.argument else [word]
    assert list(read_options([*words, "rest", "-x"], OPTIONS)) == [
        GivenOption(option, "7" if option.argument else ""), ("rest", "-x")]


@given(st.lists(st.text(alphabet="-abcdhinoqsSTJ=0 1", max_size=6), max_size=6))
def test_no_word_makes_it_fail_otherwise(words: list[str]) -> None:
    status = 0
    try:
        options = parse_options(words)
    except (OptionError, StatError) as error:
        status = error.exit_status
    else:
        assert len(options.command) <= len(words)
    assert status in (0, 1, 2, 255)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--in", ".1"], {"interval": 0.1}),
        (["--nu", "1"], {"intervals": 1}),
        (["--sh", "CPU"], {"choices": (("show", "CPU"),)}),
        (["-hi", "Core"], {"choices": (("hide", "Core"),)}),
        (["-H", "Core"], {"choices": (("hide", "Core"),)}),  # DEFECT upstream: rejected
        (["-TCC", "90"], {"tcc": 90}),
        (["-n", "0x2"], {"intervals": 2}),
        (["-n", "010"], {"intervals": 8}),
        (["-n5"], {"intervals": 5}),
        (["-N", "3", "-S"], {"header_every": 3, "summary_only": True}),
        (["-n", "5", "-M"], {"intervals": 5, "no_msr": True}),  # DEFECT upstream: -M is lost
        (["-N", "5", "-P"], {"header_every": 5, "no_perf": True}),  # DEFECT upstream: -P is lost
        (["-dd"], {"debug": 2}),
        (["-Jq"], {"joules": True, "quiet": True}),
        (["-D"], {"task": StatTask.DUMP, "no_perf": True}),
        (["-l"], {"task": StatTask.LIST, "quiet": True}),
        (["-f"], {}),
        (["--fo"], {}),  # turbotui's own --format never makes a prefix of turbostat's ambiguous
        (["-a", "msr0x10", "-add", "msr0x11"], {"added": ("msr0x10", "msr0x11")}),
        (["--cpu", "core"], {"rows": Rows.CORES}),
        (["-c", "package"], {"rows": Rows.PACKAGES}),
        (["-c", "0-1", "-c", "2..3,5,"], {"cpus": frozenset({2, 3, 5})}),
        (["-i", "0.001"], {"interval": 0.001}),
        (["sleep", "-n", "1"], {"command": ("sleep", "-n", "1")}),
        (["-q", "--", "-n"], {"quiet": True, "command": ("-n",)}),
        (["-q", "-", "x"], {"quiet": True, "command": ("-", "x")}),
        (["-v", "--nonsense"], {"task": StatTask.VERSION}),
        (["-h", "--nonsense"], {"task": StatTask.HELP}),
        (["-s", "a", "-e", "b", "--hide", "c"], {"choices": (("show", "a"), ("enable", "b"), ("hide", "c"))}),
        (["--format", "csv"], {"format": "csv"}),
        (["--moments"], {"moments": True, "choices": (("enable", "NowMHz"),)}),
    ],
)
def test_a_command_line_is_understood(words: list[str], expected: dict[str, object]) -> None:
    options, plain = parse_options(words), StatOptions()
    differing = {name: getattr(options, name) for name in StatOptions.__slots__
                 if getattr(options, name) != getattr(plain, name)}
    assert differing == expected


@pytest.mark.parametrize(
    ("words", "status", "part"),
    [
        (["--no"], 1, "--no-msr --no-perf"),
        (["--he"], 1, "--header_iterations --help"),
        (["--nonsense"], 1, "unrecognized option '--nonsense'"),
        (["-Z"], 1, "-Z"),
        (["-qZ"], 1, "-Z"),
        (["-i"], 1, "needs an argument"),
        (["--interval"], 1, "needs an argument"),
        (["--quiet=1"], 1, "takes no argument"),
        (["-I"], 1, "IPC is a column"),
        (["--IPC"], 1, "IPC is a column"),
        (["-C", "x"], 1, "left over"),
        (["-n", "0"], 255, "invalid iteration count: 0"),
        (["-n", "x"], 255, "invalid iteration count: x"),
        (["-n", "-1"], 255, "invalid iteration count: -1"),
        (["-N", "0"], 255, "invalid header iteration count: 0"),
        (["-i", "0"], 2, "interval 0.000000 seconds is too small"),
        (["-i", "x"], 2, "interval 0.000000 seconds is too small"),
        (["-i", "-1"], 2, "interval -1.000000 seconds is too small"),
        (["-i", "nan"], 2, "not a number"),
        (["-T", "hot"], 1, "--TCC"),
        *((["-c", text], 255, f'"--cpu {text}" malformed') for text in ("1-0", "0.1", "abc", "-1", "8192", "")),
        (["-c", "0", "-c", "core"], 255, "malformed"),
        (["-c", "core", "-c", "0"], 255, "malformed"),
        (["--format", "xml"], 1, "text, table, csv, json, openmetrics"),
        (["--machine", "a", "--sysroot", "b"], 1, "two machines"),
    ],
)
def test_what_turbostat_refuses_is_refused_with_its_status(words: list[str], status: int, part: str) -> None:
    with pytest.raises((OptionError, StatError)) as caught:
        parse_options(words)
    assert caught.value.exit_status == status
    assert part in str(caught.value)
