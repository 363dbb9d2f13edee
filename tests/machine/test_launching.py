"""Commands start as a shell would start them: settings changed by Python and turbotui are undone."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import PATIENCE

from turbotui.machine.host import HostKind
from turbotui.machine.launching import HeldCommand, NotRunError
from turbotui.machine.linux import LIMITS_AT_START, LinuxHost

ROOT = Path(__file__).parents[2]
IGNORED = 1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1
SHOW = 'while read -r key value; do [ "$key" != SigIgn: ] || echo "ignored $value"; done < /proc/$$/status; ulimit -n'


@pytest.fixture
def limit() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def printed(words: list[str]) -> str:
    read_end, write_end = os.pipe()
    held = HeldCommand(words, write_end)
    os.close(write_end)
    held.go()
    with open(read_end, encoding="ascii") as lines:
        text = lines.read()
    assert held.wait() == 0
    return text


@pytest.mark.usefixtures("limit")
def test_a_command_ignores_nothing_and_has_the_limit_that_turbotui_was_started_with() -> None:
    host = LinuxHost()
    assert host.kind is HostKind.REAL
    host.raise_descriptors()
    word, mask, files = printed(["sh", "-c", SHOW]).split()
    assert word == "ignored"
    assert not int(mask, 16) & IGNORED
    assert LIMITS_AT_START is not None
    assert int(files) == LIMITS_AT_START[0]


def test_a_writer_ends_when_its_reader_has_gone() -> None:
    assert printed(["sh", "-c", "while :; do echo x; done | head -n 1"]) == "x\n"


@pytest.mark.parametrize(("word", "said"), [("/no/such/program", "/no/such/program"), ("", "the empty command")])
def test_a_command_that_cannot_be_run_says_why(word: str, said: str) -> None:
    held = HeldCommand([word])
    with pytest.raises(NotRunError, match=f"{said} cannot be run: No such file"):
        held.go()


def test_held_commands_are_given_up_in_any_order() -> None:
    first, second = HeldCommand(["true"]), HeldCommand(["true"])
    first.close()
    second.close()


def test_what_ended_a_command_is_identified_by_signal() -> None:
    held = HeldCommand(["sh", "-c", "kill -9 $$"])
    held.go()
    assert held.wait() == -9


@pytest.mark.real
@pytest.mark.parametrize("verb", [
    ("tasks", "--"), ("stat", "--quiet", "--show", "CPU"),
])
def test_every_verb_starts_its_command_so(verb: tuple[str, ...]) -> None:
    done = subprocess.run([sys.executable, "-m", "turbotui", *verb, "sh", "-c", SHOW], capture_output=True,  # noqa: S603 - ours
                          text=True, check=False, timeout=PATIENCE, cwd=ROOT)
    mask = next(line.split()[1] for line in done.stdout.splitlines() if line.startswith("ignored"))
    assert not int(mask, 16) & IGNORED
