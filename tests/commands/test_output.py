"""--output: a verb's own lines in a file, so that what a command prints does not stand between them."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from turbotui.cli import main
from turbotui.commands.formats import add_output_argument, print_lines, to_output
from turbotui.errors import TurbotuiError


def arguments(path: Path | str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_output_argument(parser)
    return parser.parse_args(["-o", str(path)] if path else [])


@to_output
def printing(_arguments: argparse.Namespace) -> int:
    print_lines(["a", "é", "\udcff"])
    return 7


@to_output
def failing(_arguments: argparse.Namespace) -> int:
    print_lines(["a"])
    raise TurbotuiError("no")


def test_lines_go_to_the_file_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "lines"
    assert printing(arguments(path)) == 7
    assert path.read_bytes() == "a\né\n\\udcff\n".encode()
    assert capsys.readouterr().out == ""
    with pytest.raises(TurbotuiError, match="exists already"):
        printing(arguments(path))
    assert path.read_bytes().startswith(b"a\n")


def test_without_it_lines_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    @to_output
    def hello(_arguments: argparse.Namespace) -> int:
        print_lines(["hello"])
        return 0

    assert hello(arguments("")) == 0
    assert capsys.readouterr().out == "hello\n"


def test_a_verb_that_fails_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(TurbotuiError, match="no"):
        failing(arguments(tmp_path / "lines"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("verb", [["tasks", "--all", "-n", "1", "-i", "0.2"], ["topdown", "-n", "1", "-i", "0.1"],
                                  ["roofline", "-n", "1", "-i", "0.1"]])
def test_verbs_that_run_commands_have_it(verb: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tables"
    assert main([*verb, "--machine", "laptop-old", "--json", "-o", str(path)]) == 0
    assert capsys.readouterr().out == ""
    assert [json.loads(line)["turbotui"] for line in path.read_text().splitlines()]


@pytest.mark.real
def test_what_a_command_prints_is_not_in_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "trace"
    words = ("sh", "-c", "echo hello; sleep 0.01")  # what ends without a switch is in no slice
    status = main(["tasks", "--timeline", "--format", "trace", "-o", str(path), "--", *words])
    if status == 0:  # else this user may not watch tasks
        assert "hello\n" in capfd.readouterr().out
        assert json.loads(path.read_text())["traceEvents"]
