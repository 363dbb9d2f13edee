"""Command lines: imported modules, refusals, exit statuses."""

# ruff: noqa: S603 - the program under test is run with words of these tests
from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from every_row import of_every
from forked import run_forked
from patience import PATIENCE

from turbotui import __version__
from turbotui.commands.parser import Parser, verb_of
from turbotui.feature import Command
from turbotui.feature_list import COMMANDS


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return run_forked(*words)


HEAVY = "textual plotext"


@pytest.mark.parametrize(
    ("words", "heavy"),
    [("--version", f"{HEAVY} rich"), ("--help", f"{HEAVY} rich"), ("stat --help", f"{HEAVY} rich"),
     ("doctor --help", HEAVY), ("machines --help", HEAVY), ("columns --help", HEAVY)],
)
def test_help_and_version_load_nothing_heavy(words: str, heavy: str) -> None:
    program = (
        "import sys\n"
        "from turbotui.cli import main\n"
        f"try:\n    main({words.split()!r})\nexcept SystemExit as end:\n    assert end.code == 0, end\n"
        f"print(*sorted(name for name in sys.modules if name.partition('.')[0] in {heavy.split()!r}),\n"
        "      file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False,
                          timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() == "", "loaded for a text that needs none of it"
    assert "turbotui" in done.stdout


def test_no_help_and_no_start_loads_a_table_of_a_vendor() -> None:
    # each reads some thousand rows, or what reads them: only who asks for a name of theirs needs it
    verbs = [command.name for command in COMMANDS if command.name]
    program = (
        "import contextlib, io, sys\n"
        "from turbotui.cli import main\n"
        f"for verb in {verbs!r}:\n"
        "    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "        main([verb, '--help'])\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        "    main(['stat', '-q', '-n', '1', '-i', '0.05', '--machine', 'laptop', '--add', 'cycles'])\n"
        "    main(['groups', '-n', '1', '-i', '0.05', '--machine', 'laptop'])\n"
        "    main(['tasks', '--all', '-n', '1', '-i', '0.05', '--machine', 'laptop-old'])\n"
        "    main(['events', 'encode', 'cycles', '--machine', 'laptop'])\n"
        "import turbotui.app.dashboard, turbotui.features.dashboard.verb\n"
        "late = ('turbotui.events.event_tables', 'turbotui.events.metrics')\n"
        "print('loaded', *(name for name in sys.modules if name.startswith(late)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False,
                          timeout=PATIENCE, stdin=subprocess.DEVNULL)
    assert done.stdout.splitlines()[-1:] == ["loaded"], done.stderr


def test_stat_never_loads_the_screen() -> None:
    program = (
        "import sys\nfrom turbotui.cli import main\n"
        "status = main(['stat', '-q', '-i', '0.05', '-n', '1', '--machine', 'guest'])\n"
        "print(status, *sorted(name for name in sys.modules if name.partition('.')[0] in {'textual', 'rich'}),\n"
        "      file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False,
                          timeout=PATIENCE, stdin=subprocess.DEVNULL)
    assert done.stderr.split() == ["0"]


def test_help_costs_little_beyond_the_interpreter() -> None:
    def cpu_seconds(*words: str) -> float:
        best = 60.0
        for _ in range(5):
            before = os.times()
            subprocess.run([sys.executable, *words], check=True, capture_output=True, timeout=PATIENCE)
            after = os.times()
            used = after.children_user - before.children_user + after.children_system - before.children_system
            best = min(best, used)
        return best

    assert cpu_seconds("-m", "turbotui", "--help") - cpu_seconds("-c", "pass") < 0.1


def test_version() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"turbotui {__version__}\n")


def test_help_names_every_command_and_exit_status() -> None:
    done = run("--help")
    assert done.returncode == 0
    for word in ("stat", "doctor", "machines", "columns", "Exit status", "--machine", "--sysroot", "--interval"):
        assert word in done.stdout


@pytest.mark.parametrize("command", [command for command in COMMANDS if command.behind], ids=str)
def test_a_command_that_takes_words_after_two_dashes_says_so(command: Command) -> None:
    usage = run(*command.name.split(), "--help").stdout.partition("\n\n")[0]
    assert usage.endswith(f" [-- {command.behind} ...]")
    below = len(f"usage: turbotui {command.name}".strip()) + 1
    assert {len(line) - len(line.lstrip()) for line in usage.splitlines()[1:]} <= {below}


@pytest.mark.parametrize("words", ["tasks", "roofline", "score run"])
def test_verbs_with_a_word_for_it_say_so_in_the_same_form(words: str) -> None:
    assert run(*words.split(), "--help").stdout.partition("\n\n")[0].endswith(" [-- command ...]")


def test_a_folder_or_file_of_this_folder_is_no_machine_by_its_bare_name(tmp_path: Path) -> None:
    (tmp_path / "snapshot").mkdir()
    (tmp_path / "notes").touch()
    said = [run_forked("doctor", "--machine", name, cwd=tmp_path).stderr for name in ("snapshot", "notes")]
    assert "--machine snapshot is a folder: a recorded machine below a folder is given with --sysroot" in said[0]
    assert "--machine notes is no file of turbotui gather" in said[1]


def every_parser(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for choice in action.choices.values():
                yield from every_parser(choice)


@of_every([command for command in COMMANDS if not command.reads_words])
def test_no_option_takes_the_numbers_of_python_literals(command: Command) -> None:
    parser = Parser()
    verb_of(command).add_arguments(parser)
    assert not [action.option_strings for argument_parser in every_parser(parser) for action in argument_parser._actions
                if action.type in (int, float)]


@pytest.mark.parametrize(
    ("words", "status", "part"),
    [
        (["frobnicate"], 2, 'unknown command "frobnicate"'),
        (["columns", "--frob"], 2, "unknown option --frob (see turbotui columns --help)"),
        (["why", "--jsn"], 2, "unknown option --jsn; did you mean --json? (see turbotui why --help)"),
        (["events", "lst"], 2, '"lst" is none of encode, list, show, sets, metrics; did you mean list?'),
        (["columns", "--markdown", "--json"], 2, "leave --format, --json, --add and --machine out"),
        (["topdown", "--per", "coer"], 2, '--per "coer" is none of machine, package, kind, core, cpu'),
        (["stat", "--shwo", "CPU"], 1, "unrecognized option '--shwo'; did you mean --show?"),
        (["groups", "--sort", "Pid", "-n", "1"], 2, "there is no column 'Pid' of groups; did you mean Pids, PidsMax?"),
        (["--shwo=Busy%"], 2, "unknown option --shwo; did you mean --show? (see turbotui --help)"),
        (["columns", "--machine", "nowhere"], 2, "nowhere"),
        (["doctor", "--sysroot", "/nonexistent"], 3, "/nonexistent"),
        # a script's variable that is not set chooses no other machine, and no other file
        (["why", "--replay", ""], 2, '--replay "": an empty word names nothing; leave the option out'),
        (["topdown", "make", "-j8"], 2,
         'topdown does not take "make -j8": a command comes after --, as in -- make -j8'),
        (["record", "new.rec", "make"], 2, 'record does not take "make": a command comes after --'),
        (["serve", "browser"], 2, 'serve does not take "browser" (see turbotui serve --help)'),
        (["doctor", "--machine", "saphire-2s"], 2, "'saphire-2s' (did you mean sapphire-2s?); there are "),
        (["doctor", "--machine", "/nonexistent"], 2, "--machine /nonexistent is not there, and no name of a simulated"),
        (["doctor", "--machine", "/proc"], 2, "is a folder: a recorded machine below a folder is given with --sysroot"),
        (["doctor", "--machine", "/dev/null"], 2, "/dev/null is no file of turbotui gather, which end in .tar.gz"),
        (["doctor", "--machine", "guest+stael"], 2, "cannot run 'stael' (did you mean steal?); there are "),
        (["why", "-n", "1_0"], 2, 'turbotui: -n/--intervals: "1_0" is no whole number'),
        (["-p", "1"], 2, "-p: the key w on screen 7 watches a process, and turbotui tasks --pid N prints it"),
        (["record", "--show", "IRQ,,CPU", "--machine", "guest", "new.rec"], 2, "turbotui: a column without a name ("),
        (["--delay", "5"], 2, "unknown option --delay: -i SECONDS is the interval"),
        (["stat", "-p", "1"], 1, "option '-p': turbotui tasks --pid N counts a process"),
        (["stat", "-I", "1000"], 1, "perf's -I is -i SECONDS"),
        (["stat", "-C", "0"], 1, "perf's -C is -c SET"),
        (["stat", "-e", "cycles", "--machine", "guest"], 234, "no such column here; --add cycles adds an event"),
        (["why", "-n", "-1"], 2, '-n/--intervals: "-1" is below 0'),
        (["why", "-n", "9" * 40], 2, "is too large"),
        (["why", "--bogus"], 2, "unknown option --bogus (see turbotui why --help)"),  # dashes are like no other dashes
        (["why", "-n"], 2, "turbotui: -n/--intervals needs a value (see"),
        (["why", "--json=x"], 2, '--json takes no value: leave "x" out'),
        (["why", "--int", "1"], 2, "--int is the beginning of several options: --intervals, --interval"),
        (["tasks", "--all", "--pid", "1"], 2, "--pid and --all exclude each other: give one of them"),
        (["record"], 2, "turbotui: missing: FILE (see"),
        (["record", "--kepe", "7d"], 2, "unknown option --kepe; did you mean --keep? (see turbotui record --help)"),
        (["events", "--jsno"], 2, "unknown option --jsno"),  # though a verb is missing too
        (["score", "baseline"], 2, "missing: --name, --unit"),
        (["fleet", "chek"], 2, '"chek" is unknown; did you mean check?'),
        (["record", "-"], 2, "- is no file: record writes to a file, turbotui collect to stdout"),
        (["record", "/dev/null"], 2, "/dev/null is no file"),
        (["record", "--tables", "task", "new.rec"], 2, '"task" cannot be recorded; did you mean tasks?'),
        (["record", "--add", "cyclse", "--machine", "laptop", "new.rec"], 2, "did you mean cycles"),
        (["stat", "--format", "jsn"], 1, 'unknown format "jsn"; did you mean json?'),
        (["roofs", "--theory", "i7-3770"], 2, "no spec sheet for i7-3770; did you mean i7-3770K"),
        (["export", "--rows", "memroy", "--once", "--machine", "guest"], 2, "did you mean memory?"),
        (["export", "--from", "a.ttj", "--per", "core"], 2, "--per is for the metrics of a machine, and --from is for"),
        (["export", "--print", "rules", "--once"], 2, "--once changes no file of --print"),
        (["stat", "--replay", "a.ttj", "-i", "1"], 1, "leave --interval (--every joins intervals) out"),
        (["stat", "--replay", "a.ttj", "--host", "b"], 1, "as it was: leave --host out"),
        (["tasks", "--all", "--", "true"], 2, "a command after -- is watched with all that it starts: leave out what"),
        (["export", "--once", "--from-time", "first"], 2, "--from-time is for tables of a recording: name one"),
        (["score", "measured", "1e40"], 2, 'score "1e40" is no number from 1e-15 to 1e+15'),
        (["why", "-i", "1e300"], 2, "interval 1e300 is too long: the longest is 1,000,000 seconds"),
        (["stat", "-i", "1e300"], 2, "interval 1e+300 seconds is too large: the largest is 1,000,000"),
        (["doctor", "--machine="], 2, '--machine "": an empty word'),
        (["groups", "--sort", ""], 2, '--sort "": an empty word'),
        (["record", ""], 2, 'FILE "": an empty word names no file'),
        (["diff", "a", ""], 2, 'B "": an empty word names no file'),
        (["gather", ""], 2, 'FILE.tar.gz "": an empty word names no file'),
        (["stat", "--replay", ""], 1, "option '--replay' has an empty argument that names nothing: leave it out"),
        (["stat", "--host=", "-n", "1"], 1, "option '--host' has an empty argument"),
        (["stat", "-o", ""], 1, '--out "": an empty word names no file'),
        # `turbotui stat` has turbostat's statuses (docs/specs/turbostat.md 1.12)
        (["stat", "--frob"], 1, "--frob"),
        (["stat", "--show"], 1, "--show"),
        (["stat", "--show", "Buzy%"], 234, "'Buzy%' can not be added: there is no such column here; did you mean"),
        (["stat", "--hide", "nonsense"], 234, "'nonsense' can not be skipped"),
        (["stat", "--enable", "CPU,,IRQ"], 234, "'' can not be added"),
        (["stat", "-i", "x"], 2, "too small"),
        (["stat", "-i", "-1"], 2, "too small"),
        (["stat", "-n", "0"], 255, "invalid iteration count: 0"),
        (["stat", "-n", "-3"], 255, "invalid iteration count: -3"),
        (["stat", "-n", "many"], 255, "invalid iteration count: many"),
        (["stat", "-c", "1-0"], 255, '"--cpu 1-0" malformed'),
        (["stat", "-c", "abc"], 255, '"--cpu abc" malformed'),
        (["stat", "-c", ""], 255, "malformed"),
        (["stat", "-c", "100000"], 255, '"--cpu 100000" malformed'),
        (["stat", "--machine", "guest", "-c", "4096"], 1, "cpu4096 not present"),
        (["stat", "--machine", "guest", "--sysroot", "/proc"], 1, "give one of them"),
        (["stat", "--sysroot", "/nonexistent"], 3, "/nonexistent"),
    ],
    ids=lambda case: " ".join(case) if isinstance(case, list) else None,
)
def test_bad_input_is_one_sentence_and_an_exit_status(words: list[str], status: int, part: str) -> None:
    done = run(*words)
    assert done.returncode == status, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("turbotui: ")
    assert part in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("words", ["score run", "score history", "events encode", "events list"])
def test_a_verb_of_a_verb_says_what_it_does(words: str) -> None:
    above, _, verb = words.partition(" ")
    listed = " ".join(run(above, "--help").stdout.split())
    what = " ".join(run(*words.split(), "--help").stdout.split("\n\n")[1].split()).removesuffix(".")
    assert f"{verb} {what[0].lower()}{what[1:]}" in listed


def test_rows_that_do_not_pass_a_filter_are_not_said_to_be_absent() -> None:
    done = run("interrupts", "--machine", "laptop", "-n", "1", "-i", "0.05", "--filter", "nothing like it")
    assert "# no sources of interrupts pass --filter" in done.stdout


def test_a_sysroot_without_a_machine_in_it_is_one_sentence(tmp_path: Path) -> None:
    done = run("stat", "--sysroot", str(tmp_path))
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    done = run("stat", "--sysroot", str(file))
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1


def test_without_a_terminal_the_dashboard_says_so_and_points_to_stat() -> None:
    done = run()
    assert done.returncode == 4
    assert "turbotui stat" in done.stderr
    assert len(done.stderr.splitlines()) == 1
