"""Completions and man pages can be read by the programs that use them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from every_row import of_every

from turbotui.feature import Command
from turbotui.feature_list import COMMANDS

SHARE = Path(__file__).parents[2] / "share"
BASH = SHARE / "bash-completion" / "completions" / "turbotui"
FISH = SHARE / "fish" / "vendor_completions.d" / "turbotui.fish"


@pytest.mark.parametrize(("line", "offered"), [
    (["turbotui", ""], {"stat", "tasks", "events", "--machine"}),
    (["turbotui", "tasks", "--by", ""], {"thread", "process", "command"}),
    (["turbotui", "events", ""], {"encode", "list", "sets"}),
    (["turbotui", "fleet", "c"], {"check"}),
    (["turbotui", "events", "encode", "--eng"], {"--engine"}),
    (["turbotui", "stat", "--format", "j"], {"json"}),
    (["turbotui", "score", "run", "--sl"], {"--slower"}),
    (["turbotui", "--machine", "lap"], {"laptop", "laptop-old"}),
    (["turbotui", "--screen", ""], {"overview", "cpus", "tasks"}),
    (["turbotui", "--screen", "tasks", "--sta"], {"--stay"}),  # tasks is no verb there
    (["turbotui", "replay", "--theme", ""], {"calm", "light"}),
    (["turbotui", "record", "x.ttj", "--", "ech"], {"echo"}),
    (["turbotui", "--show", "Bu"], {"Busy%"}),
    (["turbotui", "stat", "--show", "CPU,Bu"], {"CPU,Busy%"}),
    (["turbotui", "record", "--tables", "power,ta"], {"power,tasks"}),
])
def test_bash_completes(line: list[str], offered: set[str]) -> None:
    shell = shutil.which("bash")
    if shell is None:
        pytest.skip("the package bash is not installed")
    words = " ".join(f"'{word}'" for word in line)
    script = (f". '{BASH}'; COMP_WORDS=({words}); COMP_CWORD={len(line) - 1}; _turbotui; "
              "printf '%s\\n' \"${COMPREPLY[@]}\"")
    done = subprocess.run([shell, "--norc", "-c", script], capture_output=True, text=True, check=True)  # noqa: S603 - ours
    result = set(done.stdout.split())
    assert offered <= result
    assert all(word.startswith(line[-1]) for word in result)


@pytest.mark.parametrize("line", [["turbotui", "replay", ""], ["turbotui", "diff", "a.ttj", "my"],
                                  ["turbotui", "stat", "--replay", "my"]])
def test_bash_leaves_files_to_the_shell_which_keeps_their_blanks(line: list[str], tmp_path: Path) -> None:
    shell = shutil.which("bash")
    if shell is None:
        pytest.skip("the package bash is not installed")
    (tmp_path / "my run.ttj").touch()
    words = " ".join(f"'{word}'" for word in line)
    script = (f". '{BASH}'; COMP_WORDS=({words}); COMP_CWORD={len(line) - 1}; _turbotui; "
              "printf '%s' \"${#COMPREPLY[@]}\"; complete -p turbotui")
    done = subprocess.run([shell, "--norc", "-c", script], capture_output=True, text=True, check=True,  # noqa: S603 - ours
                          cwd=tmp_path)
    assert done.stdout == "0complete -o default -F _turbotui turbotui\n"


@pytest.mark.parametrize(("line", "offered"), [
    ("turbotui tas", {"tasks"}),
    ("turbotui fleet ch", {"check"}),
    ("turbotui tasks --format j", {"json"}),
    ("turbotui --machine lap", {"laptop", "laptop-old"}),
    ("turbotui tasks --machine lap", {"laptop", "laptop-old"}),
    ("turbotui --scr", {"--screen"}),
    ("turbotui machines --scr", set()),  # an option of the dashboard alone
    ("turbotui record x.ttj -- bas", {"bash"}),
    ("turbotui stat --show CPU,Bus", {"CPU,Busy%"}),
    ("turbotui record --tables power,ta", {"power,tasks"}),
])
def test_fish_completes(line: str, offered: set[str], tmp_path: Path) -> None:
    shell = shutil.which("fish")
    if shell is None:
        pytest.skip("the package fish is not installed")
    words = [shell, "--no-config", "-c", f"source '{FISH}'; complete -C '{line}'"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path)  # noqa: S603 - ours
    result = {splitline.partition("\t")[0] for splitline in done.stdout.splitlines()}
    assert offered <= result
    assert bool(offered) == bool(result)


@pytest.mark.parametrize(("shell", "file"), [
    ("bash", BASH), ("zsh", SHARE / "zsh/site-functions/_turbotui"),
    ("fish", FISH),
])
def test_a_shell_understands_its_file(shell: str, file: Path) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"the package {shell} is not installed")
    subprocess.run([program, "-n", str(file)], check=True, capture_output=True)  # noqa: S603 - ours


@pytest.mark.parametrize("page", sorted((SHARE / "man" / "man1").glob("*.1")), ids=lambda page: page.stem)
def test_a_page_is_formatted_without_a_warning(page: Path) -> None:
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("the package groff-base is not installed")
    done = subprocess.run([groff, "-man", "-ww", "-Tutf8", str(page)], capture_output=True, text=True, check=True)  # noqa: S603 - ours
    assert done.stderr == ""
    assert page.stem.upper() in done.stdout


@of_every([command for command in COMMANDS if command.examples])
def test_a_page_has_the_examples_of_help(command: Command) -> None:
    page = SHARE / "man" / "man1" / f"{'-'.join(filter(None, ('turbotui', command.name)))}.1"
    lines = page.read_text().replace("\\-", "-").partition(".SH EXAMPLES")[2].splitlines()
    assert [line for line, _ in command.examples if f"\\fB{line}\\fR" not in lines] == []
