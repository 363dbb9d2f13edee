"""Help: the verbs in groups, and examples of each that work as they stand."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from turbotui.cli import main
from turbotui.commands.parser import Parser
from turbotui.feature import VERB_GROUPS, Command
from turbotui.feature_list import COMMANDS

RUN_FOR_EVER = {"", "replay", "fleet", "collect", "view", "serve", "mcp"}
"""Verbs that take a terminal or serve until they are stopped: their examples are parsed."""
SLOW = {"turbotui roofs --quick", "turbotui roofs", "turbotui export --listen 127.0.0.1:9177", "turbotui why",
        "turbotui record --keep 7d run.ttj", "turbotui record -n 5 run.ttj", "turbotui stat -n 3"}
"""Examples that measure for long or until they are stopped, which are parsed too."""
STATUSES = {"why": {0, 6, 7}, "diff": {0, 7}, "score": {0, 1}, "topdown": {0, 3}, "uncore": {0, 3},
            "power": {0, 1, 3}}
"""Exit statuses that are answers, 3 where the machine has no such counters, 1 where a recording has none; 0 alone for
the others."""

EXAMPLES = [(command, line) for command in COMMANDS for line, _ in command.examples]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the recordings that examples name."""
    place = tmp_path_factory.mktemp("examples")
    for name in ("run.ttj", "after.ttj"):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            assert main(["record", "--machine", "guest", "-i", "1", "-n", "5", str(place / name)]) == 0
    return place


def words_of(line: str) -> Iterator[list[str]]:
    """The words of each turbotui of a command line, without its own name."""
    for part in line.split(" | "):
        words = shlex.split(part)
        yield words[words.index("turbotui") + 1:]


@pytest.mark.parametrize("command", [command for command in COMMANDS if command.examples], ids=lambda item: item.name)
def test_help_shows_two_or_three_examples_before_the_options(command: Command) -> None:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        assert main([*filter(None, [command.name]), "--help"]) == 0
    assert 2 <= len(command.examples) <= 3
    text = said.getvalue()
    assert all(f"  {line}  " in text for line, _ in command.examples)
    first_option = re.search(r"^  +-\w?", text, re.MULTILINE)
    assert first_option is not None
    assert text.index("examples:") < first_option.start()


def test_every_verb_has_examples_and_stands_in_a_group() -> None:
    ours = [command for command in COMMANDS if command.module.startswith("turbotui.")]
    assert all(command.examples for command in ours)
    assert all(command.group for command in ours if command.name)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        assert main(["--help"]) == 0
    text = said.getvalue()
    headings = [text.index(f"\n{heading}:\n") for group, heading in VERB_GROUPS.items() if group]
    assert headings == sorted(headings)
    assert text.index("examples:") < headings[0]
    assert headings[-1] < text.index("options:")


@pytest.mark.parametrize(("command", "line"), EXAMPLES, ids=[line for _, line in EXAMPLES])
def test_an_example_works(command: Command, line: str, folder: Path, monkeypatch: pytest.MonkeyPatch,
                          tmp_path: Path) -> None:
    if command.name in RUN_FOR_EVER or line in SLOW:
        for words in words_of(line):
            spec = next((item for item in COMMANDS if item.name and words[:1] == [item.name]), COMMANDS[0])
            if not spec.reads_words:
                parse(spec, words[bool(spec.name):])
        return
    for name in ("run.ttj", "after.ttj"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (words,) = words_of(line)
    if words[:1] == ["record"]:
        (tmp_path / "run.ttj").unlink()
    said, wrong = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(wrong):
        status = main(words)
    assert status in STATUSES.get(words[0], {0}), wrong.getvalue()


def parse(command: Command, words: list[str]) -> None:
    """Parse words as the command does; a wrong one raises UsageError."""
    parser = Parser(prog="turbotui")
    module = importlib.import_module(command.module)
    module.add_arguments(parser)
    own = words[:words.index("--")] if "--" in words else words
    assert isinstance(parser.parse_args(own), argparse.Namespace)


@pytest.mark.parametrize(("typed", "meant"), [("pwoer", "did you mean power?"), ("recrod", "did you mean record?"),
                                              ("frobnicate", "turbotui --help lists them")])
def test_a_mistyped_verb_is_answered_with_the_nearest(typed: str, meant: str,
                                                      capsys: pytest.CaptureFixture[str]) -> None:
    assert main([typed]) == 2
    assert meant in capsys.readouterr().err
