"""Verbs that report on another machine by --host, with and without turbotui there; and what goes wrong on the way."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import jsontables
import pytest
from bare_node import Node
from forked import run_forked

from turbotui.commands.elsewhere import SshSource
from turbotui.feature_list import COMMANDS
from turbotui.machine.gathered.documents import parse_gathered, removals_in
from turbotui.machine.machine import read_machine as machine_of
from turbotui.recording import read_machine
from turbotui.recording.framing import Record, RecordKind, framed
from turbotui.recording.json_values import packed
from turbotui.recording.machine_facts import header_facts, header_of
from turbotui.remote.links import LinkError
from turbotui.remote.ssh import SshConnector
from turbotui.simulated import simulated_host

ROOT = Path(__file__).parents[2]
SIMULATED = ("--machine", "laptop-old", "-i", "0.1", "-n", "2")


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def installed(node: Node, behind: str = "") -> None:
    """Install this turbotui on the node; what it writes goes through a filter of the shell."""
    node.program("turbotui", f'PYTHONPATH={ROOT} {sys.executable} -m turbotui "$@"{behind}')


def here(node: Node, *words: str) -> subprocess.CompletedProcess[str]:
    """Run turbotui on this machine, whose ssh reaches the node."""
    return run_forked(*words, env={**os.environ, "PATH": f"{node.folder}:{os.environ['PATH']}"}, cwd=node.folder)


def recorded(*words: str) -> bytes:
    """The bytes of a collector's stream of a simulated machine."""
    return subprocess.run([sys.executable, "-m", "turbotui", "collect", *SIMULATED, *words], check=True,  # noqa: S603 - ours
                          capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)}).stdout


def sending(node: Node, data: bytes, status: int = 0, said: str = "") -> None:
    """Have the node's turbotui send these bytes, and ssh end with this status and message."""
    (node.folder / "stream").write_bytes(data)
    node.program("turbotui", "exit 0")
    node.program("ssh", f"cat {node.folder}/stream; echo '{said}' >&2; exit {status}", node.folder)


def test_a_diagnosis_of_a_machine_without_turbotui_has_its_tasks_and_leaves_nothing_there(node: Node) -> None:
    node.python()
    done = here(node, "why", "--host", "user@node7", "-n", "1", "-i", "0.2", "--json")
    (table,) = jsontables.tables(done.stdout)
    assert (table["machine"], table["kind"]) == (os.uname().nodename, "REAL")
    assert done.stderr.startswith("turbotui: there is no turbotui on user@node7: its recording part (")
    assert "Traceback" not in done.stderr
    assert not any(node.home.iterdir())
    assert "nobody has looked" not in done.stdout


def test_a_cause_is_found_from_here_as_it_is_there(node: Node) -> None:
    installed(node)
    words = ("why", "--machine", "laptop+quota", "-n", "2", "-i", "0.2", "--json")
    there, own = here(node, *words, "--host", "node7"), here(node, *words)
    causes = [[(row["values"]["where"], row["cause"])
               for row in jsontables.tables(process.stdout)[0]["rows"]] for process in (there, own)]
    assert causes[1][0] in causes[0]  # the worst one; whatever else the load of this machine adds is of each run
    assert there.returncode == own.returncode == 7
    assert jsontables.tables(there.stdout)[0]["kind"] == "SIMULATED"


def test_a_diagnosis_asks_who_ran_while_others_waited(node: Node) -> None:
    node.program("turbotui", f'echo "$@" > {node.folder}/words; exit 2')
    here(node, "why", "--host", "node7")
    assert "--tables=waits" in (node.folder / "words").read_text().split()


def test_tasks_of_now_have_no_mark(node: Node) -> None:
    node.python()
    done = here(node, "tasks", "--host", "node7", "-n", "1", "-i", "0.2")
    assert done.returncode == 0, done.stderr
    assert re.match(r"# all: \d{4}-", done.stdout)


@pytest.mark.parametrize("verb", ["interrupts", "groups", "power", "tasks", "uncore", "topdown", "roofline"])
def test_rows_come_from_there(node: Node, verb: str) -> None:
    installed(node)
    done = here(node, verb, "--host", "node7", *SIMULATED, "--json")
    found = [table for table in jsontables.tables(done.stdout) if table["kind"] == "SIMULATED"]
    assert len(found) >= 2, done.stderr
    assert any(one["rows"] for one in found)  # a late tick makes the next interval short, and then nothing may have run
    assert all(item["seconds"] > 0 for item in found)


@pytest.mark.parametrize("verb", ["info", "doctor"])
def test_what_a_machine_has_is_told_as_it_is_there(node: Node, verb: str) -> None:
    installed(node)
    own, far = here(node, verb, "--machine", "guest"), here(node, verb, "--machine", "guest", "--host", "node7")
    assert (far.returncode, far.stderr) == (0, "")
    assert far.stdout == own.stdout


def test_rows_that_never_come_are_not_waited_for(node: Node) -> None:
    installed(node)
    done = here(node, "topdown", "--machine", "guest", "--host", "node7", "-i", "0.1")
    assert done.returncode == 1
    assert done.stdout == ""
    why, end = done.stderr.splitlines()
    assert why.startswith("turbotui: on node7: no slots of pipelines are recorded: virtual machine: ")
    assert end == "turbotui: node7 sent no slots of pipelines: turbotui doctor --host node7 lists what is missing there"


def test_a_verb_goes_elsewhere_or_says_that_it_cannot(node: Node) -> None:
    """No verb takes --host for a word that it does not know, nor for the beginning of another option."""
    sending(node, b"", 255, "ssh: Could not resolve hostname node7")
    words = {"record": ["x"], "gather": ["x.tar.gz", "-y"], "fleet": ["--prometheus", "http://127.0.0.1:9"]}
    for command in COMMANDS:
        if command.name:
            done = here(node, command.name, *words.get(command.name, ()), "--host", "node7")
            assert re.search(r"the name node7 is not known|no --host, because|Connection refused", done.stderr), done


def test_a_recording_of_another_machine_is_a_file_here(node: Node) -> None:
    installed(node)
    done = here(node, "record", "run.ttj", "--host", "node7", *SIMULATED, "--tables", "memory,tasks",
                "--show", "Busy%", "--add", "CPI=cycles/instructions")
    assert done.returncode == 0, done.stderr
    assert re.search(r"run\.ttj: 3 readings of 8 CPUs from ", done.stderr)
    with read_machine(str(node.folder / "run.ttj")) as journal:
        assert journal.check() == ()
        assert "CPI" in journal.catalog.by_id
        assert "memory" in journal.kinds
        assert [*journal.rows(1, journal.first_ns, journal.last_ns)]
    again = here(node, "record", "run.ttj", "--host", "node7", *SIMULATED)
    assert again.returncode == 1
    assert "run.ttj is there" in again.stderr


def test_a_recording_is_whole_up_to_where_the_connection_was_lost(node: Node) -> None:
    data = b"Welcome to node7\n" + recorded()
    sending(node, data[:-40], 255, "client_loop: send disconnect: Broken pipe")
    done = here(node, "record", "run.ttj", "--host", "node7")
    assert done.returncode == 1
    assert "the connection to node7 was lost" in done.stderr
    with read_machine(str(node.folder / "run.ttj")) as journal:
        assert journal.check() == ()
        clocks = len(journal.clocks())
        assert f"run.ttj: {clocks} readings" in done.stderr
    assert clocks >= 2
    shown = here(node, "why", "--host", "node7")
    assert shown.returncode in (0, 6, 7)
    assert "the connection to node7 was lost; what came before is whole" in shown.stderr
    assert "damaged" not in shown.stderr


def test_a_stream_goes_on_to_a_program_here(node: Node) -> None:
    data = recorded()
    sending(node, data)
    with subprocess.Popen([sys.executable, "-m", "turbotui", "collect", "--host", "node7"], stdout=subprocess.PIPE,
                          env={**os.environ, "PYTHONPATH": str(ROOT),
                               "PATH": f"{node.folder}:{os.environ['PATH']}"}) as process:
        assert process.stdout is not None
        assert process.stdout.read() == data
    assert process.returncode == 0


@pytest.mark.parametrize("login", ["exec sleep 1000", "while echo Welcome; do :; done", "echo Welcome; read line"])
def test_a_login_that_never_starts_turbotui_is_not_waited_for(node: Node, login: str) -> None:
    node.program("ssh", login, node.folder)
    source = SshSource(SshConnector("node7", program=node.ssh), patience=0.5)
    with contextlib.closing(source), pytest.raises(LinkError) as caught:
        source.read()
    assert str(caught.value).startswith("ssh node7: nothing of turbotui came in 0 s: `ssh node7 true` has to end")


def newer() -> bytes:
    """A stream of a later format."""
    facts = header_facts(header_of(machine_of(simulated_host("laptop-old"))))
    return framed(Record(RecordKind.HEADER, 0, 0, packed({**facts, "format": 99, "version": "9.1"})))


def test_another_version_there_is_named(node: Node) -> None:
    sending(node, newer())
    done = here(node, "why", "--host", "node7")
    assert done.returncode == 1
    assert "turbotui 9.1 in version 99 of the format" in done.stderr


@pytest.mark.parametrize(("words", "said"), [
    (("why",), "turbotui: unrecognized arguments: -n3 (see turbotui collect --help)"),
    (("gather", "x.tar.gz", "-y"), "turbotui: - does not end in .tar.gz, by which --machine tells"),
])
def test_a_turbotui_that_is_too_old_is_named(node: Node, words: Sequence[str], said: str) -> None:
    node.program("turbotui", f'echo "{said}" >&2; exit 2')
    done = here(node, *words, "--host", "node7")
    assert done.returncode == 1
    assert "the turbotui on node7 is too old for this: " in done.stderr


def test_a_machine_is_gathered_there_and_kept_here(node: Node) -> None:
    installed(node)
    words = ("gather", "--machine", "guest", "--seconds", "1")
    there = here(node, *words, "far.tar.gz", "--yes", "--host", "node7")
    assert there.returncode == 0, there.stderr
    own = here(node, *words, "own.tar.gz", "--yes")
    far, near = ((node.folder / name).read_bytes() for name in ("far.tar.gz", "own.tar.gz"))
    (machine, documents), (same, others) = parse_gathered(far), parse_gathered(near)
    assert machine.files.keys() == same.files.keys()
    assert removals_in(documents) == removals_in(others)
    (said,) = re.findall(r"scrubbed ([\d,]+) time", own.stdout)
    assert sum(removals_in(others).values()) == int(said.replace(",", ""))
    tables = [[line.split()[:2] for line in process.stdout.splitlines() if line.startswith(("/", "perf"))]
              for process in (there, own)]
    assert tables[0] == tables[1] != []
    assert not any(node.home.iterdir())


def test_what_is_no_gathered_machine_is_not_kept(node: Node) -> None:
    for data, status, sentence in ((b"\x1f\x8b\x08 and more", 0, "ssh node7 sent no gathered machine: "),
                                   (b"", 255, "could not connect to node7")):
        sending(node, data, status)
        done = here(node, "gather", "x.tar.gz", "--yes", "--host", "node7")
        assert done.returncode == 1
        assert sentence in done.stderr
        assert not (node.folder / "x.tar.gz").exists()


@pytest.mark.parametrize(("words", "sentence"), [
    (("why", "--host", "n", "--replay", "x"), "leave --host out"),
    (("why", "--sudo"), "--sudo is for --host"),
    (("memory", "--remote", "x"), "--remote is for --host"),
    (("memory", "--host", "n", "--every", "10s"), "--from, --to and --every go with --replay FILE"),
    (("why", "--host", "n", "--from", "-5m"), "--from and --to are times of a recording"),
    (("why", "--host=-oProxyCommand=x"), "is no host"),
    (("record", "x", "--host", "n", "--keep", "1h"), "--keep is not for --host"),
    (("record", "x", "--host", "n", "--", "true"), "a command after -- is not for --host"),
    (("record", "x", "--host", "n", "--events", "f.toml"), "--events names files of this machine"),
    (("collect", "--host", "n", "--requests"), "--host is for stdout"),
    (("gather", "-"), "give --yes and a pipe"),
    (("groups", "--host", "n", "--add", "cycles"), "--add is not for --host"),
    (("uncore", "--host", "n", "-e", "cycles"), "-e, -f and --event-tables are not for --host"),
    (("uncore", "--host", "n", "--ports"), "leave --replay, --host, --map"),
    (("topdown", "--host", "n", "--level", "3"), "levels below 2 are not for --host"),
    (("topdown", "--host", "n", "--", "true"), "a command, --pid"),
    (("roofline", "--host", "n", "--", "true"), "leave the command and --regions out"),
    (("info", "--host", "n", "--replay", "x"), "leave --host out"),
    (("doctor", "--sudo"), "--sudo is for --host"),
    (("tasks", "--host", "n", "--pid", "1"), "pid is not for --host"),
    (("tasks", "--host", "n", "--from", "-5m"), "--from, --to and --every go with --replay FILE"),
])
def test_what_does_not_go_together_is_refused(node: Node, words: Sequence[str], sentence: str) -> None:
    done = here(node, *words)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert not (node.folder / "x").exists()
