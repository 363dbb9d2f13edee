"""Dropping root while sampling: open counters continue, others get a reason, and no rights remain."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE

from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.relinquishing import relinquish
from turbotui.sources.proc_stat import ProcStat
from turbotui.sources.source import Source

ROOT = Path(__file__).parents[2]
NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be given up")


class _Named(ProcStat):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.id = name
        self.title = name


MSR, PROC = _Named("msr"), _Named("proc")


def capabilities(missing: dict[str, Unavailable] | None = None, **provider: Source) -> Capabilities:
    signals = {name: Signal(name, Scope.CPU, Unit.COUNT, Behavior.COUNTER, Reduce.SUM, "here") for name in provider}
    return Capabilities((MSR, PROC), {}, signals, provider, missing or {})


DENIED = Unavailable(Reason.NOT_PERMITTED, "EACCES", "sudo")


def test_what_is_open_and_could_not_be_opened_again_stays_as_it_is() -> None:
    before = capabilities(a=MSR, b=MSR, c=PROC)
    held = relinquish(before, capabilities({"a": DENIED, "b": DENIED}, c=PROC), frozenset("ac"))
    offered = held.offered(capabilities({"a": DENIED, "b": DENIED}, c=PROC))
    assert offered.provider == {"a": MSR, "c": PROC}
    assert held.wanted(frozenset("c"), offered) == frozenset("ac")  # hidden, but never closed: it could not come back
    assert held.wanted(frozenset("abc"), offered) & offered.signals.keys() == frozenset("ac")
    why = offered.missing["b"]
    assert why.reason is Reason.NOT_PERMITTED
    assert "root was given up (--drop-privileges)" in why.sentence()
    assert held.offered(offered) == offered


def test_a_source_that_holds_what_is_open_takes_nothing_more() -> None:
    before = capabilities(a=MSR, b=MSR)
    held = relinquish(before, capabilities({"a": DENIED}, b=MSR), frozenset("a"))
    offered = held.offered(capabilities({"a": DENIED}, b=MSR))
    assert offered.provider == {"a": MSR}
    assert "msr was opened without it" in offered.missing["b"].sentence()


def test_what_anybody_may_open_is_free() -> None:
    before = capabilities(a=PROC, b=PROC)
    held = relinquish(before, capabilities(a=PROC, b=PROC), frozenset("a"))
    assert held.wanted(frozenset("b"), held.offered(before)) == frozenset("b")


def test_other_reasons_stay_what_they_are() -> None:
    no_hardware = Unavailable(Reason.NO_HARDWARE, "there is none")
    before = capabilities({"x": no_hardware}, a=PROC)
    assert relinquish(before, before, frozenset()).offered(before).missing == {"x": no_hardware}


def run(program: str, **environment: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=ROOT,  # noqa: S603 - ours
                          timeout=PATIENCE, env={**os.environ, "PYTHONPATH": str(ROOT), **environment})
    return done.stdout


SESSION = """
import json, os, queue
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.quantities.scope import SYSTEM_ROW
from turbotui.sampling.session import Session
from turbotui.sources import SOURCES
os.setgroups([1, 4])  # the environment of tests may have none, which would not show that they are given up
session = Session(read_machine(LinuxHost()), SOURCES, 0.1, LinuxHost())
first, later = (session.catalog.get(name) for name in ("IRQ", "CSW/s"))
frames = queue.Queue()
session.want([first.id])
session.give_up_privileges()
session.start(frames.put)
frames.get(); frames.get()
tasks = {}
for task in os.listdir("/proc/self/task"):
    with open(f"/proc/self/task/{task}/status") as file:
        tasks[task] = {key: value.split() for key, _, value in (line.partition(":") for line in file)}
session.want([first.id, later.id])
for _ in range(4):
    frame = frames.get()
why = frame.why(later, SYSTEM_ROW)
print(json.dumps({"tasks": tasks, "known": frame.cell(first, SYSTEM_ROW) is not None,
                  "why": why.sentence() if why else "", "offered": later.id in [c.id for c in session.catalog.columns],
                  "uid": session.machine.privileges.uid, "failure": repr(session.failure)}))
session.stop()
"""


@needs_root
@pytest.mark.real
@pytest.mark.parametrize("uid", [NOBODY, 0])
def test_every_thread_is_somebody_else_for_good(uid: int) -> None:
    import json  # noqa: PLC0415 - only here

    text = json.loads(run(SESSION, SUDO_UID=str(uid)))
    assert text["failure"] == "None"
    assert text["uid"] == NOBODY  # what screen 9 and the doctor say of the process
    assert len(text["tasks"]) >= 3
    for status in text["tasks"].values():
        assert set(status["Uid"]) == set(status["Gid"]) == {str(NOBODY)}
        assert status["Groups"] == []
        assert {int(status[name][0], 16) for name in ("CapPrm", "CapEff", "CapAmb")} == {0}
    # the first thread has it before the others are made of it, and they hand it on
    assert {status["NoNewPrivs"][0] for status in text["tasks"].values()} == {"1"}
    assert text["known"]
    paranoid = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    if paranoid > 0:  # else everybody may count whole CPUs, and nothing is lost
        assert "root was given up (--drop-privileges)" in text["why"]


HIDDEN = """
import os, sys
from turbotui.machine.held_modules import hold_module_folders
import hidden.early
if sys.argv[1:] == ["held"]:
    hold_module_folders(65534, 65534)
os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
import hidden.late, beside
from hidden.deeper import one
with open(os.path.join(os.path.dirname(hidden.__file__), "facts.txt")) as file:
    print(file.read())
"""


@needs_root
@pytest.mark.real
def test_modules_below_a_folder_of_root_alone_are_still_loaded(tmp_path: Path) -> None:
    package = tmp_path / "closed" / "modules" / "hidden"
    (package / "deeper").mkdir(parents=True)
    for name in ("__init__", "early", "late", "deeper/__init__", "deeper/one", "../beside"):
        (package / f"{name}.py").touch()
    (package / "facts.txt").write_text("read")
    (tmp_path / "closed").chmod(0o700)
    (tmp_path / "script.py").write_text(HIDDEN)
    environment = {**os.environ, "PYTHONPATH": f"{package.parent}:{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
    held, plain = (
        subprocess.run([sys.executable, str(tmp_path / "script.py"), *words], check=False, text=True,  # noqa: S603 - ours
                       capture_output=True, timeout=PATIENCE, env=environment) for words in (["held"], []))
    assert held.stdout == "read\n", held.stderr
    assert "Error" in plain.stderr


@needs_root
@pytest.mark.real
@pytest.mark.parametrize("form", ["json", "csv", "openmetrics", "table"])
def test_every_format_is_printed_without_root(form: str) -> None:
    done = subprocess.run(  # noqa: S603 - ours
        [sys.executable, "-m", "turbotui", "stat", "-q", "--drop-privileges", "-n", "1", "-i", "0.1", "--format", form],
        check=False, capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE,
        env={**os.environ, "SUDO_UID": str(NOBODY), "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    assert done.stdout


@needs_root
@pytest.mark.real
def test_a_command_is_run_without_root(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "turbotui", "stat", "-q", "--drop-privileges", "--", "id", "-u"],
        check=False, capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE,
        env={**os.environ, "SUDO_UID": str(NOBODY), "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0
    assert done.stdout == f"{NOBODY}\n"
    assert " sec\n" in done.stderr
